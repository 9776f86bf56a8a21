//! Looking at files off the request's thread: one look at a time, shared by all who asked before it began.
//!
//! A look is made for a request, and without one once the files have settled after a change. Whoever subscribed learns
//! of every look that found something new; neither side keeps the other alive. A file system can hang; the thread
//! hangs then, and requests go on with the last good snapshot.
//!
//! Where all files are on this machine a request first glances at them itself: most find nothing new, and the way to the
//! thread and back costs more than all that they ask for.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use super::lookups::Lookups;
use super::network;
use super::noted::NotedFiles;
use super::settle::Settling;
use super::snapshot::{Places, Snapshot, Workspace};
use super::watcher::{Mode, Touched, Watcher};

/// Longest a request waits for a look at the files once there is a snapshot to answer from.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest it waits for the very first.
const FIRST_PATIENCE: Duration = Duration::from_secs(60);
/// Time between looks where events cannot be had.
const POLL: Duration = Duration::from_secs(1);
/// Looks in a row because folders come and go while they are being watched; after that they get time to settle.
const LOOKS: usize = 8;

/// What the files said last; `None` before the first look.
pub type News = watch::Receiver<Option<Arc<Snapshot>>>;

/// The snapshots of one workspace.
pub struct Loader {
    workspace: Arc<Workspace>,
    messages: mpsc::Sender<Message>,
    news: News,
    stale: AtomicBool,
    shared: Arc<Shared>,
    noted: NotedFiles,
}

/// What the thread and its users both see.
struct Shared {
    mode: Mutex<Mode>,
    /// Whether all folders are known to be on this machine.
    local: AtomicBool,
    /// How many ask for polling.
    polled: AtomicUsize,
}

enum Message {
    Look(oneshot::Sender<Arc<Snapshot>>),
    Touched(Touched),
    /// What is to be watched, or whether, may be another.
    Rewatch,
    End,
}

/// Files whose changes are news as long as this is held.
pub struct Noting {
    files: NotedFiles,
    paths: Vec<PathBuf>,
    messages: mpsc::Sender<Message>,
}

/// Files are polled as long as one of these is held.
pub struct Polling {
    messages: mpsc::Sender<Message>,
    shared: Arc<Shared>,
}

impl Loader {
    /// Starts the thread; it ends with the loader.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(places: Places) -> std::io::Result<Self> {
        let (messages, received) = mpsc::channel();
        let (publish, news) = watch::channel(None);
        let mode = Mutex::new(Mode::Native);
        let shared = Arc::new(Shared { mode, local: AtomicBool::new(false), polled: AtomicUsize::new(0) });
        let touched = messages.clone();
        let workspace = Arc::new(Workspace::new(places));
        let noted = workspace.noted();
        let looker = Looker {
            workspace: workspace.clone(),
            // Once the thread has ended nobody listens.
            watcher: Watcher::new(move |what| drop(touched.send(Message::Touched(what)))),
            messages: received,
            publish,
            settling: Settling::default(),
            looked: Instant::now(),
            shared: shared.clone(),
        };
        std::thread::Builder::new().name("toolscout-files".to_owned()).spawn(move || looker.run())?;
        Ok(Self { workspace, messages, news, stale: AtomicBool::new(false), shared, noted })
    }

    /// What the files say at or after this call; where they do not answer in time, what they last said. `None` where
    /// they never said anything.
    pub async fn fresh(&self) -> Option<Arc<Snapshot>> {
        if self.shared.local.load(Ordering::Relaxed)
            && let Some(snapshot) = self.workspace.glance()
        {
            self.stale.store(false, Ordering::Relaxed);
            return Some(snapshot);
        }
        let patience = if self.news.borrow().is_some() { PATIENCE } else { FIRST_PATIENCE };
        let (answer, waiting) = oneshot::channel();
        let asked = self.messages.send(Message::Look(answer)).is_ok();
        match tokio::time::timeout(patience, waiting).await {
            Ok(Ok(snapshot)) if asked => {
                self.stale.store(false, Ordering::Relaxed);
                Some(snapshot)
            }
            _ => {
                self.stale.store(true, Ordering::Relaxed);
                self.news.borrow().clone()
            }
        }
    }

    /// What the files say from now on, whether anybody asks or not. It ends with the loader.
    pub fn subscribe(&self) -> News {
        self.news.clone()
    }

    /// Whether the last look did not end in time.
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }

    /// How changes are noticed while nobody asks.
    pub fn mode(&self) -> Mode {
        if self.shared.polled.load(Ordering::Relaxed) > 0 {
            return Mode::Poll(CONFIGURED.to_owned());
        }
        self.shared.mode.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has changes of these files told too. What is read of them after this is at least as new as what is compared with.
    /// Blocks on the file system.
    pub fn note(&self, paths: Vec<PathBuf>) -> Noting {
        // Until it is known where they are.
        self.shared.local.store(paths.is_empty() && self.shared.local.load(Ordering::Relaxed), Ordering::Relaxed);
        paths.iter().for_each(|path| self.noted.note(path));
        let _ = self.messages.send(Message::Rewatch);
        Noting { files: self.noted.clone(), paths, messages: self.messages.clone() }
    }

    /// Has the files polled.
    pub fn poll(&self) -> Polling {
        self.shared.polled.fetch_add(1, Ordering::Relaxed);
        // Requests wait for the thread until it has taken this up.
        self.shared.local.store(false, Ordering::Relaxed);
        let _ = self.messages.send(Message::Rewatch);
        Polling { messages: self.messages.clone(), shared: self.shared.clone() }
    }
}

