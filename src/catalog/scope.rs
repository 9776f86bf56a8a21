//! What the asking session was granted: toolsets, and single tools where given.

use super::pattern::{Patterns, content_hash, is_glob};

/// A grant as a host writes it; every list holds names or globs. Absent grants all, an empty list nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Grant {
    /// Toolsets granted, by toolset name or label.
    pub enabled: Option<Vec<String>>,
    /// Toolsets denied.
    pub disabled: Vec<String>,
    /// Tools granted, by the name the model sees.
    pub allow: Option<Vec<String>>,
    /// Tools denied.
    pub deny: Vec<String>,
}

impl Grant {
    /// Number of its patterns that are globs.
    pub fn globs(&self) -> usize {
        let lists = [self.enabled.as_ref(), Some(&self.disabled), self.allow.as_ref(), Some(&self.deny)];
        lists.into_iter().flatten().flatten().filter(|pattern| is_glob(pattern)).count()
    }
}

/// A grant made ready for matching.
#[derive(Debug, Clone)]
pub struct Scope {
    grant: Grant,
    hash: u64,
    enabled: Option<Patterns>,
    disabled: Patterns,
    allow: Option<Patterns>,
    deny: Patterns,
}

impl Scope {
    /// Prepares a grant.
    pub fn new(grant: Grant) -> Self {
        Self {
            hash: content_hash(&grant),
            enabled: grant.enabled.as_ref().map(Patterns::new),
            disabled: Patterns::new(&grant.disabled),
            allow: grant.allow.as_ref().map(Patterns::new),
            deny: Patterns::new(&grant.deny),
            grant,
        }
    }

    /// The scope that holds everything.
    pub fn all() -> Self {
        Self::new(Grant::default())
    }

    /// The grant it was made from.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// A hash of the grant; equal grants have equal hashes.
    pub fn content(&self) -> u64 {
        self.hash
    }

    /// Whether the grant says nothing, that is, grants all.
    pub fn is_all(&self) -> bool {
        self.grant == Grant::default()
    }

    /// Whether a toolset is granted, known by its toolset name (`mcp-github`) or its label (`github`).
    pub fn grants_toolset(&self, toolset: &str, label: &str) -> bool {
        let named = |set: &Patterns| set.matches(toolset) || set.matches(label);
        // What belongs to no toolset cannot be named, and what cannot be classified is never hidden (CORE-3): only a
        // grant of nothing leaves it out.
        let nameless = toolset.is_empty() && self.grant.enabled.as_ref().is_some_and(|enabled| !enabled.is_empty());
        (nameless || self.enabled.as_ref().is_none_or(named)) && !named(&self.disabled)
    }

    /// JSON pointers in the grant of patterns that look like globs and are none: they would grant or deny nothing.
    pub fn invalid(&self) -> Vec<String> {
        let mut pointers = Vec::new();
        let mut look = |list: &str, given: &[String], read: &Patterns| {
            let bad = given.iter().enumerate().filter(|(_, pattern)| read.invalid.contains(pattern));
            pointers.extend(bad.map(|(at, _)| format!("{list}/{at}")));
        };
        let Grant { enabled, disabled, allow, deny } = &self.grant;
        look("/toolsets/disabled", disabled, &self.disabled);
        look("/tools/deny", deny, &self.deny);
        for (list, given, read) in [("/toolsets/enabled", enabled, &self.enabled), ("/tools/allow", allow, &self.allow)]
        {
            if let (Some(given), Some(read)) = (given, read) {
                look(list, given, read);
            }
        }
        pointers
    }

    /// Whether single tools are spoken of at all; if not, a granted toolset is granted whole.
    pub fn names_tools(&self) -> bool {
        self.grant.allow.is_some() || !self.grant.deny.is_empty()
    }

    /// Whether a tool of a granted toolset is granted.
    pub fn grants_tool(&self, name: &str) -> bool {
        self.allow.as_ref().is_none_or(|set| set.matches(name)) && !self.deny.matches(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn absent_grants_all_and_empty_grants_nothing() {
        assert!(Scope::all().grants_toolset("mcp-a", "a"));
        let none = Scope::new(Grant { enabled: Some(vec![]), ..Grant::default() });
        assert!(!none.grants_toolset("mcp-a", "a"));
        let none = Scope::new(Grant { allow: Some(vec![]), ..Grant::default() });
        assert!(!none.grants_tool("x"));
    }

    #[test]
    fn core_3_what_belongs_to_no_toolset_is_left_out_only_by_a_grant_of_nothing() {
        for (enabled, granted) in [(Some(list(&["a"])), true), (Some(vec![]), false), (None, true)] {
            let scope = Scope::new(Grant { enabled, ..Grant::default() });
            assert_eq!(scope.grants_toolset("", ""), granted);
        }
    }

    #[test]
    fn patterns_that_are_none_are_told() {
        let scope =
            Scope::new(Grant { deny: list(&["ok", "a{b"]), enabled: Some(list(&["[", "*"])), ..Grant::default() });
        assert_eq!(scope.invalid(), ["/tools/deny/1", "/toolsets/enabled/0"]);
    }

    #[test]
    fn toolset_names_and_labels_both_name_a_toolset_and_denial_wins() {
        for enabled in ["mcp-a", "a", "mcp-*"] {
            let scope = Scope::new(Grant { enabled: Some(list(&[enabled])), ..Grant::default() });
            assert!(scope.grants_toolset("mcp-a", "a"), "{enabled}");
            assert!(!scope.grants_toolset("b", "b"), "{enabled}");
        }
        let scope = Scope::new(Grant { enabled: Some(list(&["a"])), disabled: list(&["a"]), ..Grant::default() });
        assert!(!scope.grants_toolset("mcp-a", "a"));
        let scope = Scope::new(Grant { allow: Some(list(&["x*"])), deny: list(&["xy"]), ..Grant::default() });
        assert!(scope.grants_tool("xz") && !scope.grants_tool("xy") && !scope.grants_tool("z"));
    }
}
