// The client: a sidecar that is there when it is needed, and a typed method for each that the protocol has.

import { resolve } from "node:path";
import { onAbort } from "./abort.js";
import type { Channel } from "./channel.js";
import { start } from "./child.js";
import { CancelledError, messageOf, printable, ResponseError, SidecarError } from "./errors.js";
import { Inline } from "./inline.js";
import type { CallOptions, Handler, HandlerContext, ToolscoutOptions } from "./options.js";
import {
  type AssembleParams,
  type AssembleResult,
  type BridgeParams,
  type BridgeResult,
  type ConfigResult,
  type Content,
  ErrorCode,
  type ExplainParams,
  type Explanation,
  type HostNotifications,
  type HostRequests,
  type InitializeParams,
  type InvokeParams,
  type ListParams,
  type ListResult,
  type PlanParams,
  type PlanResult,
  type RegisterParams,
  type RegisterResult,
  type Requests,
  type ResolveResult,
  type StatusResult,
  type UnregisterResult,
} from "./protocol.js";
import { Registered } from "./registered.js";
import { MAX_STARTS, Restarts } from "./restarts.js";
import { Session } from "./session.js";
import { adopt, dial } from "./stream.js";

/** How long a sidecar may take to answer `initialize` unless the host says otherwise. */
const START_TIMEOUT_MS = 10_000;

/** The `token` of the progress of a start, which `onProgress` is told. */
export const START_TOKEN = "initialize";

/** Names of the tools that stand in for the deferred ones. */
export const BridgeTool = { Search: "tool_search", Describe: "tool_describe", Call: "tool_call" } as const;

/** What a bridge tool is called with beside its arguments. */
export type BridgeOptions = Omit<BridgeParams, "name" | "arguments"> & CallOptions;

/**
 * A client of one sidecar. The first call starts it; if it dies, what waits fails and the next call starts another, with
 * all that was registered. It does not keep the host's process alive while no call waits.
 *
 * Every method rejects with `SidecarError` if there is no sidecar to ask, `ResponseError` if it answers with an error, and
 * `CancelledError` if the call was cancelled.
 */
export class Toolscout implements AsyncDisposable {
  readonly #options: ToolscoutOptions;
  readonly #handlers: ReadonlyMap<string, Handler<never, unknown> | undefined>;
  readonly #listeners: ReadonlyMap<string, ((params: never) => void) | undefined>;
  readonly #registered = new Registered();
  readonly #inline = new Inline();
  readonly #restarts = new Restarts();
  readonly #closing = new AbortController();
  #session: Promise<Session> | undefined;
  /** How the last sidecar ended, or why it did not start. */
  #lastEnd = "";

  constructor(options: ToolscoutOptions = {}) {
    this.#options = options;
    const handlers = {
      "host/invoke": options.invoke,
      "host/approve": options.approve,
      "host/showConnections": options.showConnections,
    } satisfies Record<keyof HostRequests, unknown>;
    const listeners = {
      "catalog/didChange": options.onDidChange,
      "connections/didChange": options.onConnectionsChange,
      "diagnostics/publish": options.onDiagnostics,
      "$/progress": options.onProgress,
    } satisfies Record<keyof HostNotifications, unknown>;
    this.#handlers = new Map(Object.entries(handlers));
    this.#listeners = new Map(Object.entries(listeners));
  }

  /** Makes the tool array of a turn. */
  assemble(params: AssembleParams = {}, options?: CallOptions): Promise<AssembleResult> {
    return this.#call("assemble", params, options);
  }

  /** Searches as a model does; `content` is what it would be given. */
  toolSearch(queries: readonly string[], options: BridgeOptions & { limit?: number } = {}): Promise<Content> {
    const { limit, ...rest } = options;
    // A search runs no tool, so there is nothing to dispatch.
    return this.#bridge(BridgeTool.Search, { queries, limit }, rest) as Promise<Content>;
  }

  /** Parameter schemas of deferred tools; `content` is what a model would be given. */
  toolDescribe(names: readonly string[], options: BridgeOptions = {}): Promise<Content> {
    return this.#bridge(BridgeTool.Describe, { names }, options) as Promise<Content>;
  }

