//! The bridge's remote half: searches, descriptions and calls that a connector gateway answers.
//!
//! Where connectors are off, or the gateway has nothing for this account, all of it is as if it did not exist.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::results::{EntryError, Outcome, Results, Slot};
use super::{Asked, Call, Called, Checker, Content, Current, Entry, Named, Session, Sight, compact, direct_entry};
use crate::call::envelope::CONNECTOR_PREFIX;
use crate::catalog::describe::Elsewhere;
use crate::catalog::inline::Derived;
use crate::catalog::remote::{RemoteTool, with_remote};
use crate::catalog::search::{self, with_remote_status};
use crate::catalog::source::Origin;
use crate::connectors::gateway::{Found, NOT_FOUND, Schema};
use crate::connectors::name::TOOLSET;
use crate::connectors::{Account, Failure, Remote};
use crate::protocol::errors::RpcError;
use crate::protocol::host::ApproveParams;
use crate::protocol::work::{BridgeResult, Hints, ResolveResult, ResolvedCall};
use crate::server::approval::approval;
use crate::server::connectors::{Signing, account};

/// Characters of a query that count (SEARCH-10).
const MAX_QUERY: usize = 1000;

/// As [`Asked::read`], where a remote tool may be called by its own name too (CALL-13).
pub(super) async fn read(
    call: &Call<Session>,
    current: &Current,
    sight: &Sight,
    name: &str,
    given: Option<Box<RawValue>>,
) -> Result<Asked, RpcError> {
    if is_remote(sight, name)
        && Remote::parse(name).is_some_and(|remote| grants(sight, &remote))
        && account(call, current, &sight.view.scope).await?.is_some()
    {
        return Ok(match given.map(|given| serde_json::from_str(given.get())).transpose() {
            Ok(given) => {
                let entry = direct_entry(name, given, true);
                Asked::Call(Called::Bridged(entry.map(|entry| vec![entry])))
            }
            Err(error) => Asked::unreadable(&error),
        });
    }
    Asked::read(sight, name, given)
}

/// Whether a name is one of a remote tool's, and of no tool here.
fn is_remote(sight: &Sight, name: &str) -> bool {
    name.starts_with(CONNECTOR_PREFIX) && sight.catalog.resolve(name, &sight.view) == Named::Unknown
}

fn grants(sight: &Sight, remote: &Remote) -> bool {
    sight.view.scope.grants_remote(&remote.connector, &remote.to_string())
}

/// What a search found beside the local tools.
pub(super) enum Searched {
    /// There is no gateway to ask.
    Local(Sight),
    /// It was asked in vain.
    Failed(Sight, Failure),
    /// Its hits that are in scope.
    Found(Sight, Found),
}

/// Sends every query to the gateway.
pub(super) async fn search(
    call: &Call<Session>,
    current: &Current,
    sight: Sight,
    queries: &[String],
) -> Result<Searched, RpcError> {
    let Some(account) = account(call, current, &sight.view.scope).await? else { return Ok(Searched::Local(sight)) };
    // SEARCH-10: what does not count is not sent either.
    let queries: Vec<String> = queries.iter().map(|query| query.chars().take(MAX_QUERY).collect()).collect();
    let found = tokio::select! {
        found = account.search(&queries) => found,
        () = call.cancel.cancelled() => return Err(RpcError::cancelled()),
    };
    Ok(match found {
        Ok(found) => Searched::Found(sight, found),
        Err(Failure::Dark) => Searched::Local(sight),
        Err(failure) => Searched::Failed(sight, failure),
    })
}

/// The answer with local tools alone, and why.
pub(super) fn answer_without(
    sight: &Sight,
    queries: &[String],
    limit: Option<u32>,
    (status, message): (&str, String),
) -> String {
    let Sight { catalog, view, .. } = sight;
    let groups: Vec<_> = queries.iter().map(|query| search::run(catalog, view, query, limit)).collect();
    with_remote_status(search::answer(catalog, view, &groups, &view.unavailable(catalog)), status, &message)
}

