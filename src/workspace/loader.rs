//! Looking at files off the request's thread: one look at a time, shared by all who asked before it began.
//!
//! A file system can hang; a thread of its own hangs then, and requests go on with the last good snapshot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::oneshot;

use super::snapshot::{Places, Snapshot, Workspace};

/// Longest a request waits for a look at the files once there is a snapshot to answer from.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest it waits for the very first.
const FIRST_PATIENCE: Duration = Duration::from_secs(60);

/// The snapshots of one workspace.
pub struct Loader {
    asked: mpsc::Sender<oneshot::Sender<Arc<Snapshot>>>,
    latest: Arc<ArcSwapOption<Snapshot>>,
    stale: AtomicBool,
}

impl Loader {
    /// Starts the thread; it ends with the loader.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn start(places: Places) -> std::io::Result<Self> {
        let (asked, asks) = mpsc::channel::<oneshot::Sender<Arc<Snapshot>>>();
        let latest = Arc::new(ArcSwapOption::empty());
        let publish = latest.clone();
        std::thread::Builder::new().name("toolscout-files".to_owned()).spawn(move || {
            let workspace = Workspace::new(places);
            while let Ok(first) = asks.recv() {
                let mut waiting = vec![first];
                waiting.extend(asks.try_iter());
                let snapshot = workspace.refresh();
                publish.store(Some(snapshot.clone()));
                for answer in waiting {
                    // Who no longer waits has been cancelled.
                    let _ = answer.send(snapshot.clone());
                }
            }
        })?;
        Ok(Self { asked, latest, stale: AtomicBool::new(false) })
    }

    /// What the files say at or after this call; where they do not answer in time, what they last said. `None` where
    /// they never said anything.
    pub async fn fresh(&self) -> Option<Arc<Snapshot>> {
        let patience = if self.latest.load().is_some() { PATIENCE } else { FIRST_PATIENCE };
        let (answer, waiting) = oneshot::channel();
        let asked = self.asked.send(answer).is_ok();
        match tokio::time::timeout(patience, waiting).await {
            Ok(Ok(snapshot)) if asked => {
                self.stale.store(false, Ordering::Relaxed);
                Some(snapshot)
            }
            _ => {
                self.stale.store(true, Ordering::Relaxed);
                self.latest.load_full()
            }
        }
    }

    /// Whether the last look did not end in time.
    pub fn is_stale(&self) -> bool {
        self.stale.load(Ordering::Relaxed)
    }
}
