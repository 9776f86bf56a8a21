//! `assemble`, `bridge/*`, `search/explain`, `config/get` and `status`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::lifecycle::ProgressToken;
use super::object;
use crate::catalog::assembly::Assembly;
use crate::catalog::definition::Format as Shape;
use crate::catalog::listing::Form;
use crate::catalog::scope::Grant;

/// What a session was granted. Absent `enabled` or `allow` grants all, an empty one nothing.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Scope {
    /// Toolsets, by toolset name or label; names or globs.
    #[serde(deserialize_with = "object::optional")]
    pub toolsets: Option<Toolsets>,
    /// Single tools, by visible name; names or globs.
    #[serde(deserialize_with = "object::optional")]
    pub tools: Option<Tools>,
}

/// Toolsets granted and denied.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ScopeToolsets")]
pub struct Toolsets {
    /// Granted.
    pub enabled: Option<Vec<String>>,
    /// Denied.
    pub disabled: Option<Vec<String>>,
}

/// Tools granted and denied.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "ScopeTools")]
pub struct Tools {
    /// Granted.
    pub allow: Option<Vec<String>>,
    /// Denied.
    pub deny: Option<Vec<String>>,
}

impl Scope {
    /// The grant in the domain's words.
    pub fn grant(self) -> Grant {
        let toolsets = self.toolsets.unwrap_or_default();
        let tools = self.tools.unwrap_or_default();
        Grant {
            enabled: toolsets.enabled,
            disabled: toolsets.disabled.unwrap_or_default(),
            allow: tools.allow,
            deny: tools.deny.unwrap_or_default(),
        }
    }
}

/// Formats of tool definitions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// OpenAI Chat Completions.
    #[default]
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// MCP.
    Mcp,
}

impl From<Format> for Shape {
    fn from(format: Format) -> Self {
        match format {
            Format::OpenAi => Self::OpenAi,
            Format::OpenAiResponses => Self::OpenAiResponses,
            Format::Anthropic => Self::Anthropic,
            Format::Mcp => Self::Mcp,
        }
    }
}

/// Parameters of `assemble`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AssembleParams {
    /// What is seen.
    #[serde(default, deserialize_with = "object::optional")]
    pub scope: Option<Scope>,
    /// Definitions that count as registered for this request.
    #[schemars(with = "Option<Vec<Value>>")]
    pub tools: Option<Box<RawValue>>,
    /// Context length of the model in tokens; unknown, null or not positive leaves the listing 10,000.
    pub context_length: Option<f64>,
    /// Format of the array.
    pub format: Format,
    /// The etag the host has; if it is still the current one, `tools` is left out.
    pub if_etag: Option<String>,
    /// Asks for `$/progress`.
    pub progress_token: Option<ProgressToken>,
}

/// Result of `assemble`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssembleResult {
    /// The array for the model; absent where it is unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Value>>")]
    pub tools: Option<Kept>,
    /// True where the host has the array already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// Whether the bridge stands in.
    pub activated: bool,
    /// 0 pass-through, 1 tools named in the listing, 2 none named.
    pub tier: u8,
    /// What the listing shows.
    pub listing_form: Form,
    /// Number of deferred tools.
    pub deferred_count: usize,
    /// Tokens of the deferred definitions.
    pub deferred_tokens: u64,
    /// The listing's budget in tokens.
    pub listing_budget: u64,
    /// Tokens of the listing.
    pub listing_tokens: u64,
    /// Tokens of the array.
    pub tokens: TokenCounts,
    /// Of the exact bytes of the array.
    pub etag: String,
    /// Of the connection's view.
    pub revision: u64,
    /// Inline tools that were refused or are odd.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<super::registry::Rejected>,
}

/// The array of a kept assembly, which goes out as it is.
#[derive(Debug)]
pub struct Kept(pub Arc<Assembly>);

impl Serialize for Kept {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.tools.serialize(serializer)
    }
}

/// Tokens of the array.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TokenCounts {
    /// If every tool in scope were loaded.
    pub before: u64,
    /// As it is.
    pub after: u64,
}