/// CONN-2: the answer with both, each query ranked among the local tools and its own hits.
pub(super) fn answer_with(sight: &Sight, found: &Found, queries: &[String], limit: Option<u32>) -> String {
    let names: Vec<String> = found.tools.iter().map(|tool| tool.remote.to_string()).collect();
    let granted: Vec<bool> = found.tools.iter().map(|tool| grants(sight, &tool.remote)).collect();
    let tools = found.tools.iter().zip(&names).zip(&granted).filter(|(_, granted)| **granted);
    let tools: Vec<RemoteTool<'_>> = tools
        .map(|((tool, name), _)| RemoteTool {
            name,
            slug: &tool.slug,
            description: &tool.description,
            parameters: tool.parameters.get(),
        })
        .collect();
    let derived: Option<Arc<Derived>> = (!tools.is_empty()).then(|| with_remote(&sight.catalog, tools));
    let (catalog, view) = match &derived {
        Some(derived) => (&derived.catalog, derived.catalog.view(&sight.view.scope)),
        None => (&sight.catalog, sight.view.clone()),
    };
    let id = |at: usize| {
        let id = catalog.find(&names[at]).filter(|_| granted[at])?;
        (catalog.source_of(id).info.origin == Origin::Gateway).then_some(id)
    };
    let groups = queries.iter().enumerate().map(|(at, query)| {
        let own = found.groups.get(at).map(Vec::as_slice).unwrap_or_default();
        let others: Vec<_> = (0..names.len()).filter(|tool| !own.contains(tool)).filter_map(id).collect();
        if others.is_empty() {
            return search::run(catalog, &view, query, limit);
        }
        search::run(catalog, &view.hiding(catalog, others), query, limit)
    });
    let groups: Vec<_> = groups.collect();
    search::answer(catalog, &view, &groups, &view.unavailable(catalog))
}

/// CONN-9: what the gateway knows of the names that are not known here, asked once for all.
pub(super) async fn describe(
    call: &Call<Session>,
    current: &Current,
    sight: &Sight,
    names: &[String],
) -> Result<BTreeMap<String, Elsewhere>, RpcError> {
    let remotes = names.iter().filter(|name| is_remote(sight, name));
    let remotes = remotes.filter_map(|name| Some((name, Remote::parse(name)?)));
    let remotes: Vec<(&String, Remote)> = remotes.filter(|(_, remote)| grants(sight, remote)).collect();
    if remotes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let Some(account) = account(call, current, &sight.view.scope).await? else { return Ok(BTreeMap::new()) };
    let mut slugs: Vec<String> = Vec::new();
    for slug in remotes.iter().flat_map(|(_, remote)| [remote.prefixed(), remote.literal().to_owned()]) {
        if !slugs.contains(&slug) {
            slugs.push(slug);
        }
    }
    let schemas = tokio::select! {
        schemas = account.schemas(&slugs) => schemas,
        () = call.cancel.cancelled() => return Err(RpcError::cancelled()),
    };
    let schemas = match schemas {
        Ok(schemas) => schemas,
        Err(Failure::Dark) => return Ok(BTreeMap::new()),
        Err(failure) => {
            let why = current.signing.told(&failure).1;
            return Ok(remotes.into_iter().map(|(name, _)| (name.clone(), Elsewhere::Error(why.clone()))).collect());
        }
    };
    let known = remotes.into_iter().filter_map(|(name, remote)| {
        let schema = schema_of(&remote, &schemas)?;
        account.describe_as(&remote, schema);
        let (description, parameters) = (schema.description.clone(), schema.parameters.clone());
        Some((name.clone(), Elsewhere::Tool { name: remote.to_string(), description, parameters }))
    });
    Ok(known.collect())
}

/// Of the two that a name may mean, the prefixed one wins. A slug of another connector's is none of this one's.
fn schema_of<'a>(remote: &Remote, schemas: &'a HashMap<String, Schema>) -> Option<&'a Schema> {
    let slugs = [remote.prefixed(), remote.literal().to_owned()];
    let mut known = slugs.iter().filter_map(|slug| schemas.get(slug));
    known.find(|schema| schema.remote.connector == remote.connector)
}

/// The account that the entries of a call go to, if they are for one.
pub(super) async fn account_for(
    call: &Call<Session>,
    current: &Current,
    sight: &Sight,
    called: &Called,
) -> Result<Option<Arc<Account>>, RpcError> {
    let Called::Bridged(Ok(entries)) = called else { return Ok(None) };
    // One local entry is one that the catalog knows; several are never local (CALL-2).
    let remote = match entries.as_slice() {
        [one] => is_remote(sight, &one.name),
        several => several.iter().all(|entry| entry.name.starts_with(CONNECTOR_PREFIX)),
    };
    if remote { account(call, current, &sight.view.scope).await } else { Ok(None) }
}

