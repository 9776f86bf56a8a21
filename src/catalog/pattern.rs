//! Names and globs, as scopes, `core` and `keep` give them.
//!
//! A pattern without `*`, `?`, `[` or `{` is an exact name and costs a hash look-up. A glob that does not parse
//! is taken as an exact name, so that no input fails; `invalid` says which ones those were.

use std::hash::{Hash, Hasher};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustc_hash::{FxHashSet, FxHasher};

/// A set of names and globs.
#[derive(Debug, Clone, Default)]
pub struct Patterns {
    names: FxHashSet<Box<str>>,
    globs: Option<GlobSet>,
    /// Patterns that look like globs and are none.
    pub invalid: Vec<String>,
}

impl Patterns {
    /// Reads the patterns; their order does not matter.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Self {
        let mut set = Self::default();
        let mut globs = GlobSetBuilder::new();
        let mut together = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            if is_glob(pattern) {
                // The regex behind a glob is linear in the text; its size is what has to be bounded.
                let glob = (pattern.len() <= MAX_GLOB).then(|| GlobBuilder::new(pattern).build());
                match glob {
                    Some(Ok(glob)) => {
                        globs.add(glob);
                        together.push(pattern.to_owned());
                        continue;
                    }
                    _ => set.invalid.push(pattern.to_owned()),
                }
            }
            set.names.insert(pattern.into());
        }
        if !together.is_empty() {
            match globs.build() {
                Ok(built) => set.globs = Some(built),
                // Each is a glob, but together they are too large for one automaton: none can be relied on.
                Err(_) => set.invalid.extend(together),
            }
        }
        set
    }

    /// Whether the name is in the set.
    pub fn matches(&self, name: &str) -> bool {
        self.names.contains(name) || self.globs.as_ref().is_some_and(|globs| globs.is_match(name))
    }
}

/// Whether a pattern is meant as a glob.
pub fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}

/// Longest glob taken as one, in bytes.
const MAX_GLOB: usize = 256;

/// A hash of patterns as they were given, for caches keyed by content.
pub(crate) fn content_hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_globs_match_whole_names() {
        let set = Patterns::new(["terminal", "browser_*", "mcp-{a,b}"]);
        for (name, inside) in [
            ("terminal", true),
            ("terminal2", false),
            ("browser_click", true),
            ("a_browser_click", false),
            ("mcp-a", true),
            ("mcp-c", false),
        ] {
            assert_eq!(set.matches(name), inside, "{name}");
        }
    }

    #[test]
    fn a_glob_that_is_none_is_an_exact_name() {
        let set = Patterns::new(["a[b"]);
        assert!(set.matches("a[b"));
        assert_eq!(set.invalid, ["a[b"]);
        assert!(Patterns::new(["*".repeat(5000)]).matches(&"*".repeat(5000)));
    }
}
