//! What a host is told without asking: that files or MCP servers changed its catalog, and what is wrong with them.

use std::sync::{Arc, Weak};

use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::current::Current;
use super::session::Session;
use crate::catalog::changes::Changes;
use crate::protocol::changes::DidChangeParams;
use crate::rpc::Peer;
use crate::workspace::loader::News;

/// A session that takes up what files and servers say, until this is dropped.
pub struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Session {
    /// Takes up what files and servers say whenever it is something new, whether anybody asks or not.
    pub(super) fn follow(self: &Arc<Self>, news: News, peer: Peer) {
        let servers = self.process.servers.changes();
        let task = tokio::spawn(take_up(Arc::downgrade(self), news, servers, peer));
        // A connection is initialized once.
        let _ = self.following.set(Following(task));
    }

    /// Tells the host what changed with the catalog that comes into use.
    pub(super) fn tell(&self, current: &Current, changes: Changes, peer: &Peer) {
        for changed in self.unpublished(current) {
            peer.notify("diagnostics/publish", changed);
        }
        if !changes.is_empty() {
            let Changes { added, removed, changed, sources } = changes;
            let params = DidChangeParams { revision: current.revision, added, removed, changed, sources };
            peer.notify("catalog/didChange", params);
        }
    }
}

/// Holds the session only while there is something to take up: nobody else would end it.
async fn take_up(session: Weak<Session>, mut news: News, mut servers: watch::Receiver<u64>, peer: Peer) {
    loop {
        servers.mark_unchanged();
        let snapshot = news.borrow_and_update().clone();
        let Some(session) = session.upgrade() else { return };
        if let (Some(opened), Some(snapshot)) = (session.opened_now(), snapshot) {
            match session.build(opened, snapshot, &peer).await {
                Ok(current) => session.ask_for_trust(opened, &current, &peer),
                Err(error) => tracing::warn!(%error, "changed files are not taken up"),
            }
        }
        drop(session);
        // The first time round is for what happened between the snapshot of `initialize` and now.
        let changed = tokio::select! {
            changed = news.changed() => changed,
            changed = servers.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
    }
}
