// Code generated from protocol/openrpc.json by internal/generate; DO NOT EDIT.

package toolscout

import "encoding/json"

// ProtocolVersion is the version of the protocol that these types describe.
const ProtocolVersion = "1.0"

// Requests to the sidecar.
const (
	// initialize: Opens the connection; nothing else is served before it.
	MethodInitialize Method[InitializeParams, InitializeResult] = "initialize"
	// initialized: The host has read the answer to `initialize`.
	NotifyInitialized Notification[None] = "initialized"
	// shutdown: Ends the work; only `exit` is taken afterwards.
	MethodShutdown Method[None, None] = "shutdown"
	// exit: Ends the process: code 0 after `shutdown`, 1 without it.
	NotifyExit Notification[None] = "exit"
	// $/cancelRequest: Cancels a request of the side that sends this.
	NotifyCancelRequest Notification[CancelParams] = "$/cancelRequest"
	// registry/register: Registers a source and its tools for this connection, in place of one of the same name.
	MethodRegistryRegister Method[RegisterParams, RegisterResult] = "registry/register"
	// registry/unregister: Takes back a source that this connection registered.
	MethodRegistryUnregister Method[UnregisterParams, UnregisterResult] = "registry/unregister"
	// registry/list: Lists the sources in scope, and their tools.
	MethodRegistryList Method[ListParams, ListResult] = "registry/list"
	// assemble: Makes the tool array of a turn: visible tools, and the bridge in place of the deferred ones.
	MethodAssemble Method[AssembleParams, AssembleResult] = "assemble"
	// bridge/call: Does what a model asked of a bridge tool; a model's mistakes are results.
	MethodBridgeCall Method[BridgeParams, BridgeResult] = "bridge/call"
	// bridge/resolve: Says which tools a `bridge/call` would run, and runs none.
	MethodBridgeResolve Method[BridgeParams, ResolveResult] = "bridge/resolve"
	// bridge/plan: Says which calls of a model's batch may run together.
	MethodBridgePlan Method[PlanParams, PlanResult] = "bridge/plan"
	// search/explain: Says why a query finds what it finds, term by term.
	MethodSearchExplain Method[ExplainParams, Explanation] = "search/explain"
	// config/get: The settings in effect and the layer each came from.
	MethodConfigGet Method[None, ConfigResult] = "config/get"
	// status: How the process is; a real search is part of it.
	MethodStatus Method[None, StatusResult] = "status"
)

// Requests to the host.
const (
	// host/invoke: Runs a tool of the host, if the host has the capability `invoke`.
	MethodHostInvoke Method[InvokeParams, InvokeResult] = "host/invoke"
	// host/approve: Asks for a person's word, if the host has the capability `approve`.
	MethodHostApprove Method[ApproveParams, ApproveResult] = "host/approve"
	// host/showConnections: Shows a card of accounts to connect, if the host has the capability `showConnections`.
	MethodHostShowConnections Method[ShowConnectionsParams, ShowConnectionsResult] = "host/showConnections"
	// connections/didChange: An account on the card of `host/showConnections` stands otherwise than before.
	NotifyConnectionsDidChange Notification[ConnectionsChanged] = "connections/didChange"
	// diagnostics/publish: What is wrong with one file, in place of what was said of it before; an empty list clears.
	NotifyDiagnosticsPublish Notification[FileDiagnostics] = "diagnostics/publish"
	// catalog/didChange: Files changed, and with them what the connection sees; once for a burst of changes.
	NotifyCatalogDidChange Notification[DidChangeParams] = "catalog/didChange"
	// $/progress: Where a request with a `progressToken` stands, if the host has the capability `progress`.
	NotifyProgress Notification[ProgressParams] = "$/progress"
)

// Codes of errors.
const (
	// CodeParseError: The message is not JSON, or is nested too deep.
	CodeParseError = -32700
	// CodeInvalidRequest: JSON, but no JSON-RPC message that can be served.
	CodeInvalidRequest = -32600
	// CodeMethodNotFound: No such method; `data.nearest` names the known one that is spelled most like it.
	CodeMethodNotFound = -32601
	// CodeInvalidParams: A parameter is wrong; `data.pointer` says which.
	CodeInvalidParams = -32602
	// CodeInternalError: A fault of the sidecar.
	CodeInternalError = -32603
	// CodeNotInitialized: A request came before `initialize`.
	CodeNotInitialized = -32002
	// CodeCancelled: The host cancelled the request, or its connection ended.
	CodeCancelled = -32800
	// CodeMessageTooLarge: The message was larger than `max_message_bytes` and was read past; `data.limit` in bytes.
	CodeMessageTooLarge = -32040
	// CodeOverloaded: Too many requests in flight; the same request may succeed later. `data.limit` is their number.
	CodeOverloaded = -32041
)

