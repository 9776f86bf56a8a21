//! The host's end of a connection to a sidecar: many requests at once, any of which can be given up.
//!
//! JSON-RPC knows no sides, so this is `rpc` as seen from the other one. What the sidecar asks of its host is answered
//! -32601 (this host can do nothing); what it says of its catalog and of progress is passed on. Dropping the future of
//! a request cancels it, dropping the [`Link`] ends the connection.
//!
//! Where the sidecar is, the caller says: a link is given what serves a pair of pipes.

use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use crate::protocol::lifecycle::NoParams;
use crate::rpc::codec::Framing;
use crate::rpc::{Connection, Flow, Limits, Note, Peer, PeerError, Session, Sink, Table};

/// Counts changes of the catalog that were heard of.
pub type News = watch::Sender<u64>;

/// One connection; see the module.
pub struct Link {
    peer: Peer,
    state: Arc<State>,
}

/// How far a request is.
#[derive(Debug, Deserialize)]
pub struct Report {
    /// What is going on.
    pub message: Option<String>,
    /// How much is done, where it is counted.
    pub progress: Option<f64>,
    /// How much there is to do, where it is known.
    pub total: Option<f64>,
}

/// The reports on one request, until this is dropped.
pub struct Reports {
    /// The request's `progressToken`.
    pub token: u64,
    received: mpsc::UnboundedReceiver<Report>,
    state: Arc<State>,
}

struct State {
    news: Arc<News>,
    /// Who waits for the connection to be up.
    opening: Mutex<Option<oneshot::Sender<Peer>>>,
    ended: AtomicBool,
    tokens: AtomicU64,
    reports: Mutex<HashMap<u64, mpsc::UnboundedSender<Report>>>,
}

#[derive(Deserialize)]
struct Progress {
    token: u64,
    value: Report,
}

impl Session for State {
    type Ticket = ();

    fn opened(&self, peer: &Peer) {
        if let Some(opening) = lock(&self.opening).take() {
            // Who gave up meanwhile dropped its end of the pipes, too.
            let _ = opening.send(peer.clone());
        }
    }

    fn arrive(&self, _seq: u64, _method: &str, _params: Option<&RawValue>) {}
}

/// No code panics between two writes to what these locks guard.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn table() -> Table<State> {
    Table::builder()
        .notification("catalog/didChange", |note: Note<State>, _: NoParams| {
            note.session.news.send_modify(|news| *news += 1);
            Flow::Continue
        })
        .notification("$/progress", |note: Note<State>, Progress { token, value }| {
            if let Some(waiting) = lock(&note.session.reports).get(&token) {
                let _ = waiting.send(value);
            }
            Flow::Continue
        })
        .build()
}

#[cfg(unix)]
fn sink(requests: PipeWriter) -> Sink {
    Sink::descriptor(requests)
}

#[cfg(not(unix))]
fn sink(requests: PipeWriter) -> Sink {
    Sink::new(requests)
}

impl Link {
    /// Connects; the sidecar is yet to be initialized. `serve` runs on a thread of its own, reads requests and writes
    /// answers until the connection ends. `news` is told of changes.
    ///
    /// # Errors
    /// Where the system gives no pipe or thread.
    pub async fn open(
        serve: impl FnOnce(PipeReader, PipeWriter) + Send + 'static,
        news: Arc<News>,
        runtime: Handle,
    ) -> io::Result<Self> {
        let (requests, write) = io::pipe()?;
        let (read, answers) = io::pipe()?;
        let (opening, up) = oneshot::channel();
        let state = Arc::new(State {
            news,
            opening: Mutex::new(Some(opening)),
            ended: AtomicBool::new(false),
            tokens: AtomicU64::new(1),
            reports: Mutex::default(),
        });
        let connection = Connection {
            table: Arc::new(table()),
            session: state.clone(),
            limits: Limits::default(),
            runtime,
            framing: Some(Framing::Lines),
        };
        let running = state.clone();
        thread::Builder::new().name("host-sidecar".to_owned()).spawn(move || serve(requests, answers))?;
        thread::Builder::new().name("host-link".to_owned()).spawn(move || {
            if let Err(error) = connection.run(read, sink(write)) {
                tracing::warn!(%error, "a sidecar cannot be connected to");
            }
            running.ended.store(true, Ordering::Release);
            lock(&running.opening).take();
        })?;
        match up.await {
            Ok(peer) => Ok(Self { peer, state }),
            Err(_) => Err(io::Error::other("the system gives no thread")),
        }
    }

    /// Asks. Dropping the future cancels the request.
    ///
    /// # Errors
    /// The sidecar's error, or the end of the connection.
    pub async fn request(&self, method: &str, params: impl Serialize) -> Result<Box<RawValue>, PeerError> {
        self.peer.request(method, params).await
    }

