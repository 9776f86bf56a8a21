//! The way to a server's process: lines of JSON to its standard input, and those of its standard output decoded.
//!
//! Promises: a server that reads nothing is found out (see [`Broken`]), and is not listened to while too many of its own
//! requests are unanswered; a large message is decoded where it holds up nobody else (see [`large`]).

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex as Lock, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::large::{self, LARGE};

/// Requests of a server that may be unanswered; it is not listened to beyond.
const UNANSWERED: usize = 64;

/// Why nothing can be written to a server any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// It has closed its standard input.
    Closed,
    /// It did not read a message within the time of a call.
    Hung,
}

/// See the module.
pub struct Lines<W> {
    messages: mpsc::Receiver<Vec<u8>>,
    decoding: Option<JoinHandle<Option<RxJsonRpcMessage<RoleClient>>>>,
    input: Arc<Lock<Option<W>>>,
    load: Arc<Load>,
    room: watch::Receiver<()>,
    broken: watch::Sender<Option<Broken>>,
    limit: Duration,
    end: CancellationToken,
}

impl<W> Lines<W> {
    /// `messages` come from the server, `input` goes to it; a message may take `limit` to be written.
    pub fn new(messages: mpsc::Receiver<Vec<u8>>, input: W, limit: Duration) -> Self {
        let (changed, room) = watch::channel(());
        Self {
            messages,
            decoding: None,
            input: Arc::new(Lock::new(Some(input))),
            load: Arc::new(Load { counted: Mutex::default(), changed }),
            room,
            broken: watch::Sender::new(None),
            limit,
            end: CancellationToken::new(),
        }
    }

    /// Tells when nothing can be written any more.
    pub fn broken(&self) -> watch::Receiver<Option<Broken>> {
        self.broken.subscribe()
    }
}

/// What a server has asked and was not answered yet.
struct Load {
    counted: Mutex<Counted>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct Counted {
    /// Requests that are being worked on.
    asked: HashSet<RequestId>,
    /// Answers that are being written.
    answering: usize,
}

impl Load {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self) -> bool {
        let counted = self.counted();
        counted.asked.len() + counted.answering < UNANSWERED
    }

    /// Notes what a message from the server adds.
    fn hear(&self, message: &RxJsonRpcMessage<RoleClient>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.counted().asked.insert(request.id.clone());
            }
            // What it does not wait for any more is not answered.
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.counted().asked.remove(id);
                }
            }
            _ => {}
        }
    }

    /// Notes that an answer is being written, until what is returned is dropped.
    fn answer(self: &Arc<Self>, message: &TxJsonRpcMessage<RoleClient>) -> Option<Answering> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => return None,
        };
        let mut counted = self.counted();
        if let Some(id) = id {
            counted.asked.remove(id);
        }
        counted.answering += 1;
        Some(Answering(self.clone()))
    }
}

struct Answering(Arc<Load>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.counted().answering -= 1;
        self.0.changed.send_replace(());
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleClient> for Lines<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answering = self.load.answer(&message);
        let (input, broken, limit, end) = (self.input.clone(), self.broken.clone(), self.limit, self.end.clone());
        async move {
            let _answering = answering;
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let write = async {
                let mut input = input.lock().await;
                let input = input.as_mut().ok_or(io::ErrorKind::NotConnected)?;
                input.write_all(&line).await?;
                input.flush().await
            };
            let written = tokio::select! {
                written = tokio::time::timeout(limit, write) => written,
                () = end.cancelled() => return Err(io::ErrorKind::NotConnected.into()),
            };
            let why = match written {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(error)) => (Broken::Closed, error),
                // Half a line may have been written: nothing that follows could be read.
                Err(_) => (Broken::Hung, io::ErrorKind::TimedOut.into()),
            };
            broken.send_if_modified(|broken| broken.is_none() && broken.replace(why.0).is_none());
            Err(why.1)
        }
    }

    // May be dropped at any await, and called again.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            while !self.load.has_room() {
                self.room.changed().await.ok()?;
            }
            let message = match &mut self.decoding {
                Some(decoding) => {
                    let decoded = decoding.await;
                    self.decoding = None;
                    decoded.ok().flatten()
                }
                None => {
                    let line = self.messages.recv().await?;
                    if line.len() >= LARGE {
                        let decoded = large::in_turn(move || decode(&line));
                        self.decoding = Some(tokio::spawn(async { decoded.await.flatten() }));
                        continue;
                    }
                    decode(&line)
                }
            };
            if let Some(message) = message {
                self.load.hear(&message);
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.end.cancel();
        self.input.lock().await.take();
        Ok(())
    }
}

