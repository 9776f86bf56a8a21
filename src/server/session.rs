//! What belongs to one connection: its phase, its registrations, and the catalog they make with the files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use serde_json::value::RawValue;
use tokio::sync::watch;

use super::changes::Following;
use super::checkers::Checkers;
use super::current::Built;
use super::metrics::Metrics;
use super::order::{Before, Order, Turn};
use crate::catalog::source::Source;
use crate::connectors::Gateways;
use crate::connectors::gateway::Bounds;
use crate::diagnostic::Diagnostic;
use crate::protocol::errors::RpcError;
use crate::protocol::lifecycle::HostCapabilities;
use crate::rpc;
use crate::servers::Pool;
use crate::workspace::layers::ConfigLayer;
use crate::workspace::loader::{Loader, Polling};
use crate::workspace::snapshot::Places;

/// What the command line said.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where files are looked for. Its workspace is that of `--workspace`, which wins over `initialize`.
    pub places: Places,
    /// The workspace where neither names one: the working directory.
    pub working_directory: Option<PathBuf>,
    /// `--trust-workspace`.
    pub trust_workspace: bool,
    /// The process's own variables, for a host that gives none.
    pub environment: BTreeMap<String, String>,
    /// The folder for what may be lost, `$XDG_CACHE_HOME/toolscout`.
    pub cache: Option<PathBuf>,
    /// Whether MCP servers are only read about, and none is started.
    pub without_servers: bool,
    /// This program, through which MCP servers are started so that none outlives it.
    pub launcher: Option<PathBuf>,
    /// How long is waited for the connector gateway, and for who connects accounts there.
    pub gateway: Bounds,
}

/// What all connections of the process share.
pub struct Process {
    /// What the command line said.
    pub options: Options,
    /// When it started.
    pub started: Instant,
    /// Open connections.
    pub connections: AtomicUsize,
    /// Compiled schemas, by content.
    pub checkers: Checkers,
    /// MCP servers, by what configuration says of them.
    pub servers: Pool,
    /// Accounts at connector gateways.
    pub gateways: Arc<Gateways>,
    loaders: Mutex<Vec<(Places, Weak<Loader>)>>,
}

impl Process {
    /// A process without connections.
    pub fn new(options: Options) -> Self {
        Self {
            servers: Pool::new(options.launcher.clone(), options.cache.clone(), options.places.user.as_deref()),
            started: Instant::now(),
            connections: AtomicUsize::new(0),
            checkers: Checkers::default(),
            gateways: Arc::new(Gateways::new(options.gateway)),
            loaders: Mutex::default(),
            options,
        }
    }

    /// The files at these places, read once for all connections that use them.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn loader(&self, places: Places) -> std::io::Result<Arc<Loader>> {
        let mut loaders = self.loaders.lock().unwrap_or_else(PoisonError::into_inner);
        loaders.retain(|(_, loader)| loader.strong_count() > 0);
        let kept = loaders.iter().find(|(known, _)| *known == places).and_then(|(_, loader)| loader.upgrade());
        if let Some(loader) = kept {
            return Ok(loader);
        }
        let loader = Arc::new(Loader::start(places.clone())?);
        loaders.push((places, Arc::downgrade(&loader)));
        Ok(loader)
    }
}

/// What the entries of servers mean for one connection.
pub struct ServerAsking {
    /// Variables that they may name.
    pub environment: BTreeMap<String, String>,
    /// Where servers run unless they say otherwise.
    pub folder: Option<PathBuf>,
}

/// What `initialize` settled.
pub struct Opened {
    /// Where files are looked for.
    pub places: Places,
    /// The files.
    pub loader: Arc<Loader>,
    /// The host's layers of configuration.
    pub layers: Vec<ConfigLayer>,
    /// What the entries of servers mean here.
    pub asking: Arc<ServerAsking>,
    /// Whether flag or host trust the workspace.
    pub trusted: bool,
    /// What the host can be asked.
    pub host: HostCapabilities,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    Initializing,
    Ready,
    ShutDown,
}

/// One connection.
pub struct Session {
    /// What all connections share.
    pub process: Arc<Process>,
    /// Limit of the connection's messages, set by configuration.
    pub max_message_bytes: Arc<AtomicUsize>,
    /// Requests, counted and timed.
    pub metrics: Metrics,
    phase: Arc<watch::Sender<Phase>>,
    opened: OnceLock<Opened>,
    registrations: Mutex<Registrations>,
    order: Arc<Order>,
    /// The catalog in use.
    pub(super) built: Mutex<Option<Built>>,
    /// Held while a catalog is made, so that one is made at a time and its news go out in order.
    pub(super) building: tokio::sync::Mutex<()>,
    /// What was last published, by file.
    pub(super) published: Mutex<BTreeMap<String, Vec<Diagnostic>>>,
    /// Takes up what the files say while nobody asks.
    pub(super) following: OnceLock<Following>,
    /// Held while this connection's configuration asks for polling.
    pub(super) polling: Mutex<Option<Polling>>,
    /// Fingerprints of what the host was asked to approve.
    pub(super) asked: Mutex<BTreeSet<String>>,
}

