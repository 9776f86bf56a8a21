// The types of the Toolscout protocol. Made from protocol/openrpc.json by `npm run generate`; do not edit.

/** The version of the protocol that these types are of. */
export const PROTOCOL_VERSION = "1.0";

/** Codes of JSON-RPC errors. */
export const ErrorCode = {
  /** The message is not JSON, or is nested too deep. */
  ParseError: -32700,
  /** JSON, but no JSON-RPC message that can be served. */
  InvalidRequest: -32600,
  /** No such method; `data.nearest` names the known one that is spelled most like it. */
  MethodNotFound: -32601,
  /** A parameter is wrong; `data.pointer` says which. */
  InvalidParams: -32602,
  /** A fault of the sidecar. */
  InternalError: -32603,
  /** A request came before `initialize`. */
  NotInitialized: -32002,
  /** The host cancelled the request, or its connection ended. */
  Cancelled: -32800,
  /** The message was larger than `max_message_bytes` and was read past; `data.limit` in bytes. */
  MessageTooLarge: -32040,
  /** Too many requests in flight; the same request may succeed later. `data.limit` is their number. */
  Overloaded: -32041,
} as const;

/** One of the codes of `ErrorCode`; others may be added. */
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** Requests that the sidecar answers. */
export interface Requests {
  /** Opens the connection; nothing else is served before it. */
  "initialize": { params: InitializeParams; result: InitializeResult };
  /** Ends the work; only `exit` is taken afterwards. */
  "shutdown": { params: undefined; result: null };
  /** Registers a source and its tools for this connection, in place of one of the same name. */
  "registry/register": { params: RegisterParams; result: RegisterResult };
  /** Takes back a source that this connection registered. */
  "registry/unregister": { params: UnregisterParams; result: UnregisterResult };
  /** Lists the sources in scope, and their tools. */
  "registry/list": { params: ListParams; result: ListResult };
  /** Makes the tool array of a turn: visible tools, and the bridge in place of the deferred ones. */
  "assemble": { params: AssembleParams; result: AssembleResult };
  /** Does what a model asked of a bridge tool; a model's mistakes are results. */
  "bridge/call": { params: BridgeParams; result: BridgeResult };
  /** Says which tools a `bridge/call` would run, and runs none. */
  "bridge/resolve": { params: BridgeParams; result: ResolveResult };
  /** Says which calls of a model's batch may run together. */
  "bridge/plan": { params: PlanParams; result: PlanResult };
  /** Says why a query finds what it finds, term by term. */
  "search/explain": { params: ExplainParams; result: Explanation };
  /** The settings in effect and the layer each came from. */
  "config/get": { params: undefined; result: ConfigResult };
  /** How the process is; a real search is part of it. */
  "status": { params: undefined; result: StatusResult };
}

/** Notifications that the sidecar takes. */
export interface Notifications {
  /** The host has read the answer to `initialize`. */
  "initialized": { params: undefined };
  /** Ends the process: code 0 after `shutdown`, 1 without it. */
  "exit": { params: undefined };
  /** Cancels a request of the side that sends this. */
  "$/cancelRequest": { params: CancelParams };
}

/** Requests of the sidecar, each sent only to a host with its capability. */
export interface HostRequests {
  /** Runs a tool of the host, if the host has the capability `invoke`. */
  "host/invoke": { params: InvokeParams; result: InvokeResult };
  /** Asks for a person's word, if the host has the capability `approve`. */
  "host/approve": { params: ApproveParams; result: ApproveResult };
  /** Shows a card of accounts to connect, if the host has the capability `showConnections`. */
  "host/showConnections": { params: ShowConnectionsParams; result: ShowConnectionsResult };
}

/** Notifications of the sidecar. */
export interface HostNotifications {
  /** An account on the card of `host/showConnections` stands otherwise than before. */
  "connections/didChange": { params: ConnectionsChanged };
  /** What is wrong with one file, in place of what was said of it before; an empty list clears. */
  "diagnostics/publish": { params: FileDiagnostics };
  /** Files changed, and with them what the connection sees; once for a burst of changes. */
  "catalog/didChange": { params: DidChangeParams };
  /** Where a request with a `progressToken` stands, if the host has the capability `progress`. */
  "$/progress": { params: ProgressParams };
}

