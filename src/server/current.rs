//! The catalog a request works on: files and registrations as they are when it is answered, under one configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;

use super::connectors::Signing;
use super::servers::{Configured, settle};
use super::session::{Opened, Session};
use crate::catalog::Catalog;
use crate::catalog::changes::Changes;
use crate::catalog::inline::{self, Derived};
use crate::catalog::policy::Policy;
use crate::catalog::scope::Scope;
use crate::catalog::source::{Problem, Source};
use crate::connectors::name::TOOLSET;
use crate::diagnostic::{Diagnostic, Severity};
use crate::protocol::errors::RpcError;
use crate::protocol::lifecycle::{FileDiagnostics, Progress, ProgressParams, ProgressToken};
use crate::protocol::registry::Rejected;
use crate::protocol::work;
use crate::rpc::{Call, Peer};
use crate::workspace::config::{self, Config, Settings, Watch};
use crate::workspace::found_by::{self, Worded};
use crate::workspace::idle_names;
use crate::workspace::snapshot::Snapshot;
use crate::workspace::trust::Trust;

/// How long a host that asked for progress is left without it.
const QUIET: Duration = Duration::from_millis(100);

/// From so many tools on a catalog is made off the runtime's threads.
const LARGE: usize = 2000;

/// The view of one request, immutable to its end.
#[derive(Clone)]
pub struct Current {
    /// The catalog.
    pub catalog: Arc<Catalog>,
    /// The configuration in effect.
    pub config: Arc<Config>,
    /// What the files say.
    pub snapshot: Arc<Snapshot>,
    /// The MCP servers that the configuration names, by name.
    pub servers: Arc<Vec<Configured>>,
    /// Who is signed in to the connector gateway.
    pub signing: Arc<Signing>,
    /// Words of the configuration that no source or tool is found by, and names that no tool has.
    pub idle_words: Arc<[Diagnostic]>,
    /// Counts changes of any of these.
    pub revision: u64,
}

/// A [`Current`] and what it was made of.
#[derive(Clone)]
pub struct Built {
    current: Current,
    registrations: u64,
    sources: Vec<Arc<Source>>,
    worded: Vec<Worded>,
}

impl Built {
    /// The same catalog, where it was made of this: with it, all that was derived from it is kept.
    fn reuse(&self, sources: &[Arc<Source>], settings: &Settings) -> Option<Arc<Catalog>> {
        let same = self.sources.len() == sources.len()
            && self.sources.iter().zip(sources).all(|(a, b)| Arc::ptr_eq(a, b))
            && self.current.config.settings.tool_search == settings.tool_search
            && self.current.config.settings.core == settings.core
            && self.current.config.settings.connectors.enabled == settings.connectors.enabled;
        same.then(|| self.current.catalog.clone())
    }
}

impl Session {
    /// What a request sees: registrations that arrived before it, and files as they are now.
    pub(super) async fn current(
        &self,
        call: &Call<Self>,
        progress: Option<&ProgressToken>,
    ) -> Result<Current, RpcError> {
        let looking = self.look(call);
        let Some(token) = progress.filter(|_| self.opened_now().is_some_and(|opened| opened.host.progress)) else {
            return looking.await;
        };
        tokio::pin!(looking);
        if let Ok(current) = tokio::time::timeout(QUIET, &mut looking).await {
            return current;
        }
        send_progress(call, token, "begin", "reading registries");
        let current = looking.await;
        send_progress(call, token, "end", "registries are read");
        current
    }

    async fn look(&self, call: &Call<Self>) -> Result<Current, RpcError> {
        let opened = self.opened().await?;
        call.ticket.before.done().await;
        let snapshot = opened.loader.fresh().await;
        let snapshot = snapshot.ok_or_else(|| RpcError::internal("the files of the workspace did not answer"))?;
        self.build(opened, snapshot, &call.peer).await
    }

