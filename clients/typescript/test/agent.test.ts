// The three calls of an agent loop, against the real sidecar.

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  Agent,
  type AgentOptions,
  ErrorCode,
  type Format,
  type InvokeParams,
  type ModelToolCall,
  type RegisterParams,
  ResponseError,
  type ToolDefinition,
} from "../src/index.js";
import { Scripted } from "./scripted.js";
import { folder, optionsIn, program } from "./sidecar.js";
import { host, tracker, weather } from "./tools.js";

/** An agent whose tools answer what they were called with. */
async function agent<Shape extends Format = "openai">(
  t: TestContext,
  options: Partial<AgentOptions<Shape>> = {},
): Promise<Agent<Shape>> {
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
  const tools = await made.toolsFor(weather.tools as ToolDefinition[]);
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

test("what are no sources and no tools is refused, and the next turn is as if it had not been", async (t) => {
  const made = await agent(t);
  const before = await made.toolsFor([weather]);
  for (const [given, says] of [
    [undefined, /no array/],
    [[{ source: { kind: "mcp" }, tools: [] }], /item 0 is no/],
    [[{ source: { name: "mail", kind: "mcp" } }], /item 0 is no/],
    [[weather, { name: "clarify" }], /item 1 is no .* not both/],
    [[{ source: { name: " ", kind: "mcp" }, tools: [] }], /not blank/],
    [[{ source: { name: "mail", kind: "post" }, tools: [] }], /unknown variant/],
  ] as const) {
    await assert.rejects(made.toolsFor(given as never), says);
    assert.equal(await made.toolsFor([weather]), before);
  }
});

test("what cannot be taken back does not stand in the way of the next turn", async (t) => {
  const sidecar = new Scripted();
  const made = await agent(t, { open: () => sidecar.stream });
  for (const [sources, method, code] of [
    [[weather], "registry/register", ErrorCode.Cancelled],
    [[], "registry/unregister", ErrorCode.InvalidParams],
  ] as const) {
    const turn = made.toolsFor(sources).catch((error) => error.code);
    const [change, assemble] = [await sidecar.next(), await sidecar.next()];
    assert.equal(change.method, method);
    sidecar.send({ id: change.id, error: { code, message: "no" } });
    sidecar.send({ id: assemble.id, result: { etag: "1", tools: [] } });
    assert.deepEqual(await turn, method === "registry/register" ? code : []);
  }
});

test("a turn that begins while another is cancelled has the tools it was given", async (t) => {
  const made = await agent(t);
  const none = { ...weather, tools: [] };
  for (const [held, given] of [
    [[], [weather]],
    [[weather], []],
    [[none], [weather]],
    [[host], [weather]],
  ]) {
    await made.toolsFor(held ?? []);
    const aborting = new AbortController();
    const cancelled = [1, 2].map(() =>
      assert.rejects(made.toolsFor(given ?? [], { signal: aborting.signal }), { name: "AbortError" }),
    );
    aborting.abort();
    assert.equal((await made.toolsFor(given ?? [])).length, given?.length === 1 ? 4 : 1);
    await Promise.all(cancelled);
    const { sources } = await made.client.list();
    assert.deepEqual(
      sources.map(({ name, toolCount }) => [name, toolCount]),
      given?.map(({ source }) => [source.name, 1]),
    );
  }
});

test("turns that overlap take place one after the other", async (t) => {
  const made = await agent(t);
  const turns = [[weather], [], [host], [weather, host], []];
  const arrays = await Promise.all(turns.map((sources) => made.toolsFor(sources)));
  assert.deepEqual(
    arrays.map(({ length }) => length),
    [4, 1, 2, 5, 1],
  );
});

test("what is refused, and what is odd, is there to be seen, and logged", async (t) => {
  const logged: string[] = [];
  const made = await agent(t, { onLog: (text) => logged.push(text) });
  await made.toolsFor([{ ...host, tools: [{ name: "tool_call" }, { name: "clarify", strange: 1 }] }, weather]);
  const named = [made.rejected, made.warnings].map((problems) =>
    problems.map(({ source, name }) => `${source} ${name}`),
  );
  assert.deepEqual(named, [["host tool_call"], ["host clarify"]]);
  assert.match(logged.join("\n"), /tool `tool_call` of `host`: /);
  await made.toolsFor([weather]);
  assert.deepEqual([made.rejected, made.warnings], [[], []]);
});

test("the format and the scope are those of the agent", async (t) => {
  const made = await agent(t, { format: "anthropic", scope: { tools: { deny: ["clarify"] } } });
  const tools = await made.toolsFor([host, weather]);
  assert.deepEqual(
    tools.map((tool) => [tool.name, typeof tool.input_schema]),
    [
      ["manage_connections", "object"],
      ["tool_search", "object"],
      ["tool_describe", "object"],
      ["tool_call", "object"],
    ],
  );
});

test("what is out of scope, or nowhere, is not run", async (t) => {
  const run = () => assert.fail("it was run");
  const made = await agent(t, { run, scope: { tools: { deny: ["clarify", "forecast"] } } });
  await made.toolsFor([host, weather]);
  for (const name of ["clarify", "forecast", "no_such_tool"]) {
    const error = `There is no tool \`${name}\`. Call one of those you were given.`;
    assert.deepEqual(await made.call({ name, arguments: {} }), { content: { error }, isError: true });
  }
});

test("a tool of a server's that is shown is the sidecar's to run", { timeout: 60_000 }, async (t) => {
  const server = await program(
    t,
    `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const result = {
        initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "echo", version: "1" } },
        "tools/list": { tools: [{ name: "say", inputSchema: { type: "object" } }] },
        "tools/call": { content: [{ type: "text", text: "said" }], structuredContent: { said: true } },
      }[method];
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: result ?? {} }));
    });`,
  );
  const made = await agent(t, {
    run: () => assert.fail("the host was asked to run it"),
    settings: { mcpServers: { echo: { command: server } }, core: { extend: ["mcp__echo__say"] } },
    onDidChange: () => ready(),
  });
  let ready = () => {};
  const started = new Promise<void>((resolve) => {
    ready = resolve;
  });
  // The news alone keeps no process alive, and a call that waits does.
  const living = setInterval(() => {}, 1000);
  await made.client.status();
  await started;
  clearInterval(living);
  const names = (await made.toolsFor([])).map((tool) => tool.function.name);
  assert.ok(names.includes("mcp__echo__say"), names.join());
  const call = { id: "1", function: { name: "mcp__echo__say", arguments: "{}" }, type: "function" } as const;
  assert.deepEqual(await made.answer(call), { role: "tool", tool_call_id: "1", content: "said" });
  const result = { content: [{ type: "text", text: "said" }], structuredContent: { said: true }, isError: false };
  assert.deepEqual(await made.answer({ name: "mcp__echo__say" }), result, "MCP is given all that the server gave");
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
    assert.match(String(failed.content), /no network/);
  }
  const chat = await made.answer({ type: "function", id: "1", function: { name: "clarify", arguments: "{}" } });
  assert.deepEqual(chat, { role: "tool", tool_call_id: "1", content: '{"error":"`clarify` failed: no network"}' });
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
  for (const call of [
    { type: "custom", id: "1" },
    { type: "function", id: "1" },
    { type: "tool_use", id: "1" },
    { type: "tool_use", name: "clarify" },
    {},
    "clarify",
    null,
    undefined,
  ]) {
    await assert.rejects(made.answer(call as never), /no known shape/);
  }
  await assert.rejects(made.answer({ type: "custom", id: "1" } as never), /"custom"/);
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

/** The host's own tool, and one that the bridge runs, by what a model calls them. */
const both: RegisterParams[] = [
  { source: { name: "own", kind: "core" }, tools: [{ name: "own_tool", inputSchema: { type: "object" } }] },
  { source: { name: "far", kind: "plugin" }, tools: [{ name: "far_tool", inputSchema: { type: "object" } }] },
];
const NAMES = ["own_tool", "far_tool"];

test("what is no answer of a tool's is told to the model, whoever runs it", async (t) => {
  const circle: Record<string, unknown> = {};
  circle.circle = circle;
  const logged: string[] = [];
  let answer: unknown;
  const made = await agent(t, { run: () => answer as never, onLog: (text) => logged.push(text) });
  await made.toolsFor(both);
  for (const wrong of [
    undefined,
    null,
    "text",
    {},
    { content: undefined },
    { content: 1n },
    { content: circle },
    { content: 1, isError: "no" },
  ]) {
    for (const name of NAMES) {
      answer = wrong;
      const error = `\`${name}\` failed: the host's answer is not \`{content, isError?}\``;
      assert.deepEqual(await made.call({ name, arguments: {} }), { content: { error }, isError: true });
    }
  }
  assert.ok(
    logged.some((text) => /own_tool.*BigInt/.test(text)),
    logged.join("\n"),
  );
});

test("what a tool answers reaches the model as JSON, whoever runs it", async (t) => {
  const made = await agent(t, { run: () => ({ content: { at: new Date(0), not: undefined, cut: "\ud83d" } }) });
  await made.toolsFor(both);
  for (const name of NAMES) {
    const { content } = await made.call({ name, arguments: {} });
    assert.deepEqual(content, { at: "1970-01-01T00:00:00.000Z", cut: "\ufffd" });
  }
});

test("a call that is cancelled before it is made runs nothing, whoever would run it", async (t) => {
  const made = await agent(t, { run: () => assert.fail("it was run") });
  await made.toolsFor(both);
  await made.call({ name: "no_such_tool", arguments: {} });
  for (const name of NAMES) {
    await assert.rejects(made.call({ name, arguments: {} }, { signal: AbortSignal.abort() }), { name: "AbortError" });
  }
});

test("a call that is cancelled while its tool runs is interrupted, even if the tool does not care", async (t) => {
  let aborting = new AbortController();
  const made = await agent(t, {
    run: () => {
      aborting.abort();
      return new Promise(() => {});
    },
  });
  await made.toolsFor(both);
  for (const name of NAMES) {
    aborting = new AbortController();
    const error = `\`${name}\` was interrupted while it ran; it may have taken effect.`;
    const result = await made.call({ name, arguments: {} }, { signal: aborting.signal });
    assert.deepEqual(result, { content: { error, code: "INTERRUPTED" }, isError: true });
  }
});

test("arguments that are none are told in the same words, whoever would run the tool", async (t) => {
  const made = await agent(t);
  await made.toolsFor(both);
  for (const given of [[1], 7, "[1]", '"text"', true]) {
    const [own, far] = await Promise.all(NAMES.map((name) => made.call({ name, arguments: given })));
    assert.deepEqual(own, far);
  }
});

test("a provider that numbers its calls is answered with the number", async (t) => {
  const ids: unknown[] = [];
  const made = await agent(t, {
    run: ({ callId }) => {
      ids.push(callId);
      return { content: "done" };
    },
  });
  await made.toolsFor(both);
  for (const name of NAMES) {
    const answer = await made.answer({ type: "function", id: 0 as never, function: { name, arguments: "{}" } });
    assert.deepEqual(answer, { role: "tool", tool_call_id: 0, content: "done" });
  }
  assert.deepEqual(ids, ["0", "0"]);
});
