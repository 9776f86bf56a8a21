// What the providers are given of what MCP servers answer: by a host's `run`, on both ways, and by the sidecar itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Agent, type RunResult } from "../src/index.js";
import { folder, optionsIn } from "./sidecar.js";

const words = { type: "text", text: "a cat" };
const picture = { type: "image", data: "AAAA", mimeType: "image/png" };
const drawing = { type: "image", data: "AAAA", mimeType: "image/svg+xml" };
const link = { type: "resource_link", uri: "file:///cat", name: "cat" };
const file = { type: "resource", resource: { uri: "file:///cat", text: "meow" } };
const anthropicPicture = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const structured = { legs: 4 };
const structuredText = { type: "text", text: '{"legs":4}' };

const results: [what: string, answer: RunResult, expected: { text: string; anthropic: unknown; mcp: unknown }][] = [
  [
    "text and images",
    { content: [words, picture], _meta: {} } as RunResult,
    { text: "a cat\n[image]", anthropic: [words, anthropicPicture], mcp: [words, picture] },
  ],
  [
    "what a model cannot be shown",
    { content: [{ type: "text", text: "" }, drawing, link, file] },
    {
      text: "\n[image]\n[resource_link file:///cat]\nmeow",
      anthropic: ["[image]", "[resource_link file:///cat]", "meow"].map((text) => ({ type: "text", text })),
      mcp: [{ type: "text", text: "" }, drawing, link, file],
    },
  ],
  [
    "an error, in which Anthropic takes no image",
    { content: [words, picture], isError: true },
    { text: "a cat\n[image]", anthropic: [words, { type: "text", text: "[image]" }], mcp: [words, picture] },
  ],
  [
    "structured content beside text",
    { content: [words], structuredContent: structured },
    { text: "a cat", anthropic: [words], mcp: [words] },
  ],
  [
    "structured content without text",
    { content: [picture], structuredContent: structured },
    {
      text: '[image]\n{"legs":4}',
      anthropic: [anthropicPicture, structuredText],
      mcp: [picture, structuredText],
    },
  ],
  [
    "structured content alone",
    { content: [], structuredContent: structured },
    { text: '{"legs":4}', anthropic: '{"legs":4}', mcp: [structuredText] },
  ],
  [
    "a result of an early server",
    { toolResult: "meow" },
    { text: "meow", anthropic: "meow", mcp: [{ type: "text", text: "meow" }] },
  ],
  [
    "an array that is something else",
    { content: [words, 7] },
    {
      text: JSON.stringify([words, 7]),
      anthropic: JSON.stringify([words, 7]),
      mcp: [{ type: "text", text: JSON.stringify([words, 7]) }],
    },
  ],
];

for (const [what, answer, { text, anthropic, mcp }] of results) {
  test(what, async (t) => {
    const agent = new Agent({ ...optionsIn(await folder(t)), run: () => answer });
    t.after(() => agent.close());
    const isError = "isError" in answer;
    await agent.toolsFor([
      { source: { name: "own", kind: "core" }, tools: [{ name: "own_tool" }] },
      { source: { name: "far", kind: "plugin" }, tools: [{ name: "far_tool" }] },
    ]);
    for (const name of ["own_tool", "far_tool"]) {
      const chat = await agent.answer({ type: "function", id: "1", function: { name, arguments: "" } });
      assert.equal(chat.content, text, name);
      const responses = await agent.answer({ type: "function_call", call_id: "1", name, arguments: "" });
      assert.equal(responses.output, text, name);
      const messages = await agent.answer({ type: "tool_use", id: "1", name, input: {} });
      assert.deepEqual([messages.content, messages.is_error ?? false], [anthropic, isError], name);
      assert.deepEqual(await agent.answer({ name }), { content: mcp, isError }, name);
    }
  });
}
