//! The last known tools of each server, on disk: they stand in until it answers, so that a start changes no prompt.
//!
//! One file a server, named by the hash of its configuration, for its user's eyes alone. What cannot be read is as if
//! it were not there; what cannot be written is not kept.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the largest list that is kept.
const LARGEST: u64 = 32 << 20;

/// The folder of cached things, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Cache(pub Option<PathBuf>);

impl Cache {
    /// A server's tools as JSON: an array of definitions as the server gave them.
    pub fn tools(&self, id: &str) -> Option<String> {
        let path = self.path(id)?;
        let found = fs::metadata(&path).ok()?;
        if !found.is_file() || found.len() > LARGEST {
            return None;
        }
        fs::read_to_string(path).ok()
    }

    /// Keeps a server's tools.
    pub fn keep(&self, id: &str, tools: &str) {
        let Some(path) = self.path(id).filter(|_| tools.len() as u64 <= LARGEST) else { return };
        if fs::read(&path).is_ok_and(|kept| kept == tools.as_bytes()) {
            return;
        }
        if let Err(error) = write(&path, tools.as_bytes()) {
            tracing::info!(%error, "the tools of a server are not kept on disk");
        }
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        Some(self.0.as_ref()?.join("servers").join(format!("{id}.json")))
    }
}

/// Writes a file for its user alone, whole or not at all.
///
/// # Errors
/// As the file system has them.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    let mut folders = fs::DirBuilder::new();
    folders.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folders.create(folder)?;
    // Nobody else's: another thread may write the same file.
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{number}~", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written =
        options.open(&beside).and_then(|mut file| file.write_all(bytes)).and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_and_is_for_its_user_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache(Some(folder.path().join("toolscout")));
        assert_eq!(cache.tools("a"), None);
        cache.keep("a", "[1]");
        cache.keep("a", "[2]");
        assert_eq!(cache.tools("a").as_deref(), Some("[2]"));
        let kept = folder.path().join("toolscout/servers");
        assert_eq!(fs::read_dir(&kept).unwrap().count(), 1, "nothing is left beside it");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&kept), mode(&kept.join("a.json"))), (0o700, 0o600));
        }
        Cache(None).keep("a", "[1]");
        assert_eq!(Cache(None).tools("a"), None);
    }
}
