//! The sidecar's answers as far as people are shown them.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::failure::Failure;
use crate::diagnostic::{Diagnostic as Finding, Severity};

/// Reads a result.
///
/// # Errors
/// One of another shape: the sidecar speaks another version.
pub fn read<T: DeserializeOwned>(raw: &RawValue) -> Result<T, Failure> {
    serde_json::from_str(raw.get())
        .map_err(|error| Failure::Other(format!("the sidecar's answer is not understood: {error}")))
}

/// Result of `bridge/call`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Bridged {
    pub content: Option<Box<RawValue>>,
    #[serde(default)]
    pub is_error: bool,
    pub dispatch: Option<Dispatch>,
}

impl Bridged {
    /// What a model was given.
    ///
    /// # Errors
    /// The model's mistake, if it is one.
    pub fn content<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        match self.mistake()? {
            Some(mistake) => Err(Failure::Other(mistake)),
            None => read(self.raw()),
        }
    }

    /// What a model was told to have done wrong.
    ///
    /// # Errors
    /// An answer that cannot be read.
    pub fn mistake(&self) -> Result<Option<String>, Failure> {
        if self.is_error { Ok(Some(read::<Mistake>(self.raw())?.error)) } else { Ok(None) }
    }

    fn raw(&self) -> &RawValue {
        self.content.as_deref().unwrap_or(RawValue::NULL)
    }
}

/// A tool for the host to run.
#[derive(Debug, Deserialize)]
pub struct Dispatch {
    pub tool: String,
    pub source: String,
    pub arguments: Value,
    pub coerced: Vec<String>,
}

/// An answer to a model's mistake.
#[derive(Debug, Deserialize)]
struct Mistake {
    error: String,
}

/// Result of `initialize`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialized {
    pub protocol_version: String,
    pub server_info: ServerInfo,
    pub diagnostics: Vec<FileDiagnostics>,
}

impl Initialized {
    /// Number of errors among the diagnostics.
    pub fn errors(&self) -> u64 {
        let all = self.diagnostics.iter().flat_map(|file| &file.diagnostics);
        all.filter(|diagnostic| diagnostic.is_error()).count() as u64
    }
}

#[derive(Debug, Deserialize)]
pub struct ServerInfo {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct FileDiagnostics {
    pub file: String,
    pub diagnostics: Vec<Diagnostic>,
}

impl FileDiagnostics {
    /// Findings that no sidecar made, as one would tell them.
    pub fn of(findings: &[Finding]) -> Vec<Self> {
        let mut files: Vec<Self> = Vec::new();
        for finding in findings {
            let Finding { line, column, severity, code, message, pointer, .. } = finding.clone();
            let severity = if severity == Severity::Error { "error" } else { "warning" };
            let (severity, code) = (severity.to_owned(), code.to_owned());
            let told = Diagnostic { line, column, severity, code, message, pointer };
            match files.last_mut().filter(|last| last.file == finding.file) {
                Some(last) => last.diagnostics.push(told),
                None => files.push(Self { file: finding.file.clone(), diagnostics: vec![told] }),
            }
        }
        files
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    pub line: u32,
    pub column: u32,
    pub severity: String,
    pub code: String,
    pub message: String,
    #[serde(default)]
    pub pointer: String,
}

impl Diagnostic {
    pub fn is_error(&self) -> bool {
        self.severity == "error"
    }
}

/// What `tool_search` answers.
#[derive(Debug, Deserialize)]
pub struct Found {
    pub results: Vec<Group>,
    pub tools: Map<String, Value>,
    pub total_available: u64,
    /// What became of the connector gateway, where it could not be asked.
    pub connectors: Option<Told>,
}

#[derive(Debug, Deserialize)]
pub struct Told {
    #[serde(default)]
    pub message: String,
}

/// The matches of one query.
#[derive(Debug, Deserialize)]
pub struct Group {
    pub query: String,
    pub matches: Vec<String>,
    #[serde(default)]
    pub cut: Vec<String>,
    #[serde(default)]
    pub near: Vec<Near>,
    #[serde(default)]
    pub near_note: String,
    #[serde(default)]
    pub unanswered_terms: Vec<String>,
    #[serde(default)]
    pub available_sources: Vec<Available>,
    #[serde(default)]
    pub more_sources: u64,
    #[serde(default)]
    pub hint: String,
}

#[derive(Debug, Deserialize)]
pub struct Near {
    pub name: String,
    pub description: String,
    pub missing: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Available {
    pub name: String,
    pub tool_count: u64,
    /// Why it has no tools now.
    pub unavailable: Option<String>,
}

/// What `tool_describe` answers.
#[derive(Debug, Deserialize)]
pub struct Described {
    pub tools: Map<String, Value>,
    #[serde(default)]
    pub errors: Map<String, Value>,
    #[serde(default)]
    pub not_found: Vec<String>,
}

/// Result of `assemble`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assembled {
    #[serde(default)]
    pub tools: Vec<Value>,
    #[serde(default)]
    pub unchanged: bool,
    pub activated: bool,
    pub tier: u8,
    pub listing_form: String,
    pub deferred_count: u64,
    pub listing_budget: u64,
    pub listing_tokens: u64,
    pub tokens: Tokens,
    pub etag: String,
}

#[derive(Debug, Deserialize)]
pub struct Tokens {
    pub before: u64,
    pub after: u64,
}

impl Tokens {
    /// What is saved, in whole per cent.
    pub fn saved(&self) -> u64 {
        self.before.saturating_sub(self.after) * 100 / self.before.max(1)
    }
}

impl Assembled {
    /// Name and description of each tool, whatever the array's format.
    pub fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.tools.iter().map(|tool| {
            let tool = tool.get("function").unwrap_or(tool);
            let text = |key| tool.get(key).and_then(Value::as_str).unwrap_or_default();
            (text("name"), text("description"))
        })
    }

