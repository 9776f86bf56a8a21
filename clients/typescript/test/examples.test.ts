// The examples run, and do what is said of them.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Inbox } from "./inbox.js";
import { binary, environmentIn, folder, write } from "./sidecar.js";

const examples = new URL("../examples/", import.meta.url);
const scenario = fileURLToPath(new URL("../../../examples/agent/", import.meta.url));

test("the agent prints what every language prints", { timeout: 60_000 }, async (t) => {
  const args = [fileURLToPath(new URL("agent.js", examples)), join(scenario, "scenario.json")];
  const env = environmentIn(await folder(t));
  const agent = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => agent.kill("SIGKILL"));
  const [printed, [code]] = await Promise.all([text(agent.stdout), once(agent, "exit")]);
  assert.equal(printed, await readFile(join(scenario, "transcript.txt"), "utf8"));
  assert.equal(code, 0);
});

test("two peers share one sidecar, and each has its own tools", { timeout: 60_000 }, async (t) => {
  const dir = await folder(t);
  try {
    await twoPeers(t, dir);
  } finally {
    // The shared process would stay for a minute. The folder is still there, and with it the way to it.
    execFileSync(binary, ["stop", "--workspace", dir], { env: environmentIn(dir), stdio: "ignore" });
  }
});

async function twoPeers(t: TestContext, dir: string): Promise<void> {
  const [ada, bob] = await Promise.all([peer(t, dir, "ada"), peer(t, dir, "bob")]);
  const [first, second] = (await Promise.all([ada.next(), bob.next()])) as {
    ready: { pid: number; names: string[] };
  }[];
  assert.equal(first?.ready.pid, second?.ready.pid);
  assert.deepEqual([first?.ready.names, second?.ready.names], [["mcp__ada__hello"], ["mcp__bob__hello"]]);

  ada.say("call good morning");
  assert.deepEqual(await ada.next(), { answer: { from: "ada", text: "good morning" } });
  bob.say("search says hello");
  assert.deepEqual(await bob.next(), { matches: ["mcp__bob__hello"] });

  await write(join(dir, ".toolscout/registry/alarms.json"), `{"tools": [{"name": "set_alarm"}]}`);
  const changed = { changed: { added: ["mcp__alarms__set_alarm"], removed: [], changed: [] } };
  assert.deepEqual(await Promise.all([ada.next(), bob.next()]), [changed, changed]);

  assert.deepEqual(await Promise.all([ada.end(), bob.end()]), [0, 0]);
}

interface Peer {
  next(): Promise<unknown>;
  say(line: string): void;
  /** Closes its input; the exit code. */
  end(): Promise<unknown>;
}

/** Starts examples/peer.ts. */
async function peer(t: TestContext, workspace: string, name: string): Promise<Peer> {
  const program = fileURLToPath(new URL("peer.js", examples));
  const args = [program, "--binary", binary, "--workspace", workspace, "--name", name];
  const started = spawn(process.execPath, args, {
    env: environmentIn(workspace),
    stdio: ["pipe", "pipe", "inherit"],
  });
  t.after(() => started.kill("SIGKILL"));
  const lines = new Inbox<string>();
  createInterface({ input: started.stdout })
    .on("line", (line) => lines.push(line))
    .on("close", () => lines.end());
  return {
    next: async () => JSON.parse((await lines.next()) ?? "null"),
    say: (line) => void started.stdin.write(`${line}\n`),
    end: async () => {
      started.stdin.end();
      const [code] = await once(started, "exit");
      return code;
    },
  };
}
