// A place of its own for each test: an empty home, and a configuration that names the three published servers.

import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Attendance, SOCKET } from "./attendance.mjs";

/** The real binary. */
export const binary = located();

/** The servers' names in the configuration. */
export const SERVERS = ["everything", "files", "memory"];

/** No honest end takes so long, even on a machine that is busy with other things; in milliseconds. */
const DEADLINE_MS = 30_000;

/** Makes a place. When the test ends, what was deferred is done, and every server has to have ended. */
export async function place(t) {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "toolscout-published-")));
  const made = new Place(folder);
  t.after(() => made.leave(), { timeout: DEADLINE_MS });
  await made.furnish();
  return made;
}

class Place {
  attendance = new Attendance();
  #deferred = [];

  constructor(folder) {
    this.folder = folder;
    this.workspace = join(folder, "work");
    /** What the file server may touch. */
    this.shared = join(folder, "shared");
    this.env = {
      PATH: process.env.PATH,
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, "config"),
      XDG_CACHE_HOME: join(folder, "cache"),
      XDG_RUNTIME_DIR: folder,
    };
  }

  /** Has something done before the place is left, the last first. */
  defer(end) {
    this.#deferred.push(end);
  }

  /** Writes a file of the workspace whole: one that is empty for a moment is another event. */
  async write(path, content) {
    const target = join(this.workspace, path);
    await mkdir(dirname(target), { recursive: true });
    const written = join(this.folder, "written");
    await writeFile(written, content);
    await rename(written, target);
  }

  async furnish() {
    const socket = join(this.folder, "attendance");
    await this.attendance.listen(socket);
    const server = (name, args = [], env = {}) => ({
      command: process.execPath,
      args: ["--import", fileURLToPath(new URL("attendance.mjs", import.meta.url)), program(name), ...args],
      env: { [SOCKET]: socket, ...env },
    });
    const mcpServers = {
      everything: server("server-everything"),
      files: server("server-filesystem", [this.shared]),
      memory: server("server-memory", [], { MEMORY_FILE_PATH: join(this.folder, "memory.jsonl") }),
    };
    const config = join(this.folder, "config/toolscout");
    await Promise.all([this.workspace, this.shared, config].map((path) => mkdir(path, { recursive: true })));
    // JSON is YAML.
    await writeFile(join(config, "config.yaml"), JSON.stringify({ mcpServers }));
    await writeFile(join(this.folder, "secret.txt"), "not for the file server");
  }

  async leave() {
    for (const end of this.#deferred.reverse()) {
      await end();
    }
    await this.attendance.allLeft();
    this.attendance.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** The first of `look`'s answers that is one. It looks again whenever `emitter` says that something has changed. */
export async function until(emitter, look) {
  for (;;) {
    // Before the look, so that no change falls between.
    const changed = once(emitter, "change");
    const seen = await look();
    if (seen) {
      return seen;
    }
    await changed;
  }
}

/** The entry point of a published server. */
function program(name) {
  return fileURLToPath(new URL(`node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url));
}

/**
 * Holds that steps of `total` were told of, each once and in order. Not that all were: what a server says right before its
 * answer may be overtaken by that, in the SDKs of both languages.
 */
export function assertGrows(steps, total) {
  assert.notEqual(steps.length, 0);
  const possible = Array.from({ length: total }, (_, step) => step + 1);
  assert.deepEqual(
    steps,
    possible.filter((step) => steps.includes(step)),
  );
}

function located() {
  const path = process.env.TOOLSCOUT_BIN;
  if (!path) {
    throw new Error("these tests need the real sidecar: set TOOLSCOUT_BIN to the path of a built `toolscout`");
  }
  return resolve(path);
}
