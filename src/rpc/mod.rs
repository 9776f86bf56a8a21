//! JSON-RPC 2.0 over a pair of byte streams: bytes to messages, messages to handlers, answers to bytes.
//!
//! Knows no method by name but `$/cancelRequest`; what a session does is behind [`Session`] and [`Table`].
//!
//! Promises, each held by a test in `connection`:
//! - every request gets exactly one answer while the connection lives, whatever its handler does;
//! - an id leaves the in-flight table before its answer is written, so that the host may use it again at once;
//! - the reader never waits for the writer (over a mark of unsent bytes requests wait to begin), and a pending read never keeps the process alive;
//! - messages are numbered, and cancelled, in the order in which they arrived.

mod batch;
pub mod codec;
pub mod connection;
mod dispatch;
mod gate;
mod in_flight;
pub mod message;
mod nearest;
mod outgoing;
mod oversized;
pub mod params;
pub mod peer;
pub mod sink;
pub mod source;
pub mod table;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use connection::{Connection, End, Limits};
pub use peer::{Peer, PeerError};
pub use sink::Sink;
pub use source::Source;
pub use table::{Call, Cancel, Flow, Note, Session, Table};

/// No code panics between two writes to what these locks guard, so a poisoned one is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