/// Parameters of `bridge/call` and `bridge/resolve`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BridgeParams {
    /// The tool that the model used.
    pub name: String,
    /// What it gave, as it gave it.
    #[schemars(with = "Option<Value>")]
    pub arguments: Option<Box<RawValue>>,
    /// What is seen.
    #[serde(default, deserialize_with = "object::optional")]
    pub scope: Option<Scope>,
    /// Definitions that count as registered for this request.
    #[schemars(with = "Option<Vec<Value>>")]
    pub tools: Option<Box<RawValue>>,
    /// The model's id of the call, passed on to the host.
    pub call_id: Option<String>,
    /// Asks for `$/progress`.
    pub progress_token: Option<ProgressToken>,
}

/// Result of `bridge/call`: content for the model, or a tool for the host to run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BridgeResult {
    /// For the model.
    Content(Content),
    /// For the host.
    Dispatch {
        /// The tool to run.
        dispatch: Dispatch,
    },
}

/// What the model is given as the result of its call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// JSON for the model.
    #[schemars(with = "Value")]
    pub content: Box<RawValue>,
    /// Whether it is a mistake of the model's or a failure of what was called.
    pub is_error: bool,
    /// `structuredContent` of a server's result.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub structured_content: Option<Box<RawValue>>,
    /// `_meta` of a server's result.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub meta: Option<Box<RawValue>>,
    /// File that holds the whole of a result that was too long for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_file: Option<String>,
    /// What was repaired in the arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coerced: Vec<String>,
}

impl Content {
    /// One without error, and nothing beside it.
    pub fn of(content: Box<RawValue>) -> Self {
        Self { content, is_error: false, structured_content: None, meta: None, output_file: None, coerced: Vec::new() }
    }
}

/// A tool that the host runs itself.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dispatch {
    /// The name the model sees.
    pub name: String,
    /// The name its source gave it.
    pub tool: String,
    /// Repaired arguments.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub arguments: Value,
    /// Its toolset.
    pub toolset: String,
    /// Its source's name.
    pub source: String,
    /// What was repaired, one text a repair.
    pub coerced: Vec<String>,
    /// Whether it may run beside others.
    pub parallel_safe: bool,
}

/// Result of `bridge/resolve`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolveResult {
    /// The tools that a `bridge/call` would run, in order.
    pub calls: Vec<ResolvedCall>,
    /// Whether it would change nothing.
    pub read_only: bool,
    /// Why it would be refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One tool that a call would run.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedCall {
    /// The name the model sees.
    pub name: String,
    /// The name its source gave it.
    pub tool: String,
    /// Its toolset.
    pub toolset: String,
    /// Its source's name.
    pub source: String,
    /// Where it runs.
    #[schemars(extend("enum" = ["host", "sidecar", "gateway"]))]
    pub runs_in: &'static str,
    /// Whether it may run beside others.
    pub parallel_safe: bool,
    /// What its server says of its effects.
    #[serde(flatten)]
    pub hints: Hints,
}

/// What a server says of a tool's effects. Whether to believe it is the host's to decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ToolHints")]
pub struct Hints {
    /// Whether it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether it may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
}

/// Parameters of `bridge/plan`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PlanParams {
    /// The model's batch, in order.
    pub calls: Vec<PlannedCall>,
    /// What is seen.
    #[serde(default, deserialize_with = "object::optional")]
    pub scope: Option<Scope>,
    /// Definitions that count as registered for this request.
    #[schemars(with = "Option<Vec<Value>>")]
    pub tools: Option<Box<RawValue>>,
}

/// One call of a batch.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct PlannedCall {
    /// Id, as the model or host numbers it.
    pub id: Value,
    /// The tool that the model used.
    pub name: String,
    /// What it gave.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    pub arguments: Option<Box<RawValue>>,
}

/// Result of `bridge/plan`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanResult {
    /// Ids that may run together, stage after stage.
    pub stages: Vec<Vec<Value>>,
    /// What servers say of the effects of some of the calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<PlannedHints>,
}

