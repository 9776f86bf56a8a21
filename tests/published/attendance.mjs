// Who is there: the server processes that a test has running, told of by the kernel rather than by Toolscout.
//
// Loaded into a published server before its own code (`node --import`), this file connects it to the socket of the test.
// The connection ends with the process, however that ends, so its end is an event to be awaited.

import { once } from "node:events";
import { connect, createServer } from "node:net";

/** The variable that tells a server where to report. */
export const SOCKET = "ATTENDANCE_SOCKET";

if (process.env[SOCKET]) {
  // It keeps no server alive, and harms none once the test is gone.
  connect(process.env[SOCKET])
    .on("error", () => {})
    .unref();
}

/** Counts those that report. */
export class Attendance {
  #server = createServer((connection) => {
    this.arrived += 1;
    this.present += 1;
    connection.on("error", () => {});
    connection.on("close", () => {
      this.present -= 1;
      this.#server.emit("left");
    });
    connection.resume();
    this.#server.emit("came");
  });
  /** Servers that ever came. */
  arrived = 0;
  /** Servers that are running. */
  present = 0;

  async listen(path) {
    this.#server.listen(path);
    await once(this.#server, "listening");
  }

  /** Resolves once so many have come in all. */
  async came(count) {
    while (this.arrived < count) {
      await once(this.#server, "came");
    }
  }

  /** Resolves once none runs. */
  async allLeft() {
    while (this.present > 0) {
      await once(this.#server, "left");
    }
  }

  close() {
    this.#server.close();
  }
}
