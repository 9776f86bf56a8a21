//! A server as those who use it see it: what it is doing, what tools it has, and how to call one.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, RoleClient};
use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::call::{self, Failed, Progress, Waiting};
use super::oauth::{Entry, Flow, SignIn, Store};
use super::spec::{Reach, Spec};
use super::stdout::Dropped;
use super::tail::Tail;
use super::tools::Warning;
use crate::catalog::source::Source;

/// How long a call that failed with its server waits to hear how that ended.
const ENDING: Duration = Duration::from_millis(500);

/// What a server is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It was started and has not answered yet, or is about to be started again.
    Starting,
    /// It answers.
    Ready,
    /// It does not run; it will be started again in a while.
    Down,
    /// It wants somebody to sign in, and is asked again once somebody has.
    NeedsAuthorization,
}

/// A server at one moment.
#[derive(Clone)]
pub struct View {
    /// Counts changes.
    pub version: u64,
    /// What it is doing.
    pub state: State,
    /// Why it is not ready, where that is known.
    pub reason: Option<String>,
    /// Its tools: those it listed, or until it has those it is known to have had.
    pub source: Option<Arc<Source>>,
    /// The last tools that it is known to have had, even if they are not served now.
    pub last_source: Option<Arc<Source>>,
    /// What is odd about it.
    pub warnings: Vec<Warning>,
    /// What last went wrong, even if all is well now.
    pub last_error: Option<String>,
    /// How long it took to start, the last time.
    pub started_in: Option<Duration>,
    pub(super) peer: Option<Peer<RoleClient>>,
}

/// Why a server that ran cannot be called any more.
pub(super) enum Lost {
    /// It cannot be reached.
    Unreachable(String),
    /// It wants somebody to sign in.
    Unauthorized,
}

/// A server of the pool.
pub struct Server {
    /// What it is.
    pub spec: Spec,
    view: watch::Sender<Arc<View>>,
    /// Told of every change of any server.
    news: watch::Sender<u64>,
    /// The end of what it says on standard error.
    pub(super) errors: Tail,
    /// What it said on standard output that was no message.
    pub(super) dropped: Mutex<Dropped>,
    /// Told when a call found that it cannot be reached, which no process that ended has shown.
    pub(super) unreachable: Notify,
    lost: Mutex<Option<Lost>>,
    /// Counts sign-ins to it in this process.
    pub(super) sign_ins: watch::Sender<u64>,
    /// What was granted for it, if it can be signed in to.
    pub(super) grant: Option<Entry>,
    /// The last sign-in to it that was begun here.
    sign_in: Mutex<Option<SignIn>>,
    /// Held by who begins one: of two who want to sign in at once, both are to get the same link.
    beginning: tokio::sync::Mutex<()>,
    /// Who waits for news of its calls.
    pub(super) waiting: Arc<Waiting>,
    versions: AtomicU64,
}

impl Server {
    /// One that is about to start. `source` holds the tools it is known to have had.
    pub(super) fn new(spec: Spec, source: Option<Arc<Source>>, news: watch::Sender<u64>, grants: &Store) -> Self {
        let view = View {
            version: 0,
            state: State::Starting,
            reason: None,
            last_source: source.clone(),
            source,
            warnings: Vec::new(),
            last_error: None,
            started_in: None,
            peer: None,
        };
        let grant = spec.resource().and_then(Result::ok).map(|it| grants.entry(&it, spec.secrets.learned.clone()));
        Self {
            spec,
            grant,
            sign_ins: watch::Sender::new(0),
            sign_in: Mutex::default(),
            beginning: tokio::sync::Mutex::default(),
            view: watch::Sender::new(Arc::new(view)),
            news,
            errors: Tail::default(),
            dropped: Mutex::default(),
            unreachable: Notify::new(),
            lost: Mutex::default(),
            waiting: Arc::default(),
            versions: AtomicU64::new(0),
        }
    }

    /// It as it is now.
    pub fn view(&self) -> Arc<View> {
        self.view.borrow().clone()
    }

    /// The end of what it said on standard error, without secrets.
    pub fn stderr(&self) -> Vec<String> {
        self.errors.lines().iter().map(|line| self.spec.masked(line)).collect()
    }

