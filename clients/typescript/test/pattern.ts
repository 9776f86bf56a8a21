// The patterns of transcripts: what a message must look like. See protocol/transcripts/README.md.

/** Names bound by `$bind`, with the strings they stand for. */
export type Bindings = Map<string, string>;

/** Why the value is not what the pattern says, and where; `undefined` if it is. */
export function misfit(
  pattern: unknown,
  value: unknown,
  bindings: Bindings,
  exact = false,
  at = "",
): string | undefined {
  if (Array.isArray(pattern)) {
    if (!Array.isArray(value) || value.length !== pattern.length) {
      return differs(at, pattern, value);
    }
    return first(pattern.map((item, index) => () => misfit(item, value[index], bindings, exact, `${at}/${index}`)));
  }
  if (!isObject(pattern)) {
    return Object.is(pattern, value) ? undefined : differs(at, pattern, value);
  }
  const [[operator, operand] = [], ...others] = Object.entries(pattern);
  if (operator?.startsWith("$") && others.length === 0) {
    return operated(operator, operand, value, bindings, exact, at);
  }
  if (!isObject(value)) {
    return differs(at, pattern, value);
  }
  const unexpected = exact ? Object.keys(value).filter((name) => !Object.hasOwn(pattern, name)) : [];
  return unexpected.length > 0
    ? `${at}: not expected: ${unexpected.join(", ")}`
    : first(
        Object.entries(pattern).map(
          ([name, member]) =>
            () =>
              misfit(member, Object.hasOwn(value, name) ? value[name] : undefined, bindings, exact, `${at}/${name}`),
        ),
      );
}

function operated(
  operator: string,
  operand: unknown,
  value: unknown,
  bindings: Bindings,
  exact: boolean,
  at: string,
): string | undefined {
  const fits = (does: boolean) => (does ? undefined : differs(at, { [operator]: operand }, value));
  switch (operator) {
    case "$any":
      return fits(value !== undefined);
    case "$absent":
      return fits(value === undefined);
    case "$type":
      return fits(kind(value) === operand);
    case "$regex":
      return fits(typeof value === "string" && new RegExp(String(operand)).test(value));
    case "$text":
      // The text as it came is not to be seen here, but the order of members is.
      return fits(value !== undefined && JSON.stringify(value) === JSON.stringify(JSON.parse(String(operand))));
    case "$bind":
      if (typeof value === "string") {
        bindings.set(String(operand), value);
      }
      return fits(typeof value === "string");
    case "$exact":
      return misfit(operand, value, bindings, true, at);
    case "$unordered": {
      const left = Array.isArray(value) ? [...value] : [];
      const items = operand as unknown[];
      // Each pattern takes the first item that is left and fits it.
      const taken = items.every((item) => {
        const found = left.findIndex((candidate) => misfit(item, candidate, bindings, exact, at) === undefined);
        return found !== -1 && left.splice(found, 1).length === 1;
      });
      return fits(Array.isArray(value) && taken && left.length === 0);
    }
    default:
      return `${at}: the transcript uses an unknown operator ${operator}`;
  }
}

/** The first misfit of several, found one after the other: what one binds counts for the next. */
function first(checks: (() => string | undefined)[]): string | undefined {
  for (const check of checks) {
    const found = check();
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return kind(value) === "object";
}

function kind(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

function differs(at: string, expected: unknown, came: unknown): string {
  return `${at || "/"}: ${JSON.stringify(expected)} expected, ${JSON.stringify(came) ?? "nothing"} came`;
}
