// What has come and what is waited for, with a limit on the waiting.

/** No honest answer takes so long, even on a machine that is busy with other things; in milliseconds. */
const DEADLINE_MS = 30_000;

/** A queue of values that were pushed, for one reader. */
export class Inbox<Value = unknown> {
  readonly #values: Value[] = [];
  #ended = false;
  #wake: () => void = () => {};

  push(value: Value): void {
    this.#values.push(value);
    this.#wake();
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  /** The next value, `undefined` at the end. Rejects if nothing comes. */
  async next(): Promise<Value | undefined> {
    if (this.#values.length === 0 && !this.#ended) {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`nothing came for ${DEADLINE_MS} ms`)), DEADLINE_MS);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#values.shift();
  }
}
