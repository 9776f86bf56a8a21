// One sidecar from its `initialize` to its end.

import { onAbort } from "./abort.js";
import { type Channel, CLOSE_TIMEOUT_MS } from "./channel.js";
import { Connection, type Receiver } from "./connection.js";
import { messageOf, ResponseError, SidecarError } from "./errors.js";
import { ErrorCode, type InitializeParams, type InitializeResult, PROTOCOL_VERSION } from "./protocol.js";

/** What a session is opened with. */
export interface Opening {
  /** The way to the sidecar. */
  channel: Channel;
  /** What the sidecar's messages go to. */
  receiver: Omit<Receiver, "busy">;
  /** Parameters of `initialize`. */
  params: InitializeParams;
  /** How long the start may take, in milliseconds, for messages. */
  timeoutMs: number;
  /** Aborted once it took so long. */
  late: AbortSignal;
  /** Aborted if nobody wants the session any more; the reason is thrown. */
  closing: AbortSignal;
  /** Told that the sidecar ended, before anybody's request fails, and how. */
  ended(how: string): void;
}

/** A connection that is ready to serve. */
export class Session {
  /** What the sidecar answered to `initialize`. */
  readonly initialized: InitializeResult;
  readonly #channel: Channel;
  readonly #connection: Connection;

  private constructor(channel: Channel, connection: Connection, initialized: InitializeResult) {
    this.#channel = channel;
    this.#connection = connection;
    this.initialized = initialized;
  }

  /**
   * Initializes the sidecar at the other end of the channel, and ends it if that does not come to anything.
   * @throws SidecarError
   */
  static async open({ channel, receiver, params, timeoutMs, late, closing, ended }: Opening): Promise<Session> {
    const connection = new Connection(channel.input, channel.output, {
      request: (method, params, signal) => receiver.request(method, params, signal),
      notification: (method, params) => receiver.notification(method, params),
      stray: (line) => receiver.stray(line),
      busy: (waiting) => channel.hold(waiting),
    });
    void channel.ended.then((how) => {
      ended(how);
      const reason = `the sidecar ${channel.peer} ${how}\nThe next call starts another.`;
      connection.fail(closing.aborted ? closing.reason : new SidecarError("ended", reason));
    });
    const ignoring = [closing, late].map((signal) => onAbort(signal, () => connection.fail(signal.reason)));
    try {
      const answer = await connection.request("initialize", { ...params, protocolVersion: PROTOCOL_VERSION });
      const initialized = understood(answer, channel, connection);
      connection.notify("initialized");
      return new Session(channel, connection, initialized);
    } catch (error) {
      channel.kill();
      const how = await channel.ended;
      throw error === late.reason
        ? silent(how, channel, connection, timeoutMs)
        : problem(error, how, channel, connection);
    } finally {
      for (const ignoreAbort of ignoring) {
        ignoreAbort();
      }
    }
  }

  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#connection.request(method, params, signal);
  }

  /** `shutdown`, `exit`, end of input; what is left after two seconds of all that is killed. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#channel.kill(), CLOSE_TIMEOUT_MS);
    try {
      await this.#connection.request("shutdown", undefined);
      this.#connection.notify("exit");
    } catch {
      // It has ended already, or is ended below.
    }
    await this.#channel.close();
    clearTimeout(timer);
  }
}

/** The answer to `initialize`, if it is one of a sidecar that speaks our version. */
function understood(answer: unknown, channel: Channel, connection: Connection): InitializeResult {
  const version = (answer as Partial<InitializeResult> | null)?.protocolVersion;
  if (typeof version !== "string") {
    throw foreign(channel, connection);
  }
  if (major(version) !== major(PROTOCOL_VERSION)) {
    throw otherVersion(channel, [version]);
  }
  return answer as InitializeResult;
}

function major(version: string): string | undefined {
  return version.split(".")[0];
}

/** Why there is no session, told by what `initialize` came to. */
function problem(error: unknown, how: string, channel: Channel, connection: Connection): Error {
  if (error instanceof ResponseError) {
    const supported = (error.data as { supported?: unknown } | undefined)?.supported;
    if (Array.isArray(supported)) {
      return otherVersion(channel, supported.map(String));
    }
    // Whoever does not know `initialize`, or gives our own request back, is no sidecar.
    return error.code === ErrorCode.MethodNotFound
      ? foreign(channel, connection)
      : new SidecarError("initialize", `${channel.peer} refused what it was configured with: ${error.message}`, {
          cause: error,
        });
  }
  if (error instanceof SidecarError && error.problem !== "ended") {
    return error;
  }
  const what = error instanceof SidecarError ? how : messageOf(error);
  const { firstLine } = connection;
  const output = firstLine === undefined ? "" : `\nThe first it said on standard output was: ${firstLine}`;
  const help = "Look at its arguments (`extraArgs`), and run it with `--version` to see whether it is Toolscout.";
  return new SidecarError("start", `${channel.peer} ${what}${output}\nIt had not answered \`initialize\`. ${help}`);
}

function foreign(channel: Channel, connection: Connection): SidecarError {
  const text = `${channel.peer} does not speak the Toolscout protocol; the first it said was: ${connection.firstLine}`;
  return new SidecarError("protocol", `${text}\nGive the path of Toolscout itself as \`binary\` or in TOOLSCOUT_BIN.`);
}

function otherVersion(channel: Channel, versions: string[]): SidecarError {
  const text = `${channel.peer} speaks version ${versions.join(", ")} of the protocol, this client ${PROTOCOL_VERSION}.`;
  return new SidecarError("version", `${text} Install a Toolscout and a toolscout-client that have one in common.`);
}

function silent(how: string, channel: Channel, connection: Connection, timeoutMs: number): SidecarError {
  if (connection.firstLine !== undefined) {
    return foreign(channel, connection);
  }
  const text = `${channel.peer} did not answer \`initialize\` within ${timeoutMs} ms, and ${how}`;
  return new SidecarError("start", `${text}\nIs it Toolscout? If it only needs longer, raise \`startTimeoutMs\`.`);
}
