// A host as a process of its own, for tests of what becomes of its sidecar. `done` has nothing more to do; `stay` stays.

import { Toolscout } from "../src/index.js";

const client = new Toolscout();
await client.status();
if (process.argv[2] === "stay") {
  setInterval(() => {}, 1000);
}
console.log("served");
