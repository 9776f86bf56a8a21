// Replays one transcript against the real sidecar, as protocol/transcripts/README.md has it.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, rm } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import type { TestContext } from "node:test";
import { Inbox } from "./inbox.js";
import { type Bindings, misfit } from "./pattern.js";
import { binary, environmentIn, folder, write } from "./sidecar.js";
import { bare, throughConnection, type Wire } from "./wire.js";

interface Header {
  transcript: string;
  framing: "lines" | "content-length";
  args?: string[];
  files?: Record<string, string>;
}

interface Line {
  why?: string;
  send?: unknown;
  sendRaw?: string;
  expect?: unknown;
  expectClose?: true;
  close?: true;
  exit?: number;
  write?: Record<string, string>;
  remove?: string;
}

/** How a transcript's messages are said: as they stand, or through the client's own connection. */
export type Way = "bare" | "connection";

/** Rejects with what does not fit, at which line. */
export async function replay(t: TestContext, path: string, way: Way): Promise<void> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line.trim() !== "");
  const dir = await folder(t);
  const bindings: Bindings = new Map([["dir", dir]]);
  const header: Header = JSON.parse(substituted(lines[0] ?? "", bindings));
  assert.equal(`${header.transcript}.jsonl`, basename(path), "the transcript's name is its file's");
  await mkdir(join(dir, "config"));
  await mkdir(join(dir, "workspace"));
  const player = new Player(dir, bindings, header);
  await player.write(header.files ?? {});
  player.start(header.args ?? [], way);
  t.after(() => player.child?.kill("SIGKILL"));
  for (const [index, line] of lines.entries()) {
    if (index > 0) {
      await player.line(line).catch((error) => {
        throw new Error(`line ${index + 1}: ${error.message}\n  ${line.slice(0, 200)}\n${player.errors}`);
      });
    }
  }
  await player.end();
}

class Player {
  child: ChildProcess | undefined;
  errors = "";
  readonly #dir: string;
  readonly #bindings: Bindings;
  readonly #header: Header;
  readonly #inbox = new Inbox();
  #wire: Wire | undefined;
  #exited: Promise<unknown[]> = Promise.resolve([]);
  /** The current run of `expect` lines that no message has fitted yet. */
  #waiting: string[] = [];

  constructor(dir: string, bindings: Bindings, header: Header) {
    this.#dir = dir;
    this.#bindings = bindings;
    this.#header = header;
  }

  start(args: string[], way: Way): void {
    const env = { ...environmentIn(this.#dir), XDG_CONFIG_HOME: join(this.#dir, "config") };
    const child = spawn(binary, args, { cwd: join(this.#dir, "workspace"), env });
    this.#wire =
      way === "bare" ? bare(child, this.#header.framing, this.#inbox) : throughConnection(child, this.#inbox);
    child.stdout.on("end", () => this.#inbox.end());
    child.stderr.on("data", (chunk: Buffer) => {
      this.errors += chunk;
    });
    // Writing to a process that ended is part of some conversations.
    child.stdin.on("error", () => {});
    this.#exited = once(child, "exit");
    this.child = child;
  }

  async line(text: string): Promise<void> {
    if ("expect" in JSON.parse(text)) {
      this.#waiting.push(text);
      return;
    }
    await this.#settle();
    const line: Line = JSON.parse(substituted(text, this.#bindings));
    const stdin = this.child?.stdin;
    if (line.send !== undefined) {
      this.#wire?.send(line.send);
    } else if (line.sendRaw !== undefined) {
      stdin?.write(line.sendRaw);
    } else if (line.expectClose) {
      await this.#expectEnd();
    } else if (line.close) {
      stdin?.end();
    } else if (line.exit !== undefined) {
      const [code] = await this.#exited;
      assert.equal(code, line.exit, "exit code");
    } else if (line.write !== undefined) {
      await this.write(line.write);
    } else if (line.remove !== undefined) {
      await rm(this.#inside(line.remove));
    } else {
      assert.fail("the line says nothing to do");
    }
  }

  /** Nothing may come that no line expected, not even after the last. */
  async end(): Promise<void> {
    await this.#settle();
    this.child?.stdin?.end();
    await this.#expectEnd();
    await this.#exited;
  }

  async write(files: Record<string, string>): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      await write(this.#inside(path), content);
    }
  }

  /** Reads until each waiting pattern has its message. */
  async #settle(): Promise<void> {
    while (this.#waiting.length > 0) {
      const message = await this.#inbox.next();
      assert.notEqual(message, undefined, `output ended before ${this.#waiting.join("\n")}`);
      const misfits: string[] = [];
      const found = this.#waiting.findIndex((text) => {
        const { expect }: Line = JSON.parse(substituted(text, this.#bindings));
        const bindings: Bindings = new Map(this.#bindings);
        const problem = misfit(expect, message, bindings);
        if (problem !== undefined) {
          misfits.push(problem);
          return false;
        }
        for (const [name, bound] of bindings) {
          this.#bindings.set(name, bound);
        }
        return true;
      });
      const came = JSON.stringify(message);
      assert.notEqual(found, -1, `a message fits no line that waits:\n  ${came}\n  ${misfits.join("\n  ")}`);
      this.#waiting.splice(found, 1);
    }
  }

  async #expectEnd(): Promise<void> {
    assert.equal(await this.#inbox.next(), undefined, "output ends");
  }

  /** A transcript touches nothing outside its folder. */
  #inside(path: string): string {
    const target = join(this.#dir, path);
    assert.ok(!relative(this.#dir, target).startsWith(".."), `${path} is inside the folder`);
    return target;
  }
}

/** Known names for what they stand for, as JSON writes it; others are left alone. */
function substituted(text: string, bindings: Bindings): string {
  return [...bindings].reduce(
    (before, [name, bound]) => before.replaceAll(`\${${name}}`, () => JSON.stringify(bound).slice(1, -1)),
    text,
  );
}