/// What a call would run.
pub(super) fn resolve(sight: &Sight, entries: &[Entry]) -> ResolveResult {
    let remotes = entries.iter().filter_map(|entry| Remote::parse(&entry.name));
    let calls = remotes.filter(|remote| grants(sight, remote)).map(|remote| ResolvedCall {
        name: remote.to_string(),
        tool: remote.prefixed(),
        toolset: remote.toolset(),
        source: TOOLSET.to_owned(),
        runs_in: "gateway",
        parallel_safe: false,
        hints: Hints::default(),
    });
    let calls: Vec<ResolvedCall> = calls.collect();
    let error = calls.is_empty().then(|| unknown(entries.first().map_or("", |entry| &entry.name)).message);
    ResolveResult { read_only: calls.is_empty(), calls, error }
}

/// CALL-4: what does not exist and what is out of scope are told in the same words.
fn unknown(name: &str) -> EntryError {
    let shown: String = name.chars().take(128).collect();
    EntryError::new(
        NOT_FOUND,
        format!("`{shown}` is no tool here; nothing was invoked. Find its name with tool_search."),
    )
}

fn interrupted() -> EntryError {
    EntryError::new("INTERRUPTED", "It was not sent: the call was interrupted before.")
}

/// CONN-4: runs a batch entry by entry. `None` where the gateway turned out to serve nothing to this account, before
/// anything was done.
pub(super) async fn run(
    call: &Call<Session>,
    sight: &Sight,
    account: &Account,
    current: &Current,
    entries: &[Entry],
    call_id: &Option<String>,
) -> Result<Option<BridgeResult>, RpcError> {
    let mut batch =
        Batch { call, sight, account, signing: &current.signing, call_id, sent: false, coerced: Vec::new() };
    let mut results = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let outcome = match batch.entry(index, entry, entries.len() > 1).await? {
            Ok(data) => Outcome::Response(data),
            Err(Stopped::Dark) if !batch.sent => return Ok(None),
            Err(Stopped::Dark) => Outcome::Error(unknown(&entry.name)),
            Err(Stopped::Error(error)) => Outcome::Error(*error),
        };
        results.push(Slot { index, name: entry.name.clone(), outcome, cut: None });
    }
    if call.cancel.is_cancelled() && !batch.sent {
        // Nothing was done, so there is nothing to tell.
        return Err(RpcError::cancelled());
    }
    let limit = current.config.settings.max_result_bytes as usize;
    let cut = Results::new(results).within(limit, call.session.process.servers.cache_folder().cloned()).await;
    let (results, whole) = cut.ok_or_else(|| RpcError::internal("the answer of the gateway cannot be cut"))?;
    let content = to_raw_value(&results).map_err(|error| RpcError::internal(error.to_string()))?;
    Ok(Some(BridgeResult::Content(Content {
        is_error: results.is_error(),
        output_file: whole.map(|path| path.display().to_string()),
        coerced: batch.coerced,
        ..Content::of(content)
    })))
}

/// Why an entry has no response.
enum Stopped {
    /// The gateway serves nothing to this account.
    Dark,
    Error(Box<EntryError>),
}

impl From<EntryError> for Stopped {
    fn from(error: EntryError) -> Self {
        Self::Error(Box::new(error))
    }
}

impl From<Box<EntryError>> for Stopped {
    fn from(error: Box<EntryError>) -> Self {
        Self::Error(error)
    }
}

/// A call on its way.
struct Batch<'a> {
    call: &'a Call<Session>,
    sight: &'a Sight,
    account: &'a Account,
    signing: &'a Signing,
    call_id: &'a Option<String>,
    /// Whether the gateway took an entry, whatever became of it.
    sent: bool,
    coerced: Vec<String>,
}

