//! One request and its answer: over TLS or the loopback, bounded in time and bytes, following no redirect elsewhere.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Method, Url, redirect};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::{Account, retry_after};
use crate::connectors::origin::Origin;
use crate::outbound::{cause, name_cryptography};

/// Bytes of the longest answer that is read.
pub const MAX_BODY: usize = 8 << 20;
/// Redirects followed inside of a gateway.
const MAX_REDIRECTS: usize = 3;

/// What is asked.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub method: Method,
    pub url: Url,
    pub body: Option<String>,
    /// `x-idempotency-key`.
    pub key: Option<String>,
}

/// What was answered, the token hidden in it.
#[derive(Debug)]
pub(super) struct Reply {
    pub status: u16,
    pub body: String,
    pub retry_after: Option<Duration>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Broken {
    /// It did not come in time.
    Late,
    /// It is larger than [`MAX_BODY`].
    TooLarge,
    /// The connection failed; what is at the bottom of it.
    Transport(String),
}

impl Broken {
    pub(super) fn told(&self) -> String {
        match self {
            Self::Late => "it did not answer in time".to_owned(),
            Self::TooLarge => format!("its answer has more than {} MiB", MAX_BODY >> 20),
            Self::Transport(why) => why.clone(),
        }
    }
}

/// A client for one gateway, which keeps its connections.
pub(super) fn client(origin: &Origin) -> io::Result<Client> {
    name_cryptography();
    let own = origin.clone();
    let redirect = redirect::Policy::custom(move |attempt| {
        // 307 and 308 alone repeat the request as it was; the others would make a GET of a POST.
        let repeats = matches!(attempt.status().as_u16(), 307 | 308);
        if repeats && own.holds(attempt.url()) && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    let builder = Client::builder().redirect(redirect).referer(false).connect_timeout(Duration::from_secs(10));
    let builder = builder.user_agent(concat!("toolscout/", env!("CARGO_PKG_VERSION")));
    // A proxy would be sent the token in the clear.
    let builder = if origin.is_loopback() { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| io::Error::other(format!("HTTP cannot be spoken here: {}", cause(&error))))
}

/// A task that ends with whoever waits for it.
struct Asked<T>(JoinHandle<T>);

impl<T> Drop for Asked<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Account {
    /// Sends a request and reads its answer.
    pub(super) async fn send(&self, request: Request, deadline: Instant) -> Result<Reply, Broken> {
        let Some(token) = self.token.header() else { return Err(Broken::Transport("the token is of no use".into())) };
        let Request { method, url, body, key } = request;
        let mut asked = self.gateway.client.request(method, url).header("authorization", token);
        if let Some(key) = key {
            asked = asked.header("x-idempotency-key", key);
        }
        if let Some(body) = body {
            asked = asked.header(CONTENT_TYPE, "application/json").body(body);
        }
        let token = self.token.clone();
        // On the thread that the connections belong to.
        let mut asked = Asked(self.handle.spawn(async move {
            let answered = timeout_at(deadline, read(asked)).await.unwrap_or(Err(Broken::Late));
            answered.map(|reply| Reply { body: token.hide_in(&reply.body).into_owned(), ..reply })
        }));
        let reply = (&mut asked.0).await.unwrap_or_else(|_| Err(Broken::Transport("the sidecar is ending".into())))?;
        if (200..300).contains(&reply.status) {
            self.is_served.store(true, Ordering::Relaxed);
        }
        Ok(reply)
    }

    /// A route, given by the segments behind `/v1/connectors`, asked with `GET`.
    pub(super) fn get(&self, segments: &[&str]) -> Request {
        Request { method: Method::GET, url: self.gateway.origin.route(segments), body: None, key: None }
    }

    /// A route asked with `POST`.
    pub(super) fn post(&self, route: &str, body: String) -> Request {
        Request { method: Method::POST, body: Some(body), ..self.get(&[route]) }
    }
}

async fn read(asked: reqwest::RequestBuilder) -> Result<Reply, Broken> {
    let transport = |error: reqwest::Error| Broken::Transport(cause(&error));
    let mut answer = asked.send().await.map_err(transport)?;
    let status = answer.status().as_u16();
    if (300..400).contains(&status) {
        return Err(Broken::Transport("it redirects elsewhere, which is not followed".into()));
    }
    let retry_after = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.and_then(|value| retry_after::read(value, SystemTime::now()));
    if answer.content_length().is_some_and(|length| length > MAX_BODY as u64) {
        return Err(Broken::TooLarge);
    }
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(transport)? {
        if body.len() + chunk.len() > MAX_BODY {
            return Err(Broken::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    let body = String::from_utf8(body).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Reply { status, body, retry_after })
}
