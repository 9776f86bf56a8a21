//! What the model does with the bridge: `bridge/call`, `bridge/resolve`, `bridge/plan`.

mod in_sidecar;
mod remote;
mod results;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::connections::manage;
use super::current::{Current, off_thread, scope};
use super::servers::Configured;
use super::session::Session;
use crate::call::connections::{self as asked, Action, Wanted};
use crate::call::envelope::{self, Entry};
use crate::call::plan::{Access, stages};
use crate::call::{Checker, Problem, arguments, suggest};
use crate::catalog::describe::Elsewhere;
use crate::catalog::json_text::push_compact;
use crate::catalog::scope::Scope;
use crate::catalog::source::{Origin, Tool};
use crate::catalog::view::View;
use crate::catalog::{Catalog, Named, ToolId, connections, describe, names, search};
use crate::protocol::errors::RpcError;
use crate::protocol::host::{InvokeParams, InvokeResult};
use crate::protocol::work::{
    BridgeParams, BridgeResult, Content, Dispatch, Hints, PlanParams, PlanResult, PlannedCall, PlannedHints,
    ResolveResult, ResolvedCall,
};
use crate::rpc::Call;

/// A catalog under a scope, as one request sees it.
struct Sight {
    catalog: Arc<Catalog>,
    view: Arc<View>,
    servers: Arc<Vec<Configured>>,
}

impl Sight {
    async fn new(current: &Current, scope: Scope, tools: Option<Box<RawValue>>) -> Result<Self, RpcError> {
        let (catalog, _) = current.with_inline(tools).await?;
        let view = match catalog.kept_view(&scope) {
            Some(view) => view,
            None => {
                let catalog = catalog.clone();
                off_thread(move || catalog.view(&scope)).await?
            }
        };
        Ok(Self { catalog, view, servers: current.servers.clone() })
    }

    /// What the model is told of a name that is no tool now, where a configured server that does not answer may have it
    /// and the scope grants it.
    fn withheld(&self, name: &str) -> Option<Problem> {
        let scope = &self.view.scope;
        let granted = |server: &&Configured| {
            let toolset = server.source.as_ref().map_or(&*server.name, |source| &*source.toolset);
            scope.grants_toolset(toolset, &server.name) && (!scope.names_tools() || scope.grants_tool(name))
        };
        let withheld = self.servers.iter().filter(granted).find_map(|server| Some((server, server.withholds(name)?)));
        let (configured, why) = withheld?;
        let server = &configured.name;
        let shown: String = name.chars().take(128).collect();
        let error = format!("`{shown}` cannot be used now: the MCP server `{server}` {why}. Nothing was invoked.");
        let problem = Problem::new(error).with("code", "SERVER_UNAVAILABLE".into());
        Some(problem.with("server", server.clone().into()).with("state", configured.state().into()))
    }
}

/// What a bridge call asks for.
enum Asked {
    Search(Option<Value>),
    Describe(Option<Value>),
    Call(Called),
    /// What `manage_connections` is to do.
    Manage(Result<Wanted, Problem>),
}

/// How a tool is called.
enum Called {
    /// By `tool_call`: one or several.
    Bridged(Result<Vec<Entry>, Problem>),
    /// By its own name.
    Directly(ToolId, Result<Entry, Problem>),
}

impl Asked {
    /// `Err` is the host's mistake: the name is no bridge tool, nor one in scope that is deferred (CALL-13) or an attached
    /// server's.
    fn read(sight: &Sight, name: &str, given: Option<Box<RawValue>>) -> Result<Self, RpcError> {
        let direct = direct(sight, name);
        let given = match given.map(|given| serde_json::from_str(given.get())).transpose() {
            Ok(given) => given,
            // The host passed on what the model wrote: numbers no type holds, half a surrogate, endless nesting.
            Err(error) if direct.is_some() || names::is_bridge(name) => {
                return Ok(Self::unreadable(&error));
            }
            Err(_) => None,
        };
        match (name, direct) {
            ("tool_search", _) => Ok(Self::Search(given)),
            ("tool_describe", _) => Ok(Self::Describe(given)),
            ("tool_call", _) => Ok(Self::Call(Called::Bridged(envelope::parse(given)))),
            (connections::NAME, _) if sight.view.manages => {
                Ok(Self::Manage(arguments::object(given).and_then(|given| asked::read(&given))))
            }
            (_, Some(id)) => {
                let entry = direct_entry(name, given, sight.view.deferred.contains(id));
                Ok(Self::Call(Called::Directly(id, entry)))
            }
            (_, None) => {
                if let Some(problem) = sight.withheld(name) {
                    return Ok(Self::Call(Called::Bridged(Err(problem))));
                }
                let shown: String = name.chars().take(128).collect();
                let message = format!("`{shown}` is no bridge tool and no deferred tool in scope: run it yourself");
                Err(RpcError::invalid_params("/name", message))
            }
        }
    }
}