  /** Calls a deferred tool, through the host's `invoke`; without that handler, the answer is `dispatch`. */
  toolCall(name: string, args: unknown, options: BridgeOptions = {}): Promise<BridgeResult> {
    return this.#bridge(BridgeTool.Call, { calls: [{ name, arguments: args }] }, options);
  }

  /** Does what a model asked of a bridge tool, or of a deferred tool by its own name. */
  bridgeCall(params: BridgeParams, options?: CallOptions): Promise<BridgeResult> {
    if (Array.isArray(params.tools)) {
      this.#inline.add(params.tools);
    }
    return this.#call("bridge/call", params, options);
  }

  /** Says which tools a `bridgeCall` would run, and runs none. */
  resolve(params: BridgeParams, options?: CallOptions): Promise<ResolveResult> {
    return this.#call("bridge/resolve", params, options);
  }

  /** Says which calls of a model's batch may run together. */
  plan(params: PlanParams, options?: CallOptions): Promise<PlanResult> {
    return this.#call("bridge/plan", params, options);
  }

  /** Registers a source and its tools, in place of one of that name; a new sidecar is given it again. */
  async register(params: RegisterParams, options?: CallOptions): Promise<RegisterResult> {
    const session = await this.#ready(options?.signal);
    const answer = session.request("registry/register", params, options?.signal);
    return this.#registered.add(params, answer as Promise<RegisterResult>);
  }

  /** Takes back a source that was registered. */
  async unregister(source: string, options?: CallOptions): Promise<UnregisterResult> {
    const session = await this.#ready(options?.signal);
    this.#registered.remove(source);
    return (await session.request("registry/unregister", { source }, options?.signal)) as UnregisterResult;
  }

  /** Whether this client gave the tool that `invoke` is asked for, registered or inline; if not, a registry file did. */
  gave({ name, source }: Pick<InvokeParams, "name" | "source">): boolean {
    return this.#registered.has(source) || this.#inline.has(name, source);
  }

  /** Lists the sources in scope, and their tools if asked for. */
  list(params: ListParams = {}, options?: CallOptions): Promise<ListResult> {
    return this.#call("registry/list", params, options);
  }

  /** Says why a query finds what it finds. */
  explain(params: ExplainParams, options?: CallOptions): Promise<Explanation> {
    return this.#call("search/explain", params, options);
  }

  /** The settings in effect, and the layer each came from. */
  config(options?: CallOptions): Promise<ConfigResult> {
    return this.#call("config/get", undefined, options);
  }

  /** How the sidecar is. */
  status(options?: CallOptions): Promise<StatusResult> {
    return this.#call("status", undefined, options);
  }

  /** Ends the sidecar, within some seconds in any case. Later calls are refused. */
  async close(): Promise<void> {
    if (!this.#closing.signal.aborted) {
      this.#closing.abort(new SidecarError("closed", "the client was closed: make another `Toolscout`"));
    }
    const session = await this.#session?.catch(() => undefined);
    await session?.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #bridge(name: string, args: object, { signal, ...params }: BridgeOptions): Promise<BridgeResult> {
    return this.bridgeCall({ ...params, name, arguments: args }, { signal });
  }

