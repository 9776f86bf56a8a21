//! The life of one server: started, asked for its tools, listened to, started again when it ends.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rmcp::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{ClientInitializeError, NotificationContext, Peer, RoleClient, RunningService, ServiceExt};
use rmcp::transport::auth::AuthClient;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::cache::Cache;
use super::call::Waiting;
use super::http;
use super::oauth;
use super::process::{self, GRACE, Process, Starter};
use super::server::{Lost, Server, State};
use super::spec::Reach;
use super::stdout::{self, LONGEST};
use super::tools::{self, Listed, Unlisted, Warning};
use super::transport::{Broken, Lines};

/// Pauses before a server is started again: doubled each time, from the first to the last.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The longest pause for which a server that crashed keeps its tools.
const SHORT: Duration = Duration::from_secs(4);
/// A server that was ready so long begins with the first pause again.
const WELL: Duration = Duration::from_secs(60);
/// Changes of a list are gathered for so long; for a server that goes on changing it, ever longer up to the second.
const GATHER: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));
/// How long requests in flight put off the end of servers when the process is about to end.
const LAST_CALLS: Duration = Duration::from_secs(1);
/// How long the last words of a process that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// What a life needs of those around it.
#[derive(Clone)]
pub struct Around {
    /// Starts processes.
    pub starter: Arc<Starter>,
    /// This program, which starts servers.
    pub launcher: Option<PathBuf>,
    /// Keeps lists of tools.
    pub cache: Cache,
    /// Since when the process is about to end.
    pub ending: watch::Receiver<Option<Instant>>,
}

/// Lives until `end`; where the process is about to end, [`LAST_CALLS`] longer at most, and gone [`GRACE`] after that began.
pub async fn live(server: Arc<Server>, around: Around, end: CancellationToken) {
    let mut pause = PAUSES.0;
    loop {
        let mut body = Body::default();
        let ending = async {
            let mut ending = around.ending.clone();
            tokio::select! {
                () = end.cancelled() => {}
                () = async { let _ = ending.wait_for(Option::is_some).await; tokio::time::sleep(LAST_CALLS).await } => {}
            }
            let since = *around.ending.borrow();
            since.unwrap_or_else(Instant::now)
        };
        let (stop, grace) = tokio::select! {
            biased;
            since = ending => (None, Some(GRACE.saturating_sub(since.elapsed()))),
            stop = run(&server, &around, &mut body) => (Some(stop), None),
        };
        body.end(grace).await;
        let (reason, ran) = match stop {
            None => break,
            Some(Stop::Ended { reason, ran }) => (reason, ran),
            Some(Stop::SignedIn) => {
                server.change(|view| (view.state, view.peer) = (State::Starting, None));
                continue;
            }
            Some(Stop::Unauthorized) => {
                pause = PAUSES.0;
                tokio::select! {
                    () = unauthorized(&server) => continue,
                    () = end.cancelled() => break,
                }
            }
        };
        let was_well = ran.is_some_and(|ran| ran >= WELL);
        let reason = server.spec.shown(&reason);
        tracing::warn!(server = server.spec.name, reason, "an MCP server does not run");
        if was_well {
            pause = PAUSES.0;
        }
        // One that ran comes back with its tools in all likelihood, so they are not taken away for the moment.
        let comes_back = ran.is_some() && pause <= SHORT;
        server.change(|view| {
            view.state = if comes_back { State::Starting } else { State::Down };
            if !comes_back {
                view.source = None;
            }
            (view.reason, view.last_error) = (Some(reason.clone()), Some(reason));
            view.peer = None;
        });
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = end.cancelled() => break,
        }
        pause = (pause * 2).min(PAUSES.1);
    }
    // Who still asks sees the tools that it had: one catalog, however fast the end comes.
    if server.view().state == State::Ready {
        server.change(|view| {
            (view.state, view.peer) = (State::Down, None);
            view.reason = Some("it was ended".to_owned());
        });
    }
}

