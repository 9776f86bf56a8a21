//! Configuration as files and flags have it, for commands that look at it without a session.

use std::sync::Arc;

use crate::server::session::Options;
use crate::servers::spec::{self, Asking, Outcome, Written};
use crate::workspace::config::{self, Config};
use crate::workspace::snapshot::{Places, Snapshot, Workspace};
use crate::workspace::trust::Trust;

/// What a sidecar in this place starts with.
pub struct Configured {
    /// What the layers come to.
    pub config: Config,
    /// What the files say.
    pub snapshot: Arc<Snapshot>,
    /// Where they were read, the workspace being as a host in this folder says.
    pub places: Places,
}

impl Configured {
    /// Reads it, with the trust that a sidecar would have.
    pub fn read(options: &Options) -> Self {
        Self::trusting(options, |snapshot| Trust {
            whole: options.trust_workspace || snapshot.trust.whole,
            approved: snapshot.trust.approved.clone(),
        })
    }

    /// Reads it without anything of a workspace's that waits for trust, whoever trusts it.
    pub fn read_untrusting(options: &Options) -> Self {
        Self::trusting(options, |_| Trust::default())
    }

    fn trusting(options: &Options, trust: impl Fn(&Snapshot) -> Trust) -> Self {
        let workspace = options.places.workspace.clone().or_else(|| options.working_directory.clone());
        let places = Places { workspace, ..options.places.clone() };
        let snapshot = Workspace::new(places.clone()).refresh();
        Self { config: config::merge(&snapshot.layers, &trust(&snapshot)), snapshot, places }
    }

    /// What the entry of an MCP server means; `None` where there is none in effect.
    pub fn server(&self, options: &Options, name: &str) -> Option<Outcome> {
        let server = self.config.settings.mcp_servers.get(name)?;
        let written = Written { name, node: &server.node, file: &server.origin.file, pointer: &server.pointer };
        let folder = self.places.workspace.as_deref();
        let cached = self.config.settings.mcp_cache;
        Some(spec::read(&written, Asking { environment: &options.environment, folder, cached }).0)
    }
}