// ApproveParams: Parameters of `host/approve`: what the sidecar would do by itself, and may not without a person's word.
type ApproveParams struct {
	// A tool's visible name; or `server:<name>`, an MCP server that the workspace asks to have started; or
	// `workspace`, settings of the workspace's own file that wait for trust.
	Name string `json:"name"`
	// What it would be done with: a call's arguments, a server's command, the settings. To be shown to the person.
	Arguments json.RawMessage `json:"arguments"`
	// The tool's or server's toolset.
	Toolset string `json:"toolset,omitempty"`
	// The model's id of the call.
	CallID string `json:"callId,omitempty"`
	// Position in the call's batch.
	Index *uint64 `json:"index,omitempty"`
	// Whether the tool's server says that it changes nothing.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Whether the tool's server says that it may destroy something.
	Destructive bool `json:"destructive,omitempty"`
}

// ApproveResult: Answer of a host to `host/approve`.
type ApproveResult struct {
	// What the person, or the host for them, decided.
	Decision Decision `json:"decision"`
	// Arguments to take instead of those shown; they are checked again. For calls only.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Why not, for the model.
	Reason string `json:"reason,omitempty"`
}

// AssembleParams: Parameters of `assemble`.
type AssembleParams struct {
	// What is seen.
	Scope *Scope `json:"scope,omitempty"`
	// Definitions that count as registered for this request.
	Tools []json.RawMessage `json:"tools"`
	// Context length of the model in tokens; unknown, null or not positive leaves the listing 10,000.
	ContextLength *float64 `json:"contextLength,omitempty"`
	// Format of the array.
	Format Format `json:"format,omitempty"`
	// The etag the host has; if it is still the current one, `tools` is left out.
	IfEtag string `json:"ifEtag,omitempty"`
	// Asks for `$/progress`.
	ProgressToken ProgressToken `json:"progressToken,omitempty"`
}

// AssembleResult: Result of `assemble`.
type AssembleResult struct {
	// The array for the model; absent where it is unchanged.
	Tools []json.RawMessage `json:"tools,omitempty"`
	// True where the host has the array already.
	Unchanged bool `json:"unchanged,omitempty"`
	// Whether the bridge stands in.
	Activated bool `json:"activated"`
	// 0 pass-through, 1 tools named in the listing, 2 none named.
	Tier uint8 `json:"tier"`
	// What the listing shows.
	ListingForm ListingForm `json:"listingForm"`
	// Number of deferred tools.
	DeferredCount uint64 `json:"deferredCount"`
	// Tokens of the deferred definitions.
	DeferredTokens uint64 `json:"deferredTokens"`
	// The listing's budget in tokens.
	ListingBudget uint64 `json:"listingBudget"`
	// Tokens of the listing.
	ListingTokens uint64 `json:"listingTokens"`
	// Tokens of the array.
	Tokens TokenCounts `json:"tokens"`
	// Of the exact bytes of the array.
	Etag string `json:"etag"`
	// Of the connection's view.
	Revision uint64 `json:"revision"`
	// Inline tools that were refused or are odd.
	Problems []ToolProblem `json:"problems,omitempty"`
}

// BridgeParams: Parameters of `bridge/call` and `bridge/resolve`.
type BridgeParams struct {
	// The tool that the model used.
	Name string `json:"name"`
	// What it gave, as it gave it.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// What is seen.
	Scope *Scope `json:"scope,omitempty"`
	// Definitions that count as registered for this request.
	Tools []json.RawMessage `json:"tools"`
	// The model's id of the call, passed on to the host.
	CallID string `json:"callId,omitempty"`
	// Asks for `$/progress`.
	ProgressToken ProgressToken `json:"progressToken,omitempty"`
}

// BridgeResult: Result of `bridge/call`: content for the model, or a tool for the host to run.
type BridgeResult struct {
	// JSON for the model.
	Content json.RawMessage `json:"content,omitempty"`
	// Whether it is a mistake of the model's or a failure of what was called.
	IsError bool `json:"isError,omitempty"`
	// `structuredContent` of a server's result.
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	// `_meta` of a server's result.
	Meta json.RawMessage `json:"_meta,omitempty"`
	// File that holds the whole of a result that was too long for the model.
	OutputFile string `json:"outputFile,omitempty"`
	// What was repaired in the arguments.
	Coerced []string `json:"coerced,omitempty"`
	// The tool to run.
	Dispatch *Dispatch `json:"dispatch,omitempty"`
}

