//! Whether a file is still the one that was read, without reading it.

use std::fs::Metadata;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// What `stat` says of the file that a path leads to. Two equal stamps are one content, unless the later change
/// fell into the clock's grain: see [`Stamp::is_settled`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
    changed: (i64, i64),
}

/// A file that changed this shortly before it was read may change again without its stamp moving: some file systems
/// count two seconds at a time.
const GRAIN: Duration = Duration::from_secs(2);
/// The same where stamps count less than milliseconds: the system's clock moves them a hundred times a second at least.
const FINE_GRAIN: Duration = Duration::from_millis(100);

impl Stamp {
    /// The stamp of the file that a path leads to, through links. `None` if there is none to be read.
    pub fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|found| Self::new(&found))
    }

    /// The stamp in what was found of a file.
    #[cfg(unix)]
    pub fn new(found: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: found.modified().ok(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// The stamp in what was found of a file.
    #[cfg(not(unix))]
    pub fn new(found: &Metadata) -> Self {
        Self { device: 0, inode: 0, size: found.len(), modified: found.modified().ok(), changed: (0, 0) }
    }

    /// Whether what was read at `read` can be relied on at `now`, the stamp being the same.
    ///
    /// A fine stamp is outgrown sooner. But it is set when a write begins, and a long one may go on: until the coarse
    /// grain is over what was read is read again whenever its age has doubled, which makes five times in all.
    pub fn is_settled(&self, read: SystemTime, now: SystemTime) -> bool {
        let (Some(then), Some(now)) = (self.age(read), self.age(now)) else { return false };
        then >= GRAIN || self.is_fine() && then >= FINE_GRAIN && now < 2 * then
    }

    /// Whether the last change has a part below the millisecond, so that this file system counts that.
    fn is_fine(&self) -> bool {
        self.changed.1 % 1_000_000 != 0
    }

    /// Time from the last change to `now`; `None` where clocks disagree.
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        let (seconds, nanoseconds) = self.changed;
        let changed = u64::try_from(seconds)
            .ok()
            .map(|seconds| SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds.try_into().unwrap_or(0)))
            .filter(|_| seconds > 0)
            .or(self.modified);
        now.duration_since(changed?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_relied_on_once_the_stamp_would_show_another_change() {
        let settled = |nanoseconds: i64, read: u64, now: u64| {
            let stamp = Stamp { device: 1, inode: 1, size: 1, modified: None, changed: (1000, nanoseconds) };
            let changed = SystemTime::UNIX_EPOCH + Duration::new(1000, nanoseconds as u32);
            let after = |milliseconds| changed + Duration::from_millis(milliseconds);
            stamp.is_settled(after(read), after(now))
        };
        let (fine, coarse) = (123_456_789, 120_000_000);
        for (label, nanoseconds, read, now, expected) in [
            ("in the grain of a fine stamp", fine, 99, 5000, false),
            ("outside of it", fine, 100, 150, true),
            ("a write that goes on would be seen now", fine, 100, 200, false),
            ("read again meanwhile", fine, 200, 399, true),
            ("in the grain of a coarse stamp", coarse, 1999, 2100, false),
            ("outside of both", coarse, 2000, 90_000, true),
            ("outside of both", fine, 2000, 90_000, true),
        ] {
            assert_eq!(settled(nanoseconds, read, now), expected, "{label}: read after {read} ms, asked after {now}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_settles_nothing() {
        let stamp = Stamp { device: 1, inode: 1, size: 1, modified: None, changed: (1000, 1) };
        assert!(!stamp.is_settled(SystemTime::UNIX_EPOCH, SystemTime::now()));
    }
}
