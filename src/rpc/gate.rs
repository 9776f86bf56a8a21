//! Requests that wait to begin because the host has not read what it was sent.
//!
//! First come, first served. While anything is unsent, at most [`AT_ONCE`] of those that waited run, so that the
//! answers of a long queue do not all come to lie in memory as soon as there is room for one. When all is sent, the
//! rest may begin: handlers are then slower than the host, and one that waits for something must not hold the others.
//! Holds no lock; [`Outgoing`] keeps it under its own.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::outgoing::Outgoing;

/// Enough to keep every core and the writer busy.
const AT_ONCE: usize = 16;

/// See the module.
#[derive(Default)]
pub(super) struct Gate {
    waiting: VecDeque<oneshot::Sender<Pass>>,
    /// Passes given and not dropped.
    passing: usize,
}

impl Gate {
    /// Whether nobody waits.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A place at the end of the queue. Dropping it gives it up.
    pub fn wait(&mut self) -> oneshot::Receiver<Pass> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.push_back(sender);
        receiver
    }

    /// Takes out those who may begin now that there is room. Each is owed a pass.
    pub fn open(&mut self, all: bool) -> Vec<oneshot::Sender<Pass>> {
        let mut out = Vec::new();
        while (all || self.passing < AT_ONCE)
            && let Some(next) = self.waiting.pop_front()
        {
            if !next.is_closed() {
                self.passing += 1;
                out.push(next);
            }
        }
        out
    }

    /// A pass was dropped.
    pub fn passed(&mut self) {
        self.passing = self.passing.saturating_sub(1);
    }
}

/// The leave to begin; held until the answer is queued.
pub(super) struct Pass(pub Arc<Outgoing>);

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.passed();
    }
}
