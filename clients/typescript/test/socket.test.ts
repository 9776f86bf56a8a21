// A sidecar that somebody else started, behind a Unix socket.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { SidecarError } from "../src/index.js";
import { binary, client, environmentIn, folder } from "./sidecar.js";
import { weather } from "./tools.js";

test("a socket serves, outlives its clients, and is dialled again", async (t) => {
  const dir = await folder(t);
  const socket = join(dir, "sidecar.sock");
  const listen = async () => {
    const args = ["serve", "--listen", `unix:${socket}`];
    const started = spawn(binary, args, { env: environmentIn(dir), stdio: ["ignore", "ignore", "pipe"] });
    t.after(() => started.kill("SIGKILL"));
    const [line] = await once(createInterface({ input: started.stderr }), "line");
    assert.match(line, /"ready"/);
    return started;
  };
  const sidecar = await listen();
  const first = await client(t, { socket });
  await first.register(weather);
  await first.close();
  const second = await client(t, { socket });
  assert.deepEqual((await second.list()).sources, [], "a connection sees its own alone");
  await second.register(weather);
  assert.equal((await second.status()).pid, sidecar.pid);

  const ended = once(sidecar, "exit");
  sidecar.kill("SIGKILL");
  await ended;
  await listen();
  const { sources } = await second.list().catch((error) => {
    assert.ok(error instanceof SidecarError);
    assert.equal(error.problem, "ended");
    return second.list();
  });
  assert.equal(sources.length, 1, "what was registered is registered again");
});

test("a socket where nobody listens", async (t) => {
  const made = await client(t, { socket: "/nowhere/sidecar.sock" });
  await assert.rejects(made.status(), (error: SidecarError) => {
    assert.equal(error.problem, "missing");
    assert.match(error.message, /nobody listens on \/nowhere\/sidecar\.sock: .*--listen/);
    return true;
  });
});

test("a stream that cannot be opened", async (t) => {
  const made = await client(t, { open: () => Promise.reject(new Error("the tunnel is down")) });
  await assert.rejects(made.status(), /`open` gave no stream: the tunnel is down/);
});

test("a stream that does not come is not waited for", async (t) => {
  const made = await client(t, { open: () => new Promise(() => {}), startTimeoutMs: 100 });
  await assert.rejects(made.status(), (error: SidecarError) => {
    assert.equal(error.problem, "start");
    assert.match(error.message, /the function `open` did not answer within 100 ms.*startTimeoutMs/);
    return true;
  });
});