impl Asked {
    fn unreadable(error: &serde_json::Error) -> Self {
        let problem = format!("Nothing was invoked: `arguments` cannot be read ({error}).");
        Self::Call(Called::Bridged(Err(Problem::new(problem))))
    }
}

/// What a tool is called with by its own name; of a deferred one that is told (CALL-13).
fn direct_entry(name: &str, given: Option<Value>, is_deferred: bool) -> Result<Entry, Problem> {
    let given = arguments::object(given);
    let given = given.map_err(|problem| Problem::new(format!("Nothing was invoked: {}", problem.error)));
    let told = is_deferred.then(|| format!("`{name}` was called directly: taken as a tool_call of it"));
    let repairs = told.into_iter().collect();
    given.map(|arguments| Entry { name: name.to_owned(), arguments, flattened: Map::new(), repairs })
}

impl Called {
    /// The one tool that a call names, with what it is called with.
    fn target(self, sight: &Sight) -> Result<(ToolId, Entry), Refused> {
        match self {
            Self::Directly(id, entry) => Ok((id, entry.map_err(refuse_problem)?)),
            Self::Bridged(entries) => {
                let entry = one(entries.map_err(refuse_problem)?)?;
                Ok((deferred(sight, &entry.name)?, entry))
            }
        }
    }
}

/// The tool that a model calls by its own name, though its host has nothing to run under it: one that is deferred, or an
/// attached server's that is not.
fn direct(sight: &Sight, name: &str) -> Option<ToolId> {
    match sight.catalog.resolve(name, &sight.view) {
        Named::Deferred(id) => Some(id),
        Named::Visible(id) if is_servers(sight, id) => Some(id),
        _ => None,
    }
}

/// A call that may be made.
struct Ready {
    id: ToolId,
    arguments: Map<String, Value>,
    coerced: Vec<String>,
}

/// An answer to a mistake of the model.
type Refused = Content;

fn content(json: String, is_error: bool) -> Result<BridgeResult, RpcError> {
    let content = RawValue::from_string(json).map_err(|error| RpcError::internal(error.to_string()))?;
    Ok(BridgeResult::Content(Content { is_error, ..Content::of(content) }))
}

fn refuse(problem: impl Serialize) -> Refused {
    let content = to_raw_value(&problem).unwrap_or_default();
    Content { is_error: true, ..Content::of(content) }
}

fn refuse_problem(problem: Problem) -> Refused {
    refuse(problem.into_object())
}

pub async fn call(call: Call<Session>, params: BridgeParams) -> Result<BridgeResult, RpcError> {
    let _timer = call.session.metrics.time("bridge/call", call.ticket.arrived);
    let current = call.session.current(&call, params.progress_token.as_ref()).await?;
    let sight = Sight::new(&current, scope(params.scope)?, params.tools).await?;
    match remote::read(&call, &current, &sight, &params.name, params.arguments).await? {
        Asked::Search(given) => search(&call, &current, sight, given).await,
        Asked::Describe(given) => describe(&call, &current, &sight, given).await,
        Asked::Manage(Err(problem)) => Ok(BridgeResult::Content(refuse_problem(problem))),
        Asked::Manage(Ok(wanted)) => {
            let answer = manage(&call, &current, &sight.view.scope, wanted, params.call_id).await?;
            Ok(BridgeResult::Content(match answer {
                Ok(answer) => {
                    let json = to_raw_value(&answer).map_err(|error| RpcError::internal(error.to_string()))?;
                    Content::of(json)
                }
                Err(problem) => refuse_problem(problem),
            }))
        }
        Asked::Call(called) => {
            if let Some(account) = remote::account_for(&call, &current, &sight, &called).await?
                && let Called::Bridged(Ok(entries)) = &called
                && let Some(result) = remote::run(&call, &sight, &account, &current, entries, &params.call_id).await?
            {
                return Ok(result);
            }
            match ready(&call, &sight, called).await {
                Err(refused) => Ok(BridgeResult::Content(refused)),
                Ok(_) if call.cancel.is_cancelled() => Err(RpcError::cancelled()),
                Ok(ready) if is_servers(&sight, ready.id) => {
                    in_sidecar::run(&call, &current, &sight, ready, params.call_id, params.progress_token).await
                }
                Ok(ready) => run(&call, &sight, ready, params.call_id).await,
            }
        }
    }
}

