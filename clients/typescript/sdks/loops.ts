// The loops of the README, with the providers' own SDKs: not run, but `npm run check` sees that their types fit without a
// cast. What stands in the README stands here, which a test compares.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { Agent, type ToolSource } from "toolscout-client";

/** As `Client` of @modelcontextprotocol/sdk has it, which brings a web server and so is no dependency, not even here. */
interface McpClient {
  listTools(): Promise<{ tools: { name: string; inputSchema: { type: "object"; [keyword: string]: unknown } }[] }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<
    | {
        [member: string]: unknown;
        content: ({ type: "text"; text: string } | { type: "image"; data: string; mimeType: string })[];
        structuredContent?: Record<string, unknown> | undefined;
        isError?: boolean | undefined;
      }
    | { [member: string]: unknown; toolResult: unknown }
  >;
}

declare const servers: Record<string, McpClient>;
declare const messages: Anthropic.MessageParam[];
declare const chat: OpenAI.ChatCompletionMessageParam[];
declare const input: OpenAI.Responses.ResponseInput;

export async function anthropic(): Promise<void> {
  const agent = new Agent({
    format: "anthropic",
    contextLength: 200_000,
    run: ({ source, tool, arguments: args }) => {
      const server = servers[source];
      if (server === undefined) {
        throw new Error(`no server \`${source}\` is connected`);
      }
      return server.callTool({ name: tool, arguments: args });
    },
  });
  const sources: ToolSource[] = [];
  for (const [name, server] of Object.entries(servers)) {
    sources.push({ source: { name, kind: "mcp" }, tools: (await server.listTools()).tools });
  }

  const client = new Anthropic();
  for (;;) {
    const tools = await agent.toolsFor(sources); // what the model is to see, every turn
    const { content } = await client.messages.create({ model: "claude-sonnet-4-5", max_tokens: 4096, messages, tools });
    messages.push({ role: "assistant", content });
    const uses = content.filter((block) => block.type === "tool_use");
    if (uses.length === 0) {
      break;
    }
    const answers = await Promise.all(uses.map((use) => agent.answer(use))); // what to send back
    messages.push({ role: "user", content: answers });
  }
}

export async function openaiChat(): Promise<void> {
  const agent = new Agent({ format: "openai", run: () => ({ content: "any JSON" }) });
  const { tools: own } = await servers.own.listTools();
  const client = new OpenAI();
  const tools = await agent.toolsFor(own);
  const { choices } = await client.chat.completions.create({ model: "gpt-5", messages: chat, tools });
  for (const { message } of choices) {
    chat.push(message);
    for (const call of message.tool_calls ?? []) {
      if (call.type === "function") {
        chat.push(await agent.answer(call));
      }
    }
  }
}

export async function openaiResponses(): Promise<void> {
  const agent = new Agent({
    format: "openai-responses",
    run: async () => ({ content: { any: "JSON" }, isError: true }),
  });
  const client = new OpenAI();
  const tools = await agent.toolsFor([{ source: { name: "own", kind: "core" }, tools: [{ name: "clarify" }] }]);
  const { output } = await client.responses.create({ model: "gpt-5", input, tools });
  for (const item of output) {
    if (item.type === "function_call") {
      input.push(item, await agent.answer(item));
    }
  }
}

/** What must not compile. */
export async function mistakes(): Promise<void> {
  // @ts-expect-error: `run` answers `{content}`.
  const agent = new Agent({ run: () => "text" });
  await agent.toolsFor([{ name: "clarify", description: "More members are a tool's own affair." }]);
  // @ts-expect-error: a source has a name.
  await agent.toolsFor([{ source: { kind: "mcp" }, tools: [] }]);
  // @ts-expect-error: there is something to give.
  await agent.toolsFor(undefined);
}
