//! Words that a person gave a source to be found by: other names of the source (`jira` for `atlassian`), and words for some
//! of its tools.
//!
//! Such a word is one of the tool's document as far as gate and floor go, since a person said so. It counts half of what
//! the same word once in the tool's own text would, makes no document longer, and is no part of a name, so that of two tools
//! that are alike otherwise the one which says the word itself comes first. Where the tool says it, nothing changes.

use std::collections::BTreeMap;

use super::pattern::Patterns;
use super::words;

/// Words given to one tool at most; those that come first stand.
const MAX_WORDS: usize = 256;

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
        self.keywords.keys().map(String::as_str).filter(is_idle)
    }
}

fn append(texts: &mut Vec<String>, more: &[String]) {
    let new: Vec<String> = more.iter().filter(|text| !texts.contains(text)).cloned().collect();
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
        let keywords = found_by.keywords.iter();
        Self {
            aliases: split(&found_by.aliases),
            keywords: keywords.map(|(pattern, given)| (Patterns::new([pattern]), split(given))).collect(),
        }
    }

    /// Calls `each` with the words given to a tool of the source.
    pub fn each_word(&self, visible: &str, own: &str, each: impl FnMut(&str)) {
        let means = |patterns: &Patterns| patterns.matches(visible) || patterns.matches(own);
        let keywords = self.keywords.iter().filter(|(patterns, _)| means(patterns)).flat_map(|(_, given)| given);
        self.aliases.iter().chain(keywords).take(MAX_WORDS).map(String::as_str).for_each(each);
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
    use super::*;

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
}
