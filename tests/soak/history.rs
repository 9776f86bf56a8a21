//! What a file has been, in order, and so what an answer may show of it.
//!
//! A state is begun before the system call that makes it visible and settled after it. An answer may show any state
//! from the last one settled when its request was sent to the last one begun when it came.

use std::sync::{Mutex, PoisonError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Holds this version.
    Whole(u64),
    /// Is there, and half of it is missing.
    Broken,
    Absent,
}

/// A file's states.
#[derive(Default)]
pub struct History(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    states: Vec<State>,
    settled: usize,
}

impl History {
    /// Does what makes a file be in this state.
    pub fn become_<T>(&self, state: State, act: impl FnOnce() -> T) -> T {
        self.with(|inner| inner.states.push(state));
        let done = act();
        self.with(|inner| inner.settled = inner.states.len() - 1);
        done
    }

    fn with<T>(&self, with: impl FnOnce(&mut Inner) -> T) -> T {
        with(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The state that every request sees that is sent from now on, as an index.
    pub fn settled(&self) -> usize {
        self.with(|inner| inner.settled)
    }

    /// The first state from `floor` on that may show as this version (`None`: as no file), to a connection that has
    /// seen all states up to `seen`. The error shows the states there were.
    pub fn find(&self, floor: usize, seen: Option<usize>, version: Option<u64>) -> Result<usize, String> {
        self.with(|inner| {
            let last = inner.states.len();
            let found = (floor..last).find(|at| may_show(&inner.states[..=*at], seen, version));
            let from = floor.saturating_sub(3);
            found.ok_or_else(|| format!("{version:?} is none of {floor}.. in {from}: {:?}", &inner.states[from..last]))
        })
    }
}

/// Whether the last of these states may show as this version.
///
/// A broken file shows its last good version, but nothing to who never saw it (a daemon that started just now), and
/// nothing where it was absent in between. Whether anybody looked then is unknown, so that both are right.
fn may_show(states: &[State], seen: Option<usize>, version: Option<u64>) -> bool {
    match states.last() {
        Some(State::Whole(whole)) => version == Some(*whole),
        Some(State::Absent) | None => version.is_none(),
        Some(State::Broken) => {
            let good = states.iter().rposition(|state| matches!(state, State::Whole(_)));
            let Some(good) = good else { return version.is_none() };
            match version {
                Some(version) => states[good] == State::Whole(version),
                None => seen.is_none_or(|seen| seen < good) || states[good..].contains(&State::Absent),
            }
        }
    }
}

#[test]
fn what_a_history_may_show() {
    use State::{Absent, Broken, Whole};
    for (label, states, floor, seen, version, found) in [
        ("the version that is there", &[Whole(1), Whole(2)][..], 1, Some(0), Some(2), Some(1)),
        ("an older one", &[Whole(1), Whole(2)], 1, Some(0), Some(1), None),
        ("one that is begun", &[Whole(1), Whole(2)], 0, Some(0), Some(2), Some(1)),
        ("one that never was", &[Whole(1), Whole(2)], 0, Some(0), Some(3), None),
        ("broken shows the last good", &[Whole(1), Broken], 1, Some(0), Some(1), Some(1)),
        ("broken is no default for who saw it whole", &[Whole(1), Broken], 1, Some(0), None, None),
        ("broken is nothing to a cold start", &[Whole(1), Broken], 1, None, None, Some(1)),
        ("broken after removal", &[Whole(1), Absent, Broken], 2, Some(0), None, Some(2)),
        ("removed", &[Whole(1), Absent], 1, Some(0), None, Some(1)),
        ("removed, but shown", &[Whole(1), Absent], 1, Some(0), Some(1), None),
    ] {
        let history = History::default();
        states.iter().for_each(|state| history.become_(*state, || ()));
        assert_eq!(history.find(floor, seen, version).ok(), found, "{label}");
    }
}