    /// The catalog of a snapshot and the registrations as they are; the one in use if neither changed. The host is told
    /// what changed by the time the new one is in use, once, whoever had it made.
    pub(super) async fn build(
        &self,
        opened: &Opened,
        snapshot: Arc<Snapshot>,
        peer: &Peer,
    ) -> Result<Current, RpcError> {
        if let Some(current) = self.in_use(&snapshot) {
            return Ok(current);
        }
        let _alone = self.building.lock().await;
        if let Some(current) = self.in_use(&snapshot) {
            return Ok(current);
        }
        let before = self.built.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Another request may have looked later than this one, and come first.
        let snapshot = match &before {
            Some(before) if before.current.snapshot.revision > snapshot.revision => before.current.snapshot.clone(),
            _ => snapshot,
        };
        let from_files = before.as_ref().is_none_or(|before| !Arc::ptr_eq(&before.current.snapshot, &snapshot));
        let (registrations, approved, mut sources) = {
            let registrations = self.registrations();
            let sources = registrations.sources.values().cloned().collect::<Vec<_>>();
            (registrations.revision, registrations.approved.clone(), sources)
        };
        sources.extend(snapshot.sources.iter().cloned());
        let layers: Vec<_> = snapshot.layers.iter().chain(&opened.layers).cloned().collect();
        let trust = Trust { whole: opened.trusted || snapshot.trust.whole, approved: snapshot.trust.approved.clone() };
        let trust = trust.and(approved);
        let config = config::merge(&layers, &trust);
        let servers_before = before.as_ref().map(|before| before.current.servers.clone()).unwrap_or_default();
        // Where servers come new, their last known tools are read from disk.
        let servers = if config.settings.mcp_servers.is_empty() {
            settle(&self.process, &opened.asking, &config, &servers_before)
        } else {
            let (process, asking, settled) = (self.process.clone(), opened.asking.clone(), config.clone());
            off_thread(move || settle(&process, &asking, &settled, &servers_before)).await?
        };
        sources.extend(servers.iter().filter_map(|server| server.source.clone()));
        let worded = before.as_ref().map(|before| before.worded.as_slice()).unwrap_or_default();
        let worded = found_by::give(&mut sources, &config.settings.sources, worded);
        let tools: usize = sources.iter().map(|source| source.tools.len()).sum();
        let used = before.as_ref().map(|before| before.current.clone());
        let make = move || {
            let reused = before.as_ref().and_then(|before| before.reuse(&sources, &config.settings));
            let catalog = reused.unwrap_or_else(|| {
                let policy = Policy::new(config.settings.tool_search.clone(), &config.settings.core);
                let policy = policy.with_hosted(config.settings.connectors.enabled);
                Arc::new(Catalog::new(sources.iter().cloned(), Arc::new(policy)))
            });
            let old = before.as_ref().map(|before| &before.current.catalog);
            let changes = old.filter(|old| !Arc::ptr_eq(old, &catalog)).map(|old| Changes::between(old, &catalog));
            let revision = before.as_ref().map_or(0, |before| before.current.revision) + 1;
            let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
            let mut idle_words = found_by::idle(&config.settings.sources, &catalog, &names);
            idle_words.extend(idle_names::idle(&config, &catalog, &names));
            let idle_words = idle_words.into();
            let servers = Arc::new(servers);
            let config = Arc::new(config);
            let signing = Arc::default();
            let current = Current { catalog, config, snapshot, servers, signing, idle_words, revision };
            (Built { current, registrations, sources, worded }, changes.unwrap_or_default())
        };
        let (mut made, mut changes) = if tools < LARGE { make() } else { off_thread(make).await? };
        made.current.signing = Signing::look_up(opened, &made.current, used.as_ref()).await?;
        if used.is_some_and(|used| used.signing.is_signed_in() != made.current.signing.is_signed_in()) {
            changes.sources.push(TOOLSET.to_owned());
            changes.sources.sort_unstable();
        }
        let current = made.current.clone();
        self.apply(&current.config.settings, opened);
        if from_files {
            let ready = current.catalog.clone();
            // So that the first search need not: whoever is first makes it, the other waits. A host that registers one
            // source after the other is not followed with an index for each.
            tokio::task::spawn_blocking(move || ready.prepare_search(&ready.view(&Scope::all())));
        }

        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: no answer from the new catalog is to come before the news of it. What `initialize` makes is
        // the first, and goes into its answer.
        if built.is_some() {
            self.tell(&current, changes, peer);
        }
        *built = Some(made);
        Ok(current)
    }

    /// What is in use, if it is as new as a snapshot and the registrations.
    fn in_use(&self, snapshot: &Snapshot) -> Option<Current> {
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        let built = built.as_ref()?;
        let same = built.registrations == self.registrations().revision
            && built.current.snapshot.revision >= snapshot.revision
            && built.current.servers.iter().all(Configured::is_current);
        same.then(|| built.current.clone())
    }

    /// What of the settings is not asked for when it is needed.
    fn apply(&self, settings: &Settings, opened: &Opened) {
        self.max_message_bytes.store(settings.max_message_bytes as usize, Ordering::Relaxed);
        let mut polling = self.polling.lock().unwrap_or_else(PoisonError::into_inner);
        match settings.watch {
            Watch::Auto => *polling = None,
            Watch::Poll if polling.is_some() => {}
            Watch::Poll => *polling = Some(opened.loader.poll()),
        }
    }

