//! Layers of configuration to settings in effect, with where each came from and what was wrong.
//!
//! Promises: reading never fails. A later layer wins key by key; lists are taken whole; of `mcpServers`, server by
//! server. What cannot be read, like null, is as if it were not written there, so that what earlier layers say, in
//! the end the default, holds. What is out of range is clamped. Both are said in a diagnostic with file, line and
//! key. Of an untrusted workspace nothing takes effect that could run, send, hide or mislead.
//!
//! It opens no file, fills no `${VAR}`, and does not look into what a server's entry says.

mod sources;

use std::collections::BTreeMap;

use globset::Glob;

pub use self::sources::{SourceWords, Standing};

use super::keys::{self, NEED_TRUST};
use super::layers::{ConfigLayer, Layer, Origin};
use super::node::{Entry, Node, Place, Value, child_pointer};
use super::problem::quoted;
use super::setting;
use super::trust::{Trust, Waiting};
use crate::catalog::settings::{CoreSet, Enabled, ListingMode, ToolSearch};
use crate::diagnostic::{Diagnostic, Severity};

/// Bounds of `max_message_bytes`: a message that can say something, and what fits into memory.
const MESSAGE_BYTES: (u32, u32) = (1024, 1 << 30);

/// Bounds of `max_result_bytes`: a result that can say something, and one that a model can still read.
const RESULT_BYTES: (u32, u32) = (1024, 64 << 20);

/// Longest name or glob: no tool's name is longer, and a glob is compiled by recursion.
const MAX_NAME_CHARS: usize = 256;

/// Keys of names and globs of tools that are to stay loaded.
pub const KEEP: &str = "tools.tool_search.keep";
/// See [`KEEP`].
pub const EXTEND: &str = "core.extend";

/// Everything that configuration decides, each value in range.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `tools.tool_search`.
    pub tool_search: ToolSearch,
    /// `tools.connectors`.
    pub connectors: Connectors,
    /// `tools.sources` by name.
    pub sources: BTreeMap<String, SourceWords>,
    /// `core`.
    pub core: CoreSet,
    /// `watch`.
    pub watch: Watch,
    /// Bytes of the longest message that is read.
    pub max_message_bytes: u32,
    /// `mcpServers` by name, as written.
    pub mcp_servers: BTreeMap<String, Server>,
    /// `mcp_cache`: whether a server's last known tools are kept on disk.
    pub mcp_cache: bool,
    /// Bytes of the longest result of a server's tool that a model is given whole.
    pub max_result_bytes: u32,
    /// Paths of workspaces whose files are trusted; only a user's own file names any.
    pub trusted_workspaces: Vec<String>,
}

/// `tools.connectors`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connectors {
    /// Whether the gateway is asked at all.
    pub enabled: bool,
    /// Origin of the gateway.
    pub gateway_url: Option<String>,
    /// File that holds the token.
    pub token_file: Option<String>,
}

/// How changes of files are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watch {
    /// By the system's events, by polling where there are none.
    Auto,
    /// By polling.
    Poll,
}

/// One entry of `mcpServers`.
#[derive(Debug, Clone, PartialEq)]
pub struct Server {
    /// The map that describes it, not looked into yet.
    pub node: Node,
    /// Who named it.
    pub origin: Origin,
    /// JSON pointer of the map in the file that holds it.
    pub pointer: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tool_search: ToolSearch::default(),
            connectors: Connectors { enabled: true, gateway_url: None, token_file: None },
            sources: BTreeMap::new(),
            core: CoreSet::default(),
            watch: Watch::Auto,
            max_message_bytes: 64 << 20,
            mcp_servers: BTreeMap::new(),
            mcp_cache: true,
            max_result_bytes: 256 << 10,
            trusted_workspaces: Vec::new(),
        }
    }
}

