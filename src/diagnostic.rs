//! What is wrong with a file or a definition, said to a person: where, what, and what to do.
//!
//! A diagnostic is a value, never a log line: whoever finds one returns it beside the result.

use serde::Serialize;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something that was written is not in effect.
    Error,
    /// It is in effect, but differs from what was written, or may surprise.
    Warning,
}

/// One finding in one file (or in what a host sent, then `file` is empty).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct Diagnostic {
    /// Path of the file as it was named, empty for what came over the wire.
    #[serde(skip)]
    pub file: String,
    /// 1-based line, 0 where no line is known.
    pub line: u32,
    /// 1-based column in characters, 0 where no column is known.
    pub column: u32,
    /// How much it matters.
    pub severity: Severity,
    /// Stable kebab-case name of this kind of finding.
    pub code: &'static str,
    /// What happened and what to do.
    pub message: String,
    /// JSON pointer of the value in the file, empty for the whole file.
    pub pointer: String,
}

impl Diagnostic {
    /// A finding about a whole file, or about what has no place in one.
    pub fn whole(file: impl Into<String>, severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        let (file, message, pointer) = (file.into(), message.into(), String::new());
        Self { file, line: 0, column: 0, severity, code, message, pointer }
    }
}
