// The three calls of an agent loop, against the real sidecar.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Agent, type AgentOptions, type InvokeParams, type ModelToolCall, ResponseError } from "../src/index.js";
import { folder, optionsIn } from "./sidecar.js";
import { host, tracker, weather } from "./tools.js";

/** An agent whose tools answer what they were called with. */
async function agent(t: TestContext, options: Partial<AgentOptions> = {}): Promise<Agent> {
  const run = ({ name, arguments: given }: InvokeParams) => ({ content: { ran: name, ...given } });
  const made = new Agent({ ...optionsIn(await folder(t)), run, ...options });
  t.after(() => made.close());
  return made;
}

const sent = async ({ client }: Agent) => (await client.status()).counters["registry/register"] ?? 0;

test("an array that stays the same is the same object, and nothing is sent again", async (t) => {
  const made = await agent(t);
  const first = await made.toolsFor([tracker, host]);
  assert.equal(first.length, 5);
  // Equal, but not the same object: what counts is the content.
  assert.equal(await made.toolsFor(structuredClone([tracker, host])), first);
  assert.equal(await sent(made), 2);
});

test("a source that changed is sent, and one that is gone is taken back", async (t) => {
  const made = await agent(t);
  const before = await made.toolsFor([tracker, host]);
  const renamed = { ...tracker, tools: [{ name: "close_issue" }] };
  assert.notEqual(await made.toolsFor([renamed, host]), before);
  assert.equal(await sent(made), 3);
  assert.equal((await made.toolsFor([host])).length, 2);
  assert.deepEqual(
    (await made.client.list()).sources.map(({ name }) => name),
    ["host"],
  );
  assert.equal((await made.toolsFor([])).length, 1, "manage_connections is always there");
});

test("a flat list is one source of plugin tools", async (t) => {
  const made = await agent(t);
  const tools = await made.toolsFor<{ function: { name: string } }>(weather.tools);
  assert.deepEqual(
    tools.map((tool) => tool.function.name),
    ["manage_connections", "tool_search", "tool_describe", "tool_call"],
  );
  const [source] = (await made.client.list()).sources;
  assert.deepEqual([source?.name, source?.kind, source?.toolCount], ["host", "plugin", 1]);
});

test("two sources of one name are refused before one of them is lost", async (t) => {
  const made = await agent(t);
  await assert.rejects(made.toolsFor([host, { ...tracker, source: host.source }]), /same name/);
});

test("a tool that is refused is logged", async (t) => {
  const logged: string[] = [];
  const made = await agent(t, { onLog: (text) => logged.push(text) });
  await made.toolsFor([{ ...host, tools: [{ name: "tool_call" }] }]);
  assert.match(logged.join("\n"), /tool `tool_call` of `host`: /);
});

test("the format and the scope are those of the agent", async (t) => {
  const made = await agent(t, { format: "anthropic", scope: { tools: { deny: ["clarify"] } } });
  const tools = await made.toolsFor<{ name: string; input_schema: unknown }>([host, weather]);
  assert.deepEqual(
    tools.map((tool) => [tool.name, typeof tool.input_schema]),
    [
      ["manage_connections", "object"],
      ["tool_search", "object"],
      ["tool_describe", "object"],
      ["tool_call", "object"],
    ],
  );
  const { isError } = await made.call({ name: "clarify", arguments: { question: "?" } });
  assert.equal(isError, true, "what is out of scope is not there");
});

const args = { city: "Oslo" };
const text = JSON.stringify(args);
const ran = JSON.stringify({ ran: "forecast", city: "Oslo" });

const shapes: [provider: string, call: ModelToolCall, answer: unknown][] = [
  [
    "Anthropic",
    { type: "tool_use", id: "toolu_1", name: "forecast", input: args },
    { type: "tool_result", tool_use_id: "toolu_1", content: ran },
  ],
  [
    "OpenAI Chat Completions",
    { type: "function", id: "call_1", function: { name: "forecast", arguments: text } },
    { role: "tool", tool_call_id: "call_1", content: ran },
  ],
  [
    "OpenAI Responses",
    { type: "function_call", call_id: "call_1", name: "forecast", arguments: text },
    { type: "function_call_output", call_id: "call_1", output: ran },
  ],
  ["MCP", { name: "forecast", arguments: args }, { content: [{ type: "text", text: ran }], isError: false }],
];

