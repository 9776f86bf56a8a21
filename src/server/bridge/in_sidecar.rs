//! A call of a tool that an MCP server has: approved by the host, made by the sidecar, answered as the server answers.

use serde_json::value::to_raw_value;
use serde_json::{Map, Value};

use super::{
    Call, Content, Current, Problem, Ready, Refused, Session, Sight, check, checker, failed, hints, interrupted,
    refuse_problem,
};
use crate::protocol::errors::RpcError;
use crate::protocol::host::ApproveParams;
use crate::protocol::lifecycle::{Progress, ProgressParams, ProgressToken};
use crate::protocol::work::BridgeResult;
use crate::server::approval::approval;
use crate::servers::answer::Answer;
use crate::servers::{self, Attached};

/// Runs a tool whose gates have been passed.
pub(super) async fn run(
    call: &Call<Session>,
    current: &Current,
    sight: &Sight,
    ready: Ready,
    call_id: Option<String>,
    progress: Option<ProgressToken>,
) -> Result<BridgeResult, RpcError> {
    let tool = sight.catalog.tool(ready.id).clone();
    let source = &sight.catalog.source_of(ready.id).info.name;
    let server = current.servers.iter().find(|server| server.name == *source).and_then(|server| server.attached());
    let Some(server) = server else {
        return Ok(BridgeResult::Content(failed(&tool.name, "its server is not configured any more")));
    };
    let approves = call.session.opened().await?.host.approve;
    let ready = if approves {
        tokio::select! {
            approved = approved(call, sight, ready, call_id) => match approved {
                Ok(ready) => ready,
                Err(refused) => return Ok(BridgeResult::Content(refused)),
            },
            // Nothing was done yet.
            () = call.cancel.cancelled() => return Err(RpcError::cancelled()),
        }
    } else {
        ready
    };
    let answer = tokio::select! {
        answer = ask(call, server, &tool.tool, ready.arguments, progress) => answer,
        // It may have had its effect: the model must not take the call for one that was never made.
        () = call.cancel.cancelled() => return Ok(BridgeResult::Content(interrupted(&tool.name))),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(why) => return Ok(BridgeResult::Content(Content { coerced: ready.coerced, ..failed(&tool.name, &why) })),
    };
    let limit = current.config.settings.max_result_bytes as usize;
    let folder = call.session.process.servers.cache_folder().cloned();
    let answer = answer.within(limit, folder).await;
    let answer = answer.ok_or_else(|| RpcError::internal("the answer of a server cannot be cut"))?;
    let Answer { content, structured, meta, is_error, whole } = answer;
    let raw = |value: &Value| to_raw_value(value).map_err(|error| RpcError::internal(error.to_string()));
    let content = raw(&Value::Array(content))?;
    Ok(BridgeResult::Content(Content {
        is_error,
        structured_content: structured.as_ref().map(raw).transpose()?,
        meta: meta.as_ref().map(raw).transpose()?,
        output_file: whole.map(|path| path.display().to_string()),
        coerced: ready.coerced,
        ..Content::of(content)
    }))
}

/// Calls the tool, and passes on what the server says of its progress.
async fn ask(
    call: &Call<Session>,
    server: &Attached,
    tool: &str,
    arguments: Map<String, Value>,
    token: Option<ProgressToken>,
) -> Result<Answer, String> {
    let token = token.filter(|_| call.session.opened_now().is_some_and(|opened| opened.host.progress));
    let tell = |progress: servers::Progress| {
        if let Some(token) = &token {
            let servers::Progress { progress, total, message } = progress;
            let message = message.unwrap_or_default();
            let value = Progress { kind: "report", message, progress: Some(progress), total };
            call.peer.notify("$/progress", ProgressParams { token: token.clone(), value });
        }
    };
    server.call(tool, arguments, tell).await
}

/// Asks the host. What it changed in the arguments passes the gates again.
async fn approved(
    call: &Call<Session>,
    sight: &Sight,
    ready: Ready,
    call_id: Option<String>,
) -> Result<Ready, Refused> {
    let tool = sight.catalog.tool(ready.id);
    let hints = hints(tool);
    let asked = ApproveParams {
        name: tool.name.to_string(),
        arguments: Value::Object(ready.arguments.clone()),
        toolset: Some(sight.catalog.source_of(ready.id).toolset.to_string()),
        call_id,
        index: Some(0),
        read_only: hints.read_only,
        destructive: hints.destructive,
    };
    match approval(&call.peer, asked).await {
        Ok(None) => Ok(ready),
        Ok(Some(arguments)) => check(tool, &*checker(call, tool).await, ready.id, arguments, ready.coerced),
        Err(why) => {
            let problem = Problem::new(format!("`{}` was not invoked: {why}", tool.name));
            Err(refuse_problem(problem.with("code", "DENIED".into())))
        }
    }
}