/// Why files are polled that could be watched.
const CONFIGURED: &str = "`watch` is `poll` in the configuration";

impl Drop for Loader {
    fn drop(&mut self) {
        // The watcher holds a sender too, so the channel does not close by itself.
        let _ = self.messages.send(Message::End);
    }
}

impl Drop for Noting {
    fn drop(&mut self) {
        self.paths.iter().for_each(|path| self.files.forget(path));
        let _ = self.messages.send(Message::Rewatch);
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        self.shared.polled.fetch_sub(1, Ordering::Relaxed);
        let _ = self.messages.send(Message::Rewatch);
    }
}

/// The thread.
struct Looker {
    workspace: Arc<Workspace>,
    watcher: Watcher,
    messages: mpsc::Receiver<Message>,
    publish: watch::Sender<Option<Arc<Snapshot>>>,
    settling: Settling,
    /// When the files were last looked at without a request.
    looked: Instant,
    shared: Arc<Shared>,
}

impl Looker {
    fn run(mut self) {
        loop {
            let due = self.due();
            if due.is_some_and(|due| due <= Instant::now()) {
                self.look_unasked();
                continue;
            }
            let received = match due {
                Some(due) => self.messages.recv_timeout(due.saturating_duration_since(Instant::now())),
                None => self.messages.recv().map_err(RecvTimeoutError::from),
            };
            let mut waiting = Vec::new();
            let flow = match received {
                Ok(message) => self.take(message, &mut waiting),
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            if flow.is_break() || !waiting.is_empty() && self.answer(waiting).is_break() {
                return;
            }
        }
    }

    fn take(&mut self, message: Message, waiting: &mut Vec<oneshot::Sender<Arc<Snapshot>>>) -> ControlFlow<()> {
        match message {
            Message::Look(answer) => waiting.push(answer),
            Message::Touched(what) => {
                self.watcher.forget(what);
                self.settling.note(Instant::now());
            }
            Message::Rewatch if self.watch() => self.settling.note(Instant::now()),
            Message::Rewatch => {}
            Message::End => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// Looks for those who wait, and for all who have asked by now.
    fn answer(&mut self, mut waiting: Vec<oneshot::Sender<Arc<Snapshot>>>) -> ControlFlow<()> {
        while let Ok(message) = self.messages.try_recv() {
            self.take(message, &mut waiting)?;
        }
        let is_first = self.publish.borrow().is_none();
        let snapshot = self.look();
        for answer in waiting {
            // Who no longer waits has been cancelled.
            let _ = answer.send(snapshot.clone());
        }
        if is_first {
            // Only now: the first request is not to wait for the watcher.
            self.look_unasked();
        }
        ControlFlow::Continue(())
    }

    fn look(&self) -> Arc<Snapshot> {
        let snapshot = self.workspace.refresh();
        self.publish.send_if_modified(|latest| {
            let new = latest.as_ref().is_none_or(|latest| !Arc::ptr_eq(latest, &snapshot));
            *latest = Some(snapshot.clone());
            new
        });
        snapshot
    }

    /// Looks because something happened. What is watched first, or found to need watching, is looked at afterwards, so
    /// that nothing falls in between.
    fn look_unasked(&mut self) {
        self.settling.clear();
        self.watch();
        for _ in 0..LOOKS {
            self.look();
            self.looked = Instant::now();
            if !self.watch() {
                return;
            }
        }
        self.settling.note(Instant::now());
    }

    /// Watches what the files are looked up by now. True if that is something else than before.
    fn watch(&mut self) -> bool {
        let changed = if self.shared.polled.load(Ordering::Relaxed) > 0 {
            self.watcher.rest(CONFIGURED);
            false
        } else {
            self.watcher.arm(Lookups::of(&self.workspace.targets()))
        };
        // Only what was armed is known to be no network's.
        self.shared.local.store(network::IS_ASKED && *self.watcher.mode() == Mode::Native, Ordering::Relaxed);
        let mut mode = self.shared.mode.lock().unwrap_or_else(PoisonError::into_inner);
        if *mode != *self.watcher.mode() {
            *mode = self.watcher.mode().clone();
            if let Mode::Poll(reason) = &*mode {
                tracing::info!(reason, "files are polled");
            }
        }
        changed
    }

    /// When to look without being asked, if ever.
    fn due(&self) -> Option<Instant> {
        let poll = matches!(self.watcher.mode(), Mode::Poll(_)).then(|| self.looked + POLL);
        self.settling.due().into_iter().chain(poll).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the sources once there are so many.
    async fn sources(news: &mut News, count: usize) -> Vec<String> {
        let enough = |snapshot: &Option<Arc<Snapshot>>| snapshot.as_ref().is_some_and(|it| it.sources.len() == count);
        let waiting = tokio::time::timeout(Duration::from_secs(30), news.wait_for(enough));
        let snapshot = waiting.await.expect("news in time").expect("a living loader").clone();
        snapshot.iter().flat_map(|snapshot| &snapshot.sources).map(|source| source.info.name.clone()).collect()
    }

    #[tokio::test]
    async fn all_who_subscribed_learn_what_is_new_and_of_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { registry: vec![folder.path().join("tools")], ..Places::default() };
        let loader = Loader::start(places).unwrap();
        let (mut one, mut two) = (loader.subscribe(), loader.subscribe());
        let first = loader.fresh().await.unwrap();
        assert_eq!(first.sources.len(), 0);
        std::fs::create_dir(folder.path().join("tools")).unwrap();
        for (count, names) in [(1, vec!["a"]), (2, vec!["a", "b"])] {
            std::fs::write(folder.path().join(format!("tools/{}.json", names[count - 1])), "[]").unwrap();
            assert_eq!(sources(&mut one, count).await, names);
            assert_eq!(sources(&mut two, count).await, names);
        }
        let again = loader.fresh().await.unwrap();
        assert!(Arc::ptr_eq(&again, one.borrow().as_ref().unwrap()), "nothing new is no news");
        drop(loader);
        let end = tokio::time::timeout(Duration::from_secs(30), one.wait_for(|_| false));
        assert!(end.await.expect("the end in time").is_err());
    }

    #[tokio::test]
    async fn files_are_polled_as_long_as_anybody_asks_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { workspace: Some(folder.path().to_owned()), ..Places::default() };
        let loader = Loader::start(places).unwrap();
        loader.fresh().await;
        loader.fresh().await;
        assert_eq!(loader.mode(), Mode::Native);
        let (one, two) = (loader.poll(), loader.poll());
        drop(one);
        assert!(matches!(loader.mode(), Mode::Poll(_)));
        drop(two);
        loader.fresh().await;
        assert_eq!(loader.mode(), Mode::Native);
    }
}
