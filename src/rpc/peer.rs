//! The other direction: requests and notifications from the sidecar to its host.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::connection::End;
use super::lock;
use super::outgoing::Outgoing;
use crate::protocol::errors::{RpcError, code};

/// Ids are strings with this before a number, so that none looks like an id of the host's.
const ID_PREFIX: &str = "toolscout:";

/// A handle on the host at the other end. Clones are the same host.
#[derive(Clone)]
pub struct Peer(Arc<Shared>);

struct Shared {
    outgoing: Arc<Outgoing>,
    next: AtomicU64,
    pending: Mutex<Pending>,
    end: Sender<End>,
}

#[derive(Default)]
struct Pending {
    waiting: HashMap<u64, oneshot::Sender<Outcome>>,
    closed: Option<End>,
}

type Outcome = Result<Box<RawValue>, PeerError>;

/// Why a request to the host has no result.
#[derive(Debug, Clone, PartialEq)]
pub enum PeerError {
    /// The host answered with an error.
    Rejected(RpcError),
    /// The host's answer was larger than `maxMessageBytes`.
    TooLarge,
    /// The host's answer has no form; why.
    Malformed(String),
    /// The connection ended first, in this way.
    Closed(End),
    /// The parameters have no form in JSON.
    Params(String),
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Its code is for programs; models read this.
            Self::Rejected(error) => f.write_str(&error.message),
            Self::Malformed(reason) => write!(f, "the host's answer cannot be read: {reason}"),
            Self::TooLarge => f.write_str("the host's answer is too large"),
            Self::Closed(end) => write!(f, "the connection to the host ended: {end}"),
            Self::Params(problem) => write!(f, "the parameters have no form in JSON: {problem}"),
        }
    }
}

impl std::error::Error for PeerError {}

#[derive(Serialize)]
struct Outgoer<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    method: &'a str,
    params: P,
}

impl Peer {
    pub(super) fn new(outgoing: Arc<Outgoing>, end: Sender<End>) -> Self {
        Self(Arc::new(Shared { outgoing, next: AtomicU64::new(1), pending: Mutex::default(), end }))
    }

    /// Asks the host. Dropping the future before it is ready sends the host `$/cancelRequest`.
    ///
    /// # Errors
    /// See [`PeerError`].
    pub async fn request(&self, method: &str, params: impl Serialize) -> Result<Box<RawValue>, PeerError> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("{ID_PREFIX}{number}");
        let body = serde_json::to_vec(&Outgoer { jsonrpc: "2.0", id: Some(&id), method, params })
            .map_err(|error| PeerError::Params(error.to_string()))?;
        let (sender, receiver) = oneshot::channel();
        {
            let mut pending = lock(&self.0.pending);
            if let Some(end) = pending.closed {
                return Err(PeerError::Closed(end));
            }
            pending.waiting.insert(number, sender);
        }
        let _cancel = CancelOnDrop { peer: self, number, id: &id };
        self.0.outgoing.push(body);
        // The sender goes with an outcome, always.
        receiver.await.unwrap_or(Err(PeerError::Closed(End::Closed)))
    }

    /// Tells the host. Lost without a word if the connection has ended.
    pub fn notify(&self, method: &str, params: impl Serialize) {
        match serde_json::to_vec(&Outgoer { jsonrpc: "2.0", id: None, method, params }) {
            Ok(body) => self.0.outgoing.push(body),
            Err(problem) => tracing::error!(method, %problem, "a notification has no form in JSON"),
        }
    }

    /// Ends the connection from this side, with [`End::Closed`].
    pub fn close(&self) {
        // Nobody listens once the connection has ended.
        let _ = self.0.end.send(End::Closed);
    }

    /// Hands an answer of the host to who waits for it. `id` is raw JSON.
    pub(super) fn answer(&self, id: &str, outcome: Result<&RawValue, &RawValue>) {
        let outcome = outcome.map(ToOwned::to_owned).map_err(|error| PeerError::Rejected(rejection(error)));
        if !self.settle(id, outcome) {
            tracing::debug!(id, "ignored an answer that nobody waits for");
        }
    }

    /// The host's answer to this id cannot be had.
    pub(super) fn answer_failed(&self, id: &str, why: PeerError) {
        tracing::warn!(id, %why, "an answer of the host's is of no use");
        self.settle(id, Err(why));
    }

    fn settle(&self, id: &str, outcome: Outcome) -> bool {
        let waiting = number(id).and_then(|number| lock(&self.0.pending).waiting.remove(&number));
        let found = waiting.is_some();
        if let Some(waiting) = waiting {
            // Who gave up meanwhile needs no answer.
            let _ = waiting.send(outcome);
        }
        found
    }

    /// Fails what waits, and what will be asked from now on.
    pub(super) fn fail_all(&self, end: End) {
        let waiting = {
            let mut pending = lock(&self.0.pending);
            pending.closed = Some(end);
            std::mem::take(&mut pending.waiting)
        };
        for (_, sender) in waiting {
            let _ = sender.send(Err(PeerError::Closed(end)));
        }
    }
}

/// Whether an id, raw JSON, is of the form of our requests' ids.
pub(super) fn is_ours(id: &str) -> bool {
    number(id).is_some()
}

fn number(id: &str) -> Option<u64> {
    serde_json::from_str::<String>(id).ok()?.strip_prefix(ID_PREFIX)?.parse().ok()
}

/// The host's error object, read leniently: a host that errs in its form still said no.
fn rejection(raw: &RawValue) -> RpcError {
    #[derive(Deserialize)]
    struct Error {
        code: i32,
        #[serde(default)]
        message: String,
        data: Option<Value>,
    }
    match serde_json::from_str::<Error>(raw.get()) {
        Ok(Error { code, message, data }) => RpcError { code, message, data },
        Err(_) => RpcError::new(code::INTERNAL_ERROR, "an error without a code").with("error", raw.get()),
    }
}

struct CancelOnDrop<'a> {
    peer: &'a Peer,
    number: u64,
    id: &'a str,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        #[derive(Serialize)]
        struct CancelParams<'a> {
            id: &'a str,
        }
        let abandoned = lock(&self.peer.0.pending).waiting.remove(&self.number).is_some();
        if abandoned {
            self.peer.notify("$/cancelRequest", CancelParams { id: self.id });
        }
    }
}
