// The life of the sidecar's process: what is started instead of it, how it dies, and that nothing is left running.

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { SidecarError, type SidecarProblem, Toolscout, type ToolscoutOptions } from "../src/index.js";
import { Inbox } from "./inbox.js";
import { binary, client, environmentIn, folder, program, shellProgram } from "./sidecar.js";
import { tracker, weather } from "./tools.js";

/** A program that takes the protocol's `initialize` and leaves all else to `script`, which has `message` and `send`. */
const sidecarLike = (script: string) => `
const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line);
  ${script}
});`;

const HOST = fileURLToPath(new URL("host.js", import.meta.url));

const READY = `if (message.method === "initialize") {
  send({ id: message.id, result: { protocolVersion: "1.0", serverInfo: {}, capabilities: {}, diagnostics: [] } });
}`;

async function fails(t: TestContext, problem: SidecarProblem, says: RegExp, options: ToolscoutOptions): Promise<void> {
  const made = await client(t, options);
  await assert.rejects(made.status(), (error) => {
    assert.ok(error instanceof SidecarError, String(error));
    assert.equal(error.problem, problem, error.message);
    assert.match(error.message, says);
    return true;
  });
}

test("a binary that is not there, by option", (t) =>
  fails(t, "missing", /`\/nowhere\/toolscout` \(from the option `binary`\).*no such program.*Install/, {
    binary: "/nowhere/toolscout",
  }));

test("a binary that is not there, by variable or on PATH", async (t) => {
  const { TOOLSCOUT_BIN, PATH } = process.env;
  t.after(() => Object.assign(process.env, { TOOLSCOUT_BIN, PATH }));
  process.env.TOOLSCOUT_BIN = "/nowhere/else";
  await fails(t, "missing", /`\/nowhere\/else` \(from TOOLSCOUT_BIN\)/, { binary: undefined });
  process.env.TOOLSCOUT_BIN = "";
  process.env.PATH = await folder(t);
  await fails(t, "missing", /`toolscout` \(looked for on PATH\)/, {
    binary: undefined,
    env: { PATH: process.env.PATH },
  });
});

test("a file that may not be executed", async (t) => {
  const path = join(await folder(t), "toolscout");
  await writeFile(path, "no program");
  await fails(t, "missing", /may not be executed/, { binary: path });
});

test("a program that gives back what it is told", async (t) => {
  const echo = await program(t, "process.stdin.pipe(process.stdout)");
  await fails(t, "protocol", /does not speak the Toolscout protocol; the first it said was: .*"initialize"/, {
    binary: echo,
  });
});

test("a program that ends at once", async (t) => {
  await fails(t, "start", /ended with code 0\n.*--version/, { binary: await program(t, "") });
});

test("a program that ends at once, and says why", async (t) => {
  const dying = await program(t, `console.error("the disk is full"); process.exit(3)`);
  await fails(t, "start", /ended with code 3; the last it said on standard error:\n {2}the disk is full/, {
    binary: dying,
  });
});

test("a program that says something else and ends, without a line break", async (t) => {
  await fails(t, "start", /ended with code 1\nThe first it said on standard output was: no such option/, {
    binary: await shellProgram(t, "printf 'no such option'; exit 1"),
  });
});

