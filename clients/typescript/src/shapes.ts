// A model's tool calls in the shapes of the providers, and what is sent back in the same shape.

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
  content: string;
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
  content: { type: "text"; text: string }[];
  isError: boolean;
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

/** The call, and how its answer is put in the call's shape. @throws TypeError for a shape that is none of these. */
export function shaped(call: ModelToolCall): [PlainCall, (text: string, isError: boolean) => AnswerTo<ModelToolCall>] {
  switch ("type" in call ? call.type : "mcp") {
    case "tool_use": {
      const { id, name, input } = call as AnthropicToolUse;
      const answer = (content: string, isError: boolean): AnthropicToolResult => ({
        type: "tool_result",
        tool_use_id: id,
        content,
        ...(isError ? { is_error: true } : {}),
      });
      return [{ name, arguments: input, callId: id }, answer];
    }
    case "function": {
      const { id, function: called } = call as ChatToolCall;
      const answer = (content: string): ChatToolMessage => ({ role: "tool", tool_call_id: id, content });
      return [{ ...called, callId: id }, answer];
    }
    case "function_call": {
      const { call_id, name, arguments: given } = call as ResponsesFunctionCall;
      const answer = (output: string): ResponsesFunctionCallOutput => ({
        type: "function_call_output",
        call_id,
        output,
      });
      return [{ name, arguments: given, callId: call_id }, answer];
    }
    case "mcp":
      if ("name" in call && typeof call.name === "string") {
        const answer = (text: string, isError: boolean): McpToolResult => ({
          content: [{ type: "text", text }],
          isError,
        });
        return [{ name: call.name, arguments: (call as McpToolCall).arguments ?? {} }, answer];
      }
  }
  const known = "`tool_use`, `function` and `function_call`, and `{name, arguments}` of MCP";
  throw new TypeError(`a tool call of no known shape (known are ${known}): ${JSON.stringify(call)}`);
}
