// A host as a process of its own, for tests of what becomes of it and of its sidecar. `done` has nothing more to do; `stay`
// stays; `interrupted` stays too, and uses its sidecar once more when it is interrupted; `asked` has a question to answer, and waits meanwhile in a way that keeps no process alive.

import { setTimeout } from "node:timers/promises";
import { Toolscout } from "../src/index.js";

const client = new Toolscout({
  async approve() {
    await setTimeout(50, undefined, { ref: false });
    console.log("answered");
    return { decision: "allow" };
  },
});
const { pid } = await client.status();
if (process.argv[2] === "stay") {
  setInterval(() => {}, 1000);
}
if (process.argv[2] === "interrupted") {
  const staying = setInterval(() => {}, 1000);
  process.once("SIGINT", async () => {
    console.log((await client.status()).pid === pid ? "the same" : "another");
    clearInterval(staying);
  });
}
console.log("served");