async fn search(
    call: &Call<Session>,
    current: &Current,
    sight: Sight,
    given: Option<Value>,
) -> Result<BridgeResult, RpcError> {
    let asked = arguments::object(given)
        .and_then(|given| arguments::queries(&given).map(|queries| (queries, arguments::limit(&given))));
    let (queries, limit) = match asked {
        Ok(asked) => asked,
        Err(problem) => return Ok(BridgeResult::Content(refuse_problem(problem))),
    };
    // Below one is as one, and what is out of range is clamped where settings are known.
    let limit = limit.map(|limit| limit.clamp(1, i64::from(u32::MAX)) as u32);
    let sight = match remote::search(call, current, sight, &queries).await? {
        remote::Searched::Local(sight) => sight,
        remote::Searched::Failed(sight, failure) => {
            let told = current.signing.told(&failure);
            let answer = move || remote::answer_without(&sight, &queries, limit, told);
            return content(off_thread(answer).await?, false);
        }
        remote::Searched::Found(sight, found) => {
            let answer = move || remote::answer_with(&sight, &found, &queries, limit);
            return content(off_thread(answer).await?, false);
        }
    };
    let answer = move |Sight { catalog, view, .. }: Sight| {
        let groups: Vec<_> = queries.iter().map(|query| search::run(&catalog, &view, query, limit)).collect();
        search::answer(&catalog, &view, &groups, &view.unavailable(&catalog))
    };
    let json = if sight.catalog.is_search_ready(&sight.view) {
        answer(sight)
    } else {
        off_thread(move || answer(sight)).await?
    };
    content(json, false)
}

async fn describe(
    call: &Call<Session>,
    current: &Current,
    sight: &Sight,
    given: Option<Value>,
) -> Result<BridgeResult, RpcError> {
    match arguments::object(given).and_then(|given| arguments::names(&given)) {
        Ok(names) => {
            let mut elsewhere = remote::describe(call, current, sight, &names).await?;
            for name in &names {
                if let Some(problem) = sight.withheld(name.trim()) {
                    elsewhere.entry(name.clone()).or_insert(Elsewhere::Error(problem.error));
                }
            }
            let answer = describe::answer_with(&sight.catalog, &sight.view, &names, |name| elsewhere.get(name));
            content(answer, false)
        }
        Err(problem) => Ok(BridgeResult::Content(refuse_problem(problem))),
    }
}

/// What checks the arguments of a tool.
async fn checker(call: &Call<Session>, tool: &Tool) -> Arc<Checker> {
    match tool.schema() {
        Some(schema) => call.session.process.checkers.of(schema).await,
        None => Arc::new(Checker::compile("{}")),
    }
}

/// Whether a tool is one of an attached server, which the sidecar calls itself.
fn is_servers(sight: &Sight, id: ToolId) -> bool {
    sight.catalog.source_of(id).info.origin == Origin::Server
}

/// The gates of a call: what it names, then what its arguments lack, then repair and validation.
async fn ready(call: &Call<Session>, sight: &Sight, called: Called) -> Result<Ready, Refused> {
    let (id, mut entry) = called.target(sight)?;
    let tool = sight.catalog.tool(id);
    let checker = checker(call, tool).await;
    entry.unflatten(|name| checker.declares(name));
    check(tool, &checker, id, entry.arguments, entry.repairs)
}

/// CALL-7 to CALL-9: repairs and validates arguments. `coerced` is what was repaired before.
fn check(
    tool: &Tool,
    checker: &Checker,
    id: ToolId,
    arguments: Map<String, Value>,
    mut coerced: Vec<String>,
) -> Result<Ready, Refused> {
    let checked = checker.check(arguments);
    if !checked.verdict.passes() {
        let parameters = tool.schema().and_then(compact);
        if let Some(refusal) = checked.verdict.refusal(&tool.name, parameters.as_deref()) {
            return Err(refuse(refusal));
        }
    }
    coerced.extend(checked.coerced);
    Ok(Ready { id, arguments: checked.arguments, coerced })
}

/// A schema without the white space that a model would pay for.
fn compact(schema: &str) -> Option<Box<RawValue>> {
    let mut out = String::with_capacity(schema.len());
    push_compact(schema, &mut out);
    RawValue::from_string(out).ok()
}

