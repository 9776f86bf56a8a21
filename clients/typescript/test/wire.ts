// Two ways to say a transcript's messages: as they stand, and through the client's own connection.

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { Connection } from "../src/connection.js";
import { ResponseError } from "../src/errors.js";
import { LineSplitter } from "../src/lines.js";
import { HeaderSplitter } from "./headers.js";
import type { Inbox } from "./inbox.js";

/** How messages are sent; what comes goes to an inbox. */
export interface Wire {
  send(message: unknown): void;
}

/** The messages as they stand, in a framing. */
export function bare({ stdin, stdout }: ChildProcess, framing: "lines" | "content-length", inbox: Inbox): Wire {
  const Splitter = framing === "lines" ? LineSplitter : HeaderSplitter;
  const frames = new Splitter((text) => inbox.push(JSON.parse(text)));
  stdout?.on("data", (chunk: Buffer) => frames.push(chunk));
  return {
    send(message) {
      const text = JSON.stringify(message);
      stdin?.write(framing === "lines" ? `${text}\n` : `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    },
  };
}

interface Message {
  id?: string | number | null;
  method?: string;
  params?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/**
 * Through the client's connection, which has ids of its own: requests, `$/cancelRequest` by an abort, and answers of
 * handlers. What comes is put back into the ids of the transcript.
 */
export function throughConnection({ stdin, stdout }: ChildProcess, inbox: Inbox): Wire {
  /** By the transcript's ids, what cancels its requests. */
  const sent = new Map<unknown, AbortController>();
  /** By ids that are made here, what answers the sidecar's requests. */
  const asked = new Map<unknown, (answer: Message) => void>();
  const push = (message: Message) => inbox.push({ jsonrpc: "2.0", ...message });
  const connection = new Connection(stdout as Readable, stdin as Writable, {
    request: (method, params, signal) => {
      const id = `asked:${asked.size}`;
      signal.addEventListener("abort", () => push({ method: "$/cancelRequest", params: { id } }));
      push({ id, method, params });
      return new Promise((resolve, reject) => {
        asked.set(id, ({ result, error }) =>
          error === undefined ? resolve(result) : reject(new ResponseError(error.code, error.message, error.data)),
        );
      });
    },
    notification: (method, params) => push({ method, params }),
    stray: (line) => inbox.push(JSON.parse(line)),
    busy: () => {},
  });
  return {
    send(message) {
      const { id, method, params, ...answer } = message as Message;
      if (method === undefined) {
        asked.get(id)?.(answer);
      } else if (method === "$/cancelRequest") {
        sent.get((params as { id: unknown }).id)?.abort();
      } else if (id === undefined) {
        connection.notify(method, params);
      } else {
        const aborting = new AbortController();
        sent.set(id, aborting);
        connection.request(method, params, aborting.signal).then(
          (result) => push({ id: id as string, result }),
          (error) => {
            assert.ok(error instanceof ResponseError, String(error));
            // The connection says before the message which request it answers.
            const message = error.message.replace(/^[^:]*: /, "");
            push({ id: id as string, error: { code: error.code, message, data: error.data } });
          },
        );
      }
    },
  };
}

/** Whether the client's connection can say all of a transcript: it sends no nonsense, and each id once. */
export function isSayable(framing: string, lines: readonly object[]): boolean {
  const messages = lines.flatMap((line) => ("send" in line ? [line.send as Message] : []));
  const ids = messages.flatMap(({ id, method }) => (id === undefined || method === undefined ? [] : [id]));
  return (
    framing === "lines" &&
    messages[0]?.method === "initialize" &&
    lines.every((line) => !("sendRaw" in line)) &&
    messages.every((message) => isPlain(message)) &&
    new Set(ids).size === ids.length
  );
}

/** Whether a message is one that a client may send. */
function isPlain(message: unknown): boolean {
  const { jsonrpc, id, method, params } = Object(message) as Message & { jsonrpc?: unknown };
  return (
    jsonrpc === "2.0" &&
    (method === undefined || typeof method === "string") &&
    (id === undefined || typeof id === "string" || typeof id === "number") &&
    (params === undefined || (typeof params === "object" && params !== null))
  );
}
