//! What the sidecar tells its host about a catalog that changed.

use schemars::JsonSchema;
use serde::Serialize;

/// Parameters of `catalog/didChange`: what a reload of files changed for this connection. Every list is sorted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DidChangeParams {
    /// Of the connection's view, which has the changes.
    pub revision: u64,
    /// Visible names that were none before.
    pub added: Vec<String>,
    /// Visible names that are none any more.
    pub removed: Vec<String>,
    /// Visible names under which another definition stands.
    pub changed: Vec<String>,
    /// Names of the sources that changed.
    pub sources: Vec<String>,
}
