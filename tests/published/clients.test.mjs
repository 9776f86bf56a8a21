// `toolscout mcp` with the published servers behind it, driven by the official client over both transports.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ErrorCode, McpError, ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { assertGrows, binary, place, SERVERS, until } from "./place.mjs";

const TRANSPORTS = {
  stdio: (at, flags) =>
    new StdioClientTransport({ command: binary, args: ["mcp", ...flags], cwd: at.workspace, env: at.env }),
  http: async (at, flags) => new StreamableHTTPClientTransport(new URL(await serve(at, flags))),
};

/** Serves HTTP until the place is left; gives the address. */
async function serve(at, flags) {
  const args = ["mcp", "--http", "127.0.0.1:0", ...flags];
  const child = spawn(binary, args, { cwd: at.workspace, env: at.env, stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  at.defer(async () => {
    child.kill();
    await ended;
  });
  const lines = createInterface({ input: child.stderr });
  const [line] = await once(lines, "line");
  return JSON.parse(line).ready.url;
}

/** A client that has been told of tools of all the servers that its view may have. */
async function connected(at, transport, wanted = SERVERS) {
  const changes = new EventEmitter();
  const client = new Client({ name: "published-tests", version: "1" });
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes.emit("change"));
  at.defer(() => client.close());
  await client.connect(transport);
  const listing = await until(changes, () => listed(client, wanted));
  return { client, changes, listing };
}

/** The description of `tool_search`, once it lists these servers. */
async function listed(client, servers) {
  const { tools } = await client.listTools();
  const listing = tools.find(({ name }) => name === "tool_search")?.description ?? "";
  return servers.every((server) => listing.includes(`\n${server} (`)) && listing;
}

function call(client, name, args, options) {
  return client.callTool({ name: "tool_call", arguments: { calls: [{ name, arguments: args }] } }, undefined, options);
}

for (const [label, transport] of Object.entries(TRANSPORTS)) {
  test(`${label}: the bridge is listed, searches, and calls what the servers have`, async (t) => {
    const at = await place(t);
    const { client, listing } = await connected(at, await transport(at, []));
    assert.match(listing, /- mcp__everything__echo: Echoes back the input string/);
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["manage_connections", "tool_search", "tool_describe", "tool_call"],
    );
    const query = "create entities in the knowledge graph";
    const found = await client.callTool({ name: "tool_search", arguments: { queries: [query] } });
    assert.equal(found.structuredContent.results[0].matches[0], "mcp__memory__create_entities");
    const named = { names: ["mcp__everything__get-sum"] };
    const described = await client.callTool({ name: "tool_describe", arguments: named });
    const { parameters } = described.structuredContent.tools["mcp__everything__get-sum"];
    assert.deepEqual(parameters.required, ["a", "b"]);

    const echoed = await call(client, "mcp__everything__echo", { message: "there and back" });
    assert.deepEqual(echoed.content, [{ type: "text", text: "Echo: there and back" }]);
    const direct = await client.callTool({ name: "mcp__everything__echo", arguments: { message: "by name" } });
    assert.deepEqual(direct.content, [{ type: "text", text: "Echo: by name" }]);
    const image = await call(client, "mcp__everything__get-tiny-image", {});
    assert.ok(image.content.some(({ type, mimeType }) => type === "image" && mimeType === "image/png"));
    const weather = await call(client, "mcp__everything__get-structured-content", { location: "Chicago" });
    assert.deepEqual(weather.structuredContent, JSON.parse(weather.content[0].text));
    const refused = await call(client, "mcp__files__read_text_file", { path: "/" });
    assert.equal(refused.isError, true);
  });

  test(`${label}: progress and cancellation go through`, async (t) => {
    const at = await place(t);
    const { client } = await connected(at, await transport(at, []), ["everything"]);
    const name = "mcp__everything__trigger-long-running-operation";
    const told = [];
    await call(client, name, { duration: 0.5, steps: 5 }, { onprogress: ({ progress }) => told.push(progress) });
    assertGrows(told, 5);
    const cancel = new AbortController();
    const options = { signal: cancel.signal, onprogress: () => cancel.abort("enough") };
    await assert.rejects(call(client, name, { duration: 3600, steps: 36_000 }, options));
    const echoed = await call(client, "mcp__everything__echo", { message: "still here" });
    assert.equal(echoed.content[0].text, "Echo: still here");
  });

  test(`${label}: the client is told of an edited registry`, async (t) => {
    const at = await place(t);
    const { client, changes } = await connected(at, await transport(at, []));
    const tools = [{ name: "set_alarm", description: "Wakes somebody." }];
    const told = once(changes, "change");
    await at.write(".toolscout/registry/alarms.json", JSON.stringify({ tools }));
    await told;
    const listing = await listed(client, [...SERVERS, "alarms"]);
    assert.match(listing, /- mcp__alarms__set_alarm: Wakes somebody\./);
  });

  test(`${label}: what the flags deny does not exist`, async (t) => {
    const at = await place(t);
    const flags = ["--toolsets", "files,memory", "--deny", "*delete*"];
    const { client, listing } = await connected(at, await transport(at, flags), ["files", "memory"]);
    assert.doesNotMatch(listing, /everything|delete/);
    const queries = ["delete entities from the knowledge graph", "echo the input string"];
    const { structuredContent: found } = await client.callTool({ name: "tool_search", arguments: { queries } });
    assert.equal(found.total_available, 14 + 6);
    assert.doesNotMatch(JSON.stringify(found.tools), /everything|delete_/);
    for (const name of ["mcp__everything__echo", "mcp__memory__delete_entities"]) {
      const refused = await call(client, name, {});
      assert.match(refused.structuredContent.error, /is no tool here/);
      await assert.rejects(
        client.callTool({ name, arguments: {} }),
        (error) => error instanceof McpError && error.code === ErrorCode.InvalidParams,
      );
    }
  });
}

test("http: clients share the servers", async (t) => {
  const at = await place(t);
  const url = new URL(await serve(at, []));
  const clients = await Promise.all([1, 2].map(() => connected(at, new StreamableHTTPClientTransport(url))));
  await at.attendance.came(SERVERS.length);
  for (const { client } of clients) {
    const echoed = await call(client, "mcp__everything__echo", { message: "shared" });
    assert.equal(echoed.content[0].text, "Echo: shared");
  }
  assert.equal(at.attendance.arrived, SERVERS.length);
});
