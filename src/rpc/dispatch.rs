//! What the reader does with each event of the decoder. Runs on the reader's thread alone, and never blocks.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::batch::{Batch, Reply};
use super::codec::Event;
use super::connection::End;
use super::gate::Pass;
use super::in_flight::{InFlight, Request};
use super::message::{Incoming, Message, parse};
use super::outgoing::Outgoing;
use super::oversized::Oversized;
use super::params;
use super::peer::{Peer, PeerError, is_ours};
use super::table::{Answer, Call, Flow, Note, Session, Table, error, panic_text};
use crate::protocol::errors::{RpcError, code};

pub(super) struct Dispatch<S: Session> {
    pub table: Arc<Table<S>>,
    pub session: Arc<S>,
    pub peer: Peer,
    pub outgoing: Arc<Outgoing>,
    pub in_flight: Arc<InFlight>,
    pub runtime: Handle,
    pub max_message_bytes: Arc<AtomicUsize>,
    /// The number of the last message.
    pub seq: u64,
}

impl<S: Session> Dispatch<S> {
    pub fn event(&mut self, event: Event<'_>) -> ControlFlow<End> {
        match event {
            Event::Framing(framing) => self.outgoing.set_framing(framing),
            Event::Message(bytes) => {
                // The connection may have ended on its other side.
                if self.in_flight.is_closed() {
                    return ControlFlow::Break(End::Closed);
                }
                return self.incoming(parse(bytes));
            }
            Event::Oversized(message) => self.oversized(message),
            Event::Broken(reason) => {
                tracing::error!(reason, "the framing is lost");
                self.outgoing.push(error("null", RpcError::parse_error(reason)));
                return ControlFlow::Break(End::FramingLost);
            }
        }
        ControlFlow::Continue(())
    }

    fn incoming(&mut self, incoming: Incoming<'_>) -> ControlFlow<End> {
        match incoming {
            Incoming::One(message) => self.message(message, &mut || Reply::Alone),
            Incoming::Batch(messages) => {
                let wants =
                    |message: &&Message<'_>| matches!(message, Message::Request { .. } | Message::Invalid { .. });
                let batch = Batch::new(messages.iter().filter(wants).count());
                let mut places = 0..;
                let mut reply = || Reply::Batch(batch.clone(), places.next().unwrap_or(usize::MAX));
                let mut flow = ControlFlow::Continue(());
                for message in messages {
                    if flow.is_continue() {
                        flow = self.message(message, &mut reply);
                    } else if let Message::Request { id, .. } | Message::Invalid { id: Some(id), .. } = message {
                        // The batch is answered whole, or not at all.
                        let problem = RpcError::invalid_request("it stands behind `exit`");
                        reply().send(&self.outgoing, error(id, problem));
                    } else if let Message::Invalid { error: problem, .. } = message {
                        reply().send(&self.outgoing, error("null", problem));
                    }
                }
                flow
            }
        }
    }

    fn message(&mut self, message: Message<'_>, reply: &mut dyn FnMut() -> Reply) -> ControlFlow<End> {
        self.seq += 1;
        match message {
            Message::Request { id, method, params } => self.request(id, &method, params, reply()),
            Message::Notification { method, params } => return self.notification(&method, params),
            Message::Response { id, outcome } => self.peer.answer(id, outcome),
            Message::Malformed { id, reason } => self.peer.answer_failed(&id, PeerError::Malformed(reason)),
            Message::Invalid { id, error: problem } => {
                reply().send(&self.outgoing, error(id.unwrap_or("null"), problem));
            }
        }
        ControlFlow::Continue(())
    }

    fn request(&self, id: &str, method: &str, params: Option<&RawValue>, reply: Reply) {
        // The session's hooks and the handler's first steps run in here; a panic of theirs must not end the reader.
        let started = catch_unwind(AssertUnwindSafe(|| self.start(id, method, params, &reply)));
        match started {
            Ok(Ok(Started::Ready(body))) => reply.send(&self.outgoing, body),
            Ok(Ok(Started::Pending(pending))) => self.spawn(*pending, reply),
            Ok(Err(problem)) => reply.send(&self.outgoing, error(id, problem)),
            Err(panic) => {
                tracing::error!(id, method, panic = panic_text(&*panic), "a session panicked over a request");
                reply.send(&self.outgoing, error(id, RpcError::internal("the session panicked over this request")));
            }
        }
    }

