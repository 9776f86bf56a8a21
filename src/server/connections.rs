//! `manage_connections` (CONN-6): what a model may see and set up of connected apps and MCP servers.
//!
//! Nothing is connected or installed without a person: an account by signing in to it, a server by an approval that the
//! host asks for. It never disconnects or removes.

mod authorize;
mod card;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::approval::approval;
use super::connectors::{Access, access, told};
use super::current::{Current, off_thread};
use super::servers::Configured;
use super::session::Session;
use crate::call::Problem;
use crate::call::connections::{Action, Target, Wanted, right_call};
use crate::call::suggest;
use crate::catalog::scope::Scope;
use crate::connectors::gateway::{Connection, Connector};
use crate::connectors::{Account, Failure};
use crate::protocol::errors::RpcError;
use crate::protocol::host::ApproveParams;
use crate::rpc::Call;
use crate::servers::oauth::Ending;
use crate::servers::offers::{self, Offer};

/// Either an answer or a mistake, both for the model.
type Answer = Result<Value, Problem>;

/// Characters of a description in an answer.
const SHORT: usize = 160;

/// Does what was asked.
pub async fn manage(
    call: &Call<Session>,
    current: &Current,
    scope: &Scope,
    wanted: Wanted,
    call_id: Option<String>,
) -> Result<Answer, RpcError> {
    let asked = Asked { call, current, scope, call_id };
    match wanted.action {
        Action::Status => asked.status(&wanted.targets).await,
        Action::Connect | Action::Reconnect => asked.connect(wanted).await,
        Action::Install | Action::Enable | Action::Authorize => asked.servers(wanted).await,
    }
}

/// Why there are no connected apps.
struct NoApps {
    problem: Problem,
    /// Whether a model that does not ask for one by name is not to hear of them (CONN-1).
    dark: bool,
}

impl From<Failure> for NoApps {
    fn from(failure: Failure) -> Self {
        Self { problem: failed(&failure), dark: failure == Failure::Dark }
    }
}

struct Asked<'a> {
    call: &'a Call<Session>,
    current: &'a Current,
    scope: &'a Scope,
    call_id: Option<String>,
}