/** Parameters of `host/approve`: what the sidecar would do by itself, and may not without a person's word. */
export interface ApproveParams {
  /**
   * A tool's visible name; or `server:<name>`, an MCP server that the workspace asks to have started; or
   * `workspace`, settings of the workspace's own file that wait for trust.
   */
  name: string;
  /** What it would be done with: a call's arguments, a server's command, the settings. To be shown to the person. */
  arguments: Record<string, unknown>;
  /** The tool's or server's toolset. */
  toolset?: string | undefined;
  /** The model's id of the call. */
  callId?: string | undefined;
  /** Position in the call's batch. */
  index?: number | undefined;
  /** Whether the tool's server says that it changes nothing. */
  readOnly?: boolean | undefined;
  /** Whether the tool's server says that it may destroy something. */
  destructive?: boolean | undefined;
}

/** Answer of a host to `host/approve`. */
export interface ApproveResult {
  /** What the person, or the host for them, decided. */
  decision: Decision;
  /** Arguments to take instead of those shown; they are checked again. For calls only. */
  arguments?: Record<string, unknown> | null | undefined;
  /** Why not, for the model. */
  reason?: string | null | undefined;
}

/** Parameters of `assemble`. */
export interface AssembleParams {
  /** What is seen. */
  scope?: Scope | null | undefined;
  /** Definitions that count as registered for this request. */
  tools?: unknown[] | null | undefined;
  /** Context length of the model in tokens; unknown, null or not positive leaves the listing 10,000. */
  contextLength?: number | null | undefined;
  /**
   * Format of the array.
   * @default "openai"
   */
  format?: Format | undefined;
  /** The etag the host has; if it is still the current one, `tools` is left out. */
  ifEtag?: string | null | undefined;
  /** Asks for `$/progress`. */
  progressToken?: ProgressToken | null | undefined;
}

/** Result of `assemble`. */
export interface AssembleResult {
  /** The array for the model; absent where it is unchanged. */
  tools?: unknown[] | undefined;
  /** True where the host has the array already. */
  unchanged?: boolean | undefined;
  /** Whether the bridge stands in. */
  activated: boolean;
  /** 0 pass-through, 1 tools named in the listing, 2 none named. */
  tier: number;
  /** What the listing shows. */
  listingForm: ListingForm;
  /** Number of deferred tools. */
  deferredCount: number;
  /** Tokens of the deferred definitions. */
  deferredTokens: number;
  /** The listing's budget in tokens. */
  listingBudget: number;
  /** Tokens of the listing. */
  listingTokens: number;
  /** Tokens of the array. */
  tokens: TokenCounts;
  /** Of the exact bytes of the array. */
  etag: string;
  /** Of the connection's view. */
  revision: number;
  /** Inline tools that were refused or are odd. */
  problems?: ToolProblem[] | undefined;
}

/** Parameters of `bridge/call` and `bridge/resolve`. */
export interface BridgeParams {
  /** The tool that the model used. */
  name: string;
  /** What it gave, as it gave it. */
  arguments?: unknown;
  /** What is seen. */
  scope?: Scope | null | undefined;
  /** Definitions that count as registered for this request. */
  tools?: unknown[] | null | undefined;
  /** The model's id of the call, passed on to the host. */
  callId?: string | null | undefined;
  /** Asks for `$/progress`. */
  progressToken?: ProgressToken | null | undefined;
}

/** Result of `bridge/call`: content for the model, or a tool for the host to run. */
export type BridgeResult = Content | {
  /** The tool to run. */
  dispatch: Dispatch;
};

/** Parameters of `$/cancelRequest`. */
export interface CancelParams {
  /** Id of the request, as it was sent. */
  id: string | number;
}

/** Who is asking. */
export interface ClientInfo {
  /** Name of the program. */
  name: string;
  /** Its version. */
  version?: string | null | undefined;
}

