//! What a tool says of itself, and whether that is anything.

use super::Told;
use crate::catalog::source::Tool;
use crate::catalog::words;

/// Fewest words of a description that says something.
pub const FEWEST_WORDS: usize = 3;

/// A description that is absent, or no more than a name.
pub fn look(tool: &Tool) -> Option<Told> {
    let said = stems(&tool.description(), false);
    let named = stems(&tool.tool, true);
    let (code, message) = if said.is_empty() {
        ("no-description", "has no description: it is found by its name alone")
    } else if said.iter().all(|stem| named.contains(stem) || words::is_stop_word(stem)) {
        ("empty-description", "has a description that says no more than its name")
    } else if said.len() < FEWEST_WORDS {
        ("short-description", "has a description of one or two words: say what it does, and to what")
    } else {
        return None;
    };
    Some((code, message.to_owned()))
}

/// The distinct stems of description and parameter names, sorted; none where there is no description.
pub fn said(tool: &Tool) -> Vec<String> {
    let mut said = stems(&tool.description(), false);
    if said.len() < FEWEST_WORDS {
        return Vec::new();
    }
    tool.parameters().names.iter().for_each(|name| said.extend(stems(name, true)));
    said.sort();
    said.dedup();
    said
}

/// The stems of a text, or of an identifier, in order.
pub fn stems(text: &str, identifier: bool) -> Vec<String> {
    let mut stems = Vec::new();
    let each = |word: &str| stems.push(words::stem(word).into_owned());
    if identifier {
        words::each_identifier_word(text, each)
    } else {
        words::each_word(text, each)
    }
    stems
}
