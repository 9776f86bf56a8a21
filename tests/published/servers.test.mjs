// Toolscout attached to the published servers, as a host has it: what they list is found, described and called.

import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Toolscout } from "../../clients/typescript/dist/src/index.js";
import { assertGrows, binary, place, SERVERS, until } from "./place.mjs";

/** A client whose sidecar knows every server's tools. */
async function attached(t) {
  const at = await place(t);
  return { at, ...(await attach(at)) };
}

async function attach(at) {
  const changes = new EventEmitter();
  const progress = new EventEmitter();
  const reports = [];
  const client = new Toolscout({
    binary,
    env: at.env,
    workspace: at.workspace,
    onDidChange: () => changes.emit("change"),
    onProgress: ({ token, value }) => {
      reports.push({ token, ...value });
      progress.emit("change");
    },
  });
  at.defer(() => client.close());
  // By what they list, not by their state: what one listed last stands there before it has started again.
  const sources = await until(changes, async () => {
    const { sources } = await client.list();
    return SERVERS.every((name) => sources.some((source) => source.name === name && source.toolCount > 0)) && sources;
  });
  return { client, sources, reports, progress };
}

/** The one text of a result that is no error. */
async function textOf(client, name, args) {
  const result = await client.toolCall(name, args);
  assert.equal(result.isError, false, JSON.stringify(result));
  assert.deepEqual(
    result.content.map(({ type }) => type),
    ["text"],
  );
  return result.content[0].text;
}

test("every server lists, and each tool is found by what it does and described", async (t) => {
  const { client, sources } = await attached(t);
  const counts = sources.map(({ name, toolCount }) => [name, toolCount]);
  assert.deepEqual(counts.sort(), [
    ["everything", 13],
    ["files", 14],
    ["memory", 9],
  ]);
  const wanted = {
    "sum of two numbers": "mcp__everything__get-sum",
    "tiny image of the logo": "mcp__everything__get-tiny-image",
    "read the contents of a text file": "mcp__files__read_text_file",
    "rename a file": "mcp__files__move_file",
    "search for files matching a pattern": "mcp__files__search_files",
    "create entities in the knowledge graph": "mcp__memory__create_entities",
    "read the entire knowledge graph": "mcp__memory__read_graph",
  };
  const { content: found } = await client.toolSearch(Object.keys(wanted));
  for (const { query, matches } of found.results) {
    assert.ok(matches.slice(0, 3).includes(wanted[query]), `${query}: ${matches}`);
  }
  const { content: described } = await client.toolDescribe(Object.values(wanted));
  assert.deepEqual(Object.keys(described.tools).sort(), Object.values(wanted).sort());
  assert.deepEqual(described.tools.mcp__files__move_file.parameters.required, ["source", "destination"]);
});

test("results come as the server gave them", async (t) => {
  const { client } = await attached(t);
  const sum = await client.toolCall("get-sum", { a: "2", b: 3 });
  assert.match(sum.content[0].text, /\b5\b/);
  assert.equal(sum.coerced.length, 1, "the server takes numbers alone");

  const image = await client.toolCall("get-tiny-image", {});
  const { mimeType, data } = image.content.find(({ type }) => type === "image");
  assert.equal(mimeType, "image/png");
  assert.equal(Buffer.from(data, "base64").toString("latin1", 1, 4), "PNG");

  const weather = await client.toolCall("get-structured-content", { location: "Chicago" });
  assert.deepEqual(weather.structuredContent, JSON.parse(weather.content[0].text));
  assert.equal(typeof weather.structuredContent.temperature, "number");

  const refused = await client.toolCall("get-structured-content", { location: "Oslo" });
  assert.equal(refused.isError, true);
  assert.equal(refused.content.violations[0].constraint, "enum");
});

test("a long call tells of its progress, and one that is cancelled ends", async (t) => {
  const { client, reports, progress } = await attached(t);
  const name = "trigger-long-running-operation";
  const done = await client.toolCall(name, { duration: 0.5, steps: 5 }, { progressToken: "whole" });
  assert.equal(done.isError, false, JSON.stringify(done));
  const told = reports.filter(({ token, kind }) => token === "whole" && kind === "report");
  assert.ok(told.every(({ total }) => total === 5));
  assertGrows(
    told.map(({ progress }) => progress),
    5,
  );

  const cancel = new AbortController();
  const hour = { duration: 3600, steps: 36_000 };
  const cancelled = client.toolCall(name, hour, { progressToken: "cut", signal: cancel.signal });
  await until(progress, () => reports.some(({ token }) => token === "cut"));
  cancel.abort();
  const { isError, content } = await cancelled;
  assert.deepEqual([isError, content.code], [true, "INTERRUPTED"]);
  assert.equal(await textOf(client, "echo", { message: "still here" }), "Echo: still here");
});

test("the file server works in its folder and nowhere else", async (t) => {
  const { at, client } = await attached(t);
  const path = join(at.shared, "letter.txt");
  await textOf(client, "mcp__files__write_file", { path, content: "Dear reader" });
  assert.equal(await readFile(path, "utf8"), "Dear reader");
  await writeFile(path, "Dear writer");
  assert.equal(await textOf(client, "mcp__files__read_text_file", { path }), "Dear writer");
  const secret = join(at.folder, "secret.txt");
  await symlink(secret, join(at.shared, "link.txt"));
  for (const outside of [secret, `${at.shared}/../secret.txt`, join(at.shared, "link.txt")]) {
    const refused = await client.toolCall("mcp__files__read_text_file", { path: outside });
    assert.equal(refused.isError, true, outside);
    assert.match(refused.content[0].text, /^Access denied/, outside);
  }
});

test("what is remembered in one call is there in the next, and with the next sidecar", async (t) => {
  const { at, client } = await attached(t);
  const entity = { name: "Ada", entityType: "person", observations: ["writes programs"] };
  await client.toolCall("create_entities", { entities: [entity] });
  await client.toolCall("add_observations", { observations: [{ entityName: "Ada", contents: ["plays the harp"] }] });
  const found = await client.toolCall("search_nodes", { query: "harp" });
  const expected = [{ ...entity, observations: ["writes programs", "plays the harp"] }];
  assert.deepEqual(JSON.parse(found.content[0].text).entities, expected);

  await client.close();
  await at.attendance.allLeft();
  const { client: next } = await attach(at);
  // It waits for a server that is starting.
  const graph = await next.toolCall("read_graph", {});
  assert.deepEqual(JSON.parse(graph.content[0].text).entities, expected);
});

test("each server runs once, and none is left when the client closes", async (t) => {
  const { at, client } = await attached(t);
  await at.attendance.came(SERVERS.length);
  assert.equal(at.attendance.present, SERVERS.length);
  await client.close();
  await at.attendance.allLeft();
  assert.equal(at.attendance.arrived, SERVERS.length);
});
