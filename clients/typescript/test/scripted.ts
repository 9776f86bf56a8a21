// The other end of a connection, played by the test: for what the real sidecar cannot be made to say at will.

import { Duplex, PassThrough } from "node:stream";
import { LineSplitter } from "../src/lines.js";
import { Inbox } from "./inbox.js";

/** A message as it came, loosely. */
export interface Message {
  id?: unknown;
  method?: string;
  params?: Record<string, unknown>;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** A sidecar that does nothing but what the test has it do; `initialize` it answers. */
export class Scripted {
  /** For the option `open`. */
  readonly stream: Duplex;
  /** What the client said at its start. */
  initialize: Message | undefined;
  /** Whether the client has read the answer. */
  initialized = false;
  readonly #inbox = new Inbox<Message>();
  readonly #toClient = new PassThrough();

  constructor() {
    const fromClient = new PassThrough();
    this.stream = Duplex.from({ readable: this.#toClient, writable: fromClient });
    const lines = new LineSplitter((line) => this.#take(JSON.parse(line)));
    fromClient.on("data", (chunk: Buffer) => lines.push(chunk));
    fromClient.on("end", () => this.#toClient.end());
  }

  /** The next message of the client's. */
  async next(): Promise<Message> {
    return (await this.#inbox.next()) ?? {};
  }

  send(message: Message): void {
    this.sendLine(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  sendLine(line: string): void {
    this.#toClient.write(`${line}\n`);
  }

  #take(message: Message): void {
    if (message.method === "initialize") {
      this.initialize = message;
      const result = { protocolVersion: "1.0", serverInfo: {}, capabilities: {}, diagnostics: [] };
      this.send({ id: message.id, result });
    } else if (message.method === "initialized") {
      this.initialized = true;
    } else if (message.method === "shutdown") {
      this.send({ id: message.id, result: null });
    } else {
      this.#inbox.push(message);
    }
  }
}