    /// The lines of `tool_search`'s description: instructions, and the listing behind them.
    pub fn bridge_lines(&self) -> Vec<&str> {
        let description = self.named().find(|(name, _)| *name == "tool_search").map(|(_, description)| description);
        description.unwrap_or_default().lines().collect()
    }
}

/// Result of `search/explain`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    pub terms: Vec<Term>,
    pub gate: Option<String>,
    pub floor: usize,
    pub documents: u64,
    pub hits: Vec<Scored>,
    pub near_misses: Vec<Scored>,
}

#[derive(Debug, Deserialize)]
pub struct Term {
    pub word: String,
    pub stem: String,
    pub df: u64,
    pub idf: f64,
}

#[derive(Debug, Deserialize)]
pub struct Scored {
    pub name: String,
    pub score: f64,
    pub rank: f64,
    pub reason: String,
    pub parts: Vec<Part>,
}

#[derive(Debug, Deserialize)]
pub struct Part {
    pub word: String,
    pub tf: u64,
    pub from: Option<String>,
    pub share: f64,
}

/// Result of `registry/list`.
#[derive(Debug, Deserialize)]
pub struct Listed {
    pub sources: Vec<Source>,
}

impl Listed {
    /// Tools of all sources.
    pub fn tools(&self) -> u64 {
        self.sources.iter().map(|source| source.tool_count).sum()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    pub name: String,
    pub kind: String,
    pub toolset: String,
    pub origin: String,
    pub state: String,
    pub tool_count: u64,
}

/// A source in `status`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    pub name: String,
    pub origin: String,
    pub state: String,
    pub tool_count: u64,
    pub last_error: Option<String>,
    pub started_in_ms: Option<u64>,
    pub tokens: Option<u64>,
}

/// Result of `status`.
#[derive(Debug, Deserialize)]
pub struct Status {
    pub version: String,
    pub sources: Vec<SourceStatus>,
    pub watching: Watching,
    pub stale: bool,
    pub degraded: bool,
    pub untrusted: Vec<String>,
    pub probe: Probe,
}

#[derive(Debug, Deserialize)]
pub struct Watching {
    pub paths: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Probe {
    pub ok: bool,
    pub micros: u64,
}
