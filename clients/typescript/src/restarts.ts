// How often a sidecar may be started: one that dies at once would otherwise be started with every call.

/** So many starts ... */
export const MAX_STARTS = 3;

/** ... within so many milliseconds. */
export const WINDOW_MS = 60_000;

/** Counts starts. Times are milliseconds of any clock that does not go back. */
export class Restarts {
  #starts: number[] = [];

  /** Whether there may be another start now. */
  allows(now: number): boolean {
    this.#starts = this.#starts.filter((start) => now - start < WINDOW_MS);
    return this.#starts.length < MAX_STARTS;
  }

  /** Counts a process that was started. */
  add(now: number): void {
    this.#starts.push(now);
  }
}
