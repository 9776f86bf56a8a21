// Client of Toolscout: `Agent` for an agent loop, `Toolscout` for all the protocol has.

export { Agent, type AgentOptions, type SourceProblem } from "./agent.js";
export { type BridgeOptions, BridgeTool, START_TOKEN, Toolscout } from "./client.js";
export type { AnthropicBlock, AnthropicImage, McpBlock, RunResult } from "./content.js";
export type {
  AnthropicTool,
  ChatTool,
  McpTool,
  ResponsesTool,
  ToolDefinition,
  ToolFor,
  ToolSource,
} from "./definitions.js";
export { CancelledError, ResponseError, SidecarError, type SidecarProblem } from "./errors.js";
export type {
  CallOptions,
  ConfigureOptions,
  Handler,
  HandlerContext,
  Handlers,
  Listeners,
  ReachOptions,
  ToolscoutOptions,
} from "./options.js";
export * from "./protocol.js";
export type {
  AnswerTo,
  AnthropicToolResult,
  AnthropicToolUse,
  ChatToolCall,
  ChatToolMessage,
  McpToolCall,
  McpToolResult,
  ModelToolCall,
  PlainCall,
  ResponsesFunctionCall,
  ResponsesFunctionCallOutput,
} from "./shapes.js";