/// What layers say together.
#[derive(Debug, Clone)]
pub struct Config {
    /// What is in effect.
    pub settings: Settings,
    /// Where each setting comes from, by dotted key (`tools.tool_search.listing`, `mcpServers.<name>`).
    pub origins: BTreeMap<String, Origin>,
    /// Where each name and glob of [`KEEP`] and [`EXTEND`] is written.
    pub named: BTreeMap<&'static str, Vec<(String, Standing)>>,
    /// What a workspace's file says and waits for trust, by key.
    pub untrusted: Vec<Waiting>,
    /// What was wrong, layer by layer.
    pub diagnostics: Vec<Diagnostic>,
}

/// Lays `layers` over the defaults, in the order given. `trust` is what of the workspace's file may set what needs it.
pub fn merge(layers: &[ConfigLayer], trust: &Trust) -> Config {
    let origins = keys::settings().map(|key| (key, Origin::BUILT_IN)).collect();
    let config = Config {
        settings: Settings::default(),
        origins,
        named: BTreeMap::new(),
        untrusted: Vec::new(),
        diagnostics: Vec::new(),
    };
    let mut merger = Merger { config, trust, untrusted: BTreeMap::new(), default_limit: None };
    for layer in layers {
        merger.value(&Written::root(layer));
    }
    merger.bound_default_limit();
    Config { untrusted: merger.untrusted.into_values().collect(), ..merger.config }
}

/// A value in a layer, and the way to it.
#[derive(Clone)]
struct Written<'a> {
    layer: &'a ConfigLayer,
    /// Dotted key, empty for the whole layer.
    key: String,
    pointer: String,
    node: &'a Node,
}

impl<'a> Written<'a> {
    fn root(layer: &'a ConfigLayer) -> Self {
        Self { layer, key: String::new(), pointer: String::new(), node: &layer.root }
    }

    fn child(&self, entry: &'a Entry) -> Self {
        let pointer = child_pointer(&self.pointer, &entry.key);
        Self { layer: self.layer, key: keys::join(&self.key, &entry.key), pointer, node: &entry.value }
    }

    fn item(&self, index: usize, node: &'a Node) -> Self {
        let pointer = child_pointer(&self.pointer, &index.to_string());
        Self { layer: self.layer, key: self.key.clone(), pointer, node }
    }

    fn origin(&self) -> Origin {
        Origin { layer: self.layer.layer, file: self.layer.file.clone(), place: self.node.place }
    }

    /// The value as a message shows it. What a server's entry says may be secret.
    fn shown(&self) -> String {
        match &self.node.value {
            Value::Null => "null".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
            _ if self.key.starts_with("mcpServers") => "a single value".to_owned(),
            Value::Bool(flag) => quoted(&flag.to_string()),
            Value::Number(text) | Value::String(text) => quoted(text),
        }
    }
}

struct Merger<'a> {
    config: Config,
    trust: &'a Trust,
    untrusted: BTreeMap<String, Waiting>,
    /// The last readable `search_default_limit`, whose upper bound is known once all layers are read.
    default_limit: Option<Written<'a>>,
}

