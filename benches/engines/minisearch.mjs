// MiniSearch in process, measured by benches/side-by-side: `minisearch.mjs FOLDER`. Requests and answers are those of
// src/measure.rs. It has no stemmer of its own and takes none here.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

// Installed beside the results, not beside this file.
const { default: MiniSearch } = await import(createRequire(resolve(process.argv[3], "package.json")).resolve("minisearch"));

const LIMIT = 5;
const inputs = JSON.parse(readFileSync(join(process.argv[2], "inputs.json"), "utf8"));
// Not kept, so that it is not taken for memory that the engine needs.
const catalog = () => readFileSync(inputs.catalog, "utf8");
const base = process.memoryUsage().rss;
let engine;

function documents(json) {
  const out = [];
  for (const source of JSON.parse(json).sources)
    for (const { name, description, inputSchema } of source.tools) {
      const words = [name, source.name, description, ...Object.keys(inputSchema.properties)].join(" ").replaceAll("_", " ");
      out.push({ id: out.length, name, description, words });
    }
  return out;
}

function search(query) {
  return JSON.stringify(engine.search(query).slice(0, LIMIT).map(({ name, description }) => ({ name, description })));
}

function load(text) {
  engine = new MiniSearch({ fields: ["words"], storeFields: ["name", "description"] });
  engine.addAll(documents(text));
  if (!search(inputs.queries[0]).includes('"description"')) throw new Error("the first query has no answer");
}

function times({ milliseconds, most }, act) {
  const ns = [];
  const begin = process.hrtime.bigint();
  while (!ns.length || (ns.length < most && process.hrtime.bigint() - begin < BigInt(milliseconds) * 1_000_000n)) {
    const start = process.hrtime.bigint();
    act(ns.length);
    ns.push(Number(process.hrtime.bigint() - start));
  }
  return { ns };
}

function run(request) {
  switch (request.op) {
    case "first":
      load(catalog());
      return { bytes: process.memoryUsage().rss, base };
    case "load": {
      const text = catalog();
      return times(request, () => load(text));
    }
    case "search":
      return times(request, (n) => search(inputs.queries[n % inputs.queries.length]));
    case "unknown":
      return times(request, () => search(inputs.unknown));
    case "change": {
      const twins = [inputs.changed, inputs.catalog].map((path) => documents(readFileSync(path, "utf8"))[inputs.changed_tool]);
      return times(request, (n) => engine.replace(twins[n % 2]));
    }
    default:
      return { cannot: "only searches" };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = run(JSON.parse(line));
  } catch (error) {
    reply = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
