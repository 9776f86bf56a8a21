//! `tools.sources`: the words that a person gives a source, or some of its tools, to be found by.
//!
//! Key by key, as everything: a later layer's aliases replace those of an earlier one, its keywords those of the same
//! pattern. What a workspace gives waits for trust, source by source: it could lead a model to a tool of the user's that
//! does something else than was asked for.

use std::collections::BTreeMap;

use globset::Glob;

use super::{MAX_NAME_CHARS, Merger, Written, is_map};
use crate::catalog::found_by::{FoundBy, MAX_PATTERNS};
use crate::catalog::words;
use crate::diagnostic::Severity;
use crate::workspace::layers::Origin;
use crate::workspace::node::Value;
use crate::workspace::problem::quoted;

/// One entry of `tools.sources`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceWords {
    /// The words.
    pub found_by: FoundBy,
    /// Where the entry stands.
    pub place: Standing,
    /// Where each pattern of its keywords does.
    pub patterns: BTreeMap<String, Standing>,
}

/// Where something is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Layer, file, line and column.
    pub origin: Origin,
    /// JSON pointer in the file.
    pub pointer: String,
}

impl<'a> Merger<'a> {
    pub(super) fn sources(&mut self, at: &Written<'a>) {
        if self.known(at, is_map(at.node).then_some(()), "a map of sources by name").is_none() {
            return;
        }
        for entry in at.node.entries() {
            let source = at.child(entry);
            if entry.value.value == Value::Null || !self.may_decide(&source) {
                continue;
            }
            if !is_map(&entry.value) {
                self.unreadable(&source, "a map with `aliases` or `keywords`");
                continue;
            }
            self.source(&entry.key, &source);
        }
    }

    fn source(&mut self, label: &str, at: &Written<'a>) {
        let mut words = self.config.settings.sources.remove(label).unwrap_or_else(|| SourceWords {
            found_by: FoundBy::default(),
            place: standing(at),
            patterns: BTreeMap::new(),
        });
        words.place = standing(at);
        for entry in at.node.entries() {
            let value = at.child(entry);
            match (&*entry.key, &entry.value.value) {
                ("aliases" | "keywords", Value::Null) => {}
                ("aliases", _) => {
                    if let Some(aliases) = self.words(&value) {
                        words.found_by.aliases = aliases;
                    }
                }
                ("keywords", Value::Map(_)) => self.keywords(&value, &mut words),
                ("keywords", _) => self.unreadable(&value, "a map of words by a tool's name or a glob"),
                _ => self.unknown_key(at, entry),
            }
        }
        self.config.settings.sources.insert(label.to_owned(), words);
    }

    fn keywords(&mut self, at: &Written<'a>, words: &mut SourceWords) {
        for entry in at.node.entries() {
            let value = at.child(entry);
            let pattern = entry.key.trim();
            if pattern.is_empty() || pattern.chars().nth(MAX_NAME_CHARS).is_some() || Glob::new(pattern).is_err() {
                let message = format!(
                    "{} is no name of a tool and no glob of at most {MAX_NAME_CHARS} characters; this is left out",
                    quoted(pattern)
                );
                self.report(&value, entry.key_place, Severity::Error, "config-unreadable", message);
                continue;
            }
            let keywords = &mut words.found_by.keywords;
            if keywords.len() >= MAX_PATTERNS && !keywords.contains_key(pattern) {
                let message = format!(
                    "{} takes {MAX_PATTERNS} names and globs at most; {} and what follows is left out",
                    quoted(&at.key),
                    quoted(pattern)
                );
                return self.report(&value, entry.key_place, Severity::Error, "config-clamped", message);
            }
            if let Some(given) = self.words(&value) {
                words.found_by.keywords.insert(pattern.to_owned(), given);
                words.patterns.insert(pattern.to_owned(), standing(&value));
            }
        }
    }

    fn words(&mut self, at: &Written<'_>) -> Option<Vec<String>> {
        self.texts(at, "words of letters or digits, at most 256 characters", |text| {
            let mut any = false;
            words::each_word(text, |_| any = true);
            any && text.chars().nth(MAX_NAME_CHARS).is_none()
        })
    }
}

pub(super) fn standing(at: &Written<'_>) -> Standing {
    Standing { origin: at.origin(), pointer: at.layer.pointer_in_file(&at.pointer) }
}
