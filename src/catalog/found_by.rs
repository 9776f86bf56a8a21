//! Words that a person gave a source to be found by: other names of the source (`jira` for `atlassian`), and words for some
//! of its tools.
//!
//! Such a word is one of the tool's document as far as gate and floor go, since a person said so. It counts half of what
//! the same word once in the tool's own text would, makes no document longer, and is no part of a name, so that of two tools
//! that are alike otherwise the one which says the word itself comes first. Where the tool says it, nothing changes.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::pattern::Patterns;
use super::source::Source;
use super::words;

/// Words given to one tool at most; those that come first stand.
const MAX_WORDS: usize = 256;
/// So many patterns that mean nothing are told of one source.
const MAX_TOLD: usize = 20;
/// Names and globs of one source at most: each is held against each of its tools.
pub const MAX_PATTERNS: usize = 256;

/// Aliases and keywords of a source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct FoundBy {
    /// Other words for the source: each of its tools is found by them.
    pub aliases: Vec<String>,
    /// Words for the tools that a name or a glob means, their own names or those a model sees.
    pub keywords: BTreeMap<String, Vec<String>>,
}

impl FoundBy {
    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        self.aliases.is_empty() && self.keywords.is_empty()
    }

    /// Both: what another gives comes behind.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        append(&mut self.aliases, &other.aliases);
        for (pattern, given) in &other.keywords {
            append(self.keywords.entry(pattern.clone()).or_default(), given);
        }
        self
    }

    /// Patterns that mean none of some tools, each given by the name that a model sees and its own.
    pub fn idle<'a>(
        &'a self,
        tools: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) -> impl Iterator<Item = &'a str> {
        let is_idle = move |pattern: &&str| {
            let means = Patterns::new([*pattern]);
            !tools.clone().any(|(visible, own)| means.matches(visible) || means.matches(own))
        };
        self.keywords.keys().take(MAX_PATTERNS).map(String::as_str).filter(is_idle)
    }
}

/// What is given to a source for nothing, one text each: what is past the bounds, and patterns that mean none of its tools.
pub fn unused(source: &Source) -> Vec<String> {
    let mut told = past_bounds(source);
    if source.tools.is_empty() {
        return told;
    }
    let tools = source.tools.iter().map(|tool| (&*tool.name, &*tool.tool));
    let idle = source.info.found_by.idle(tools).take(MAX_TOLD);
    told.extend(idle.map(|pattern| {
        let pattern: String = pattern.chars().take(80).collect();
        format!("no tool of the source is called `{pattern}`, which these words are for")
    }));
    told
}

/// What is given to a source or one of its tools and left out, since it is too much.
pub fn past_bounds(source: &Source) -> Vec<String> {
    let mut told = Vec::new();
    let patterns = source.info.found_by.keywords.len();
    if patterns > MAX_PATTERNS {
        told.push(format!(
            "`keywords` has {patterns} names and globs: the first {MAX_PATTERNS} in alphabetical order are used"
        ));
    }
    let given = Given::new(&source.info.found_by);
    if given.words() <= MAX_WORDS {
        return told;
    }
    let with_more = source.tools.iter().filter(|tool| given.words_of(&tool.name, &tool.tool).nth(MAX_WORDS).is_some());
    let with_more: Vec<&str> = with_more.map(|tool| &*tool.tool).collect();
    if let [first, others @ ..] = with_more.as_slice() {
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        told.push(format!(
            "`{first}`{more}: over {MAX_WORDS} words are given, of which the first {MAX_WORDS} are used"
        ));
    }
    told
}

fn append(texts: &mut Vec<String>, more: &[String]) {
    let known: FxHashSet<&str> = texts.iter().map(String::as_str).collect();
    let new: Vec<String> = more.iter().filter(|text| !known.contains(text.as_str())).cloned().collect();
    texts.extend(new);
}

/// The same made ready for the tools of one source.
#[derive(Default)]
pub(super) struct Given {
    aliases: Vec<String>,
    keywords: Vec<(Patterns, Vec<String>)>,
}

impl Given {
    pub fn new(found_by: &FoundBy) -> Self {
        let keywords = found_by.keywords.iter().take(MAX_PATTERNS);
        Self {
            aliases: split(&found_by.aliases),
            keywords: keywords.map(|(pattern, given)| (Patterns::new([pattern]), split(given))).collect(),
        }
    }