// CancelParams: Parameters of `$/cancelRequest`.
type CancelParams struct {
	// Id of the request, as it was sent.
	ID json.RawMessage `json:"id"`
}

// ClientInfo: Who is asking.
type ClientInfo struct {
	// Name of the program.
	Name string `json:"name"`
	// Its version.
	Version string `json:"version,omitempty"`
}

// ConfigLayer: A layer of configuration; each wins over those before it.
type ConfigLayer string

// Values of ConfigLayer.
const (
	// What holds where nobody says anything.
	ConfigLayerBuiltIn ConfigLayer = "built-in"
	// The user's `config.yaml`.
	ConfigLayerUser ConfigLayer = "user"
	// The workspace's `config.yaml`.
	ConfigLayerWorkspace ConfigLayer = "workspace"
	// The file named by `--config`.
	ConfigLayerFile ConfigLayer = "file"
	// `settings` and `core` of `initialize`.
	ConfigLayerInitialize ConfigLayer = "initialize"
)

// ConfigResult: Result of `config/get`.
type ConfigResult struct {
	// The settings in effect, in the shape of the config file; what may be secret is masked.
	Settings json.RawMessage `json:"settings"`
	// By dotted key, where its value came from.
	Origins map[string]SettingOrigin `json:"origins"`
}

// ConnectionCard: One account on the card.
type ConnectionCard struct {
	// The connector's slug, or the MCP server's name.
	Connector string `json:"connector"`
	// `pending`, `active`, `failed`, `expired`, `revoked` or `inactive`; `skipped` once the person passed it over; of an MCP
	// server also `denied`.
	Status string `json:"status"`
	// Where the person signs in.
	ConnectURL string `json:"connectUrl,omitempty"`
	// True of an MCP server.
	MCP bool `json:"mcp,omitempty"`
}

// ConnectionsChanged: Parameters of `connections/didChange`: the card, as its accounts stand now.
type ConnectionsChanged struct {
	// All accounts of the card, in its order.
	Connections []ConnectionCard `json:"connections"`
	// The model's id of the call that the card is for.
	CallID string `json:"callId,omitempty"`
}

// Content: What the model is given as the result of its call.
type Content struct {
	// JSON for the model.
	Content json.RawMessage `json:"content"`
	// Whether it is a mistake of the model's or a failure of what was called.
	IsError bool `json:"isError"`
	// `structuredContent` of a server's result.
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	// `_meta` of a server's result.
	Meta json.RawMessage `json:"_meta,omitempty"`
	// File that holds the whole of a result that was too long for the model.
	OutputFile string `json:"outputFile,omitempty"`
	// What was repaired in the arguments.
	Coerced []string `json:"coerced,omitempty"`
}

// Decision: Whether what was asked about may be done.
type Decision string

// Values of Decision.
const (
	// Do it.
	DecisionAllow Decision = "allow"
	// Do not.
	DecisionDeny Decision = "deny"
)

// Diagnostic: One finding in one file (or in what a host sent, then `file` is empty).
type Diagnostic struct {
	// 1-based line, 0 where no line is known.
	Line uint32 `json:"line"`
	// 1-based column in characters, 0 where no column is known.
	Column uint32 `json:"column"`
	// How much it matters.
	Severity Severity `json:"severity"`
	// Stable kebab-case name of this kind of finding.
	Code string `json:"code"`
	// What happened and what to do.
	Message string `json:"message"`
	// JSON pointer of the value in the file, empty for the whole file.
	Pointer string `json:"pointer"`
}

// DidChangeParams: Parameters of `catalog/didChange`: what a reload of files changed for this connection. Every list is sorted.
type DidChangeParams struct {
	// Of the connection's view, which has the changes.
	Revision uint64 `json:"revision"`
	// Visible names that were none before.
	Added []string `json:"added"`
	// Visible names that are none any more.
	Removed []string `json:"removed"`
	// Visible names under which another definition stands.
	Changed []string `json:"changed"`
	// Names of the sources that changed.
	Sources []string `json:"sources"`
}

// Dispatch: A tool that the host runs itself.
type Dispatch struct {
	// The name the model sees.
	Name string `json:"name"`
	// The name its source gave it.
	Tool string `json:"tool"`
	// Repaired arguments.
	Arguments json.RawMessage `json:"arguments"`
	// Its toolset.
	Toolset string `json:"toolset"`
	// Its source's name.
	Source string `json:"source"`
	// What was repaired, one text a repair.
	Coerced []string `json:"coerced"`
	// Whether it may run beside others.
	ParallelSafe bool `json:"parallelSafe"`
}

