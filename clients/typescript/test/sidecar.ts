// What a test needs to talk to the real sidecar: where it is, and a place where it meets no configuration but the test's.

import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { TestContext } from "node:test";
import { Toolscout, type ToolscoutOptions } from "../src/index.js";

/** The real binary. */
export const binary = located();

/** What a client is made with to be alone with its sidecar in `folder`. */
export function optionsIn(folder: string): ToolscoutOptions & { env: NodeJS.ProcessEnv; workspace: string } {
  return { binary, env: environmentIn(folder), workspace: folder };
}

/** An environment in which nothing of the user's is read, and nothing is shared with others. */
export function environmentIn(folder: string): NodeJS.ProcessEnv {
  const { TOOLSCOUT_LOG: _, ...env } = process.env;
  return {
    ...env,
    TOOLSCOUT_BIN: binary,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    XDG_RUNTIME_DIR: folder,
  };
}

/** A client that is closed when the test ends. */
export async function client(t: TestContext, options: ToolscoutOptions = {}): Promise<Toolscout> {
  const made = new Toolscout({ ...optionsIn(await folder(t)), ...options });
  t.after(() => made.close());
  return made;
}

/** An empty folder that is removed when the test ends. */
export async function folder(t: TestContext): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "toolscout-")));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** Writes a file, and the folders it needs; at once, for a file that is empty for a moment is another event. */
export async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const written = join(tmpdir(), `toolscout-${randomUUID()}`);
  await writeFile(written, content);
  await rename(written, path);
}

/** Writes a program that stands in for a sidecar that is none; `script` is JavaScript. */
export function program(t: TestContext, script: string): Promise<string> {
  return executable(t, `#!${process.execPath}\n${script}`);
}

/** As `program`, for a shell: for what must have spoken before a short time is over. */
export function shellProgram(t: TestContext, script: string): Promise<string> {
  return executable(t, `#!/bin/sh\n${script}\n`);
}

async function executable(t: TestContext, content: string): Promise<string> {
  const path = join(await folder(t), "program");
  await writeFile(path, content, { mode: 0o755 });
  return path;
}

function located(): string {
  const path = process.env.TOOLSCOUT_BIN;
  if (!path) {
    throw new Error("these tests need the real sidecar: set TOOLSCOUT_BIN to the path of a built `toolscout`");
  }
  return resolve(path);
}