/// The one local entry of a call.
fn one(mut entries: Vec<Entry>) -> Result<Entry, Refused> {
    if entries.len() == 1 {
        return Ok(entries.remove(0));
    }
    let name = entries.first().map_or("", |entry| &entry.name);
    Err(refuse_problem(unknown(name)))
}

fn unknown(name: &str) -> Problem {
    let shown: String = name.chars().take(128).collect();
    Problem::new(format!("`{shown}` is no tool here; nothing was invoked. Find its name with tool_search."))
}

/// CALL-3, CALL-4, CALL-5: the deferred tool that a name means, or what to answer.
fn deferred(sight: &Sight, name: &str) -> Result<ToolId, Refused> {
    match sight.catalog.resolve(name, &sight.view) {
        Named::Deferred(id) => Ok(id),
        Named::Bridge => Err(refuse_problem(Problem::new(format!(
            "`{name}` is a bridge tool and cannot be called through the bridge; nothing was invoked. Call it directly."
        )))),
        Named::Core | Named::Visible(_) => {
            let directly = sight.catalog.called_directly(name, &sight.view);
            Err(refuse_problem(Problem::new(format!("Nothing was invoked: {directly}"))))
        }
        Named::Unknown => {
            if let Some(problem) = sight.withheld(name) {
                return Err(refuse_problem(problem));
            }
            let Sight { catalog, view, .. } = sight;
            let several = catalog.ambiguous(name, view);
            if !several.is_empty() {
                let shown: String = name.chars().take(128).collect();
                let names: Vec<&str> = several.iter().map(|id| &*catalog.tool(*id).name).collect();
                let problem = format!(
                    "`{shown}` is the name of {} tools here; nothing was invoked. Call one by its whole name.",
                    names.len()
                );
                let first: Vec<&str> = names.into_iter().take(suggest::MAX_SUGGESTIONS).collect();
                return Err(refuse_problem(Problem::new(problem).with("suggestions", first.into())));
            }
            let candidates = (0..catalog.sources.len()).filter(|source| view.counts[*source] > 0).flat_map(|source| {
                let label = catalog.sources[source].info.name.as_str();
                view.deferred_of(catalog, source).map(move |(_, tool)| (&*tool.name, names::bare(&tool.tool, label)))
            });
            let near = suggest::nearest(name, candidates);
            let mut problem = unknown(name);
            if !near.is_empty() {
                problem = problem.with("suggestions", near.into());
            }
            Err(refuse_problem(problem))
        }
    }
}

/// Runs a tool where it lives.
async fn run(
    call: &Call<Session>,
    sight: &Sight,
    ready: Ready,
    call_id: Option<String>,
) -> Result<BridgeResult, RpcError> {
    let tool = sight.catalog.tool(ready.id);
    let source = sight.catalog.source_of(ready.id);
    let invokes = call.session.opened().await?.host.invoke;
    if !invokes {
        return Ok(BridgeResult::Dispatch {
            dispatch: Dispatch {
                name: tool.name.to_string(),
                tool: tool.tool.to_string(),
                arguments: Value::Object(ready.arguments),
                toolset: source.toolset.to_string(),
                source: source.info.name.clone(),
                coerced: ready.coerced,
                parallel_safe: source.info.parallel,
            },
        });
    }
    let asked = InvokeParams {
        name: tool.name.to_string(),
        tool: tool.tool.to_string(),
        arguments: Value::Object(ready.arguments),
        toolset: source.toolset.to_string(),
        source: source.info.name.clone(),
        call_id,
    };
    let answer = tokio::select! {
        answer = call.peer.request("host/invoke", asked) => answer,
        // The tool may have had its effect: the model must not take the call for one that was never made.
        () = call.cancel.cancelled() => {
            return Ok(BridgeResult::Content(interrupted(&tool.name)));
        }
    };
    Ok(BridgeResult::Content(match answer.map(|answer| serde_json::from_str::<InvokeResult>(answer.get())) {
        Ok(Ok(result)) => Content { is_error: result.is_error, coerced: ready.coerced, ..Content::of(result.content) },
        Ok(Err(_)) => failed(&tool.name, "the host's answer is not `{content, isError?}`"),
        Err(error) => failed(&tool.name, &error.to_string()),
    }))
}

fn interrupted(tool: &str) -> Content {
    let error = format!("`{tool}` was interrupted while it ran; it may have taken effect.");
    refuse_problem(Problem::new(error).with("code", "INTERRUPTED".into()))
}

fn failed(tool: &str, reason: &str) -> Content {
    refuse_problem(Problem::new(format!("`{tool}` failed: {reason}")))
}

