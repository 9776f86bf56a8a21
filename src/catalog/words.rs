//! Text to search terms, on the same path for documents and queries.
//!
//! Runs of letters and digits (marks that combine with a letter belong to its run), NFC, lower-cased, then
//! Snowball's English stemmer. Scripts written without spaces give character bigrams. Identifiers are split at
//! camelCase boundaries first. Time is linear in the text.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::{IsNormalized, UnicodeNormalization, char::is_combining_mark, is_nfc_quick};

/// Longest word kept, in characters; the rest of a longer one is dropped, in documents and queries alike.
const MAX_WORD: usize = 64;

/// Words too common in requests to say anything of intent. Short, and only here.
const STOP_WORDS: &[&str] = &[
    "a", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from", "have",
    "how", "i", "if", "in", "into", "is", "it", "its", "let", "like", "ll", "me", "my", "need", "of", "on", "or",
    "our", "please", "s", "so", "some", "t", "that", "the", "their", "them", "there", "these", "this", "to", "us",
    "using", "ve", "want", "was", "we", "what", "whats", "when", "which", "will", "with", "would", "you", "your",
];

/// The same as numbers, which compare as the words do: every word of every schema is asked for.
const STOP_KEYS: [u64; STOP_WORDS.len()] = {
    let mut keys = [0; STOP_WORDS.len()];
    let mut at = 0;
    while at < keys.len() {
        let word = STOP_WORDS[at].as_bytes();
        let mut bytes = [0; 8];
        let mut byte = 0;
        while byte < word.len() {
            bytes[byte] = word[byte];
            byte += 1;
        }
        keys[at] = u64::from_be_bytes(bytes);
        at += 1;
    }
    keys
};

/// Whether a lower-cased word says nothing of intent.
pub fn is_stop_word(word: &str) -> bool {
    let mut bytes = [0; 8];
    let Some(start) = bytes.get_mut(..word.len()) else { return false };
    start.copy_from_slice(word.as_bytes());
    STOP_KEYS.binary_search(&u64::from_be_bytes(bytes)).is_ok()
}

/// Snowball English stem of a lower-cased word.
pub fn stem(word: &str) -> Cow<'_, str> {
    Stemmer::create(Algorithm::English).stem(word)
}

/// How a character takes part in words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Break,
    Word,
    /// Of a script written without spaces between words.
    Dense,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() { Class::Word } else { Class::Break };
    }
    match c as u32 {
        // Thai to Tibetan, Myanmar, Khmer; kana; Han with its extensions and compatibility forms.
        0x0E00..=0x0FFF | 0x1000..=0x109F | 0x1780..=0x17FF if c.is_alphanumeric() || is_combining_mark(c) => {
            Class::Dense
        }
        0x3040..=0x30FF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F if c.is_alphanumeric() => Class::Dense,
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => Class::Dense,
        _ if c.is_alphanumeric() || is_combining_mark(c) => Class::Word,
        _ => Class::Break,
    }
}

/// Calls `each` with every lower-cased word of a text, in order, as written (not stemmed).
pub fn each_word(text: &str, mut each: impl FnMut(&str)) {
    if text.is_ascii() {
        return each_ascii_word(text, each);
    }
    let composed: Cow<'_, str> = match is_nfc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        _ => Cow::Owned(text.nfc().collect()),
    };
    let mut lowered = String::new();
    let mut rest = composed.char_indices().peekable();
    while let Some((start, first)) = rest.next() {
        let kind = class(first);
        if kind == Class::Break {
            continue;
        }
        let mut end = start + first.len_utf8();
        while let Some(&(at, next)) = rest.peek() {
            if class(next) != kind {
                break;
            }
            end = at + next.len_utf8();
            rest.next();
        }
        let run = &composed[start..end];
        if kind == Class::Dense {
            each_bigram(run, &mut each);
        } else {
            lowered.clear();
            lowered.extend(run.chars().take(MAX_WORD).flat_map(char::to_lowercase));
            each(&lowered);
        }
    }
}

/// The same of nothing but ASCII, as nearly all catalogs are.
fn each_ascii_word(text: &str, mut each: impl FnMut(&str)) {
    let mut lowered = String::new();
    for run in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|run| !run.is_empty()) {
        if run.len() <= MAX_WORD && !run.bytes().any(|byte| byte.is_ascii_uppercase()) {
            each(run);
        } else {
            lowered.clear();
            lowered.push_str(&run[..run.len().min(MAX_WORD)]);
            lowered.make_ascii_lowercase();
            each(&lowered);
        }
    }
}

/// Character bigrams of a run; a run of one character is itself.
fn each_bigram(run: &str, each: &mut impl FnMut(&str)) {
    let mut starts = run.char_indices().map(|(at, _)| at).chain([run.len()]);
    let (mut first, Some(mut second)) = (starts.next().unwrap_or(0), starts.next()) else { return };
    let mut any = false;
    for end in starts {
        each(&run[first..end]);
        (first, second) = (second, end);
        any = true;
    }
    if !any {
        each(&run[first..second]);
    }
}

/// Calls `each` with every word of an identifier: as `each_word`, and split at camelCase boundaries
/// (`getUserID` is get, user, id; `HTTPServer` is http, server).
pub fn each_identifier_word(identifier: &str, mut each: impl FnMut(&str)) {
    if identifier.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return each_word(identifier, each);
    }
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut rest = identifier.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next_lower = rest.peek().is_some_and(|(_, n)| n.is_lowercase());
        let boundary = c.is_uppercase()
            && before.is_some_and(|b| b.is_lowercase() || b.is_numeric() || (b.is_uppercase() && next_lower));
        if boundary {
            each_word(&identifier[start..at], &mut each);
            start = at;
        }
        before = Some(c);
    }
    each_word(&identifier[start..], each);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let mut out = Vec::new();
        each_word(text, |w| out.push(w.to_owned()));
        out.join(" ")
    }

    fn identifier(text: &str) -> String {
        let mut out = Vec::new();
        each_identifier_word(text, |w| out.push(w.to_owned()));
        out.join(" ")
    }

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| is_stop_word(word)));
        for other in ["send", "", "pleased", "pleases or not", "é"] {
            assert!(!is_stop_word(other), "{other}");
        }
    }

    #[test]
    fn search_2_words() {
        for (text, want) in [
            ("Create a GitHub issue!", "create a github issue"),
            ("créer СОЗДАТЬ", "créer создать"),
            ("cre\u{301}er", "cr\u{e9}er"),
            ("検索する", "検索 索す する"),
            ("検", "検"),
            ("API検索v2", "api 検索 v2"),
            ("हिन्दी भाषा", "हिन्दी भाषा"),
            ("a_b-c.d:e/f", "a b c d e f"),
            ("", ""),
            ("\u{200b}!?", ""),
        ] {
            assert_eq!(words(text), want, "SEARCH-2: {text}");
        }
        assert_eq!(words(&"x".repeat(100_000)).len(), MAX_WORD);
        // ASCII goes another way.
        for text in ["Create-a GitHub_issue2", "A", "", "--", &"Xy".repeat(100)] {
            assert_eq!(words(&format!("{text} é")), format!("{} é", words(text)).trim_start(), "SEARCH-2: {text}");
        }
    }

    #[test]
    fn search_1_identifiers() {
        for (text, want) in [
            ("create_issue", "create issue"),
            ("getUserID", "get user id"),
            ("HTTPServer", "http server"),
            ("listV2Items", "list v2 items"),
            ("mcp:tool/name", "mcp tool name"),
            ("URL", "url"),
        ] {
            assert_eq!(identifier(text), want, "SEARCH-1: {text}");
        }
    }
}
