//! A value as a person wrote it, with the place of every part of it: what configuration is read from.
//!
//! Promises: keys keep the order of the file, numbers keep their digits, and a tree is at most [`MAX_DEPTH`]
//! levels deep, so that walking it by recursion is safe. Clones share their contents: a YAML alias costs nothing
//! until somebody walks it.
//!
//! It does not read text: `json` and `yaml` build it.

use std::sync::Arc;

/// Levels of lists and maps inside one another that are read; what the wire takes too.
pub const MAX_DEPTH: usize = 128;

/// Where something stands in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// 1-based line, 0 where no line is known.
    pub line: u32,
    /// 1-based column in characters, 0 where no column is known.
    pub column: u32,
}

impl Place {
    /// Of what came over the wire.
    pub const UNKNOWN: Self = Self { line: 0, column: 0 };
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where the value begins: of an alias where the alias stands, of a block text its first line.
    pub place: Place,
    /// What it is.
    pub value: Value,
}

/// What a node holds: the types of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`; YAML's older `yes` and `on` are strings here.
    Bool(bool),
    /// A number, in JSON's notation with the digits that were written.
    Number(Arc<str>),
    /// Text.
    String(Arc<str>),
    /// A list.
    List(Arc<[Node]>),
    /// A map, in the order of the file, every key once.
    Map(Arc<[Entry]>),
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: Arc<str>,
    /// Where the key begins.
    pub key_place: Place,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// The value under `key`, if this is a map that holds it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| &*entry.key == key).map(|entry| &entry.value)
    }

    /// The entries of a map; none of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// What was given as JSON, with no places. It is as deep as what was given: whoever parsed that bounded it.
    pub fn from_json(json: &serde_json::Value) -> Node {
        use serde_json::Value as Json;
        let entry = |(key, value): (&String, &Json)| Entry {
            key: key.as_str().into(),
            key_place: Place::UNKNOWN,
            value: Node::from_json(value),
        };
        let value = match json {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Bool(*flag),
            Json::Number(number) => Value::Number(number.to_string().into()),
            Json::String(text) => Value::String(text.as_str().into()),
            Json::Array(items) => Value::List(items.iter().map(Node::from_json).collect()),
            Json::Object(members) => Value::Map(members.iter().map(entry).collect()),
        };
        Node { place: Place::UNKNOWN, value }
    }

    /// The same value as JSON. A number beyond what JSON libraries hold becomes the nearest double.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(flag) => (*flag).into(),
            Value::Number(digits) => {
                digits.parse::<serde_json::Number>().map_or_else(|_| (**digits).into(), serde_json::Value::Number)
            }
            Value::String(text) => (**text).into(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_json())).collect(),
        }
    }
}

/// The JSON pointer (RFC 6901) of `key` inside what `parent` points at.
pub fn child_pointer(parent: &str, key: &str) -> String {
    format!("{parent}/{}", key.replace('~', "~0").replace('/', "~1"))
}
