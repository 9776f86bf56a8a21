//! JSON text to nodes and back, with the place of every value.
//!
//! Promises: digits survive in both directions; a key that stands twice, text that is no Unicode and nesting
//! beyond [`MAX_DEPTH`] are errors with a place. Reading costs at most the length of the text times its depth.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::node::{Entry, MAX_DEPTH, Node, Place, Value, child_pointer};
use super::problem::Problem;

/// Finds the line and column of a byte offset in a text, in bounded time however long the lines are.
#[derive(Debug)]
pub struct Lines {
    /// Offset and place of the first character of every line, and of one every [`STRIDE`] bytes or so.
    known: Vec<(usize, Place)>,
}

/// Bytes of one line after which another place is remembered: what a look-up has to count at most.
const STRIDE: usize = 1024;

impl Lines {
    /// Looks through `text` once. Lines end as editors see it: at LF, CRLF or CR.
    pub fn of(text: &str) -> Self {
        let mut known = vec![(0, Place { line: 1, column: 1 })];
        let (mut at, mut last) = (Place { line: 1, column: 1 }, 0);
        let mut characters = text.char_indices().peekable();
        while let Some((_, character)) = characters.next() {
            let next = characters.peek().copied();
            let ends_line = character == '\n' || character == '\r' && next.is_none_or(|(_, c)| c != '\n');
            at = match ends_line {
                true => Place { line: at.line.saturating_add(1), column: 1 },
                false => Place { column: at.column.saturating_add(1), ..at },
            };
            let offset = next.map_or(text.len(), |(offset, _)| offset);
            if ends_line || offset - last >= STRIDE {
                known.push((offset, at));
                last = offset;
            }
        }
        Self { known }
    }

    /// Where the byte at `offset` of `text` stands; past the end it is the end, inside a character its start.
    pub fn place(&self, text: &str, offset: usize) -> Place {
        let after = self.known.partition_point(|&(start, _)| start <= offset);
        let Some(&(start, place)) = after.checked_sub(1).and_then(|index| self.known.get(index)) else {
            return Place::UNKNOWN;
        };
        let rest = text.get(start..).unwrap_or_default().char_indices();
        let before = rest.skip(1).take_while(|(at, _)| start + at <= offset).count();
        let past_end = usize::from(offset >= text.len() && start < text.len());
        Place { column: place.column.saturating_add(saturating(before + past_end)), ..place }
    }
}

/// The byte offset of a line and a column in bytes, both 1-based, as serde_json counts them (LF only).
fn offset_of_bytes(text: &str, line: usize, column: usize) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    (start + column.saturating_sub(1)).min(text.len())
}

/// A count as it stands in a [`Place`].
pub fn saturating(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The offset in `text` at which serde_json gave up, and its reason without the position.
pub fn error_at(text: &str, error: &serde_json::Error) -> (usize, String) {
    let offset = offset_of_bytes(text, error.line(), error.column());
    let reason = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    (offset, reason.strip_suffix(&suffix).unwrap_or(&reason).to_owned())
}

/// Reads a JSON text.
pub fn parse(text: &str) -> Result<Node, Problem> {
    let reader = Reader { text, lines: Lines::of(text) };
    let raw = reader.inner(text)?;
    reader.node(raw, "", 0)
}

struct Reader<'a> {
    text: &'a str,
    lines: Lines,
}

impl<'a> Reader<'a> {
    /// Parses `part`, which is a slice of the whole text.
    fn inner<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, Problem> {
        serde_json::from_str(part).map_err(|error| {
            let (offset, reason) = error_at(part, &error);
            syntax(self.place(part, offset), &reason)
        })
    }

    /// The place of the byte at `offset` of `part`, a slice of the whole text.
    fn place(&self, part: &str, offset: usize) -> Place {
        self.lines.place(self.text, part.as_ptr() as usize - self.text.as_ptr() as usize + offset)
    }