    /// Begins a request, unless it must wait for room, and polls it once, so that one that needs no waiting costs no
    /// change of thread.
    fn start(&self, id: &str, method: &str, params: Option<&RawValue>, reply: &Reply) -> Result<Started, RpcError> {
        self.session.gate(method)?;
        let cancel = self.table.cancel_of(method)?;
        let turns = reply.turns();
        let in_batch = turns.is_some();
        if in_batch && self.outgoing.batches_are_full() {
            return Err(batch_too_large());
        }
        self.in_flight.admit(id)?;
        let token = CancellationToken::new();
        let id: Arc<str> = id.into();
        let call = Call {
            session: self.session.clone(),
            ticket: self.session.arrive(self.seq, method, params),
            seq: self.seq,
            id: id.clone(),
            cancel: token.clone(),
            peer: self.peer.clone(),
        };
        let mut answer = self.table.start(method, params, call);
        let mut leave = Leave::default();
        if self.session.may_wait(method) {
            let room = self.outgoing.wait_for_room();
            if in_batch || room.is_some() {
                // Polled here, so that turns come in order of arrival.
                let mut waiting: Waiting = Box::pin(async move {
                    let turn = match turns {
                        Some(turns) => turns.acquire_owned().await.ok(),
                        None => None,
                    };
                    let pass = match room {
                        Some(room) => room.await.ok(),
                        None => None,
                    };
                    Leave { _turn: turn, _pass: pass }
                });
                match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(given) => leave = given,
                    Poll::Pending => {
                        let begin = Begin::Later { waiting, in_batch };
                        return Ok(Started::Pending(Box::new(Pending { id, cancel, token, answer, begin })));
                    }
                }
            }
        }
        // A wake-up that comes before the task exists is not lost: the task's first act is to poll again.
        Ok(match Pin::new(&mut answer).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(body) => Started::Ready(body),
            Poll::Pending => {
                Started::Pending(Box::new(Pending { id, cancel, token, answer, begin: Begin::Begun(leave) }))
            }
        })
    }

    fn spawn(&self, pending: Pending, reply: Reply) {
        let Pending { id, cancel, token, answer, begin } = pending;
        let (in_flight, outgoing, seq) = (self.in_flight.clone(), self.outgoing.clone(), self.seq);
        let request = Request { seq, cancel, token: token.clone(), reply };
        let Some(task) = in_flight.add(id.clone(), request) else { return };
        self.runtime.spawn(async move {
            // Held until the answer is queued: the end of the connection waits for it.
            let _task = task;
            let mut refused = false;
            let _leave = match begin {
                Begin::Begun(leave) => Some(leave),
                Begin::Later { waiting, in_batch } => {
                    // A cancelled request need not wait: what it answers is small.
                    let leave = token.run_until_cancelled(waiting).await;
                    refused = leave.is_some() && in_batch && outgoing.batches_are_full();
                    leave
                }
            };
            let body = match cancel {
                _ if refused => error(&id, batch_too_large()),
                super::Cancel::Cooperative => answer.await,
                super::Cancel::Drop => match token.run_until_cancelled_owned(answer).await {
                    Some(body) => body,
                    None => error(&id, RpcError::cancelled()),
                },
            };
            if let Some(reply) = in_flight.take(&id, seq) {
                reply.send(&outgoing, body);
            }
        });
    }

    fn notification(&self, method: &str, params: Option<&RawValue>) -> ControlFlow<End> {
        if method == "$/cancelRequest" {
            self.cancel(params);
            return ControlFlow::Continue(());
        }
        let gate = catch_unwind(AssertUnwindSafe(|| self.session.gate(method)));
        if !matches!(gate, Ok(Ok(()))) {
            tracing::debug!(method, "dropped a notification that the session does not take now");
            return ControlFlow::Continue(());
        }
        let note = Note { session: self.session.clone(), seq: self.seq, peer: self.peer.clone() };
        match self.table.note(method, params, note) {
            Flow::Continue => ControlFlow::Continue(()),
            Flow::Exit => ControlFlow::Break(End::Exit),
        }
    }

    fn cancel(&self, params: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct CancelParams {
            id: Box<RawValue>,
        }
        match params::parse::<CancelParams>(params.map(RawValue::get)) {
            Ok(CancelParams { id }) => {
                if let Some(reply) = self.in_flight.cancel(id.get()) {
                    reply.send(&self.outgoing, error(id.get(), RpcError::cancelled()));
                }
            }
            Err(problem) => tracing::debug!(%problem, "ignored a cancellation"),
        }
    }

    fn oversized(&mut self, message: Oversized) {
        self.seq += 1;
        let id = message.id.as_deref().unwrap_or("null");
        if !message.call && is_ours(id) {
            return self.peer.answer_failed(id, PeerError::TooLarge);
        }
        let limit = self.max_message_bytes.load(Ordering::Relaxed);
        self.outgoing.push(error(id, RpcError::message_too_large(limit)));
    }
}

enum Started {
    Ready(Vec<u8>),
    Pending(Box<Pending>),
}

/// A request whose handler waits for something.
struct Pending {
    id: Arc<str>,
    cancel: super::Cancel,
    token: CancellationToken,
    answer: Answer,
    begin: Begin,
}

enum Begin {
    /// The handler was polled.
    Begun(Leave),
    /// It must wait first.
    Later { waiting: Waiting, in_batch: bool },
}

type Waiting = Pin<Box<dyn Future<Output = Leave> + Send>>;

/// What a request holds until it is answered.
#[derive(Default)]
struct Leave {
    _turn: Option<OwnedSemaphorePermit>,
    _pass: Option<Pass>,
}

fn batch_too_large() -> RpcError {
    RpcError::new(code::OVERLOADED, "the answers of this batch are too large together; send this one again later")
}