    /// Reports on a request that is about to be sent.
    pub fn reports(&self) -> Reports {
        let token = self.state.tokens.fetch_add(1, Ordering::Relaxed);
        let (sender, received) = mpsc::unbounded_channel();
        lock(&self.state.reports).insert(token, sender);
        Reports { token, received, state: self.state.clone() }
    }

    /// Whether the connection has ended.
    pub fn has_ended(&self) -> bool {
        self.state.ended.load(Ordering::Acquire)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.peer.close();
    }
}

impl Reports {
    /// The next one. Can be dropped at any time without losing one.
    pub async fn next(&mut self) -> Option<Report> {
        self.received.recv().await
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        lock(&self.state.reports).remove(&self.token);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};

    use serde_json::{Value, json};

    use super::*;

    /// A sidecar that does what the test says with each message.
    fn scripted(answer: impl Fn(&Value) -> Vec<Value> + Send + 'static) -> impl FnOnce(PipeReader, PipeWriter) + Send {
        move |requests, mut answers| {
            for line in BufReader::new(requests).lines().map_while(Result::ok) {
                for message in answer(&serde_json::from_str(&line).unwrap()) {
                    writeln!(answers, "{message}").unwrap();
                }
            }
        }
    }

    async fn link(serve: impl FnOnce(PipeReader, PipeWriter) + Send + 'static) -> (Link, watch::Receiver<u64>) {
        let news = Arc::new(News::new(0));
        let heard = news.subscribe();
        (Link::open(serve, news, Handle::current()).await.unwrap(), heard)
    }

    #[tokio::test]
    async fn answers_find_their_requests_and_news_is_passed_on() {
        let (link, mut heard) = link(scripted(|message| match message["method"].as_str() {
            Some("late") => vec![],
            Some("early") => vec![
                json!({"jsonrpc": "2.0", "method": "catalog/didChange", "params": {"revision": 2}}),
                json!({"jsonrpc": "2.0", "id": "toolscout:1", "method": "host/invoke", "params": {}}),
                json!({"jsonrpc": "2.0", "id": message["id"], "result": "early"}),
            ],
            // The answer to `host/invoke`.
            None => vec![json!({"jsonrpc": "2.0", "id": "toolscout:1", "result": message["error"]["code"]})],
            _ => unreachable!("{message}"),
        }))
        .await;
        let (late, early) = tokio::join!(link.request("late", json!({})), link.request("early", json!({})));
        assert_eq!(early.unwrap().get(), r#""early""#);
        assert_eq!(late.unwrap().get(), "-32601", "this host can be asked nothing");
        heard.changed().await.unwrap();
    }

    #[tokio::test]
    async fn reports_come_before_the_answer_and_a_dropped_request_is_cancelled() {
        let (told, cancelled) = std::sync::mpsc::channel();
        let (link, _) = link(scripted(move |message| match message["method"].as_str() {
            Some("work") => vec![
                json!({"jsonrpc": "2.0", "method": "$/progress", "params":
                    {"token": message["params"]["progressToken"], "value": {"kind": "begin", "message": "begun"}}}),
                json!({"jsonrpc": "2.0", "id": message["id"], "result": 1}),
            ],
            Some("$/cancelRequest") => {
                told.send(message["params"]["id"].clone()).unwrap();
                vec![]
            }
            _ => vec![],
        }))
        .await;
        let mut reports = link.reports();
        link.request("work", json!({ "progressToken": reports.token })).await.unwrap();
        assert_eq!(reports.received.try_recv().unwrap().message.as_deref(), Some("begun"));

        let asked = tokio::time::timeout(std::time::Duration::ZERO, link.request("hang", json!({}))).await;
        assert!(asked.is_err());
        assert_eq!(cancelled.recv().unwrap(), "toolscout:2");
    }

    #[tokio::test]
    async fn a_sidecar_that_ends_fails_what_waits() {
        let (link, _) = link(|requests, _| {
            let _ = BufReader::new(requests).read_line(&mut String::new());
        })
        .await;
        let failed = link.request("status", json!({})).await;
        assert!(matches!(failed, Err(PeerError::Closed(_))), "{failed:?}");
    }

    #[tokio::test]
    async fn dropping_it_ends_the_sidecar() {
        let (told, ended) = oneshot::channel();
        let (link, _) = link(move |requests, _answers| {
            let lines = BufReader::new(requests).lines().map_while(Result::ok).count();
            told.send(lines).unwrap();
        })
        .await;
        assert!(!link.has_ended());
        drop(link);
        assert_eq!(ended.await.unwrap(), 0);
    }
}
