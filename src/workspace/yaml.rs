//! YAML to nodes, with the place of every value.
//!
//! The dialect is YAML 1.2 with its core schema (`yes` and `on` are strings, `0755` is 755), plus `<<` merges, which
//! people expect. Promises: one document; keys are text and stand once; time and memory are linear in the text
//! plus [`MAX_ALIASED`], and depth is at most [`MAX_DEPTH`], aliases looked through. Numbers keep their digits,
//! rewritten only where JSON's notation differs; what JSON has no number for (`.inf`, `.nan`) stays a string.
//! Tags other than the core ones are taken as absent.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_saphyr::granit_parser::{self, ErrorKind, Event, Parser, ScalarStyle, Span, Tag};

use super::json::saturating;
use super::node::{Entry, MAX_DEPTH, Node, Place, Value, child_pointer};
use super::problem::Problem;

/// What all aliases of a file may stand for together: bytes of text, each value counting [`NODE_WEIGHT`] besides.
pub const MAX_ALIASED: u64 = 16 << 20;

/// What a value weighs besides its text.
const NODE_WEIGHT: u64 = 16;

/// Reads a YAML text. A text with no document (comments alone) is null.
pub fn parse(text: &str) -> Result<Node, Problem> {
    // The parser takes a NUL for the end of its input: what follows one must not vanish without a word.
    if let Some(offset) = text.find('\0') {
        let place = super::json::Lines::of(text).place(text, offset);
        return Err(syntax(place, "a NUL character"));
    }
    let options = granit_parser::options! { emit_comments: false };
    let mut composer = Composer::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| {
            let place = Place { line: saturating(error.marker().line()), column: saturating(error.marker().col() + 1) };
            match error.kind() {
                ErrorKind::RecursionLimitExceeded => Problem::too_deep(place, &composer.pointer()),
                _ => syntax(place, &error.info()),
            }
        })?;
        composer.take(event, &span)?;
    }
    Ok(composer.root.unwrap_or(Node { place: Place { line: 1, column: 1 }, value: Value::Null }))
}

fn syntax(place: Place, reason: &str) -> Problem {
    Problem::new("yaml-syntax", place, format!("this is no valid YAML ({reason}); the file is not in effect"))
}

/// A finished value, with what it costs where an alias repeats it.
#[derive(Clone)]
struct Finished {
    node: Node,
    weight: u64,
    /// Levels of lists and maps in it, 0 for a scalar.
    height: usize,
}

/// A list or map whose end has not come.
struct Open {
    place: Place,
    anchor: usize,
    weight: u64,
    height: usize,
    kind: Kind,
}

enum Kind {
    List(Vec<Node>),
    Map(OpenMap),
}

#[derive(Default)]
struct OpenMap {
    entries: Vec<Entry>,
    /// Entries of `<<` in the order of their sources: what stands in the map itself goes before them.
    merged: Vec<Entry>,
    keys: HashSet<Arc<str>>,
    /// The key whose value comes next.
    key: Option<Key>,
}

impl OpenMap {
    /// Takes the value of a `<<`; false where it is neither a map nor a list of maps.
    fn merge(&mut self, source: Node) -> bool {
        match source.value {
            Value::Map(entries) => self.merged.extend(entries.iter().cloned()),
            Value::List(sources) if sources.iter().all(|source| matches!(source.value, Value::Map(_))) => {
                self.merged.extend(sources.iter().flat_map(Node::entries).cloned());
            }
            _ => return false,
        }
        true
    }

    fn close(self) -> Value {
        let Self { mut entries, merged, mut keys, .. } = self;
        entries.extend(merged.into_iter().filter(|entry| keys.insert(entry.key.clone())));
        Value::Map(entries.into())
    }
}

struct Key {
    text: Arc<str>,
    place: Place,
    /// A plain `<<`.
    merges: bool,
}

#[derive(Default)]
struct Composer {
    open: Vec<Open>,
    anchors: FxHashMap<usize, Finished>,
    /// What the aliases so far stand for.
    aliased: u64,
    documents: usize,
    root: Option<Node>,
}

