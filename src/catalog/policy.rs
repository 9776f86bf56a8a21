//! Which tools may be deferred, by name: the core set and what the user keeps loaded.

use super::connections;
use super::pattern::{Patterns, content_hash};
use super::settings::{CoreSet, Enabled, ToolSearch};
use super::source::Kind;

/// Configuration made ready for a catalog.
#[derive(Debug)]
pub struct Policy {
    /// Settings of assembly and search.
    pub settings: ToolSearch,
    /// Whether connectors are not switched off, so that `manage_connections` has their actions.
    pub hosted: bool,
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
        Self { settings, hosted: true, core: Patterns::new(core), keep, key }
    }

    /// The same with connectors switched on or off.
    #[must_use]
    pub fn with_hosted(self, hosted: bool) -> Self {
        Self { hosted, ..self }
    }

    /// Equal for policies that defer the same tools of any source.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// CORE-1: whether a visible name is in the core set.
    pub fn is_core_name(&self, name: &str) -> bool {
        name == connections::NAME || self.core.matches(name)
    }

    /// CORE-1, CORE-2, CORE-3, CORE-5: whether a tool may be replaced by the bridge.
    pub fn may_defer(&self, kind: Kind, name: &str, own_name: &str) -> bool {
        self.settings.enabled != Enabled::Off
            && matches!(kind, Kind::Mcp | Kind::Plugin)
            && !self.is_core_name(name)
            && !self.keep.matches(name)
            && !self.keep.matches(own_name)
    }
}

impl Policy {
    /// CONN-2: whether the tools that a gateway finds are searched like deferred ones.
    pub fn defers_remote(&self) -> bool {
        self.settings.enabled != Enabled::Off
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new(ToolSearch::default(), &CoreSet::default())
    }
}
