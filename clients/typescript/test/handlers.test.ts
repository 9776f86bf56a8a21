// What the sidecar asks and tells, and what the client makes of it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { test } from "node:test";
import {
  CancelledError,
  type DidChangeParams,
  ErrorCode,
  type ProgressParams,
  ResponseError,
  START_TOKEN,
} from "../src/index.js";
import { Inbox } from "./inbox.js";
import { Scripted } from "./scripted.js";
import { client, folder, optionsIn, write } from "./sidecar.js";
import { weather } from "./tools.js";

test("invoke runs the host's tool with all there is to know", async (t) => {
  const asked: unknown[] = [];
  const made = await client(t, {
    invoke: async (params) => {
      asked.push(params);
      return { content: { sky: "clear" } };
    },
  });
  await made.register(weather);
  const result = await made.toolCall("forecast", { city: "Oslo" }, { callId: "call_1" });
  assert.deepEqual(result, { content: { sky: "clear" }, isError: false });
  const names = { name: "forecast", tool: "forecast", source: "weather", toolset: "weather" };
  assert.deepEqual(asked, [{ ...names, arguments: { city: "Oslo" }, callId: "call_1" }]);
});

test("an exception of invoke reaches the model, and the connection goes on", async (t) => {
  const made = await client(t, {
    invoke: () => {
      throw new Error("no such city");
    },
  });
  await made.register(weather);
  const result = await made.toolCall("forecast", { city: "Nowhere" });
  assert.ok("content" in result);
  assert.equal(result.isError, true);
  assert.match((result.content as { error: string }).error, /no such city/);
  assert.ok((await made.status()).probe.ok);
});

test("didChange tells of an edited file", async (t) => {
  const dir = await folder(t);
  const changes = new Inbox<DidChangeParams>();
  const made = await client(t, { ...optionsIn(dir), onDidChange: (change) => changes.push(change) });
  await made.list();
  await write(join(dir, ".toolscout/registry/alarms.json"), `{"tools": [{"name": "set_alarm"}]}`);
  const [change] = await Promise.all([changes.next(), made.list()]);
  assert.deepEqual(change?.added, ["mcp__alarms__set_alarm"]);
});

test("progress, where it is asked for", async (t) => {
  const kinds: string[] = [];
  const stream = new Scripted();
  const made = await client(t, { open: () => stream.stream, onProgress: ({ value }) => kinds.push(value.kind) });
  const assembling = made.assemble({ progressToken: "p" });
  const { id, params } = await stream.next();
  assert.equal(params?.progressToken, "p");
  stream.send({ method: "$/progress", params: { token: "p", value: { kind: "begin", message: "" } } });
  stream.send({ id, result: {} });
  await assembling;
  assert.deepEqual(kinds, ["begin"]);
});

test("progress of the start, where somebody listens", async (t) => {
  const told: ProgressParams[] = [];
  const made = await client(t, { onProgress: (progress) => told.push(progress) });
  await made.status();
  assert.deepEqual(
    told.map(({ token, value }) => [token, value.kind]),
    [
      [START_TOKEN, "begin"],
      [START_TOKEN, "end"],
    ],
  );
});

test("half a character is no reason to refuse all around it", async (t) => {
  const given: unknown[] = [];
  const made = await client(t, {
    invoke: (params) => {
      given.push(params.arguments);
      return { content: `cut \ud83d` };
    },
  });
  await made.register({
    ...weather,
    tools: [{ name: "forecast", description: "Cut \udc00, \\ud800 is text, 😀 whole." }],
  });
  const result = await made.toolCall("forecast", { "\ud83d": "\ud83d\ud83d" });
  assert.deepEqual(given, [{ "\ufffd": "\ufffd\ufffd" }]);
  assert.deepEqual(result, { content: "cut \ufffd", isError: false });
  const { content } = await made.toolSearch(["text whole"]);
  assert.match(JSON.stringify(content), /Cut \ufffd, \\\\ud800 is text, 😀 whole/);
});