/// Says that a server wants somebody to sign in, and waits until somebody has.
async fn unauthorized(server: &Server) {
    let mut sign_ins = server.sign_ins.subscribe();
    let reason = match &server.grant {
        Some(_) => format!("it wants somebody to sign in: `toolscout servers authorize {}`", server.spec.name),
        None => match server.spec.resource() {
            Some(Err(why)) => format!("it wants somebody to sign in, and {why}"),
            _ => "it does not take what its entry has to sign in with (HTTP 401)".to_owned(),
        },
    };
    tracing::warn!(server = server.spec.name, reason, "an MCP server does not run");
    server.change(|view| {
        (view.state, view.source, view.peer) = (State::NeedsAuthorization, None, None);
        (view.reason, view.last_error) = (Some(reason.clone()), Some(reason));
    });
    match &server.grant {
        Some(grant) => tokio::select! {
            _ = sign_ins.changed() => {}
            () = grant.granted_elsewhere() => {}
        },
        // Only another entry helps, which is another server.
        None => std::future::pending().await,
    }
    server.change(|view| (view.state, view.reason) = (State::Starting, None));
}

/// Why a server does not run.
enum Stop {
    /// It ended, or did not start.
    Ended {
        reason: String,
        /// How long it was ready before, if it was.
        ran: Option<Duration>,
    },
    /// It wants somebody to sign in.
    Unauthorized,
    /// Somebody has signed in anew.
    SignedIn,
}

/// Why a server did not start.
enum Refusal {
    /// What a person is to be told.
    Told(String),
    /// It wants somebody to sign in.
    Unauthorized,
    /// It closed the connection; how it ended says more.
    Closed,
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Told(reason)
    }
}

/// What a running server consists of, in the order in which it is taken apart.
#[derive(Default)]
struct Body {
    service: Option<RunningService<RoleClient, Listener>>,
    process: Option<Process>,
    /// Tells when nothing can be written to it any more.
    broken: Option<watch::Receiver<Option<Broken>>>,
    /// Reads its standard error.
    errors: Option<Task>,
    tasks: Vec<Task>,
}

/// A task that ends when this is dropped.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Body {
    /// Closes its standard input, then ends its process and all that it started, and hears its last words.
    async fn end(self, grace: Option<Duration>) {
        drop(self.service);
        if let Some(process) = self.process {
            process.end(grace).await;
        }
        if let (Some(mut errors), None) = (self.errors, grace) {
            // What it said at the end says most. Nobody asks about one that was told to end.
            let _ = tokio::time::timeout(LAST_WORDS, &mut errors.0).await;
        }
    }
}

/// What a server says without being asked.
struct Listener {
    changed: Arc<Notify>,
    waiting: Arc<Waiting>,
}

impl ClientHandler for Listener {
    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.waiting.tell(params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }

    fn get_info(&self) -> ClientConfig {
        let this = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), this)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

/// Runs it once, from its start to its end.
async fn run(server: &Arc<Server>, around: &Around, body: &mut Body) -> Stop {
    let begun = Instant::now();
    let changed = Arc::new(Notify::new());
    let limit = server.spec.startup_timeout;
    let mut sign_ins = server.sign_ins.subscribe();
    let started = tokio::time::timeout(limit, start(server, around, body, changed.clone())).await;
    let (peer, listed) = match started {
        Ok(Ok(started)) => started,
        Ok(Err(Refusal::Told(reason))) => return Stop::Ended { reason, ran: None },
        Ok(Err(Refusal::Unauthorized)) => return Stop::Unauthorized,
        Ok(Err(Refusal::Closed)) => return Stop::Ended { reason: body.ending().await, ran: None },
        Err(_) => {
            return Stop::Ended { reason: format!("it did not answer within {} s", limit.as_secs_f64()), ran: None };
        }
    };
    take(server, around, listed, Some((peer.clone(), begun.elapsed())));
    let ready = Instant::now();
    body.tasks.push(Task(tokio::spawn(follow(server.clone(), around.clone(), peer, changed))));
    let closed = async {
        match body.service.take() {
            Some(service) => drop(service.waiting().await),
            None => std::future::pending().await,
        }
    };
    let unreachable = server.unreachable.notified();
    let broken = broken(body.broken.take());
    let reason = match &mut body.process {
        None => tokio::select! {
            () = closed => "the connection to it was closed".to_owned(),
            () = unreachable => match server.lost() {
                Some(Lost::Unauthorized) => return Stop::Unauthorized,
                Some(Lost::Unreachable(reason)) => reason,
                None => "it cannot be reached".to_owned(),
            },
            _ = sign_ins.changed() => return Stop::SignedIn,
        },
        Some(process) => {
            let reason = tokio::select! {
                ending = process.ended() => return Stop::Ended { reason: ending, ran: Some(ready.elapsed()) },
                () = closed => "it closed its standard output",
                broken = broken => match broken {
                    Broken::Closed => "it closed its standard input",
                    Broken::Hung => "it hung: it did not read what was sent to it within the time of a call",
                },
            };
            let ending = tokio::time::timeout(LAST_WORDS, process.ended()).await;
            ending.unwrap_or_else(|_| reason.to_owned())
        }
    };
    Stop::Ended { reason, ran: Some(ready.elapsed()) }
}

