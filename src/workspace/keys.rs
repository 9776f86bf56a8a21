//! The keys that configuration knows, and which of them a mistyped one may have meant.

/// Every section by its dotted path, with the keys in it. What is no section itself is a setting.
pub const SECTIONS: [(&str, &[&str]); 5] = [
    (
        "",
        &[
            "tools",
            "core",
            "watch",
            "max_message_bytes",
            "max_result_bytes",
            "mcpServers",
            "mcp_cache",
            "trusted_workspaces",
        ],
    ),
    ("tools", &["tool_search", "connectors", "sources"]),
    (
        "tools.tool_search",
        &[
            "enabled",
            "threshold_pct",
            "search_default_limit",
            "max_search_limit",
            "listing",
            "listing_max_tokens",
            "keep",
            "near",
        ],
    ),
    ("tools.connectors", &["enabled", "gateway_url", "token_file"]),
    ("core", &["replace", "extend"]),
];

/// The setting under which sources stand by name, and the keys of each.
const SOURCES: (&str, &[&str]) = ("tools.sources.", &["aliases", "keywords"]);

/// What a workspace sets only once it is trusted, since each could send or hide something. So could a server, and the words
/// for a source: these wait one by one, under their own names.
pub const NEED_TRUST: [&str; 4] = ["tools.connectors.gateway_url", "tools.connectors.token_file", "core", "watch"];

/// Dotted path of `key` inside the section `parent`.
pub fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() { key.to_owned() } else { format!("{parent}.{key}") }
}

/// The keys of a section, none where `path` is no section.
pub fn keys_of(path: &str) -> &'static [&'static str] {
    let section = SECTIONS.iter().find(|(section, _)| *section == path).map(|(_, keys)| *keys);
    section.or_else(|| path.starts_with(SOURCES.0).then_some(SOURCES.1)).unwrap_or_default()
}

/// Dotted paths of all settings, in the order of the reference.
pub fn settings() -> impl Iterator<Item = String> {
    let all = SECTIONS.iter().flat_map(|(section, keys)| keys.iter().map(|key| join(section, key)));
    all.filter(|path| keys_of(path).is_empty())
}

/// The section other than `path` that knows `key`.
pub fn section_knowing(path: &str, key: &str) -> Option<&'static str> {
    SECTIONS.iter().find(|(section, keys)| *section != path && keys.contains(&key)).map(|(section, _)| *section)
}

/// The key of the section `path` that is nearest to `key` by edit distance, the first of equals.
pub fn nearest(path: &str, key: &str) -> Option<&'static str> {
    // What lies beyond the longest key adds the same to every distance.
    let key: String = key.chars().take(64).collect::<String>().to_lowercase();
    keys_of(path).iter().copied().min_by_key(|known| strsim::levenshtein(&key, &known.to_lowercase()))
}
