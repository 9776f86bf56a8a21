//! What of a server is never shown: values of its entry, and what is learned while it is used.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use crate::workspace::address::MASK;

/// Shorter values are no secrets, and taking them out of a text would leave nothing to read.
const SHORTEST_SECRET: usize = 6;

/// All that is secret of one server.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Values of its entry.
    pub(super) written: BTreeSet<String>,
    /// Those that come to be known later.
    pub learned: Learned,
}

/// Secrets that are learned after the entry was read, such as tokens; clones are the same. They say nothing of which server
/// it is. Of a server whose tokens are refreshed for months the last [`LEARNED`] are kept.
#[derive(Clone, Default)]
pub struct Learned(Arc<RwLock<VecDeque<String>>>);

/// Older tokens have expired.
pub(super) const LEARNED: usize = 64;

impl Learned {
    /// One more, if it is long enough to be one.
    pub fn add(&self, secret: &str) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if secret.len() < SHORTEST_SECRET || known.iter().any(|known| known == secret) {
            return;
        }
        if known.len() >= LEARNED {
            known.pop_front();
        }
        known.push_back(secret.to_owned());
    }

    pub(super) fn all(&self) -> VecDeque<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Secrets {
    /// One more of the entry, if it is long enough to be one.
    pub(super) fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST_SECRET {
            self.written.insert(secret.to_owned());
        }
    }

    /// A text without them, even if it was cut in the middle of that.
    pub fn masked(&self, text: &str) -> String {
        // The longest first, so that none hides a part of another.
        let learned = self.learned.all();
        let mut secrets: Vec<&String> = self.written.iter().chain(&learned).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let mut masked = secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK));
        let begun = secrets.iter().filter_map(|secret| {
            let ends = secret.char_indices().map(|(at, _)| at).filter(|at| *at >= SHORTEST_SECRET);
            ends.rev().find(|end| masked.ends_with(&secret[..*end]))
        });
        if let Some(begun) = begun.max() {
            masked.truncate(masked.len() - begun);
            masked.push_str(MASK);
        }
        masked
    }
}