impl<'a> Merger<'a> {
    /// Takes one value into the settings: this is where the name of each setting meets its meaning.
    fn value(&mut self, at: &Written<'a>) {
        let nullable =
            matches!(at.key.as_str(), "core.replace" | "tools.connectors.gateway_url" | "tools.connectors.token_file");
        if at.node.value == Value::Null && !nullable {
            return;
        }
        if NEED_TRUST.contains(&at.key.as_str()) && !self.may_decide(at) {
            return;
        }
        match at.key.as_str() {
            "tools.tool_search" if !is_map(at.node) => {
                let forms = [Enabled::Auto, Enabled::Auto, Enabled::Off];
                let at = Written { key: "tools.tool_search.enabled".into(), pointer: at.pointer.clone(), ..*at };
                self.mode(&at, forms, |settings| &mut settings.tool_search.enabled);
            }
            "tools.connectors" if !is_map(at.node) => {
                self.connectors_enabled(&Written {
                    key: "tools.connectors.enabled".into(),
                    pointer: at.pointer.clone(),
                    ..*at
                });
            }
            "core" if matches!(at.node.value, Value::List(_) | Value::String(_)) => {
                self.core_extend_further(&Written { key: "core.extend".into(), pointer: at.pointer.clone(), ..*at });
            }
            "" | "tools" | "tools.tool_search" | "tools.connectors" | "core" => self.section(at),
            "tools.tool_search.enabled" => {
                let forms = [Enabled::Auto, Enabled::On, Enabled::Off];
                self.mode(at, forms, |settings| &mut settings.tool_search.enabled);
            }
            "tools.tool_search.listing" => {
                let forms = [ListingMode::Auto, ListingMode::On, ListingMode::Off];
                self.mode(at, forms, |settings| &mut settings.tool_search.listing);
            }
            "tools.tool_search.threshold_pct" => {
                if let Some(percent) = self.ranged(at, setting::number(at.node), "a number", 0, 100) {
                    self.config.settings.tool_search.threshold_pct = percent;
                }
            }
            "tools.tool_search.search_default_limit" => self.default_limit(at),
            "tools.tool_search.max_search_limit" => {
                self.whole(at, (1, 50), |settings| &mut settings.tool_search.max_search_limit);
            }
            "tools.tool_search.listing_max_tokens" => {
                self.whole(at, (200, 60_000), |settings| &mut settings.tool_search.listing_max_tokens);
            }
            "tools.tool_search.keep" => {
                if let Some(names) = self.names(at) {
                    self.config.named.remove(KEEP);
                    self.place(KEEP, at, &names);
                    self.config.settings.tool_search.keep = names;
                }
            }
            "tools.tool_search.near" => {
                if let Some(near) = self.known(at, setting::switch(at.node), "on or off") {
                    self.config.settings.tool_search.near = near;
                }
            }
            "tools.connectors.enabled" => self.connectors_enabled(at),
            "tools.connectors.gateway_url" => self.optional(at, |settings| &mut settings.connectors.gateway_url),
            "tools.connectors.token_file" => self.optional(at, |settings| &mut settings.connectors.token_file),
            "tools.sources" => self.sources(at),
            "core.replace" => {
                let names = if at.node.value == Value::Null {
                    self.known(at, Some(None), "")
                } else {
                    self.names(at).map(Some)
                };
                if let Some(names) = names {
                    self.config.settings.core.replace = names;
                }
            }
            "core.extend" => self.core_extend(at),
            "watch" => {
                let forms = [("auto", Watch::Auto), ("poll", Watch::Poll)];
                let watch = forms.into_iter().find(|(word, _)| setting::is_word(at.node, word)).map(|(_, watch)| watch);
                if let Some(watch) = self.known(at, watch, "auto or poll") {
                    self.config.settings.watch = watch;
                }
            }
            "max_message_bytes" => self.whole(at, MESSAGE_BYTES, |settings| &mut settings.max_message_bytes),
            "mcpServers" => self.servers(at),
            "mcp_cache" => {
                if let Some(cache) = self.known(at, setting::switch(at.node), "on or off") {
                    self.config.settings.mcp_cache = cache;
                }
            }
            "max_result_bytes" => self.whole(at, RESULT_BYTES, |settings| &mut settings.max_result_bytes),
            "trusted_workspaces" => self.trusted_workspaces(at),
            _ => {}
        }
    }

    fn section(&mut self, at: &Written<'a>) {
        if !is_map(at.node) {
            self.known::<()>(at, None, "a map");
        }
        for entry in at.node.entries() {
            if keys::keys_of(&at.key).contains(&&*entry.key) {
                self.value(&at.child(entry));
            } else {
                self.unknown_key(at, entry);
            }
        }
    }

    fn mode<T>(&mut self, at: &Written<'_>, forms: [T; 3], place: fn(&mut Settings) -> &mut T) {
        if let Some(mode) = self.known(at, setting::auto_on_off(at.node, forms), "auto, on or off") {
            *place(&mut self.config.settings) = mode;
        }
    }

