//! Asking a person, through the host, whether a workspace's own file may decide what needs trust.
//!
//! Nobody is asked twice about the same content on one connection, whatever the answer; an approval is kept for all
//! connections to come, a refusal is not.

use std::sync::{Arc, PoisonError, Weak};

use serde_json::{Map, Value, json};

use super::current::{Current, off_thread};
use super::session::{Opened, Session};
use crate::protocol::host::{ApproveParams, ApproveResult, Decision};
use crate::rpc::Peer;
use crate::workspace::address;
use crate::workspace::node::Node;
use crate::workspace::setting;
use crate::workspace::trust::Waiting;

/// Of settings, which are asked for together.
const WORKSPACE: &str = "workspace";

impl Session {
    /// Asks the host about settings that wait for trust and that it was not asked about yet, if it takes such questions.
    pub(super) fn ask_for_trust(self: &Arc<Self>, opened: &Opened, current: &Current, peer: &Peer) {
        if !opened.host.approve {
            return;
        }
        let is_new = |waiting: &&Waiting| {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.insert(waiting.fingerprint())
        };
        let new = current.config.untrusted.iter().filter(is_new).cloned();
        let (servers, settings): (Vec<Waiting>, Vec<Waiting>) = new.partition(|waiting| server_of(waiting).is_some());
        let servers = servers.into_iter().filter(|waiting| !is_disabled(&waiting.value));
        let settings = Some(settings).filter(|settings| !settings.is_empty());
        let questions = settings.map(of_settings).into_iter().chain(servers.map(of_server));
        for question in questions {
            tokio::spawn(ask(Arc::downgrade(self), question, peer.clone()));
        }
    }
}

/// What a person is asked.
struct Question {
    /// What would be approved.
    waiting: Vec<Waiting>,
    /// Its name on the wire.
    name: String,
    /// What it would be.
    shown: Value,
    toolset: Option<String>,
}

fn of_settings(waiting: Vec<Waiting>) -> Question {
    let settings: Map<String, Value> =
        waiting.iter().map(|waiting| (waiting.key.clone(), waiting.value.to_json())).collect();
    let file = waiting.first().map(|waiting| waiting.file.clone());
    Question {
        shown: json!({ "file": file, "settings": settings }),
        waiting,
        name: WORKSPACE.to_owned(),
        toolset: None,
    }
}

/// A server is asked for by itself, as it is written: nothing of it is filled before it is trusted.
fn of_server(waiting: Waiting) -> Question {
    let name = server_of(&waiting).unwrap_or_default().to_owned();
    let mut shown = Map::from_iter([("action".to_owned(), json!("trust")), ("file".to_owned(), json!(waiting.file))]);
    for entry in waiting.value.entries() {
        let value = match &*entry.key {
            "command" | "args" | "cwd" => entry.value.to_json(),
            "url" => match entry.value.to_json() {
                Value::String(url) => address::masked(&url).into(),
                // It is none, and is told to be none.
                _ => continue,
            },
            // What they hold may be secret.
            "env" | "headers" | "oauth" => entry.value.entries().iter().map(|entry| Value::from(&*entry.key)).collect(),
            _ => continue,
        };
        shown.insert(entry.key.to_string(), value);
    }
    Question {
        name: format!("server:{name}"),
        shown: Value::Object(shown),
        toolset: Some(format!("mcp-{name}")),
        waiting: vec![waiting],
    }
}

/// The server that a setting describes, if it describes one.
fn server_of(waiting: &Waiting) -> Option<&str> {
    waiting.key.strip_prefix("mcpServers.")
}

fn is_disabled(server: &Node) -> bool {
    server.get("disabled").and_then(setting::switch) == Some(true)
}

/// Holds the session only once there is an answer: a person may take days.
async fn ask(session: Weak<Session>, question: Question, peer: Peer) {
    let Question { waiting, name, shown, toolset } = question;
    let question = ApproveParams {
        name,
        arguments: shown.clone(),
        toolset,
        call_id: None,
        index: None,
        read_only: None,
        destructive: None,
    };
    let answer = peer.request("host/approve", question).await;
    let answer = answer.map(|answer| serde_json::from_str::<ApproveResult>(answer.get()));
    let Some(session) = session.upgrade() else { return };
    match answer {
        Ok(Ok(answer)) if answer.decision == Decision::Allow => {}
        Ok(Ok(_)) => return,
        Ok(Err(error)) => return tracing::warn!(%error, "the answer to host/approve cannot be read: not approved"),
        Err(error) => return tracing::warn!(%error, "nobody answered host/approve: not approved"),
    }
    let Some(opened) = session.opened_now() else { return };
    let places = opened.places.clone();
    let fingerprints: Vec<String> = waiting.iter().map(Waiting::fingerprint).collect();
    let kept = off_thread(move || waiting.iter().try_for_each(|waiting| places.approve(waiting, &shown))).await;
    if let Ok(Err(error)) = kept {
        tracing::warn!(%error, "the approval is not kept: it holds for this connection only");
        let mut registrations = session.registrations();
        registrations.approved.extend(fingerprints);
        registrations.revision += 1;
    }
    if let Some(snapshot) = opened.loader.fresh().await
        && let Err(error) = session.build(opened, snapshot, &peer).await
    {
        tracing::warn!(%error, "what was approved is not taken up");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_a_server_holds_no_key() {
        let entry = json!({
            "command": "a", "args": ["b"], "url": "https://user:pass-1@x/mcp?key=pass-2",
            "env": {"A": "pass-3"}, "headers": {"B": "pass-4"}, "other": "pass-5",
        });
        let key = "mcpServers.s".to_owned();
        let asked = of_server(Waiting { key, file: "/w/.mcp.json".to_owned(), value: Node::from_json(&entry) });
        let expected = json!({
            "action": "trust", "file": "/w/.mcp.json", "command": "a", "args": ["b"], "url": "https://***@x/mcp?***", "env": ["A"],
            "headers": ["B"],
        });
        assert_eq!((asked.name.as_str(), asked.shown), ("server:s", expected));
    }
}
