//! When to look at files after something happened to them: once they were left alone for a while, and at the latest
//! after a longer while, so that one who never stops writing does not hide what he writes.

use std::time::{Duration, Instant};

/// How long nothing must happen.
pub const SETTLE: Duration = Duration::from_millis(50);
/// The longest wait from the first thing that happened.
const LONGEST: Duration = Duration::from_secs(1);

/// Gathers what happens.
#[derive(Debug, Default)]
pub struct Settling(Option<(Instant, Instant)>);

impl Settling {
    /// Something happened.
    pub fn note(&mut self, now: Instant) {
        let first = self.0.map_or(now, |(first, _)| first);
        self.0 = Some((first, now));
    }

    /// When to look, if something happened.
    pub fn due(&self) -> Option<Instant> {
        self.0.map(|(first, last)| (last + SETTLE).min(first + LONGEST))
    }

    /// Somebody looks now.
    pub fn clear(&mut self) {
        self.0 = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_looked_at_once_it_is_over_or_has_lasted_too_long() {
        let start = Instant::now();
        let after = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut settling = Settling::default();
        assert_eq!(settling.due(), None);
        for (at, due) in [(0, 50), (40, 90), (80, 130), (960, 1000), (990, 1000)] {
            settling.note(after(at));
            assert_eq!(settling.due(), Some(after(due)), "{at}");
        }
        settling.clear();
        settling.note(after(2000));
        assert_eq!(settling.due(), Some(after(2050)), "a new burst has a time of its own");
    }
}