    fn whole(&mut self, at: &Written<'_>, (least, most): (u32, u32), place: fn(&mut Settings) -> &mut u32) {
        if let Some(number) = self.ranged(at, setting::whole(at.node), "a whole number", least, most) {
            // In range and without a fraction, so nothing is lost.
            *place(&mut self.config.settings) = number as u32;
        }
    }

    fn default_limit(&mut self, at: &Written<'a>) {
        let limit = setting::whole(at.node);
        if self.known(at, limit, "a whole number from 1 to `max_search_limit`").is_some() {
            self.default_limit = Some(at.clone());
        }
    }

    fn optional(&mut self, at: &Written<'_>, place: fn(&mut Settings) -> &mut Option<String>) {
        if let Some(text) = self.known(at, setting::optional_text(at.node), "text or null") {
            *place(&mut self.config.settings) = text;
        }
    }

    fn connectors_enabled(&mut self, at: &Written<'_>) {
        let enabled = setting::switch(at.node);
        // Opening a folder must send nothing: it may switch connectors off, but not on again.
        let switches_on = enabled == Some(true) && !self.config.settings.connectors.enabled;
        if switches_on && !self.may_decide(at) {
            return;
        }
        if let Some(enabled) = self.known(at, enabled, "on or off") {
            self.config.settings.connectors.enabled = enabled;
        }
    }

    fn core_extend(&mut self, at: &Written<'_>) {
        if let Some(names) = self.names(at) {
            self.config.named.remove(EXTEND);
            self.place(EXTEND, at, &names);
            self.config.settings.core.extend = names;
        }
    }

    /// A bare array extends what earlier layers say.
    fn core_extend_further(&mut self, at: &Written<'_>) {
        if let Some(names) = self.names(at) {
            self.place(EXTEND, at, &names);
            let extend = &mut self.config.settings.core.extend;
            let new: Vec<String> = names.into_iter().filter(|name| !extend.contains(name)).collect();
            extend.extend(new);
        }
    }