impl Batch<'_> {
    async fn entry(
        &mut self,
        index: usize,
        entry: &Entry,
        several: bool,
    ) -> Result<Result<Box<RawValue>, Stopped>, RpcError> {
        if self.call.cancel.is_cancelled() {
            return Ok(Err(interrupted().into()));
        }
        let Some(remote) = Remote::parse(&entry.name).filter(|remote| grants(self.sight, remote)) else {
            return Ok(Err(unknown(&entry.name).into()));
        };
        match self.account.resting() {
            None => {}
            Some(Failure::Dark) => return Ok(Err(Stopped::Dark)),
            Some(failure) => return Ok(Err(error_of(failure, &remote, self.signing).into())),
        }
        let (mut entry, mut repairs) = (entry.clone(), Vec::new());
        if let Err(error) = self.probe(&remote, &mut entry, &mut repairs).await {
            return Ok(Err(error.into()));
        }
        if self.call.session.opened().await?.host.approve {
            let asked = tokio::select! {
                asked = self.approved(index, &remote, &entry.arguments) => asked,
                () = self.call.cancel.cancelled() => Err(Box::new(interrupted())),
            };
            match asked {
                Err(error) => return Ok(Err(error.into())),
                Ok(None) => {}
                Ok(Some(arguments)) => {
                    entry.arguments = arguments;
                    if let Err(error) = self.probe(&remote, &mut entry, &mut repairs).await {
                        return Ok(Err(error.into()));
                    }
                }
            }
        }
        let whose = |repair: String| if several { format!("calls[{index}]: {repair}") } else { repair };
        self.coerced.extend(entry.repairs.iter().cloned().chain(repairs).map(whose));
        // Not dropped when the call is cancelled: what is sent is answered.
        let answer = self.account.execute(&remote, &entry.arguments).await;
        self.sent |= !matches!(answer, Err(Failure::Dark | Failure::SignedOut));
        Ok(match answer {
            Ok(data) => Ok(data),
            Err(Failure::Dark) => Err(Stopped::Dark),
            Err(failure) => Err(error_of(failure, &remote, self.signing).into()),
        })
    }

    /// CALL-7, CALL-8 and CALL-12, where the schema is known already. What else it may not fit is the gateway's to say.
    async fn probe(
        &self,
        remote: &Remote,
        entry: &mut Entry,
        repairs: &mut Vec<String>,
    ) -> Result<(), Box<EntryError>> {
        let name = remote.to_string();
        let Some(schema) = self.account.known_schema(&name) else { return Ok(()) };
        let checker: Arc<Checker> = self.call.session.process.checkers.of(&schema).await;
        entry.unflatten(|member| checker.declares(member));
        let checked = checker.check(std::mem::take(&mut entry.arguments));
        entry.arguments = checked.arguments;
        repairs.extend(checked.coerced);
        let parameters = compact(&schema);
        match checked.verdict.refusal(&name, parameters.as_deref()) {
            Some(refusal) if !refusal.missing.is_empty() => {
                let missing = refusal.missing.to_vec();
                let error = EntryError::new("INVALID_ARGUMENTS", refusal.error);
                Err(Box::new(EntryError { missing, parameters, ..error }))
            }
            _ => Ok(()),
        }
    }

    /// Asks the host, if it is to be asked; arguments that it wants instead.
    async fn approved(
        &self,
        index: usize,
        remote: &Remote,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, Box<EntryError>> {
        let asked = ApproveParams {
            name: remote.to_string(),
            arguments: Value::Object(arguments.clone()),
            toolset: Some(remote.toolset()),
            call_id: self.call_id.clone(),
            index: Some(index),
            read_only: None,
            destructive: None,
        };
        let denied = |why| Box::new(EntryError::new("DENIED", format!("`{remote}` was not invoked: {why}")));
        approval(&self.call.peer, asked).await.map_err(denied)
    }
}

fn error_of(failure: Failure, remote: &Remote, signing: &Signing) -> EntryError {
    match failure {
        Failure::Dark => unknown(&remote.to_string()),
        Failure::Refused(refusal) if refusal.code == NOT_FOUND => unknown(&remote.to_string()),
        Failure::Refused(mut refusal) => {
            if refusal.code.starts_with("CONNECTION_") {
                refusal.connector.get_or_insert_with(|| remote.connector.clone());
                refusal.hint.get_or_insert_with(|| {
                    let action = if refusal.code == "CONNECTION_EXPIRED" { "reconnect" } else { "connect" };
                    format!(
                        "manage_connections {{\"action\": \"{action}\", \"connectors\": [\"{}\"]}}",
                        remote.connector
                    )
                });
            }
            refusal.into()
        }
        Failure::SignedOut => EntryError::new("SIGNED_OUT", signing.told(&failure).1),
        Failure::Unavailable(_) => EntryError::new("GATEWAY_ERROR", signing.told(&failure).1),
    }
}
