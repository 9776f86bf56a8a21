//! Labelled queries: one JSON object a line.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

use crate::cli::failure::Failure;

/// A query and the tools that answer it. Other members of its line are left alone.
#[derive(Debug, Deserialize)]
pub struct Query {
    /// What is asked.
    pub query: String,
    /// The tools wanted, as `source/tool` or by the name a model sees; none where nothing should be found.
    pub relevant: Vec<String>,
    /// Tools that would do as well: they count for the rank of the first good answer, not for recall.
    #[serde(default)]
    pub also_acceptable: Vec<String>,
}

/// Longest line that is read.
const MAX_LINE: usize = 1 << 20;

/// Reads a file of them. Blank lines are passed over.
///
/// # Errors
/// A file that cannot be read or holds none, or the first line that is none, with its number.
pub fn read(path: &Path) -> Result<Vec<Query>, Failure> {
    let at = |line: usize, problem: String| Failure::Other(format!("{}:{line}: {problem}", path.display()));
    let file = std::fs::File::open(path)
        .map_err(|error| Failure::system(&format!("{} cannot be read", path.display()), &error))?;
    let mut queries = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(|error| at(index + 1, error.to_string()))?;
        if line.trim().is_empty() {
            continue;
        }
        if line.len() > MAX_LINE {
            return Err(at(index + 1, "the line is longer than a mebibyte".to_owned()));
        }
        let query = serde_json::from_str(line.trim_start_matches('\u{feff}')).map_err(|error| {
            at(
                index + 1,
                format!("not a query ({error}); a line is {{\"query\": \"…\", \"relevant\": [\"source/tool\"]}}"),
            )
        })?;
        queries.push(query);
    }
    if queries.is_empty() {
        return Err(Failure::Other(format!("{} holds no queries", path.display())));
    }
    Ok(queries)
}
