//! Which tools may be deferred, by name: the core set and what the user keeps loaded.

use super::pattern::{Patterns, content_hash};
use super::settings::{CoreSet, Enabled, ToolSearch};
use super::source::Kind;

/// Configuration made ready for a catalog.
#[derive(Debug)]
pub struct Policy {
    /// Settings of assembly and search.
    pub settings: ToolSearch,
    core: Patterns,
    keep: Patterns,
    /// A hash of all that decides what may be deferred.
    key: u64,
}

impl Policy {
    /// Prepares settings and the core set.
    pub fn new(settings: ToolSearch, core: &CoreSet) -> Self {
        let keep = Patterns::new(&settings.keep);
        let core: Vec<&str> = core.patterns().collect();
        let key = content_hash(&(settings.enabled == Enabled::Off, &settings.keep, &core));
        Self { settings, core: Patterns::new(core), keep, key }
    }

    /// Equal for policies that defer the same tools of any source.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// CORE-1: whether a visible name is in the core set.
    pub fn is_core_name(&self, name: &str) -> bool {
        self.core.matches(name)
    }

    /// CORE-1, CORE-2, CORE-3, CORE-5: whether a tool may be replaced by the bridge.
    pub fn may_defer(&self, kind: Kind, name: &str, own_name: &str) -> bool {
        self.settings.enabled != Enabled::Off
            && matches!(kind, Kind::Mcp | Kind::Plugin)
            && !self.core.matches(name)
            && !self.keep.matches(name)
            && !self.keep.matches(own_name)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(ToolSearch::default(), &CoreSet::default())
    }
}
