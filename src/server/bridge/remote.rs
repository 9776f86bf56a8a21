//! The bridge's remote half: searches, descriptions and calls that a connector gateway answers.
//!
//! Where connectors are off, or the gateway has nothing for this account, all of it is as if it did not exist.

mod batch;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::results::EntryError;
use super::{Asked, Call, Called, Current, Entry, Named, Session, Sight, direct_entry};
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
use crate::protocol::work::{Hints, ResolveResult, ResolvedCall};
use crate::server::connectors::account;

pub(super) use batch::run;

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
