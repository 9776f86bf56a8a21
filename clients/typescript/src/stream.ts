// A sidecar that somebody else started: behind a Unix socket, or behind a stream that the host brings.

import { connect, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { onAbort } from "./abort.js";
import { type Channel, endedOrForced } from "./channel.js";
import { messageOf, SidecarError } from "./errors.js";

/**
 * Connects to `toolscout serve --listen unix:PATH`, unless `stop` is aborted; its reason is thrown then.
 * @throws SidecarError `missing` if nobody listens there
 */
export async function dial(path: string, stop: AbortSignal): Promise<Channel> {
  const socket = connect(path);
  await new Promise<void>((resolve, reject) => {
    const ignoreAbort = onAbort(stop, () => {
      socket.destroy();
      reject(stop.reason);
    });
    socket.once("connect", resolve);
    socket.once("error", (error) => {
      const help = `Start \`toolscout serve --listen unix:${path}\`, or leave the option \`socket\` out to have one started.`;
      reject(new SidecarError("missing", `nobody listens on ${path}: ${error.message}. ${help}`, { cause: error }));
    });
    socket.once("close", ignoreAbort);
    socket.once("connect", ignoreAbort);
  });
  return new Stream(socket, path);
}

/**
 * Takes the host's own stream, unless `stop` is aborted; its reason is thrown then.
 * @throws SidecarError `missing` if there is none
 */
export function adopt(open: () => Duplex | Promise<Duplex>, stop: AbortSignal): Promise<Channel> {
  return new Promise((resolve, reject) => {
    const ignoreAbort = onAbort(stop, () => reject(stop.reason));
    const opening = (async () => open())();
    opening.finally(ignoreAbort).then(
      (stream) => (stop.aborted ? stream.destroy() : resolve(new Stream(stream, "the given stream"))),
      (error) => reject(new SidecarError("missing", `\`open\` gave no stream: ${messageOf(error)}`, { cause: error })),
    );
  });
}

class Stream implements Channel {
  readonly input: Duplex;
  readonly output: Duplex;
  readonly peer: string;
  readonly isOwn = false;
  readonly ended: Promise<string>;

  constructor(stream: Duplex, peer: string) {
    this.input = stream;
    this.output = stream;
    this.peer = peer;
    this.ended = new Promise((resolve) => {
      let how = "closed the connection";
      stream.once("error", (error) => {
        how = `broke: ${error.message}`;
      });
      stream.once("close", () => resolve(how));
      // The other side will not answer any more.
      stream.once("end", () => stream.end());
    });
  }

  hold(held: boolean): void {
    if (this.input instanceof Socket && !this.input.destroyed) {
      if (held) {
        this.input.ref();
      } else {
        this.input.unref();
      }
    }
  }

  async close(): Promise<void> {
    // Whoever waits for the end must live to see it.
    this.hold(true);
    this.output.end();
    await endedOrForced(this.ended, () => this.kill());
  }

  kill(): void {
    this.input.destroy();
  }
}