test("each handler is a capability, and none is claimed without one", async (t) => {
  for (const [options, capabilities] of [
    [{}, { invoke: false, approve: false, showConnections: false, progress: false }],
    [
      { invoke: () => ({ content: 1 }), onProgress: () => {} },
      { invoke: true, approve: false, showConnections: false, progress: true },
    ],
    [
      { approve: () => ({ decision: "allow" as const }), showConnections: () => ({}) },
      { invoke: false, approve: true, showConnections: true, progress: false },
    ],
  ] as const) {
    const sidecar = new Scripted();
    const made = await client(t, { ...options, open: () => sidecar.stream });
    const waiting = assert.rejects(made.status());
    await sidecar.next();
    assert.deepEqual(sidecar.initialize?.params?.capabilities, capabilities);
    assert.ok(sidecar.initialized);
    await made.close();
    await waiting;
  }
});

test("approve and showConnections are answered, to the very id", async (t) => {
  const sidecar = await asked(t, {
    approve: ({ name }) => ({ decision: "deny", reason: `not ${name}` }),
    showConnections: async ({ connections }) => ({ skipped: connections.map(({ connector }) => connector) }),
  });
  sidecar.send({ id: "toolscout:1", method: "host/approve", params: { name: "send", arguments: {} } });
  assert.deepEqual(await sidecar.next(), {
    jsonrpc: "2.0",
    id: "toolscout:1",
    result: { decision: "deny", reason: "not send" },
  });
  const connections = [{ connector: "mail", status: "pending" }];
  sidecar.send({ id: "toolscout:2", method: "host/showConnections", params: { connections } });
  assert.deepEqual((await sidecar.next()).result, { skipped: ["mail"] });
});

test("an exception of a handler is an error with its message, and its code and data if it has them", async (t) => {
  const sidecar = await asked(t, {
    approve: () => {
      throw new Error("nobody is there");
    },
    showConnections: () => Promise.reject(new ResponseError(7, "no screen", { pixels: 0 })),
  });
  sidecar.send({ id: "a", method: "host/approve", params: {} });
  assert.deepEqual((await sidecar.next()).error, { code: ErrorCode.InternalError, message: "nobody is there" });
  sidecar.send({ id: "b", method: "host/showConnections", params: {} });
  assert.deepEqual((await sidecar.next()).error, { code: 7, message: "no screen", data: { pixels: 0 } });
});

test("unknown requests are answered, unknown notifications and odd lines ignored", async (t) => {
  const logged: string[] = [];
  const sidecar = await asked(t, { onLog: (text) => logged.push(text) });
  sidecar.send({ method: "host/somethingNew", params: {} });
  sidecar.send({ method: "$/cancelRequest" });
  sidecar.send({ id: 99, result: "of no request" });
  sidecar.sendLine("[1]");
  sidecar.sendLine("{ broken");
  for (const method of ["host/nothing", "constructor", "host/invoke"]) {
    sidecar.send({ id: method, method, params: {} });
    const { id, error } = await sidecar.next();
    assert.deepEqual([id, error?.code], [method, ErrorCode.MethodNotFound]);
  }
  assert.deepEqual(
    logged.map((text) => text.slice(text.indexOf(": ") + 2)),
    [`{"jsonrpc":"2.0","id":99,"result":"of no request"}`, "[1]", "{ broken"],
  );
});

test("a listener that throws is logged, and the next is told", async (t) => {
  const logged = new Inbox<string>();
  const sidecar = await asked(t, {
    onDidChange: () => {
      throw new Error("my own fault");
    },
    onLog: (text) => logged.push(text),
  });
  sidecar.send({ method: "catalog/didChange", params: {} });
  assert.match((await logged.next()) ?? "", /my own fault/);
  sidecar.send({ id: 1, method: "host/nothing" });
  await sidecar.next();
});

