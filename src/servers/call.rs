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
use tokio::time::Instant;

use super::answer::Answer;
use super::http;
use super::large::{self, LARGE};
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
    /// It wants somebody to sign in first: nothing was done.
    Unauthorized,
    /// It could not be asked.
    Unreachable {
        /// What a person is to be told.
        why: String,
        /// Whether it is there, but has forgotten its session: nothing was done.
        forgotten: bool,
    },
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
    let mut news = News { last: f64::NEG_INFINITY, told: None, waiting: None };
    let answer = loop {
        let Some(handle) = &mut pending.handle else { return Err(Failed::Ended) };
        let next = news.next();
        tokio::select! {
            biased;
            // News without end are to hold up neither.
            () = &mut deadline => return Err(too_long(spec.call_timeout)),
            answer = &mut handle.rx => break answer,
            () = tokio::time::sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                news.tell(&on_progress);
            }
            Some(progress) = progress.recv() => news.hear(progress, &on_progress),
        }
    };
    // What was said before the answer is told before it.
    while let Ok(progress) = progress.try_recv() {
        news.hear(progress, &on_progress);
    }
    news.tell(&on_progress);
    if let Some(handle) = pending.handle.take() {
        waiting.forget(&handle.progress_token);
    }
    match answer {
        Ok(Ok(result)) if large::exceeds(&result, LARGE) => match large::in_turn(move || read(result)).await {
            Some(answer) => answer.map_err(Failed::Told),
            None => Err(Failed::Told("its answer cannot be read".to_owned())),
        },
        Ok(Ok(result)) => read(result).map_err(Failed::Told),
        Ok(Err(error)) => Err(why(spec, error)),
        Err(_) => Err(Failed::Ended),
    }
}

/// The news of a call: told forwards only, and at most one in [`BETWEEN`], the last one always.
struct News {
    last: f64,
    /// When some was told.
    told: Option<Instant>,
    waiting: Option<Progress>,
}

/// Time from one piece of news to the next.
const BETWEEN: Duration = Duration::from_millis(50);

impl News {
    fn hear(&mut self, news: Progress, on_progress: impl Fn(Progress)) {
        // The SDK passes news on in any order; progress that went back would be none.
        if news.progress > self.last {
            self.last = news.progress;
            self.waiting = Some(news);
        }
        if self.told.is_none_or(|told| told.elapsed() >= BETWEEN) {
            self.tell(on_progress);
        }
    }

    /// When what waits is to be told.
    fn next(&self) -> Option<Instant> {
        self.waiting.as_ref()?;
        self.told.map(|told| told + BETWEEN)
    }

    fn tell(&mut self, on_progress: impl Fn(Progress)) {
        if let Some(news) = self.waiting.take() {
            self.told = Some(Instant::now());
            on_progress(news);
        }
    }
}

fn too_long(limit: Duration) -> Failed {
    Failed::Told(format!("there was no answer within {} s; it may have taken effect", limit.as_secs_f64()))
}

/// Characters of a server's error that a model is told.
const LONGEST_ERROR: usize = 2000;

fn why(spec: &Spec, error: ServiceError) -> Failed {
    Failed::Told(match error {
        ServiceError::McpError(error) => {
            let data = error.data.map(|data| format!(" ({data})")).unwrap_or_default();
            spec.shown_within(&format!("{}{data}", error.message), LONGEST_ERROR)
        }
        ServiceError::TransportClosed => return Failed::Ended,
        ServiceError::TransportSend(error) if http::is_unauthorized(&error) => return Failed::Unauthorized,
        ServiceError::TransportSend(error) if http::is_forgotten(&error) || http::is_gone(&error) => {
            let why = spec.shown(&http::why(&error));
            return Failed::Unreachable { why, forgotten: http::is_forgotten(&error) };
        }
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test]
    async fn progress_is_told_now_and_then_and_never_backwards() {
        let told = RefCell::new(Vec::new());
        let tell = |news: Progress| told.borrow_mut().push(news.progress);
        let mut news = News { last: f64::NEG_INFINITY, told: None, waiting: None };
        for step in [1, 3, 2, 4] {
            news.hear(Progress { progress: f64::from(step), total: None, message: None }, tell);
        }
        assert_eq!((told.borrow()[0], news.last), (1.0, 4.0), "the first at once");
        if let Some(next) = news.next() {
            tokio::time::sleep_until(next).await;
        }
        news.tell(tell);
        let told = told.into_inner();
        assert!(told.is_sorted() && told.last() == Some(&4.0) && news.next().is_none(), "{told:?}");
    }
}