/// What a server says of the effects of one call of a batch.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlannedHints {
    /// Id of the call.
    pub id: Value,
    /// What it says.
    #[serde(flatten)]
    pub hints: Hints,
}

/// Parameters of `search/explain`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct ExplainParams {
    /// The query.
    pub query: String,
    /// What is seen.
    #[serde(default, deserialize_with = "object::optional")]
    pub scope: Option<Scope>,
    /// Definitions that count as registered for this request.
    #[schemars(with = "Option<Vec<Value>>")]
    pub tools: Option<Box<RawValue>>,
    /// Most matches.
    pub limit: Option<u32>,
}

/// Result of `config/get`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConfigResult {
    /// The settings in effect, in the shape of the config file; what may be secret is masked.
    pub settings: Value,
    /// By dotted key, where its value came from.
    pub origins: BTreeMap<String, SettingOrigin>,
}

/// Where a setting came from.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct SettingOrigin {
    /// The layer that set it.
    pub layer: ConfigLayer,
    /// That layer's file, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// A layer of configuration; each wins over those before it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigLayer {
    /// What holds where nobody says anything.
    BuiltIn,
    /// The user's `config.yaml`.
    User,
    /// The workspace's `config.yaml`.
    Workspace,
    /// The file named by `--config`.
    File,
    /// `settings` and `core` of `initialize`.
    Initialize,
}

/// Result of `status`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusResult {
    /// Of the program.
    pub version: &'static str,
    /// Of the process.
    pub pid: u32,
    /// Since the process started, in milliseconds.
    pub uptime_ms: u64,
    /// Of the connection's view.
    pub revision: u64,
    /// The sources in use.
    pub sources: Vec<SourceStatus>,
    /// How changes of files are noticed.
    pub watching: Watching,
    /// Whether the last look at the files did not end in time.
    pub stale: bool,
    /// Whether a file could not be read and no good version of it is known.
    pub degraded: bool,
    /// Keys of the workspace's settings that wait for trust.
    pub untrusted: Vec<String>,
    /// Open connections of the process.
    pub connections: usize,
    /// Requests by method.
    pub counters: BTreeMap<&'static str, u64>,
    /// Time a request took, by method.
    pub latencies: BTreeMap<&'static str, Latency>,
    /// A real search, timed.
    pub probe: Probe,
}

/// A source in `status`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// Name.
    pub name: String,
    /// Where it was registered.
    #[schemars(extend("enum" = ["file", "connection", "server", "gateway"]))]
    pub origin: &'static str,
    /// `ready`; of an MCP server also `starting`, `down`, `needs_authorization`, `disabled` or `untrusted`.
    #[schemars(extend("enum" = ["ready", "starting", "down", "needs_authorization", "disabled", "untrusted"]))]
    pub state: &'static str,
    /// Number of tools.
    pub tool_count: usize,
    /// What last went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// How long an MCP server took to start, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_in_ms: Option<u64>,
    /// Tokens of the definitions of an MCP server's tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The last lines that an MCP server wrote to standard error.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stderr: Vec<String>,
}

impl SourceStatus {
    /// An MCP server without name and tools, of which nothing bad is known.
    pub fn ready() -> Self {
        Self {
            name: String::new(),
            origin: "server",
            state: "ready",
            tool_count: 0,
            last_error: None,
            started_in_ms: None,
            tokens: None,
            stderr: Vec::new(),
        }
    }
}

/// How changes of files are noticed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Watching {
    /// How they are noticed while nobody asks: `native` by the system's events, `poll` by looking every second. Before
    /// every answer files are compared in any case.
    pub mode: &'static str,
    /// Why it is `poll`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Files and folders looked at.
    pub paths: Vec<String>,
}

/// Time requests of a method took, in microseconds, at most twice the true value.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Latency {
    /// Half took at most this.
    pub p50: u64,
    /// 99 of 100 took at most this.
    pub p99: u64,
}

/// A search that was run to see that the index lives.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Probe {
    /// Whether it found what it looked for.
    pub ok: bool,
    /// Microseconds it took.
    pub micros: u64,
}
