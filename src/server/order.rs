//! The order in which registrations take effect: that of arrival, whatever becomes of each.
//!
//! A registration has its turn from the moment it is read; requests read after it wait until the turn has ended, which
//! it does at the latest when the request is dropped, answered or not.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The turns of one connection.
pub struct Order {
    state: Mutex<State>,
    /// All turns up to this one have ended.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    given: u64,
    /// Turns that ended before one in front of them.
    ahead: BTreeSet<u64>,
}

impl Default for Order {
    fn default() -> Self {
        Self { state: Mutex::default(), ended: watch::Sender::new(0) }
    }
}

/// The turns given before a request was read.
#[derive(Clone)]
pub struct Before {
    order: Arc<Order>,
    last: u64,
}

/// A registration's place.
pub struct Turn {
    order: Arc<Order>,
    number: u64,
}

impl Order {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All turns given so far.
    pub fn before(self: &Arc<Self>) -> Before {
        Before { order: self.clone(), last: self.state().given }
    }

    /// The next turn.
    pub fn turn(self: &Arc<Self>) -> Turn {
        let mut state = self.state();
        state.given += 1;
        Turn { order: self.clone(), number: state.given }
    }
}

impl Before {
    /// Waits until they have all ended.
    pub async fn done(&self) {
        if *self.order.ended.borrow() >= self.last {
            return;
        }
        let mut ended = self.order.ended.subscribe();
        // The sender lives as long as this does.
        let _ = ended.wait_for(|ended| *ended >= self.last).await;
    }
}

impl Turn {
    /// It has taken effect. Once is enough.
    pub fn end(&self) {
        let mut state = self.order.state();
        self.order.ended.send_if_modified(|ended| {
            if self.number <= *ended {
                return false;
            }
            state.ahead.insert(self.number);
            let before = *ended;
            while state.ahead.remove(&(*ended + 1)) {
                *ended += 1;
            }
            *ended != before
        });
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn later_requests_wait_for_every_turn_before_them() {
        let order = Arc::new(Order::default());
        order.before().done().await;
        let (first, second) = (order.turn(), order.turn());
        let before = order.before();
        drop(second);
        assert_eq!(*order.ended.borrow(), 0, "the second must not let anybody pass the first");
        first.end();
        before.done().await;
        assert_eq!(*order.ended.borrow(), 2);
    }
}