/// A message of the protocol; another is passed over, as every SDK does.
fn decode(line: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    match serde_json::from_slice(line) {
        Ok(message) => Some(message),
        Err(error) => {
            tracing::debug!(line = error.line(), column = error.column(), "a message of a server is none of MCP");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, BufReader, DuplexStream};

    use super::*;

    fn lines(limit: Duration) -> (mpsc::Sender<Vec<u8>>, Lines<DuplexStream>, DuplexStream) {
        let (from, messages) = mpsc::channel(1);
        let (input, reads) = tokio::io::duplex(1 << 10);
        (from, Lines::new(messages, input, limit), reads)
    }

    fn message(json: Value) -> TxJsonRpcMessage<RoleClient> {
        serde_json::from_value(json).unwrap()
    }

    fn ping(id: usize) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string().into_bytes()
    }

    #[tokio::test]
    async fn messages_go_both_ways_whatever_their_size() {
        let (from, mut lines, reads) = lines(Duration::from_secs(600));
        for size in [1, LARGE] {
            let text = "x".repeat(size);
            let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {"text": text}}).to_string();
            from.send(b"{\"jsonrpc\":\"2.0\"}".to_vec()).await.unwrap();
            let heard = async {
                // Whoever listens may turn to something else meanwhile.
                loop {
                    tokio::select! {
                        biased;
                        heard = lines.receive() => break heard,
                        () = tokio::task::yield_now() => {}
                    }
                }
            };
            let (heard, sent) = tokio::join!(heard, from.send(answer.clone().into_bytes()));
            sent.unwrap();
            assert!(matches!(heard, Some(JsonRpcMessage::Response(_))), "{size}");
        }
        lines.send(message(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))).await.unwrap();
        let mut line = String::new();
        BufReader::new(reads).read_line(&mut line).await.unwrap();
        assert!(line.contains("notifications/initialized") && line.ends_with("}\n"), "{line}");
    }

    #[tokio::test]
    async fn a_server_that_reads_nothing_is_found_out() {
        let big = message(json!({"jsonrpc": "2.0", "id": 1, "method": "x/y", "params": {"a": "x".repeat(9000)}}));
        let (_from, mut hung, _reads) = lines(Duration::from_millis(50));
        assert!(hung.send(big.clone()).await.is_err());
        assert_eq!(*hung.broken().borrow(), Some(Broken::Hung));
        let (_from, mut closed, reads) = lines(Duration::from_secs(600));
        drop(reads);
        assert!(closed.send(big.clone()).await.is_err());
        assert_eq!(*closed.broken().borrow(), Some(Broken::Closed));
        let (_from, mut ended, _reads) = lines(Duration::from_secs(600));
        let sending = ended.send(big);
        let (sent, closed) = tokio::join!(sending, ended.close());
        assert!(sent.is_err() && closed.is_ok());
        assert_eq!(*ended.broken().borrow(), None, "its end is no fault of it");
    }

    #[tokio::test]
    async fn a_server_that_only_asks_is_not_listened_to_without_end() {
        let (from, mut lines, _reads) = lines(Duration::from_millis(50));
        let mut hear = async |id: usize| {
            from.send(ping(id)).await.unwrap();
            tokio::select! {
                biased;
                heard = lines.receive() => heard.is_some(),
                () = std::future::ready(()) => false,
            }
        };
        for id in 0..UNANSWERED {
            assert!(hear(id).await, "{id}");
        }
        assert!(!hear(UNANSWERED).await);
        let answer = message(json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
        lines.send(answer).await.unwrap();
        assert!(lines.receive().await.is_some(), "one was answered");
    }
}