/**
 * A layer of configuration; each wins over those before it.
 * - `built-in`: What holds where nobody says anything.
 * - `user`: The user's `config.yaml`.
 * - `workspace`: The workspace's `config.yaml`.
 * - `file`: The file named by `--config`.
 * - `initialize`: `settings` and `core` of `initialize`.
 */
export type ConfigLayer = "built-in" | "user" | "workspace" | "file" | "initialize";

/** Result of `config/get`. */
export interface ConfigResult {
  /** The settings in effect, in the shape of the config file; what may be secret is masked. */
  settings: unknown;
  /** By dotted key, where its value came from. */
  origins: Record<string, SettingOrigin>;
}

/** One account on the card. */
export interface ConnectionCard {
  /** The connector's slug, or the MCP server's name. */
  connector: string;
  /**
   * `pending`, `active`, `failed`, `expired`, `revoked` or `inactive`; `skipped` once the person passed it over; of an MCP
   * server also `denied`.
   */
  status: string;
  /** Where the person signs in. */
  connectUrl?: string | undefined;
  /** True of an MCP server. */
  mcp?: boolean | undefined;
}

/** Parameters of `connections/didChange`: the card, as its accounts stand now. */
export interface ConnectionsChanged {
  /** All accounts of the card, in its order. */
  connections: ConnectionCard[];
  /** The model's id of the call that the card is for. */
  callId?: string | undefined;
}

/** What the model is given as the result of its call. */
export interface Content {
  /** JSON for the model. */
  content: unknown;
  /** Whether it is a mistake of the model's or a failure of what was called. */
  isError: boolean;
  /** `structuredContent` of a server's result. */
  structuredContent?: unknown;
  /** `_meta` of a server's result. */
  _meta?: unknown;
  /** File that holds the whole of a result that was too long for the model. */
  outputFile?: string | undefined;
  /** What was repaired in the arguments. */
  coerced?: string[] | undefined;
}

/**
 * Whether what was asked about may be done.
 * - `allow`: Do it.
 * - `deny`: Do not.
 */
export type Decision = "allow" | "deny";

/** One finding in one file (or in what a host sent, then `file` is empty). */
export interface Diagnostic {
  /** 1-based line, 0 where no line is known. */
  line: number;
  /** 1-based column in characters, 0 where no column is known. */
  column: number;
  /** How much it matters. */
  severity: Severity;
  /** Stable kebab-case name of this kind of finding. */
  code: string;
  /** What happened and what to do. */
  message: string;
  /** JSON pointer of the value in the file, empty for the whole file. */
  pointer: string;
}

/** Parameters of `catalog/didChange`: what a reload of files changed for this connection. Every list is sorted. */
export interface DidChangeParams {
  /** Of the connection's view, which has the changes. */
  revision: number;
  /** Visible names that were none before. */
  added: string[];
  /** Visible names that are none any more. */
  removed: string[];
  /** Visible names under which another definition stands. */
  changed: string[];
  /** Names of the sources that changed. */
  sources: string[];
}

/** A tool that the host runs itself. */
export interface Dispatch {
  /** The name the model sees. */
  name: string;
  /** The name its source gave it. */
  tool: string;
  /** Repaired arguments. */
  arguments: Record<string, unknown>;
  /** Its toolset. */
  toolset: string;
  /** Its source's name. */
  source: string;
  /** What was repaired, one text a repair. */
  coerced: string[];
  /** Whether it may run beside others. */
  parallelSafe: boolean;
}

/** Parameters of `search/explain`. */
export interface ExplainParams {
  /** The query. */
  query: string;
  /** What is seen. */
  scope?: Scope | null | undefined;
  /** Definitions that count as registered for this request. */
  tools?: unknown[] | null | undefined;
  /** Most matches. */
  limit?: number | null | undefined;
}

/** The account of one query. */
export interface Explanation {
  /** The query. */
  query: string;
  /** Its terms in order; a word that stands twice stands once here. */
  terms: TermWeight[];
  /** The word that every match must hold: the rarest. */
  gate: string | null;
  /** Fewest distinct terms that a match must hold, 0 where the floor does not apply. */
  floor: number;
  /** Deferred tools in scope. */
  documents: number;
  /** Tools that match, best first. */
  hits: Scored[];
  /** The best of those that do not, whether offered as near answers or not. */
  nearMisses: Scored[];
}

