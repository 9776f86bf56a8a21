// Tool definitions: those that a host gives, and those that a model is given, by format.

import type { Format, SourceParams } from "./protocol.js";

/** A host's tool in any of the common shapes: OpenAI's, Anthropic's or MCP's. */
export type ToolDefinition = { name: string } | { function: { name: string } };

/** A source and its tools, which are such definitions; the sidecar says which of them it cannot take. */
export interface ToolSource {
  source: SourceParams;
  tools: readonly unknown[];
}

/** A tool of OpenAI Chat Completions. */
export interface ChatTool {
  type: "function";
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean | null };
}

/** A tool of OpenAI Responses. `strict` is for the SDK's type: the sidecar leaves it out. */
export interface ResponsesTool {
  type: "function";
  name: string;
  description?: string;
  parameters: Record<string, unknown> | null;
  strict: boolean | null;
}

/** A tool of Anthropic Messages. */
export interface AnthropicTool {
  name: string;
  description?: string;
  input_schema: { type: "object"; [keyword: string]: unknown };
}

/** A tool of MCP. */
export interface McpTool {
  name: string;
  description?: string;
  inputSchema: { type: "object"; [keyword: string]: unknown };
}

interface Formats {
  openai: ChatTool;
  "openai-responses": ResponsesTool;
  anthropic: AnthropicTool;
  mcp: McpTool;
}

/** A tool for the model, in a format. */
export type ToolFor<Shape extends Format> = Formats[Shape];

/** The sources that a host gave, by name; a flat list is one. @throws TypeError for what is neither */
export function sourcesOf(given: readonly ToolSource[] | readonly ToolDefinition[]): Map<string, ToolSource> {
  if (!Array.isArray(given)) {
    throw new TypeError("the tools are no array: give `[{source: {name, kind}, tools: [...]}]`, or tools alone");
  }
  const isSource = (item: unknown) => typeof item === "object" && item !== null && "source" in item;
  const sources: ToolSource[] =
    given.length > 0 && !given.some(isSource)
      ? [{ source: { name: "host", kind: "plugin" }, tools: given as readonly ToolDefinition[] }]
      : given;
  const named = new Map<string, ToolSource>();
  for (const [index, source] of sources.entries()) {
    const name: unknown = source?.source?.name;
    if (typeof name !== "string" || !Array.isArray(source.tools)) {
      throw new TypeError(
        `item ${index} is no \`{source: {name, kind}, tools: [...]}\`: give sources or tools, not both`,
      );
    }
    if (named.has(name)) {
      throw new TypeError(`two sources have the same name, \`${name}\`: the second would take the place of the first`);
    }
    named.set(name, source);
  }
  return named;
}
