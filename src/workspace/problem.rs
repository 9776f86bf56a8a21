//! Why a text could not be read at all: a finding that does not know its file yet.
//!
//! One problem ends the reading of its file; what is merely odd in a file that can be read is a diagnostic.

use super::node::{MAX_DEPTH, Place};
use crate::diagnostic::{Diagnostic, Severity};

/// The first thing in a text that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Stable kebab-case name of the kind.
    pub code: &'static str,
    /// Where it is.
    pub place: Place,
    /// JSON pointer of what holds it, empty where unknown.
    pub pointer: String,
    /// What is wrong, for a person.
    pub message: String,
}

impl Problem {
    /// A problem of the text as a whole.
    pub fn new(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        Self { code, place, pointer: String::new(), message: message.into() }
    }

    /// The same, known to be at `pointer`.
    pub fn at(self, pointer: &str) -> Self {
        Self { pointer: pointer.to_owned(), ..self }
    }

    /// More lists and maps inside one another than are read.
    pub fn too_deep(place: Place, pointer: &str) -> Self {
        let message = format!("lists and maps are nested deeper than {MAX_DEPTH} levels; flatten the file");
        Self::new("too-deep", place, message).at(pointer)
    }

    /// A key that its map holds already.
    pub fn duplicate_key(place: Place, pointer: &str, key: &str) -> Self {
        let message = format!("the key {} stands twice in the same map; remove one", quoted(key));
        Self::new("duplicate-key", place, message).at(pointer)
    }

    /// The diagnostic of `file`.
    pub fn in_file(self, file: &str) -> Diagnostic {
        Diagnostic {
            file: file.to_owned(),
            line: self.place.line,
            column: self.place.column,
            severity: Severity::Error,
            code: self.code,
            message: self.message,
            pointer: self.pointer,
        }
    }
}

/// What somebody wrote, fit for a message: in backquotes, at most 60 characters, no control characters.
pub fn quoted(text: &str) -> String {
    const LIMIT: usize = 60;
    let mut shown: String = text.chars().take(LIMIT).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LIMIT).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