impl Asked<'_> {
    /// The account, or why nothing hosted can be done.
    async fn account(&self) -> Result<Result<Arc<Account>, NoApps>, RpcError> {
        let off = || Problem::new("Connected apps are switched off here (`tools.connectors.enabled`).");
        Ok(match access(self.call, self.current).await? {
            Access::Disabled => Err(NoApps { problem: off(), dark: true }),
            Access::SignedOut => Err(NoApps { problem: signed_out(), dark: false }),
            Access::Account(account) => match account.resting() {
                None => Ok(account),
                Some(failure) => Err(failure.into()),
            },
        })
    }

    fn grants(&self, connector: &str) -> bool {
        self.scope.grants_toolset(&crate::connectors::name::toolset(connector), crate::connectors::name::TOOLSET)
    }

    /// The connectors in scope.
    async fn list(&self, account: &Account) -> Result<Result<Vec<Connector>, Failure>, RpcError> {
        let list = tokio::select! {
            list = account.list() => list,
            () = self.call.cancel.cancelled() => return Err(RpcError::cancelled()),
        };
        Ok(list.map(|list| list.into_iter().filter(|connector| self.grants(&connector.connector)).collect()))
    }

    async fn status(&self, targets: &[Target]) -> Result<Answer, RpcError> {
        let mut answer = serde_json::Map::new();
        let apps: Vec<&String> = targets.iter().filter_map(app).collect();
        let servers: Vec<&String> = targets.iter().filter_map(server).collect();
        if targets.is_empty() || !apps.is_empty() {
            let listed = match self.account().await? {
                Ok(account) => self.list(&account).await?.map_err(NoApps::from),
                Err(none) => Err(none),
            };
            match listed {
                Ok(list) => {
                    let wanted = |connector: &&Connector| apps.is_empty() || apps.contains(&&connector.connector);
                    let shown: Vec<Value> = list.iter().filter(wanted).map(shown).collect();
                    answer.insert("connectors".to_owned(), shown.into());
                    let unknown = apps.iter().filter(|slug| !list.iter().any(|known| known.connector == ***slug));
                    let unknown: Vec<Value> = unknown.map(|slug| unknown_app(slug, &list)).collect();
                    if !unknown.is_empty() {
                        answer.insert("unknown".to_owned(), unknown.into());
                    }
                }
                // What was asked for by name is missed; of all, the other half is still worth telling.
                Err(none) if !apps.is_empty() => return Ok(Err(none.problem)),
                // CONN-1
                Err(none) if none.dark => {}
                Err(none) => {
                    answer.insert("connectors_note".to_owned(), none.problem.error.into());
                }
            }
        }
        if targets.is_empty() || !servers.is_empty() {
            let offers = self.offers().await?;
            answer.insert("mcp_servers".to_owned(), self.server_states(&servers, &offers).into());
        }
        Ok(Ok(Value::Object(answer)))
    }

    async fn connect(&self, wanted: Wanted) -> Result<Answer, RpcError> {
        let account = match self.account().await? {
            Ok(account) => account,
            Err(none) => return Ok(Err(none.problem)),
        };
        let again = wanted.action == Action::Reconnect || wanted.force;
        // Without a list every slug is tried: the gateway knows best.
        let list = match self.list(&account).await? {
            Ok(list) => Some(list),
            Err(failure @ (Failure::Dark | Failure::SignedOut)) => return Ok(Err(failed(&failure))),
            Err(_) => None,
        };
        let mut results: Vec<Value> = Vec::new();
        let mut slugs: Vec<String> = Vec::new();
        for slug in wanted.targets.iter().filter_map(app) {
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
            Err(failure) => return Ok(Err(failed(&failure))),
        };
        let shows = self.call.session.opened().await?.host.show_connections;
        if shows && connections.iter().any(|connection| connection.status == "initiated") {
            let accounts = card::show(self.call, &account, &connections, self.call_id.clone()).await;
            results.extend(accounts);
            return Ok(Ok(json!({ "results": results })));
        }
        let links = connections.iter().any(|connection| connection.connect_url.is_some());
        results.extend(connections.iter().map(started));
        let mut answer = json!({ "results": results });
        if links {
            answer["next"] =
                "Give the person each link to open; once they have signed in, the app's tools work.".into();
        }
        Ok(Ok(answer))
    }

    /// All in scope that can be installed.
    async fn offers(&self) -> Result<BTreeMap<String, Offer>, RpcError> {
        let places = &self.call.session.opened().await?.places;
        let (user, workspace) = (places.user.clone(), places.workspace.clone());
        let mut offers = off_thread(move || offers::offers(user.as_deref(), workspace.as_deref()).all).await?;
        offers.retain(|name, _| self.grants_server(name));
        Ok(offers)
    }

    fn grants_server(&self, name: &str) -> bool {
        self.scope.grants_toolset(&format!("mcp-{name}"), name)
    }

    fn server_states(&self, wanted: &[&String], offers: &BTreeMap<String, Offer>) -> Vec<Value> {
        let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| *wanted == name);
        let configured =
            self.current.servers.iter().filter(|server| is_wanted(&server.name) && self.grants_server(&server.name));
        let mut states: BTreeMap<String, Value> =
            configured.map(|server| (server.name.clone(), server_state(server))).collect();
        for (name, offer) in offers.iter().filter(|(name, _)| is_wanted(name)) {
            let description: String = offer.description.chars().take(SHORT).collect();
            let state = || json!({ "name": name, "state": "not_installed", "description": description });
            states.entry(name.clone()).or_insert_with(state);
        }
        for name in wanted {
            if !states.contains_key(*name) {
                let suggestions = self.nearest_servers(name, offers);
                let unknown = json!({ "name": name, "state": "unknown", "suggestions": suggestions });
                states.insert((*name).clone(), unknown);
            }
        }
        states.into_values().collect()
    }

    /// Names in scope that may have been meant, of servers that are configured and those that can be.
    fn nearest_servers<'a>(&'a self, name: &str, offers: &'a BTreeMap<String, Offer>) -> Vec<&'a str> {
        let configured = self.current.servers.iter().map(|server| &server.name);
        let names: BTreeSet<&String> =
            configured.filter(|name| self.grants_server(name)).chain(offers.keys()).collect();
        suggest::nearest(name, names.into_iter().map(|name| (name.as_str(), name.as_str())))
    }

    fn unknown_server(&self, name: &str, offers: &BTreeMap<String, Offer>) -> Value {
        json!({ "name": name, "status": "unknown", "suggestions": self.nearest_servers(name, offers) })
    }

    async fn servers(&self, wanted: Wanted) -> Result<Answer, RpcError> {
        let offers = self.offers().await?;
        let mut results = Vec::new();
        for name in wanted.targets.iter().filter_map(server) {
            if self.call.cancel.is_cancelled() {
                results.push(json!({ "name": name, "status": "interrupted" }));
                continue;
            }
            let configured = self.current.servers.iter().find(|server| server.name == *name);
            let result = match (wanted.action, configured.map(|server| server.state()), offers.get(name)) {
                _ if !self.grants_server(name) => self.unknown_server(name, &offers),
                (Action::Install, None, Some(offer)) => self.install(name, offer).await?,
                (Action::Enable, Some("disabled"), _) => self.enable(name).await?,
                (Action::Install, Some("disabled"), _) => {
                    let right = right_call(Action::Enable, &json!([{ "name": name, "mcp": true }]));
                    json!({ "name": name, "status": "disabled", "hint": format!("It is installed and switched off: {right}") })
                }
                (Action::Authorize, Some(_), _) => match configured {
                    Some(server) => self.authorize(server, wanted.force).await?,
                    None => self.unknown_server(name, &offers),
                },
                (_, None, Some(_)) => {
                    let right = right_call(Action::Install, &json!([{ "name": name, "mcp": true }]));
                    json!({ "name": name, "status": "not_installed", "hint": format!("Install it first: {right}") })
                }
                (_, Some(state), _) => json!({ "name": name, "status": state, "hint": "It is configured already." }),
                (_, None, None) => self.unknown_server(name, &offers),
            };
            results.push(result);
        }
        Ok(Ok(json!({ "results": results })))
    }

    async fn install(&self, name: &str, offer: &Offer) -> Result<Value, RpcError> {
        let opened = self.call.session.opened().await?;
        let Some(user) = opened.places.user.clone() else {
            return Ok(
                json!({ "name": name, "status": "failed", "reason": "there is no folder for the user's configuration" }),
            );
        };
        if self.current.snapshot.without_layer {
            let why = "a file of the configuration cannot be read, and may name it: `toolscout check` says which";
            return Ok(json!({ "name": name, "status": "failed", "reason": why }));
        }
        let entry = offer.entry();
        if !opened.host.approve {
            let by_hand = format!("toolscout servers install {name}");
            return Ok(json!({
                "name": name, "status": "approval_required", "entry": entry, "command": by_hand,
                "hint": "Only a person may install it, and this host cannot ask: tell them to run `command`.",
            }));
        }
        let mut shown = serde_json::Map::from_iter([("file".to_owned(), json!(offers::file_of(&user, name)))]);
        shown.extend(entry);
        if let Some(reason) = self.denied(name, shown.into()).await? {
            return Ok(json!({ "name": name, "status": "denied", "reason": reason }));
        }
        let (own, offered) = (name.to_owned(), offer.clone());
        let written = off_thread(move || offers::install(&user, &own, &offered)).await?;
        let set = |name: &String| opened.asking.environment.get(name).is_some_and(|value| !value.is_empty());
        let missing: Vec<String> = offer.needs().into_iter().filter(|name| !set(name)).collect();
        Ok(match written {
            Ok(_) if offer.oauth => {
                let right = right_call(Action::Authorize, &json!([{ "name": name, "mcp": true }]));
                json!({ "name": name, "status": "installed", "hint": format!("A person signs in to it: {right}") })
            }
            Ok(_) if missing.is_empty() => json!({ "name": name, "status": "installed" }),
            Ok(_) => json!({
                "name": name, "status": "installed", "missing_variables": missing,
                "hint": "It starts once a person has set these variables where the host is started.",
            }),
            Err(error) => json!({ "name": name, "status": "failed", "reason": error.to_string() }),
        })
    }

    async fn enable(&self, name: &str) -> Result<Value, RpcError> {
        let opened = self.call.session.opened().await?;
        let by_hand = json!({
            "name": name, "status": "approval_required", "command": format!("toolscout servers enable {name}"),
            "hint": "Only a person may switch it on, and this host cannot ask: tell them to run `command`.",
        });
        let Some(user) = opened.places.user.clone().filter(|_| opened.host.approve) else { return Ok(by_hand) };
        let shown = json!({ "file": offers::file_of(&user, name), "disabled": false });
        if let Some(reason) = self.denied(name, shown).await? {
            return Ok(json!({ "name": name, "status": "denied", "reason": reason }));
        }
        let own = name.to_owned();
        Ok(match off_thread(move || offers::switch(&user, &own, true)).await? {
            Ok(_) => json!({ "name": name, "status": "enabled" }),
            Err(error) => {
                let settings = &self.current.config.settings;
                let file = settings.mcp_servers.get(name).map(|server| server.origin.file.clone());
                let hint = "A person takes `disabled` away where its entry stands.";
                json!({ "name": name, "status": "failed", "reason": error.to_string(), "file": file, "hint": hint })
            }
        })
    }

    /// Why a person, or the host for them, does not want it; `None` where they do.
    async fn denied(&self, name: &str, shown: Value) -> Result<Option<String>, RpcError> {
        let asked = ApproveParams {
            name: format!("server:{name}"),
            arguments: shown,
            toolset: Some(format!("mcp-{name}")),
            call_id: self.call_id.clone(),
            index: None,
            read_only: None,
            destructive: None,
        };
        tokio::select! {
            // What is installed is what was shown: other arguments are no approval of it.
            answer = approval(&self.call.peer, asked) => Ok(match answer {
                Ok(None) => None,
                Ok(Some(_)) => Some("it was approved with other arguments, which is not possible".to_owned()),
                Err(why) => Some(why),
            }),
            () = self.call.cancel.cancelled() => Err(RpcError::cancelled()),
        }
    }
}

