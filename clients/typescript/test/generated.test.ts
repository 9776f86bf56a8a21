// src/protocol.ts is what openrpc.json says today.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);

test("the generated types are fresh", async () => {
  const { generate } = await import(new URL("generator/generate.js", root).href);
  const written = readFileSync(new URL("src/protocol.ts", root), "utf8");
  assert.ok(written === generate(), "src/protocol.ts is stale: run `npm run generate`");
});
