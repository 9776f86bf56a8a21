//! `registry/*`.

use std::sync::Arc;

use super::current::{off_thread, rejected, scope};
use super::servers::Configured;
use super::session::Session;
use crate::catalog::found_by;
use crate::catalog::source::{Kind, Problem, Source};
use crate::protocol::errors::RpcError;
use crate::protocol::registry::{
    ListParams, ListResult, ListedSource, ListedTool, RegisterParams, RegisterResult, Rejected, UnregisterParams,
    UnregisterResult,
};
use crate::rpc::Call;

pub async fn register(call: Call<Session>, raw: Box<serde_json::value::RawValue>) -> Result<RegisterResult, RpcError> {
    let session = &*call.session;
    let _timer = session.metrics.time("registry/register", call.ticket.arrived);
    call.ticket.before.done().await;
    session.opened().await?;
    let params: RegisterParams = crate::rpc::params::parse(Some(raw.get()))?;
    if params.source.name.trim().is_empty() {
        return Err(RpcError::invalid_params("/source/name", "the source needs a name that is not blank"));
    }
    if params.source.kind == Kind::Connectors {
        return Err(RpcError::invalid_params(
            "/source/kind",
            "`connectors` are the gateway's: use core, mcp, plugin or unknown",
        ));
    }
    let info = params.source.info();
    let name = info.name.clone();
    let text: Arc<str> = params.tools.get().into();
    if !text.starts_with('[') {
        return Err(RpcError::invalid_params("/tools", "`tools` must be an array of tool definitions"));
    }
    let (source, problems, unused) = off_thread(move || {
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap_or_default();
        let (source, problems) = Source::read(info, &text, entries.into_iter().map(|entry| entry.get()));
        let unused = found_by::unused(&source);
        (source, problems, unused)
    })
    .await?;
    let accepted = source.tools.len();
    {
        let mut registrations = session.registrations();
        registrations.sources.insert(name.clone(), Arc::new(source));
        registrations.revision += 1;
    }
    end_turn(&call);
    let current = session.current(&call, None).await?;
    let (refused, odd): (Vec<Problem>, Vec<Problem>) = problems.into_iter().partition(|problem| problem.refused);
    let lost = current.catalog.collisions.iter().filter(|lost| lost.source == name);
    let unused = unused.into_iter().map(|reason| Rejected { name: name.clone(), reason });
    let lost: Vec<Rejected> = lost.map(|lost| Rejected { name: lost.tool.clone(), reason: lost.to_string() }).collect();
    Ok(RegisterResult {
        revision: current.revision,
        accepted: accepted - lost.len().min(accepted),
        rejected: rejected(&refused).into_iter().chain(lost).collect(),
        warnings: rejected(&odd).into_iter().chain(unused).collect(),
    })
}

pub async fn unregister(
    call: Call<Session>,
    raw: Box<serde_json::value::RawValue>,
) -> Result<UnregisterResult, RpcError> {
    let session = &*call.session;
    let _timer = session.metrics.time("registry/unregister", call.ticket.arrived);
    call.ticket.before.done().await;
    session.opened().await?;
    let params: UnregisterParams = crate::rpc::params::parse(Some(raw.get()))?;
    let removed = {
        let mut registrations = session.registrations();
        let removed = registrations.sources.remove(&params.source).is_some();
        registrations.revision += u64::from(removed);
        removed
    };
    end_turn(&call);
    Ok(UnregisterResult { revision: session.current(&call, None).await?.revision, removed })
}

/// Lets the requests behind this registration go on: it has taken effect. One that fails does so when it is dropped.
fn end_turn(call: &Call<Session>) {
    if let Some(turn) = &call.ticket.turn {
        turn.end();
    }
}

pub async fn list(call: Call<Session>, params: ListParams) -> Result<ListResult, RpcError> {
    let _timer = call.session.metrics.time("registry/list", call.ticket.arrived);
    let current = call.session.current(&call, None).await?;
    let catalog = &current.catalog;
    let scope = scope(params.scope)?;
    let view = catalog.view(&scope);
    let sources = catalog.sources.iter().enumerate().filter_map(|(index, source)| {
        let tools = catalog.tools_of(index).filter(|(id, tool)| {
            !catalog.is_refused(*id)
                && scope.grants_toolset(&source.toolset, &source.info.name)
                && scope.grants_tool(&tool.name)
        });
        let tools: Vec<ListedTool> = tools
            .map(|(id, tool)| ListedTool {
                name: tool.name.to_string(),
                tool: tool.tool.to_string(),
                deferred: view.deferred.contains(id),
            })
            .collect();
        let is_down = source.unavailable.is_some() && scope.grants_toolset(&source.toolset, &source.info.name);
        (scope.is_all() || is_down || !tools.is_empty()).then(|| ListedSource {
            name: source.info.name.clone(),
            kind: source.info.kind,
            label: source.info.name.clone(),
            toolset: source.toolset.to_string(),
            origin: source.info.origin.as_str(),
            state: current.servers.iter().find(|server| server.serves(source)).map_or("ready", Configured::state),
            tool_count: tools.len(),
            tools: params.tools.then_some(tools),
        })
    });
    Ok(ListResult { revision: current.revision, sources: sources.collect() })
}