/** What is wrong with one file. Also the parameters of `diagnostics/publish`. */
export interface FileDiagnostics {
  /** Path of the file, empty for what came over the wire. */
  file: string;
  /** Its findings; none clears. */
  diagnostics: Diagnostic[];
}

/**
 * Formats of tool definitions.
 * - `openai`: OpenAI Chat Completions.
 * - `openai-responses`: OpenAI Responses.
 * - `anthropic`: Anthropic Messages.
 * - `mcp`: MCP.
 */
export type Format = "openai" | "openai-responses" | "anthropic" | "mcp";

/** What a host can be asked. */
export interface HostCapabilities {
  /**
   * Takes `host/invoke`.
   * @default false
   */
  invoke?: boolean | undefined;
  /**
   * Takes `host/approve`.
   * @default false
   */
  approve?: boolean | undefined;
  /**
   * Takes `host/showConnections`.
   * @default false
   */
  showConnections?: boolean | undefined;
  /**
   * Takes `$/progress`.
   * @default false
   */
  progress?: boolean | undefined;
}

/** Parameters of `initialize`. */
export interface InitializeParams {
  /** `major.minor`; absent is the newest. */
  protocolVersion?: string | null | undefined;
  /** Who is asking, for logs. */
  clientInfo?: ClientInfo | null | undefined;
  /** Process whose end ends the sidecar; one that cannot be seen at once is not watched. */
  processId?: number | null | undefined;
  /** Folder whose `.toolscout` is read; absent is the working directory. */
  workspace?: string | null | undefined;
  /** Whether the workspace's settings that could run or send something may take effect. */
  trusted?: boolean | null | undefined;
  /** Working directory of the asking process. */
  cwd?: string | null | undefined;
  /** Variables that configuration may name. Never logged. */
  environment?: Record<string, string> | null | undefined;
  /** What the host can be asked. */
  capabilities?: HostCapabilities | undefined;
  /** The top layer of configuration, in the shape of the file. */
  settings?: unknown;
  /** `{replace?, extend?}`, or a bare array that extends the core set. */
  core?: unknown;
  /** Asks for `$/progress` while registries load. */
  progressToken?: ProgressToken | null | undefined;
}

/** Result of `initialize`. */
export interface InitializeResult {
  /** The version that is spoken. */
  protocolVersion: string;
  /** The sidecar. */
  serverInfo: ServerInfo;
  /** What it can do. */
  capabilities: ServerCapabilities;
  /** What is wrong with configuration and registries. */
  diagnostics: FileDiagnostics[];
}

/** Parameters of `host/invoke`: a tool of the host, under its real name. */
export interface InvokeParams {
  /** The name the model sees. */
  name: string;
  /** The name its source gave it. */
  tool: string;
  /** Repaired arguments. */
  arguments: Record<string, unknown>;
  /** Its toolset. */
  toolset: string;
  /** Its source's name. */
  source: string;
  /** The model's id of the call. */
  callId?: string | undefined;
}

/** Answer of a host to `host/invoke`. */
export interface InvokeResult {
  /** What the model is given. */
  content: unknown;
  /**
   * Whether the tool failed.
   * @default false
   */
  isError?: boolean | undefined;
}

/** Time requests of a method took, in microseconds, at most twice the true value. */
export interface Latency {
  /** Half took at most this. */
  p50: number;
  /** 99 of 100 took at most this. */
  p99: number;
}

/** Parameters of `registry/list`. */
export interface ListParams {
  /** What is seen. */
  scope?: Scope | null | undefined;
  /**
   * Whether tools are listed one by one.
   * @default false
   */
  tools?: boolean | undefined;
}

/** Result of `registry/list`. */
export interface ListResult {
  /** Of the connection's view. */
  revision: number;
  /** Sources with something in scope, by kind, then label; empty ones where no scope is given. */
  sources: ListedSource[];
}

