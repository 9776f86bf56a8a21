// The sidecar as a child process: found, started, listened to on standard error, and ended.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { type Channel, endedOrForced } from "./channel.js";
import { printable, SidecarError } from "./errors.js";
import { LineSplitter } from "./lines.js";

/** What is started. */
export interface Program {
  /** Path of the binary; else `TOOLSCOUT_BIN`, else `toolscout` on `PATH`. */
  binary?: string | undefined;
  /** What stands behind it. */
  args: readonly string[];
  /** Its environment; that of the host if absent. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Told each line of standard error. */
  stderr(line: string): void;
}

/** So many lines of standard error are kept, each cut to so many characters, to say what a process that ended said. */
const LAST_LINES = 10;
const LAST_LINE_CHARACTERS = 500;

/** How long the output of a process that is gone may stay open, in milliseconds: another may have inherited it. */
const DRAIN_MS = 500;

/** Whether a signal can go to a process and all that it started. */
const HAS_GROUPS = process.platform !== "win32";

/** Starts the program. @throws SidecarError `missing` if that cannot be done. */
export async function start(program: Program): Promise<Channel> {
  const [binary, origin] = located(program.binary);
  const child = spawn(binary, program.args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: program.env ?? process.env,
    windowsHide: true,
    // A group of its own: what it started ends with it, and a Ctrl-C in the terminal is the host's alone.
    detached: HAS_GROUPS,
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error: NodeJS.ErrnoException) => reject(missing(binary, origin, error)));
  });
  return new Child(child, binary, program.stderr);
}

/** The binary, and who named it. */
function located(binary: string | undefined): [binary: string, origin: string] {
  const variable = process.env.TOOLSCOUT_BIN;
  if (binary) {
    return [binary, "the option `binary`"];
  }
  return variable ? [variable, "TOOLSCOUT_BIN"] : ["toolscout", "PATH"];
}

function missing(binary: string, origin: string, error: NodeJS.ErrnoException): SidecarError {
  const what =
    error.code === "ENOENT"
      ? "there is no such program"
      : error.code === "EACCES"
        ? "it may not be executed"
        : error.message;
  const where = origin === "PATH" ? "looked for on PATH" : `from ${origin}`;
  const help =
    "Install Toolscout so that `toolscout` is on PATH, or give its path as `binary` or in the variable TOOLSCOUT_BIN.";
  return new SidecarError("missing", `\`${binary}\` (${where}) cannot be started: ${what}. ${help}`, { cause: error });
}

class Child implements Channel {
  readonly input: Readable;
  readonly output: Writable;
  readonly peer: string;
  readonly isOwn = true;
  readonly ended: Promise<string>;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #lastLines: string[] = [];
  #unreadable = "";
  #held = true;

  constructor(
    child: ChildProcessByStdio<Writable, Readable, Readable>,
    binary: string,
    stderr: (line: string) => void,
  ) {
    this.#child = child;
    this.input = child.stdout;
    this.output = child.stdin;
    this.peer = `\`${binary}\``;
    // A pipe that breaks says less than the end of the process, which follows.
    child.stdin.on("error", () => {});
    child.on("error", () => {});
    const lines = new LineSplitter((line) => {
      this.#lastLines.push(line.slice(0, LAST_LINE_CHARACTERS));
      this.#lastLines.splice(0, this.#lastLines.length - LAST_LINES);
      stderr(line);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      try {
        lines.push(chunk);
      } catch {
        // Of a line that is too long to be kept, nothing is lost that anybody would read.
      }
    });
    child.stderr.on("end", () => lines.end());
    this.ended = new Promise((resolve) => {
      child.once("exit", () => {
        this.#endGroup();
        const timer = setTimeout(() => {
          child.stdout.destroy();
          child.stderr.destroy();
        }, DRAIN_MS);
        child.once("close", () => clearTimeout(timer));
      });
      child.once("close", () => resolve(this.#howItEnded()));
    });
    child.stdout.on("error", (error) => {
      this.#unreadable = `; its output could not be read: ${error.message}`;
    });
    // A program whose output has ended is of no use to anybody, even if it stays.
    child.stdout.once("close", () => void this.close());
  }

  hold(held: boolean): void {
    if (held === this.#held) {
      return;
    }
    this.#held = held;
    const { stdin, stdout, stderr } = this.#child;
    // A stream that is destroyed holds nothing, and would wait for a connection that never comes.
    const streams = [stdin as Socket, stdout as Socket, stderr as Socket].filter((stream) => !stream.destroyed);
    for (const handle of [this.#child, ...streams]) {
      if (held) {
        handle.ref();
      } else {
        handle.unref();
      }
    }
  }

  async close(): Promise<void> {
    // Whoever waits for the end must live to see it.
    this.hold(true);
    this.#child.stdin.end();
    await endedOrForced(this.ended, () => this.kill());
  }

  kill(): void {
    this.hold(true);
    // The number of a process that has ended may be another's.
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#endGroup();
    }
  }

  /** Ends the process, and what it started and left. */
  #endGroup(): void {
    const { pid } = this.#child;
    if (!HAS_GROUPS || pid === undefined) {
      this.#child.kill("SIGKILL");
      return;
    }
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // There is nothing left.
    }
  }

  #howItEnded(): string {
    const { exitCode, signalCode } = this.#child;
    const end = signalCode === null ? `ended with code ${exitCode}` : `was ended by ${signalCode}`;
    const how = end + this.#unreadable;
    const said = this.#lastLines.map((line) => `\n  ${printable(line)}`).join("");
    return said === "" ? how : `${how}; the last it said on standard error:${said}`;
  }
}
