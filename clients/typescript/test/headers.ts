// Splits a stream of `Content-Length` frames, for the transcripts in that framing; the client itself speaks lines.

const END_OF_HEADER = "\r\n\r\n";

/** Takes chunks as they come, and gives the bodies of whole frames. */
export class HeaderSplitter {
  readonly #onBody: (body: string) => void;
  #buffer = Buffer.alloc(0);

  constructor(onBody: (body: string) => void) {
    this.#onBody = onBody;
  }

  push(chunk: Buffer): void {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    for (let body = this.#take(); body !== undefined; body = this.#take()) {
      this.#onBody(body);
    }
  }

  #take(): string | undefined {
    const header = this.#buffer.indexOf(END_OF_HEADER);
    if (header === -1) {
      return undefined;
    }
    const length = /^Content-Length: (\d+)$/m.exec(this.#buffer.subarray(0, header).toString("latin1"))?.[1];
    if (length === undefined) {
      throw new Error(`no Content-Length: ${this.#buffer.subarray(0, header)}`);
    }
    const start = header + END_OF_HEADER.length;
    const end = start + Number(length);
    if (this.#buffer.length < end) {
      return undefined;
    }
    const body = this.#buffer.subarray(start, end).toString("utf8");
    this.#buffer = this.#buffer.subarray(end);
    return body;
  }
}
