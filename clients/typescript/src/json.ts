// JSON as the sidecar reads it.

/** A surrogate that has no partner, as `JSON.stringify` writes it: behind an even number of backslashes. */
const LONE_SURROGATE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

/**
 * A value as JSON text. Half a character, which a string that was cut may end with, is no text and would be refused with
 * all that stands around it; U+FFFD takes its place. @throws TypeError for a value that has no form in JSON
 */
export function json(value: unknown): string {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) {
    throw new TypeError(`a ${typeof value} has no form in JSON`);
  }
  return text.includes("\\ud") ? text.replace(LONE_SURROGATE, "$1\\ufffd") : text;
}