// ExplainParams: Parameters of `search/explain`.
type ExplainParams struct {
	// The query.
	Query string `json:"query"`
	// What is seen.
	Scope *Scope `json:"scope,omitempty"`
	// Definitions that count as registered for this request.
	Tools []json.RawMessage `json:"tools"`
	// Most matches.
	Limit *uint32 `json:"limit,omitempty"`
}

// Explanation: The account of one query.
type Explanation struct {
	// The query.
	Query string `json:"query"`
	// Its terms in order; a word that stands twice stands once here.
	Terms []TermWeight `json:"terms"`
	// The word that every match must hold: the rarest.
	Gate *string `json:"gate"`
	// Fewest distinct terms that a match must hold, 0 where the floor does not apply.
	Floor uint64 `json:"floor"`
	// Deferred tools in scope.
	Documents uint64 `json:"documents"`
	// Tools that match, best first.
	Hits []Scored `json:"hits"`
	// The best of those that do not, whether offered as near answers or not.
	NearMisses []Scored `json:"nearMisses"`
}

// FileDiagnostics: What is wrong with one file. Also the parameters of `diagnostics/publish`.
type FileDiagnostics struct {
	// Path of the file, empty for what came over the wire.
	File string `json:"file"`
	// Its findings; none clears.
	Diagnostics []Diagnostic `json:"diagnostics"`
}

// Format: Formats of tool definitions.
type Format string

// Values of Format.
const (
	// OpenAI Chat Completions.
	FormatOpenAI Format = "openai"
	// OpenAI Responses.
	FormatOpenAIResponses Format = "openai-responses"
	// Anthropic Messages.
	FormatAnthropic Format = "anthropic"
	// MCP.
	FormatMCP Format = "mcp"
)

// HostCapabilities: What a host can be asked.
type HostCapabilities struct {
	// Takes `host/invoke`.
	Invoke bool `json:"invoke,omitempty"`
	// Takes `host/approve`.
	Approve bool `json:"approve,omitempty"`
	// Takes `host/showConnections`.
	ShowConnections bool `json:"showConnections,omitempty"`
	// Takes `$/progress`.
	Progress bool `json:"progress,omitempty"`
}

// InitializeParams: Parameters of `initialize`.
type InitializeParams struct {
	// `major.minor`; absent is the newest.
	ProtocolVersion string `json:"protocolVersion,omitempty"`
	// Who is asking, for logs.
	ClientInfo *ClientInfo `json:"clientInfo,omitempty"`
	// Process whose end ends the sidecar; one that cannot be seen at once is not watched.
	ProcessID *uint32 `json:"processId,omitempty"`
	// Folder whose `.toolscout` is read; absent is the working directory.
	Workspace string `json:"workspace,omitempty"`
	// Whether the workspace's settings that could run or send something may take effect.
	Trusted bool `json:"trusted,omitempty"`
	// Working directory of the asking process.
	Cwd string `json:"cwd,omitempty"`
	// Variables that configuration may name. Never logged.
	Environment map[string]string `json:"environment,omitempty"`
	// What the host can be asked.
	Capabilities *HostCapabilities `json:"capabilities,omitempty"`
	// The top layer of configuration, in the shape of the file.
	Settings json.RawMessage `json:"settings,omitempty"`
	// `{replace?, extend?}`, or a bare array that extends the core set.
	Core json.RawMessage `json:"core,omitempty"`
	// Asks for `$/progress` while registries load.
	ProgressToken ProgressToken `json:"progressToken,omitempty"`
}

// InitializeResult: Result of `initialize`.
type InitializeResult struct {
	// The version that is spoken.
	ProtocolVersion string `json:"protocolVersion"`
	// The sidecar.
	ServerInfo ServerInfo `json:"serverInfo"`
	// What it can do.
	Capabilities ServerCapabilities `json:"capabilities"`
	// What is wrong with configuration and registries.
	Diagnostics []FileDiagnostics `json:"diagnostics"`
}

// InvokeParams: Parameters of `host/invoke`: a tool of the host, under its real name.
type InvokeParams struct {
	// The name the model sees.
	Name string `json:"name"`
	// The name its source gave it.
	Tool string `json:"tool"`
	// Repaired arguments.
	Arguments json.RawMessage `json:"arguments"`
	// Its toolset.
	Toolset string `json:"toolset"`
	// Its source's name.
	Source string `json:"source"`
	// The model's id of the call.
	CallID string `json:"callId,omitempty"`
}

