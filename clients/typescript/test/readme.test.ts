// What the README says stands: its links, in the package too, and its code.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../", import.meta.url));
const read = (path: string) => readFileSync(folder + path, "utf8");

test("every link leads to a file of the package", () => {
  const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: folder,
    encoding: "utf8",
  });
  const [{ files }] = JSON.parse(packed) as [{ files: { path: string }[] }];
  const paths = new Set(files.map(({ path }) => path));
  for (const readme of ["README.md", "examples/vscode/README.md"]) {
    const links = [...read(readme).matchAll(/\]\(([^)#]+)\)/g)].map(([, link = ""]) =>
      posix.join(posix.dirname(readme), link),
    );
    assert.deepEqual(
      links.filter((link) => !paths.has(link)),
      [],
    );
  }
});

test("the loop is the one that is checked against the SDKs", () => {
  const lines = (text: string) => text.split("\n").map((line) => line.trim());
  const checked = lines(read("sdks/loops.ts"));
  const blocks = [...read("README.md").matchAll(/^```ts\n([\s\S]*?)^```/gm)].flatMap(([, code = ""]) => lines(code));
  assert.ok(blocks.length > 0);
  assert.deepEqual(
    blocks.filter((line) => !checked.includes(line)),
    [],
  );
});