/** A source in `registry/list`. */
export interface ListedSource {
  /** Name. */
  name: string;
  /** What it is. */
  kind: SourceKind;
  /** The name that readers see. */
  label: string;
  /** The name that scopes grant. */
  toolset: string;
  /** Where it was registered. */
  origin: "file" | "connection" | "server" | "gateway";
  /** `ready`; of an MCP server also `starting`, `down`, `needs_authorization`, `disabled` or `untrusted`. */
  state: "ready" | "starting" | "down" | "needs_authorization" | "disabled" | "untrusted";
  /** Tools in scope. */
  toolCount: number;
  /** The tools, if asked for. */
  tools?: ListedTool[] | undefined;
}

/** A tool in `registry/list`. */
export interface ListedTool {
  /** The name the model sees. */
  name: string;
  /** The name its source gave it. */
  tool: string;
  /** Whether the bridge stands in for it. */
  deferred: boolean;
}

/**
 * What a listing as a whole shows.
 * - `full`: Every tool with its summary.
 * - `names`: Every tool named, some without the summary they have.
 * - `mixed`: Some servers per tool, the others one line each.
 * - `groups`: No tool named: one line a server, or labels alone.
 * - `none`: Nothing.
 */
export type ListingForm = "full" | "names" | "mixed" | "groups" | "none";

/** How near a tool comes to a query that it does not match; it is offered from a sum of 0.98 on. */
export interface Nearness {
  /** Share of the query's weight that it holds. */
  weight: number;
  /** Share of the highest score possible. */
  score: number;
  /** Share of its name that the query says. */
  name: number;
  /** `weight + 2 score + 0.3 name`; 0 with fewer than two words held, two in the schemas of parameters being one. */
  sum: number;
}

/** Parameters of `bridge/plan`. */
export interface PlanParams {
  /** The model's batch, in order. */
  calls: PlannedCall[];
  /** What is seen. */
  scope?: Scope | null | undefined;
  /** Definitions that count as registered for this request. */
  tools?: unknown[] | null | undefined;
}

/** Result of `bridge/plan`. */
export interface PlanResult {
  /** Ids that may run together, stage after stage. */
  stages: Array<unknown[]>;
  /** What servers say of the effects of some of the calls. */
  hints?: PlannedHints[] | undefined;
}

/** One call of a batch. */
export interface PlannedCall {
  /** Id, as the model or host numbers it. */
  id: unknown;
  /** The tool that the model used. */
  name: string;
  /** What it gave. */
  arguments?: unknown;
}

/** What a server says of the effects of one call of a batch. */
export interface PlannedHints {
  /** Id of the call. */
  id: unknown;
  /** Whether it changes nothing. */
  readOnly?: boolean | undefined;
  /** Whether it may destroy something. */
  destructive?: boolean | undefined;
}

/** A search that was run to see that the index lives. */
export interface Probe {
  /** Whether it found what it looked for. */
  ok: boolean;
  /** Microseconds it took. */
  micros: number;
}

/** Where a request stands. */
export interface Progress {
  /** `begin`, then `end`; `report` is what a server says of the call that it works on. */
  kind: "begin" | "report" | "end";
  /** What is going on. */
  message: string;
  /** How much is done, in a measure of the server's own. */
  progress?: number | undefined;
  /** How much there is to do, in the same. */
  total?: number | undefined;
}

/** Parameters of `$/progress`. */
export interface ProgressParams {
  /** The request's token. */
  token: ProgressToken;
  /** Where it stands. */
  value: Progress;
}

/** Name of a request's progress, chosen by the host. */
export type ProgressToken = number | string;

/** Parameters of `registry/register`. */
export interface RegisterParams {
  /** The source; one of that name is replaced. */
  source: SourceParams;
  /** Tool definitions in any of the common shapes. */
  tools: unknown[];
}

/** Result of `registry/register`. */
export interface RegisterResult {
  /** Of the connection's view. */
  revision: number;
  /** Number of tools served. */
  accepted: number;
  /** Tools that are not. */
  rejected: ToolProblem[];
  /** What is odd about tools that are served. */
  warnings?: ToolProblem[] | undefined;
}

