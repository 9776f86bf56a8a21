// Patterns fit what they should and nothing else; a matcher that takes everything would make all transcripts pass.

import assert from "node:assert/strict";
import { test } from "node:test";
import { misfit } from "./pattern.js";

const cases: [what: string, pattern: unknown, value: unknown, fits: boolean][] = [
  ["an object is a subset", { a: 1 }, { a: 1, b: 2 }, true],
  ["a member is missing", { a: 1 }, { b: 2 }, false],
  ["a scalar differs", { a: 1 }, { a: "1" }, false],
  ["an object is no array", {}, [], false],
  ["exact: no other member", { $exact: { a: 1 } }, { a: 1, b: 2 }, false],
  ["exact reaches inside", { $exact: { a: [{}] } }, { a: [{ b: 2 }] }, false],
  ["exact takes operators", { $exact: { a: { $any: true } } }, { a: { b: 2 } }, true],
  ["any is not nothing", { a: { $any: true } }, {}, false],
  ["absent", { a: { $absent: true } }, { b: 1 }, true],
  ["absent, but there", { a: { $absent: true } }, { a: null }, false],
  ["an array is whole", [1], [1, 2], false],
  ["an array is in order", [1, 2], [2, 1], false],
  ["unordered", { $unordered: [1, 2] }, [2, 1], true],
  ["unordered, one wrong", { $unordered: [1, 1] }, [2, 1], false],
  ["unordered, one more", { $unordered: [1] }, [2, 1], false],
  ["type", { $type: "string" }, "x", true],
  ["another type", { $type: "array" }, {}, false],
  ["regex finds anywhere", { $regex: "b.d$" }, "abcd", true],
  ["regex does not find", { $regex: "^b" }, "abcd", false],
  ["text", { $text: '{"a":1,"b":2}' }, { a: 1, b: 2 }, true],
  ["text has an order", { $text: '{"a":1,"b":2}' }, { b: 2, a: 1 }, false],
  ["an unknown operator never fits", { $like: 1 }, "1", false],
];

for (const [what, pattern, value, fits] of cases) {
  test(what, () => assert.equal(misfit(pattern, value, new Map()) === undefined, fits));
}

test("a name is bound", () => {
  const bindings = new Map<string, string>();
  assert.equal(misfit([{ $bind: "it" }], ["x"], bindings), undefined);
  assert.equal(bindings.get("it"), "x");
});
