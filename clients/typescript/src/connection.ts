// JSON-RPC 2.0 over one stream of bytes, a message a line. Knows ids, answers and cancellation, and no method.

import type { Readable, Writable } from "node:stream";
import { onAbort } from "./abort.js";
import { CancelledError, messageOf, printable, ResponseError } from "./errors.js";
import { json } from "./json.js";
import { LineSplitter } from "./lines.js";
import { ErrorCode } from "./protocol.js";

/** How long a cancelled request waits for what the other side answers to that, in milliseconds; it does so at once if it lives. */
export const CANCEL_GRACE_MS = 2000;

/** So much of the first line is kept. */
const FIRST_LINE_CHARACTERS = 200;

/** What the other side's messages go to. */
export interface Receiver {
  /** Answers a request; what it throws is answered as an error. The signal says that nobody waits any more. */
  request(method: string, params: unknown, signal: AbortSignal): unknown;
  notification(method: string, params: unknown): void;
  /** Something came that is no message, or no answer to anything. */
  stray(line: string): void;
  /** Whether an answer is waited for, on either side; told whenever that may have changed. */
  busy(waiting: boolean): void;
}

type Id = string | number;

interface Message {
  id?: Id | null;
  method?: unknown;
  params?: unknown;
  result?: unknown;
  error?: { code?: unknown; message?: unknown; data?: unknown } | null;
}

interface Pending {
  method: string;
  signal: AbortSignal | undefined;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** One connection; of no more use once it has failed. */
export class Connection {
  readonly #output: Writable;
  readonly #receiver: Receiver;
  readonly #pending = new Map<Id, Pending>();
  readonly #running = new Map<Id, AbortController>();
  readonly #lines = new LineSplitter((line) => this.#line(line));
  #firstLine: string | undefined;
  #lastId = 0;
  #failure: Error | undefined;

  constructor(input: Readable, output: Writable, receiver: Receiver) {
    this.#output = output;
    this.#receiver = receiver;
    input.on("data", (chunk: Buffer) => {
      try {
        this.#lines.push(chunk);
      } catch (error) {
        // Whoever owns the stream hears of it, ends the sidecar, and fails this connection with the reason.
        input.destroy(error as Error);
      }
    });
    input.on("end", () => this.#lines.end());
  }

  /** The first line that came, whatever it was, be it unfinished, for messages: it tells of a program that is no sidecar. */
  get firstLine(): string | undefined {
    const line = this.#firstLine ?? this.#lines.begun;
    return line.trim() === "" ? undefined : printable(line.slice(0, FIRST_LINE_CHARACTERS));
  }

  /**
   * Sends a request. An abort asks the other side to cancel it; what that answers is still waited for, since it says
   * whether something was done, but for no longer than `CANCEL_GRACE_MS`.
   */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      if (signal?.aborted) {
        reject(new CancelledError(`${method} was cancelled before it was sent`, signal.reason));
        return;
      }
      this.#lastId += 1;
      const id = this.#lastId;
      // What cannot be written as JSON throws here, and nothing waits for it yet.
      const text = encoded({ id, method, params });
      let grace: NodeJS.Timeout | undefined;
      const ignoreAbort = onAbort(signal, () => {
        this.notify("$/cancelRequest", { id });
        grace = setTimeout(() => {
          const text = `${method} was cancelled, which the sidecar did not answer within ${CANCEL_GRACE_MS} ms`;
          this.#pending.get(id)?.reject(new CancelledError(text, signal?.reason));
        }, CANCEL_GRACE_MS);
      });
      const settled = () => {
        ignoreAbort();
        clearTimeout(grace);
        this.#pending.delete(id);
        this.#tellBusy();
      };
      this.#pending.set(id, {
        method,
        signal,
        resolve: (result) => {
          settled();
          resolve(result);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      this.#tellBusy();
      this.#output.write(text);
    });
  }

  /** Sends a notification, if there is still somebody to send it to. */
  notify(method: string, params?: unknown): void {
    if (this.#failure === undefined) {
      this.#output.write(encoded({ method, params }));
    }
  }

  /** Ends it: every request fails with the reason, now and later, and running handlers are told. */
  fail(reason: Error): void {
    if (this.#failure !== undefined) {
      return;
    }
    this.#failure = reason;
    for (const pending of [...this.#pending.values()]) {
      pending.reject(reason);
    }
    for (const running of this.#running.values()) {
      running.abort(reason);
    }
  }

  #tellBusy(): void {
    this.#receiver.busy(this.#pending.size + this.#running.size > 0);
  }

  #line(line: string): void {
    if (line.trim() === "") {
      return;
    }
    this.#firstLine ??= line.slice(0, FIRST_LINE_CHARACTERS);
    if (this.#failure !== undefined) {
      return;
    }
    const message = parsed(line);
    if (message === undefined) {
      this.#receiver.stray(line);
    } else if (typeof message.method !== "string") {
      this.#answer(message, line);
    } else if (message.id === undefined || message.id === null) {
      this.#notification(message.method, message.params);
    } else {
      void this.#request(message.id, message.method, message.params);
    }
  }

  #answer({ id, result, error }: Message, line: string): void {
    const pending = id === undefined || id === null ? undefined : this.#pending.get(id);
    if (pending === undefined) {
      this.#receiver.stray(line);
    } else if (error === undefined || error === null) {
      pending.resolve(result);
    } else {
      const code = typeof error.code === "number" ? error.code : ErrorCode.InternalError;
      const pointer = (error.data as { pointer?: unknown } | undefined)?.pointer;
      const where = typeof pointer === "string" && pointer !== "" ? ` at ${pointer}` : "";
      const text = typeof error.message === "string" ? error.message : JSON.stringify(error);
      const message = `${pending.method}${where}: ${text}`;
      const cancelled = code === ErrorCode.Cancelled;
      pending.reject(
        cancelled
          ? new CancelledError(message, pending.signal?.reason, error.data)
          : new ResponseError(code, message, error.data),
      );
    }
  }

  #notification(method: string, params: unknown): void {
    if (method === "$/cancelRequest") {
      const id = (params as { id?: Id } | undefined)?.id;
      if (id !== undefined) {
        this.#running.get(id)?.abort(new CancelledError("the sidecar cancelled the request"));
      }
    } else {
      this.#receiver.notification(method, params);
    }
  }

  async #request(id: Id, method: string, params: unknown): Promise<void> {
    const running = new AbortController();
    this.#running.set(id, running);
    this.#tellBusy();
    let answer: string;
    try {
      const result = await this.#receiver.request(method, params, running.signal);
      // Here, since what cannot be written as JSON is the handler's mistake, and must be answered too.
      answer = encoded({ id, result: result ?? null });
    } catch (thrown) {
      const { code, data } =
        thrown instanceof ResponseError ? thrown : { code: ErrorCode.InternalError, data: undefined };
      answer = encoded({ id, error: { code, message: messageOf(thrown), data } });
    }
    this.#running.delete(id);
    this.#tellBusy();
    if (this.#failure === undefined) {
      this.#output.write(answer);
    }
  }
}

/** A message as it is written. */
function encoded(message: object): string {
  return `${json({ jsonrpc: "2.0", ...message })}\n`;
}

/** The message that a line is, if it is one. */
function parsed(line: string): Message | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const isMessage = typeof value === "object" && value !== null && "jsonrpc" in value && value.jsonrpc === "2.0";
  return isMessage ? (value as Message) : undefined;
}