test("a handler is told that the sidecar cancelled its request", async (t) => {
  const sidecar = await asked(t, {
    approve: async (_, { signal }) => {
      await once(signal, "abort");
      throw signal.reason;
    },
  });
  sidecar.send({ id: "toolscout:9", method: "host/approve", params: {} });
  sidecar.send({ method: "$/cancelRequest", params: { id: "toolscout:9" } });
  const { id, error } = await sidecar.next();
  assert.deepEqual([id, error?.code], ["toolscout:9", ErrorCode.Cancelled]);
});

test("an abort asks to cancel, and -32800 is an AbortError with the reason", async (t) => {
  const sidecar = new Scripted();
  const made = await client(t, { open: () => sidecar.stream });
  const aborting = new AbortController();
  const waiting = assert.rejects(made.status({ signal: aborting.signal }), (error) => {
    assert.ok(error instanceof CancelledError);
    assert.deepEqual([error.name, error.code, error.cause], ["AbortError", ErrorCode.Cancelled, "changed my mind"]);
    return true;
  });
  const { id } = await sidecar.next();
  aborting.abort("changed my mind");
  const cancel = await sidecar.next();
  assert.deepEqual([cancel.method, cancel.params], ["$/cancelRequest", { id }]);
  sidecar.send({ id, error: { code: ErrorCode.Cancelled, message: "cancelled" } });
  await waiting;
});

test("an abort that is not answered ends the call all the same", async (t) => {
  const sidecar = new Scripted();
  const made = await client(t, { open: () => sidecar.stream });
  const aborting = new AbortController();
  const waiting = assert.rejects(made.status({ signal: aborting.signal }), (error) => {
    assert.ok(error instanceof CancelledError);
    assert.equal(error.cause, "changed my mind");
    return true;
  });
  await sidecar.next();
  aborting.abort("changed my mind");
  await waiting;
});

test("an abort that comes too late gives the answer, and one behind the answer is not sent", async (t) => {
  const sidecar = new Scripted();
  const made = await client(t, { open: () => sidecar.stream });
  const aborting = new AbortController();
  const waiting = made.status({ signal: aborting.signal });
  const { id } = await sidecar.next();
  sidecar.send({ id, result: { pid: 7 } });
  assert.equal((await waiting).pid, 7);
  aborting.abort();
  sidecar.send({ id: 1, method: "host/nothing" });
  assert.equal((await sidecar.next()).method, undefined, "the next that comes is the answer");
});

test("a call that was aborted before it was made starts nothing", async (t) => {
  const made = await client(t, { binary: "/nowhere/toolscout" });
  await assert.rejects(made.status({ signal: AbortSignal.abort() }), CancelledError);
});

test("a call that is aborted while the sidecar starts does not wait for it", async (t) => {
  const made = await client(t, { open: () => new Promise(() => {}) });
  const aborting = new AbortController();
  const waiting = assert.rejects(made.status({ signal: aborting.signal }), CancelledError);
  aborting.abort();
  await waiting;
});

test("many calls may share a signal", async (t) => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const made = await client(t);
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 20 }, () => made.list({}, { signal })));
  assert.deepEqual(warnings, []);
});

test("a tool that runs when its call is cancelled: the answer is what is known", async (t) => {
  const aborting = new AbortController();
  const told = new Inbox<string>();
  const made = await client(t, {
    invoke: async (_, { signal }) => {
      const end = once(signal, "abort");
      aborting.abort();
      await end;
      told.push("stopped");
      return { content: null };
    },
  });
  await made.register(weather);
  const result = await made.toolCall("forecast", { city: "Oslo" }, { signal: aborting.signal });
  assert.ok("content" in result);
  assert.deepEqual([result.isError, (result.content as { code: string }).code], [true, "INTERRUPTED"]);
  assert.equal(await told.next(), "stopped");
});

/** A sidecar whose client is connected: it has a call that waits, and fails when the test ends. */
async function asked(t: Parameters<typeof client>[0], options: Parameters<typeof client>[1]): Promise<Scripted> {
  const sidecar = new Scripted();
  const made = await client(t, { ...options, open: () => sidecar.stream });
  made.status().catch(() => {});
  await sidecar.next();
  return sidecar;
}
