//! The gateway's client: one account at one gateway, every route of it, and what its failures mean.
//!
//! All accounts of the process share one thread for their connections, which is there once something was asked: a host's
//! connection has threads of its own that end with it, and kept connections must not.

mod accounts;
mod bounds;
mod execute;
mod failure;
mod http;
mod lookup;
mod passable;
mod retry_after;

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use dashmap::DashMap;
use tokio::runtime::{self, Handle, Runtime};

use super::origin::Origin;
use super::sign_in::SignIn;
use super::token::Token;
pub use accounts::{Connection, Connector, Look, Watched};
pub use bounds::Bounds;
pub use execute::NOT_FOUND;
pub use failure::{Failure, Refusal};
pub use http::MAX_BODY;
pub use lookup::{Found, Schema};

/// Accounts remembered; past that the longest unused is forgotten, which costs it its connections.
const MAX_ACCOUNTS: usize = 32;
/// Schemas remembered an account, and their bytes; past either all are forgotten.
const MAX_SCHEMAS: usize = 2048;
const MAX_SCHEMA_BYTES: usize = 8 << 20;

/// The accounts of the process.
#[derive(Default)]
pub struct Gateways {
    bounds: Bounds,
    engine: OnceLock<Engine>,
    accounts: Mutex<Vec<Arc<Account>>>,
}

/// The thread that all requests run on.
struct Engine(Option<Runtime>);

impl Engine {
    fn handle(&self) -> Option<Handle> {
        self.0.as_ref().map(|runtime| runtime.handle().clone())
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Gateways {
    /// One without accounts that waits so long.
    pub fn new(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// The account of a sign-in; the same for the same sign-in, so that what is known of it holds for all who ask.
    ///
    /// # Errors
    /// Where the system gives no thread, or TLS cannot be had.
    pub fn account(&self, sign_in: SignIn) -> io::Result<Arc<Account>> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = accounts.iter().position(|account| account.is(&sign_in)) {
            // The last used stands last.
            accounts[at..].rotate_left(1);
            return accounts.last().cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
        }
        let handle = match self.engine.get().and_then(Engine::handle) {
            Some(handle) => handle,
            None => {
                let runtime = runtime::Builder::new_multi_thread();
                let runtime = { runtime }.worker_threads(1).thread_name("toolscout-gateway").enable_all().build()?;
                let handle = runtime.handle().clone();
                // Under the lock, so nobody was faster.
                let _ = self.engine.set(Engine(Some(runtime)));
                handle
            }
        };
        let same = accounts.iter().find(|account| account.gateway.origin == sign_in.origin);
        let gateway = match same.map(|account| account.gateway.clone()) {
            Some(gateway) => gateway,
            None => Arc::new(Gateway::new(sign_in.origin)?),
        };
        if accounts.len() >= MAX_ACCOUNTS {
            accounts.remove(0);
        }
        let account = Arc::new(Account {
            gateway,
            token: sign_in.token,
            handle,
            bounds: self.bounds,
            rest: Mutex::default(),
            is_served: AtomicBool::new(true),
            schemas: DashMap::new(),
            schema_bytes: AtomicUsize::new(0),
        });
        accounts.push(account.clone());
        Ok(account)
    }
}

/// One gateway: its connections, and which form of `execute` it takes.
struct Gateway {
    origin: Origin,
    client: reqwest::Client,
    /// Whether it took the older form of `execute`.
    is_older: AtomicBool,
}

impl Gateway {
    fn new(origin: Origin) -> io::Result<Self> {
        let client = http::client(&origin)?;
        Ok(Self { origin, client, is_older: AtomicBool::new(false) })
    }
}

/// One account at one gateway. Its methods answer within the bound of their route.
pub struct Account {
    gateway: Arc<Gateway>,
    token: Token,
    handle: Handle,
    bounds: Bounds,
    rest: Mutex<Rest>,
    /// Whether the last that was heard of the gateway is no refusal of all.
    is_served: AtomicBool,
    /// Schemas seen, by visible name: what a call is probed with before it is sent.
    schemas: DashMap<String, Arc<str>>,
    schema_bytes: AtomicUsize,
}

/// Until when the gateway is not asked.
#[derive(Default)]
struct Rest {
    dark: Option<Instant>,
    signed_out: Option<Instant>,
}

impl Account {
    fn is(&self, sign_in: &SignIn) -> bool {
        self.gateway.origin == sign_in.origin && self.token == sign_in.token
    }

    /// How long is waited for what.
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Whether the account is served, as far as is known. Unlike [`Self::resting`] that does not change with time: what a
    /// model is shown on every turn must not come and go by the minute.
    pub fn is_served(&self) -> bool {
        self.is_served.load(Ordering::Relaxed)
    }

    /// Why the gateway is not asked for now, if it is not.
    pub fn resting(&self) -> Option<Failure> {
        let mut rest = self.rest();
        let now = Instant::now();
        let mut holds = |until: fn(&mut Rest) -> &mut Option<Instant>| {
            let until = until(&mut rest);
            *until = until.filter(|until| *until > now);
            until.is_some()
        };
        if holds(|rest| &mut rest.signed_out) {
            return Some(Failure::SignedOut);
        }
        holds(|rest| &mut rest.dark).then_some(Failure::Dark)
    }

    /// Notes what a failure says of requests to come.
    fn note(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Dark => self.rest().dark = Some(Instant::now() + self.bounds.dark),
            Failure::SignedOut => self.rest().signed_out = Some(Instant::now() + self.bounds.refused),
            Failure::Unavailable(_) | Failure::Refused(_) => return failure,
        }
        self.is_served.store(false, Ordering::Relaxed);
        failure
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The schema of a tool by its visible name, if a search or a describe brought it.
    pub fn known_schema(&self, name: &str) -> Option<Arc<str>> {
        self.schemas.get(name).map(|schema| schema.clone())
    }

    fn remember(&self, name: String, schema: &str) {
        // One that was there already is counted twice, which forgets the sooner.
        let bytes = self.schema_bytes.fetch_add(schema.len(), Ordering::Relaxed) + schema.len();
        if self.schemas.len() >= MAX_SCHEMAS || bytes > MAX_SCHEMA_BYTES {
            self.schemas.clear();
            self.schema_bytes.store(schema.len(), Ordering::Relaxed);
        }
        if schema.len() <= MAX_SCHEMA_BYTES {
            self.schemas.insert(name, schema.into());
        }
    }

    fn takes_older_form(&self) -> bool {
        self.gateway.is_older.load(Ordering::Relaxed)
    }

    fn set_takes_older_form(&self, older: bool) {
        self.gateway.is_older.store(older, Ordering::Relaxed);
    }
}
