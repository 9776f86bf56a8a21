//! The files of a workspace as they were last read well.
//!
//! A file that cannot be read or parsed keeps its last good content and gets a diagnostic; a file that is gone is gone.
//! What may have been read while it was written is torn: it is neither served nor told, but to be read again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustc_hash::FxHashSet;

use super::regular::{self, Content, Unread};
use super::settle::SETTLE;
use super::stamp::Stamp;
use crate::catalog::pattern::content_hash;
use crate::diagnostic::Diagnostic;

/// Reads the bytes of one file; its last good content is there to be built upon.
pub type Parse<T> = dyn Fn(&Path, &[u8], Option<&T>) -> Result<T, Diagnostic> + Send + Sync;

/// Files of one kind, by path.
pub struct Files<T> {
    parse: Box<Parse<T>>,
    /// Whether all that a content holds is good, as far as can be told.
    is_sound: fn(&T) -> bool,
    /// Bytes of the largest file that is read.
    limit: u64,
    kept: BTreeMap<PathBuf, Kept<T>>,
    /// Files that are not as they should be, which may be so for a moment only.
    doubted: BTreeMap<PathBuf, Doubt>,
}

/// What was last seen of a file that is not as it should be.
struct Doubt {
    /// Hash of its content, 0 where there was no file.
    content: u64,
    /// Since when it is not.
    since: Instant,
}

/// How long a file that is never left alone may be served as it last was before somebody is told.
const LONGEST_DOUBT: Duration = Duration::from_secs(2);

struct Kept<T> {
    stamp: Option<Stamp>,
    read: SystemTime,
    content: u64,
    good: Option<T>,
    /// Why the present content is not the one in `good`.
    problem: Option<Diagnostic>,
}

impl<T> Kept<T> {
    /// Whether the file is still the one that was read, as its stamp at `now` says.
    fn is_same(&self, stamp: Option<&Stamp>, now: SystemTime) -> bool {
        self.stamp.as_ref() == stamp && stamp.is_none_or(|stamp| stamp.is_settled(self.read, now))
    }
}

/// What a look at files found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// Something is not as it was.
    pub changed: bool,
    /// Something may have been read while it was written, and is still served as it was before.
    pub torn: bool,
}

impl std::ops::BitOrAssign for Look {
    fn bitor_assign(&mut self, other: Self) {
        self.changed |= other.changed;
        self.torn |= other.torn;
    }
}

impl Look {
    const SAME: Self = Self { changed: false, torn: false };
    const CHANGED: Self = Self { changed: true, torn: false };
    const TORN: Self = Self { changed: false, torn: true };

    fn changed(changed: bool) -> Self {
        Self { changed, torn: false }
    }
}

impl<T> Files<T> {
    /// No files yet.
    pub fn new(limit: u64, is_sound: fn(&T) -> bool, parse: Box<Parse<T>>) -> Self {
        Self { parse, is_sound, limit, kept: BTreeMap::new(), doubted: BTreeMap::new() }
    }

    /// Makes the kept files those at `paths`, reading what changed. `named` are files that a person named, whose
    /// absence is a problem. Without `patience` what seems torn is taken as it is, unless there is something good to serve
    /// in its place.
    pub fn refresh(&mut self, paths: &[PathBuf], named: &[PathBuf], patience: bool) -> Look {
        let mut all = Look::SAME;
        let (listed, named): (FxHashSet<&Path>, FxHashSet<&Path>) = (set(paths), set(named));
        let unlisted: Vec<PathBuf> = self.kept.keys().filter(|path| !listed.contains(&***path)).cloned().collect();
        for path in unlisted {
            all |= self.miss(&path, patience);
        }
        for path in paths {
            all |= self.look(path, named.contains(&**path), patience);
        }
        all
    }

    /// Whether [`Self::refresh`] with the same paths would find nothing new and read nothing, at `now`. Files it would look
    /// at for want of a stamp alone are not the same.
    pub fn are_same(&self, paths: &[PathBuf], now: SystemTime) -> bool {
        self.doubted.is_empty()
            && paths.iter().all(|path| {
                let stamp = Stamp::of(path);
                match self.kept.get(path) {
                    Some(kept) => kept.is_same(stamp.as_ref(), now),
                    None => stamp.is_none(),
                }
            })
    }

