//! `authorize`: a person signs in to an MCP server by OAuth, once they have approved that it is begun.

use serde_json::{Map, Value, json};

use super::{Asked, card};
use crate::call::connections::{Action, right_call};
use crate::protocol::errors::RpcError;
use crate::server::servers::{Configured, Standing};
use crate::servers::State;
use crate::servers::oauth::Ending;

impl Asked<'_> {
    /// Begins it, and says what became of it, or where the person goes on.
    pub(super) async fn authorize(&self, server: &Configured, force: bool) -> Result<Value, RpcError> {
        let name = &server.name;
        let (attached, view) = match &server.standing {
            Standing::Attached(attached, view) => (attached, view),
            Standing::Disabled => {
                let right = right_call(Action::Enable, &json!([{ "name": name, "mcp": true }]));
                return Ok(
                    json!({ "name": name, "status": "disabled", "hint": format!("Switch it on first: {right}") }),
                );
            }
            Standing::Untrusted => return Ok(json!({ "name": name, "status": "untrusted" })),
            Standing::Faulty(why) => return Ok(json!({ "name": name, "status": "down", "reason": why })),
        };
        let resource = match attached.spec.resource() {
            Some(Ok(resource)) => resource,
            Some(Err(why)) => return Ok(json!({ "name": name, "status": "unsupported", "reason": why })),
            None => {
                let hint = "It is not signed in to by OAuth: a person puts what it needs under `headers` or `env` of its entry \
                            in the configuration, as ${VARIABLE}.";
                return Ok(json!({ "name": name, "status": "unsupported", "hint": hint }));
            }
        };
        if view.state == State::Ready && !force {
            let hint = "It answers already; `force` signs in to it anew.";
            return Ok(json!({ "name": name, "status": "ready", "hint": hint }));
        }
        let opened = self.call.session.opened().await?;
        if !opened.host.approve {
            return Ok(json!({
                "name": name, "status": "approval_required", "command": format!("toolscout servers authorize {name}"),
                "hint": "Only a person may sign in to it, and this host cannot ask: tell them to run `command`.",
            }));
        }
        let shown =
            Map::from_iter([("url".to_owned(), json!(resource.to_string())), ("oauth".to_owned(), json!("authorize"))]);
        if let Some(reason) = self.denied(name, Action::Authorize, shown).await? {
            return Ok(json!({ "name": name, "status": "denied", "reason": reason }));
        }
        let begun = tokio::select! {
            begun = attached.authorize() => begun,
            () = self.call.cancel.cancelled() => return Err(RpcError::cancelled()),
        };
        let mut sign_in = match begun {
            Ok(sign_in) => sign_in,
            Err(reason) => return Ok(failed(name, &reason)),
        };
        if opened.host.show_connections {
            return Ok(match card::show_server(self.call, name, &mut sign_in, self.call_id.clone()).await {
                Some(ending) => ended(name, &ending),
                None => json!({ "name": name, "status": "skipped" }),
            });
        }
        Ok(json!({
            "name": name, "status": "pending", "connect_url": sign_in.link(),
            "hint": "Give the person the link to open on this machine within five minutes; once they have signed in, the \
                     server's tools work.",
        }))
    }
}

fn failed(name: &str, reason: &str) -> Value {
    let hint = format!("A person can try it with `toolscout servers authorize {name}`.");
    json!({ "name": name, "status": "failed", "reason": reason, "hint": hint })
}

/// The status of a sign-in that has ended, and why.
pub(super) fn status(ending: &Ending) -> (&'static str, Option<String>) {
    match ending {
        Ending::Authorized => ("active", None),
        Ending::Denied(code) => ("denied", Some(code.unwrap_or("it was denied where the person signed in").to_owned())),
        Ending::Failed(why) => ("failed", Some(why.clone())),
        Ending::TimedOut => ("expired", Some("nobody signed in within five minutes".to_owned())),
    }
}

fn ended(name: &str, ending: &Ending) -> Value {
    let (status, reason) = status(ending);
    let mut ended = json!({ "name": name, "status": status });
    match reason {
        Some(reason) => ended["reason"] = reason.into(),
        None => ended["hint"] = "Its tools can be searched in a moment.".into(),
    }
    ended
}
