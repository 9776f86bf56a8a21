//! `manage_connections` (CONN-6): what a model may see and set up of connected apps and MCP servers.
//!
//! Nothing is connected or installed without a person: an account by signing in to it, a server by an approval that the
//! host asks for. It never disconnects or removes.

mod apps;
mod authorize;
mod card;
mod servers;

use serde_json::Value;

use super::current::Current;
use super::session::Session;
use crate::call::Problem;
use crate::call::connections::{Action, Target, Wanted};
use crate::catalog::scope::Scope;
use crate::connectors::gateway::Connector;
use crate::protocol::errors::RpcError;
use crate::rpc::Call;

/// Either an answer or a mistake, both for the model.
type Answer = Result<Value, Problem>;

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

struct Asked<'a> {
    call: &'a Call<Session>,
    current: &'a Current,
    scope: &'a Scope,
    call_id: Option<String>,
}

impl Asked<'_> {
    /// How apps and servers stand: those that are named, or all.
    async fn status(&self, targets: &[Target]) -> Result<Answer, RpcError> {
        let mut answer = serde_json::Map::new();
        let slugs: Vec<&String> = targets.iter().filter_map(app).collect();
        let servers: Vec<&String> = targets.iter().filter_map(server).collect();
        if targets.is_empty() || !slugs.is_empty() {
            let listed = match self.account().await? {
                Ok(account) => self.list(&account).await?.map_err(|failure| self.no_apps(&failure)),
                Err(none) => Err(none),
            };
            match listed {
                Ok(list) => {
                    let wanted = |connector: &&Connector| slugs.is_empty() || slugs.contains(&&connector.connector);
                    let shown: Vec<Value> = list.iter().filter(wanted).map(apps::shown).collect();
                    answer.insert("connectors".to_owned(), shown.into());
                    let unknown = slugs.iter().filter(|slug| !list.iter().any(|known| known.connector == ***slug));
                    let unknown: Vec<Value> = unknown.map(|slug| apps::unknown_app(slug, &list)).collect();
                    if !unknown.is_empty() {
                        answer.insert("unknown".to_owned(), unknown.into());
                    }
                }
                // What was asked for by name is missed; of all, the other half is still worth telling.
                Err(none) if !slugs.is_empty() => return Ok(Err(Problem::new(none.why))),
                // CONN-1
                Err(none) if none.dark => {}
                Err(none) => {
                    answer.insert("connectors_note".to_owned(), none.why.into());
                }
            }
        }
        if targets.is_empty() || !servers.is_empty() {
            let offers = self.offers().await?;
            answer.insert("mcp_servers".to_owned(), self.server_states(&servers, &offers).into());
        }
        Ok(Ok(Value::Object(answer)))
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