/** Result of `bridge/resolve`. */
export interface ResolveResult {
  /** The tools that a `bridge/call` would run, in order. */
  calls: ResolvedCall[];
  /** Whether it would change nothing. */
  readOnly: boolean;
  /** Why it would be refused. */
  error?: string | undefined;
}

/** One tool that a call would run. */
export interface ResolvedCall {
  /** The name the model sees. */
  name: string;
  /** The name its source gave it. */
  tool: string;
  /** Its toolset. */
  toolset: string;
  /** Its source's name. */
  source: string;
  /** Where it runs. */
  runsIn: "host" | "sidecar" | "gateway";
  /** Whether it may run beside others. */
  parallelSafe: boolean;
  /** Whether it changes nothing. */
  readOnly?: boolean | undefined;
  /** Whether it may destroy something. */
  destructive?: boolean | undefined;
}

/** What a session was granted. Absent `enabled` or `allow` grants all, an empty one nothing. */
export interface Scope {
  /** Toolsets, by toolset name or label; names or globs. */
  toolsets?: ScopeToolsets | null | undefined;
  /** Single tools, by visible name; names or globs. */
  tools?: ScopeTools | null | undefined;
}

/** Tools granted and denied. */
export interface ScopeTools {
  /** Granted. */
  allow?: string[] | null | undefined;
  /** Denied. */
  deny?: string[] | null | undefined;
}

/** Toolsets granted and denied. */
export interface ScopeToolsets {
  /** Granted. */
  enabled?: string[] | null | undefined;
  /** Denied. */
  disabled?: string[] | null | undefined;
}

/** A term's part of a score. */
export interface ScorePart {
  /** The term as the query has it. */
  word: string;
  /** How often the tool holds it. */
  tf: number;
  /** The term's weight. */
  idf: number;
  /**
   * Where the tool has it, if no text of it holds it: `given` as an alias or a keyword, or `parameters`, in the schemas of
   * its parameters, which counts for near answers alone.
   */
  from?: string | undefined;
  /** Its share of the score, 0 to 1. */
  share: number;
}

/** One tool and where its score comes from. */
export interface Scored {
  /** Visible name. */
  name: string;
  /** BM25 score; of a near miss with what stands in the schemas of its parameters. */
  score: number;
  /** What it is ranked by: the score, and something for what the query says of its name. */
  rank: number;
  /** Why it is here: `exact`, `match`, `near`, `gate`, `floor` or `rank`. */
  reason: string;
  /** Parts of the score, for the terms it holds. */
  parts: ScorePart[];
  /** Of a near miss: how near it comes. */
  nearness?: Nearness | undefined;
}

/** What the sidecar can do. */
export interface ServerCapabilities {
  /** Formats of `assemble`. */
  formats: string[];
  /** Whether `$/progress` is sent. */
  progress: boolean;
}

/** The sidecar. */
export interface ServerInfo {
  /** `toolscout`. */
  name: string;
  /** Its version. */
  version: string;
}

/** Where a setting came from. */
export interface SettingOrigin {
  /** The layer that set it. */
  layer: ConfigLayer;
  /** That layer's file, if it has one. */
  file?: string | undefined;
}

/**
 * How much a diagnostic matters.
 * - `error`: Something that was written is not in effect.
 * - `warning`: It is in effect, but differs from what was written, or may surprise.
 */
export type Severity = "error" | "warning";

/** Parameters of `host/showConnections`: a card of accounts that a person is to connect. */
export interface ShowConnectionsParams {
  /** The accounts, in the order asked for. */
  connections: ConnectionCard[];
  /** The model's id of the call. */
  callId?: string | undefined;
}

/** Answer of a host to `host/showConnections`, once the card is closed. */
export interface ShowConnectionsResult {
  /**
   * Slugs of the connectors that the person passed over.
   * @default []
   */
  skipped?: string[] | undefined;
}

/**
 * What kind of source it is; the order is that of visible tools and of who wins a name.
 * - `core`: The host's own tools: never deferred.
 * - `plugin`: A plugin of the host.
 * - `mcp`: An MCP server.
 * - `connectors`: The gateway's remote tools.
 * - `unknown`: Not said: its tools stay visible.
 */
