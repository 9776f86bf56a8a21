//! What configuration says about assembling and searching, as plain values. Reading, layering and clamping
//! happen in `workspace`; here every value is already in range.

use serde::Serialize;

/// Whether the bridge may stand in for deferrable tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Enabled {
    /// As `On` today; reserved for keeping schemas inline while they fit.
    Auto,
    /// As soon as one deferrable tool is in scope.
    On,
    /// Never.
    Off,
}

/// How the listing inside `tool_search` is budgeted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ListingMode {
    /// The smaller of the share of the context and `listing_max_tokens`.
    Auto,
    /// `listing_max_tokens` alone.
    On,
    /// Only the number of deferred tools.
    Off,
}

/// `tools.tool_search` of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSearch {
    /// Whether the bridge activates.
    pub enabled: Enabled,
    /// Share of the context that the listing may take, in percent, 0 to 100.
    pub threshold_pct: f64,
    /// Matches a query where the model gives no limit, 1 to `max_search_limit`.
    pub search_default_limit: u32,
    /// Upper bound of a model's limit, 1 to 50.
    pub max_search_limit: u32,
    /// How the listing is budgeted.
    pub listing: ListingMode,
    /// Absolute bound of the listing in tokens, 200 to 60,000.
    pub listing_max_tokens: u32,
    /// Names and globs of deferrable tools that stay loaded.
    pub keep: Vec<String>,
    /// Whether partial answers stand beside the matches.
    pub near: bool,
}

impl Default for ToolSearch {
    fn default() -> Self {
        Self {
            enabled: Enabled::Auto,
            threshold_pct: 5.0,
            search_default_limit: 5,
            max_search_limit: 25,
            listing: ListingMode::Auto,
            listing_max_tokens: 4000,
            keep: Vec::new(),
            near: true,
        }
    }
}

/// `core` of the configuration: names and globs of tools that are never deferred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CoreSet {
    /// In place of the default set.
    pub replace: Option<Vec<String>>,
    /// Beside it.
    pub extend: Vec<String>,
}

/// The core set where configuration does not replace it, as names and globs (CORE-1).
pub const DEFAULT_CORE: [&str; 23] = [
    "terminal",
    "process",
    "read_file",
    "write_file",
    "patch",
    "search_files",
    "todo",
    "memory",
    "browser_*",
    "web_search",
    "web_extract",
    "vision_analyze",
    "image_generate",
    "text_to_speech",
    "skills_list",
    "skill_view",
    "skill_manage",
    "clarify",
    "execute_code",
    "delegate_task",
    "session_search",
    "send_message",
    "manage_connections",
];

impl CoreSet {
    /// Names and globs in effect: the default set or what replaces it, then what extends it.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        let (replaced, default) = match &self.replace {
            Some(names) => (names.as_slice(), [].as_slice()),
            None => ([].as_slice(), DEFAULT_CORE.as_slice()),
        };
        default.iter().copied().chain(replaced.iter().chain(&self.extend).map(String::as_str))
    }
}
