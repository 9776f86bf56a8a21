//! The name a model sees for a tool: prefixed with its server or as it is, and always one that every model
//! API takes (`^[A-Za-z0-9_-]{1,64}$`).
//!
//! A name depends on its source and tool alone, never on what else is loaded.

use sha2::{Digest, Sha256};

/// Longest visible name, in characters.
pub const MAX_NAME: usize = 64;

/// The bridge's own names; no source may use them.
pub const BRIDGE: [&str; 3] = ["tool_search", "tool_describe", "tool_call"];

/// Whether a name is one of the bridge's.
pub fn is_bridge(name: &str) -> bool {
    BRIDGE.contains(&name)
}

/// How a source's tools are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Naming {
    /// `mcp__<source>__<tool>`.
    Prefixed,
    /// The tool's own name.
    AsIs,
}

/// The visible name of a tool. `foreign` is true for a tool that an attached server reports itself: it may
/// not choose a name that begins with `mcp_`, one that a host or a file registers may.
pub fn visible(source: &str, tool: &str, naming: Naming, foreign: bool) -> String {
    let keeps = tool.starts_with("mcp_") && !foreign;
    if naming == Naming::AsIs || keeps {
        return fit(tool, tool.is_empty(), source, tool);
    }
    // Where the source ends in `_`, `a_` + `b` and `a` + `_b` would meet without the hash.
    let ambiguous = source.contains("__") || tool.contains("__") || source.ends_with('_');
    fit(&format!("mcp__{source}__{tool}"), ambiguous, source, tool)
}

/// Whether model APIs take a character in a name.
pub(super) fn fits(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// Replaces what model APIs refuse and cuts what is too long; whatever was changed, or is `marked`, gets the
/// first six hex digits of SHA-256(source, NUL, tool) behind it.
fn fit(name: &str, marked: bool, source: &str, tool: &str) -> String {
    let mut changed = marked;
    let mut fitted = String::with_capacity(name.len().min(MAX_NAME));
    for c in name.chars() {
        if fitted.len() == MAX_NAME {
            changed = true;
            break;
        }
        let fits = fits(c);
        changed |= !fits;
        fitted.push(if fits { c } else { '_' });
    }
    if changed {
        let hash = Sha256::new().chain_update(source).chain_update([0]).chain_update(tool).finalize();
        fitted.truncate(MAX_NAME - 7);
        fitted.push('_');
        for byte in &hash[..3] {
            fitted.push_str(&format!("{byte:02x}"));
        }
    }
    fitted
}

/// The server and tool of a name in the form `mcp__<server>__<tool>`.
pub fn split_prefixed(name: &str) -> Option<(&str, &str)> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

/// A tool's own name without the server part it may carry (`mcp__github__x`, `mcp_github_x`).
pub fn bare<'a>(tool: &'a str, label: &str) -> &'a str {
    let rest = tool.strip_prefix("mcp_").and_then(|rest| {
        let rest = rest.strip_prefix('_').unwrap_or(rest).strip_prefix(label)?.strip_prefix('_')?;
        Some(rest.strip_prefix('_').unwrap_or(rest))
    });
    let rest = rest.filter(|rest| !rest.is_empty()).or_else(|| split_prefixed(tool).map(|(_, rest)| rest));
    rest.unwrap_or(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let long = "x".repeat(80);
        for (source, tool, naming, foreign, want) in [
            ("linear", "create_issue", Naming::Prefixed, false, "mcp__linear__create_issue"),
            ("host", "read_file", Naming::AsIs, false, "read_file"),
            ("gh", "mcp_gh_create", Naming::Prefixed, false, "mcp_gh_create"),
            ("gh", "mcp_gh_create", Naming::Prefixed, true, "mcp__gh__mcp_gh_create"),
            ("a b", "c", Naming::Prefixed, false, "mcp__a_b__c_7f9e12"),
            ("a", "b.c", Naming::Prefixed, false, "mcp__a__b_c_HASH"),
            ("a_", "b", Naming::Prefixed, false, "mcp__a___b_HASH"),
            ("a", "_b", Naming::Prefixed, false, "mcp__a___b"),
            ("a__b", "c", Naming::Prefixed, false, "mcp__a__b__c_HASH"),
            ("p", "my__tool", Naming::AsIs, false, "my__tool"),
            ("p", "日本", Naming::AsIs, false, "___HASH"),
        ] {
            let got = visible(source, tool, naming, foreign);
            let hash = Sha256::digest([source.as_bytes(), &[0], tool.as_bytes()].concat());
            let hash: String = hash[..3].iter().map(|b| format!("{b:02x}")).collect();
            let want = want.replace("HASH", &hash).replace("7f9e12", &hash);
            assert_eq!(got, want, "{source} {tool}");
        }
        let cut = visible("s", &long, Naming::Prefixed, false);
        assert_eq!(cut.len(), MAX_NAME);
        assert_ne!(cut, visible("s", &"x".repeat(81), Naming::Prefixed, false));
        assert_eq!(visible("s", &"x".repeat(64), Naming::AsIs, false).len(), 64);
    }

    #[test]
    fn the_server_part_is_dropped_where_it_is_one() {
        assert_eq!(bare("mcp_github_create_issue", "github"), "create_issue");
        assert_eq!(bare("mcp__github__create_issue", "github"), "create_issue");
        assert_eq!(bare("mcp_github_create_issue", "gitlab"), "mcp_github_create_issue");
        assert_eq!(bare("mcp_github_", "github"), "mcp_github_");
        assert_eq!(bare("mcp__github__create_issue", "a_file"), "create_issue");
        assert_eq!(split_prefixed("mcp__a__b__c"), Some(("a", "b__c")));
        assert_eq!(split_prefixed("mcp_a_b"), None);
    }
}
