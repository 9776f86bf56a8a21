//! `initialize`: who is asking, where files are, what the host can be asked.

use std::sync::Arc;

use super::current::{path_of, send_progress};
use super::host_process;
use super::session::{Opened, ServerAsking, Session};
use crate::protocol::VERSION;
use crate::protocol::errors::{RpcError, code};
use crate::protocol::lifecycle::{FileDiagnostics, InitializeParams, InitializeResult, ServerCapabilities, ServerInfo};
use crate::rpc::Call;
use crate::workspace::layers::ConfigLayer;

pub async fn initialize(call: Call<Session>, params: InitializeParams) -> Result<InitializeResult, RpcError> {
    let _timer = call.session.metrics.time("initialize", call.ticket.arrived);
    if let Some(asked) = &params.protocol_version
        && asked.split('.').next() != VERSION.split('.').next()
    {
        let message = format!("protocol version {asked} is not spoken here");
        return Err(RpcError::new(code::INVALID_PARAMS, message)
            .with("pointer", "/protocolVersion")
            .with("supported", vec![VERSION]));
    }
    let options = &call.session.process.options;
    let mut places = options.places.clone();
    places.workspace = places
        .workspace
        .or_else(|| params.workspace.as_deref().map(|path| path_of(path).to_owned()))
        .or_else(|| params.cwd.as_deref().map(|path| path_of(path).to_owned()))
        .or_else(|| options.working_directory.clone());
    let opened = Opened {
        asking: Arc::new(ServerAsking {
            environment: params.environment.unwrap_or_else(|| options.environment.clone()),
            folder: places.workspace.clone(),
        }),
        places: places.clone(),
        loader: call.session.process.loader(places).map_err(|error| RpcError::internal(error.to_string()))?,
        layers: ConfigLayer::of_initialize(params.settings.as_ref(), params.core.as_ref()),
        trusted: options.trust_workspace || params.trusted.unwrap_or(false),
        host: params.capabilities,
    };
    let progress = params.progress_token.as_ref().filter(|_| params.capabilities.progress);
    if let Some(token) = progress {
        send_progress(&call, token, "begin", "reading registries");
    }
    let snapshot = opened.loader.fresh().await;
    let snapshot = snapshot.ok_or_else(|| RpcError::internal("the files of the workspace did not answer"))?;
    let current = call.session.build(&opened, snapshot, &call.peer).await?;
    if let Some(token) = progress {
        send_progress(&call, token, "end", "registries are read");
    }
    if let Some(process) = params.process_id {
        host_process::end_with(process, call.peer.clone());
    }
    let diagnostics: Vec<FileDiagnostics> = call.session.unpublished(&current);
    let news = opened.loader.subscribe();
    call.session.open(opened);
    call.session.follow(news, call.peer.clone());
    Ok(InitializeResult {
        protocol_version: VERSION,
        server_info: ServerInfo { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") },
        capabilities: ServerCapabilities {
            formats: vec!["openai", "openai-responses", "anthropic", "mcp"],
            progress: true,
        },
        diagnostics,
    })
}