for (const [provider, call, answer] of shapes) {
  test(`a call of ${provider} is answered in its shape, deferred or not`, async (t) => {
    const made = await agent(t);
    await made.toolsFor([weather]);
    assert.deepEqual(await made.answer(call), answer, "a deferred tool by its own name");
    await made.toolsFor([{ ...weather, source: { name: "weather", kind: "core" } }]);
    assert.deepEqual(await made.answer(call), answer, "a tool of the host's");
  });
}

test("a bridge tool, and the model's id of the call", async (t) => {
  const asked: InvokeParams[] = [];
  const made = await agent(t, {
    run: (params) => {
      asked.push(params);
      return { content: "sunny" };
    },
  });
  await made.toolsFor([weather, host]);
  const input = { calls: [{ name: "forecast", arguments: { city: "Oslo" } }] };
  const answer = await made.answer({ type: "tool_use", id: "toolu_1", name: "tool_call", input });
  assert.equal(answer.content, "sunny", "text reaches the model as it is");
  await made.answer({ type: "tool_use", id: "toolu_2", name: "clarify", input: { question: "?" } });
  assert.deepEqual(
    asked.map(({ callId, source, toolset }) => [callId, source, toolset]),
    [
      ["toolu_1", "weather", "weather"],
      ["toolu_2", "host", "host"],
    ],
  );
});

test("what fails is said in the shape, where the shape can", async (t) => {
  const made = await agent(t, {
    run: () => {
      throw new Error("no network");
    },
  });
  await made.toolsFor([weather, host]);
  for (const name of ["forecast", "clarify"]) {
    const failed = await made.answer({ type: "tool_use", id: "1", name, input: { city: "Oslo" } });
    assert.equal(failed.is_error, true);
    assert.match(failed.content, /no network/);
  }
  const chat = await made.answer({ type: "function", id: "1", function: { name: "clarify", arguments: "{}" } });
  assert.deepEqual(chat, { role: "tool", tool_call_id: "1", content: '{"error":"no network"}' });
});

test("what a model gets wrong is for the model", async (t) => {
  const made = await agent(t);
  await made.toolsFor([weather, host]);
  for (const [name, given] of [
    ["no_such_tool", {}],
    ["clarify", "{ broken"],
    ["clarify", [1]],
    ["forecast", "{ broken"],
    ["tool_call", 7],
  ] as const) {
    const { content, isError } = await made.call({ name, arguments: given });
    assert.equal(isError, true, name);
    assert.equal(typeof (content as { error: unknown }).error, "string", name);
  }
  assert.equal((await made.call({ name: "clarify", arguments: "" })).isError, false, "no arguments are none");
});

test("a tool that became the host's own since the turn began", async (t) => {
  const made = await agent(t);
  await made.toolsFor([host]);
  await made.call({ name: "clarify", arguments: {} });
  await made.client.register({ ...weather, source: { name: "weather", kind: "core" } });
  assert.deepEqual(await made.call({ name: "forecast", arguments: args }), {
    content: { ran: "forecast", city: "Oslo" },
    isError: false,
  });
});

test("a tool of the host's own that is deferred in the next turn", async (t) => {
  const made = await agent(t);
  await made.toolsFor([{ ...weather, source: { name: "weather", kind: "core" } }]);
  assert.equal((await made.call({ name: "forecast", arguments: {} })).isError, false, "the host's affair");
  await made.toolsFor([weather]);
  assert.equal((await made.call({ name: "forecast", arguments: {} })).isError, true, "checked by the sidecar");
});

test("a call of no known shape", async (t) => {
  const made = await agent(t);
  await assert.rejects(made.answer({ type: "custom", id: "1" } as never), /no known shape .*"custom"/);
});

test("a source whose registering failed is sent again", async (t) => {
  const made = await agent(t);
  const refused = { ...weather, source: { name: "weather", kind: "nothing" as never } };
  await assert.rejects(made.toolsFor([refused]), ResponseError);
  await assert.rejects(made.toolsFor([refused]), ResponseError);
  assert.equal((await made.toolsFor([weather])).length, 4);
  assert.equal((await made.toolsFor([])).length, 1, "manage_connections is always there");
});

test("the sidecar dies between two turns: the agent does not notice", async (t) => {
  const made = await agent(t);
  const before = await made.toolsFor([weather, host]);
  process.kill((await made.client.status()).pid, "SIGKILL");
  // The end may be noticed by this call or before it.
  await made.client.list().catch(() => {});
  assert.equal(await made.toolsFor([weather, host]), before);
  assert.equal((await made.call({ name: "forecast", arguments: args })).isError, false);
});
