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
        let lost = |folder: &PathBuf| match &touched {
            Touched::Entry => false,
            Touched::Folder(path) => folder.starts_with(path),
            Touched::Anything => true,
        };
        for folder in self.armed.extract_if(.., lost) {
            if let Some(native) = &mut self.native {
                // It fails where the watch has ended with its folder.
                let _ = native.unwatch(&folder);
            }
        }
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
        let native = match &mut self.native {
            Some(native) => native,
            empty => empty.insert(start(self.tell.clone(), self.wanted.clone()).map_err(|error| said(&error))?),
        };
        for folder in self.armed.extract_if(.., |folder| !wanted.0.contains_key(folder)) {
            let _ = native.unwatch(&folder);
        }
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