    /// Notes where names are written, beside those of earlier layers.
    fn place(&mut self, key: &'static str, at: &Written<'_>, names: &[String]) {
        let mut note = |item: &Written<'_>| {
            let name = setting::optional_text(item.node).flatten().filter(|name| names.contains(name));
            self.config.named.entry(key).or_default().extend(name.map(|name| (name, sources::standing(item))));
        };
        match &at.node.value {
            Value::List(items) => items.iter().enumerate().for_each(|(index, node)| note(&at.item(index, node))),
            _ => note(at),
        }
    }

    /// Names and globs; what is neither is left out.
    fn names(&mut self, at: &Written<'_>) -> Option<Vec<String>> {
        self.texts(at, "a name or a glob of at most 256 characters", |text| {
            text.chars().nth(MAX_NAME_CHARS).is_none() && Glob::new(text).is_ok()
        })
    }

    /// A list of texts, or a single one. Items that are not `good` are left out.
    fn texts(&mut self, at: &Written<'_>, item: &str, good: impl Fn(&str) -> bool) -> Option<Vec<String>> {
        let items = match &at.node.value {
            Value::List(items) => items,
            Value::String(_) => std::slice::from_ref(at.node),
            _ => return self.known(at, None, "a list"),
        };
        let mut texts = Vec::with_capacity(items.len());
        for (index, node) in items.iter().enumerate() {
            let text = setting::optional_text(node).flatten();
            match text.filter(|text| good(text)) {
                Some(text) => texts.push(text),
                None => self.unreadable(&at.item(index, node), item),
            }
        }
        self.known(at, Some(texts), item)
    }

    fn servers(&mut self, at: &Written<'_>) {
        if self.known(at, is_map(at.node).then_some(()), "a map of servers by name").is_none() {
            return;
        }
        for entry in at.node.entries() {
            let server = at.child(entry);
            let node = Some(&entry.value).filter(|node| is_map(node));
            if entry.value.value != Value::Null
                && self.may_decide(&server)
                && let Some(node) = self.known(&server, node, "a map that describes a server")
            {
                let pointer = server.layer.pointer_in_file(&server.pointer);
                let server = Server { node: node.clone(), origin: server.origin(), pointer };
                self.config.settings.mcp_servers.insert(entry.key.to_string(), server);
            }
        }
    }

    fn trusted_workspaces(&mut self, at: &Written<'_>) {
        if at.layer.layer != Layer::User {
            let message = "`trusted_workspaces` counts in the user's own configuration only; it is left out here";
            return self.report(at, at.node.place, Severity::Warning, "config-misplaced", message.to_owned());
        }
        if let Some(paths) = self.texts(at, "a path", |_| true) {
            self.config.settings.trusted_workspaces = paths;
        }
    }

    /// Whether the layer of `at` may decide what needs trust; if not, it is noted.
    fn may_decide(&mut self, at: &Written<'_>) -> bool {
        if at.layer.layer != Layer::Workspace {
            return true;
        }
        let waiting = Waiting { key: at.key.clone(), file: at.layer.file.clone(), value: at.node.clone() };
        let may = self.trust.covers(&waiting);
        if !may {
            self.untrusted.insert(at.key.clone(), waiting);
        }
        may
    }

    /// Notes where a value that could be read comes from, or that it could not.
    fn known<T>(&mut self, at: &Written<'_>, value: Option<T>, expected: &str) -> Option<T> {
        match value {
            Some(_) => {
                self.config.origins.insert(at.key.clone(), at.origin());
            }
            None => self.unreadable(at, expected),
        }
        value
    }

    fn unreadable(&mut self, at: &Written<'_>, expected: &str) {
        let name = if at.key.is_empty() { "the configuration".to_owned() } else { quoted(&at.key) };
        let message = format!("{name} takes {expected}, not {}; this is left out", at.shown());
        self.report(at, at.node.place, Severity::Error, "config-unreadable", message);
    }

    fn ranged(&mut self, at: &Written<'_>, read: Option<f64>, kind: &str, least: u32, most: u32) -> Option<f64> {
        let number = self.known(at, read, &format!("{kind} from {least} to {most}"))?;
        let clamped = number.clamp(least.into(), most.into());
        if clamped != number {
            let message = format!("{} takes {least} to {most}, not {}; {clamped} is used", quoted(&at.key), at.shown());
            self.report(at, at.node.place, Severity::Warning, "config-clamped", message);
        }
        Some(clamped)
    }

    /// CONFIG-2 for `search_default_limit`, once its upper bound is known. Where nobody wrote one, a default above
    /// the bound is nobody's mistake.
    fn bound_default_limit(&mut self) {
        let most = self.config.settings.tool_search.max_search_limit;
        match self.default_limit.take() {
            Some(at) => self.whole(&at, (1, most), |settings| &mut settings.tool_search.search_default_limit),
            None => {
                let limit = &mut self.config.settings.tool_search.search_default_limit;
                *limit = most.min(*limit);
            }
        }
    }

    fn unknown_key(&mut self, section: &Written<'_>, entry: &Entry) {
        let advice = match keys::section_knowing(&section.key, &entry.key) {
            Some("") => "it belongs at the top level".to_owned(),
            Some(path) => format!("it belongs under `{path}`"),
            None => match keys::nearest(&section.key, &entry.key) {
                Some(nearest) => format!("the nearest known key is `{nearest}`"),
                None => "nothing is known here".to_owned(),
            },
        };
        let message = format!("the key {} is not known here; {advice}", quoted(&keys::join(&section.key, &entry.key)));
        self.report(&section.child(entry), entry.key_place, Severity::Warning, "config-unknown-key", message);
    }

    fn report(&mut self, at: &Written<'_>, place: Place, severity: Severity, code: &'static str, message: String) {
        self.config.diagnostics.push(Diagnostic {
            file: at.layer.file.clone(),
            line: place.line,
            column: place.column,
            severity,
            code,
            message,
            pointer: at.layer.pointer_in_file(&at.pointer),
        });
    }
}

fn is_map(node: &Node) -> bool {
    matches!(node.value, Value::Map(_))
}

#[cfg(test)]
mod tests;
