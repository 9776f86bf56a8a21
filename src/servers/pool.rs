//! The servers of the process: started when first named, shared by all who name the same, ended with the last of them.
//!
//! They live on threads of their own, which are there once there is a server: a connection's threads end with it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::time::{Duration, Instant};

use tokio::runtime::{self, Handle, Runtime};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::cache::Cache;
use super::life::{self, Around};
use super::oauth::Store;
use super::process::{GRACE, Starter};
use super::server::{Attached, Server};
use super::spec::Spec;
use super::tools;

/// Threads that all servers are spoken to on; what takes long of one is not to hold up another.
const THREADS: usize = 2;

/// See the module.
pub struct Pool {
    launcher: Option<PathBuf>,
    cache: Cache,
    grants: Store,
    state: Mutex<Pooled>,
    news: watch::Sender<u64>,
    /// Since when the process is about to end.
    ending: watch::Sender<Option<Instant>>,
}

#[derive(Default)]
struct Pooled {
    engine: Option<Engine>,
    servers: Vec<Weak<Attached>>,
    ended: bool,
}

struct Engine {
    runtime: Runtime,
    starter: Arc<Starter>,
    /// Cancelled with all servers.
    end: CancellationToken,
    /// A clone is held by each life; the last to go closes the channel.
    alive: mpsc::Sender<()>,
    gone: mpsc::Receiver<()>,
}

impl Pool {
    /// Without servers. `launcher` is this program, `cache` the folder for what may be lost, `user` that of the user's
    /// configuration.
    pub fn new(launcher: Option<PathBuf>, cache: Option<PathBuf>, user: Option<&Path>) -> Self {
        Self {
            launcher,
            cache: Cache(cache),
            grants: Store::new(user),
            state: Mutex::default(),
            news: watch::Sender::new(0),
            ending: watch::Sender::new(None),
        }
    }

    /// The folder for what may be lost.
    pub fn cache_folder(&self) -> Option<&PathBuf> {
        self.cache.0.as_ref()
    }

    /// Counts changes of any server.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// The server that is so described: one that runs if it may be shared, else a new one, which starts in the
    /// background. Reads its last known tools from disk.
    ///
    /// # Errors
    /// Where the system gives no thread, and when the process is ending.
    pub fn attach(&self, spec: Spec) -> io::Result<Arc<Attached>> {
        let mut state = self.state();
        if state.ended {
            return Err(io::Error::other("the sidecar is ending"));
        }
        state.servers.retain(|server| server.strong_count() > 0);
        if spec.shared
            && let Some(kept) = state.servers.iter().filter_map(Weak::upgrade).find(|kept| kept.spec.is_same(&spec))
        {
            return Ok(kept);
        }
        let source = tools::last_known(&spec, &self.cache);
        let engine = match &mut state.engine {
            Some(engine) => engine,
            none => none.insert(Engine::start()?),
        };
        let server = Arc::new(Server::new(spec, source, self.news.clone(), &self.grants));
        let end = engine.end.child_token();
        let attached = Arc::new(Attached::new(server.clone(), engine.handle(), end.clone()));
        let around = Around {
            starter: engine.starter.clone(),
            launcher: self.launcher.clone(),
            cache: self.cache.clone(),
            ending: self.ending.subscribe(),
        };
        let alive = engine.alive.clone();
        engine.runtime.spawn(async move {
            let _alive = alive;
            life::live(server, around, end).await;
        });
        state.servers.push(Arc::downgrade(&attached));
        Ok(attached)
    }

    /// The process is about to end: servers end with who uses them, or soon; see [`life::live`].
    pub fn begin_end(&self) {
        self.ending.send_if_modified(|since| since.is_none() && since.replace(Instant::now()).is_none());
    }

    /// Ends all servers and waits until they have. None starts any more.
    pub fn end(&self) {
        let engine = {
            let mut state = self.state();
            state.ended = true;
            state.engine.take()
        };
        let Some(Engine { runtime, starter, end, alive, gone }) = engine else { return };
        self.begin_end();
        end.cancel();
        drop(alive);
        // One that was killed is gone soon after.
        let _ = gone.recv_timeout(GRACE + Duration::from_secs(1));
        drop(starter);
        runtime.shutdown_background();
    }

    fn state(&self) -> MutexGuard<'_, Pooled> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.end();
    }
}

impl Engine {
    fn start() -> io::Result<Self> {
        let mut runtime = runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(THREADS).max_blocking_threads(THREADS).thread_name("toolscout-mcp");
        let runtime = runtime.enable_all().build()?;
        let starter = Arc::new(Starter::new(runtime.handle().clone())?);
        let (alive, gone) = mpsc::channel();
        Ok(Self { runtime, starter, end: CancellationToken::new(), alive, gone })
    }

    fn handle(&self) -> Handle {
        self.runtime.handle().clone()
    }
}
