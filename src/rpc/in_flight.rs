//! The requests that wait for their handlers. One table under one lock.
//!
//! Whoever takes an id out answers it, which makes it one answer. Requests whose handler is ready at its first poll
//! are never in here: they are answered before the reader looks at the next message.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::batch::Reply;
use super::lock;
use super::table::Cancel;
use crate::protocol::errors::RpcError;

pub(super) struct InFlight {
    state: Mutex<State>,
    /// The last task ended.
    idle: Condvar,
    limit: usize,
}

#[derive(Default)]
struct State {
    live: HashMap<Arc<str>, Request>,
    /// Spawned and not ended; more than `live` while cancelled futures are being dropped.
    tasks: usize,
    closed: bool,
}

pub(super) struct Request {
    /// Tells a request from a later one under the same id.
    pub seq: u64,
    pub cancel: Cancel,
    pub token: CancellationToken,
    pub reply: Reply,
}

impl InFlight {
    pub fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), idle: Condvar::new(), limit }
    }

    /// Whether a request with this id may begin. Only the reader adds requests, so a yes stays true until it does.
    pub fn admit(&self, id: &str) -> Result<(), RpcError> {
        let state = lock(&self.state);
        if state.live.contains_key(id) {
            return Err(RpcError::invalid_request("a request with this id is in flight"));
        }
        if state.live.len() >= self.limit {
            return Err(RpcError::overloaded(self.limit));
        }
        Ok(())
    }

    /// Adds a request and its task; `None` if the connection has ended.
    pub fn add(self: &Arc<Self>, id: Arc<str>, request: Request) -> Option<Task> {
        let mut state = lock(&self.state);
        if state.closed {
            return None;
        }
        state.live.insert(id, request);
        state.tasks += 1;
        Some(Task(self.clone()))
    }

    /// Takes out the request that is to be answered now.
    pub fn take(&self, id: &str, seq: u64) -> Option<Reply> {
        let mut state = lock(&self.state);
        if state.live.get(id)?.seq != seq {
            return None;
        }
        state.live.remove(id).map(|request| request.reply)
    }

    /// Cancels a request. Of one whose future is dropped, the place of its answer.
    pub fn cancel(&self, id: &str) -> Option<Reply> {
        let mut state = lock(&self.state);
        let request = state.live.get(id)?;
        let token = request.token.clone();
        let reply = match request.cancel {
            Cancel::Drop => state.live.remove(id).map(|request| request.reply),
            Cancel::Cooperative => None,
        };
        drop(state);
        // Outside the lock: it wakes tasks.
        token.cancel();
        reply
    }

    pub fn is_closed(&self) -> bool {
        lock(&self.state).closed
    }

    /// Cancels all and takes no more. Returns those to be answered, in order of arrival.
    pub fn close(&self) -> Vec<(Arc<str>, Reply)> {
        let mut state = lock(&self.state);
        state.closed = true;
        let mut tokens: Vec<_> = state.live.values().map(|request| request.token.clone()).collect();
        let mut dropped: Vec<_> = state.live.extract_if(|_, request| request.cancel == Cancel::Drop).collect();
        drop(state);
        tokens.drain(..).for_each(|token| token.cancel());
        dropped.sort_unstable_by_key(|(_, request)| request.seq);
        dropped.into_iter().map(|(id, request)| (id, request.reply)).collect()
    }

    /// Waits until every task has ended, or it is `deadline`.
    pub fn wait_idle(&self, deadline: Instant) {
        let mut state = lock(&self.state);
        while state.tasks > 0 {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return };
            state = self.idle.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Counts a spawned task until it is dropped, however it ends.
pub(super) struct Task(Arc<InFlight>);

impl Drop for Task {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.tasks -= 1;
        if state.tasks == 0 {
            self.0.idle.notify_all();
        }
    }
}
