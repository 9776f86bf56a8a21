//! `search/explain`, `config/get`, `status`: for people and for those who look after the process.

use std::sync::atomic::Ordering;
use std::time::Instant;

use super::current::{off_thread, scope};
use super::servers::{Configured, Standing};
use super::session::Session;
use crate::catalog::definition::Format;
use crate::catalog::explain::Explanation;
use crate::catalog::scope::Scope;
use crate::catalog::tokens::Quarters;
use crate::catalog::{Catalog, explain as explaining, search};
use crate::protocol::errors::RpcError;
use crate::protocol::lifecycle::NoParams;
use crate::protocol::work::{ConfigResult, ExplainParams, Probe, SourceStatus, StatusResult, Watching};
use crate::rpc::Call;
use crate::workspace::effective::effective;
use crate::workspace::watcher::Mode;

pub async fn explain(call: Call<Session>, params: ExplainParams) -> Result<Explanation, RpcError> {
    let _timer = call.session.metrics.time("search/explain", call.ticket.arrived);
    let current = call.session.current(&call, None).await?;
    if params.query.trim().is_empty() {
        return Err(RpcError::invalid_params("/query", "`query` must be a text that is not blank"));
    }
    let (catalog, _) = current.with_inline(params.tools).await?;
    let scope = scope(params.scope)?;
    off_thread(move || explaining::explain(&catalog, &catalog.view(&scope), &params.query, params.limit)).await
}

pub async fn config(call: Call<Session>, _: NoParams) -> Result<ConfigResult, RpcError> {
    let _timer = call.session.metrics.time("config/get", call.ticket.arrived);
    let shown = effective(&call.session.current(&call, None).await?.config);
    serde_json::from_value(shown).map_err(|error| RpcError::internal(error.to_string()))
}

pub async fn status(call: Call<Session>, _: NoParams) -> Result<StatusResult, RpcError> {
    let _timer = call.session.metrics.time("status", call.ticket.arrived);
    let session = &*call.session;
    let current = session.current(&call, None).await?;
    let catalog = current.catalog.clone();
    let probe = off_thread(move || probe(&catalog)).await?;
    let loader = &session.opened().await?.loader;
    let (mode, reason) = match loader.mode() {
        Mode::Native => ("native", None),
        Mode::Poll(reason) => ("poll", Some(reason)),
    };
    let served = |index| current.catalog.tools_of(index).filter(|(id, _)| !current.catalog.is_refused(*id)).count();
    let mut sources: Vec<SourceStatus> = Vec::new();
    for (index, source) in current.catalog.sources.iter().enumerate() {
        let plain = SourceStatus {
            name: source.info.name.clone(),
            origin: source.info.origin.as_str(),
            tool_count: served(index),
            ..SourceStatus::ready()
        };
        let server = current.servers.iter().find(|server| server.serves(source));
        sources.push(match server {
            Some(server) => with_server(server, plain),
            None => plain,
        });
    }
    for server in current.servers.iter().filter(|server| server.source.is_none()) {
        sources.push(with_server(server, SourceStatus { name: server.name.clone(), ..SourceStatus::ready() }));
    }
    Ok(StatusResult {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        uptime_ms: session.process.started.elapsed().as_millis() as u64,
        revision: current.revision,
        sources,
        watching: Watching {
            mode,
            reason,
            paths: current.snapshot.paths.iter().map(|path| path.display().to_string()).collect(),
        },
        stale: loader.is_stale(),
        degraded: current.snapshot.degraded,
        untrusted: current.config.untrusted.iter().map(|waiting| waiting.key.clone()).collect(),
        connections: session.process.connections.load(Ordering::Relaxed),
        counters: session.metrics.counters(),
        latencies: session.metrics.latencies(),
        probe,
    })
}

/// The status of a source that is an MCP server.
fn with_server(server: &Configured, status: SourceStatus) -> SourceStatus {
    let status = SourceStatus { state: server.state(), last_error: server.last_error(), ..status };
    let Standing::Attached(attached, view) = &server.standing else { return status };
    let tools = view.source.iter().flat_map(|source| &source.tools);
    let tokens: Quarters = tools.map(|tool| tool.quarters(Format::OpenAi)).sum();
    SourceStatus {
        started_in_ms: view.started_in.map(|took| took.as_millis() as u64),
        tokens: Some(tokens.tokens()),
        stderr: attached.stderr(),
        ..status
    }
}

/// Looks for the first deferred tool by its name: an index that lives finds it.
fn probe(catalog: &Catalog) -> Probe {
    let view = catalog.view(&Scope::all());
    let first = (0..catalog.len() as u32).find(|id| view.deferred.contains(*id));
    let start = Instant::now();
    let name = first.map_or("probe", |id| &*catalog.tool(id).name);
    let found = search::run(catalog, &view, name, Some(1));
    let ok = first.is_none_or(|id| found.matches.first() == Some(&id));
    Probe { ok, micros: start.elapsed().as_micros() as u64 }
}
