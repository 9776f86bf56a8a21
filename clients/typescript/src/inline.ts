// Which tools were given inline with a call that may run them.

/** Remembers names alone, of all calls: a few for each set of tools that a host has. */
export class Inline {
  readonly #sources = new Set<string>();
  /** Of definitions that say no source: theirs is made of the name. */
  readonly #names = new Set<string>();

  /** Notes the definitions; what is none is the sidecar's to refuse. */
  add(definitions: readonly unknown[]): void {
    for (const definition of definitions) {
      const { source, name, function: of } = (definition ?? {}) as Partial<Record<string, { name?: unknown }>>;
      const [kept, called] =
        source?.name === undefined ? [this.#names, name ?? of?.name] : [this.#sources, source.name];
      if (typeof called === "string") {
        kept.add(called);
      }
    }
  }

  /** Whether a tool was among them, by its visible name or by its source. */
  has(name: string, source: string): boolean {
    return this.#names.has(name) || this.#sources.has(source);
  }
}
