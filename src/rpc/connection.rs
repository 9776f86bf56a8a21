//! One connection from its first byte to its end.
//!
//! Three threads: the caller's waits for the end; a reader decodes, numbers and dispatches; a writer empties the
//! queue of answers. Reader and writer are plain threads that nothing joins, because a read from a terminal or a
//! write to a stopped host may never return and must keep nobody from leaving.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use super::codec::{Decoder, Framing, read_all};
use super::dispatch::Dispatch;
use super::in_flight::InFlight;
use super::outgoing::Outgoing;
use super::peer::Peer;
use super::sink::Sink;
use super::table::{Session, Table, error};
use crate::protocol::errors::RpcError;

/// What a connection may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// `maxMessageBytes`; may be changed while the connection lives.
    pub max_message_bytes: Arc<AtomicUsize>,
    /// Requests that wait for their handlers; one more is answered -32041.
    pub max_in_flight: usize,
    /// Bytes that wait for the host to read them. Over it requests wait to begin; over four times as much the
    /// connection is dropped.
    pub max_unsent_bytes: usize,
    /// How long a host may read nothing while more than `max_unsent_bytes` wait for it; then its connection is
    /// dropped.
    pub stall: Duration,
    /// How long the end of a connection waits for its last answers to be made and written.
    pub flush: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: Arc::new(AtomicUsize::new(64 * 1024 * 1024)),
            max_in_flight: 16_384,
            max_unsent_bytes: 64 * 1024 * 1024,
            stall: Duration::from_secs(30),
            flush: Duration::from_secs(1),
        }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The host closed its side.
    Eof,
    /// A header was broken; the host was told.
    FramingLost,
    /// The host did not read its answers.
    OutgoingOverflow,
    /// Reading failed.
    ReadFailed(io::ErrorKind),
    /// Writing failed; a broken pipe is the host's way to hang up.
    WriteFailed(io::ErrorKind),
    /// A notification asked for it.
    Exit,
    /// [`Peer::close`](super::Peer::close) asked for it.
    Closed,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Eof => f.write_str("the host closed it"),
            Self::FramingLost => f.write_str("its framing was lost"),
            Self::OutgoingOverflow => f.write_str("the host did not read"),
            Self::ReadFailed(kind) => write!(f, "reading from the host failed: {kind}"),
            Self::WriteFailed(kind) => write!(f, "writing to the host failed: {kind}"),
            Self::Exit => f.write_str("the host asked for it"),
            Self::Closed => f.write_str("the sidecar closed it"),
        }
    }
}

/// See the module.
pub struct Connection<S: Session> {
    /// Who serves which method.
    pub table: Arc<Table<S>>,
    /// Whom this connection belongs to.
    pub session: Arc<S>,
    /// What it may use.
    pub limits: Limits,
    /// Where handlers run that are not ready at once.
    pub runtime: Handle,
    /// The framing to write in before the other side has said a word; who serves waits for its host's.
    pub framing: Option<Framing>,
}

impl<S: Session> Connection<S> {
    /// Serves until the connection ends, blocking the caller, and says why it ended. By then everything in flight is
    /// cancelled, what was asked of the host has failed, and the last answers are written if the host took them in
    /// time. A thread may still be inside `read` or `write`; of a socket, shut both sides down to let it go.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn run(self, read: impl Read + Send + 'static, sink: Sink) -> io::Result<End> {
        let (end_sender, end) = mpsc::channel();
        let outgoing = Arc::new(Outgoing::new(
            sink,
            self.limits.max_unsent_bytes,
            self.limits.stall,
            self.runtime.clone(),
            end_sender.clone(),
        ));
        if let Some(framing) = self.framing {
            outgoing.set_framing(framing);
        }
        let in_flight = Arc::new(InFlight::new(self.limits.max_in_flight));
        let peer = Peer::new(outgoing.clone(), end_sender.clone());
        self.session.opened(&peer);
        let mut dispatch = Dispatch {
            table: self.table,
            session: self.session,
            peer: peer.clone(),
            outgoing: outgoing.clone(),
            in_flight: in_flight.clone(),
            runtime: self.runtime,
            max_message_bytes: self.limits.max_message_bytes.clone(),
            seq: 0,
        };
        let mut decoder = Decoder::new(self.limits.max_message_bytes);
        let reader = move || {
            let mut ended = Ended { sender: end_sender, end: End::ReadFailed(io::ErrorKind::Other) };
            let runtime = dispatch.runtime.clone();
            let _inside = runtime.enter();
            ended.end = match read_all(read, &mut decoder, |event| dispatch.event(event)) {
                Ok(end) => end.unwrap_or(End::Eof),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => End::Eof,
                Err(error) => End::ReadFailed(error.kind()),
            };
        };
        let writer = outgoing.clone();
        thread::Builder::new().name("rpc-write".into()).spawn(move || writer.write_loop())?;
        if let Err(error) = thread::Builder::new().name("rpc-read".into()).spawn(reader) {
            outgoing.close();
            return Err(error);
        }
        // The reader's guard sends one, so there is always an end.
        let end = end.recv().unwrap_or(End::Closed);
        match end {
            End::WriteFailed(io::ErrorKind::BrokenPipe) => tracing::info!(%end, "a connection ended"),
            End::WriteFailed(_) | End::ReadFailed(_) => tracing::warn!(%end, "a connection ended"),
            _ => tracing::debug!(%end, "a connection ended"),
        }

        let deadline = Instant::now() + self.limits.flush;
        if matches!(end, End::Eof | End::Exit) {
            // A host may write all it has to say, close or send `exit`, and then read.
            peer.fail_all(end);
            in_flight.wait_idle(deadline);
        }
        let deadline = deadline.max(Instant::now() + self.limits.flush / 4);
        // First what was asked of the host, so that no cancelled handler still writes to a host that is gone.
        peer.fail_all(end);
        for (id, reply) in in_flight.close() {
            reply.send(&outgoing, error(&id, RpcError::cancelled()));
        }
        in_flight.wait_idle(deadline);
        outgoing.wait_idle(deadline);
        outgoing.close();
        Ok(end)
    }
}

/// Reports the end of the reader however it comes about.
struct Ended {
    sender: Sender<End>,
    end: End,
}

impl Drop for Ended {
    fn drop(&mut self) {
        // The other side may have ended first, and then nobody listens.
        let _ = self.sender.send(self.end);
    }
}

#[cfg(test)]
mod tests;