    /// Calls `each` with the words given to a tool of the source.
    pub fn each_word(&self, visible: &str, own: &str, each: impl FnMut(&str)) {
        self.words_of(visible, own).take(MAX_WORDS).for_each(each);
    }

    fn words_of(&self, visible: &str, own: &str) -> impl Iterator<Item = &str> {
        let means = move |patterns: &Patterns| patterns.matches(visible) || patterns.matches(own);
        let keywords = self.keywords.iter().filter(move |(patterns, _)| means(patterns)).flat_map(|(_, given)| given);
        self.aliases.iter().chain(keywords).map(String::as_str)
    }

    /// How many words there are, whatever tools they are for.
    fn words(&self) -> usize {
        self.aliases.len() + self.keywords.iter().map(|(_, given)| given.len()).sum::<usize>()
    }
}

/// The words of texts, lower-cased.
fn split(texts: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    texts.iter().for_each(|text| words::each_identifier_word(text, |word| all.push(word.to_owned())));
    all
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::catalog::assembly;
    use crate::catalog::definition::Format;
    use crate::catalog::scope::{Grant, Scope};
    use crate::catalog::source::{Kind, Origin, Source, SourceInfo};
    use crate::catalog::{Catalog, explain, search};

    fn found_by(aliases: &[&str], keywords: &[(&str, &[&str])]) -> FoundBy {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let keywords = keywords.iter().map(|(pattern, given)| ((*pattern).to_owned(), owned(given)));
        FoundBy { aliases: owned(aliases), keywords: keywords.collect() }
    }

    #[test]
    fn a_tool_has_the_words_of_all_patterns_that_mean_it() {
        let given = found_by(
            &["Jira", "bug-tracker"],
            &[("create_*", &["openTicket"]), ("mcp__a__x", &["ex"]), ("y", &["why"])],
        );
        for (visible, own, expected) in [
            ("mcp__a__create_issue", "create_issue", "jira bug tracker open ticket"),
            ("mcp__a__x", "x", "jira bug tracker ex"),
            ("mcp__a__y", "y", "jira bug tracker why"),
            ("mcp__a__z", "z", "jira bug tracker"),
        ] {
            let mut words = Vec::new();
            Given::new(&given).each_word(visible, own, |word| words.push(word.to_owned()));
            assert_eq!(words.join(" "), expected, "{visible}");
        }
    }

    #[test]
    fn a_pattern_that_means_no_tool_is_idle() {
        let given = found_by(&[], &[("x", &["a"]), ("mcp__a__*", &["a"]), ("nix", &["a"]), ("z*", &["a"])]);
        let tools = [("mcp__a__x", "x")];
        assert_eq!(given.idle(tools.into_iter()).collect::<Vec<_>>(), ["nix", "z*"]);
    }

    #[test]
    fn what_two_give_is_together() {
        let both =
            found_by(&["a", "b"], &[("x", &["c"])]).and(&found_by(&["b", "d"], &[("x", &["e", "c"]), ("y", &["f"])]));
        assert_eq!(both, found_by(&["a", "b", "d"], &[("x", &["c", "e"]), ("y", &["f"])]));
    }

    const ISSUE: &str = r#"[{"name":"create_issue","description":"Opens one"},{"name":"close_issue"}]"#;

    fn source(label: &str, tools: &str, given: FoundBy) -> Arc<Source> {
        let text: Arc<str> = tools.into();
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new(label, Kind::Mcp, Origin::Connection);
        Arc::new(Source::read(info, &text, entries.iter().map(|entry| entry.get())).0.with_words(given))
    }

    fn search_in(sources: &[Arc<Source>], scope: &Scope, query: &str) -> (Vec<String>, Vec<String>) {
        let catalog = Catalog::new(sources.iter().cloned(), Arc::default());
        let group = search::run(&catalog, &catalog.view(scope), query, None);
        let names = group.matches.iter().map(|id| catalog.tool(*id).name.to_string());
        (names.collect(), group.unanswered)
    }

    fn matches(sources: &[Arc<Source>], query: &str) -> Vec<String> {
        search_in(sources, &Scope::all(), query).0
    }

    #[test]
    fn search_4_a_word_that_is_given_is_one_of_the_document() {
        let words = found_by(&["jira"], &[("close_*", &["resolve ticket"])]);
        let (plain, given) = (source("atlassian", ISSUE, FoundBy::default()), source("atlassian", ISSUE, words));
        let nothing = (Vec::new(), vec!["jira".to_owned()]);
        assert_eq!(search_in(&[plain], &Scope::all(), "jira create issue"), nothing, "SEARCH-4: not without it");
        let given = [given];
        for (rule, query, expected) in [
            ("SEARCH-4: an alias", "jira create issue", &["mcp__atlassian__create_issue"][..]),
            ("SEARCH-4: a keyword", "resolve jira", &["mcp__atlassian__close_issue"]),
            ("SEARCH-2: stemmed", "resolving tickets", &["mcp__atlassian__close_issue"]),
            ("SEARCH-4: another word", "gmail create issue", &[]),
        ] {
            assert_eq!(matches(&given, query), expected, "{rule}");
        }
        let other = Scope::new(Grant { disabled: vec!["atlassian".to_owned()], ..Grant::default() });
        assert_eq!(search_in(&given, &other, "jira").1, ["jira"], "SEARCH-11: out of scope it counts for nothing");
    }

    #[test]
    fn a_tool_that_says_the_word_comes_before_one_that_is_given_it() {
        // By name, which settles ties, it would come behind.
        let both = [source("zira", ISSUE, FoundBy::default()), source("atlassian", ISSUE, found_by(&["zira"], &[]))];
        assert_eq!(matches(&both, "zira create issue"), ["mcp__zira__create_issue", "mcp__atlassian__create_issue"]);
    }

    #[test]
    fn words_change_no_search_that_does_not_say_them_and_no_tool_that_says_them() {
        let explained = |given: FoundBy, query: &str| {
            let catalog = Catalog::new([source("tracker", ISSUE, given)], Arc::default());
            serde_json::to_value(explain::explain(&catalog, &catalog.view(&Scope::all()), query, None)).unwrap()
        };
        let given = || found_by(&["jira", "tracker"], &[("create_issue", &["opens"])]);
        for query in ["create issue", "tracker issue", "open one issue"] {
            assert_eq!(explained(given(), query), explained(FoundBy::default(), query), "{query}");
        }
        let part = &explained(given(), "jira create")["hits"][0]["parts"][0];
        assert_eq!((&part["word"], &part["from"], &part["tf"]), (&json!("jira"), &json!("given"), &json!(0)));
    }

    #[test]
    fn assemble_7_words_change_no_byte_of_an_array() {
        let etag = |given: FoundBy| {
            let catalog = Catalog::new([source("tracker", ISSUE, given)], Arc::default());
            assembly::assemble(&catalog, &Scope::all(), Some(200_000.0), Format::Mcp).etag.clone()
        };
        assert_eq!(etag(found_by(&["jira"], &[("*", &["ticket"])])), etag(FoundBy::default()));
    }

    #[test]
    fn what_is_given_for_nothing_is_told() {
        let many = |count: usize, letter: &str| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
        let patterns = many(MAX_PATTERNS + 1, "p").into_iter().map(|pattern| (pattern, vec!["x".to_owned()]));
        for (label, given, told, first) in [
            ("nothing is", found_by(&["jira"], &[("create_*", &["ticket"]), ("mcp__s__close_issue", &["end"])]), 0, ""),
            ("a pattern that means no tool", found_by(&[], &[("move_*", &["x"])]), 1, "is called `move_*`"),
            (
                "too many patterns",
                FoundBy { aliases: Vec::new(), keywords: patterns.collect() },
                1 + MAX_TOLD,
                "has 257 names and globs: the first 256",
            ),
            (
                "too many words for two tools",
                FoundBy { aliases: many(MAX_WORDS + 1, "w"), ..FoundBy::default() },
                1,
                "`create_issue` and 1 more: over 256 words are given",
            ),
            (
                "many words, none too many for a tool",
                {
                    let keywords = [("create_issue", many(200, "w")), ("close_issue", many(200, "v"))];
                    let keywords = keywords.map(|(tool, given)| (tool.to_owned(), given)).into();
                    FoundBy { aliases: Vec::new(), keywords }
                },
                0,
                "",
            ),
        ] {
            let found = unused(&source("s", ISSUE, given));
            assert_eq!(found.len(), told, "{label}: {found:?}");
            assert!(found.first().is_none_or(|text| text.contains(first)), "{label}: {found:?}");
        }
    }

    #[test]
    fn a_tool_is_given_no_more_than_so_many_words() {
        let many: Vec<String> = (0..1000).map(|n| format!("w{n}")).collect();
        let given = [source("s", ISSUE, FoundBy { aliases: many, ..FoundBy::default() })];
        assert_eq!((matches(&given, "w255").len(), matches(&given, "w256").len()), (2, 0));
    }
}
