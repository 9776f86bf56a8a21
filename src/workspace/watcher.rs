//! Being told by the system that a file may have changed.
//!
//! Folders are watched, never files: the watch on a file is dead once somebody saves by renaming. Promises: what was
//! called in [`Watcher::arm`] is watched from then on, or the mode says why it is not; an event says that it is time
//! to look, never what is there. It does not look.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use notify::{ErrorKind, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::lookups::Lookups;
use super::network;

/// How changes come to be noticed while nobody asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// By the system's events.
    Native,
    /// By looking every so often, and why.
    Poll(String),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// To an entry that matters.
    Entry,
    /// To a watched folder itself, whose watch may be dead.
    Folder(PathBuf),
    /// Events were lost, anything may have happened.
    Anything,
}

/// See the module.
pub struct Watcher {
    tell: Arc<dyn Fn(Touched) + Send + Sync>,
    native: Option<RecommendedWatcher>,
    wanted: Arc<ArcSwap<Lookups>>,
    armed: BTreeSet<PathBuf>,
    mode: Mode,
}

impl Watcher {
    /// Watches nothing yet. `tell` is called from a thread of the watcher's.
    pub fn new(tell: impl Fn(Touched) + Send + Sync + 'static) -> Self {
        Self { tell: Arc::new(tell), native: None, wanted: Arc::default(), armed: BTreeSet::new(), mode: Mode::Native }
    }

    /// How changes are noticed since the last call of [`Self::arm`].
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// What was said of `touched` makes its watch, and those below it, worth nothing.
    pub fn forget(&mut self, touched: Touched) {
        let is_lost = |folder: &PathBuf| match &touched {
            Touched::Entry => false,
            Touched::Folder(path) => folder.starts_with(path),
            Touched::Anything => true,
        };
        self.unwatch(is_lost);
    }

    fn unwatch(&mut self, unwanted: impl Fn(&PathBuf) -> bool) {
        self.armed.retain(|folder| {
            let unwanted = unwanted(folder);
            if unwanted && let Some(native) = &mut self.native {
                // It fails where the watch has ended with its folder.
                let _ = native.unwatch(folder);
            }
            !unwanted
        });
    }

    /// Watches what is wanted and nothing else. True if anything had to change: what happened just before was not seen.
    pub fn arm(&mut self, wanted: Lookups) -> bool {
        let same = **self.wanted.load() == wanted;
        // Where watching failed it would fail again.
        if same && (self.native.is_none() && !wanted.0.is_empty() || self.armed.len() == wanted.0.len()) {
            return false;
        }
        // Told beforehand, so that the first event finds it.
        self.wanted.store(Arc::new(wanted));
        // The library panics where its thread could not be started.
        let outcome = catch_unwind(AssertUnwindSafe(|| self.watch()));
        match outcome.unwrap_or_else(|_| Err("the watcher cannot be started".to_owned())) {
            Ok(()) => self.mode = Mode::Native,
            Err(reason) => self.stop(reason),
        }
        true
    }

    /// Watches nothing until it is armed again.
    pub fn rest(&mut self, reason: &str) {
        self.wanted.store(Arc::default());
        self.stop(reason.to_owned());
    }

    fn stop(&mut self, reason: String) {
        self.native = None;
        self.armed.clear();
        self.mode = Mode::Poll(reason);
    }

    fn watch(&mut self) -> Result<(), String> {
        let wanted = self.wanted.load_full();
        if let Some((folder, kind)) = wanted.0.keys().find_map(|folder| Some((folder, network::kind(folder)?))) {
            return Err(format!("{} is on a network file system ({kind})", folder.display()));
        }
        self.unwatch(|folder| !wanted.0.contains_key(folder));
        let native = match &mut self.native {
            Some(native) => native,
            empty => empty.insert(start(self.tell.clone(), self.wanted.clone()).map_err(|error| said(&error))?),
        };
        for folder in wanted.0.keys().filter(|folder| !self.armed.contains(*folder)).collect::<Vec<_>>() {
            match native.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.armed.insert(folder.clone());
                }
                // Gone since it was looked up: looking it up again finds what to watch instead.
                Err(error) if is_missing(&error) => {}
                Err(error) => return Err(said(&error)),
            }
        }
        Ok(())
    }
}

