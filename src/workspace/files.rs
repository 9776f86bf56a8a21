//! The files of a workspace as they were last read well.
//!
//! A file that cannot be read or parsed keeps its last good content and gets a diagnostic; a file that is gone is gone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::stamp::Stamp;
use crate::catalog::pattern::content_hash;
use crate::diagnostic::{Diagnostic, Severity};

/// Reads the bytes of one file.
pub type Parse<T> = dyn Fn(&Path, &[u8]) -> Result<T, Diagnostic> + Send + Sync;

/// Files of one kind, by path.
pub struct Files<T> {
    parse: Box<Parse<T>>,
    kept: BTreeMap<PathBuf, Kept<T>>,
}

struct Kept<T> {
    stamp: Option<Stamp>,
    read: SystemTime,
    content: u64,
    good: Option<T>,
    /// Why the present content is not the one in `good`.
    problem: Option<Diagnostic>,
}

impl<T> Files<T> {
    /// No files yet.
    pub fn new(parse: Box<Parse<T>>) -> Self {
        Self { parse, kept: BTreeMap::new() }
    }

    /// Makes the kept files those at `paths`, reading what changed. `named` are files that a person named, whose
    /// absence is a problem. True if anything changed.
    pub fn refresh(&mut self, paths: &[PathBuf], named: &[PathBuf]) -> bool {
        let before = self.kept.len();
        self.kept.retain(|path, _| paths.contains(path));
        let mut changed = self.kept.len() != before;
        for path in paths {
            changed |= self.look(path, named.contains(path));
        }
        changed
    }

    fn look(&mut self, path: &Path, named: bool) -> bool {
        let stamp = Stamp::of(path);
        if let Some(kept) = self.kept.get(path)
            && kept.stamp == stamp
            && stamp.as_ref().is_none_or(|stamp| stamp.is_settled(kept.read))
        {
            return false;
        }
        let read = SystemTime::now();
        match std::fs::read(path) {
            Ok(bytes) => self.take(path, stamp, read, &bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !named => self.kept.remove(path).is_some(),
            Err(error) => self.fail(path, stamp, read, 0, unreadable(path, &error)),
        }
    }

    fn take(&mut self, path: &Path, stamp: Option<Stamp>, read: SystemTime, bytes: &[u8]) -> bool {
        let content = content_hash(&bytes);
        if let Some(kept) = self.kept.get_mut(path)
            && kept.content == content
            && kept.stamp.is_some()
        {
            (kept.stamp, kept.read) = (stamp, read);
            return false;
        }
        match (self.parse)(path, bytes) {
            Ok(good) => {
                let kept = Kept { stamp, read, content, good: Some(good), problem: None };
                self.kept.insert(path.to_owned(), kept);
                true
            }
            Err(problem) => self.fail(path, stamp, read, content, problem),
        }
    }

    fn fail(&mut self, path: &Path, stamp: Option<Stamp>, read: SystemTime, content: u64, problem: Diagnostic) -> bool {
        let good = self.kept.remove(path);
        let changed = good.as_ref().is_none_or(|kept| kept.problem.as_ref() != Some(&problem));
        let good = good.and_then(|kept| kept.good);
        self.kept.insert(path.to_owned(), Kept { stamp, read, content, good, problem: Some(problem) });
        changed
    }

    /// The last good content of every file, by path.
    pub fn good(&self) -> impl Iterator<Item = (&Path, &T)> {
        self.kept.iter().filter_map(|(path, kept)| Some((path.as_path(), kept.good.as_ref()?)))
    }

    /// The last good content of one file.
    pub fn get(&self, path: &Path) -> Option<&T> {
        self.kept.get(path)?.good.as_ref()
    }

    /// Files whose present content is not served.
    pub fn problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.kept.values().filter_map(|kept| kept.problem.as_ref())
    }

    /// Whether a file could not be read and no good version of it is known.
    pub fn degraded(&self) -> bool {
        self.kept.values().any(|kept| kept.good.is_none())
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file: create it, or take it off the command line".to_owned(),
        io::ErrorKind::PermissionDenied => "the file may not be read: change its permissions".to_owned(),
        _ => format!("the file cannot be read: {error}"),
    };
    Diagnostic {
        file: path.display().to_string(),
        line: 0,
        column: 0,
        severity: Severity::Error,
        code: "file-unreadable",
        message,
        pointer: String::new(),
    }
}

/// Files in a folder with one of these extensions, by name. Empty where there is no such folder.
pub fn in_folder(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            !hidden && extensions.contains(&extension) && !path.is_dir()
        })
        .collect();
    found.sort();
    found
}
