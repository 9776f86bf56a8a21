//! The card of accounts that a person is to connect: shown by the host, kept true by the sidecar, which watches each
//! account until all are settled, the card is closed, or five minutes are over.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::connectors::gateway::{Connection, Look};
use crate::connectors::{Account, Failure};
use crate::protocol::host::{ConnectionCard, ConnectionsChanged, ShowConnectionsParams, ShowConnectionsResult};
use crate::rpc::Call;
use crate::server::session::Session;
use crate::servers::oauth::{Ending, SignIn};

/// The longest that a gateway that asks for patience is left alone.
const PATIENCE: Duration = Duration::from_secs(60);
/// How many pauses are made where it does not say how long it wants to be.
const PAUSES: u32 = 10;

/// An account on the card.
struct Place {
    card: ConnectionCard,
    reason: Option<String>,
}

impl Place {
    fn new(connection: &Connection) -> Self {
        let status = match connection.status.as_str() {
            "initiated" => "pending",
            other => other,
        };
        let card = ConnectionCard {
            connector: connection.connector.clone(),
            status: status.to_owned(),
            connect_url: connection.connect_url.clone(),
            mcp: None,
        };
        Self { card, reason: connection.status_reason.clone() }
    }

    fn is_pending(&self) -> bool {
        self.card.status == "pending"
    }

    fn told(&self) -> Value {
        let mut told = json!({ "connector": self.card.connector, "status": self.card.status });
        if self.is_pending()
            && let Some(url) = &self.card.connect_url
        {
            told["connect_url"] = url.as_str().into();
        }
        if let Some(reason) = &self.reason {
            told["reason"] = reason.as_str().into();
        }
        told
    }
}

/// What a watcher found of the account at this place.
type News = (usize, String, Option<String>);

/// Shows the card; what became of each account, for the model.
pub(super) async fn show(
    call: &Call<Session>,
    account: &Arc<Account>,
    connections: &[Connection],
    call_id: Option<String>,
) -> Vec<Value> {
    let mut places: Vec<Place> = connections.iter().map(Place::new).collect();
    let deadline = Instant::now() + account.bounds().card;
    let (sender, mut news) = mpsc::channel::<News>(16);
    // Dropped at the end, and with it the watchers.
    let mut watchers = JoinSet::new();
    for (at, connection) in connections.iter().enumerate().filter(|(at, _)| places[*at].is_pending()) {
        if let Some(id) = connection.connection_id.clone() {
            watchers.spawn(watch(account.clone(), id, at, sender.clone()));
        }
    }
    drop(sender);
    let cards = |places: &[Place]| places.iter().map(|place| place.card.clone()).collect::<Vec<_>>();
    let shown = ShowConnectionsParams { connections: cards(&places), call_id: call_id.clone() };
    // Dropping it takes the card away.
    let card = call.peer.request("host/showConnections", shown);
    tokio::pin!(card);
    while places.iter().any(Place::is_pending) {
        tokio::select! {
            closed = &mut card => {
                let closed = closed.ok().and_then(|answer| serde_json::from_str(answer.get()).ok());
                let ShowConnectionsResult { skipped } = closed.unwrap_or_default();
                let skips = |place: &&mut Place| place.is_pending() && skipped.contains(&place.card.connector);
                places.iter_mut().filter(skips).for_each(|place| place.card.status = "skipped".to_owned());
                break;
            }
            Some((at, status, reason)) = news.recv() => {
                let place = &mut places[at];
                if place.card.status == status {
                    continue;
                }
                (place.card.status, place.reason) = (status, reason);
                let changed = ConnectionsChanged { connections: cards(&places), call_id: call_id.clone() };
                call.peer.notify("connections/didChange", changed);
            }
            () = call.cancel.cancelled() => break,
            () = sleep_until(deadline) => break,
        }
    }
    places.iter().map(Place::told).collect()
}

/// Shows the card of a server that a person is to sign in to, until they have; how that ended, or nothing where the card was
/// closed before. The sign-in goes on all the same: the person may have the link.
pub(super) async fn show_server(
    call: &Call<Session>,
    name: &str,
    sign_in: &mut SignIn,
    call_id: Option<String>,
) -> Option<Ending> {
    let card = |status: &str, link: Option<&str>| {
        vec![ConnectionCard {
            connector: name.to_owned(),
            status: status.to_owned(),
            connect_url: link.map(str::to_owned),
            mcp: Some(true),
        }]
    };
    let pending = card("pending", Some(sign_in.link()));
    let shown = call
        .peer
        .request("host/showConnections", ShowConnectionsParams { connections: pending, call_id: call_id.clone() });
    tokio::pin!(shown);
    let ending = tokio::select! {
        ending = sign_in.ended() => ending,
        // Dropping the request takes the card away.
        _ = &mut shown => return sign_in.ending(),
        () = call.cancel.cancelled() => return sign_in.ending(),
    };
    let changed = ConnectionsChanged { connections: card(super::authorize::status(&ending).0, None), call_id };
    call.peer.notify("connections/didChange", changed);
    Some(ending)
}

/// Looks at an account, with a pause before each look, until it is settled.
async fn watch(account: Arc<Account>, id: String, at: usize, news: mpsc::Sender<News>) {
    let between = account.bounds().pause;
    loop {
        sleep(between).await;
        let settled = match account.look(&id).await {
            Ok(Look::Stands(watched)) => {
                let pending = watched.status == "pending";
                if news.send((at, watched.status, watched.reason)).await.is_err() {
                    return;
                }
                !pending
            }
            Ok(Look::Gone) => {
                let _ = news.send((at, "failed".to_owned(), Some("the gateway knows it no more".to_owned()))).await;
                true
            }
            Ok(Look::Later(pause)) => {
                sleep(pause.unwrap_or(between * PAUSES).min(PATIENCE).saturating_sub(between)).await;
                false
            }
            Err(Failure::SignedOut | Failure::Dark) => {
                let why = "the gateway tells nothing of it any more".to_owned();
                let _ = news.send((at, "failed".to_owned(), Some(why))).await;
                true
            }
            // It may be better the next time.
            Err(Failure::Unavailable(_) | Failure::Refused(_)) => false,
        };
        if settled {
            return;
        }
    }
}
