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

    /// Whether a remote tool is granted (CONN-8): it is of the toolset `connectors`, and of its connector's own.
    pub fn grants_remote(&self, connector: &str, name: &str) -> bool {
        self.grants_toolset(&format!("{REMOTE}-{connector}"), REMOTE) && self.grants_tool(name)
    }

    /// Whether some remote tool could be granted. `false` is certain: nothing need be asked about.
    pub fn may_grant_remote(&self) -> bool {
        let begins = |list: &Option<Vec<String>>, prefix: &str| {
            list.as_ref().is_none_or(|list| list.iter().any(|pattern| may_begin_with(pattern, prefix)))
        };
        // What no connector and no tool is named, so that only a pattern for all of them has it.
        let (any, all) = (format!("{REMOTE}-\u{1}"), format!("{REMOTE}__\u{1}__\u{1}"));
        let toolset = self.enabled.as_ref().is_none_or(|set| set.matches(REMOTE))
            || begins(&self.grant.enabled, &format!("{REMOTE}-"));
        toolset
            && !self.disabled.matches(REMOTE)
            && !self.disabled.matches(&any)
            && begins(&self.grant.allow, &format!("{REMOTE}__"))
            && !self.deny.matches(&all)
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

/// Toolset of remote tools, and what their names begin with.
const REMOTE: &str = "connectors";

/// Whether a pattern could match a text that begins so.
fn may_begin_with(pattern: &str, prefix: &str) -> bool {
    let literal = pattern.find(['*', '?', '[', '{', '\\']).map_or(pattern, |at| &pattern[..at]);
    literal.starts_with(prefix) || literal.len() < pattern.len() && prefix.starts_with(literal)
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
    fn conn_8_what_grants_no_remote_tool_is_known_beforehand() {
        let on = |names: &[&str]| Grant { enabled: Some(list(names)), ..Grant::default() };
        let off = |names: &[&str]| Grant { disabled: list(names), ..Grant::default() };
        let allow = |names: &[&str]| Grant { allow: Some(list(names)), ..Grant::default() };
        let deny = |names: &[&str]| Grant { deny: list(names), ..Grant::default() };
        for (grant, may, gmail, slack) in [
            (Grant::default(), true, true, true),
            (on(&["connectors"]), true, true, true),
            (on(&["connectors-gmail"]), true, true, false),
            (on(&["connectors-*"]), true, true, true),
            (on(&["conn*"]), true, true, true),
            (on(&["*"]), true, true, true),
            (on(&["mcp-linear", "linear", "mcp-*"]), false, false, false),
            (on(&["connector"]), false, false, false),
            (on(&[]), false, false, false),
            (off(&["connectors"]), false, false, false),
            (off(&["connectors-*"]), false, false, false),
            (off(&["connectors-gmail"]), true, false, true),
            (off(&["*"]), false, false, false),
            (allow(&["connectors__gmail__*"]), true, true, false),
            (allow(&["mcp__*"]), false, false, false),
            (allow(&["*__X"]), true, true, true),
            (allow(&[]), false, false, false),
            (deny(&["connectors__*"]), false, false, false),
            (deny(&["connectors__gmail__X"]), true, false, true),
        ] {
            let scope = Scope::new(grant.clone());
            let got = [
                scope.may_grant_remote(),
                scope.grants_remote("gmail", "connectors__gmail__X"),
                scope.grants_remote("slack", "connectors__slack__X"),
            ];
            assert_eq!(got, [may, gmail, slack], "{grant:?}");
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