pub async fn resolve(call: Call<Session>, params: BridgeParams) -> Result<ResolveResult, RpcError> {
    let _timer = call.session.metrics.time("bridge/resolve", call.ticket.arrived);
    let current = call.session.current(&call, params.progress_token.as_ref()).await?;
    let sight = Sight::new(&current, scope(params.scope)?, params.tools).await?;
    let resolved = match remote::read(&call, &current, &sight, &params.name, params.arguments).await? {
        Asked::Search(_) | Asked::Describe(_) => {
            return Ok(ResolveResult { calls: Vec::new(), read_only: true, error: None });
        }
        Asked::Manage(wanted) => {
            let read_only = wanted.as_ref().is_ok_and(|wanted| wanted.action == Action::Status);
            let error = wanted.err().map(|problem| problem.error);
            return Ok(ResolveResult { calls: Vec::new(), read_only: read_only || error.is_some(), error });
        }
        Asked::Call(called) => {
            if remote::account_for(&call, &current, &sight, &called).await?.is_some()
                && let Called::Bridged(Ok(entries)) = &called
            {
                return Ok(remote::resolve(&sight, entries));
            }
            called.target(&sight).map(|(id, _)| id)
        }
    };
    Ok(match resolved {
        Ok(id) => {
            let resolved = resolved_call(&sight, id);
            let read_only = resolved.hints.read_only == Some(true);
            ResolveResult { calls: vec![resolved], read_only, error: None }
        }
        Err(refused) => {
            let error: Value = serde_json::from_str(refused.content.get()).unwrap_or_default();
            let error = error.get("error").and_then(Value::as_str).unwrap_or_default().to_owned();
            ResolveResult { calls: Vec::new(), read_only: true, error: Some(error) }
        }
    })
}

fn resolved_call(sight: &Sight, id: ToolId) -> ResolvedCall {
    let tool = sight.catalog.tool(id);
    let source = sight.catalog.source_of(id);
    ResolvedCall {
        name: tool.name.to_string(),
        tool: tool.tool.to_string(),
        toolset: source.toolset.to_string(),
        source: source.info.name.clone(),
        runs_in: if is_servers(sight, id) { "sidecar" } else { "host" },
        parallel_safe: source.info.parallel,
        hints: hints(tool),
    }
}

/// What a tool's definition says of its effects.
fn hints(tool: &Tool) -> Hints {
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Annotations {
        read_only_hint: Option<bool>,
        destructive_hint: Option<bool>,
    }
    #[derive(Default, Deserialize)]
    struct Annotated {
        annotations: Option<Annotations>,
    }
    let annotated: Annotated = serde_json::from_str(tool.raw()).unwrap_or_default();
    let Annotations { read_only_hint, destructive_hint } = annotated.annotations.unwrap_or_default();
    Hints { read_only: read_only_hint, destructive: destructive_hint }
}

pub async fn plan(call: Call<Session>, params: PlanParams) -> Result<PlanResult, RpcError> {
    let _timer = call.session.metrics.time("bridge/plan", call.ticket.arrived);
    let current = call.session.current(&call, None).await?;
    let sight = Sight::new(&current, scope(params.scope)?, params.tools).await?;
    let mut told = Vec::new();
    let calls = params.calls.into_iter().map(|PlannedCall { id, name, arguments }| {
        let (access, tool) = access(&sight, &name, arguments);
        let hints = tool.map(|tool| hints(sight.catalog.tool(tool))).unwrap_or_default();
        if hints != Hints::default() {
            told.push(PlannedHints { id: id.clone(), hints });
        }
        (id, access)
    });
    Ok(PlanResult { stages: stages(calls), hints: told })
}

/// PLAN-1: whether a call of the model may run beside others, and the tool that it means.
fn access(sight: &Sight, name: &str, given: Option<Box<RawValue>>) -> (Access, Option<ToolId>) {
    let parallel = |id: ToolId| {
        let access = if sight.catalog.source_of(id).info.parallel { Access::Parallel } else { Access::Alone };
        (access, Some(id))
    };
    match Asked::read(sight, name, given) {
        Ok(Asked::Search(_) | Asked::Describe(_)) => (Access::ReadOnly, None),
        Ok(Asked::Manage(_)) => (Access::Alone, None),
        Ok(Asked::Call(called)) => called.target(sight).map_or((Access::Alone, None), |(id, _)| parallel(id)),
        // A visible tool, which the model calls itself.
        Err(_) => match sight.catalog.find(name).filter(|id| sight.view.visible.contains(id)) {
            Some(id) => parallel(id),
            None => (Access::Alone, None),
        },
    }
}