test("a program that hangs at its start, and is killed", async (t) => {
  const hanging = await shellProgram(t, "echo $$ >&2; exec sleep 1000");
  let pid = 0;
  await fails(
    t,
    "start",
    /did not answer `initialize` within 2000 ms, and was ended by SIGKILL; the last it said on standard error:\n {2}\d+\n.*startTimeoutMs/,
    {
      binary: hanging,
      startTimeoutMs: 2000,
      onStderr: (line) => {
        pid = Number(line);
      },
    },
  );
  assert.ok(pid > 0);
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("a program that says something else and hangs", async (t) => {
  const other = await shellProgram(t, "echo Welcome!; exec sleep 1000");
  await fails(t, "protocol", /the first it said was: Welcome!/, { binary: other, startTimeoutMs: 2000 });
});

test("a line on standard output before the protocol harms nothing", async (t) => {
  const path = await shellProgram(t, `echo starting the sidecar\nexec '${binary}' "$@"`);
  const logged: string[] = [];
  const made = await client(t, { binary: path, onLog: (text) => logged.push(text) });
  assert.ok((await made.status()).probe.ok);
  assert.match(logged.join("\n"), /no message.*: starting the sidecar/);
});

test("another version, refused by the sidecar", async (t) => {
  const other = sidecarLike(
    `send({ id: message.id, error: { code: -32602, message: "no", data: { pointer: "/protocolVersion", supported: ["2.0", "2.1"] } } });`,
  );
  await fails(t, "version", /speaks version 2\.0, 2\.1 of the protocol, this client 1\.0\. Install/, {
    binary: await program(t, other),
  });
});

test("another version, answered by the sidecar", async (t) => {
  const other = sidecarLike(`send({ id: message.id, result: { protocolVersion: "2.0" } });`);
  await fails(t, "version", /speaks version 2\.0/, { binary: await program(t, other) });
});

test("what the sidecar refuses of the configuration", (t) =>
  fails(t, "initialize", /refused what it was configured with: .*clientInfo/, { clientInfo: { name: 7 as never } }));

test("killed while a call waits: it fails with the reason, and the next sidecar knows what was registered", async (t) => {
  let aborted: Promise<unknown> | undefined;
  let answer: (() => void) | undefined;
  const made = await client(t, {
    async invoke(_, { signal }) {
      if (answer === undefined) {
        aborted = once(signal, "abort");
        answer = () => {};
        process.kill((await made.status()).pid, "SIGKILL");
        await aborted;
      }
      return { content: "sunny" };
    },
  });
  await made.register(tracker);
  await made.register(weather);
  await made.unregister("tracker");
  const before = await made.status();
  await assert.rejects(made.toolCall("forecast", { city: "Oslo" }), (error) => {
    assert.ok(error instanceof SidecarError);
    assert.equal(error.problem, "ended");
    assert.match(error.message, /was ended by SIGKILL/);
    return true;
  });
  await aborted;
  assert.deepEqual(await made.toolCall("forecast", { city: "Oslo" }), { content: "sunny", isError: false });
  const { sources } = await made.list();
  assert.deepEqual(
    sources.map((source) => source.name),
    ["weather"],
  );
  assert.notEqual((await made.status()).pid, before.pid);
});

test("what was registered again stands before a call that was made meanwhile", async (t) => {
  const made = await client(t);
  await made.register(weather);
  process.kill((await made.status()).pid, "SIGKILL");
  // Whichever way the end of the process and this call meet, one of the two is told of it, and then all is there.
  const { sources } = await made.list().catch(() => made.list());
  assert.equal(sources.length, 1);
});

test("three starts a minute, then a clear error and no start", async (t) => {
  const starts = join(await folder(t), "starts");
  const dying = await program(t, `require("fs").appendFileSync(${JSON.stringify(starts)}, "x"); process.exit(4)`);
  const made = await client(t, { binary: dying });
  for (const problem of ["start", "start", "start", "restarts", "restarts"]) {
    await assert.rejects(made.status(), (error: SidecarError) => {
      assert.equal(error.problem, problem);
      assert.match(error.message, /ended with code 4/);
      return true;
    });
  }
  assert.equal(await readFile(starts, "utf8"), "xxx");
});

test("what was never started is looked for as often as it is asked for", async (t) => {
  const absent = await client(t, { binary: "/nowhere/toolscout" });
  const closed = await client(t, { open: () => Promise.reject(new Error("closed")) });
  for (const made of [absent, closed]) {
    for (let times = 0; times < 5; times += 1) {
      await assert.rejects(made.status(), { problem: "missing" });
    }
  }
});

test("arguments that are refused are shown with what is wrong with them", async (t) => {
  await fails(t, "start", /ended with code 2; .*\n.*'--bogus'.*\n(.*\n)*.*`extraArgs`/, { extraArgs: ["--bogus"] });
});

test("what another program says gives a terminal no orders", async (t) => {
  const other = await shellProgram(t, "printf '\\033[31mWelcome\\n'; exec sleep 1000");
  await fails(t, "protocol", /the first it said was: \\u001b\[31mWelcome/, { binary: other, startTimeoutMs: 2000 });
});

test("a program that says something without end is another", async (t) => {
  const other = await shellProgram(t, "printf 'Password: '; exec sleep 1000");
  await fails(t, "protocol", /the first it said was: Password: /, { binary: other, startTimeoutMs: 2000 });
});

test("trust is told, and no argument: all trust share one sidecar", async (t) => {
  const arguments_ = await shellProgram(t, `echo "$@" >&2; exec '${binary}' "$@"`);
  const said = new Inbox<string>();
  const options = {
    binary: arguments_,
    config: "/nowhere/c",
    registry: ["/nowhere/r"],
    extraArgs: ["--mcp-config", "/nowhere/m"],
  };
  const made = await client(t, { ...options, trust: true, onStderr: (line) => said.push(line) });
  await made.status();
  assert.equal(await said.next(), "serve --config /nowhere/c --registry /nowhere/r --mcp-config /nowhere/m");
});

test("calls that wait for one start share it", async (t) => {
  const made = await client(t);
  const answers = await Promise.all([made.status(), made.status(), made.status()]);
  assert.equal(new Set(answers.map(({ pid }) => pid)).size, 1);
});

test("closed: the process ends, and further calls are refused", async (t) => {
  const made = await client(t);
  const { pid } = await made.status();
  await made.close();
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
  await assert.rejects(made.status(), { problem: "closed" });
  await made.close();
});

test("closed before it was needed: nothing is started", async () => {
  const made = new Toolscout({ binary: "/nowhere/toolscout" });
  await made.close();
  await assert.rejects(made.status(), { problem: "closed" });
});

test("closed while it starts", async (t) => {
  const made = await client(t, { binary: await program(t, "process.stdin.resume(); setInterval(() => {}, 1000)") });
  const waiting = assert.rejects(made.status(), { problem: "closed" });
  await made.close();
  await waiting;
});

test("closed though the sidecar does not care: it is killed", async (t) => {
  const deaf = await program(
    t,
    `${sidecarLike(`${READY} else { console.error(process.pid); }`)}\nsetInterval(() => {}, 1000);`,
  );
  const said = new Inbox<string>();
  const made = await client(t, { binary: deaf, onStderr: (line) => said.push(line) });
  const waiting = assert.rejects(made.status(), { problem: "closed" });
  const pid = Number(await said.next());
  await made.close();
  await waiting;
  assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
});

test("a sidecar that ends slowly has one time for all of it", async (t) => {
  const slow = await program(
    t,
    `${sidecarLike(`${READY} else if (message.method === "shutdown") {
      setTimeout(() => send({ id: message.id, result: null }), 1500);
    } else if (message.id !== undefined) {
      send({ id: message.id, result: {} });
    }`)}
    process.stdin.on("end", () => setTimeout(() => console.error("took its time"), 1500));`,
  );
  const said: string[] = [];
  const made = await client(t, { binary: slow, onStderr: (line) => said.push(line) });
  await made.status();
  await made.close();
  assert.deepEqual(said, []);
});

test("a program that closes its output and stays is ended", async (t) => {
  const mute = await program(
    t,
    `${sidecarLike(`${READY} else { require("fs").closeSync(1); }`)}\nsetInterval(() => {}, 1000);`,
  );
  const made = await client(t, { binary: mute });
  await assert.rejects(made.status(), { problem: "ended" });
});

test("a line that never ends ends the sidecar, and the next call starts another", async (t) => {
  const endless = await program(
    t,
    sidecarLike(`${READY} else if (message.method === "status") {
      const piece = Buffer.alloc(1 << 24, "x");
      for (let count = 0; count < 17; count += 1) process.stdout.write(piece);
    } else {
      send({ id: message.id, result: {} });
    }`),
  );
  const made = await client(t, { binary: endless });
  await assert.rejects(made.status(), (error: SidecarError) => {
    assert.equal(error.problem, "ended");
    assert.match(error.message, /could not be read: a line is longer than 268435456 bytes/);
    return true;
  });
  assert.deepEqual(await made.list(), {});
});

test("an output that another process holds open is not waited for", { timeout: 30_000 }, async (t) => {
  const pipe = join(await folder(t), "blocked");
  execFileSync("mkfifo", [pipe]);
  // In a session of its own it outlives the program, and has its output for as long as somebody could write to the pipe.
  const writer = await open(pipe, "r+");
  t.after(() => writer.close());
  const holding = await program(
    t,
    `require("child_process").spawn("sh", ["-c", "read line < '${pipe}'"], { detached: true, stdio: "inherit" });
    process.exit(3);`,
  );
  await fails(t, "start", /ended with code 3/, { binary: holding });
});

test("what the sidecar started ends with it", { timeout: 30_000 }, async (t) => {
  const pipe = join(await folder(t), "alive");
  execFileSync("mkfifo", [pipe]);
  const ended = once(createReadStream(pipe).resume(), "end");
  const wrapper = await shellProgram(
    t,
    `(exec 9>'${pipe}'; exec sleep 1000) </dev/null >/dev/null 2>&1 &\nexec '${binary}' "$@"`,
  );
  const made = await client(t, { binary: wrapper });
  process.kill((await made.status()).pid, "SIGKILL");
  await ended;
});

test("an interrupt at the terminal is the host's alone", { timeout: 30_000 }, async (t) => {
  const env = environmentIn(await folder(t));
  const host = spawn(process.execPath, [HOST, "interrupted"], {
    env,
    // The group that a terminal would interrupt.
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => host.kill("SIGKILL"));
  const lines = new Inbox<string>();
  createInterface({ input: host.stdout }).on("line", (line) => lines.push(line));
  assert.equal(await lines.next(), "served");
  assert.ok(host.pid);
  process.kill(-host.pid, "SIGINT");
  assert.equal(await lines.next(), "the same");
});

test("a sidecar that dies over many calls makes Node warn of nothing", async (t) => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  t.after(() => process.off("warning", warned));
  const made = await client(t, { invoke: () => new Promise(() => {}) });
  await made.register(weather);
  const { pid } = await made.status();
  const calls = Array.from({ length: 20 }, () => made.toolCall("forecast", { city: "Oslo" }));
  await made.status();
  process.kill(pid, "SIGKILL");
  assert.ok((await Promise.allSettled(calls)).every(({ status }) => status === "rejected"));
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});

test("a host that is done exits by itself, and its sidecar with it", { timeout: 30_000 }, async (t) => {
  const { host, ended } = await startHost(t, "done");
  const [code] = await once(host, "exit");
  assert.equal(code, 0);
  await ended;
});

test("a host that is killed leaves nothing running", { timeout: 30_000 }, async (t) => {
  const { host, ended } = await startHost(t, "stay");
  host.kill("SIGKILL");
  await ended;
});

test("a host that is asked lives to answer", { timeout: 30_000 }, async (t) => {
  const asking = await program(
    t,
    sidecarLike(`${READY} else if (message.method === "status") {
      send({ id: "toolscout:1", method: "host/approve", params: { name: "workspace", arguments: {} } });
      send({ id: message.id, result: {} });
    }`),
  );
  const host = spawn(process.execPath, [HOST], {
    env: { ...environmentIn(await folder(t)), TOOLSCOUT_BIN: asking },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => host.kill("SIGKILL"));
  assert.equal(await text(host.stdout), "served\nanswered\n");
});

/** Starts test/host.ts; resolves when its sidecar has answered. `ended` resolves when that sidecar is gone. */
async function startHost(t: TestContext, mode: string): Promise<{ host: ChildProcess; ended: Promise<unknown> }> {
  const dir = await folder(t);
  const pipe = join(dir, "alive");
  const wrapped = join(dir, "wrapped");
  // The sidecar holds the pipe open for as long as it lives, and the pipe's end is an event.
  execFileSync("mkfifo", [pipe]);
  await writeFile(wrapped, `#!/bin/sh\nexec 9>'${pipe}'\nexec '${binary}' "$@"\n`, { mode: 0o755 });
  const ended = once(createReadStream(pipe).resume(), "end");
  const host = spawn(process.execPath, [HOST, mode], {
    env: { ...environmentIn(dir), TOOLSCOUT_BIN: wrapped },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => host.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: host.stdout }), "line");
  assert.equal(line, "served");
  return { host, ended };
}
