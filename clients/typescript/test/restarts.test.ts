// How often a sidecar may be started, on a clock of the test's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_STARTS, Restarts, WINDOW_MS } from "../src/restarts.js";

test("so many starts within a window, whenever it begins", () => {
  const restarts = new Restarts();
  for (let start = 0; start < MAX_STARTS; start += 1) {
    assert.ok(restarts.allows(start));
    restarts.add(start);
  }
  assert.ok(!restarts.allows(WINDOW_MS - 1));
  assert.ok(restarts.allows(WINDOW_MS), "the first is a window ago");
  restarts.add(WINDOW_MS);
  assert.ok(!restarts.allows(WINDOW_MS), "the second is not");
});
