//! The MCP servers that a connection's configuration names, and what each adds to its catalog.
//!
//! Settled anew whenever something changed; an entry that means the same server as before goes on with it.

use std::sync::Arc;

use serde_json::json;

use super::session::{Process, ServerAsking};
use crate::catalog::source::{Kind, Origin, Source, SourceInfo};
use crate::diagnostic::{Diagnostic, Severity};
use crate::servers::spec::{Asking, Outcome, Written, read};
use crate::servers::{Attached, State, View, is_this_program};
use crate::workspace::config::{Config, Server};

/// A configured server as one view of the catalog has it.
#[derive(Clone)]
pub struct Configured {
    /// Its name, that of its source.
    pub name: String,
    /// What became of its entry.
    pub standing: Standing,
    /// What it adds to the catalog.
    pub source: Option<Arc<Source>>,
    /// What is wrong with its entry, or with it.
    pub diagnostics: Vec<Diagnostic>,
}

/// What became of an entry.
#[derive(Clone)]
pub enum Standing {
    /// It is in use, and was so when it was looked at.
    Attached(Arc<Attached>, Arc<View>),
    /// Its entry says so.
    Disabled,
    /// It is the workspace's, and waits for trust.
    Untrusted,
    /// Its entry cannot be run; why.
    Faulty(String),
}

impl Configured {
    /// Whether it still is what it was.
    pub fn is_current(&self) -> bool {
        match &self.standing {
            Standing::Attached(server, view) => server.view().version == view.version,
            _ => true,
        }
    }

    /// As the wire spells it.
    pub fn state(&self) -> &'static str {
        match &self.standing {
            Standing::Attached(_, view) => match view.state {
                State::Starting => "starting",
                State::Ready => "ready",
                State::Down => "down",
                State::NeedsAuthorization => "needs_authorization",
            },
            Standing::Disabled => "disabled",
            Standing::Untrusted => "untrusted",
            Standing::Faulty(_) => "down",
        }
    }

    /// What last went wrong.
    pub fn last_error(&self) -> Option<String> {
        match &self.standing {
            Standing::Attached(_, view) => view.last_error.clone(),
            Standing::Faulty(why) => Some(why.clone()),
            Standing::Disabled | Standing::Untrusted => None,
        }
    }

    /// Whether a source of the catalog is its own: another of its name may be nearer. It need not be the very same, since
    /// configuration may give it words to be found by.
    pub fn serves(&self, source: &Source) -> bool {
        source.info.origin == Origin::Server
            && self.source.as_ref().is_some_and(|own| own.info.name == source.info.name)
    }

    /// Why a name that is no tool now may be one of this server's; `None` where it answers, or the name is another's.
    pub fn withholds(&self, name: &str) -> Option<String> {
        let why = match &self.standing {
            Standing::Attached(_, view) => match (view.state, &view.reason) {
                (State::Ready, _) => return None,
                (State::Starting, None) => "is still starting; try again in a moment".to_owned(),
                (State::Starting, Some(reason)) => format!("is being started again ({reason}); try again in a moment"),
                (State::Down, Some(reason)) => format!("is down: {reason}"),
                (State::NeedsAuthorization, _) => {
                    let right = json!({ "action": "authorize", "connectors": [{ "name": self.name, "mcp": true }] });
                    format!("needs authorization: manage_connections {right}")
                }
                (State::Down, None) => "is down".to_owned(),
            },
            Standing::Faulty(why) => format!("is not run: {why}"),
            Standing::Disabled => "is disabled in the configuration".to_owned(),
            Standing::Untrusted => "waits until the user trusts it".to_owned(),
        };
        // As a visible name spells it.
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let label: String = self.name.chars().map(|c| if fits(c) { c } else { '_' }).collect();
        let prefixed = || name.strip_prefix("mcp__")?.strip_prefix(&*label)?.strip_prefix("__");
        let known = match &self.standing {
            Standing::Attached(_, view) => view.last_source.as_ref(),
            _ => None,
        };
        let known =
            || known.is_some_and(|source| source.tools.iter().any(|tool| name == &*tool.name || name == &*tool.tool));
        (prefixed().is_some_and(|tool| !tool.is_empty()) || known()).then_some(why)
    }

    /// The server, if it is in use.
    pub fn attached(&self) -> Option<&Arc<Attached>> {
        match &self.standing {
            Standing::Attached(server, _) => Some(server),
            _ => None,
        }
    }
}

