//! Which handler serves which method. Built once, shared by all connections.
//!
//! The table itself is jsonrpsee's; no other module sees it. Its async callbacks alone are used: a panic in one of
//! its sync methods ends the process, and one in a blocking method answers with id null. A panic here answers -32603.
//!
//! Two things do not take jsonrpsee's way. Its `Id` holds u64 and strings only, so the raw id travels in the
//! extensions. And its `MethodResponse::response` validates the text it has just written from end to end, ten times
//! the cost of the copy for a large answer; so an answer is rendered here, once, and travels in the extensions too.

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use jsonrpsee::types::{ErrorObjectOwned, Id, Params};
use jsonrpsee::{ConnectionId, Extensions, MethodCallback, MethodResponse, RpcModule};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::nearest::nearest;
use super::params;
use super::peer::Peer;
use crate::protocol::errors::RpcError;

/// What a connection asks of the session it serves. All of it runs on the reader, in order of arrival, so it must
/// neither block nor take long.
pub trait Session: Send + Sync + 'static {
    /// What [`Session::arrive`] hands to the handler.
    type Ticket: Clone + Send + Sync + 'static;

    /// The connection is up; comes before the first message. `peer` may be kept.
    fn opened(&self, peer: &Peer) {
        let _ = peer;
    }

    /// Whether the session takes this method now. The error is a request's answer; a notification is dropped.
    ///
    /// # Errors
    /// What the host is to be told.
    fn gate(&self, method: &str) -> Result<(), RpcError> {
        let _ = method;
        Ok(())
    }

    /// Whether a request of this method may wait to begin until the host has read what it was sent. Not for one
    /// that changes what the gate lets through.
    fn may_wait(&self, method: &str) -> bool {
        let _ = method;
        true
    }

    /// A request of a known method passed the gate. `seq` counts the connection's messages from 1; what depends on
    /// their order is settled here, since handlers run concurrently.
    fn arrive(&self, seq: u64, method: &str, params: Option<&RawValue>) -> Self::Ticket;
}

/// What cancelling does to a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The host gets -32800 at once and the handler's future is dropped.
    Drop,
    /// Only [`Call::cancel`] fires; the handler answers what it has.
    Cooperative,
}

/// Whether the connection goes on after a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Continue,
    /// It takes no more messages and ends with [`End::Exit`](super::End::Exit) once what is in flight is answered, or
    /// has had its time.
    Exit,
}

/// One request, as its handler gets it.
pub struct Call<S: Session> {
    /// Whose request it is.
    pub session: Arc<S>,
    /// From [`Session::arrive`].
    pub ticket: S::Ticket,
    /// The message's number on its connection, from 1.
    pub seq: u64,
    /// The id as the host wrote it.
    pub id: Arc<str>,
    /// Fires when the host cancels or its connection ends.
    pub cancel: CancellationToken,
    /// The way back to the host.
    pub peer: Peer,
}

// Derived, it would ask `S: Clone`. The extensions ask for it; nothing clones a call.
impl<S: Session> Clone for Call<S> {
    fn clone(&self) -> Self {
        Self {
            session: self.session.clone(),
            ticket: self.ticket.clone(),
            seq: self.seq,
            id: self.id.clone(),
            cancel: self.cancel.clone(),
            peer: self.peer.clone(),
        }
    }
}

/// One notification, as its handler gets it.
pub struct Note<S: Session> {
    /// Whose notification it is.
    pub session: Arc<S>,
    /// The message's number on its connection, from 1.
    pub seq: u64,
    /// The way back to the host.
    pub peer: Peer,
}

type OnNote<S> = Box<dyn Fn(Note<S>, Option<&str>) -> Result<Flow, RpcError> + Send + Sync>;

/// See the module.
pub struct Table<S: Session> {
    methods: RpcModule<()>,
    cancel: HashMap<&'static str, Cancel>,
    notifications: HashMap<&'static str, OnNote<S>>,
    /// Sorted, so that of equally near names always the same is proposed.
    names: Vec<&'static str>,
}

/// Fills a [`Table`].
pub struct Builder<S: Session>(Table<S>);

impl<S: Session> Table<S> {
    /// An empty table to fill.
    pub fn builder() -> Builder<S> {
        Builder(Table {
            methods: RpcModule::new(()),
            cancel: HashMap::new(),
            notifications: HashMap::new(),
            names: Vec::new(),
        })
    }

    /// The names of all methods, sorted.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// How a method is cancelled.
    ///
    /// # Errors
    /// -32601 for an unknown one.
    pub(super) fn cancel_of(&self, method: &str) -> Result<Cancel, RpcError> {
        self.cancel.get(method).copied().ok_or_else(|| {
            let shown: String = method.chars().take(64).collect();
            RpcError::method_not_found(&shown, nearest(method, self.names.iter().copied()))
        })
    }

    /// The future of a request's answer. Nothing of the handler has run yet.
    pub(super) fn start(&self, method: &str, params: Option<&RawValue>, call: Call<S>) -> Answer {
        let id = call.id.clone();
        let Some(MethodCallback::Async(callback)) = self.methods.method(method) else {
            return Answer { id, running: None };
        };
        let mut extensions = Extensions::new();
        extensions.insert(call);
        let params = Params::new(params.map(RawValue::get)).into_owned();
        let running = callback(Id::Null, params, ConnectionId::default(), usize::MAX, extensions);
        Answer { id, running: Some(running) }
    }

