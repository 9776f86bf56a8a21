//! The sidecar behind a session: connected to when first needed, and again once it is gone.
//!
//! Another connection does as well as the last one, since an MCP client registers nothing. A request that was on its
//! way is not repeated: it may have had effects.

use std::io::{self, PipeReader, PipeWriter};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::Settled;
use crate::host::{Link, News};
use crate::protocol::VERSION;
use crate::protocol::errors::{RpcError, code};
use crate::rpc::PeerError;

/// How long the first list of tools waits for servers that start.
const SETTLING: Duration = Duration::from_secs(5);
/// Time between two looks at them.
const LOOK: Duration = Duration::from_millis(20);

/// How a sidecar is connected to.
#[derive(Clone)]
pub struct Connect {
    /// Serves one pair of pipes until the connection ends.
    pub sidecar: Arc<dyn Fn(PipeReader, PipeWriter) + Send + Sync>,
    /// Where the host's end runs.
    pub runtime: Handle,
    /// Whoever hears what there is once servers have settled; taken by the first session.
    pub settled: Arc<Mutex<Option<Box<Settled>>>>,
}

/// See the module.
pub struct Upstream {
    scope: Value,
    context_length: u64,
    connect: Connect,
    news: Arc<News>,
    /// Held while a connection is made, so that one is made at a time.
    link: tokio::sync::Mutex<Option<Arc<Link>>>,
    /// Set once servers had the time to start.
    settled: tokio::sync::OnceCell<()>,
    /// When it was last needed.
    used: Mutex<Instant>,
    /// Of the array that the client has.
    listed: Mutex<Option<String>>,
}

/// Why a request has no result.
#[derive(Debug)]
pub enum Failed {
    /// No sidecar.
    Connect(io::Error),
    /// The sidecar gave none.
    Asked(PeerError),
    /// Its answer is not what the protocol says.
    Answer(serde_json::Error),
    /// The client wants it no more.
    Cancelled,
}

impl Failed {
    /// Whether the sidecar knows no such tool that it could run or hand on.
    pub fn is_unknown_name(&self) -> bool {
        let Self::Asked(PeerError::Rejected(RpcError { code: code::INVALID_PARAMS, data: Some(data), .. })) = self
        else {
            return false;
        };
        data.get("pointer").is_some_and(|pointer| pointer == "/name")
    }
}

impl From<Failed> for ErrorData {
    /// All of them are faults of this side: the client's own mistakes are found before anything is asked.
    fn from(failed: Failed) -> Self {
        let message = match failed {
            Failed::Connect(error) => format!("there is no sidecar: {error}"),
            Failed::Asked(PeerError::Rejected(error)) => error.message,
            Failed::Asked(PeerError::Closed(_)) => {
                "the sidecar ended before it answered; the next request starts another".to_owned()
            }
            Failed::Asked(PeerError::TooLarge) => "the sidecar's answer is too large".to_owned(),
            Failed::Asked(PeerError::Malformed(reason)) => format!("the sidecar's answer has no form: {reason}"),
            Failed::Asked(PeerError::Params(problem)) => format!("the request has no form in JSON: {problem}"),
            Failed::Answer(error) => format!("the sidecar's answer is not as agreed: {error}"),
            Failed::Cancelled => "cancelled".to_owned(),
        };
        Self::internal_error(message, None)
    }
}

/// The array of a turn; absent where it is the one that was named.
#[derive(Deserialize)]
pub struct Assembled {
    /// Of its bytes.
    pub etag: String,
    /// Its definitions, in MCP's form.
    pub tools: Option<Vec<Box<RawValue>>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AssembleParams<'a> {
    scope: &'a Value,
    context_length: u64,
    format: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    if_etag: Option<&'a str>,
}

/// Parameters of `bridge/call`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallParams<'a> {
    scope: &'a Value,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<rmcp::model::JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress_token: Option<u64>,
}

impl Upstream {
    /// One without a connection.
    pub fn new(scope: Value, context_length: u64, connect: Connect) -> Self {
        Self {
            scope,
            context_length,
            connect,
            news: Arc::new(News::new(0)),
            link: tokio::sync::Mutex::new(None),
            settled: tokio::sync::OnceCell::new(),
            used: Mutex::new(Instant::now()),
            listed: Mutex::default(),
        }
    }

    /// Another that shows the same.
    pub fn another(&self) -> Self {
        Self::new(self.scope.clone(), self.context_length, self.connect.clone())
    }