// InvokeResult: Answer of a host to `host/invoke`.
type InvokeResult struct {
	// What the model is given.
	Content json.RawMessage `json:"content"`
	// Whether the tool failed.
	IsError bool `json:"isError,omitempty"`
}

// Latency: Time requests of a method took, in microseconds, at most twice the true value.
type Latency struct {
	// Half took at most this.
	P50 uint64 `json:"p50"`
	// 99 of 100 took at most this.
	P99 uint64 `json:"p99"`
}

// ListParams: Parameters of `registry/list`.
type ListParams struct {
	// What is seen.
	Scope *Scope `json:"scope,omitempty"`
	// Whether tools are listed one by one.
	Tools bool `json:"tools,omitempty"`
}

// ListResult: Result of `registry/list`.
type ListResult struct {
	// Of the connection's view.
	Revision uint64 `json:"revision"`
	// Sources with something in scope, by kind, then label; empty ones where no scope is given.
	Sources []ListedSource `json:"sources"`
}

// ListedSource: A source in `registry/list`.
type ListedSource struct {
	// Name.
	Name string `json:"name"`
	// What it is.
	Kind SourceKind `json:"kind"`
	// The name that readers see.
	Label string `json:"label"`
	// The name that scopes grant.
	Toolset string `json:"toolset"`
	// Where it was registered.
	Origin ListedSourceOrigin `json:"origin"`
	// `ready`; of an MCP server also `starting`, `down`, `needs_authorization`, `disabled` or `untrusted`.
	State ListedSourceState `json:"state"`
	// Tools in scope.
	ToolCount uint64 `json:"toolCount"`
	// The tools, if asked for.
	Tools []ListedTool `json:"tools,omitempty"`
}

// ListedSourceOrigin: Values of ListedSource.Origin.
type ListedSourceOrigin string

// Values of ListedSourceOrigin.
const (
	ListedSourceOriginFile       ListedSourceOrigin = "file"
	ListedSourceOriginConnection ListedSourceOrigin = "connection"
	ListedSourceOriginServer     ListedSourceOrigin = "server"
	ListedSourceOriginGateway    ListedSourceOrigin = "gateway"
)

// ListedSourceState: Values of ListedSource.State.
type ListedSourceState string

// Values of ListedSourceState.
const (
	ListedSourceStateReady              ListedSourceState = "ready"
	ListedSourceStateStarting           ListedSourceState = "starting"
	ListedSourceStateDown               ListedSourceState = "down"
	ListedSourceStateNeedsAuthorization ListedSourceState = "needs_authorization"
	ListedSourceStateDisabled           ListedSourceState = "disabled"
	ListedSourceStateUntrusted          ListedSourceState = "untrusted"
)

// ListedTool: A tool in `registry/list`.
type ListedTool struct {
	// The name the model sees.
	Name string `json:"name"`
	// The name its source gave it.
	Tool string `json:"tool"`
	// Whether the bridge stands in for it.
	Deferred bool `json:"deferred"`
}

// ListingForm: What a listing as a whole shows.
type ListingForm string

// Values of ListingForm.
const (
	// Every tool with its summary.
	ListingFormFull ListingForm = "full"
	// Every tool named, some without the summary they have.
	ListingFormNames ListingForm = "names"
	// Some servers per tool, the others one line each.
	ListingFormMixed ListingForm = "mixed"
	// No tool named: one line a server, or labels alone.
	ListingFormGroups ListingForm = "groups"
	// Nothing.
	ListingFormNone ListingForm = "none"
)

// Nearness: How near a tool comes to a query that it does not match; it is offered from a sum of 0.98 on.
type Nearness struct {
	// Share of the query's weight that it holds.
	Weight float64 `json:"weight"`
	// Share of the highest score possible.
	Score float64 `json:"score"`
	// Share of its name that the query says.
	Name float64 `json:"name"`
	// `weight + 2 score + 0.3 name`; 0 with fewer than two words held, two in the schemas of parameters being one.
	Sum float64 `json:"sum"`
}

// PlanParams: Parameters of `bridge/plan`.
type PlanParams struct {
	// The model's batch, in order.
	Calls []PlannedCall `json:"calls"`
	// What is seen.
	Scope *Scope `json:"scope,omitempty"`
	// Definitions that count as registered for this request.
	Tools []json.RawMessage `json:"tools"`
}

