//! The words that configuration gives to sources, put to the sources there are.
//!
//! A source that is given words becomes another with the very same tools; it is made once for the same source and words, so
//! that its part of the index and of listings outlives changes of others. Words for what is not there are told of.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::config::{SourceWords, Standing};
use super::problem::quoted;
use crate::catalog::Catalog;
use crate::catalog::found_by::past_bounds;
use crate::catalog::source::Source;
use crate::diagnostic::{Diagnostic, Severity};

/// A source as it was registered, and with the words given to it.
pub type Worded = (Arc<Source>, Arc<Source>);

/// So many entries that are for nothing are told of, and no more are looked for.
const MAX_TOLD: usize = 100;
/// So many names are held against others to find what was meant, about: each costs as much as a look into a file.
const MAX_COMPARED: usize = 10_000;

/// Gives sources their words. `before` is what was given before; the result is what is now.
pub fn give(sources: &mut [Arc<Source>], words: &BTreeMap<String, SourceWords>, before: &[Worded]) -> Vec<Worded> {
    let mut worded = Vec::new();
    if words.is_empty() {
        return worded;
    }
    for source in sources {
        let Some(SourceWords { found_by, .. }) = words.get(&source.info.name) else { continue };
        let together = (*source.info.found_by).clone().and(found_by);
        let known = before.iter().find(|(plain, given)| Arc::ptr_eq(plain, source) && *given.info.found_by == together);
        let given = known.map_or_else(|| Arc::new(source.with_words(together)), |(_, given)| given.clone());
        worded.push((source.clone(), given.clone()));
        *source = given;
    }
    worded
}

/// Words for sources and tools that a catalog does not have. A server may have none of its tools yet.
pub fn idle(words: &BTreeMap<String, SourceWords>, catalog: &Catalog, servers: &[&str]) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    if words.is_empty() {
        return found;
    }
    let sources: FxHashMap<&str, &Source> =
        catalog.sources.iter().map(|source| (source.info.name.as_str(), &**source)).collect();
    let mut compared = 0;
    for (name, SourceWords { found_by, place, patterns }) in words {
        if found.len() >= MAX_TOLD {
            break;
        }
        let Some(source) = sources.get(name.as_str()) else {
            if !servers.contains(&name.as_str()) {
                let names = sources.keys().chain(servers).copied();
                let meant = if compared < MAX_COMPARED { nearest(name, names) } else { None };
                compared += sources.len() + servers.len();
                let advice = meant.map_or_else(String::new, |nearest| format!("; did you mean {}", quoted(nearest)));
                let message = format!("there is no source {} yet, which these words are for{advice}", quoted(name));
                found.push(diagnostic(place, "config-unknown-source", message));
            }
            continue;
        };
        let too_much = past_bounds(source).into_iter();
        found.extend(too_much.map(|message| diagnostic(place, "config-clamped", message)));
        if source.tools.is_empty() {
            continue;
        }
        let tools = source.tools.iter().map(|tool| (&*tool.name, &*tool.tool));
        for pattern in found_by.idle(tools) {
            let Some(place) = patterns.get(pattern) else { continue };
            let message =
                format!("no tool of {} is called {}, which these words are for", quoted(name), quoted(pattern));
            found.push(diagnostic(place, "config-unknown-tool", message));
        }
    }
    found
}

/// The name that is spelled most like another, if they have half their letters in common.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // What lies beyond adds much the same to every distance, and names may be of any length.
    let start = |name: &str| name.chars().take(64).collect::<String>();
    let wanted = start(name);
    let letters = wanted.chars().count();
    // No distance is less than what is lacking or too much; most names are told apart by that alone.
    let names = names.filter(|known| start(known).chars().count().abs_diff(letters) * 2 <= letters);
    let distances = names.map(|known| (strsim::levenshtein(&start(known), &wanted), known));
    distances.filter(|(distance, _)| distance * 2 <= letters).min().map(|(_, known)| known)
}

