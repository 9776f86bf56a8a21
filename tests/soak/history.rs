//! What a file has been, in order, and so what an answer may show of it.
//!
//! A state is begun before the system call that makes it visible and settled after it. An answer may show any state
//! from the last one settled when its request was sent to the last one begun when it came.

use std::sync::{Mutex, PoisonError};

use crate::answer::Version;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Holds this version.
    Whole(u64),
    /// Is there, and half of it is missing.
    Broken,
    Absent,
}

/// What a connection was shown.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// The first state that may have shown so.
    pub state: usize,
    pub version: Version,
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
    /// Does what brings the file into this state.
    pub fn enter<T>(&self, state: State, act: impl FnOnce() -> T) -> T {
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

    /// The first state from `floor` on that may show as this version (`None`: as no file) to a connection that was
    /// shown `seen` before. The error shows the states there were.
    pub fn find(&self, floor: usize, seen: Option<Seen>, version: Version) -> Result<usize, String> {
        self.with(|inner| {
            let last = inner.states.len();
            let found = (floor..last).find(|at| may_show(&inner.states[..=*at], seen, version));
            let from = floor.saturating_sub(3);
            found.ok_or_else(|| {
                format!("{version:?} is none of {floor}.. in {from}: {:?}, {seen:?}", &inner.states[from..last])
            })
        })
    }
}

/// Whether the last of these states may show as this version.
///
/// A broken file shows the last version that the daemon saw, which need not be the last there was: nobody may have
/// looked in time. To a daemon that saw none, or saw it removed since, it is not there.
fn may_show(states: &[State], seen: Option<Seen>, version: Version) -> bool {
    let first = |version| states.iter().position(|state| *state == State::Whole(version)).unwrap_or(states.len());
    match states.last() {
        Some(State::Whole(whole)) => version == Some(*whole),
        Some(State::Absent) | None => version.is_none(),
        Some(State::Broken) => match (version, seen.map(|seen| (seen.state, seen.version))) {
            (Some(version), None) => first(version) < states.len(),
            (Some(version), Some((_, Some(before)))) => first(version) < states.len() && version >= before,
            (Some(version), Some((gone, None))) => (gone + 1..states.len()).contains(&first(version)),
            (None, None | Some((_, None))) => true,
            (None, Some((_, Some(before)))) => states.iter().skip(first(before)).any(|state| *state == State::Absent),
        },
    }
}

#[test]
fn what_a_history_may_show() {
    use State::{Absent, Broken, Whole};
    let seen = |state, version| Some(Seen { state, version });
    for (label, states, floor, seen, version, found) in [
        ("the version that is there", &[Whole(1), Whole(2)][..], 1, seen(0, Some(1)), Some(2), Some(1)),
        ("an older one", &[Whole(1), Whole(2)], 1, seen(0, Some(1)), Some(1), None),
        ("one that is begun", &[Whole(1), Whole(2)], 0, None, Some(2), Some(1)),
        ("one that never was", &[Whole(1), Whole(2)], 0, None, Some(3), None),
        ("broken shows the last good", &[Whole(1), Broken], 1, seen(0, Some(1)), Some(1), Some(1)),
        ("broken shows nothing that never was", &[Whole(1), Broken], 1, seen(0, Some(1)), Some(2), None),
        ("broken, and nobody saw the last", &[Whole(1), Whole(2), Broken], 2, seen(0, Some(1)), Some(1), Some(2)),
        ("broken never goes back", &[Whole(1), Whole(2), Broken], 2, seen(1, Some(2)), Some(1), None),
        ("broken is no default for who saw it whole", &[Whole(1), Broken], 1, seen(0, Some(1)), None, None),
        ("broken is nothing to a cold start", &[Whole(1), Broken], 1, None, None, Some(1)),
        ("and stays nothing", &[Whole(1), Broken], 1, seen(1, None), Some(1), None),
        ("broken after removal", &[Whole(1), Absent, Broken], 2, seen(0, Some(1)), None, Some(2)),
        ("broken does not bring back", &[Whole(1), Absent, Broken], 2, seen(1, None), Some(1), None),
        ("removed", &[Whole(1), Absent], 1, seen(0, Some(1)), None, Some(1)),
        ("removed, but shown", &[Whole(1), Absent], 1, seen(0, Some(1)), Some(1), None),
    ] {
        let history = History::default();
        states.iter().for_each(|state| history.enter(*state, || ()));
        assert_eq!(history.find(floor, seen, version).ok(), found, "{label}");
    }
}