    /// The last sign-in to it that was begun by this process.
    pub fn sign_in(&self) -> Option<SignIn> {
        self.sign_in.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut View)) {
        self.view.send_modify(|view| {
            let mut next = View::clone(view);
            change(&mut next);
            next.version = self.versions.fetch_add(1, Ordering::Relaxed) + 1;
            *view = Arc::new(next);
        });
        self.news.send_modify(|count| *count += 1);
    }

    /// Notes that it cannot be called, so that its life begins again.
    fn lose(&self, why: Lost) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        self.unreachable.notify_waiters();
    }

    /// Why it could not be called, once.
    pub(super) fn lost(&self) -> Option<Lost> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The way to it, once it has started; waits no longer than it may take to.
    async fn peer(&self) -> Result<Peer<RoleClient>, String> {
        let mut views = self.view.subscribe();
        // Its end shows in the connection before anything else.
        let lives = |view: &View| view.peer.as_ref().is_none_or(|peer| !peer.is_transport_closed());
        let settled = views.wait_for(|view| view.state != State::Starting && lives(view));
        let view = match tokio::time::timeout(self.spec.startup_timeout, settled).await {
            Ok(Ok(view)) => view.clone(),
            _ => return Err("the server is still starting; try again later".to_owned()),
        };
        match (&view.peer, &view.reason) {
            (Some(peer), _) => Ok(peer.clone()),
            (None, Some(reason)) if view.state == State::NeedsAuthorization => Err(format!("the server: {reason}")),
            (None, Some(reason)) => Err(format!("the server is down: {reason}")),
            (None, None) => Err("the server is down".to_owned()),
        }
    }
}

/// A server that somebody uses. The last one dropped ends it.
pub struct Attached {
    server: Arc<Server>,
    runtime: Handle,
    pub(super) end: CancellationToken,
}

impl Attached {
    pub(super) fn new(server: Arc<Server>, runtime: Handle, end: CancellationToken) -> Self {
        Self { server, runtime, end }
    }

    /// Calls a tool by the name that the server gave it. Dropping the future tells the server that nobody waits any
    /// more.
    ///
    /// # Errors
    /// What the model is to be told.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        on_progress: impl Fn(Progress),
    ) -> Result<Answer, String> {
        // A server that forgot its session did nothing yet: it is asked again in a new one.
        let mut again = true;
        let called = loop {
            let peer = self.peer().await?;
            let (given, told) = (arguments.clone(), &on_progress);
            let called = call::call(&self.spec, &peer, &self.waiting, &self.runtime, tool, given, told).await;
            if let Err(Failed::Unreachable { why, forgotten }) = &called {
                let mut views = self.view.subscribe();
                self.lose(Lost::Unreachable(why.clone()));
                if *forgotten && std::mem::take(&mut again) {
                    // It is another once its life has begun again.
                    let begun = views.wait_for(|view| view.peer.is_none());
                    let _ = tokio::time::timeout(ENDING, begun).await;
                    continue;
                }
            }
            break called;
        };
        match called {
            Ok(answer) => Ok(answer),
            Err(Failed::Told(why)) => Err(why),
            Err(Failed::Unauthorized) => {
                self.lose(Lost::Unauthorized);
                Err("the server wants somebody to sign in first (HTTP 401); nothing was done".to_owned())
            }
            Err(Failed::Unreachable { why, .. }) => Err(format!("the server cannot be reached: {why}")),
            Err(Failed::Ended) => {
                let ending = self.ending().await.map(|ending| format!(" ({ending})")).unwrap_or_default();
                Err(format!("the server ended while it ran{ending}; it may have taken effect"))
            }
        }
    }

    /// Begins to sign in to it by OAuth, unless somebody is at it already. It goes on when nobody waits for it.
    ///
    /// # Errors
    /// Why that cannot be done, for a person.
    pub async fn authorize(&self) -> Result<SignIn, String> {
        let _alone = self.beginning.lock().await;
        if let Some(going_on) = self.sign_in().filter(|sign_in| sign_in.ending().is_none()) {
            return Ok(going_on);
        }
        let (Some(grant), Reach::Http { oauth: Some(client), .. }) = (self.grant.clone(), self.spec.reach.clone())
        else {
            return Err("it is none that is signed in to by OAuth".to_owned());
        };
        let mut begun = JoinSet::new();
        // Ends with who waits for it, so that the next one finds its port free.
        begun.spawn_on(async move { Flow::begin(&grant, &client).await }, &self.runtime);
        let flow = begun.join_next().await.and_then(Result::ok);
        let flow = flow.unwrap_or_else(|| Err("the sidecar is ending".to_owned()))?;
        let (server, end) = (self.server.clone(), self.end.clone());
        let done = move || server.sign_ins.send_modify(|count| *count += 1);
        let sign_in = SignIn::go_on(flow, &self.runtime, async move { end.cancelled().await }, done);
        *self.server.sign_in.lock().unwrap_or_else(PoisonError::into_inner) = Some(sign_in.clone());
        Ok(sign_in)
    }

    /// How it ended, which is known a moment after it has.
    async fn ending(&self) -> Option<String> {
        let mut views = self.view.subscribe();
        let ended = views.wait_for(|view| view.state != State::Ready);
        let view = tokio::time::timeout(ENDING, ended).await.ok()?.ok()?.clone();
        view.reason.clone()
    }
}

impl std::ops::Deref for Attached {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.end.cancel();
    }
}
