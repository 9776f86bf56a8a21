// What a way to a sidecar offers, be it a process of our own, a socket, or a stream that the host brings.

import type { Readable, Writable } from "node:stream";

/** How long an end that was asked for may take, in milliseconds, before it is forced. */
export const CLOSE_TIMEOUT_MS = 2000;

/** Bytes to and from one sidecar, and how that ended. */
export interface Channel {
  /** What the sidecar says. */
  readonly input: Readable;
  /** What is said to it. */
  readonly output: Writable;
  /** Who is at the other end, for messages. */
  readonly peer: string;
  /** Whether the sidecar is there for this host alone. */
  readonly isOwn: boolean;
  /** Resolves once nothing more comes, all that came having been read; says how it ended, as in `ended with code 1`. */
  readonly ended: Promise<string>;
  /** Whether the channel alone keeps the host's process alive. */
  hold(held: boolean): void;
  /** Ends the sidecar's input, waits for it to end, and forces that after `CLOSE_TIMEOUT_MS`. */
  close(): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** Runs `force` if `ended` has not come in time. */
export async function endedOrForced(ended: Promise<unknown>, force: () => void): Promise<void> {
  const timer = setTimeout(force, CLOSE_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}
