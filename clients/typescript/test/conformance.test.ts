// Every transcript of protocol/transcripts, played against the real sidecar.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { replay } from "./player.js";

const FOLDER = fileURLToPath(new URL("../../../../protocol/transcripts/", import.meta.url));

/** Transcripts that are known to fail, and why. One that passes, or is gone, is to be taken from the list. */
const KNOWN_FAILURES: Record<string, string> = {};

const names = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".jsonl"))
  .sort();

test("known failures are transcripts that there are", () => {
  assert.deepEqual(
    Object.keys(KNOWN_FAILURES).filter((name) => !names.includes(name)),
    [],
  );
});

test("there are transcripts", () => assert.ok(names.length > 0, FOLDER));

describe("transcripts", { concurrency: 8 }, () => {
  for (const name of names) {
    test(name, async (t) => {
      const why = KNOWN_FAILURES[name];
      if (why === undefined) {
        await replay(t, FOLDER + name);
      } else {
        await assert.rejects(replay(t, FOLDER + name), `passes, and is listed as failing: ${why}`);
      }
    });
  }
});
