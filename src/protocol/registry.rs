//! `registry/*`: tools of one connection, and what a scope sees of all.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::object;
use super::work::Scope;
use crate::catalog::found_by::FoundBy;
use crate::catalog::names::Naming;
use crate::catalog::source::{Kind, Origin, SourceInfo};

/// Parameters of `registry/register`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct RegisterParams {
    /// The source; one of that name is replaced.
    #[serde(deserialize_with = "object::required")]
    pub source: SourceParams,
    /// Tool definitions in any of the common shapes.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub tools: Box<RawValue>,
}

/// A source as a host gives it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceParams {
    /// Name, also the label in listings.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How its tools are named; absent is the kind's own way.
    pub names: Option<Names>,
    /// Whether its tools may run beside others.
    #[serde(default)]
    pub supports_parallel_tool_calls: bool,
    /// Other words for the source, by which its tools are found too.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The same for tools of it, by a tool's name or a glob.
    #[serde(default)]
    pub keywords: BTreeMap<String, Vec<String>>,
    /// For readers; not used otherwise.
    pub description: Option<String>,
}

/// How a source's tools are named.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "SourceNames")]
pub enum Names {
    /// `mcp__<source>__<tool>`.
    Prefixed,
    /// The tool's own name.
    AsIs,
}

impl SourceParams {
    /// The source in the domain's words.
    pub fn info(&self) -> SourceInfo {
        let mut info = SourceInfo::new(&self.name, self.kind, Origin::Connection);
        info.parallel = self.supports_parallel_tool_calls;
        info.found_by = Arc::new(FoundBy { aliases: self.aliases.clone(), keywords: self.keywords.clone() });
        match self.names {
            Some(Names::Prefixed) => info.naming = Naming::Prefixed,
            Some(Names::AsIs) => info.naming = Naming::AsIs,
            None => {}
        }
        info
    }
}

/// Result of `registry/register`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RegisterResult {
    /// Of the connection's view.
    pub revision: u64,
    /// Number of tools served.
    pub accepted: usize,
    /// Tools that are not.
    pub rejected: Vec<Rejected>,
    /// What is odd about tools that are served.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Rejected>,
}

/// A tool and what is wrong with it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolProblem")]
pub struct Rejected {
    /// Its name, as far as it has one.
    pub name: String,
    /// What is wrong, and what to do.
    pub reason: String,
}

/// Parameters of `registry/unregister`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct UnregisterParams {
    /// Name of the source.
    pub source: String,
}

/// Result of `registry/unregister`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UnregisterResult {
    /// Of the connection's view.
    pub revision: u64,
    /// Whether there was such a source.
    pub removed: bool,
}

/// Parameters of `registry/list`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ListParams {
    /// What is seen.
    #[serde(deserialize_with = "object::optional")]
    pub scope: Option<Scope>,
    /// Whether tools are listed one by one.
    pub tools: bool,
}

/// Result of `registry/list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListResult {
    /// Of the connection's view.
    pub revision: u64,
    /// Sources with something in scope, by kind, then label; empty ones where no scope is given.
    pub sources: Vec<ListedSource>,
}

/// A source in `registry/list`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedSource {
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// The name that readers see.
    pub label: String,
    /// The name that scopes grant.
    pub toolset: String,
    /// Where it was registered.
    #[schemars(extend("enum" = ["file", "connection", "server", "gateway"]))]
    pub origin: &'static str,
    /// `ready`; of an MCP server also `starting`, `down`, `needs_authorization`, `disabled` or `untrusted`.
    #[schemars(extend("enum" = ["ready", "starting", "down", "needs_authorization", "disabled", "untrusted"]))]
    pub state: &'static str,
    /// Tools in scope.
    pub tool_count: usize,
    /// The tools, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ListedTool>>,
}

/// A tool in `registry/list`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListedTool {
    /// The name the model sees.
    pub name: String,
    /// The name its source gave it.
    pub tool: String,
    /// Whether the bridge stands in for it.
    pub deferred: bool,
}