    fn look(&mut self, path: &Path, named: bool, patience: bool) -> Look {
        let (stamp, read) = (Stamp::of(path), SystemTime::now());
        if self.kept.get(path).is_some_and(|kept| kept.is_same(stamp.as_ref(), read)) {
            return Look::SAME;
        }
        match regular::read(path, self.limit) {
            Ok(content) => self.take(path, content, read, patience),
            Err(Unread::Missing) => match self.miss(path, patience) {
                Look::TORN => Look::TORN,
                _ if named => self.fail(path, None, read, 0, Unread::Missing.diagnostic(path)),
                look => look,
            },
            Err(unread) => {
                // A folder may stand where a file was listed: it is to be listed then, and its stamp says nothing.
                let stamp = stamp.filter(|_| !path.is_dir());
                self.fail(path, stamp, read, 0, unread.diagnostic(path))
            }
        }
    }

    /// There is no such file. One that there was is looked for once more: who saves by removing the old one and writing a
    /// new one leaves a moment in between.
    fn miss(&mut self, path: &Path, patience: bool) -> Look {
        let is_new = self.doubted.remove(path).is_none_or(|doubt| doubt.content != 0);
        if patience && is_new && self.get(path).is_some() {
            self.doubted.insert(path.to_owned(), Doubt { content: 0, since: Instant::now() });
            return Look::TORN;
        }
        Look::changed(self.kept.remove(path).is_some())
    }

    fn take(
        &mut self,
        path: &Path,
        Content { bytes, stamp, moved }: Content,
        read: SystemTime,
        patience: bool,
    ) -> Look {
        let content = content_hash(&bytes);
        if let Some(kept) = self.kept.get_mut(path)
            && kept.content == content
            && kept.stamp.is_some()
        {
            (kept.stamp, kept.read) = (Some(stamp), read);
            self.doubted.remove(path);
            return Look::SAME;
        }
        if moved && patience {
            return Look::TORN;
        }
        let last = self.kept.get(path).and_then(|kept| kept.good.as_ref());
        let parsed = (self.parse)(path, &bytes, last);
        if !parsed.as_ref().is_ok_and(self.is_sound) {
            // By the time now, since the file may have changed after `read`. And twice, since its age may be wrong: ext4
            // empties a file before it moves the stamp.
            let is_young = stamp.age(SystemTime::now()).is_some_and(|age| age < 2 * SETTLE);
            let before = self.doubted.remove(path);
            let is_new = before.as_ref().is_none_or(|doubt| doubt.content != content);
            let since = before.map_or_else(Instant::now, |doubt| doubt.since);
            if (is_young || is_new) && (patience || last.is_some() && since.elapsed() < LONGEST_DOUBT) {
                self.doubted.insert(path.to_owned(), Doubt { content, since });
                return Look::TORN;
            }
        }
        self.doubted.remove(path);
        match parsed {
            Ok(good) => {
                let kept = Kept { stamp: Some(stamp), read, content, good: Some(good), problem: None };
                self.kept.insert(path.to_owned(), kept);
                Look::CHANGED
            }
            Err(problem) => self.fail(path, Some(stamp), read, content, problem),
        }
    }

