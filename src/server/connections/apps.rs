//! Connected apps: how their accounts stand, and connecting them.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Answer, Asked, app, card};
use crate::call::Problem;
use crate::call::connections::{Action, Wanted, right_call};
use crate::call::suggest;
use crate::connectors::gateway::{Connection, Connector};
use crate::connectors::name::{TOOLSET, toolset};
use crate::connectors::{Account, Failure};
use crate::protocol::errors::RpcError;
use crate::server::connectors::{Access, access};

/// Why there are no connected apps.
pub(super) struct NoApps {
    /// For the model.
    pub why: String,
    /// Whether a model that does not ask for one by name is not to hear of them (CONN-1).
    pub dark: bool,
    /// Whether the gateway was asked to do something, and may have.
    sent: bool,
}

impl NoApps {
    /// As the answer to a model that wanted something done.
    fn problem(self) -> Problem {
        Problem::new(if self.sent { self.why } else { format!("{} Nothing was done.", self.why) })
    }
}

impl Asked<'_> {
    /// The account, or why nothing hosted can be done.
    pub(super) async fn account(&self) -> Result<Result<Arc<Account>, NoApps>, RpcError> {
        Ok(match access(self.call, self.current).await? {
            Access::Disabled => {
                let why = "Connected apps are switched off here (`tools.connectors.enabled`).".to_owned();
                Err(NoApps { why, dark: true, sent: false })
            }
            Access::SignedOut => {
                Err(NoApps { why: self.current.signing.told_signed_out().to_owned(), dark: false, sent: false })
            }
            Access::Account(account) => match account.resting() {
                None => Ok(account),
                Some(failure) => Err(self.no_apps(&failure)),
            },
        })
    }

    pub(super) fn no_apps(&self, failure: &Failure) -> NoApps {
        let dark = *failure == Failure::Dark;
        let why = match dark {
            true => "The gateway serves no connected apps to this account.".to_owned(),
            false => self.current.signing.told(failure).1,
        };
        NoApps { why, dark, sent: !dark && *failure != Failure::SignedOut }
    }

    fn grants(&self, connector: &str) -> bool {
        self.scope.grants_toolset(&toolset(connector), TOOLSET)
    }

    /// The connectors in scope.
    pub(super) async fn list(&self, account: &Account) -> Result<Result<Vec<Connector>, Failure>, RpcError> {
        let list = tokio::select! {
            list = account.list() => list,
            () = self.call.cancel.cancelled() => return Err(RpcError::cancelled()),
        };
        Ok(list.map(|list| list.into_iter().filter(|connector| self.grants(&connector.connector)).collect()))
    }

    /// Connects the accounts, or says where a person does it; in the order asked.
    pub(super) async fn connect(&self, wanted: Wanted) -> Result<Answer, RpcError> {
        let account = match self.account().await? {
            Ok(account) => account,
            Err(none) => return Ok(Err(none.problem())),
        };
        let asked: Vec<&String> = wanted.targets.iter().filter_map(app).collect();
        let again = wanted.action == Action::Reconnect || wanted.force;
        // Without a list every slug is tried: the gateway knows best.
        let list = match self.list(&account).await? {
            Ok(list) => Some(list),
            Err(failure @ (Failure::Dark | Failure::SignedOut)) => return Ok(Err(self.no_apps(&failure).problem())),
            Err(_) => None,
        };
        let mut results: Vec<Value> = Vec::new();
        let mut slugs: Vec<String> = Vec::new();
        for &slug in &asked {
            let known = list.as_ref().map(|list| list.iter().find(|known| known.connector == *slug));
            match known {
                _ if !self.grants(slug) => results.push(unknown_app(slug, list.as_deref().unwrap_or_default())),
                Some(None) => {
                    let mut unknown = unknown_app(slug, list.as_deref().unwrap_or_default());
                    if self.offers().await?.contains_key(slug) {
                        let right = right_call(Action::Install, &json!([{ "name": slug, "mcp": true }]));
                        unknown["hint"] = format!("There is an MCP server of that name: {right}").into();
                    }
                    results.push(unknown);
                }
                Some(Some(known)) if known.connected && !again => {
                    results.push(json!({ "connector": slug, "status": "active" }));
                }
                _ => slugs.push(slug.clone()),
            }
        }
        if slugs.is_empty() {
            return Ok(Ok(json!({ "results": results })));
        }
        let connections = tokio::select! {
            connections = account.connect(&slugs, again) => connections,
            () = self.call.cancel.cancelled() => return Err(RpcError::cancelled()),
        };
        let connections = match connections {
            Ok(connections) => connections,
            Err(failure) => return Ok(Err(self.no_apps(&failure).problem())),
        };
        let shows = self.call.session.opened().await?.host.show_connections;
        if shows && connections.iter().any(|connection| connection.status == "initiated") {
            let accounts = card::show(self.call, &account, &connections, self.call_id.clone()).await;
            results.extend(accounts);
            in_order(&mut results, &asked);
            return Ok(Ok(json!({ "results": results })));
        }
        let links = connections.iter().any(|connection| connection.connect_url.is_some());
        results.extend(connections.iter().map(started));
        in_order(&mut results, &asked);
        let mut answer = json!({ "results": results });
        if links {
            answer["next"] =
                "Give the person each link to open; once they have signed in, the app's tools work.".into();
        }
        Ok(Ok(answer))
    }
}

/// Sorts results as they were asked for; what nobody asked for comes last.
fn in_order(results: &mut [Value], asked: &[&String]) {
    let place = |result: &Value| asked.iter().position(|slug| result["connector"] == slug.as_str());
    results.sort_by_key(|result| place(result).unwrap_or(usize::MAX));
}

/// An app as a status has it.
pub(super) fn shown(connector: &Connector) -> Value {
    let mut shown = json!({ "connector": connector.connector, "connected": connector.connected });
    if !connector.enabled {
        shown["enabled"] = false.into();
    }
    if let Some(status) = &connector.connection_status {
        shown["status"] = status.as_str().into();
    }
    shown
}

/// What became of a wish to connect, with the link where a person has to follow one.
fn started(connection: &Connection) -> Value {
    let mut started = json!({ "connector": connection.connector, "status": connection.status });
    if let Some(url) = &connection.connect_url {
        started["connect_url"] = url.as_str().into();
    }
    if let Some(reason) = &connection.status_reason {
        started["reason"] = reason.as_str().into();
    }
    started
}

pub(super) fn unknown_app(slug: &str, list: &[Connector]) -> Value {
    let names = list.iter().map(|known| (known.connector.as_str(), known.connector.as_str()));
    json!({ "connector": slug, "status": "unknown", "suggestions": suggest::nearest(slug, names) })
}