    /// Runs a notification's handler. Unknown notifications and bad parameters have nobody to be told of them.
    pub(super) fn note(&self, method: &str, params: Option<&RawValue>, note: Note<S>) -> Flow {
        let Some(handler) = self.notifications.get(method) else {
            tracing::debug!(method, "ignored an unknown notification");
            return Flow::Continue;
        };
        match catch_unwind(AssertUnwindSafe(|| handler(note, params.map(RawValue::get)))) {
            Ok(Ok(flow)) => flow,
            Ok(Err(error)) => {
                tracing::warn!(method, %error, "ignored a notification with bad parameters");
                Flow::Continue
            }
            Err(panic) => {
                tracing::error!(method, panic = panic_text(&*panic), "the handler of a notification panicked");
                Flow::Continue
            }
        }
    }
}

impl<S: Session> Builder<S> {
    /// Adds a method. `P` is read from `params` (by name, absent ones being `{}`), `R` becomes `result`; a
    /// `Box<RawValue>` is copied once and not looked at.
    ///
    /// The handler's future is first polled on the reader, so a handler that is ready at once costs no change of
    /// thread, and one that computes for long belongs in `spawn_blocking`.
    ///
    /// # Panics
    /// If the name is taken: a mistake in the program.
    #[must_use]
    pub fn method<P, R, F, Fut>(mut self, name: &'static str, cancel: Cancel, handler: F) -> Self
    where
        P: DeserializeOwned + Send + 'static,
        R: Serialize + 'static,
        F: Fn(Call<S>, P) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<R, RpcError>> + Send + 'static,
    {
        let callback = move |_, params: Params<'static>, _, _, mut extensions: Extensions| {
            let handler = handler.clone();
            let call = extensions.remove::<Call<S>>();
            let future = async move {
                let Some(call) = call else { return MethodResponse::error(Id::Null, no_answer()) };
                let id = call.id.clone();
                let outcome = match params::parse::<P>(params.as_str()) {
                    Ok(params) => handler(call, params).await,
                    Err(error) => Err(error),
                };
                extensions.insert(Rendered(render(&id, outcome)));
                MethodResponse::notification().with_extensions(extensions)
            };
            Box::pin(future) as Pin<Box<dyn Future<Output = MethodResponse> + Send>>
        };
        let added = self.0.methods.verify_and_insert(name, MethodCallback::Async(Arc::new(callback)));
        assert!(added.is_ok(), "method `{name}` is registered twice");
        self.0.cancel.insert(name, cancel);
        self
    }

    /// Adds a notification, handled on the reader in order of arrival.
    ///
    /// # Panics
    /// If the name is taken: a mistake in the program.
    #[must_use]
    pub fn notification<P, F>(mut self, name: &'static str, handler: F) -> Self
    where
        P: DeserializeOwned,
        F: Fn(Note<S>, P) -> Flow + Send + Sync + 'static,
    {
        let handler: OnNote<S> = Box::new(move |note, params| Ok(handler(note, params::parse(params)?)));
        let taken = self.0.notifications.insert(name, handler).is_some();
        assert!(!taken, "notification `{name}` is registered twice");
        self
    }

    /// The table.
    pub fn build(mut self) -> Table<S> {
        self.0.names = self.0.cancel.keys().copied().collect();
        self.0.names.sort_unstable();
        self.0
    }
}

/// The future of one request's answer: a whole response object as JSON, whatever the handler does.
pub(super) struct Answer {
    id: Arc<str>,
    running: Option<Pin<Box<dyn Future<Output = MethodResponse> + Send>>>,
}

impl Future for Answer {
    type Output = Vec<u8>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let polled = match &mut self.running {
            None => return Poll::Ready(error(&self.id, no_answer())),
            Some(running) => catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context))),
        };
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(response)) => {
                let (_, _, mut extensions) = response.into_parts();
                let rendered = extensions.remove::<Rendered>();
                Poll::Ready(rendered.map_or_else(|| error(&self.id, no_answer()), |rendered| rendered.0))
            }
            Err(panic) => {
                tracing::error!(id = &*self.id, panic = panic_text(&*panic), "the handler of a request panicked");
                self.running = None;
                Poll::Ready(error(&self.id, RpcError::internal("the handler of this request panicked")))
            }
        }
    }
}

fn no_answer() -> RpcError {
    RpcError::internal("the request was not handled")
}

pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// A response object on its way through jsonrpsee's extensions.
#[derive(Clone)]
struct Rendered(Vec<u8>);

/// The response object of an error; `id` is raw JSON.
pub(super) fn error(id: &str, error: RpcError) -> Vec<u8> {
    render::<()>(id, Err(error))
}

fn render<R: Serialize>(id: &str, outcome: Result<R, RpcError>) -> Vec<u8> {
    let mut body = Body(Vec::with_capacity(256));
    let written = match outcome {
        Ok(result) => member(&mut body, id, "result", &result),
        Err(error) => member(&mut body, id, "error", &ErrorObjectOwned::from(error)),
    };
    if let Err(problem) = written {
        tracing::error!(id, %problem, "a result has no form in JSON");
        body.0.clear();
        let fault = ErrorObjectOwned::from(RpcError::internal(format!("the result has no form in JSON: {problem}")));
        // Code, text and data of an error always have a form in JSON.
        let _ = member(&mut body, id, "error", &fault);
    }
    body.0
}

fn member(body: &mut Body, id: &str, name: &str, value: &impl Serialize) -> serde_json::Result<()> {
    for piece in [r#"{"jsonrpc":"2.0","id":"#, id, r#",""#, name, r#"":"#] {
        body.0.extend_from_slice(piece.as_bytes());
    }
    serde_json::to_writer(&mut *body, value)?;
    body.0.push(b'}');
    Ok(())
}

/// A vector that grows a few bytes ahead, so that what comes behind a large raw value does not move it once more.
struct Body(Vec<u8>);

impl io::Write for Body {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.reserve(bytes.len() + 16);
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
