// Every transcript of protocol/transcripts, played against the real sidecar; and those that a client could have sent, once
// more through the client's own connection: its ids, its cancelling, its answers to what the sidecar asks.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { asKnown } from "./known.js";
import { replay } from "./player.js";
import { isSayable } from "./wire.js";

const FOLDER = fileURLToPath(new URL("../../../../protocol/transcripts/", import.meta.url));

/** Transcripts that are known to fail, and why. One that passes, or is gone, is to be taken from the list. */
const KNOWN_FAILURES: Record<string, string> = {};

const names = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".jsonl"))
  .sort();

const sayable = names.filter((name) => {
  const texts = readFileSync(FOLDER + name, "utf8").split("\n");
  const [header, ...lines] = texts.filter((text) => text.trim() !== "").map((text) => JSON.parse(text));
  return isSayable(header.framing, lines);
});

test("known failures are transcripts that there are", () => {
  assert.deepEqual(
    Object.keys(KNOWN_FAILURES).filter((name) => !names.includes(name)),
    [],
  );
});

test("what is known to fail must fail, and all else must not", async () => {
  const failing = () => Promise.reject(new Error("does not fit"));
  await asKnown(undefined, Promise.resolve());
  await asKnown("not mended yet", failing());
  await assert.rejects(asKnown(undefined, failing()), /does not fit/);
  await assert.rejects(asKnown("not mended yet", Promise.resolve()), /it passes, .*: not mended yet/);
});

test("there are transcripts, and most can be said by a client", () => {
  assert.ok(names.length > 0, FOLDER);
  assert.ok(sayable.length > names.length / 2, `${sayable.length} of ${names.length}`);
});

describe("transcripts", { concurrency: 8 }, () => {
  for (const name of names) {
    test(name, (t) => asKnown(KNOWN_FAILURES[name], replay(t, FOLDER + name, "bare")));
  }
  for (const name of sayable) {
    test(`${name}, through the connection`, (t) =>
      asKnown(KNOWN_FAILURES[name], replay(t, FOLDER + name, "connection")));
  }
});