/// What the connection adds to the files, and how often that changed.
#[derive(Default)]
pub struct Registrations {
    /// Its sources, by name.
    pub sources: BTreeMap<String, Arc<Source>>,
    /// Fingerprints of what its host approved and could not be kept.
    pub approved: BTreeSet<String>,
    /// Counts changes.
    pub revision: u64,
}

fn leave_initializing(phase: &watch::Sender<Phase>, next: Phase) {
    phase.send_if_modified(|phase| {
        let ends = *phase == Phase::Initializing;
        if ends {
            *phase = next;
        }
        ends
    });
}

/// An `initialize` on its way. When it is dropped and has not ended well, whatever became of it (parameters that
/// cannot be read, a panic), the requests behind it learn of it, and another may come.
pub struct Opening(Arc<watch::Sender<Phase>>);

impl Drop for Opening {
    fn drop(&mut self) {
        leave_initializing(&self.0, Phase::New);
    }
}

/// What the reader settles for a request.
#[derive(Clone)]
pub struct Ticket {
    /// The registrations that arrived before it.
    pub before: Before,
    /// Its own place among them, if it is one.
    pub turn: Option<Arc<Turn>>,
    /// Of `initialize` alone: ends that phase when the request is dropped.
    pub opening: Option<Arc<Opening>>,
    /// When the request was read.
    pub arrived: Instant,
}

impl Session {
    /// A session before `initialize`.
    pub fn new(process: Arc<Process>) -> Self {
        process.connections.fetch_add(1, Ordering::Relaxed);
        Self {
            process,
            max_message_bytes: Arc::new(AtomicUsize::new(64 << 20)),
            metrics: Metrics::default(),
            phase: Arc::new(watch::Sender::new(Phase::New)),
            opened: OnceLock::new(),
            registrations: Mutex::default(),
            order: Arc::default(),
            built: Mutex::new(None),
            building: tokio::sync::Mutex::default(),
            published: Mutex::default(),
            following: OnceLock::new(),
            polling: Mutex::default(),
            asked: Mutex::default(),
        }
    }

    /// Ends `initialize` well.
    pub(super) fn open(&self, opened: Opened) {
        if self.opened.set(opened).is_ok() {
            leave_initializing(&self.phase, Phase::Ready);
        }
    }

    /// What `initialize` settled, once it has.
    pub(super) async fn opened(&self) -> Result<&Opened, RpcError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let mut phase = self.phase.subscribe();
        let ended = phase.wait_for(|phase| *phase != Phase::Initializing).await;
        drop(ended);
        self.opened.get().ok_or_else(RpcError::not_initialized)
    }

    /// What `initialize` settled, if it has.
    pub(super) fn opened_now(&self) -> Option<&Opened> {
        self.opened.get()
    }

    /// Lets go of all that it works on, servers included, once nobody can ask for it any more.
    pub(super) fn close(&self) {
        *self.built.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn shut_down(&self) {
        self.phase.send_replace(Phase::ShutDown);
    }

    /// Whether `shutdown` was answered.
    pub fn is_shut_down(&self) -> bool {
        *self.phase.borrow() == Phase::ShutDown
    }

    /// The connection's sources.
    pub(super) fn registrations(&self) -> MutexGuard<'_, Registrations> {
        self.registrations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.process.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Methods that change what the connection registered; they take effect in order of arrival.
const REGISTRATIONS: [&str; 2] = ["registry/register", "registry/unregister"];

impl rpc::Session for Session {
    type Ticket = Ticket;

    fn gate(&self, method: &str) -> Result<(), RpcError> {
        let mut outcome = Ok(());
        self.phase.send_if_modified(|phase| {
            let begins = *phase == Phase::New && method == "initialize";
            outcome = match *phase {
                Phase::New if begins => {
                    *phase = Phase::Initializing;
                    Ok(())
                }
                Phase::New if method == "exit" => Ok(()),
                Phase::New => Err(RpcError::not_initialized()),
                _ if method == "initialize" => Err(RpcError::invalid_request("the connection is initialized already")),
                Phase::ShutDown if method != "exit" => {
                    Err(RpcError::invalid_request("the connection was shut down: only `exit` is left"))
                }
                _ => Ok(()),
            };
            begins
        });
        outcome
    }

    fn may_wait(&self, method: &str) -> bool {
        method != "shutdown"
    }

    fn arrive(&self, _seq: u64, method: &str, _params: Option<&RawValue>) -> Ticket {
        let before = self.order.before();
        let turn = REGISTRATIONS.contains(&method).then(|| Arc::new(self.order.turn()));
        let opening = (method == "initialize").then(|| Arc::new(Opening(self.phase.clone())));
        Ticket { before, turn, opening, arrived: Instant::now() }
    }
}
