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
