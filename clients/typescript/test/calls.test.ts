// Every typed call, answered by the real sidecar.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type BridgeResult, type Content, ErrorCode, type FileDiagnostics, ResponseError } from "../src/index.js";
import { client, folder, optionsIn, write } from "./sidecar.js";
import { host, tracker, weather } from "./tools.js";

test("register, list, unregister", async (t) => {
  const made = await client(t);
  const answer = await made.register({ ...tracker, tools: [...tracker.tools, { name: "" }] });
  assert.equal(answer.accepted, 1);
  assert.equal(answer.rejected.length, 1);
  const { sources } = await made.list({ tools: true });
  assert.deepEqual(sources[0]?.tools, [{ name: "mcp__tracker__create_issue", tool: "create_issue", deferred: true }]);
  assert.equal((await made.unregister("tracker")).removed, true);
  assert.equal((await made.unregister("tracker")).removed, false);
  assert.deepEqual((await made.list()).sources, []);
});

test("calls are sent in the order in which they are made, with or without a signal", async (t) => {
  const made = await client(t);
  const { signal } = new AbortController();
  const [, first, , second] = await Promise.all([
    made.register(tracker, { signal }),
    made.list(),
    made.register(weather),
    made.list({}, { signal }),
  ]);
  // A request may see a registration behind it as well.
  assert.ok(first.sources.some(({ name }) => name === "tracker"));
  assert.ok(second.sources.some(({ name }) => name === "weather"));
});

test("assemble, and an etag", async (t) => {
  const made = await client(t);
  await Promise.all([made.register(tracker), made.register(host)]);
  const first = await made.assemble({ format: "anthropic", contextLength: 200_000 });
  const names = first.tools?.map((tool) => (tool as { name: string }).name);
  assert.deepEqual(names, ["clarify", "manage_connections", "tool_search", "tool_describe", "tool_call"]);
  const second = await made.assemble({ format: "anthropic", contextLength: 200_000, ifEtag: first.etag });
  assert.equal(second.unchanged, true);
  assert.equal(second.tools, undefined);
});

test("toolSearch and toolDescribe", async (t) => {
  const made = await client(t);
  await Promise.all([made.register(tracker), made.register(weather)]);
  const found = (await made.toolSearch(["open an issue", "forecast"], { limit: 1 })).content;
  const { results } = found as { results: { matches: string[] }[] };
  assert.deepEqual(
    results.map(({ matches }) => matches),
    [["mcp__tracker__create_issue"], ["forecast"]],
  );
  const scope = { toolsets: { disabled: ["weather"] } };
  const hidden = (await made.toolSearch(["forecast"], { scope })).content as { results: { matches: string[] }[] };
  assert.deepEqual(hidden.results[0]?.matches, []);
  const described = (await made.toolDescribe(["forecast", "nope"])).content;
  const { tools, not_found } = described as { tools: Record<string, unknown>; not_found: string[] };
  assert.deepEqual([Object.keys(tools), not_found], [["forecast"], ["nope"]]);
});

test("toolCall, bridgeCall, resolve and plan, for a host that runs tools itself", async (t) => {
  const made = await client(t);
  await made.register(tracker);
  const dispatched = dispatchOf(await made.toolCall("create_issue", { title: "Crash", labels: "bug" }));
  assert.equal(dispatched.tool, "create_issue");
  assert.deepEqual(dispatched.arguments, { title: "Crash", labels: ["bug"] });
  const call = { name: "tool_call", arguments: { calls: [{ name: "create_issue", arguments: {} }] } };
  const refused = (await made.bridgeCall(call)) as Content;
  assert.equal(refused.isError, true);
  assert.deepEqual((refused.content as { missing: string[] }).missing, ["title"]);
  const resolved = await made.resolve(call);
  assert.equal(resolved.calls[0]?.runsIn, "host");
  const { stages } = await made.plan({ calls: [{ id: 1, ...call }] });
  assert.deepEqual(stages, [[1]]);
});

test("explain, config and status", async (t) => {
  const made = await client(t, { settings: { tools: { tool_search: { search_default_limit: 7 } } } });
  await made.register(tracker);
  const explained = await made.explain({ query: "open an issue" });
  assert.equal(explained.hits[0]?.name, "mcp__tracker__create_issue");
  const config = await made.config();
  assert.equal(config.origins["tools.tool_search.search_default_limit"]?.layer, "initialize");
  const status = await made.status();
  assert.deepEqual([status.probe.ok, status.connections, status.sources.length], [true, 1, 1]);
});

test("registry and config flags, and what is wrong in a file", async (t) => {
  const dir = await folder(t);
  await write(join(dir, "alarms.json"), `{"tools": [{"name": "set_alarm", "description": "Sets an alarm."}, {}]}`);
  await write(join(dir, "mine.yaml"), "tools: {tool_search: {search_default_limit: 3}}");
  const found: FileDiagnostics[] = [];
  const made = await client(t, {
    ...optionsIn(dir),
    registry: [join(dir, "alarms.json")],
    config: join(dir, "mine.yaml"),
    onDiagnostics: (diagnostics) => found.push(diagnostics),
  });
  const config = await made.config();
  assert.equal(config.origins["tools.tool_search.search_default_limit"]?.layer, "file");
  assert.equal((await made.list()).sources[0]?.name, "alarms");
  assert.deepEqual(
    found.map(({ file }) => file),
    [join(dir, "alarms.json")],
  );
});

test("an error keeps code and data, and says where", async (t) => {
  const made = await client(t);
  const wrong = made.bridgeCall({ name: "terminal", arguments: {} });
  await assert.rejects(wrong, (error) => {
    assert.ok(error instanceof ResponseError);
    assert.equal(error.code, ErrorCode.InvalidParams);
    assert.deepEqual(error.data, { pointer: "/name" });
    assert.match(error.message, /^bridge\/call at \/name: /);
    return true;
  });
});

test("what is no JSON is refused before it is sent, and harms nothing", async (t) => {
  const made = await client(t);
  await assert.rejects(made.toolCall("x", { big: 1n }), TypeError);
  assert.ok((await made.status()).probe.ok);
});

function dispatchOf(result: BridgeResult): Extract<BridgeResult, { dispatch: unknown }>["dispatch"] {
  assert.ok("dispatch" in result, JSON.stringify(result));
  return result.dispatch;
}
