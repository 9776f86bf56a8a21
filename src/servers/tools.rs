//! A server's tools: all pages of its list, as one source of the catalog.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient, ServiceError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::cache::Cache;
use super::http;
use super::spec::Spec;
use crate::catalog::json_text::decode_string;
use crate::catalog::source::{Kind, Origin, Source, SourceInfo};

/// Pages that are read of one list, and their bytes: more is a server that never comes to an end.
const MAX_PAGES: usize = 1000;
const MAX_BYTES: usize = 64 << 20;

/// Something odd about a server that runs. It is told with the entry that names the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Stable kebab-case name of the kind.
    pub code: &'static str,
    /// What is odd.
    pub message: String,
}

/// What a server listed.
pub struct Listed {
    /// The definitions as a JSON array.
    pub json: String,
    /// What was odd about the list.
    pub warnings: Vec<Warning>,
}

/// Why a server listed nothing.
pub enum Unlisted {
    /// What a person is to be told.
    Told(String),
    /// It wants somebody to sign in first.
    Unauthorized,
}

impl From<&str> for Unlisted {
    fn from(why: &str) -> Self {
        Self::Told(why.to_owned())
    }
}

impl From<ServiceError> for Unlisted {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::TransportSend(error) if http::is_unauthorized(&error) => Self::Unauthorized,
            error => Self::Told(error.to_string()),
        }
    }
}

/// Asks for all pages. A server that says it has no tools, or knows of no list of them, has none.
///
/// # Errors
/// See [`Unlisted`].
pub async fn list(peer: &Peer<RoleClient>) -> Result<Listed, Unlisted> {
    if peer.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
        return Ok(Listed { json: "[]".to_owned(), warnings: Vec::new() });
    }
    let (mut json, mut count, mut warnings) = ("[".to_owned(), 0, Vec::new());
    let mut seen: HashSet<String> = HashSet::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = page(peer, cursor.take()).await?;
        for tool in page.0 {
            json.push_str(if count == 0 { "" } else { "," });
            json.push_str(&tool.to_string());
            count += 1;
        }
        let Some(next) = page.1 else { break };
        if seen.len() >= MAX_PAGES || json.len() >= MAX_BYTES {
            let message = format!("its list of tools does not end: the first {count} are served");
            warnings.push(Warning { code: "server-endless-list", message });
            break;
        }
        if !seen.insert(next.clone()) {
            let message =
                "it names a page of its list of tools a second time: the pages up to there are served".to_owned();
            warnings.push(Warning { code: "server-repeated-cursor", message });
            break;
        }
        cursor = Some(next);
    }
    json.push(']');
    Ok(Listed { json, warnings })
}

/// One page and the name of the next.
async fn page(peer: &Peer<RoleClient>, cursor: Option<String>) -> Result<(Vec<Value>, Option<String>), Unlisted> {
    let request = ListToolsRequest {
        method: Default::default(),
        params: Some(PaginatedRequestParams::default().with_cursor(cursor)),
        extensions: Default::default(),
    };
    let handle =
        peer.send_cancellable_request(ClientRequest::ListToolsRequest(request), PeerRequestOptions::no_options());
    let handle = handle.await?;
    match handle.await_response().await {
        Ok(ServerResult::ListToolsResult(page)) => {
            let tools: Result<Vec<Value>, _> = page.tools.iter().map(serde_json::to_value).collect();
            Ok((tools.map_err(|_| "its tools are no JSON")?, page.next_cursor))
        }
        // A tool that is not as it should be costs its server no other: each is looked at by itself.
        Ok(ServerResult::CustomResult(page)) => match page.0 {
            Value::Object(mut page) => {
                let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
                match page.remove("tools") {
                    Some(Value::Array(tools)) => Ok((tools, next)),
                    _ => Err("its answer to tools/list holds no list".into()),
                }
            }
            _ => Err("its answer to tools/list holds no list".into()),
        },
        Ok(_) => Err("its answer to tools/list holds no list".into()),
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => Ok((Vec::new(), None)),
        Err(error) => Err(error.into()),
    }
}

/// The source of a server as it was last known, of which nothing odd is told again; `None` where nothing is kept.
pub fn last_known(spec: &Spec, cache: &Cache) -> Option<Arc<Source>> {
    let json = cache.tools(&spec.content_id()).filter(|_| spec.cached)?;
    Some(source(spec, &json, None).0)
}

/// The source of a server, with what is odd about its tools. `json` is an array of definitions; of `last` all tools are
/// kept that are still the same.
pub fn source(spec: &Spec, json: &str, last: Option<&Arc<Source>>) -> (Arc<Source>, Vec<Warning>) {
    #[derive(Deserialize)]
    struct Named<'a> {
        #[serde(borrow)]
        name: Option<&'a RawValue>,
    }
    let text: Arc<str> = json.into();
    let entries: Vec<&RawValue> = serde_json::from_str(&text).unwrap_or_default();
    let serves = spec.serves();
    let served = entries.iter().map(|entry| entry.get()).filter(|entry| {
        let name = serde_json::from_str::<Named<'_>>(entry).ok().and_then(|named| decode_string(named.name?.get()));
        name.is_none_or(|name| serves(&name))
    });
    let mut info = SourceInfo::new(&spec.name, Kind::Mcp, Origin::Server);
    info.parallel = spec.parallel;
    let (source, problems) = Source::reread(info, &text, served, last.map(|last| &**last));
    let source = last.filter(|last| last.is_same(&source)).cloned().unwrap_or_else(|| Arc::new(source));
    let told = problems.into_iter().filter(|problem| problem.code != "tool-no-schema");
    (source, told.map(|problem| Warning { code: problem.code, message: problem.message }).collect())
}
