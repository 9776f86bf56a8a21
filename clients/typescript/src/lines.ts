// Splits a stream of bytes into lines. The protocol's frames are lines, and so is what a program logs.

const LINE_FEED = 0x0a;

/** The longest line that is kept, in bytes; the sidecar's own limit on what it lets lie unread. */
export const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** Takes chunks as they come, and gives whole lines, without their `\n` or `\r\n`. */
export class LineSplitter {
  readonly #onLine: (line: string) => void;
  /** Pieces of a line whose end has not come; joined once, so that a long line costs no copy a chunk. */
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** @throws RangeError for a line over `MAX_LINE_BYTES`; what came of it is dropped. */
  push(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(LINE_FEED); end !== -1; end = rest.indexOf(LINE_FEED)) {
      this.#keep(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      this.end();
    }
    this.#keep(rest);
  }

  /** Gives what stands there as a line, if anything does. */
  end(): void {
    if (this.#bytes > 0) {
      const line = Buffer.concat(this.#pieces).toString("utf8");
      this.#pieces = [];
      this.#bytes = 0;
      this.#onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
    }
  }

  /** The beginning of a line whose end has not come; empty if there is none. */
  get begun(): string {
    return this.#pieces[0]?.toString("utf8") ?? "";
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_LINE_BYTES) {
      this.#pieces = [];
      this.#bytes = 0;
      throw new RangeError(`a line is longer than ${MAX_LINE_BYTES} bytes`);
    }
    if (piece.length > 0) {
      this.#pieces.push(piece);
    }
  }
}
