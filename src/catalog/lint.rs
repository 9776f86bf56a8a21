//! What the owner of a catalog wants to hear of it, beyond what is broken: tools that cannot be found, or told apart, or that
//! cost more than they say.
//!
//! Findings are in the order of sources and tools. Two searches a deferred tool are run, so that time grows with the catalog
//! as so many searches do.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::definition::Format;
use super::search;
use super::source::Tool;
use super::view::View;
use super::words;
use super::{Catalog, ToolId};

/// Something about one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The tool.
    pub id: ToolId,
    /// Stable name of the kind of finding.
    pub code: &'static str,
    /// What, and what to do.
    pub message: String,
}

/// What the tools of a catalog cost in a model's context, as OpenAI's format has them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Each source: its name, how many tools it has, their tokens.
    pub sources: Vec<(String, u64, u64)>,
    /// The most expensive tools with their tokens.
    pub largest: Vec<(ToolId, u64)>,
}

/// How many of the most expensive tools are named.
const LARGEST: usize = 10;
/// Fewest words of a description that says something.
const FEWEST_WORDS: usize = 3;

/// Looks at every tool.
pub fn findings(catalog: &Catalog, view: &View) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut alike: FxHashMap<Vec<String>, ToolId> = FxHashMap::default();
    for source in 0..catalog.sources.len() {
        for (id, tool) in catalog.tools_of(source).filter(|(id, _)| !catalog.is_refused(*id)) {
            let mut tell = |code, message| found.push(Finding { id, code, message });
            describe(tool, &mut tell);
            if let Some(character) = invisible(tool) {
                let code = u32::from(character);
                tell(
                    "invisible-character",
                    format!("holds U+{code:04X}, which nobody sees and a model reads: remove it"),
                );
            }
            let label = &catalog.source_of(id).info.name;
            if *tool.name != *tool.tool && *tool.name != format!("mcp__{label}__{}", tool.tool) {
                let message = "is no name that models take, who see `{}`: at most 64 letters, digits, `_` and `-`, `mcp__{}__` included";
                tell("name-changed", message.replacen("{}", &tool.name, 1).replacen("{}", label, 1));
            }
            match alike.entry(said(tool)) {
                std::collections::hash_map::Entry::Occupied(first) if !first.key().is_empty() => {
                    let first = &catalog.tool(*first.get()).name;
                    tell(
                        "alike",
                        format!("says with the same words what `{first}` does: a model cannot tell them apart"),
                    );
                }
                std::collections::hash_map::Entry::Occupied(_) => {}
                std::collections::hash_map::Entry::Vacant(place) => {
                    place.insert(id);
                }
            }
            if view.deferred.contains(id) {
                own_words(catalog, view, id, &mut tell);
            }
        }
    }
    found
}

fn describe(tool: &Tool, tell: &mut impl FnMut(&'static str, String)) {
    let description = tool.description();
    let stems = |text: &str, identifier: bool| {
        let mut stems = Vec::new();
        let each = |word: &str| stems.push(words::stem(word).into_owned());
        if identifier {
            words::each_identifier_word(text, each)
        } else {
            words::each_word(text, each)
        }
        stems
    };
    let said = stems(&description, false);
    let named = stems(&tool.tool, true);
    if said.is_empty() {
        tell("no-description", "has no description: it is found by its name alone".to_owned());
    } else if said.iter().all(|stem| named.contains(stem) || words::is_stop_word(stem)) {
        tell("empty-description", "has a description that says no more than its name".to_owned());
    } else if said.len() < FEWEST_WORDS {
        tell("short-description", "has a description of one or two words: say what it does, and to what".to_owned());
    }
}

/// The first character in a definition that is not seen and no part of a script or an emoji.
fn invisible(tool: &Tool) -> Option<char> {
    let raw = tool.raw();
    if raw.is_ascii() && !raw.contains("\\u") {
        return None;
    }
    fn first(value: &Value) -> Option<char> {
        match value {
            Value::String(text) => text.chars().find(|c| is_invisible(*c)),
            Value::Array(items) => items.iter().find_map(first),
            Value::Object(members) => {
                members.iter().find_map(|(key, value)| key.chars().find(|c| is_invisible(*c)).or_else(|| first(value)))
            }
            _ => None,
        }
    }
    // It was read before, with the same bound on its depth.
    first(&serde_json::from_str(raw).ok()?)
}

/// Format characters of Unicode without the joiners, and control characters that no text needs.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
        || (c.is_control() && !matches!(c, '\n' | '\r' | '\t'))
}

/// The distinct stems of description and parameter names, sorted; none where there is no description.
fn said(tool: &Tool) -> Vec<String> {
    let mut stems = Vec::new();
    words::each_word(&tool.description(), |word| stems.push(words::stem(word).into_owned()));
    if stems.len() < FEWEST_WORDS {
        return Vec::new();
    }
    for name in tool.parameters().names {
        words::each_identifier_word(&name, |word| stems.push(words::stem(word).into_owned()));
    }
    stems.sort();
    stems.dedup();
    stems
}

/// Whether the words of its name, and its first sentence, find a tool.
fn own_words(catalog: &Catalog, view: &View, id: ToolId, tell: &mut impl FnMut(&'static str, String)) {
    let tool = catalog.tool(id);
    let mut named = Vec::new();
    words::each_identifier_word(&catalog.source_of(id).info.name, |word| named.push(word.to_owned()));
    words::each_identifier_word(&tool.tool, |word| named.push(word.to_owned()));
    let description = tool.description();
    let sentence = description.split(['\n', '。']).next().unwrap_or_default();
    let sentence = sentence.split(". ").next().unwrap_or_default();
    for (code, what, query) in [
        ("lost-by-name", "the words of its name", named.join(" ")),
        ("lost-by-description", "its first sentence", sentence.to_owned()),
    ] {
        if query.split_whitespace().nth(1).is_none() {
            continue;
        }
        let found = search::run(catalog, view, &query, None);
        if !found.matches.contains(&id) {
            let before = found.matches.first().map(|first| &catalog.tool(*first).name);
            let before = before.map(|name| format!(", but `{name}` first")).unwrap_or_default();
            tell(
                code,
                format!(
                    "is not among the first {} that {what} find{before}: say what sets it apart",
                    found.matches.len()
                ),
            );
        }
    }
}

/// Adds up what tools cost.
pub fn costs(catalog: &Catalog) -> Costs {
    let mut costs = Costs::default();
    for (index, source) in catalog.sources.iter().enumerate() {
        let mut of_source = (source.info.name.clone(), 0, 0);
        for (id, tool) in catalog.tools_of(index).filter(|(id, _)| !catalog.is_refused(*id)) {
            let tokens = tool.quarters(Format::OpenAi).tokens();
            of_source.1 += 1;
            of_source.2 += tokens;
            costs.largest.push((id, tokens));
        }
        costs.sources.push(of_source);
    }
    costs.sources.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    let name = |id: ToolId| &catalog.tool(id).name;
    costs.largest.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| name(a.0).cmp(name(b.0))));
    costs.largest.truncate(LARGEST);
    costs
}
