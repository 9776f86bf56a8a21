// Lines come out whole, however the bytes come in.

import assert from "node:assert/strict";
import { test } from "node:test";
import { LineSplitter, MAX_LINE_BYTES } from "../src/lines.js";

const cases: [what: string, chunks: string[], lines: string[]][] = [
  ["one chunk", ["a\nb\n"], ["a", "b"]],
  ["pieces", ["a", "b", "\nc", "\n"], ["ab", "c"]],
  ["blank lines and carriage returns", ["\n\r\na\r\n\n"], ["", "a"]],
  ["no last line break", ["a\nb"], ["a", "b"]],
];

for (const [what, chunks, expected] of cases) {
  test(what, () => {
    const lines: string[] = [];
    const splitter = new LineSplitter((line) => lines.push(line));
    for (const chunk of chunks) {
      splitter.push(Buffer.from(chunk));
    }
    splitter.end();
    assert.deepEqual(lines, expected);
  });
}

test("a character in two chunks", () => {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  for (const byte of Buffer.from("日本\n")) {
    splitter.push(Buffer.of(byte));
  }
  assert.deepEqual(lines, ["日本"]);
});

test("a line without an end is refused before it fills the memory", () => {
  const lines: string[] = [];
  const splitter = new LineSplitter((line) => lines.push(line));
  const chunk = Buffer.alloc(MAX_LINE_BYTES / 4);
  for (let count = 0; count < 4; count += 1) {
    splitter.push(chunk);
  }
  assert.throws(() => splitter.push(Buffer.of(0)), RangeError);
  splitter.push(Buffer.from("next\n"));
  assert.deepEqual(lines, ["next"]);
});