  async #call<Method extends keyof Requests>(
    method: Method,
    params: Requests[Method]["params"],
    options: CallOptions | undefined,
  ): Promise<Requests[Method]["result"]> {
    const session = await this.#ready(options?.signal);
    return session.request(method, params, options?.signal) as Promise<Requests[Method]["result"]>;
  }

  /**
   * The sidecar, started if there is none. All calls wait here in the same way, so that they are sent in the order in
   * which they were made: the sidecar sees a registration in every request that was made behind it.
   */
  #ready(signal: AbortSignal | undefined): Promise<Session> {
    return new Promise((resolve, reject) => {
      const cancelled = () => reject(new CancelledError("the call was cancelled before it was sent", signal?.reason));
      if (signal?.aborted) {
        cancelled();
        return;
      }
      const ignoreAbort = onAbort(signal, cancelled);
      this.#current().then(resolve, reject).finally(ignoreAbort);
    });
  }

  #current(): Promise<Session> {
    if (this.#closing.signal.aborted) {
      return Promise.reject(this.#closing.signal.reason);
    }
    if (this.#session !== undefined) {
      return this.#session;
    }
    if (!this.#restarts.allows(performance.now())) {
      const text = `the sidecar was started ${MAX_STARTS} times within a minute, and did not last; the last time: ${this.#lastEnd}`;
      return Promise.reject(new SidecarError("restarts", `${text}\nMend that, then try again in a minute.`));
    }
    const session: Promise<Session> = this.#start(() => {
      if (this.#session === session) {
        this.#session = undefined;
      }
    });
    this.#session = session;
    return session;
  }

  async #start(forget: () => void): Promise<Session> {
    const { startTimeoutMs: timeoutMs = START_TIMEOUT_MS, onDiagnostics } = this.#options;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(tooLate(this.#options, timeoutMs)), timeoutMs);
    try {
      const channel = await this.#reach(AbortSignal.any([this.#closing.signal, late.signal]));
      const session = await Session.open({
        channel,
        receiver: {
          request: (method, params, signal) => this.#answer(method, params, { signal }),
          notification: (method, params) => this.#tell(this.#listeners.get(method), params as never),
          stray: (line) =>
            this.#log(`${channel.peer} said what is no message, or answers nothing: ${printable(line.slice(0, 200))}`),
        },
        params: this.#initialize(channel),
        timeoutMs,
        late: late.signal,
        closing: this.#closing.signal,
        ended: (how) => {
          this.#lastEnd = how;
          forget();
        },
      });
      for (const found of session.initialized.diagnostics ?? []) {
        this.#tell(onDiagnostics, found);
      }
      for (const source of this.#registered.all()) {
        session
          .request("registry/register", source)
          .catch((error) => this.#log(`${source.source.name} could not be registered again: ${messageOf(error)}`));
      }
      return session;
    } catch (error) {
      this.#lastEnd = messageOf(error);
      forget();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async #reach(stop: AbortSignal): Promise<Channel> {
    const { socket, open, binary, env, shared, config, registry = [], extraArgs = [] } = this.#options;
    if (socket !== undefined) {
      return dial(socket, stop);
    }
    if (open !== undefined) {
      return adopt(open, stop);
    }
    const args = [
      "serve",
      ...(shared ? ["--shared"] : []),
      ...(config === undefined ? [] : ["--config", config]),
      ...registry.flatMap((path) => ["--registry", path]),
      ...extraArgs,
    ];
    const channel = await start({ binary, args, env, stderr: (line) => this.#tell(this.#options.onStderr, line) });
    // What is not there costs nothing to look for again, so processes alone count.
    this.#restarts.add(performance.now());
    return channel;
  }

  #initialize(channel: Channel): InitializeParams {
    const { workspace, trust, settings, core, environment, clientInfo, ...on } = this.#options;
    return {
      clientInfo: clientInfo ?? { name: "toolscout-client" },
      // A sidecar that somebody else started is not to end with this process.
      processId: channel.isOwn ? process.pid : undefined,
      workspace: workspace === undefined ? undefined : resolve(workspace),
      trusted: trust,
      cwd: process.cwd(),
      progressToken: on.onProgress === undefined ? undefined : START_TOKEN,
      environment,
      settings,
      core,
      capabilities: {
        invoke: on.invoke !== undefined,
        approve: on.approve !== undefined,
        showConnections: on.showConnections !== undefined,
        progress: on.onProgress !== undefined,
      },
    };
  }

  #answer(method: string, params: unknown, context: HandlerContext): unknown {
    const handler = this.#handlers.get(method);
    if (handler === undefined) {
      throw new ResponseError(ErrorCode.MethodNotFound, `this host has no ${method}`);
    }
    return handler(params as never, context);
  }

  /** A listener's exception is its own affair: the connection goes on. */
  #tell<Value>(listener: ((value: Value) => void) | undefined, value: Value): void {
    try {
      listener?.(value);
    } catch (error) {
      this.#log(`a listener failed: ${messageOf(error)}`);
    }
  }

  #log(text: string): void {
    try {
      this.#options.onLog?.(text);
    } catch {
      // There is nobody left to tell.
    }
  }
}

/** Why a start is given up. */
function tooLate({ socket, open }: ToolscoutOptions, timeoutMs: number): SidecarError {
  const what = socket ?? (open === undefined ? "the sidecar" : "the function `open`");
  const help = "Is it there and not stopped? If it only needs longer, raise `startTimeoutMs`.";
  return new SidecarError("start", `${what} did not answer within ${timeoutMs} ms. ${help}`);
}
