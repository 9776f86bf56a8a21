//! Which connectors there are, and the accounts behind them.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::failure::{Said, of_reply, unreadable};
use super::{Account, Failure};
use crate::connectors::name::is_connector;
use crate::connectors::origin::is_link;

/// Bounds of the routes; that of the list holds for all its pages.
const LIST: Duration = Duration::from_secs(30);
const CONNECT: Duration = Duration::from_secs(30);
const WATCH: Duration = Duration::from_secs(10);
/// Pages of the list that are read.
const MAX_PAGES: usize = 20;

/// A connector of the list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connector {
    /// Its slug.
    pub connector: String,
    /// Whether the account may use it.
    #[serde(default)]
    pub enabled: bool,
    /// Whether an account is linked.
    #[serde(default)]
    pub connected: bool,
    /// How that account stands, in the gateway's word.
    #[serde(default)]
    pub connection_status: Option<String>,
}

/// What became of the wish to connect an account.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Connection {
    /// The connector's slug.
    pub connector: String,
    /// `active`, `initiated` or `failed`.
    pub status: String,
    /// Where a person signs in.
    pub connect_url: Option<String>,
    /// What it is watched by.
    pub connection_id: Option<String>,
    /// Why it failed.
    pub status_reason: Option<String>,
}

/// How an account stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// `pending`, `active`, `failed`, `expired`, `revoked` or `inactive`.
    pub status: String,
    /// Why.
    pub reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    items: Vec<Box<RawValue>>,
    #[serde(default)]
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Connections {
    results: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountAnswer {
    status: String,
    #[serde(default)]
    status_reason: Option<String>,
}

/// What a look at an account brought.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    /// How it stands.
    Stands(Watched),
    /// There is no such account any more.
    Gone,
    /// The gateway wants to be left alone for so long.
    Later(Option<Duration>),
}

impl Account {
    /// All connectors, in the gateway's order.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn list(&self) -> Result<Vec<Connector>, Failure> {
        if let Some(resting) = self.resting() {
            return Err(resting);
        }
        let deadline = Instant::now() + LIST;
        let mut all: Vec<Connector> = Vec::new();
        let (mut cursor, mut seen): (Option<String>, HashSet<String>) = (None, HashSet::new());
        for _ in 0..MAX_PAGES {
            let mut request = self.get(&[]);
            request
                .url
                .query_pairs_mut()
                .append_pair("limit", "50")
                .extend_pairs(cursor.iter().map(|it| ("cursor", it)));
            let reply = self.send(request, deadline).await?;
            if reply.status != 200 {
                return Err(self.note(of_reply(&reply)));
            }
            let page: Page = serde_json::from_str(&reply.body).map_err(|_| unreadable())?;
            let items = page.items.iter().filter_map(|item| serde_json::from_str::<Connector>(item.get()).ok());
            for mut item in items.filter(|item| is_connector(&item.connector)) {
                item.connector.make_ascii_lowercase();
                if !all.iter().any(|known| known.connector == item.connector) {
                    all.push(item);
                }
            }
            match page.next_cursor.filter(|next| !next.is_empty() && seen.insert(next.clone())) {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(all)
    }

    /// Starts to connect accounts; one result for each connector, in their order. Never tried again.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn connect(&self, connectors: &[String], again: bool) -> Result<Vec<Connection>, Failure> {
        if let Some(resting) = self.resting() {
            return Err(resting);
        }
        let mut body = json!({ "connectors": connectors });
        if again {
            body["reinitiate"] = true.into();
        }
        let reply = self.send(self.post("connections", body.to_string()), Instant::now() + CONNECT).await?;
        if !(200..300).contains(&reply.status) {
            let said = Said::read(&reply.body);
            return Err(match (self.note(of_reply(&reply)), said.code.clone()) {
                (Failure::Unavailable(_), Some(code)) => Failure::Refused(said.refusal(code)),
                (other, _) => other,
            });
        }
        let answer: Connections = serde_json::from_str(&reply.body).map_err(|_| unreadable())?;
        let results = connectors.iter().enumerate().map(|(at, connector)| {
            let result =
                answer.results.get(at).and_then(|result| serde_json::from_str::<Connection>(result.get()).ok());
            let result = result.unwrap_or_else(|| Connection { status: "failed".into(), ..Connection::default() });
            let connect_url = result.connect_url.filter(|url| is_link(url));
            Connection { connector: connector.clone(), connect_url, ..result }
        });
        Ok(results.collect())
    }

    /// Looks at an account that is being connected.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn look(&self, connection_id: &str) -> Result<Look, Failure> {
        let reply = self.send(self.get(&["accounts", connection_id]), Instant::now() + WATCH).await?;
        match reply.status {
            200 => {
                let answer: AccountAnswer = serde_json::from_str(&reply.body).map_err(|_| unreadable())?;
                Ok(Look::Stands(Watched { status: answer.status, reason: answer.status_reason }))
            }
            404 if Said::read(&reply.body).code.as_deref() == Some("connection_not_found") => Ok(Look::Gone),
            429 => Ok(Look::Later(reply.retry_after)),
            // Gateways that are down for a moment say when to come back.
            503 if reply.retry_after.is_some() => Ok(Look::Later(reply.retry_after)),
            _ => Err(self.note(of_reply(&reply))),
        }
    }
}
