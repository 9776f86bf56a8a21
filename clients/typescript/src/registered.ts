// What is registered, to be registered again with the next sidecar.

import { ResponseError } from "./errors.js";
import type { RegisterParams, RegisterResult } from "./protocol.js";

/** Sources in the order in which they were first registered; registrations take effect in the order they are sent. */
export class Registered {
  readonly #sources = new Map<string, RegisterParams>();

  /**
   * Notes what was just sent, and gives back its answer. If the sidecar dies before it answers, the source stays noted:
   * it was asked for. If it refuses, what stood there before is still in force.
   */
  async add(params: RegisterParams, answer: Promise<RegisterResult>): Promise<RegisterResult> {
    const { name } = params.source;
    const before = this.#sources.get(name);
    this.#sources.set(name, params);
    try {
      return await answer;
    } catch (error) {
      if (error instanceof ResponseError && this.#sources.get(name) === params) {
        if (before === undefined) {
          this.#sources.delete(name);
        } else {
          this.#sources.set(name, before);
        }
      }
      throw error;
    }
  }

  remove(name: string): void {
    this.#sources.delete(name);
  }

  has(name: string): boolean {
    return this.#sources.has(name);
  }

  all(): RegisterParams[] {
    return [...this.#sources.values()];
  }
}
