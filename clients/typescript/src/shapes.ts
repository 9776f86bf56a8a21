// A model's tool calls in the shapes of the providers, and what is sent back in the same shape.

import { type AnthropicBlock, asAnthropic, asMcp, asText, type McpBlock } from "./content.js";
import type { Content } from "./protocol.js";

/** A block of Anthropic Messages. */
export interface AnthropicToolUse {
  type: "tool_use";
  id: string;
  name: string;
  input: unknown;
}

/** What answers it. */
export interface AnthropicToolResult {
  type: "tool_result";
  tool_use_id: string;
  content: string | AnthropicBlock[];
  is_error?: true;
}

/** An item of `tool_calls` of OpenAI Chat Completions. */
export interface ChatToolCall {
  type: "function";
  id: string;
  function: { name: string; arguments: string };
}

/** The message that answers it. */
export interface ChatToolMessage {
  role: "tool";
  tool_call_id: string;
  content: string;
}

/** An output item of OpenAI Responses. */
export interface ResponsesFunctionCall {
  type: "function_call";
  call_id: string;
  name: string;
  arguments: string;
}

/** The input item that answers it. */
export interface ResponsesFunctionCallOutput {
  type: "function_call_output";
  call_id: string;
  output: string;
}

/** Parameters of MCP's `tools/call`. */
export interface McpToolCall {
  name: string;
  arguments?: unknown;
}

/** What answers it. */
export interface McpToolResult {
  content: McpBlock[];
  isError: boolean;
  /** Of a server that the sidecar is attached to, as it is. */
  structuredContent?: unknown;
  _meta?: unknown;
  [member: string]: unknown;
}

/** A tool call of any provider. */
export type ModelToolCall = AnthropicToolUse | ChatToolCall | ResponsesFunctionCall | McpToolCall;

/** What answers a call of that shape. */
export type AnswerTo<Call extends ModelToolCall> = Call extends { type: "tool_use" }
  ? AnthropicToolResult
  : Call extends { type: "function" }
    ? ChatToolMessage
    : Call extends { type: "function_call" }
      ? ResponsesFunctionCallOutput
      : McpToolResult;

/** A call without its shape. */
export interface PlainCall {
  name: string;
  /** As the model gave them, be it text. */
  arguments: unknown;
  /** The model's id of the call, if the shape has one. */
  callId?: string | undefined;
}

/** Members of the shapes. What a provider sent has been through JSON, whatever its type says. */
interface Given {
  type?: string;
  id?: string;
  call_id?: string;
  name?: unknown;
  input?: unknown;
  arguments?: unknown;
  function?: { name?: unknown; arguments?: unknown };
}

/** The call, and how its answer is put in the call's shape. @throws TypeError for a shape that is none of these */
export function shaped(call: ModelToolCall): [PlainCall, (result: Content) => AnswerTo<ModelToolCall>] {
  const given = Object(call) as Given;
  switch (given.type) {
    case "tool_use": {
      const [plain, id] = parts(call, given.name, given.input, given.id);
      return [
        plain,
        (result) => ({
          type: "tool_result",
          tool_use_id: id,
          content: asAnthropic(result),
          ...(result.isError ? { is_error: true } : {}),
        }),
      ];
    }
    case "function": {
      const [plain, id] = parts(call, given.function?.name, given.function?.arguments, given.id);
      return [plain, (result) => ({ role: "tool", tool_call_id: id, content: asText(result) })];
    }
    case "function_call": {
      const [plain, id] = parts(call, given.name, given.arguments, given.call_id);
      return [plain, (result) => ({ type: "function_call_output", call_id: id, output: asText(result) })];
    }
    case undefined: {
      if (typeof given.name === "string") {
        const plain = { name: given.name, arguments: given.arguments };
        const answer = ({ structuredContent, _meta, ...result }: Content): McpToolResult => ({
          content: asMcp({ structuredContent, ...result }),
          isError: result.isError,
          ...(structuredContent !== undefined && { structuredContent }),
          ...(_meta !== undefined && { _meta }),
        });
        return [plain, answer];
      }
    }
  }
  throw unknownShape(call);
}

/** A call that has an id, and that id. Some providers number their calls: what is sent back has the number. */
function parts(call: ModelToolCall, name: unknown, given: unknown, id: string | undefined): [PlainCall, string] {
  if (typeof name !== "string" || id === undefined || id === null) {
    throw unknownShape(call);
  }
  return [{ name, arguments: given, callId: String(id) }, id];
}

function unknownShape(call: unknown): TypeError {
  const known = "`tool_use`, `function` and `function_call`, and `{name, arguments}` of MCP";
  const shown = String(JSON.stringify(call)).slice(0, 200);
  return new TypeError(`a tool call of no known shape (known are ${known}): ${shown}`);
}

/**
 * Arguments as a tool takes them, or what to tell the model in the sidecar's words. Models give an object, or its JSON
 * text, which is empty where there are none.
 */
export function argumentsOf(
  given: unknown,
): [given: Record<string, unknown>, problem?: undefined] | [given: undefined, problem: string] {
  let value = given;
  let of = "";
  if (typeof given === "string") {
    try {
      value = JSON.parse(given.trim() || "{}");
    } catch {
      return notAnObject("text that is not valid JSON");
    }
    of = "JSON text of ";
  }
  if (Array.isArray(value)) {
    return notAnObject(`${of}an array`);
  }
  if (typeof value === "object" || value === undefined) {
    return [(value ?? {}) as Record<string, unknown>];
  }
  return notAnObject(`${of}a ${typeof value}`);
}

function notAnObject(kind: string): [undefined, string] {
  return [undefined, `Nothing was invoked: \`arguments\` must be a JSON object, not ${kind}.`];
}
