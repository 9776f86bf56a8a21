//! What the sidecar asks of the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Parameters of `host/invoke`: a tool of the host, under its real name.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvokeParams {
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
    /// The model's id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// Answer of a host to `host/invoke`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InvokeResult {
    /// What the model is given.
    #[schemars(with = "Value")]
    pub content: Box<RawValue>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
}

/// Parameters of `host/approve`: what the sidecar would do by itself, and may not without a person's word.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveParams {
    /// A tool's visible name; or `server:<name>`, an MCP server that the workspace asks to have started; or
    /// `workspace`, settings of the workspace's own file that wait for trust.
    pub name: String,
    /// What it would be done with: a call's arguments, a server's command, the settings. To be shown to the person.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub arguments: Value,
    /// The tool's or server's toolset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub toolset: Option<String>,
    /// The model's id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Position in the call's batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// Whether the tool's server says that it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether the tool's server says that it may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
}

/// Answer of a host to `host/approve`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApproveResult {
    /// What the person, or the host for them, decided.
    pub decision: Decision,
    /// Arguments to take instead of those shown; they are checked again. For calls only.
    #[serde(default)]
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    pub arguments: Option<Value>,
    /// Why not, for the model.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Whether what was asked about may be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// Do it.
    Allow,
    /// Do not.
    Deny,
}

/// Parameters of `host/showConnections`: a card of accounts that a person is to connect.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowConnectionsParams {
    /// The accounts, in the order asked for.
    pub connections: Vec<ConnectionCard>,
    /// The model's id of the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// One account on the card.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionCard {
    /// The connector's slug, or the MCP server's name.
    pub connector: String,
    /// `pending`, `active`, `failed`, `expired`, `revoked` or `inactive`; `skipped` once the person passed it over; of an MCP
    /// server also `denied`.
    pub status: String,
    /// Where the person signs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_url: Option<String>,
    /// True of an MCP server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<bool>,
}

/// Parameters of `connections/didChange`: the card, as its accounts stand now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionsChanged {
    /// All accounts of the card, in its order.
    pub connections: Vec<ConnectionCard>,
    /// The model's id of the call that the card is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
}

/// Answer of a host to `host/showConnections`, once the card is closed.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowConnectionsResult {
    /// Slugs of the connectors that the person passed over.
    #[serde(default)]
    pub skipped: Vec<String>,
}