    /// The connection.
    ///
    /// # Errors
    /// A sidecar that cannot be started or does not take its host.
    pub async fn link(&self) -> Result<Arc<Link>, Failed> {
        *lock(&self.used) = Instant::now();
        let mut held = self.link.lock().await;
        if let Some(link) = held.as_ref().filter(|link| !link.has_ended()) {
            return Ok(link.clone());
        }
        let Connect { sidecar, runtime, .. } = self.connect.clone();
        let serve = move |requests, answers| sidecar(requests, answers);
        let link = Link::open(serve, self.news.clone(), runtime).await.map_err(Failed::Connect)?;
        let client = json!({ "name": "toolscout-mcp", "version": env!("CARGO_PKG_VERSION") });
        let capabilities = json!({ "approve": false, "invoke": false, "progress": true });
        let params = json!({ "protocolVersion": VERSION, "clientInfo": client, "capabilities": capabilities });
        link.request("initialize", params).await.map_err(Failed::Asked)?;
        let link = Arc::new(link);
        *held = Some(link.clone());
        if self.last_listed().is_some() {
            // It is not the first one, and nobody was told of what changed in between.
            self.news.send_modify(|news| *news += 1);
        }
        Ok(link)
    }

    /// When it was last needed, if it is connected and could rest.
    pub fn idle_since(&self) -> Option<Instant> {
        let connected = self.link.try_lock().is_ok_and(|held| held.is_some());
        connected.then(|| *lock(&self.used))
    }

    /// Ends the connection once what is on its way is answered.
    pub fn rest(&self) {
        // One that is being made is needed.
        if let Ok(mut held) = self.link.try_lock() {
            held.take();
        }
    }

    /// Changes to the catalog from now on.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Waits, once and no longer than [`SETTLING`], until no configured server is starting whose tools are not known: a
    /// client may ask for its tools once and never again.
    ///
    /// # Errors
    /// See [`Failed`].
    pub async fn settled(&self) -> Result<(), Failed> {
        #[derive(Deserialize)]
        struct Status {
            sources: Vec<SourceStatus>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct SourceStatus {
            state: String,
            tool_count: u64,
        }
        let look = async || {
            loop {
                let answer = self.link().await?.request("status", json!({})).await.map_err(Failed::Asked)?;
                let Status { sources } = serde_json::from_str(answer.get()).map_err(Failed::Answer)?;
                let starting = sources.iter().any(|source| source.state == "starting" && source.tool_count == 0);
                if !starting {
                    return Ok(());
                }
                tokio::time::sleep(LOOK).await;
            }
        };
        let wait = async || {
            tokio::time::timeout(SETTLING, look()).await.unwrap_or(Ok(()))?;
            let hears = lock(&self.connect.settled).take();
            if let Some(hears) = hears {
                let link = self.link().await?;
                let status = link.request("status", json!({})).await.map_err(Failed::Asked)?;
                hears(&status, &link.request("registry/list", json!({})).await.map_err(Failed::Asked)?);
            }
            Ok(())
        };
        self.settled.get_or_try_init(wait).await.map(|_| ())
    }

    /// Whether servers had that time.
    pub fn is_settled(&self) -> bool {
        self.settled.initialized()
    }

    /// The array of a turn, unless it is still the one that `known` names.
    ///
    /// # Errors
    /// See [`Failed`].
    pub async fn assemble(&self, known: Option<&str>) -> Result<Assembled, Failed> {
        let Self { scope, context_length, .. } = self;
        let params = AssembleParams { scope, context_length: *context_length, format: "mcp", if_etag: known };
        let answer = self.link().await?.request("assemble", params).await.map_err(Failed::Asked)?;
        serde_json::from_str(answer.get()).map_err(Failed::Answer)
    }

    /// What `bridge/call` is sent for a tool that the client calls.
    pub fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Option<rmcp::model::JsonObject>,
        progress_token: Option<u64>,
    ) -> CallParams<'a> {
        CallParams { scope: &self.scope, name, arguments, progress_token }
    }

    /// The client has this array now.
    pub fn set_listed(&self, etag: String) {
        *lock(&self.listed) = Some(etag);
    }

    /// The etag of the array that was last listed.
    pub fn last_listed(&self) -> Option<String> {
        lock(&self.listed).clone()
    }

    /// Whether the client has an array, and another one is in force by now; it is told of that one, once.
    ///
    /// # Errors
    /// See [`Failed`].
    pub async fn has_changed(&self) -> Result<bool, Failed> {
        let Some(known) = self.last_listed() else { return Ok(false) };
        let Assembled { etag, tools } = self.assemble(Some(&known)).await?;
        if tools.is_some() {
            self.set_listed(etag);
        }
        Ok(tools.is_some())
    }
}

/// No code panics between two writes to what these locks guard.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