export type SourceKind = "core" | "plugin" | "mcp" | "connectors" | "unknown";

/**
 * How a source's tools are named.
 * - `prefixed`: `mcp__<source>__<tool>`.
 * - `as-is`: The tool's own name.
 */
export type SourceNames = "prefixed" | "as-is";

/** A source as a host gives it. */
export interface SourceParams {
  /** Name, also the label in listings. */
  name: string;
  /** What it is. */
  kind: SourceKind;
  /** How its tools are named; absent is the kind's own way. */
  names?: SourceNames | null | undefined;
  /**
   * Whether its tools may run beside others.
   * @default false
   */
  supportsParallelToolCalls?: boolean | undefined;
  /**
   * Other words for the source, by which its tools are found too.
   * @default []
   */
  aliases?: string[] | undefined;
  /**
   * The same for tools of it, by a tool's name or a glob.
   * @default {}
   */
  keywords?: Record<string, string[]> | undefined;
  /** For readers; not used otherwise. */
  description?: string | null | undefined;
}

/** A source in `status`. */
export interface SourceStatus {
  /** Name. */
  name: string;
  /** Where it was registered. */
  origin: "file" | "connection" | "server" | "gateway";
  /** `ready`; of an MCP server also `starting`, `down`, `needs_authorization`, `disabled` or `untrusted`. */
  state: "ready" | "starting" | "down" | "needs_authorization" | "disabled" | "untrusted";
  /** Number of tools. */
  toolCount: number;
  /** What last went wrong. */
  lastError?: string | undefined;
  /** How long an MCP server took to start, in milliseconds. */
  startedInMs?: number | undefined;
  /** Tokens of the definitions of an MCP server's tools. */
  tokens?: number | undefined;
  /** The last lines that an MCP server wrote to standard error. */
  stderr?: string[] | undefined;
}

/** Result of `status`. */
export interface StatusResult {
  /** Of the program. */
  version: string;
  /** Of the process. */
  pid: number;
  /** Since the process started, in milliseconds. */
  uptimeMs: number;
  /** Of the connection's view. */
  revision: number;
  /** The sources in use. */
  sources: SourceStatus[];
  /** How changes of files are noticed. */
  watching: Watching;
  /** Whether the last look at the files did not end in time. */
  stale: boolean;
  /** Whether a file could not be read and no good version of it is known. */
  degraded: boolean;
  /** Keys of the workspace's settings that wait for trust. */
  untrusted: string[];
  /** Open connections of the process. */
  connections: number;
  /** Requests by method. */
  counters: Record<string, number>;
  /** Time a request took, by method. */
  latencies: Record<string, Latency>;
  /** A real search, timed. */
  probe: Probe;
}

/** One term of the query. */
export interface TermWeight {
  /** As the query has it. */
  word: string;
  /** Its stem, which is what is looked up. */
  stem: string;
  /** Tools that hold it. */
  df: number;
  /** Its weight. */
  idf: number;
}

/** Tokens of the array. */
export interface TokenCounts {
  /** If every tool in scope were loaded. */
  before: number;
  /** As it is. */
  after: number;
}

/** A tool and what is wrong with it. */
export interface ToolProblem {
  /** Its name, as far as it has one. */
  name: string;
  /** What is wrong, and what to do. */
  reason: string;
}

/** Parameters of `registry/unregister`. */
export interface UnregisterParams {
  /** Name of the source. */
  source: string;
}

/** Result of `registry/unregister`. */
export interface UnregisterResult {
  /** Of the connection's view. */
  revision: number;
  /** Whether there was such a source. */
  removed: boolean;
}

/** How changes of files are noticed. */
export interface Watching {
  /**
   * How they are noticed while nobody asks: `native` by the system's events, `poll` by looking every second. Before
   * every answer files are compared in any case.
   */
  mode: string;
  /** Why it is `poll`. */
  reason?: string | undefined;
  /** Files and folders looked at. */
  paths: string[];
}
