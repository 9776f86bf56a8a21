//! Files that others read, of which the workspace only has to know when they are others: a change of one is news as a
//! change of a configuration is. What stands in them is not looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::stamp::Stamp;

/// See the module. Clones are one.
#[derive(Clone, Default)]
pub struct NotedFiles(Arc<Mutex<Files>>);

#[derive(Default)]
struct Files {
    noted: BTreeMap<PathBuf, Noted>,
    /// The same paths, at hand for every look.
    paths: Arc<[PathBuf]>,
}

struct Noted {
    stamp: Option<Stamp>,
    /// How many asked for it.
    held: usize,
}

impl Files {
    fn list(&mut self) {
        self.paths = self.noted.keys().cloned().collect();
    }
}

impl NotedFiles {
    /// Notes a file as it is now; blocks on the file system. What is read of it afterwards is at least as new.
    pub fn note(&self, path: &Path) {
        let stamp = Stamp::of(path);
        let mut files = self.lock();
        files.noted.entry(path.to_owned()).or_insert(Noted { stamp, held: 0 }).held += 1;
        files.list();
    }

    /// Undoes one [`Self::note`].
    pub fn forget(&self, path: &Path) {
        let mut files = self.lock();
        if let Some(noted) = files.noted.get_mut(path) {
            noted.held -= 1;
            if noted.held == 0 {
                files.noted.remove(path);
                files.list();
            }
        }
    }

    /// The files.
    pub fn paths(&self) -> Arc<[PathBuf]> {
        self.lock().paths.clone()
    }

    /// Whether all are as at the last look. Blocks on the file system.
    pub fn are_same(&self) -> bool {
        self.paths().iter().all(|path| {
            let stamp = Stamp::of(path);
            self.lock().noted.get(path).is_none_or(|noted| noted.stamp == stamp)
        })
    }

    /// Whether one of them is another than at the last look; from then on it is not. Blocks on the file system.
    pub fn look(&self) -> bool {
        let mut changed = false;
        // Without the lock, since a file system can hang.
        for path in self.paths().iter() {
            let stamp = Stamp::of(path);
            if let Some(noted) = self.lock().noted.get_mut(path).filter(|noted| noted.stamp != stamp) {
                (noted.stamp, changed) = (stamp, true);
            }
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_once_and_only_of_files_that_somebody_wants_to_know_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let files = NotedFiles::default();
        assert!(!files.look());
        files.note(&path);
        files.note(&path);
        assert!(!files.look(), "it is as it was");
        std::fs::write(&path, "a").unwrap();
        assert!(!files.are_same());
        assert_eq!((files.look(), files.look(), files.are_same()), (true, false, true));
        files.forget(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(files.look(), "one still does");
        files.forget(&path);
        files.forget(&path);
        std::fs::write(&path, "b").unwrap();
        assert!(!files.look() && files.paths().is_empty());
    }
}