fn start(
    tell: Arc<dyn Fn(Touched) + Send + Sync>,
    wanted: Arc<ArcSwap<Lookups>>,
) -> notify::Result<RecommendedWatcher> {
    let handle = move |event: notify::Result<Event>| match event {
        Ok(event) => touched(&event, &wanted.load()).into_iter().for_each(|touched| tell(touched)),
        Err(error) => {
            tracing::warn!(%error, "watching files failed");
            tell(Touched::Anything);
        }
    };
    RecommendedWatcher::new(handle, notify::Config::default().with_follow_symlinks(false))
}

/// What an event means.
fn touched(event: &Event, wanted: &Lookups) -> Vec<Touched> {
    // Our own reading makes some.
    if matches!(event.kind, EventKind::Access(_)) {
        return Vec::new();
    }
    if event.need_rescan() {
        return vec![Touched::Anything];
    }
    let meaning = |path: &PathBuf| match wanted.0.contains_key(path) {
        true => Touched::Folder(path.clone()),
        false => Touched::Entry,
    };
    event.paths.iter().filter(|path| wanted.matter(path)).map(meaning).collect()
}

fn is_missing(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

fn said(error: &notify::Error) -> String {
    let about = error.paths.first().map(|path: &PathBuf| format!("{}: ", Path::display(path))).unwrap_or_default();
    match &error.kind {
        ErrorKind::MaxFilesWatch => "the system has no watch left for another folder".to_owned(),
        ErrorKind::Io(error) => format!("{about}{error}"),
        other => format!("{about}{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use notify::event::{AccessKind, CreateKind, Flag, ModifyKind};

    use super::*;
    use crate::workspace::lookups::Target;

    fn lookups(folder: &Path) -> Lookups {
        let folder = folder.canonicalize().unwrap();
        Lookups::of(&[Target { path: folder.clone(), base: folder, folder: true }])
    }

    #[test]
    fn events_mean_something_only_where_it_matters() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = lookups(folder.path());
        let root = folder.path().canonicalize().unwrap();
        let event = |kind, path: &Path| Event::new(kind).add_path(path.to_owned());
        let access = EventKind::Access(AccessKind::Any);
        let (create, modify) = (EventKind::Create(CreateKind::Any), EventKind::Modify(ModifyKind::Any));
        for (label, event, expected) in [
            ("reading a file", event(access, &root.join("a")), vec![]),
            ("writing a file", event(modify, &root.join("a")), vec![Touched::Entry]),
            ("a file below", event(create, &root.join("a/b")), vec![]),
            ("the folder itself", event(modify, &root), vec![Touched::Folder(root.clone())]),
            ("lost events", Event::new(EventKind::Other).set_flag(Flag::Rescan), vec![Touched::Anything]),
        ] {
            assert_eq!(touched(&event, &wanted), expected, "{label}");
        }
    }

    #[test]
    fn a_watch_that_may_be_dead_is_set_again() {
        let folder = tempfile::tempdir().unwrap();
        let (sender, told) = mpsc::channel();
        let mut watcher = Watcher::new(move |touched| drop(sender.send(touched)));
        assert!(watcher.arm(lookups(folder.path())), "the first time");
        assert!(!watcher.arm(lookups(folder.path())), "nothing to do");
        for (touched, again) in [
            (Touched::Entry, false),
            (Touched::Anything, true),
            (Touched::Folder(folder.path().canonicalize().unwrap()), true),
            (Touched::Folder(folder.path().join("elsewhere")), false),
        ] {
            watcher.forget(touched.clone());
            assert_eq!(watcher.arm(lookups(folder.path())), again, "{touched:?}");
            assert_eq!(*watcher.mode(), Mode::Native);
        }
        std::fs::write(folder.path().join("a.json"), "[]").unwrap();
        assert_eq!(told.recv_timeout(Duration::from_secs(30)), Ok(Touched::Entry));
        watcher.rest("asked to");
        assert_eq!(*watcher.mode(), Mode::Poll("asked to".to_owned()));
        assert!(watcher.arm(lookups(folder.path())), "after a rest");
    }
}
