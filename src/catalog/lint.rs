//! What the owner of a catalog wants to hear of it, beyond what is broken: tools that cannot be found, or told apart, or that
//! cost more than they say.
//!
//! Findings are in the order of sources and tools. Two searches a deferred tool are run, so that time grows with the catalog
//! as so many searches do.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::definition::Format;
use super::listing::sentence;
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
/// So many tools named with the same words are compared with those that follow.
const MAX_COMPARED: usize = 32;

/// Looks at every tool.
pub fn findings(catalog: &Catalog, view: &View) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut alike = Alike::default();
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
                let own = &tool.tool;
                tell(
                    "name-changed",
                    format!(
                        "is all that models can be shown of `{own}`, whose names have at most 64 letters, digits, `_` and `-`, the server's included: shorten one of them"
                    ),
                );
            }
            if let Some((code, message)) = alike.look(catalog, id) {
                tell(code, message);
            }
            if view.deferred.contains(id) {
                own_words(catalog, view, id, &mut tell);
            }
        }
    }
    found
}

/// Tools met before, by what may be mistaken for the same.
#[derive(Default)]
struct Alike {
    /// By the words of description and parameters.
    words: FxHashMap<Vec<String>, ToolId>,
    /// By what a listing shows beside the name.
    summaries: FxHashMap<String, ToolId>,
    /// By the words of the name: each tool and the words that it says.
    names: FxHashMap<Vec<String>, Vec<(ToolId, Vec<String>)>>,
}

impl Alike {
    /// What an earlier tool has in common with this one, the most telling first.
    fn look(&mut self, catalog: &Catalog, id: ToolId) -> Option<(&'static str, String)> {
        let tool = catalog.tool(id);
        let name = |id: &ToolId| &catalog.tool(*id).name;
        let said = said(tool);
        if said.is_empty() {
            return None;
        }
        let same = self.words.get(&said).map(|first| {
            ("alike", format!("says with the same words what `{}` does: a model cannot tell them apart", name(first)))
        });
        self.words.entry(said.clone()).or_insert(id);

        let mut named = stems(&tool.tool, true);
        named.sort();
        named.dedup();
        let named = self.names.entry(named).or_default();
        let near = named.iter().find(|(_, other)| are_nearly_the_same(&said, other)).map(|(first, _)| {
            (
                "nearly-alike",
                format!(
                    "is named and described with nearly the same words as `{}`: say what sets them apart",
                    name(first)
                ),
            )
        });
        if named.len() < MAX_COMPARED {
            named.push((id, said));
        }

        let summary = sentence::summary(&tool.description()).to_lowercase();
        let first =
            self.summaries.get(&summary).filter(|_| summary.split(' ').nth(FEWEST_WORDS - 1).is_some()).map(|first| {
                (
                    "same-summary",
                    format!(
                        "begins as `{}` does, and a listing shows no more of either: begin with what sets it apart",
                        name(first)
                    ),
                )
            });
        self.summaries.entry(summary).or_insert(id);
        same.or(near).or(first)
    }
}

/// Whether of all the words of two, given sorted, at least four fifths are in both.
fn are_nearly_the_same(one: &[String], other: &[String]) -> bool {
    let both = one.iter().filter(|word| other.binary_search(word).is_ok()).count();
    both * 5 >= (one.len() + other.len() - both) * 4
}

fn stems(text: &str, identifier: bool) -> Vec<String> {
    let mut stems = Vec::new();
    let each = |word: &str| stems.push(words::stem(word).into_owned());
    if identifier {
        words::each_identifier_word(text, each)
    } else {
        words::each_word(text, each)
    }
    stems
}

fn describe(tool: &Tool, tell: &mut impl FnMut(&'static str, String)) {
    let description = tool.description();
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
    let mut said = stems(&tool.description(), false);
    if said.len() < FEWEST_WORDS {
        return Vec::new();
    }
    tool.parameters().names.iter().for_each(|name| said.extend(stems(name, true)));
    said.sort();
    said.dedup();
    said
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
        ("lost-by-name", "the words of its name find", named.join(" ")),
        ("lost-by-description", "its first sentence finds", sentence.to_owned()),
    ] {
        if query.split_whitespace().nth(1).is_none() {
            continue;
        }
        let found = search::run(catalog, view, &query, None);
        // Where nothing is found there was no word in it.
        let Some(first) = found.matches.first().filter(|_| !found.matches.contains(&id)) else { continue };
        let (first, shown) = (&catalog.tool(*first).name, found.matches.len());
        tell(code, format!("is not among the first {shown} that {what}, but `{first}` first: say what sets it apart"));
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::scope::Scope;
    use crate::catalog::source::{Kind, Origin, Source, SourceInfo};

    fn source(label: &str, tools: &[Value]) -> Arc<Source> {
        let text: Arc<str> = Value::from(tools).to_string().into();
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new(label, Kind::Mcp, Origin::User);
        Arc::new(Source::read(info, &text, entries.iter().map(|entry| entry.get())).0)
    }

    fn told(sources: Vec<Arc<Source>>) -> Vec<String> {
        let catalog = Catalog::new(sources, Arc::default());
        let found = findings(&catalog, &catalog.view(&Scope::all()));
        found.iter().map(|found| format!("{} {}", catalog.tool(found.id).tool, found.code)).collect()
    }

    #[test]
    fn tools_that_may_be_mistaken_for_another_are_told_once() {
        let tool = |name: &str, description: &str| json!({ "name": name, "description": description });
        let list = "Lists the files of a folder. ";
        for (label, one, other, expected) in [
            (
                "the same words",
                tool("drop", "Removes a file for good"),
                tool("delete", "For good removes a file"),
                &["delete alike"][..],
            ),
            (
                "nearly the same, of one name",
                tool("getUser", "Get the details of a user of the team by name"),
                tool("get_users", "Get the details of users of a team by names or id"),
                &["get_users nearly-alike"],
            ),
            (
                "nearly the same, of other names",
                tool("list_coupons", "Get the list of all coupons of the shop by name"),
                tool("list_prices", "Get the list of all prices of the shop by name"),
                &[],
            ),
            (
                "one name, another matter",
                tool("search", "Find the papers of a journal by their title"),
                tool("search", "Look for flights between two cities on a day"),
                &[],
            ),
            (
                "the same beginning",
                tool("list_directory", &format!("{list}Their names, one a line, folders before files.")),
                tool("list_directory_sizes", &format!("{list}With sizes in bytes, the largest first.")),
                &["list_directory_sizes same-summary"],
            ),
            (
                "nothing said",
                tool("run", "Go"),
                tool("start", "Go"),
                &["run short-description", "start short-description"],
            ),
        ] {
            // `a` is looked at first.
            let mut told = told(vec![source("a", &[one]), source("b", &[other])]);
            told.retain(|found| !found.contains("lost-by"));
            assert_eq!(told, expected, "{label}");
        }
    }

    #[test]
    fn a_tool_that_its_own_words_do_not_find_is_told() {
        let many =
            |n: usize| json!({ "name": format!("get_user_{n}"), "description": "Get user. Get user, the user." });
        let mut tools: Vec<Value> = (0..6).map(many).collect();
        let long = format!("Get user. {}", "Returns more than anybody would ever want to know. ".repeat(20));
        tools.push(json!({ "name": "user", "description": long }));
        let told = told(vec![source("s", &tools)]);
        assert!(told.contains(&"user lost-by-description".to_owned()), "{told:?}");
    }
}