    /// Files whose findings are not the ones last told, with what they are now.
    pub(super) fn unpublished(&self, current: &Current) -> Vec<FileDiagnostics> {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        let now = current.diagnostics();
        if *published == now {
            return Vec::new();
        }
        let cleared = published.keys().filter(|file| !now.contains_key(*file));
        let cleared = cleared.map(|file| FileDiagnostics { file: file.clone(), diagnostics: Vec::new() });
        let changed = now.iter().filter(|(file, found)| published.get(*file) != Some(found));
        let changed = changed.map(|(file, found)| FileDiagnostics { file: file.clone(), diagnostics: found.clone() });
        let told = cleared.chain(changed).collect();
        *published = now;
        told
    }
}

impl Current {
    /// All that is wrong, by file.
    pub fn diagnostics(&self) -> BTreeMap<String, Vec<Diagnostic>> {
        let mut all = self.snapshot.diagnostics.clone();
        for diagnostic in self.config.diagnostics.iter().chain(&self.signing.findings).chain(&*self.idle_words) {
            all.entry(diagnostic.file.clone()).or_default().push(diagnostic.clone());
        }
        for diagnostic in self.servers.iter().flat_map(|server| &server.diagnostics) {
            all.entry(diagnostic.file.clone()).or_default().push(diagnostic.clone());
        }
        for lost in &self.catalog.collisions {
            // That of the source which lost, unless the host registered it.
            let registered = self.catalog.sources.iter().find(|source| source.info.name == lost.source);
            let in_file = registered.is_some_and(|source| source.info.origin.as_str() == "file");
            let file = self.snapshot.homes.get(&lost.source).filter(|_| in_file).cloned().unwrap_or_default();
            let finding = Diagnostic::whole(file.clone(), Severity::Error, "tool-name-taken", lost.to_string());
            all.entry(file).or_default().push(finding);
        }
        all.values_mut().for_each(|list| list.sort());
        all
    }

    /// The catalog with the request's inline tools, and what is wrong with those.
    pub async fn with_inline(&self, tools: Option<Box<RawValue>>) -> Result<(Arc<Catalog>, Vec<Rejected>), RpcError> {
        let Some(tools) = tools.filter(|tools| !matches!(tools.get(), "null" | "[]")) else {
            return Ok((self.catalog.clone(), Vec::new()));
        };
        let catalog = self.catalog.clone();
        let derived = match inline::kept(&catalog, tools.get()) {
            Some(kept) => Ok(kept),
            None => off_thread(move || inline::with_inline(&catalog, tools.get())).await?,
        };
        let Ok(derived) = derived else {
            return Err(RpcError::invalid_params("/tools", "`tools` must be an array of tool definitions"));
        };
        let Derived { catalog, problems } = &*derived;
        Ok((catalog.clone(), rejected(problems)))
    }
}

/// Problems as the wire has them.
pub fn rejected(problems: &[Problem]) -> Vec<Rejected> {
    problems.iter().map(|problem| Rejected { name: problem.name.clone(), reason: problem.message.clone() }).collect()
}

/// Globs of one scope: they become one automaton, while whoever sent it waits.
const MAX_GLOBS: usize = 256;

/// A scope of the wire, made ready.
pub fn scope(scope: Option<work::Scope>) -> Result<Scope, RpcError> {
    let grant = scope.unwrap_or_default().grant();
    if grant.globs() > MAX_GLOBS {
        let message = format!("a scope has at most {MAX_GLOBS} globs: name the tools, or use fewer and wider ones");
        return Err(RpcError::invalid_params("/scope", message));
    }
    let scope = Scope::new(grant);
    match scope.invalid().first() {
        None => Ok(scope),
        Some(at) => {
            let message =
                "this looks like a glob and is none, so it would grant or deny nothing; a glob has at most 256 bytes";
            Err(RpcError::invalid_params(&format!("/scope{at}"), message))
        }
    }
}

/// Runs what may take long where it keeps nobody waiting but its caller.
pub async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, RpcError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| RpcError::internal(error.to_string()))
}

/// Tells the host where its request stands.
pub fn send_progress(call: &Call<Session>, token: &ProgressToken, kind: &'static str, message: &str) {
    let value = Progress { kind, message: message.to_owned(), progress: None, total: None };
    call.peer.notify("$/progress", ProgressParams { token: token.clone(), value });
}

/// A path as a host may write it: plain, or as a `file:` URI.
pub fn path_of(text: &str) -> &Path {
    Path::new(text.strip_prefix("file://").unwrap_or(text))
}