/// Waits until nothing can be written to it any more.
async fn broken(broken: Option<watch::Receiver<Option<Broken>>>) -> Broken {
    if let Some(mut broken) = broken
        && let Ok(why) = broken.wait_for(Option::is_some).await
        && let Some(why) = *why
    {
        return why;
    }
    // Its connection is closed in another way.
    std::future::pending().await
}

impl Body {
    /// How its process ended, if that is why it closed the connection.
    async fn ending(&mut self) -> String {
        let closed = || "it closed the connection before it was ready".to_owned();
        match &mut self.process {
            Some(process) => tokio::time::timeout(LAST_WORDS, process.ended()).await.unwrap_or_else(|_| closed()),
            None => closed(),
        }
    }
}

/// Starts it, shakes hands, and asks for its tools.
async fn start(
    server: &Arc<Server>,
    around: &Around,
    body: &mut Body,
    changed: Arc<Notify>,
) -> Result<(Peer<RoleClient>, Listed), Refusal> {
    let listener = Listener { changed, waiting: server.waiting.clone() };
    let service = match &server.spec.reach {
        Reach::Http { url, headers, oauth } => {
            let client = http::client()?;
            let granted = match (&server.grant, oauth) {
                (Some(grant), Some(oauth)) => oauth::manager(grant, oauth).await?,
                _ => None,
            };
            match granted {
                Some(manager) => listener.serve(http::transport(AuthClient::new(client, manager), url, headers)).await,
                None => listener.serve(http::transport(client, url, headers)).await,
            }
        }
        reach @ Reach::Stdio { .. } => {
            let (process, streams) = process::start(&around.starter, reach, around.launcher.as_ref()).await?;
            body.process = Some(process);
            // One waits at most, since it may be large.
            let (to, messages) = mpsc::channel(1);
            let (heard, drained) = (server.clone(), server.clone());
            body.tasks.push(Task(tokio::spawn(async move {
                let news = || heard.change(|view| note_dropped(&heard, &mut view.warnings));
                stdout::pass(streams.output, to, LONGEST, &heard.dropped, news).await;
            })));
            body.errors = Some(Task(tokio::spawn(async move { drained.errors.drain(streams.errors).await })));
            let transport = Lines::new(messages, streams.input, server.spec.call_timeout);
            body.broken = Some(transport.broken());
            // How its process ended says more than that it could not be written to.
            match listener.serve(transport).await {
                Err(ClientInitializeError::TransportError { .. }) => return Err(Refusal::Closed),
                served => served,
            }
        }
    };
    let service = service.map_err(|error| why(&error))?;
    let peer = service.peer().clone();
    body.service = Some(service);
    match tools::list(&peer).await {
        Ok(listed) => Ok((peer, listed)),
        Err(Unlisted::Unauthorized) => Err(Refusal::Unauthorized),
        Err(_) if peer.is_transport_closed() => Err(Refusal::Closed),
        Err(Unlisted::Told(reason)) => Err(reason.into()),
    }
}