// PlanResult: Result of `bridge/plan`.
type PlanResult struct {
	// Ids that may run together, stage after stage.
	Stages [][]json.RawMessage `json:"stages"`
	// What servers say of the effects of some of the calls.
	Hints []PlannedHints `json:"hints,omitempty"`
}

// PlannedCall: One call of a batch.
type PlannedCall struct {
	// Id, as the model or host numbers it.
	ID json.RawMessage `json:"id"`
	// The tool that the model used.
	Name string `json:"name"`
	// What it gave.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// PlannedHints: What a server says of the effects of one call of a batch.
type PlannedHints struct {
	// Id of the call.
	ID json.RawMessage `json:"id"`
	// Whether it changes nothing.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Whether it may destroy something.
	Destructive bool `json:"destructive,omitempty"`
}

// Probe: A search that was run to see that the index lives.
type Probe struct {
	// Whether it found what it looked for.
	Ok bool `json:"ok"`
	// Microseconds it took.
	Micros uint64 `json:"micros"`
}

// Progress: Where a request stands.
type Progress struct {
	// `begin`, then `end`; `report` is what a server says of the call that it works on.
	Kind ProgressKind `json:"kind"`
	// What is going on.
	Message string `json:"message"`
	// How much is done, in a measure of the server's own.
	Progress *float64 `json:"progress,omitempty"`
	// How much there is to do, in the same.
	Total *float64 `json:"total,omitempty"`
}

// ProgressKind: Values of Progress.Kind.
type ProgressKind string

// Values of ProgressKind.
const (
	ProgressKindBegin  ProgressKind = "begin"
	ProgressKindReport ProgressKind = "report"
	ProgressKindEnd    ProgressKind = "end"
)

// ProgressParams: Parameters of `$/progress`.
type ProgressParams struct {
	// The request's token.
	Token ProgressToken `json:"token"`
	// Where it stands.
	Value Progress `json:"value"`
}

// ProgressToken: Name of a request's progress, chosen by the host.
type ProgressToken = json.RawMessage

// RegisterParams: Parameters of `registry/register`.
type RegisterParams struct {
	// The source; one of that name is replaced.
	Source SourceParams `json:"source"`
	// Tool definitions in any of the common shapes.
	Tools []json.RawMessage `json:"tools"`
}

// RegisterResult: Result of `registry/register`.
type RegisterResult struct {
	// Of the connection's view.
	Revision uint64 `json:"revision"`
	// Number of tools served.
	Accepted uint64 `json:"accepted"`
	// Tools that are not.
	Rejected []ToolProblem `json:"rejected"`
	// What is odd about tools that are served.
	Warnings []ToolProblem `json:"warnings,omitempty"`
}

// ResolveResult: Result of `bridge/resolve`.
type ResolveResult struct {
	// The tools that a `bridge/call` would run, in order.
	Calls []ResolvedCall `json:"calls"`
	// Whether it would change nothing.
	ReadOnly bool `json:"readOnly"`
	// Why it would be refused.
	Error string `json:"error,omitempty"`
}

// ResolvedCall: One tool that a call would run.
type ResolvedCall struct {
	// The name the model sees.
	Name string `json:"name"`
	// The name its source gave it.
	Tool string `json:"tool"`
	// Its toolset.
	Toolset string `json:"toolset"`
	// Its source's name.
	Source string `json:"source"`
	// Where it runs.
	RunsIn ResolvedCallRunsIn `json:"runsIn"`
	// Whether it may run beside others.
	ParallelSafe bool `json:"parallelSafe"`
	// Whether it changes nothing.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Whether it may destroy something.
	Destructive bool `json:"destructive,omitempty"`
}

// ResolvedCallRunsIn: Values of ResolvedCall.RunsIn.
type ResolvedCallRunsIn string

// Values of ResolvedCallRunsIn.
const (
	ResolvedCallRunsInHost    ResolvedCallRunsIn = "host"
	ResolvedCallRunsInSidecar ResolvedCallRunsIn = "sidecar"
	ResolvedCallRunsInGateway ResolvedCallRunsIn = "gateway"
)

// Scope: What a session was granted. Absent `enabled` or `allow` grants all, an empty one nothing.
type Scope struct {
	// Toolsets, by toolset name or label; names or globs.
	Toolsets *ScopeToolsets `json:"toolsets,omitempty"`
	// Single tools, by visible name; names or globs.
	Tools *ScopeTools `json:"tools,omitempty"`
}

// ScopeTools: Tools granted and denied.
type ScopeTools struct {
	// Granted.
	Allow []string `json:"allow"`
	// Denied.
	Deny []string `json:"deny"`
}

// ScopeToolsets: Toolsets granted and denied.
type ScopeToolsets struct {
	// Granted.
	Enabled []string `json:"enabled"`
	// Denied.
	Disabled []string `json:"disabled"`
}

// ScorePart: A term's part of a score.
type ScorePart struct {
	// The term as the query has it.
	Word string `json:"word"`
	// How often the tool holds it.
	TF uint16 `json:"tf"`
	// The term's weight.
	IDF float64 `json:"idf"`
	// Where the tool has it, if no text of it holds it: `given` as an alias or a keyword, or `parameters`, in the schemas of
	// its parameters, which counts for near answers alone.
	From string `json:"from,omitempty"`
	// Its share of the score, 0 to 1.
	Share float64 `json:"share"`
}

// Scored: One tool and where its score comes from.
type Scored struct {
	// Visible name.
	Name string `json:"name"`
	// BM25 score; of a near miss with what stands in the schemas of its parameters.
	Score float64 `json:"score"`
	// What it is ranked by: the score, and something for what the query says of its name.
	Rank float64 `json:"rank"`
	// Why it is here: `exact`, `match`, `near`, `gate`, `floor` or `rank`.
	Reason string `json:"reason"`
	// Parts of the score, for the terms it holds.
	Parts []ScorePart `json:"parts"`
	// Of a near miss: how near it comes.
	Nearness *Nearness `json:"nearness,omitempty"`
}

// ServerCapabilities: What the sidecar can do.
type ServerCapabilities struct {
	// Formats of `assemble`.
	Formats []string `json:"formats"`
	// Whether `$/progress` is sent.
	Progress bool `json:"progress"`
}

// ServerInfo: The sidecar.
type ServerInfo struct {
	// `toolscout`.
	Name string `json:"name"`
	// Its version.
	Version string `json:"version"`
}

// SettingOrigin: Where a setting came from.
type SettingOrigin struct {
	// The layer that set it.
	Layer ConfigLayer `json:"layer"`
	// That layer's file, if it has one.
	File string `json:"file,omitempty"`
}

// Severity: How much a diagnostic matters.
type Severity string

// Values of Severity.
const (
	// Something that was written is not in effect.
	SeverityError Severity = "error"
	// It is in effect, but differs from what was written, or may surprise.
	SeverityWarning Severity = "warning"
)

// ShowConnectionsParams: Parameters of `host/showConnections`: a card of accounts that a person is to connect.
type ShowConnectionsParams struct {
	// The accounts, in the order asked for.
	Connections []ConnectionCard `json:"connections"`
	// The model's id of the call.
	CallID string `json:"callId,omitempty"`
}

// ShowConnectionsResult: Answer of a host to `host/showConnections`, once the card is closed.
type ShowConnectionsResult struct {
	// Slugs of the connectors that the person passed over.
	Skipped []string `json:"skipped,omitempty"`
}

// SourceKind: What kind of source it is; the order is that of visible tools and of who wins a name.
type SourceKind string

// Values of SourceKind.
const (
	// The host's own tools: never deferred.
	SourceKindCore SourceKind = "core"
	// A plugin of the host.
	SourceKindPlugin SourceKind = "plugin"
	// An MCP server.
	SourceKindMCP SourceKind = "mcp"
	// The gateway's remote tools.
	SourceKindConnectors SourceKind = "connectors"
	// Not said: its tools stay visible.
	SourceKindUnknown SourceKind = "unknown"
)

// SourceNames: How a source's tools are named.
type SourceNames string

// Values of SourceNames.
const (
	// `mcp__<source>__<tool>`.
	SourceNamesPrefixed SourceNames = "prefixed"
	// The tool's own name.
	SourceNamesAsIs SourceNames = "as-is"
)

// SourceParams: A source as a host gives it.
type SourceParams struct {
	// Name, also the label in listings.
	Name string `json:"name"`
	// What it is.
	Kind SourceKind `json:"kind"`
	// How its tools are named; absent is the kind's own way.
	Names SourceNames `json:"names,omitempty"`
	// Whether its tools may run beside others.
	SupportsParallelToolCalls bool `json:"supportsParallelToolCalls,omitempty"`
	// Other words for the source, by which its tools are found too.
	Aliases []string `json:"aliases,omitempty"`
	// The same for tools of it, by a tool's name or a glob.
	Keywords map[string][]string `json:"keywords,omitempty"`
	// For readers; not used otherwise.
	Description string `json:"description,omitempty"`
}

// SourceStatus: A source in `status`.
type SourceStatus struct {
	// Name.
	Name string `json:"name"`
	// Where it was registered.
	Origin SourceStatusOrigin `json:"origin"`
	// `ready`; of an MCP server also `starting`, `down`, `needs_authorization`, `disabled` or `untrusted`.
	State SourceStatusState `json:"state"`
	// Number of tools.
	ToolCount uint64 `json:"toolCount"`
	// What last went wrong.
	LastError string `json:"lastError,omitempty"`
	// How long an MCP server took to start, in milliseconds.
	StartedInMS *uint64 `json:"startedInMs,omitempty"`
	// Tokens of the definitions of an MCP server's tools.
	Tokens *uint64 `json:"tokens,omitempty"`
	// The last lines that an MCP server wrote to standard error.
	Stderr []string `json:"stderr,omitempty"`
}

// SourceStatusOrigin: Values of SourceStatus.Origin.
type SourceStatusOrigin string

// Values of SourceStatusOrigin.
const (
	SourceStatusOriginFile       SourceStatusOrigin = "file"
	SourceStatusOriginConnection SourceStatusOrigin = "connection"
	SourceStatusOriginServer     SourceStatusOrigin = "server"
	SourceStatusOriginGateway    SourceStatusOrigin = "gateway"
)

// SourceStatusState: Values of SourceStatus.State.
type SourceStatusState string

// Values of SourceStatusState.
const (
	SourceStatusStateReady              SourceStatusState = "ready"
	SourceStatusStateStarting           SourceStatusState = "starting"
	SourceStatusStateDown               SourceStatusState = "down"
	SourceStatusStateNeedsAuthorization SourceStatusState = "needs_authorization"
	SourceStatusStateDisabled           SourceStatusState = "disabled"
	SourceStatusStateUntrusted          SourceStatusState = "untrusted"
)

// StatusResult: Result of `status`.
type StatusResult struct {
	// Of the program.
	Version string `json:"version"`
	// Of the process.
	PID uint32 `json:"pid"`
	// Since the process started, in milliseconds.
	UptimeMS uint64 `json:"uptimeMs"`
	// Of the connection's view.
	Revision uint64 `json:"revision"`
	// The sources in use.
	Sources []SourceStatus `json:"sources"`
	// How changes of files are noticed.
	Watching Watching `json:"watching"`
	// Whether the last look at the files did not end in time.
	Stale bool `json:"stale"`
	// Whether a file could not be read and no good version of it is known.
	Degraded bool `json:"degraded"`
	// Keys of the workspace's settings that wait for trust.
	Untrusted []string `json:"untrusted"`
	// Open connections of the process.
	Connections uint64 `json:"connections"`
	// Requests by method.
	Counters map[string]uint64 `json:"counters"`
	// Time a request took, by method.
	Latencies map[string]Latency `json:"latencies"`
	// A real search, timed.
	Probe Probe `json:"probe"`
}

// TermWeight: One term of the query.
type TermWeight struct {
	// As the query has it.
	Word string `json:"word"`
	// Its stem, which is what is looked up.
	Stem string `json:"stem"`
	// Tools that hold it.
	DF uint64 `json:"df"`
	// Its weight.
	IDF float64 `json:"idf"`
}

// TokenCounts: Tokens of the array.
type TokenCounts struct {
	// If every tool in scope were loaded.
	Before uint64 `json:"before"`
	// As it is.
	After uint64 `json:"after"`
}

// ToolProblem: A tool and what is wrong with it.
type ToolProblem struct {
	// Its name, as far as it has one.
	Name string `json:"name"`
	// What is wrong, and what to do.
	Reason string `json:"reason"`
}

// UnregisterParams: Parameters of `registry/unregister`.
type UnregisterParams struct {
	// Name of the source.
	Source string `json:"source"`
}

// UnregisterResult: Result of `registry/unregister`.
type UnregisterResult struct {
	// Of the connection's view.
	Revision uint64 `json:"revision"`
	// Whether there was such a source.
	Removed bool `json:"removed"`
}

// Watching: How changes of files are noticed.
type Watching struct {
	// How they are noticed while nobody asks: `native` by the system's events, `poll` by looking every second. Before
	// every answer files are compared in any case.
	Mode string `json:"mode"`
	// Why it is `poll`.
	Reason string `json:"reason,omitempty"`
	// Files and folders looked at.
	Paths []string `json:"paths"`
}
