// What a tool answered: checked as the host gives it, and as each provider takes it.

import { json } from "./json.js";
import type { Content, InvokeResult } from "./protocol.js";

/**
 * What a host's `run` answers: any JSON as `content`, or what an MCP server answered to `tools/call`, as it is. Its
 * `structuredContent` is given to the model where there is no text; `toolResult` is what servers answered before MCP had
 * `content`.
 */
export type RunResult = (InvokeResult & { structuredContent?: unknown }) | { toolResult: unknown };

/** A block of content as MCP has it. */
export interface McpBlock {
  type: string;
  [member: string]: unknown;
}

/** A block that Anthropic takes in an answer. */
export type AnthropicBlock =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: AnthropicImage; data: string } };

/** An image that Anthropic's models see. */
export type AnthropicImage = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

const ANTHROPIC_IMAGES: readonly unknown[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

const BLOCK_TYPES: readonly unknown[] = ["text", "image", "audio", "resource", "resource_link"];

/** What of a result a model is shown. */
type Shown = Pick<Content, "content" | "isError" | "structuredContent">;

/**
 * What `run` answered, as the sidecar takes it, and as JSON gives it back. Its error is for the model; what is wrong with
 * the answer is the `cause`. @throws TypeError
 */
export function checked(answer: unknown): InvokeResult {
  try {
    const { toolResult, content = toolResult, isError = false, structuredContent } = answer as Record<string, unknown>;
    if (typeof isError !== "boolean") {
      throw new TypeError("`isError` is no boolean");
    }
    return { content: JSON.parse(json(withStructured(content, structuredContent))), isError };
  } catch (cause) {
    // The sidecar's own words for what it cannot take.
    throw new TypeError("the host's answer is not `{content, isError?}`", { cause });
  }
}

/** The content, or the structured content of an MCP server that gave no text. */
function withStructured(content: unknown, structured: unknown): unknown {
  if (structured === undefined || structured === null) {
    return content;
  }
  const blocks = blocksOf(content);
  if (blocks !== undefined) {
    return blocks.some(({ type }) => type === "text") ? blocks : [...blocks, text(json(structured))];
  }
  return content === undefined || (Array.isArray(content) && content.length === 0) ? structured : content;
}

/** The blocks of content that has nothing else. An empty array is content like any other. */
function blocksOf(content: unknown): McpBlock[] | undefined {
  const isBlock = (item: unknown) =>
    typeof item === "object" && item !== null && "type" in item && BLOCK_TYPES.includes(item.type);
  return Array.isArray(content) && content.length > 0 && content.every(isBlock) ? content : undefined;
}

/** For providers whose answers are text: texts as they are, what no text can show by its name, anything else as JSON. */
export function asText({ content, structuredContent }: Shown): string {
  const shown = withStructured(content, structuredContent);
  return blocksOf(shown)?.map(textOf).join("\n") ?? (typeof shown === "string" ? shown : json(shown));
}

/** For Anthropic, which takes no empty text, and nothing but text with an error. */
export function asAnthropic(result: Shown): string | AnthropicBlock[] {
  const blocks = blocksOf(withStructured(result.content, result.structuredContent));
  return (
    blocks
      ?.map((block) => (result.isError ? undefined : imageOf(block)) ?? text(textOf(block)))
      .filter((block) => block.type !== "text" || block.text !== "") ?? asText(result)
  );
}

/** For MCP: blocks as they are, anything else as text. */
export function asMcp(result: Shown): McpBlock[] {
  return blocksOf(result.content) ?? [text(asText(result))];
}

function text(given: string): { type: "text"; text: string } {
  return { type: "text", text: given };
}

/** What a block says as text. */
function textOf(block: McpBlock): string {
  const { type, text, uri, resource } = block as {
    type: string;
    text?: string;
    uri?: string;
    resource?: { uri?: string; text?: string };
  };
  const where = uri ?? resource?.uri;
  return type === "text" ? (text ?? "") : resource?.text || (where ? `[${type} ${where}]` : `[${type}]`);
}

function imageOf({ type, mimeType, data }: McpBlock): AnthropicBlock | undefined {
  return type === "image" && ANTHROPIC_IMAGES.includes(mimeType)
    ? {
        type,
        source: { type: "base64", media_type: mimeType as AnthropicImage, data: String(data) },
      }
    : undefined;
}
