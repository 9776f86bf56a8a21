//! A file of JSON or YAML as text that a JSON parser reads, with the way back from every byte to its place in
//! the file: one loader serves both formats, and a catalog of megabytes is never made a tree.
//!
//! Promises: a byte order mark is tolerated; what is not UTF-8, blank, or no YAML is a diagnostic with line and
//! column. A file named `.json` is JSON; any other is JSON where all of it is, else YAML.
//!
//! It does not look into a `.json` file: that its syntax is wrong is what [`SourceText::parse`] says, since
//! checking it beforehand would read every byte twice.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::json::{self, Lines, Rendered};
use super::node::{Node, Place, child_pointer};
use super::problem::Problem;
use super::yaml;
use crate::diagnostic::Diagnostic;

/// The content of one file.
#[derive(Debug)]
pub struct SourceText {
    file: String,
    text: Text,
}

#[derive(Debug)]
enum Text {
    Json { json: Arc<str>, lines: OnceLock<Lines> },
    Yaml(Arc<str>, Rendered),
}

impl SourceText {
    /// Takes the bytes of `file`, which is only named, not opened.
    ///
    /// # Errors
    /// One diagnostic of severity error when the bytes are not UTF-8 (`not-utf8`), hold nothing (`empty-file`) or
    /// are YAML that cannot be read.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self, Diagnostic> {
        let text = decode(bytes).map_err(|problem| problem.in_file(file))?;
        let text = match is_json(file, text) {
            true => Text::Json { json: text.into(), lines: OnceLock::new() },
            false => {
                let mut rendered = Rendered::of(&yaml::parse(text).map_err(|problem| problem.in_file(file))?);
                Text::Yaml(std::mem::take(&mut rendered.json).into(), rendered)
            }
        };
        Ok(Self { file: file.to_owned(), text })
    }

    /// The content as JSON text: the file's own bytes where it is JSON.
    pub fn json(&self) -> &str {
        self.shared()
    }

    /// The same, for those who keep slices of it.
    pub fn shared(&self) -> &Arc<str> {
        match &self.text {
            Text::Json { json, .. } | Text::Yaml(json, _) => json,
        }
    }

    /// Where the byte at `offset` of [`Self::json`] stands in the file. Of YAML it is where the value or key
    /// that the byte belongs to begins.
    pub fn place(&self, offset: usize) -> Place {
        match &self.text {
            Text::Json { json, lines } => lines.get_or_init(|| Lines::of(json)).place(json, offset),
            Text::Yaml(_, rendered) => rendered.place(offset),
        }
    }

    /// Reads the content as a `T`, which may borrow from it.
    ///
    /// # Errors
    /// A diagnostic with place and pointer: `json-syntax` for what is no JSON, `wrong-shape` for what is no `T`.
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Diagnostic> {
        serde_json::from_str(self.json()).map_err(|error| self.problem::<T>(&error).in_file(&self.file))
    }

    fn problem<'a, T: Deserialize<'a>>(&'a self, error: &serde_json::Error) -> Problem {
        let (offset, reason) = json::error_at(self.json(), error);
        let place = self.place(offset);
        if !error.is_data() {
            return json::syntax(place, &reason);
        }
        // Read once more, now noting the way: it would slow the reading of every good file down.
        let path = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_str(self.json()));
        let pointer = path.err().map_or_else(String::new, |error| pointer_of(error.path()));
        Problem::new("wrong-shape", place, format!("this is not what belongs here: {reason}")).at(&pointer)
    }
}

fn pointer_of(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => child_pointer(&pointer, &index.to_string()),
        Segment::Map { key } => child_pointer(&pointer, key),
        Segment::Enum { .. } | Segment::Unknown => pointer,
    })
}

/// Reads a file of JSON or YAML as a tree, for files that are small and whose every value may be complained about.
///
/// # Errors
/// One diagnostic of severity error, as [`SourceText::read`], and for JSON that cannot be read too.
pub fn read_node(file: &str, bytes: &[u8]) -> Result<Node, Diagnostic> {
    let node = decode(bytes).and_then(|text| match is_json(file, text) {
        true => json::parse(text),
        false => yaml::parse(text),
    });
    node.map_err(|problem| problem.in_file(file))
}

/// The text of a file that holds something.
fn decode(bytes: &[u8]) -> Result<&str, Problem> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = bytes.get(..error.valid_up_to()).and_then(|good| std::str::from_utf8(good).ok()).unwrap_or_default();
        let place = Lines::of(good).place(good, good.len());
        Problem::new("not-utf8", place, "this is not UTF-8 from here on; save the file as UTF-8")
    })?;
    if text.trim().is_empty() {
        return Err(Problem::new(
            "empty-file",
            Place { line: 1, column: 1 },
            "the file is empty; delete it or fill it",
        ));
    }
    Ok(text)
}

fn is_json(file: &str, text: &str) -> bool {
    let named = file.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("json"));
    named || text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

#[cfg(test)]
mod tests;
