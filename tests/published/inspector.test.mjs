// The MCP Inspector's command line against `toolscout mcp`: another client, which comes, asks one thing and goes.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { binary, place, SERVERS } from "./place.mjs";

const run = promisify(execFile);
const inspector = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js", import.meta.url),
);

/** A place where every server has been met before: who asks one thing only does not wait for them to start. */
async function visited(t) {
  const at = await place(t);
  const { stdout } = await run(binary, ["mcp-list", "--json"], { cwd: at.workspace, env: at.env });
  const states = JSON.parse(stdout).map(({ name, state }) => [name, state]);
  assert.deepEqual(
    states.sort(),
    SERVERS.map((name) => [name, "ready"]),
  );
  return at;
}

/** Asks, and gives the exit code and the JSON of standard output. */
async function inspect(at, ...question) {
  // The Inspector gives a server only what it is told to.
  const variables = Object.entries(at.env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const args = [inspector, "--cli", binary, "mcp", ...variables, ...question];
  const { code = 0, stdout } = await run(process.execPath, args, { cwd: at.workspace, env: at.env }).catch((e) => e);
  return { code, answer: stdout && JSON.parse(stdout) };
}

test("tools/list", async (t) => {
  const { code, answer } = await inspect(await visited(t), "--method", "tools/list", "--strict");
  assert.equal(code, 0);
  assert.deepEqual(
    answer.tools.map(({ name }) => name),
    ["manage_connections", "tool_search", "tool_describe", "tool_call"],
  );
});

test("tools/call of the bridge", async (t) => {
  const at = await visited(t);
  const call = (tool, argument) => inspect(at, "--method", "tools/call", "--tool-name", tool, "--tool-arg", argument);
  const found = await call("tool_search", 'queries=["rename a file"]');
  assert.equal(found.code, 0);
  assert.equal(found.answer.isError, false);
  assert.equal(found.answer.structuredContent.results[0].matches[0], "mcp__files__move_file");
  const echoed = await call("tool_call", 'calls=[{"name":"mcp__everything__echo","arguments":{"message":"hello"}}]');
  assert.equal(echoed.code, 0);
  assert.deepEqual(echoed.answer.content, [{ type: "text", text: "Echo: hello" }]);
  const unknown = await call("tool_call", 'calls=[{"name":"mcp__nobody__nothing","arguments":{}}]');
  assert.notEqual(unknown.code, 0);
  assert.equal(unknown.answer.isError, true);
});
