//! `initialize` and what belongs to it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::object;
use crate::diagnostic::Diagnostic;

/// Parameters of `initialize`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeParams {
    /// `major.minor`; absent is the newest.
    pub protocol_version: Option<String>,
    /// Who is asking, for logs.
    #[serde(deserialize_with = "object::optional")]
    pub client_info: Option<ClientInfo>,
    /// Process whose end ends the sidecar; one that cannot be seen at once is not watched.
    pub process_id: Option<u32>,
    /// Folder whose `.toolscout` is read; absent is the working directory.
    pub workspace: Option<String>,
    /// Whether the workspace's settings that could run or send something may take effect.
    pub trusted: Option<bool>,
    /// Working directory of the asking process.
    pub cwd: Option<String>,
    /// Variables that configuration may name. Never logged.
    pub environment: Option<BTreeMap<String, String>>,
    /// What the host can be asked.
    #[serde(deserialize_with = "object::required")]
    pub capabilities: HostCapabilities,
    /// The top layer of configuration, in the shape of the file.
    pub settings: Option<Value>,
    /// `{replace?, extend?}`, or a bare array that extends the core set.
    pub core: Option<Value>,
    /// Asks for `$/progress` while registries load.
    pub progress_token: Option<ProgressToken>,
}

/// Who is asking.
#[derive(Debug, Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientInfo {
    /// Name of the program.
    pub name: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

/// What a host can be asked.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HostCapabilities {
    /// Takes `host/invoke`.
    pub invoke: bool,
    /// Takes `host/approve`.
    pub approve: bool,
    /// Takes `host/showConnections`.
    pub show_connections: bool,
    /// Takes `$/progress`.
    pub progress: bool,
}

/// Result of `initialize`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializeResult {
    /// The version that is spoken.
    pub protocol_version: &'static str,
    /// The sidecar.
    pub server_info: ServerInfo,
    /// What it can do.
    pub capabilities: ServerCapabilities,
    /// What is wrong with configuration and registries.
    pub diagnostics: Vec<FileDiagnostics>,
}

/// The sidecar.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ServerInfo {
    /// `toolscout`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// What the sidecar can do.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCapabilities {
    /// Formats of `assemble`.
    pub formats: Vec<&'static str>,
    /// Whether `$/progress` is sent.
    pub progress: bool,
}

/// What is wrong with one file. Also the parameters of `diagnostics/publish`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileDiagnostics {
    /// Path of the file, empty for what came over the wire.
    pub file: String,
    /// Its findings; none clears.
    pub diagnostics: Vec<Diagnostic>,
}

/// Name of a request's progress, chosen by the host.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ProgressToken {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// Parameters of `$/progress`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgressParams {
    /// The request's token.
    pub token: ProgressToken,
    /// Where it stands.
    pub value: Progress,
}

/// Where a request stands.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Progress {
    /// `begin`, then `end`; `report` is what a server says of the call that it works on.
    #[schemars(extend("enum" = ["begin", "report", "end"]))]
    pub kind: &'static str,
    /// What is going on.
    pub message: String,
    /// How much is done, in a measure of the server's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// How much there is to do, in the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// Parameters of `$/cancelRequest`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct CancelParams {
    /// Id of the request, as it was sent.
    #[schemars(extend("type" = ["string", "number"]))]
    pub id: Value,
}

/// No parameters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NoParams {}