pub(super) fn diagnostic(Standing { origin, pointer }: &Standing, code: &'static str, message: String) -> Diagnostic {
    Diagnostic {
        file: origin.file.clone(),
        line: origin.place.line,
        column: origin.place.column,
        severity: Severity::Warning,
        code,
        message,
        pointer: pointer.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::found_by::FoundBy;
    use crate::catalog::source::{Kind, Origin, SourceInfo};
    use crate::workspace::config;
    use crate::workspace::layers::{ConfigLayer, Layer};
    use crate::workspace::source_text::read_node;
    use crate::workspace::trust::Trust;

    fn words(yaml: &str) -> BTreeMap<String, SourceWords> {
        let root = read_node("c.yaml", yaml.as_bytes()).unwrap();
        let layer = ConfigLayer::of_file(Layer::User, "c.yaml".to_owned(), root);
        config::merge(&[layer], &Trust::default()).settings.sources
    }

    fn source(name: &str) -> Arc<Source> {
        let text: Arc<str> = r#"{"name":"create_issue"}"#.into();
        Arc::new(Source::read(SourceInfo::new(name, Kind::Mcp, Origin::User), &text, [&*text]).0)
    }

    #[test]
    fn a_source_is_made_anew_only_for_other_words() {
        let plain = [source("a"), source("b")];
        let put = |yaml: &str, before: &[Worded]| {
            let mut sources = plain.clone();
            (give(&mut sources, &words(yaml), before), sources)
        };
        let (worded, first) = put("tools: {sources: {a: {aliases: [x]}, gone: {aliases: [x]}}}", &[]);
        assert_eq!(first[0].info.found_by.aliases, ["x"]);
        assert!(Arc::ptr_eq(&first[1], &plain[1]) && Arc::ptr_eq(&first[0].tools[0], &plain[0].tools[0]));
        let (worded, again) = put("tools: {sources: {a: {aliases: [x]}, b: {aliases: [y]}}}", &worded);
        assert!(Arc::ptr_eq(&first[0], &again[0]), "the same words");
        let (_, other) = put("tools: {sources: {a: {aliases: [z]}}}", &worded);
        assert_eq!(other[0].info.found_by.aliases, ["z"], "not beside what they were before");
    }

    #[test]
    fn what_was_meant_is_not_looked_for_without_end() {
        let many: Vec<_> = (0..MAX_COMPARED / 2).map(|n| source(&format!("linear{n}"))).collect();
        let catalog = Catalog::new(many, Arc::default());
        let yaml = "tools: {sources: {linear1x: {aliases: [x]}, linear2x: {aliases: [x]}, linear3x: {aliases: [x]}}}";
        let advised: Vec<bool> =
            idle(&words(yaml), &catalog, &[]).iter().map(|found| found.message.contains("did you mean")).collect();
        assert_eq!(advised, [true, true, false]);
    }

    #[test]
    fn words_past_what_a_tool_takes_are_told_with_those_of_its_registry() {
        let many: Vec<String> = (0..200).map(|n| format!("w{n}")).collect();
        let own = source("a").with_words(FoundBy { aliases: many.clone(), ..FoundBy::default() });
        let told = |given: &[String]| {
            let words = words(&format!("tools: {{sources: {{a: {{aliases: [{}]}}}}}}", given.join(", ")));
            let mut sources = [Arc::new(own.with_words((*own.info.found_by).clone()))];
            give(&mut sources, &words, &[]);
            idle(&words, &Catalog::new(sources, Arc::default()), &[]).iter().map(|found| found.code).collect::<Vec<_>>()
        };
        assert_eq!(told(&many), [""; 0], "the same words");
        let others: Vec<String> = many.iter().map(|word| format!("{word}x")).collect();
        assert_eq!(told(&others), ["config-clamped"]);
    }

    #[test]
    fn words_for_nothing_are_told_where_they_are() {
        let catalog = Catalog::new([source("linear")], Arc::default());
        let told = |yaml: &str| {
            let found = idle(&words(yaml), &catalog, &["starting"]);
            found.iter().map(|found| format!("{}:{} {}", found.line, found.column, found.message)).collect::<Vec<_>>()
        };
        let unknown = "1:27 there is no source `linaer` yet, which these words are for; did you mean `linear`";
        assert_eq!(told("tools: {sources: {linaer: {aliases: [x]}}}"), [unknown]);
        let nothing_like_it = "1:28 there is no source `zendesk` yet, which these words are for";
        assert_eq!(told("tools: {sources: {zendesk: {aliases: [x]}}}"), [nothing_like_it]);
        let keywords =
            "tools: {sources: {linear: {keywords: {create_*: x, mcp__linear__create_issue: x, 'move_*': [x]}}}}";
        let no_tool = "1:92 no tool of `linear` is called `move_*`, which these words are for";
        assert_eq!(told(keywords), [no_tool]);
        assert_eq!(told("tools: {sources: {starting: {keywords: {move: x}}}}"), [""; 0], "a server may have none yet");
    }
}
