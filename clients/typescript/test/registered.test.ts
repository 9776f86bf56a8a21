// What is remembered of registrations that came to nothing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type RegisterResult, ResponseError, SidecarError } from "../src/index.js";
import { Registered } from "../src/registered.js";
import { tracker, weather } from "./tools.js";

const ACCEPTED: RegisterResult = { revision: 1, accepted: 1, rejected: [] };
const better = { ...weather, tools: [] };

/** Sources of which the tracker and the weather were registered. */
async function registered(): Promise<Registered> {
  const sources = new Registered();
  await sources.add(tracker, Promise.resolve(ACCEPTED));
  await sources.add(weather, Promise.resolve(ACCEPTED));
  return sources;
}

test("one that was refused leaves what stood before, or nothing", async () => {
  const sources = await registered();
  const refused = () => Promise.reject(new ResponseError(-32602, "no"));
  await assert.rejects(sources.add(better, refused()), ResponseError);
  await assert.rejects(sources.add({ ...better, source: { name: "new", kind: "mcp" } }, refused()), ResponseError);
  assert.deepEqual(sources.all(), [tracker, weather]);
});

test("one that was refused does not undo a later one", async () => {
  const sources = await registered();
  const refused = sources.add(better, Promise.reject(new ResponseError(-32602, "no")));
  const later = { ...weather, tools: [{ name: "tides" }] };
  await Promise.all([assert.rejects(refused), sources.add(later, Promise.resolve(ACCEPTED))]);
  assert.deepEqual(sources.all(), [tracker, later]);
});

test("one that the sidecar died over is for the next sidecar", async () => {
  const sources = await registered();
  await assert.rejects(sources.add(better, Promise.reject(new SidecarError("ended", "gone"))), SidecarError);
  assert.deepEqual(sources.all(), [tracker, better]);
});
