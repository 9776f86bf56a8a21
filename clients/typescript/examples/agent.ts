// One agent loop on clients/examples/agent/scenario.json, with a scripted model. Prints the transcript; see the README there.
//
//     TOOLSCOUT_BIN=... node dist/examples/agent.js ../examples/agent/scenario.json

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Agent, type DidChangeParams, type InvokeParams, type InvokeResult, type ToolSource } from "toolscout-client";

type Files = Record<string, unknown>;
type ScriptedCall = { name: string; arguments: Record<string, unknown> };

interface Scenario {
  files: Files;
  sources: ToolSource[];
  needsApproval: string[];
  decisions: string[];
  results: Record<string, unknown>;
  turns: (ScriptedCall[] | { write: Files } | string)[];
}

const scenario: Scenario = JSON.parse(await readFile(process.argv[2] ?? "../examples/agent/scenario.json", "utf8"));
const workspace = await mkdtemp(join(tmpdir(), "agent-"));
let changed: (change: DidChangeParams) => void = () => {};

try {
  await write(scenario.files);
  await using agent = new Agent({
    workspace,
    format: "openai",
    contextLength: 200_000,
    run,
    runOthers: true, // those of the workspace's registry files
    onDidChange: (change) => changed(change),
  });
  let held: unknown[] | undefined;
  for (const turn of scenario.turns) {
    if (typeof turn === "string") {
      console.log(`model: ${turn}`);
    } else if ("write" in turn) {
      const change = new Promise<DidChangeParams>((resolve) => {
        changed = resolve;
      });
      await write(turn.write);
      console.log(`write: ${Object.keys(turn.write).join(", ")}`);
      // An answer that shows the change comes behind the news of it. Waiting for news alone keeps no process alive.
      const [news] = await Promise.all([change, agent.client.list()]);
      console.log(`changed: ${shown(news)}`);
    } else {
      const tools = await agent.toolsFor(scenario.sources);
      const names = tools.map((tool) => tool.function.name).join(", ");
      console.log(`tools: ${tools === held ? "unchanged" : names}`);
      held = tools;
      for (const call of turn) {
        console.log(`model: ${call.name} ${json(call.arguments)}`);
        const { content, isError } = await agent.call(call);
        console.log(`${isError ? "error" : "result"}: ${json(content)}`);
      }
    }
  }
} finally {
  await rm(workspace, { recursive: true });
}

/** Runs a tool of the host: here, looks its result up. */
function run({ name, arguments: given }: InvokeParams): InvokeResult {
  if (scenario.needsApproval.includes(name)) {
    const decision = scenario.decisions.shift();
    console.log(`approve: ${name} ${decision}`);
    if (decision !== "allow") {
      throw new Error("A person said no.");
    }
  }
  console.log(`run: ${name} ${json(given)}`);
  return { content: scenario.results[name] };
}

/** Writes files of the workspace. */
async function write(files: Files): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(workspace, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(content));
  }
}

function shown(change: DidChangeParams): string {
  const lists = (["added", "removed", "changed"] as const).map((kind) => [kind, change[kind].join(", ")] as const);
  return lists.flatMap(([kind, names]) => (names === "" ? [] : [`${kind} ${names}`])).join("; ");
}

/** JSON without spaces, keys sorted, so that every language prints the same. */
function json(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