    fn fail(&mut self, path: &Path, stamp: Option<Stamp>, read: SystemTime, content: u64, problem: Diagnostic) -> Look {
        let before = self.kept.remove(path);
        let changed = before.as_ref().is_none_or(|kept| kept.problem.as_ref() != Some(&problem));
        let good = before.and_then(|kept| kept.good);
        self.kept.insert(path.to_owned(), Kept { stamp, read, content, good, problem: Some(problem) });
        Look::changed(changed)
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

fn set(paths: &[PathBuf]) -> FxHashSet<&Path> {
    paths.iter().map(PathBuf::as_path).collect()
}

/// Files in a folder with one of these extensions, and links, by name. Empty where there is no such folder.
pub fn in_folder(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        // What a link leads to may become a file at any time, which the folder does not show.
        .filter_map(|entry| entry.ok().filter(|entry| entry.file_type().is_ok_and(|found| !found.is_dir())))
        .map(|entry| entry.path())
        .filter(|path| {
            let hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            !hidden && extensions.contains(&extension)
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that begin with `!` cannot be parsed, those that begin with `?` are not sound.
    fn files() -> Files<String> {
        let parse = |path: &Path, bytes: &[u8], _: Option<&String>| match bytes {
            [b'!', ..] => Err(Unread::NotRegular.diagnostic(path)),
            _ => Ok(String::from_utf8_lossy(bytes).into_owned()),
        };
        Files::new(100, |text| !text.starts_with('?'), Box::new(parse))
    }

    fn age(path: &Path) {
        while Stamp::of(path).and_then(|stamp| stamp.age(SystemTime::now())).is_none_or(|age| age < 2 * SETTLE) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn what_may_be_torn_is_neither_served_nor_told() {
        for torn in ["!", "?"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            let mut files = files();
            let mut refresh = |text: Option<&str>, patience| {
                if let Some(text) = text {
                    std::fs::write(&path, text).unwrap();
                }
                let look = files.refresh(std::slice::from_ref(&path), &[], patience);
                (look, files.get(&path).cloned().unwrap_or_default(), files.problems().count())
            };
            let good = || "good".to_owned();
            assert_eq!(refresh(Some("good"), true), (Look::CHANGED, good(), 0));
            assert_eq!(refresh(Some(torn), true), (Look::TORN, good(), 0), "young");
            assert_eq!(refresh(Some("good"), true), (Look::SAME, good(), 0), "whole again");
            std::fs::write(&path, torn).unwrap();
            age(&path);
            assert_eq!(refresh(None, true), (Look::TORN, good(), 0), "old, but seen for the first time");
            let told = if torn == "!" { (Look::CHANGED, good(), 1) } else { (Look::CHANGED, "?".to_owned(), 0) };
            assert_eq!(refresh(None, true), told, "seen twice");
            assert_eq!(refresh(None, true).0, Look::SAME);
            assert_eq!(refresh(Some("better"), true), (Look::CHANGED, "better".to_owned(), 0));
            assert_eq!(refresh(Some(torn), false), (Look::TORN, "better".to_owned(), 0), "there is something to serve");
            let mut cold = self::files();
            assert_eq!(cold.refresh(std::slice::from_ref(&path), &[], true), Look::TORN);
            assert_eq!(cold.refresh(std::slice::from_ref(&path), &[], false), Look::CHANGED, "there is nothing");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_where_a_file_was_listed_is_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        std::fs::create_dir_all(at("listed/folder.json")).unwrap();
        std::fs::create_dir(at("far")).unwrap();
        std::os::unix::fs::symlink(at("far"), at("listed/link.json")).unwrap();
        let paths = in_folder(&at("listed"), &["json"]);
        assert_eq!(paths, [at("listed/link.json")], "it may lead to a file one day");
        let mut files = files();
        age(&at("far"));
        assert_eq!(files.refresh(&paths, &[], true), Look::CHANGED);
        assert_eq!(files.problems().map(|problem| problem.code).collect::<Vec<_>>(), ["file-not-regular"]);
        assert!(!files.are_same(&paths, SystemTime::now()));
        assert_eq!(files.refresh(&paths, &[], true), Look::SAME, "it is told once");
        std::fs::remove_dir(at("far")).unwrap();
        std::fs::write(at("far"), "good").unwrap();
        assert_eq!(files.refresh(&paths, &[], true), Look::CHANGED);
        assert_eq!(files.get(&paths[0]).map(String::as_str), Some("good"));
    }

    #[test]
    fn a_file_that_is_gone_is_gone_and_one_that_cannot_be_read_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let paths = std::slice::from_ref(&path);
        let mut files = files();
        std::fs::write(&path, "good").unwrap();
        files.refresh(paths, &[], true);
        std::fs::write(&path, "x".repeat(101)).unwrap();
        assert_eq!(files.refresh(paths, &[], true), Look::CHANGED);
        assert_eq!(files.get(&path).map(String::as_str), Some("good"));
        assert_eq!(files.problems().map(|problem| problem.code).collect::<Vec<_>>(), ["file-too-large"]);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(files.refresh(&[], &[], true), Look::TORN, "somebody may be about to write it anew");
        assert_eq!(files.get(&path).map(String::as_str), Some("good"));
        assert_eq!(files.refresh(paths, &[], true), Look::CHANGED);
        assert!(files.get(&path).is_none() && files.problems().next().is_none() && !files.degraded());
        assert_eq!(files.refresh(paths, paths, true), Look::CHANGED, "one that a person named is missed");
        assert_eq!(files.problems().count(), 1);
        assert_eq!(files.refresh(paths, paths, true), Look::SAME);
    }
}
