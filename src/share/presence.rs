//! The connections of a process that listens: how many there are, when there were none for long enough, and how all
//! of them are ended.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a process waits for its very first connection, however short its idle time: whoever started it is on the
/// way.
const FIRST: Duration = Duration::from_secs(10);

/// How long the last answers may take once the process is told to end.
pub const LAST_ANSWERS: Duration = Duration::from_secs(3);

/// Ends a connection from this side, as if its host had closed it.
type HangUp = Box<dyn Fn() + Send>;

/// See the module.
#[derive(Default)]
pub struct Presence {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    open: BTreeMap<u64, HangUp>,
    /// Connections so far.
    ever: u64,
    ending: bool,
}

/// One connection, counted until this is dropped.
pub struct Present<'a> {
    presence: &'a Presence,
    number: u64,
}

impl Presence {
    /// Counts a connection. `None` once the process is ending: it must not be served.
    pub fn enter(&self, hang_up: impl Fn() + Send + 'static) -> Option<Present<'_>> {
        let mut state = self.lock();
        if state.ending {
            return None;
        }
        state.ever += 1;
        let number = state.ever;
        state.open.insert(number, Box::new(hang_up));
        self.changed.notify_all();
        Some(Present { presence: self, number })
    }

    /// Open connections.
    pub fn count(&self) -> usize {
        self.lock().open.len()
    }

    /// Whether [`Presence::end`] was called, or the process has been idle.
    pub fn is_ending(&self) -> bool {
        self.lock().ending
    }

    /// Ends every connection and lets no new one in.
    pub fn end(&self) {
        let mut state = self.lock();
        state.ending = true;
        state.open.values().for_each(|hang_up| hang_up());
        self.changed.notify_all();
    }

    /// Blocks until there was no connection for `idle`, or the process is to end. No new one is let in afterwards.
    pub fn wait_idle(&self, idle: Option<Duration>) {
        let mut state = self.lock();
        let mut since = Instant::now();
        loop {
            if state.ending {
                return;
            }
            let patience = match idle {
                Some(idle) if state.open.is_empty() => {
                    if state.ever == 0 {
                        idle.max(FIRST)
                    } else {
                        idle
                    }
                }
                _ => Duration::MAX,
            };
            let Some(left) = patience.checked_sub(since.elapsed()).filter(|left| !left.is_zero()) else {
                state.ending = true;
                return;
            };
            let ever = state.ever;
            let busy = !state.open.is_empty();
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            // A connection that came and went meanwhile counts as well.
            if busy || state.ever != ever {
                since = Instant::now();
            }
        }
    }

    /// Blocks until the last connection has ended, at most for `patience`.
    pub fn wait_empty(&self, patience: Duration) {
        let state = self.lock();
        let _ = self.changed.wait_timeout_while(state, patience, |state| !state.open.is_empty());
    }

    /// No code panics between two writes to the state, so a poisoned one is still whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.presence.lock().open.remove(&self.number);
        self.presence.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn the_last_connection_ends_an_idle_process() {
        let presence = Presence::default();
        let (first, second) = (presence.enter(|| {}).unwrap(), presence.enter(|| {}).unwrap());
        assert_eq!(presence.count(), 2);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| presence.wait_idle(Some(Duration::ZERO)));
            drop(first);
            assert!(!presence.is_ending(), "one is left");
            drop(second);
            waiting.join().unwrap();
        });
        assert!(presence.enter(|| {}).is_none(), "nobody is let in afterwards");
    }

    #[test]
    fn an_end_hangs_up_on_all() {
        let presence = Presence::default();
        let (sender, hung_up) = mpsc::channel();
        let present = presence.enter(move || sender.send(()).unwrap()).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| presence.wait_idle(None));
            presence.end();
        });
        hung_up.recv().unwrap();
        assert!(presence.enter(|| {}).is_none());
        drop(present);
        presence.wait_empty(Duration::MAX);
    }
}