impl Composer {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), Problem> {
        let place = Place { line: saturating(span.start.line()), column: saturating(span.start.col() + 1) };
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "a second document begins here; keep one document in a file";
                    return Err(Problem::new("several-documents", place, message));
                }
            }
            Event::Scalar(text, style, anchor, tag) if self.key_comes_next() => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let text: Arc<str> = text.into();
                let node = Node { place, value: Value::String(text.clone()) };
                self.remember(anchor, &Finished { node, weight: weight_of(&text), height: 0 });
                self.key(Key { merges: plain && &*text == "<<", text, place })?;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let weight = weight_of(&text);
                let node = Node { place, value: scalar(text, style, tag.as_deref()) };
                self.finish(anchor, Finished { node, weight, height: 0 })?;
            }
            Event::Alias(id) => self.alias(id, place)?,
            Event::SequenceStart(_, anchor, _) => self.begin(place, anchor, Kind::List(Vec::new()))?,
            Event::MappingStart(_, anchor, _) => {
                self.begin(place, anchor, Kind::Map(OpenMap::default()))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end()?,
            _ => {}
        }
        Ok(())
    }

    fn key_comes_next(&self) -> bool {
        matches!(self.open.last(), Some(Open { kind: Kind::Map(OpenMap { key: None, .. }), .. }))
    }

    fn key(&mut self, key: Key) -> Result<(), Problem> {
        let Some(Open { kind: Kind::Map(map), .. }) = self.open.last_mut() else { return Ok(()) };
        if !key.merges && !map.keys.insert(key.text.clone()) {
            let pointer = child_pointer(&self.pointer(), &key.text);
            return Err(Problem::duplicate_key(key.place, &pointer, &key.text));
        }
        map.key = Some(key);
        Ok(())
    }

    fn begin(&mut self, place: Place, anchor: usize, kind: Kind) -> Result<(), Problem> {
        if self.key_comes_next() {
            let message = "a list or map stands where a key should; a key is text";
            return Err(Problem::new("key-not-text", place, message).at(&self.pointer()));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(Problem::too_deep(place, &self.pointer()));
        }
        self.open.push(Open { place, anchor, weight: NODE_WEIGHT, height: 1, kind });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Problem> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.kind {
            Kind::List(items) => Value::List(items.into()),
            Kind::Map(map) => map.close(),
        };
        let node = Node { place: open.place, value };
        self.finish(open.anchor, Finished { node, weight: open.weight, height: open.height })
    }

    fn alias(&mut self, id: usize, place: Place) -> Result<(), Problem> {
        let Some(target) = self.anchors.get(&id).cloned() else {
            let message = "this alias stands inside the value that it names; a value cannot hold itself";
            return Err(Problem::new("alias-in-itself", place, message).at(&self.pointer()));
        };
        self.aliased = self.aliased.saturating_add(target.weight);
        if self.aliased > MAX_ALIASED {
            let message = "the aliases of this file stand for too much; write fewer or smaller ones";
            return Err(Problem::new("too-many-aliases", place, message).at(&self.pointer()));
        }
        if self.open.len() + target.height > MAX_DEPTH {
            return Err(Problem::too_deep(place, &self.pointer()));
        }
        match target.node.value {
            Value::String(text) if self.key_comes_next() => self.key(Key { text, place, merges: false }),
            _ if self.key_comes_next() => {
                let message = "this alias of a value that is no text stands where a key should";
                Err(Problem::new("key-not-text", place, message).at(&self.pointer()))
            }
            value => self.finish(0, Finished { node: Node { place, value }, ..target }),
        }
    }

    /// Puts a value where it belongs.
    fn finish(&mut self, anchor: usize, finished: Finished) -> Result<(), Problem> {
        self.remember(anchor, &finished);
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(finished.node);
            return Ok(());
        };
        parent.weight = parent.weight.saturating_add(finished.weight);
        parent.height = parent.height.max(finished.height + 1);
        match &mut parent.kind {
            Kind::List(items) => items.push(finished.node),
            Kind::Map(map) => match map.key.take() {
                Some(key) if key.merges => {
                    let place = finished.node.place;
                    if !map.merge(finished.node) {
                        let message = "`<<` takes a map or a list of maps";
                        return Err(Problem::new("bad-merge", place, message).at(&self.pointer()));
                    }
                }
                Some(key) => {
                    parent.weight = parent.weight.saturating_add(weight_of(&key.text));
                    map.entries.push(Entry { key: key.text, key_place: key.place, value: finished.node });
                }
                None => {}
            },
        }
        Ok(())
    }

    fn remember(&mut self, anchor: usize, finished: &Finished) {
        if anchor != 0 {
            self.anchors.insert(anchor, finished.clone());
        }
    }

    /// The pointer of the value that is being read.
    fn pointer(&self) -> String {
        self.open.iter().fold(String::new(), |pointer, open| match &open.kind {
            Kind::List(items) => child_pointer(&pointer, &items.len().to_string()),
            Kind::Map(map) => match &map.key {
                Some(key) => child_pointer(&pointer, &key.text),
                None => pointer,
            },
        })
    }
}

fn weight_of(text: &str) -> u64 {
    NODE_WEIGHT + text.len() as u64
}

/// The value of a scalar by YAML's core schema.
fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let resolved = match tag {
        Some(tag) if tag.original() == "!" => None,
        Some(tag) => match tag.core_suffix() {
            Some("str") => None,
            Some("null" | "bool" | "int" | "float") => resolve(text.trim()),
            _ if style == ScalarStyle::Plain => resolve(&text),
            _ => None,
        },
        None if style == ScalarStyle::Plain => resolve(&text),
        None => None,
    };
    resolved.unwrap_or_else(|| Value::String(text.into()))
}

fn resolve(plain: &str) -> Option<Value> {
    match plain {
        "" | "~" | "null" | "Null" | "NULL" => Some(Value::Null),
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        _ => number(plain).map(|digits| Value::Number(digits.into())),
    }
}

/// A number of the core schema in JSON's notation; `None` for anything else, `.inf` and `.nan` included.
fn number(plain: &str) -> Option<String> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = plain.strip_prefix(prefix) {
            // `from_str_radix` would take a sign.
            let digits = Some(digits).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_alphanumeric()))?;
            return u128::from_str_radix(digits, radix).ok().map(|value| value.to_string());
        }
    }
    let (negative, rest) = match plain.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, plain.strip_prefix('+').unwrap_or(plain)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !fraction.is_none_or(all_digits) || whole.len() + fraction.map_or(0, str::len) == 0 {
        return None;
    }
    let mut json = String::with_capacity(plain.len() + 2);
    json.push_str(if negative { "-" } else { "" });
    let significant = whole.trim_start_matches('0');
    json.push_str(if significant.is_empty() { "0" } else { significant });
    if let Some(fraction) = fraction {
        json.push('.');
        json.push_str(if fraction.is_empty() { "0" } else { fraction });
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !all_digits(digits) {
            return None;
        }
        json.push('e');
        json.push_str(exponent);
    }
    Some(json)
}

#[cfg(test)]
mod tests;