/// All configured servers, by name. New ones start in the background; reads their last known tools from disk.
pub fn settle(process: &Process, asking: &ServerAsking, config: &Config, before: &[Configured]) -> Vec<Configured> {
    let configured = config.settings.mcp_servers.iter().map(|(name, server)| {
        let (environment, folder) = (&asking.environment, asking.folder.as_deref());
        let asking = Asking { environment, folder, cached: config.settings.mcp_cache };
        let before = before.iter().find(|configured| configured.name == *name);
        one(process, name, server, asking, before)
    });
    let waiting = config.untrusted.iter().filter_map(|waiting| waiting.key.strip_prefix("mcpServers."));
    let waiting = waiting.filter(|name| !config.settings.mcp_servers.contains_key(*name)).map(|name| Configured {
        name: name.to_owned(),
        standing: Standing::Untrusted,
        source: None,
        diagnostics: Vec::new(),
    });
    let mut all: Vec<Configured> = configured.chain(waiting).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn one(process: &Process, name: &str, server: &Server, asking: Asking<'_>, before: Option<&Configured>) -> Configured {
    let written = Written { name, node: &server.node, file: &server.origin.file, pointer: &server.pointer };
    let (outcome, mut diagnostics) = read(&written, asking);
    let say = |code, message: &str| Diagnostic {
        file: server.origin.file.clone(),
        line: server.origin.place.line,
        column: server.origin.place.column,
        severity: Severity::Warning,
        code,
        message: format!("the server `{name}`: {message}"),
        pointer: server.pointer.clone(),
    };
    let standing = match outcome {
        Outcome::Run(spec) if is_this_program(&spec.reach, process.options.launcher.as_ref()) => {
            diagnostics
                .push(say("server-is-itself", "it is Toolscout, which would start itself again: take it out here"));
            Standing::Disabled
        }
        Outcome::Disabled => Standing::Disabled,
        Outcome::Run(_) if process.options.without_servers => Standing::Disabled,
        Outcome::Faulty(why) => Standing::Faulty(why),
        Outcome::Run(spec) => {
            let kept = before.and_then(Configured::attached).filter(|kept| kept.spec.is_same(&spec)).cloned();
            match kept.map_or_else(|| process.servers.attach(*spec), Ok) {
                Ok(attached) => {
                    let view = attached.view();
                    Standing::Attached(attached, view)
                }
                Err(error) => Standing::Faulty(error.to_string()),
            }
        }
    };
    if let Standing::Attached(_, view) = &standing {
        diagnostics.extend(view.warnings.iter().map(|warning| say(warning.code, &warning.message)));
        if let (State::Down, Some(reason)) = (view.state, &view.reason) {
            diagnostics.push(say("server-down", reason));
        }
        if let (State::NeedsAuthorization, Some(reason)) = (view.state, &view.reason) {
            diagnostics.push(say("server-needs-authorization", reason));
        }
    }
    let reason = match &standing {
        Standing::Attached(_, view) => view.reason.clone().unwrap_or_else(|| "it is still starting".to_owned()),
        Standing::Faulty(why) => why.clone(),
        Standing::Disabled | Standing::Untrusted => String::new(),
    };
    let source = match &standing {
        Standing::Attached(_, view) if view.source.is_some() => view.source.clone(),
        Standing::Disabled | Standing::Untrusted => None,
        Standing::Attached(..) | Standing::Faulty(_) => {
            // The same one while it says the same, so that what was made of it is kept.
            let kept = before.and_then(|before| before.source.clone());
            let kept = kept.filter(|kept| kept.unavailable.as_deref() == Some(&reason));
            Some(kept.unwrap_or_else(|| {
                Arc::new(Source::unavailable(SourceInfo::new(name, Kind::Mcp, Origin::Server), &reason))
            }))
        }
    };
    Configured { name: name.to_owned(), standing, source, diagnostics }
}
