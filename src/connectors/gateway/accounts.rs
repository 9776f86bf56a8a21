//! Which connectors there are, and the accounts behind them.

use std::collections::HashSet;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::failure::{Said, of_reply, shortened, unreadable};
use super::{Account, Failure};
use crate::connectors::name::is_connector;
use crate::connectors::origin::link;

/// Pages of the list that are read, and connectors on one.
const MAX_PAGES: usize = 20;
const MAX_ITEMS: usize = 50;
/// Bytes of the longest cursor that is sent back, and of the longest connection's id: both stand in an address.
const MAX_CURSOR: usize = 4096;
const MAX_ID: usize = 512;

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

impl Connection {
    /// What nobody can open, and nobody can watch, will never be connected.
    fn or_failed(self) -> Self {
        if self.status != "initiated" || self.connect_url.is_some() || self.connection_id.is_some() {
            return self;
        }
        let reason = self.status_reason.or_else(|| Some("the gateway gave no link that can be opened".to_owned()));
        Self { status: "failed".to_owned(), status_reason: reason, ..self }
    }
}

/// What may become of a wish to connect, and how an account may stand.
const STARTED: [&str; 3] = ["active", "initiated", "failed"];
const STANDS: [&str; 6] = ["pending", "active", "failed", "expired", "revoked", "inactive"];

/// A status that is one of these, or what any other is taken for.
fn known(status: String, all: &[&str], otherwise: &str) -> String {
    if all.contains(&status.as_str()) { status } else { otherwise.to_owned() }
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
        let deadline = Instant::now() + self.bounds.list;
        let mut all: Vec<Connector> = Vec::new();
        let (mut known, mut seen): (HashSet<String>, HashSet<String>) = Default::default();
        let mut cursor: Option<String> = None;
        for _ in 0..MAX_PAGES {
            let mut request = self.get(&[]);
            request
                .url
                .query_pairs_mut()
                .append_pair("limit", &MAX_ITEMS.to_string())
                .extend_pairs(cursor.iter().map(|it| ("cursor", it)));
            let reply = self.send(request, deadline).await?;
            if reply.status != 200 {
                return Err(self.note(of_reply(&reply)));
            }
            let page: Page = serde_json::from_str(&reply.body).map_err(|_| unreadable())?;
            let items = page.items.iter().take(MAX_ITEMS);
            let items = items.filter_map(|item| serde_json::from_str::<Connector>(item.get()).ok());
            for mut item in items.filter(|item| is_connector(&item.connector)) {
                item.connector.make_ascii_lowercase();
                item.connection_status = item.connection_status.as_deref().and_then(shortened);
                if known.insert(item.connector.clone()) {
                    all.push(item);
                }
            }
            let next = page.next_cursor.filter(|next| (1..=MAX_CURSOR).contains(&next.len()));
            match next.filter(|next| seen.insert(next.clone())) {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(all)
    }

    /// Asks for as little as can be asked, to learn whether the gateway takes the token.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn greet(&self) -> Result<(), Failure> {
        let mut request = self.get(&[]);
        request.url.query_pairs_mut().append_pair("limit", "1");
        let reply = self.send(request, Instant::now() + self.bounds.greet).await?;
        if reply.status == 200 { Ok(()) } else { Err(self.note(of_reply(&reply))) }
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
        let reply = self.send(self.post("connections", body.to_string()), Instant::now() + self.bounds.connect).await?;
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
            let result = result.unwrap_or_default();
            let connection = Connection {
                connector: connector.clone(),
                status: known(result.status, &STARTED, "failed"),
                connect_url: result.connect_url.as_deref().and_then(link),
                connection_id: result.connection_id.filter(|id| (1..=MAX_ID).contains(&id.len())),
                status_reason: result.status_reason.as_deref().and_then(shortened),
            };
            connection.or_failed()
        });
        Ok(results.collect())
    }

    /// Looks at an account that is being connected.
    ///
    /// # Errors
    /// See [`Failure`].
    pub async fn look(&self, connection_id: &str) -> Result<Look, Failure> {
        let reply = self.send(self.get(&["accounts", connection_id]), Instant::now() + self.bounds.look).await?;
        match reply.status {
            200 => {
                let answer: AccountAnswer = serde_json::from_str(&reply.body).map_err(|_| unreadable())?;
                let reason = answer.status_reason.as_deref().and_then(shortened);
                Ok(Look::Stands(Watched { status: known(answer.status, &STANDS, "pending"), reason }))
            }
            404 if Said::read(&reply.body).code.as_deref() == Some("connection_not_found") => Ok(Look::Gone),
            429 => Ok(Look::Later(reply.retry_after)),
            // Gateways that are down for a moment say when to come back.
            503 if reply.retry_after.is_some() => Ok(Look::Later(reply.retry_after)),
            _ => Err(self.note(of_reply(&reply))),
        }
    }
}
