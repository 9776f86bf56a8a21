// Agents in whose view registry files of the user and of the workspace have joined, against the real sidecar.

import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Agent, type AgentOptions, type InvokeParams, type RegisterParams } from "../src/index.js";
import { folder, optionsIn, write } from "./sidecar.js";
import { weather } from "./tools.js";

/** An agent whose tools answer what they were called with. */
function agent(t: TestContext, options: Partial<AgentOptions<"openai">>): Agent {
  const run = ({ name, arguments: given }: InvokeParams) => ({ content: { ran: name, ...given } });
  const made = new Agent({ run, ...options });
  t.after(() => made.close());
  return made;
}

/** Options with a registry file each of the user and of the workspace: a deferred tool, and one that is shown. */
async function registries(t: TestContext) {
  const dir = await folder(t);
  const alarms = { tools: [{ name: "set_alarm" }] };
  const notes = { sources: [{ name: "notes", kind: "core", tools: [{ name: "add_note" }] }] };
  await write(join(dir, "config/toolscout/registry/alarms.json"), JSON.stringify(alarms));
  await write(join(dir, ".toolscout/registry/notes.json"), JSON.stringify(notes));
  return optionsIn(dir);
}

const OTHERS = [
  ["mcp__alarms__set_alarm", "alarms"],
  ["add_note", "notes"],
] as const;

test("a tool of a registry file's is not run, and the model is told what to do, with and without the bridge", async (t) => {
  const logged: string[] = [];
  const run = () => assert.fail("it was run");
  const made = agent(t, { ...(await registries(t)), run, onLog: (line) => logged.push(line) });
  await made.toolsFor([weather]);
  for (const [name, source] of OTHERS) {
    const error =
      `\`${name}\` was not invoked: only its definition of \`${source}\` is known here, from a registry, and nothing ` +
      `that runs it. Do not call it again; tell the user that the MCP server \`${source}\` has to be configured under ` +
      "`mcpServers` in Toolscout's config.yaml.";
    const { content, isError } = await made.call({ name, arguments: {} });
    assert.deepEqual([content, isError], [{ error, code: "NOT_RUNNABLE", source }, true]);
    assert.ok(
      logged.some((line) => line.includes(name) && line.includes("runOthers")),
      logged.join("\n"),
    );
  }
});

test("an agent that runs others is asked for the tools of registry files too", async (t) => {
  const made = agent(t, { ...(await registries(t)), runOthers: true });
  await made.toolsFor([weather]);
  for (const [name] of OTHERS) {
    assert.deepEqual((await made.call({ name, arguments: {} })).content, { ran: name });
  }
});

test("a source that the agent gives is its own to run, though a registry file has the name, until it is taken back", async (t) => {
  const made = agent(t, await registries(t));
  const own: RegisterParams[] = [
    { source: { name: "alarms", kind: "mcp" }, tools: [{ name: "set_alarm" }] },
    { source: { name: "notes", kind: "core" }, tools: [{ name: "add_note" }] },
  ];
  for (const [sources, isError] of [
    [own, false],
    [[], true],
    [own, false],
  ] as const) {
    await made.toolsFor(sources);
    for (const [name] of OTHERS) {
      assert.equal((await made.call({ name, arguments: {} })).isError, isError, name);
    }
  }
});

test("a tool that is given inline is run, whether it says its source or has it in its name", async (t) => {
  const made = agent(t, optionsIn(await folder(t)));
  const named = { name: "mcp__lights__dim", inputSchema: { type: "object" } };
  const sourced = { ...named, name: "brew", source: { name: "kitchen", kind: "plugin" } };
  for (const tool of [named, sourced]) {
    const result = await made.client.toolCall(tool.name, {}, { tools: [tool, null, 7] });
    assert.deepEqual(result, { content: { ran: tool.name }, isError: false });
  }
});

test("an agent that is alone with its tools, by its folders or by its scope, is shown no others", async (t) => {
  const others = await registries(t);
  const empty = await folder(t);
  for (const options of [
    { ...others, workspace: empty, env: { ...others.env, XDG_CONFIG_HOME: empty } },
    { ...others, scope: { toolsets: { enabled: ["weather", "connections"] } } },
  ]) {
    const made = agent(t, options);
    const names = (await made.toolsFor([weather])).map((tool) => tool.function.name);
    assert.deepEqual(names, ["manage_connections", "tool_search", "tool_describe", "tool_call"]);
    for (const [name] of OTHERS) {
      const error = `There is no tool \`${name}\`. Call one of those you were given.`;
      assert.deepEqual((await made.call({ name, arguments: {} })).content, { error });
    }
    assert.equal((await made.call({ name: "forecast", arguments: { city: "Oslo" } })).isError, false);
  }
});