/// Asks again whenever the server says that its tools changed.
async fn follow(server: Arc<Server>, around: Around, peer: Peer<RoleClient>, changed: Arc<Notify>) {
    let mut gather = GATHER.0;
    let mut asked = Instant::now();
    loop {
        changed.notified().await;
        gather = if asked.elapsed() < 4 * gather { (2 * gather).min(GATHER.1) } else { GATHER.0 };
        tokio::time::sleep(gather).await;
        match tokio::time::timeout(server.spec.startup_timeout, tools::list(&peer)).await {
            Ok(Ok(listed)) => take(&server, &around, listed, None),
            // What it had listed before stays.
            Ok(Err(why)) => {
                let reason = match why {
                    Unlisted::Told(reason) => reason,
                    Unlisted::Unauthorized => "it wants somebody to sign in (HTTP 401)".to_owned(),
                };
                let reason = server.spec.shown(&format!("its changed tools cannot be listed: {reason}"));
                server.change(|view| view.last_error = Some(reason));
            }
            Err(_) => {
                server.change(|view| view.last_error = Some("its changed tools cannot be listed in time".to_owned()))
            }
        }
        asked = Instant::now();
    }
}

/// Takes up what a server listed; `ready` is how it is reached from now on, and how long its start took.
fn take(server: &Arc<Server>, around: &Around, listed: Listed, ready: Option<(Peer<RoleClient>, Duration)>) {
    let before = server.view();
    let (source, odd) = tools::source(&server.spec, &listed.json, before.source.as_ref());
    let masked = |warning: Warning| Warning { message: server.spec.masked(&warning.message), ..warning };
    let mut warnings: Vec<Warning> = listed.warnings.into_iter().chain(odd).map(masked).collect();
    note_dropped(server, &mut warnings);
    if server.spec.cached {
        let (cache, id) = (around.cache.clone(), server.spec.content_id());
        tokio::task::spawn_blocking(move || cache.keep(&id, &listed.json));
    }
    let same = before.source.as_ref().is_some_and(|before| Arc::ptr_eq(before, &source)) && before.warnings == warnings;
    if same && ready.is_none() {
        return;
    }
    server.change(|view| {
        (view.last_source, view.source, view.warnings) = (Some(source.clone()), Some(source), warnings);
        if let Some((peer, took)) = ready {
            (view.state, view.reason, view.peer, view.started_in) = (State::Ready, None, Some(peer), Some(took));
        }
    });
}

/// Adds what the server said on standard output that could not be used.
fn note_dropped(server: &Server, warnings: &mut Vec<Warning>) {
    let dropped = server.dropped.lock().unwrap_or_else(PoisonError::into_inner).clone();
    warnings
        .retain(|warning| !matches!(warning.code, "server-stray-output" | "server-oversized-message" | "server-flood"));
    if dropped.stray > 0 {
        let first = server.spec.shown(&dropped.first);
        let message = format!("it writes what is no message to standard output, which is passed over; first: {first}");
        warnings.push(Warning { code: "server-stray-output", message });
    }
    if dropped.flood {
        let message = "it asks and tells without end: it is read no faster than costs the others nothing".to_owned();
        warnings.push(Warning { code: "server-flood", message });
    }
    if dropped.oversized > 0 {
        let message =
            format!("{} of its messages were larger than {} MiB and dropped", dropped.oversized, LONGEST >> 20);
        warnings.push(Warning { code: "server-oversized-message", message });
    }
}

/// Why a handshake failed.
fn why(error: &ClientInitializeError) -> Refusal {
    Refusal::Told(match error {
        ClientInitializeError::ConnectionClosed(_) => return Refusal::Closed,
        ClientInitializeError::JsonRpcError(error) => format!("it refused the handshake: {}", error.message),
        ClientInitializeError::TransportError { error, .. } if http::is_unauthorized(error) => {
            return Refusal::Unauthorized;
        }
        ClientInitializeError::TransportError { error, .. } => format!("it cannot be reached: {}", http::why(error)),
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            "it speaks no version of MCP that is spoken here".to_owned()
        }
        _ => "it does not shake hands as MCP has it".to_owned(),
    })
}
