// What a client is made with.

import type { Duplex } from "node:stream";
import type {
  ApproveParams,
  ApproveResult,
  ClientInfo,
  ConnectionsChanged,
  DidChangeParams,
  FileDiagnostics,
  InvokeParams,
  InvokeResult,
  ProgressParams,
  ShowConnectionsParams,
  ShowConnectionsResult,
} from "./protocol.js";

/** Answers a request of the sidecar's. What it throws is answered as an error, with the message. */
export type Handler<Params, Result> = (params: Params, context: HandlerContext) => Result | Promise<Result>;

/** What a handler is given beside the parameters. */
export interface HandlerContext {
  /** Aborted once nobody waits for the answer any more. */
  signal: AbortSignal;
}

/** What one call is made with. */
export interface CallOptions {
  /** Cancels the call, by `$/cancelRequest`. */
  signal?: AbortSignal | undefined;
}

/** How the sidecar is reached: by default, `toolscout serve` is started with the first call. */
export interface ReachOptions {
  /** Path of the binary; else the variable `TOOLSCOUT_BIN`, else `toolscout` on `PATH`. */
  binary?: string | undefined;
  /** Share one sidecar with all who serve the same workspace with the same flags. */
  shared?: boolean | undefined;
  /** Registry files, or folders of such. */
  registry?: readonly string[] | undefined;
  /** A configuration file, over those of user and workspace. */
  config?: string | undefined;
  /** Further arguments of `toolscout serve`. */
  extraArgs?: readonly string[] | undefined;
  /** Environment of the process; that of the host if absent. */
  env?: NodeJS.ProcessEnv | undefined;
  /** Instead of a process: path of the socket of a `toolscout serve --listen unix:PATH`. */
  socket?: string | undefined;
  /** Instead of a process: opens a stream to a sidecar, again whenever one is needed. */
  open?: (() => Duplex | Promise<Duplex>) | undefined;
  /** How long a sidecar may take to answer `initialize`, in milliseconds. @default 10000 */
  startTimeoutMs?: number | undefined;
}

/** What the sidecar is told at its start. */
export interface ConfigureOptions {
  /** Folder whose `.toolscout` is read; the working directory if absent. */
  workspace?: string | undefined;
  /** Whether the workspace's settings that could run or send something may take effect. */
  trust?: boolean | undefined;
  /** The top layer of configuration, in the shape of the config file. */
  settings?: unknown;
  /** `{replace?, extend?}`, or an array that extends the core set. */
  core?: unknown;
  /** Variables that configuration may name. A process that is started has its own. */
  environment?: Record<string, string> | undefined;
  /** Who is asking, for the sidecar's logs. */
  clientInfo?: ClientInfo | undefined;
}

/** What the sidecar may ask; each handler that is given is a capability. */
export interface Handlers {
  /** Runs a tool of the host's. Without it, `bridgeCall` answers `dispatch`, and the host runs the tool then. */
  invoke?: Handler<InvokeParams, InvokeResult> | undefined;
  /** Asks a person. */
  approve?: Handler<ApproveParams, ApproveResult> | undefined;
  /** Shows a card of accounts to connect. */
  showConnections?: Handler<ShowConnectionsParams, ShowConnectionsResult> | undefined;
}

/** What the sidecar tells. A listener that throws is logged, and harms nothing. */
export interface Listeners {
  /** Files changed, and with them the tools. */
  onDidChange?: ((change: DidChangeParams) => void) | undefined;
  /** An account on the card of `showConnections` stands otherwise than before. */
  onConnectionsChange?: ((change: ConnectionsChanged) => void) | undefined;
  /** What is wrong with one file, in place of what was said of it before; that of the start comes this way too. */
  onDiagnostics?: ((diagnostics: FileDiagnostics) => void) | undefined;
  /** Where a request with a `progressToken` stands. */
  onProgress?: ((progress: ProgressParams) => void) | undefined;
  /** A line of the sidecar's standard error. */
  onStderr?: ((line: string) => void) | undefined;
  /** Something odd that stopped nothing: a line of output that is no message, a tool that was refused. */
  onLog?: ((text: string) => void) | undefined;
}

/** What a client is made with; all of it may be left out. */
export interface ToolscoutOptions extends ReachOptions, ConfigureOptions, Handlers, Listeners {}
