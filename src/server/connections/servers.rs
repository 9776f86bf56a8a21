//! MCP servers: what can be installed, what is, and setting one up once a person has approved of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Answer, Asked, authorize, server};
use crate::call::connections::{Action, Wanted, right_call};
use crate::call::suggest;
use crate::protocol::errors::RpcError;
use crate::protocol::host::ApproveParams;
use crate::server::approval::approval;
use crate::server::current::off_thread;
use crate::server::servers::{Configured, Standing};
use crate::servers::State;
use crate::servers::oauth::Ending;
use crate::servers::offers::{self, Offer};

/// Characters of a description in an answer.
const SHORT: usize = 160;

/// What can be installed, by name.
type Offers = BTreeMap<String, Offer>;

impl Asked<'_> {
    /// All in scope that can be installed.
    pub(super) async fn offers(&self) -> Result<Offers, RpcError> {
        let places = &self.call.session.opened().await?.places;
        let (user, workspace) = (places.user.clone(), places.workspace.clone());
        let mut offers = off_thread(move || offers::offers(user.as_deref(), workspace.as_deref()).all).await?;
        offers.retain(|name, _| self.grants_server(name));
        Ok(offers)
    }

    fn grants_server(&self, name: &str) -> bool {
        self.scope.grants_toolset(&format!("mcp-{name}"), name)
    }

    /// The configured servers in scope.
    fn configured(&self) -> impl Iterator<Item = &Configured> {
        self.current.servers.iter().filter(|server| self.grants_server(&server.name))
    }

    /// How the servers of these names stand; without names, all.
    pub(super) fn server_states(&self, wanted: &[&String], offers: &Offers) -> Vec<Value> {
        let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| *wanted == name);
        let configured = self.configured().filter(|server| is_wanted(&server.name));
        let mut states: BTreeMap<String, Value> =
            configured.map(|server| (server.name.clone(), server_state(server))).collect();
        for (name, offer) in offers.iter().filter(|(name, _)| is_wanted(name)) {
            let description: String = offer.description.chars().take(SHORT).collect();
            let state = || json!({ "name": name, "state": "not_installed", "description": description });
            states.entry(name.clone()).or_insert_with(state);
        }
        for name in wanted {
            let unknown = || json!({ "name": name, "state": "unknown", "suggestions": self.nearest(name, offers) });
            states.entry((*name).clone()).or_insert_with(unknown);
        }
        states.into_values().collect()
    }

    /// Names in scope that may have been meant.
    fn nearest<'a>(&'a self, name: &str, offers: &'a Offers) -> Vec<&'a str> {
        let names: BTreeSet<&String> = self.configured().map(|server| &server.name).chain(offers.keys()).collect();
        suggest::nearest(name, names.into_iter().map(|name| (name.as_str(), name.as_str())))
    }

    fn unknown_server(&self, name: &str, offers: &Offers) -> Value {
        json!({ "name": name, "status": "unknown", "suggestions": self.nearest(name, offers) })
    }

    /// Installs, switches on or signs in to each.
    pub(super) async fn servers(&self, wanted: Wanted) -> Result<Answer, RpcError> {
        let offers = self.offers().await?;
        let mut results = Vec::new();
        for name in wanted.targets.iter().filter_map(server) {
            if self.call.cancel.is_cancelled() {
                results.push(json!({ "name": name, "status": "interrupted" }));
                continue;
            }
            let configured = self.configured().find(|server| server.name == *name);
            let result = match (wanted.action, configured, offers.get(name)) {
                (_, None, None) => self.unknown_server(name, &offers),
                (Action::Install, None, Some(offer)) => self.install(name, offer).await?,
                (_, None, Some(_)) => {
                    let right = right_call(Action::Install, &json!([{ "name": name, "mcp": true }]));
                    json!({ "name": name, "status": "not_installed", "hint": format!("Install it first: {right}") })
                }
                (Action::Authorize, Some(server), _) => self.authorize(server, wanted.force).await?,
                (action, Some(server), _) => match (action, &server.standing) {
                    (Action::Enable, Standing::Disabled) => self.enable(name).await?,
                    (Action::Install, Standing::Disabled) => {
                        let right = right_call(Action::Enable, &json!([{ "name": name, "mcp": true }]));
                        let hint = format!("It is installed and switched off: {right}");
                        json!({ "name": name, "status": "disabled", "hint": hint })
                    }
                    _ => json!({ "name": name, "status": server.state(), "hint": "It is configured already." }),
                },
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
        let mut shown = Map::from_iter([("file".to_owned(), json!(offers::file_of(&user, name)))]);
        shown.extend(entry);
        if let Some(reason) = self.denied(name, Action::Install, shown).await? {
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
        let shown = Map::from_iter([
            ("file".to_owned(), json!(offers::file_of(&user, name))),
            ("disabled".to_owned(), json!(false)),
        ]);
        if let Some(reason) = self.denied(name, Action::Enable, shown).await? {
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
    pub(super) async fn denied(
        &self,
        name: &str,
        action: Action,
        mut shown: Map<String, Value>,
    ) -> Result<Option<String>, RpcError> {
        // Said outright: the rest of what is shown differs by members alone.
        shown.insert("action".to_owned(), action.as_str().into());
        let asked = ApproveParams {
            name: format!("server:{name}"),
            arguments: shown.into(),
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

/// What a configured server is doing, and where a sign-in to it stands.
fn server_state(server: &Configured) -> Value {
    let mut state = json!({ "name": server.name, "state": server.state() });
    let Standing::Attached(attached, view) = &server.standing else { return state };
    if view.state != State::NeedsAuthorization {
        return state;
    }
    match attached.sign_in().map(|sign_in| sign_in.ending()) {
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