fn app(target: &Target) -> Option<&String> {
    match target {
        Target::App(slug) => Some(slug),
        Target::Server(_) => None,
    }
}

fn server(target: &Target) -> Option<&String> {
    match target {
        Target::Server(name) => Some(name),
        Target::App(_) => None,
    }
}

fn signed_out() -> Problem {
    Problem::new("Nobody is signed in to connected apps: a person does it with `toolscout login`. Nothing was done.")
}

fn failed(failure: &Failure) -> Problem {
    match failure {
        Failure::SignedOut => signed_out(),
        Failure::Dark => Problem::new("The gateway serves no connected apps to this account. Nothing was done."),
        other => Problem::new(told(other).1),
    }
}

fn shown(connector: &Connector) -> Value {
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

fn unknown_app(slug: &str, list: &[Connector]) -> Value {
    let names = list.iter().map(|known| (known.connector.as_str(), known.connector.as_str()));
    json!({ "connector": slug, "status": "unknown", "suggestions": suggest::nearest(slug, names) })
}

/// What a configured server is doing, and where a sign-in to it stands.
fn server_state(server: &Configured) -> Value {
    let mut state = json!({ "name": server.name, "state": server.state() });
    if server.state() != "needs_authorization" {
        return state;
    }
    match server.attached().and_then(|attached| attached.sign_in()).map(|sign_in| sign_in.ending()) {
        Some(None) => state["sign_in"] = "pending".into(),
        Some(Some(ending)) if ending != Ending::Authorized => {
            let (status, reason) = authorize::status(&ending);
            state["sign_in"] = status.into();
            state["reason"] = reason.into();
        }
        _ => {}
    }
    state
}
