// What can go wrong: the sidecar answers with an error, a request is cancelled, or there is no sidecar to ask.

import { ErrorCode } from "./protocol.js";

/** An error that the other side answered. Thrown by a handler, it is answered with its code and data. */
export class ResponseError extends Error {
  override name = "ResponseError";
  /** One of `ErrorCode`, or one that a later sidecar has. */
  readonly code: number;
  /** What the sidecar says beside the message, such as `pointer` for `InvalidParams`. */
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.data = data;
  }
}

/** The request was cancelled. Named `AbortError` as everywhere in Node; `cause` is the signal's reason. */
export class CancelledError extends ResponseError {
  override name = "AbortError";

  constructor(message: string, cause?: unknown, data?: unknown) {
    super(ErrorCode.Cancelled, message, data, cause === undefined ? undefined : { cause });
  }
}

/**
 * Why there is no sidecar to ask:
 * - `missing`: the program, or the socket, is not there or may not be used.
 * - `start`: it ended, or said nothing, before it answered `initialize`.
 * - `protocol`: it is another program.
 * - `version`: it speaks another version of the protocol.
 * - `initialize`: it refused what the host configured.
 * - `ended`: it ended while the request was waiting.
 * - `restarts`: it was started too often within a minute.
 * - `closed`: the client was closed.
 */
export type SidecarProblem =
  | "missing"
  | "start"
  | "protocol"
  | "version"
  | "initialize"
  | "ended"
  | "restarts"
  | "closed";

/** There is no sidecar to ask. The message says what happened, to which program, and what to do. */
export class SidecarError extends Error {
  override name = "SidecarError";
  /** What kind of problem it is, for programs. */
  readonly problem: SidecarProblem;

  constructor(problem: SidecarProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** What a thrown value says. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Foreign output as it may stand in a message: without what a terminal would take for orders. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\ufffd]/gu, (character) =>
    character === "\t" ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