    fn node(&self, raw: &'a RawValue, pointer: &str, depth: usize) -> Result<Node, Problem> {
        let (text, place) = (raw.get(), self.place(raw.get(), 0));
        let nests = text.starts_with(['[', '{']);
        if nests && depth >= MAX_DEPTH {
            return Err(Problem::too_deep(place, pointer));
        }
        let value = match text.as_bytes().first() {
            Some(b'{') => Value::Map(self.entries(text, pointer, depth)?),
            Some(b'[') => {
                let items: Vec<&RawValue> = self.inner(text)?;
                let items = items.into_iter().enumerate();
                let item = |(at, item)| self.node(item, &child_pointer(pointer, &format!("{at}")), depth + 1);
                Value::List(items.map(item).collect::<Result<_, _>>()?)
            }
            Some(b'"') => Value::String(self.inner::<String>(text)?.into()),
            Some(b't' | b'f') => Value::Bool(text == "true"),
            Some(b'n') => Value::Null,
            _ => Value::Number(text.into()),
        };
        Ok(Node { place, value })
    }

    fn entries(&self, text: &'a str, pointer: &str, depth: usize) -> Result<Arc<[Entry]>, Problem> {
        let Members(members) = self.inner(text)?;
        let mut seen = HashSet::with_capacity(members.len());
        let mut entries = Vec::with_capacity(members.len());
        for (raw_key, raw_value) in members {
            let key: Arc<str> = self.inner::<String>(raw_key.get())?.into();
            let (key_place, inside) = (self.place(raw_key.get(), 0), child_pointer(pointer, &key));
            if !seen.insert(key.clone()) {
                return Err(Problem::duplicate_key(key_place, &inside, &key));
            }
            entries.push(Entry { key, key_place, value: self.node(raw_value, &inside, depth + 1)? });
        }
        Ok(entries.into())
    }
}

/// The members of an object, duplicates included, not yet looked into.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// What a file that is no JSON gets.
pub fn syntax(place: Place, reason: &str) -> Problem {
    Problem::new("json-syntax", place, format!("this is no valid JSON ({reason}); the file is not in effect"))
}

/// A JSON text made from nodes, and where each value and key of it came from.
#[derive(Debug, Default)]
pub struct Rendered {
    /// Compact JSON.
    pub json: String,
    /// Offsets in `json` at which a key or value begins, ascending, with its place in the file.
    places: Vec<(usize, Place)>,
}

impl Rendered {
    /// Writes `node` out.
    pub fn of(node: &Node) -> Self {
        let mut rendered = Self::default();
        rendered.node(node);
        rendered
    }

    /// Place of the value or key that the byte at `offset` belongs to.
    pub fn place(&self, offset: usize) -> Place {
        let at = self.places.partition_point(|&(start, _)| start <= offset);
        at.checked_sub(1).and_then(|index| self.places.get(index)).map_or(Place::UNKNOWN, |&(_, place)| place)
    }

    fn node(&mut self, node: &Node) {
        self.places.push((self.json.len(), node.place));
        match &node.value {
            Value::Null => self.json.push_str("null"),
            Value::Bool(flag) => self.json.push_str(if *flag { "true" } else { "false" }),
            Value::Number(digits) => self.json.push_str(digits),
            Value::String(text) => self.text(text),
            Value::List(items) => {
                self.json.push('[');
                for (at, item) in items.iter().enumerate() {
                    self.comma(at);
                    self.node(item);
                }
                self.json.push(']');
            }
            Value::Map(entries) => {
                self.json.push('{');
                for (at, entry) in entries.iter().enumerate() {
                    self.comma(at);
                    self.places.push((self.json.len(), entry.key_place));
                    self.text(&entry.key);
                    self.json.push(':');
                    self.node(&entry.value);
                }
                self.json.push('}');
            }
        }
    }

    fn comma(&mut self, at: usize) {
        if at > 0 {
            self.json.push(',');
        }
    }

    fn text(&mut self, text: &str) {
        // Through `Display` of a JSON value rather than `to_string`, which could fail in type though never in fact.
        self.json.push_str(&serde_json::Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests;
