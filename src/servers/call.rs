//! A call of a tool, made by the server that has it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ProgressNotificationParam, ProgressToken, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::answer::Answer;
use super::http;
use super::spec::Spec;

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What is done, in the server's own measure.
    pub progress: f64,
    /// What there is to do, if it is known.
    pub total: Option<f64>,
    /// What is going on.
    pub message: Option<String>,
}

/// Who waits for news of which call.
#[derive(Default)]
pub struct Waiting(Mutex<Listeners>);

#[derive(Default)]
struct Listeners {
    by_call: HashMap<ProgressToken, mpsc::Sender<Progress>>,
    /// News of calls that nobody has asked about yet: a server may be faster than who called it.
    early: VecDeque<(ProgressToken, Progress)>,
}

/// News kept for who does not take them at once, and of calls that nobody asks about; more is dropped.
const NEWS: usize = 64;

impl Waiting {
    /// Passes on what a server said.
    pub fn tell(&self, params: ProgressNotificationParam) {
        let progress = Progress { progress: params.progress, total: params.total, message: params.message };
        let mut listeners = self.listeners();
        match listeners.by_call.get(&params.progress_token) {
            Some(listener) => drop(listener.try_send(progress)),
            None => {
                listeners.early.push_back((params.progress_token, progress));
                if listeners.early.len() > NEWS {
                    listeners.early.pop_front();
                }
            }
        }
    }

    /// News of a call, from its beginning on.
    fn listen(&self, call: &ProgressToken) -> mpsc::Receiver<Progress> {
        let (news, listening) = mpsc::channel(NEWS);
        let mut listeners = self.listeners();
        for (_, progress) in listeners.early.iter().filter(|(early, _)| early == call) {
            let _ = news.try_send(progress.clone());
        }
        listeners.early.retain(|(early, _)| early != call);
        listeners.by_call.insert(call.clone(), news);
        listening
    }

    fn forget(&self, call: &ProgressToken) {
        self.listeners().by_call.remove(call);
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that the server is told of if nobody waits for its answer any more.
struct Pending {
    handle: Option<RequestHandle<RoleClient>>,
    waiting: Arc<Waiting>,
    runtime: Handle,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        self.waiting.forget(&handle.progress_token);
        self.runtime.spawn(async move { handle.cancel(Some("nobody waits for the answer".to_owned())).await });
    }
}

/// Why a call has no answer.
pub enum Failed {
    /// What the model is to be told.
    Told(String),
    /// The server ended meanwhile.
    Ended,
}

/// Calls a tool. Dropping the future tells the server that nobody waits any more.
///
/// # Errors
/// See [`Failed`].
pub async fn call(
    spec: &Spec,
    peer: &Peer<RoleClient>,
    waiting: &Arc<Waiting>,
    runtime: &Handle,
    tool: &str,
    arguments: Map<String, Value>,
    on_progress: impl Fn(Progress),
) -> Result<Answer, Failed> {
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let request = CallToolRequest::new(params);
    let request = ClientRequest::CallToolRequest(request);
    let handle = peer.send_cancellable_request(request, PeerRequestOptions::no_options());
    let deadline = tokio::time::sleep(spec.call_timeout);
    tokio::pin!(deadline);
    // A server that reads nothing takes no request either.
    let handle = tokio::select! {
        handle = handle => handle.map_err(|_| Failed::Told("the server has just ended; it was not called".to_owned()))?,
        () = &mut deadline => return Err(too_long(spec.call_timeout)),
    };
    let mut progress = waiting.listen(&handle.progress_token);
    let mut pending = Pending { handle: Some(handle), waiting: waiting.clone(), runtime: runtime.clone() };
    let mut last = f64::NEG_INFINITY;
    let answer = loop {
        let Some(handle) = &mut pending.handle else { return Err(Failed::Ended) };
        tokio::select! {
            biased;
            // The SDK passes news on in any order; progress that went back would be none.
            Some(news) = progress.recv() => {
                if news.progress > last {
                    last = news.progress;
                    on_progress(news);
                }
            }
            answer = &mut handle.rx => break answer,
            () = &mut deadline => return Err(too_long(spec.call_timeout)),
        }
    };
    if let Some(handle) = pending.handle.take() {
        waiting.forget(&handle.progress_token);
    }
    match answer {
        Ok(Ok(result)) => read(result).map_err(Failed::Told),
        Ok(Err(error)) => Err(why(spec, error)),
        Err(_) => Err(Failed::Ended),
    }
}

fn too_long(limit: Duration) -> Failed {
    Failed::Told(format!("there was no answer within {} s; it may have taken effect", limit.as_secs_f64()))
}

fn why(spec: &Spec, error: ServiceError) -> Failed {
    Failed::Told(match error {
        ServiceError::McpError(error) => spec.shown(&error.message),
        ServiceError::TransportClosed => return Failed::Ended,
        ServiceError::TransportSend(error) => {
            spec.shown(&format!("the server cannot be reached: {}", http::why(&error)))
        }
        other => spec.shown(&other.to_string()),
    })
}

fn read(result: ServerResult) -> Result<Answer, String> {
    // As it came: what this SDK does not know of it goes on all the same.
    let result = match result {
        ServerResult::InputRequiredResult(_) => {
            return Err("the server wants to ask the user something, which cannot be done from here".to_owned());
        }
        ServerResult::CreateTaskResult(_) => {
            return Err("the server answered with a task instead of a result".to_owned());
        }
        ServerResult::CustomResult(result) => Ok(result.0),
        result => serde_json::to_value(result),
    };
    let Ok(Value::Object(mut result)) = result else {
        return Err("the server's answer is no result of a tool".to_owned());
    };
    let content = match result.remove("content") {
        Some(Value::Array(content)) => content,
        None => Vec::new(),
        Some(other) => vec![other],
    };
    Ok(Answer {
        content,
        structured: result.remove("structuredContent"),
        meta: result.remove("_meta"),
        is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
        whole: None,
    })
}
