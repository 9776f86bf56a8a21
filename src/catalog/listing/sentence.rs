//! The summary of a tool: the first sentence of its description, short enough for one line.
//!
//! A sentence ends with `.`, `!` or `?` before white space, with `。`, `！` or `？` anywhere (closing brackets and
//! quotes belong to it), or at an empty line that does not go on in lower case: many descriptions begin with a
//! title. Marks of headings, lists and quotations before the first word are dropped; other markup stays.
//! Reading stops as soon as the summary is known, so only what cannot be seen is ever read to its end.

use super::visible::{Gap, visible};

/// Characters of a summary at most, its `…` included.
pub const SUMMARY_LIMIT: usize = 60;

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 4] = ["e.g.", "i.e.", "etc.", "vs."];

/// The first sentence of a description on one line, cut at a word where it is longer than [`SUMMARY_LIMIT`].
/// Empty if nothing can be seen.
pub fn summary(description: &str) -> String {
    let text = first(description, SUMMARY_LIMIT);
    if text.chars().nth(SUMMARY_LIMIT).is_some() { cut(&text) } else { text }
}

/// The first sentence of a description on one line; of one that is longer than `limit` characters, one more than these.
pub fn first(description: &str, limit: usize) -> String {
    let mut text = String::new();
    let mut length = 0;
    for (gap, c) in visible(description) {
        if gap == Gap::None {
            if ends_without_space(&text) && !is_end(c) && !is_closing(c) {
                return text;
            }
        } else if text.chars().all(|c| matches!(c, '#' | '-' | '*' | '>' | '•')) {
            text.clear();
            length = 0;
        } else if ends(&text) || (gap == Gap::Paragraph && !c.is_lowercase()) {
            return text;
        } else {
            text.push(' ');
            length += 1;
        }
        text.push(c);
        length += 1;
        if length > limit {
            return text;
        }
    }
    text
}

/// Whether a text that white space follows is a whole sentence. `1.` is not, it numbers one.
fn ends(text: &str) -> bool {
    let text = text.trim_end_matches(is_closing);
    text.ends_with(is_end)
        && text.contains(char::is_alphabetic)
        && !ABBREVIATIONS.iter().any(|word| ends_with_word(text, word))
}

/// Whether a text is a whole sentence whatever follows, as in scripts that put no space between sentences.
fn ends_without_space(text: &str) -> bool {
    text.trim_end_matches(is_closing).ends_with(['。', '！', '？', '｡'])
}

fn is_end(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '。' | '！' | '？' | '｡' | '।' | '؟' | '۔')
}

fn is_closing(c: char) -> bool {
    matches!(c, ')' | ']' | '}' | '"' | '\'' | '`' | '*' | '_' | '”' | '’' | '»' | '）' | '】' | '」' | '』')
}

fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(start) = text.len().checked_sub(word.len()) else { return false };
    let (Some(before), Some(end)) = (text.get(..start), text.get(start..)) else { return false };
    end.eq_ignore_ascii_case(word) && !before.ends_with(char::is_alphanumeric)
}

/// Cuts a text longer than the limit before a space, or beside an ideograph; inside a word only if it has neither.
fn cut(text: &str) -> String {
    let (mut at_word, mut anywhere, mut previous) = (0, 0, None);
    for (at, c) in text.char_indices().take(SUMMARY_LIMIT) {
        if c == ' ' || is_ideograph(c) || previous.is_some_and(is_ideograph) {
            at_word = at;
        }
        anywhere = at;
        previous = Some(c);
    }
    let end = if at_word > 0 { at_word } else { anywhere };
    let mut text = text[..end].trim_end().to_owned();
    text.push('…');
    text
}

/// Whether words of this script meet without a space between them.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{a4cf}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ffef}' | '\u{20000}'..='\u{3ffff}')
}
