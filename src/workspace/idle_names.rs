//! Names of `keep` and `core.extend` that no tool has: a warning, since a host may register the tool later.
//!
//! Nothing is said of what a host itself gave, nor while nothing is registered or the tools of a configured server are not
//! known: then any name may be right.

use super::config::{Config, EXTEND};
use super::found_by::{diagnostic, nearest};
use super::layers::Layer;
use super::problem::quoted;
use crate::catalog::Catalog;
use crate::catalog::pattern::{Patterns, is_glob};
use crate::catalog::source::Tool;
use crate::diagnostic::Diagnostic;

/// So many names are told of, and no more are looked for.
const MAX_TOLD: usize = 100;
/// For so many of them a name like theirs is looked for, which compares them with every tool's.
const MAX_COMPARED: usize = 3;

/// Names in files that no tool of a catalog has. `servers` are those that the configuration names.
pub fn idle(config: &Config, catalog: &Catalog, servers: &[&str]) -> Vec<Diagnostic> {
    let is_known = |server: &&str| {
        let mut sources = catalog.sources.iter().filter(|source| source.info.name == **server);
        sources.any(|source| !source.tools.is_empty())
    };
    let mut found = Vec::new();
    if config.named.is_empty() || catalog.is_empty() || !servers.iter().all(is_known) {
        return found;
    }
    let tools = || catalog.sources.iter().flat_map(|source| source.tools.iter().map(|tool| &**tool));
    for (key, names) in &config.named {
        // CORE-1 is about visible names alone.
        let by_own = *key != EXTEND;
        for (name, standing) in names.iter().filter(|(_, standing)| standing.origin.layer != Layer::Initialize) {
            let means = Patterns::new([name]);
            let is_meant = |tool: &Tool| means.matches(&tool.name) || (by_own && means.matches(&tool.tool));
            if found.len() >= MAX_TOLD || name == crate::catalog::connections::NAME || tools().any(is_meant) {
                continue;
            }
            let like = || tools().find(|tool| *tool.tool == **name).or_else(|| alike(name, tools()));
            let advice = match is_glob(name) || found.len() >= MAX_COMPARED {
                true => None,
                false => like().map(|tool| format!("; did you mean {}", quoted(&tool.name))),
            };
            let message = format!(
                "no tool is called {} yet, which {} names{}",
                quoted(name),
                quoted(key),
                advice.unwrap_or_default()
            );
            found.push(diagnostic(standing, "config-unknown-tool", message));
        }
    }
    found
}

/// The tool whose visible or own name is spelled most like another.
fn alike<'a>(name: &str, tools: impl Iterator<Item = &'a Tool> + Clone) -> Option<&'a Tool> {
    let names = tools.clone().flat_map(|tool| [&*tool.name, &*tool.tool]);
    let like = nearest(name, names)?;
    { tools }.find(|tool| *tool.name == *like || *tool.tool == *like)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::source::{Kind, Origin, Source, SourceInfo};
    use crate::workspace::config;
    use crate::workspace::layers::ConfigLayer;
    use crate::workspace::source_text::read_node;
    use crate::workspace::trust::Trust;

    fn told(layer: Layer, yaml: &str, servers: &[&str]) -> Vec<String> {
        let text: Arc<str> = r#"{"name":"create_issue"}"#.into();
        let source = Source::read(SourceInfo::new("linear", Kind::Mcp, Origin::User), &text, [&*text]).0;
        let layer = ConfigLayer::of_file(layer, "c.yaml".to_owned(), read_node("c.yaml", yaml.as_bytes()).unwrap());
        let config = config::merge(&[layer], &Trust::default());
        let found = idle(&config, &Catalog::new([Arc::new(source)], Arc::default()), servers);
        found.iter().map(|found| format!("{}:{} {}", found.column, found.pointer, found.message)).collect()
    }

    #[test]
    fn names_of_nothing_are_told_where_they_are() {
        for (label, yaml, expected) in [
            ("a visible name, an own one and a glob", "tools: {tool_search: {keep: [mcp__linear__create_issue, create_issue, '*_issue']}}", vec![]),
            (
                "a typo",
                "tools: {tool_search: {keep: [create_isue]}}",
                vec!["30:/tools/tool_search/keep/0 no tool is called `create_isue` yet, which `tools.tool_search.keep` names; did you mean `mcp__linear__create_issue`".to_owned()],
            ),
            (
                "CORE-1: an own name is no visible one",
                "core: {extend: [create_issue, manage_connections]}",
                vec!["17:/core/extend/0 no tool is called `create_issue` yet, which `core.extend` names; did you mean `mcp__linear__create_issue`".to_owned()],
            ),
            ("a bare list", "core: ['zendesk_*']", vec!["8:/core/0 no tool is called `zendesk_*` yet, which `core.extend` names".to_owned()]),
        ] {
            assert_eq!(told(Layer::User, yaml, &["linear"]), expected, "{label}");
        }
        let typo = "core: [create_isue]";
        assert_eq!(told(Layer::User, typo, &["linear", "starting"]), [""; 0], "it may be a tool of a server's");
        assert_eq!(told(Layer::Initialize, typo, &[]), [""; 0], "a host registers its own later");
    }
}
