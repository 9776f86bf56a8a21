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

/// A file that changed this shortly before it was read may change again without its stamp moving.
const GRAIN: Duration = Duration::from_secs(2);

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

    /// Whether a read at `read` can be relied on as long as the stamp stays the same.
    pub fn is_settled(&self, read: SystemTime) -> bool {
        self.age(read).is_some_and(|age| age >= GRAIN)
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
