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
use crate::workspace::trust::Waiting;

/// Of a setting; a server is asked for by itself, when there is something to start.
const WORKSPACE: &str = "workspace";

impl Session {
    /// Asks the host about settings that wait for trust and that it was not asked about yet, if it takes such questions.
    pub(super) fn ask_for_trust(self: &Arc<Self>, opened: &Opened, current: &Current, peer: &Peer) {
        if !opened.host.approve {
            return;
        }
        let is_new = |waiting: &&Waiting| {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            !waiting.key.starts_with("mcpServers") && asked.insert(waiting.fingerprint())
        };
        let waiting: Vec<Waiting> = current.config.untrusted.iter().filter(is_new).cloned().collect();
        if !waiting.is_empty() {
            tokio::spawn(ask(Arc::downgrade(self), waiting, peer.clone()));
        }
    }
}

/// Holds the session only once there is an answer: a person may take days.
async fn ask(session: Weak<Session>, waiting: Vec<Waiting>, peer: Peer) {
    let settings: Map<String, Value> =
        waiting.iter().map(|waiting| (waiting.key.clone(), waiting.value.to_json())).collect();
    let file = waiting.first().map(|waiting| waiting.file.clone());
    let shown = json!({ "file": file, "settings": settings });
    let question = ApproveParams {
        name: WORKSPACE.to_owned(),
        arguments: shown.clone(),
        toolset: None,
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
