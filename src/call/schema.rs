//! A JSON Schema read once into a flat graph: what coercion is guided by and what bounds a check.
//!
//! Nodes are numbered, so that a `$ref` is an edge and a cycle is no danger to whoever reads it. Every place
//! in which a subschema can stand is found here and nowhere else, which is how a property that happens to be
//! named `nullable` or `pattern` is told from the keyword. It holds no assertion but types, literals and
//! `required`: the verdict is the validator's.

use std::ops::{BitAnd, BitOr};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value};

/// Subschemas beyond this number: the schema is not checked. The largest of 8,600 real ones has about 1,500.
pub const MAX_NODES: usize = 20_000;
/// Distinct `$ref` targets beyond this number: likewise.
const MAX_TARGETS: usize = 1_000;
/// Rounds in which accepted types are narrowed; a fixpoint in practice after three, and safe to stop at any.
const MAX_ROUNDS: usize = 16;

/// Index of a node in [`Schema::nodes`].
pub type NodeId = usize;

/// A set of JSON types. `NUMBER` is a number that is not an integer; the schema type `number` is both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types(u8);

impl Types {
    pub const NONE: Self = Self(0);
    pub const NULL: Self = Self(1);
    pub const BOOLEAN: Self = Self(2);
    pub const INTEGER: Self = Self(4);
    pub const NUMBER: Self = Self(8);
    pub const STRING: Self = Self(16);
    pub const ARRAY: Self = Self(32);
    pub const OBJECT: Self = Self(64);
    pub const ALL: Self = Self(127);

    /// The type of a value; 3.0 is an integer, as it is from draft 6 on.
    pub fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(n) if n.as_f64().is_some_and(|n| n.fract() == 0.0) => Self::INTEGER,
            Value::Number(_) => Self::NUMBER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub fn holds(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER | Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }
}

impl BitOr for Types {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Types {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// What `additionalProperties` says.
#[derive(Debug, Default)]
pub enum Additional {
    /// Absent, or true.
    #[default]
    Open,
    /// `false`: no other member.
    Closed,
    /// Other members follow this schema.
    Follow(NodeId),
}

/// One subschema.
#[derive(Debug)]
pub struct Node {
    /// Types that this node and everything it refers to in place can accept: never too narrow.
    pub accepts: Types,
    /// Types this node alone names.
    pub types: Types,
    /// `enum`, or `const` as its only member.
    pub literals: Option<Box<[Value]>>,
    pub required: Box<[Box<str>]>,
    pub properties: FxHashMap<Box<str>, NodeId>,
    pub additional: Additional,
    /// Schemas of the first items, in order.
    pub prefix: Vec<NodeId>,
    /// Schema of the other items.
    pub rest: Option<NodeId>,
    /// All of these hold for the same value: `allOf`, and the target of a `$ref`.
    pub all_of: Vec<NodeId>,
    /// Of each list one holds for the same value: `anyOf`, `oneOf`.
    pub choices: Vec<Vec<NodeId>>,
    /// Evaluated on the same value, with no bearing on coercion: `not`, `if`, `then`, `else`, dependent schemas.
    pub aside: Vec<NodeId>,
    /// Evaluated on any member: `patternProperties`, `propertyNames`, `unevaluatedProperties`.
    pub any_member: Vec<NodeId>,
    /// Evaluated on any item: `contains`, `unevaluatedItems`.
    pub any_item: Vec<NodeId>,
    /// Regular expressions tried on a string or on member names.
    pub patterns: usize,
    /// Members are told apart by pattern, so an undeclared one may not be an additional one.
    pub patterned: bool,
    /// `unevaluated…` evaluates what stands beside it once more; `uniqueItems` reads every item.
    pub revisits: bool,
}

impl Default for Node {
    fn default() -> Self {
        Self {
            accepts: Types::ALL,
            types: Types::ALL,
            literals: None,
            required: Box::default(),
            properties: FxHashMap::default(),
            additional: Additional::Open,
            prefix: Vec::new(),
            rest: None,
            all_of: Vec::new(),
            choices: Vec::new(),
            aside: Vec::new(),
            any_member: Vec::new(),
            any_item: Vec::new(),
            patterns: 0,
            patterned: false,
            revisits: false,
        }
    }
}

/// A schema as a graph; node 0 is the root.
#[derive(Debug)]
pub struct Schema {
    pub nodes: Vec<Node>,
    /// Any reference at all: the nodes then are no tree.
    pub refers: bool,
}

impl Schema {
    /// Whether the root, through what it refers to in place, declares a property of this name.
    pub fn declares(&self, name: &str) -> bool {
        let mut seen = vec![0];
        let mut at = 0;
        while let Some(&id) = seen.get(at) {
            let node = &self.nodes[id];
            if node.properties.contains_key(name) {
                return true;
            }
            for &next in node.all_of.iter().chain(node.choices.iter().flatten()) {
                if seen.len() < 1_000 && !seen.contains(&next) {
                    seen.push(next);
                }
            }
            at += 1;
        }
        false
    }
}

/// A keyword to change in the copy that the validator compiles, by the address of its subschema.
#[derive(Debug, Default)]
pub struct Sites {
    /// Subschemas with `nullable: true`.
    pub nullable: FxHashSet<usize>,
    /// Subschemas whose `required` is no array of strings: it is ignored (CALL-7), and so it must not make the whole
    /// schema one that cannot be compiled.
    pub malformed_required: FxHashSet<usize>,
    /// Every `pattern`.
    pub patterns: Vec<Pattern>,
    /// Keys of `patternProperties`.
    pub member_patterns: Vec<String>,
    /// Values that the path of some `$ref` leads through.
    pub passed: FxHashSet<usize>,
}

/// One `pattern` keyword.
#[derive(Debug)]
pub struct Pattern {
    /// Address of its subschema.
    pub at: usize,
    pub text: String,
    /// Stands where a weaker subschema can make the whole stricter: below `not`, `if`, `oneOf`, `contains`.
    pub inverted: bool,
    node: NodeId,
}

/// What reading found.
pub struct Read {
    pub schema: Schema,
    pub sites: Sites,
    /// Why the schema must not be given to a validator.
    pub refusal: Option<String>,
}

/// Reads a schema. Its nesting is bounded by the JSON parser; references are followed without recursion.
pub fn read(root: &Value) -> Read {
    let mut reader = Reader {
        root: address(root),
        // Up to draft 7 a `$ref` hides what stands beside it.
        ref_hides: root.get("$schema").and_then(Value::as_str).is_some_and(|uri| {
            ["draft-03", "draft-04", "draft-06", "draft-07"].iter().any(|draft| uri.contains(draft))
        }),
        base: root.get("$id").or_else(|| root.get("id")).and_then(Value::as_str).unwrap_or("").trim_end_matches('#'),
        nodes: Vec::new(),
        by_address: FxHashMap::default(),
        anchors: FxHashMap::default(),
        pending: Vec::new(),
        embedded: false,
        inverting: Vec::new(),
        refusal: None,
        sites: Sites::default(),
    };
    reader.subschema(root);
    let refers = reader.follow(root);
    let inverted = reached(&reader.nodes, std::mem::take(&mut reader.inverting));
    for pattern in &mut reader.sites.patterns {
        pattern.inverted = inverted[pattern.node];
    }
    narrow(&mut reader.nodes);
    if returns_in_place(&reader.nodes) {
        reader.refuse("a reference leads back to itself without a step into the value");
    }
    let schema = Schema { nodes: reader.nodes, refers };
    Read { schema, sites: reader.sites, refusal: reader.refusal }
}

/// The address of a value in the tree that is read: its identity, however it is reached.
pub fn address<T>(value: &T) -> usize {
    std::ptr::from_ref(value).addr()
}

struct Reader<'a> {
    root: usize,
    ref_hides: bool,
    base: &'a str,
    nodes: Vec<Node>,
    by_address: FxHashMap<usize, NodeId>,
    anchors: FxHashMap<&'a str, NodeId>,
    pending: Vec<(NodeId, &'a str)>,
    embedded: bool,
    /// Where `not`, `if`, `oneOf` and `contains` lead.
    inverting: Vec<NodeId>,
    refusal: Option<String>,
    sites: Sites,
}

impl<'a> Reader<'a> {
    fn refuse(&mut self, reason: impl Into<String>) {
        self.refusal.get_or_insert_with(|| reason.into());
    }

    fn subschema(&mut self, value: &'a Value) -> NodeId {
        if let Some(&id) = self.by_address.get(&address(value)) {
            return id;
        }
        let id = self.nodes.len();
        if id >= MAX_NODES {
            self.refuse(format!("the schema has more than {MAX_NODES} subschemas"));
            return 0;
        }
        self.nodes.push(Node::default());
        self.by_address.insert(address(value), id);
        match value {
            Value::Object(object) if is_nullable(object) && restricts_null(object) => {
                // Null meets it whatever stands in it, references included.
                let (null, inner) = (id + 1, id + 2);
                self.nodes.push(Node { types: Types::NULL, ..Node::default() });
                self.nodes.push(Node::default());
                self.nodes[inner] = self.keywords(inner, value, object);
                self.nodes[id].choices = vec![vec![null, inner]];
            }
            Value::Object(object) => self.nodes[id] = self.keywords(id, value, object),
            Value::Bool(false) => self.nodes[id].types = Types::NONE,
            _ => {}
        }
        id
    }

    fn keywords(&mut self, id: NodeId, at: &'a Value, object: &'a Map<String, Value>) -> Node {
        let mut node = Node::default();
        for (keyword, value) in object {
            match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => self.pending.push((id, target)),
                ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                    self.anchors.insert(name, id);
                }
                ("$id" | "id", Value::String(uri)) if address(at) != self.root => match uri.strip_prefix('#') {
                    Some(name) => {
                        self.anchors.insert(name, id);
                    }
                    None => self.embedded |= keyword == "$id" || self.ref_hides,
                },
                ("required", value) if names(value).is_none() => {
                    self.sites.malformed_required.insert(address(at));
                }
                ("nullable", Value::Bool(true)) => {
                    self.sites.nullable.insert(address(at));
                }
                ("pattern", Value::String(pattern)) => {
                    let (at, text) = (address(at), pattern.clone());
                    self.sites.patterns.push(Pattern { at, text, inverted: false, node: id });
                    node.patterns += 1;
                }
                ("type", Value::String(name)) => node.types = Types::named(name).unwrap_or(Types::ALL),
                ("type", Value::Array(names)) => {
                    node.types = names.iter().fold(Types::NONE, |types, name| {
                        types | name.as_str().and_then(Types::named).unwrap_or(Types::ALL)
                    });
                }
                ("enum", Value::Array(values)) if node.literals.is_none() => {
                    node.literals = Some(values.as_slice().into())
                }
                ("const", value) => node.literals = Some(Box::new([value.clone()])),
                ("required", value) => node.required = names(value).unwrap_or_default(),
                ("properties", Value::Object(members)) => {
                    for (name, value) in members {
                        let id = self.subschema(value);
                        node.properties.insert(name.as_str().into(), id);
                    }
                }
                ("patternProperties", Value::Object(members)) => {
                    node.patterned |= !members.is_empty();
                    for (pattern, value) in members {
                        self.sites.member_patterns.push(pattern.clone());
                        node.patterns += 1;
                        node.any_member.push(self.subschema(value));
                    }
                }
                ("additionalProperties", Value::Bool(false)) => node.additional = Additional::Closed,
                ("additionalProperties", Value::Object(_)) => {
                    node.additional = Additional::Follow(self.subschema(value));
                }
                ("items", Value::Array(items)) => node.prefix = self.list(items),
                ("prefixItems", Value::Array(items)) => node.prefix = self.list(items),
                ("items" | "additionalItems", Value::Object(_) | Value::Bool(_)) => {
                    node.rest = Some(self.subschema(value));
                }
                ("allOf", Value::Array(items)) => node.all_of.extend(self.list(items)),
                ("anyOf", Value::Array(items)) => node.choices.push(self.list(items)),
                ("oneOf", Value::Array(items)) => {
                    let list = self.list(items);
                    self.inverting.extend(&list);
                    node.choices.push(list);
                }
                ("not" | "if", _) => {
                    let id = self.subschema(value);
                    self.inverting.push(id);
                    node.aside.push(id);
                }
                ("then" | "else", _) => node.aside.push(self.subschema(value)),
                ("dependentSchemas" | "dependencies", Value::Object(members)) => {
                    for value in members.values().filter(|value| !value.is_array()) {
                        node.aside.push(self.subschema(value));
                    }
                }
                ("$defs" | "definitions", Value::Object(members)) => {
                    for value in members.values() {
                        self.subschema(value);
                    }
                }
                ("unevaluatedProperties", _) => {
                    node.revisits = true;
                    node.any_member.push(self.subschema(value));
                }
                ("unevaluatedItems", _) => {
                    node.revisits = true;
                    node.any_item.push(self.subschema(value));
                }
                ("propertyNames", _) => node.any_member.push(self.subschema(value)),
                ("contains", _) => {
                    // `maxContains` bounds from above what a weaker subschema would count.
                    let id = self.subschema(value);
                    self.inverting.push(id);
                    node.any_item.push(id);
                }
                ("uniqueItems", Value::Bool(true)) => node.revisits = true,
                _ => {}
            }
        }
        if is_nullable(object) && !restricts_null(object) {
            node.types = node.types | Types::NULL;
        }
        node
    }

    fn list(&mut self, items: &'a [Value]) -> Vec<NodeId> {
        items.iter().map(|item| self.subschema(item)).collect()
    }

    /// Turns references into edges; their targets may hold further ones.
    fn follow(&mut self, root: &'a Value) -> bool {
        let mut targets: FxHashMap<&'a str, Option<NodeId>> = FxHashMap::default();
        let mut refers = false;
        while let Some((from, target)) = self.pending.pop() {
            refers = true;
            let found = match targets.get(target) {
                Some(&found) => found,
                None => {
                    let found = self.resolve(root, target);
                    targets.insert(target, found);
                    found
                }
            };
            if targets.len() > MAX_TARGETS {
                self.refuse(format!("the schema refers to more than {MAX_TARGETS} places"));
                break;
            }
            match found {
                Some(to) if self.ref_hides => {
                    self.nodes[from] = Node { all_of: vec![to], ..Node::default() };
                }
                Some(to) => self.nodes[from].all_of.push(to),
                None => self.refuse(format!(
                    "`$ref` {:?} does not resolve inside the schema, and nothing is fetched",
                    super::excerpt::clip(target, 80)
                )),
            }
        }
        if refers && self.embedded {
            self.refuse("the schema embeds a resource with an `$id` of its own beside references");
        }
        refers
    }

    fn resolve(&mut self, root: &'a Value, target: &str) -> Option<NodeId> {
        let fragment = match target.split_once('#') {
            Some((base, fragment)) if base.is_empty() || base == self.base => fragment,
            None if target == self.base && !target.is_empty() => "",
            _ => return None,
        };
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() {
            return Some(0);
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            return self.anchors.get(fragment.as_str()).copied();
        };
        let mut value = root;
        let mut passed = Vec::new();
        for segment in pointer.split('/') {
            passed.push(address(value));
            let segment = segment.replace("~1", "/").replace("~0", "~");
            value = match value {
                Value::Object(object) => object.get(&segment)?,
                Value::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        self.sites.passed.extend(passed);
        Some(self.subschema(value))
    }
}

/// OpenAPI's `nullable: true`.
fn is_nullable(object: &Map<String, Value>) -> bool {
    object.get("nullable") == Some(&Value::Bool(true))
}

/// Whether something but `type` may keep null out of a subschema: every other keyword speaks of one type only.
pub fn restricts_null(object: &Map<String, Value>) -> bool {
    ["enum", "const", "$ref", "anyOf", "oneOf", "allOf", "not", "if"]
        .iter()
        .any(|keyword| object.contains_key(*keyword))
}

/// The strings of an array of strings; anything else says nothing.
pub fn names(value: &Value) -> Option<Box<[Box<str>]>> {
    value.as_array()?.iter().map(|name| name.as_str().map(Into::into)).collect()
}

/// Narrows what each node accepts by what it refers to in place, from "everything" down.
fn narrow(nodes: &mut [Node]) {
    for node in nodes.iter_mut() {
        node.accepts = match &node.literals {
            None => node.types,
            Some(values) => node.types & values.iter().fold(Types::NONE, |types, value| types | Types::of(value)),
        };
    }
    for _ in 0..MAX_ROUNDS {
        let mut changed = false;
        for id in (0..nodes.len()).rev() {
            let node = &nodes[id];
            let all = node.all_of.iter().fold(node.accepts, |types, &to| types & nodes[to].accepts);
            let accepts = node
                .choices
                .iter()
                .fold(all, |types, choice| types & choice.iter().fold(Types::NONE, |any, &to| any | nodes[to].accepts));
            changed |= accepts != node.accepts;
            nodes[id].accepts = accepts;
        }
        if !changed {
            break;
        }
    }
}

impl Node {
    /// The nodes that the same value meets below this one.
    fn in_place(&self) -> impl Iterator<Item = NodeId> {
        self.all_of.iter().chain(self.choices.iter().flatten()).chain(&self.aside).copied()
    }

    /// Whether the same value meets further nodes below this one.
    pub fn leads_on(&self) -> bool {
        self.in_place().next().is_some()
    }

    /// The nodes that parts of the value meet.
    fn parts(&self) -> impl Iterator<Item = NodeId> {
        let additional = match self.additional {
            Additional::Follow(to) => Some(to),
            _ => None,
        };
        let lists = [&self.prefix, &self.any_member, &self.any_item];
        self.properties.values().chain(lists.into_iter().flatten()).copied().chain(additional).chain(self.rest)
    }
}

/// Which nodes are reached from some.
fn reached(nodes: &[Node], mut open: Vec<NodeId>) -> Vec<bool> {
    let mut reached = vec![false; nodes.len()];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut reached[id], true) {
            open.extend(nodes[id].in_place().chain(nodes[id].parts()));
        }
    }
    reached
}

/// Whether some node is reached from itself for the same value: checking it would never end.
fn returns_in_place(nodes: &[Node]) -> bool {
    // Depth first without recursion: a chain of references can be as long as the schema.
    let (mut entered, mut left) = (vec![false; nodes.len()], vec![false; nodes.len()]);
    for start in 0..nodes.len() {
        if std::mem::replace(&mut entered[start], true) {
            continue;
        }
        let mut path = vec![(start, nodes[start].in_place().collect::<Vec<_>>())];
        while let Some((id, rest)) = path.last_mut() {
            match rest.pop() {
                None => {
                    left[*id] = true;
                    path.pop();
                }
                Some(next) if left[next] => {}
                Some(next) if std::mem::replace(&mut entered[next], true) => return true,
                Some(next) => path.push((next, nodes[next].in_place().collect())),
            }
        }
    }
    false
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn accepts(schema: Value) -> Types {
        read(&schema).schema.nodes[0].accepts
    }

    #[test]
    fn accepted_types() {
        let number = Types::INTEGER | Types::NUMBER;
        for (rule, schema, expected) in [
            ("no type is any type", json!({}), Types::ALL),
            ("`number` holds integers", json!({"type": "number"}), number),
            ("false accepts nothing", json!(false), Types::NONE),
            ("an unknown type is no restriction", json!({"type": "str"}), Types::ALL),
            ("literals restrict", json!({"enum": [1, "a"]}), Types::INTEGER | Types::STRING),
            ("allOf meets", json!({"type": ["integer", "null"], "allOf": [{"type": "number"}]}), Types::INTEGER),
            ("anyOf joins", json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), Types::STRING | Types::NULL),
            ("a local $ref", json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}), Types::STRING),
            ("an escaped pointer", json!({"$ref": "#/x/a~1b%20c", "x": {"a/b c": {"type": "null"}}}), Types::NULL),
            ("an anchor", json!({"$ref": "#n", "$defs": {"a": {"$anchor": "n", "type": "null"}}}), Types::NULL),
            ("a cycle is no restriction", json!({"$ref": "#"}), Types::ALL),
            ("nullable adds null", json!({"type": "string", "nullable": true}), Types::STRING | Types::NULL),
            ("nullable beside literals", json!({"enum": ["a"], "nullable": true}), Types::STRING | Types::NULL),
            (
                "draft 7 hides what stands beside a $ref",
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
                       "$ref": "#/definitions/a", "definitions": {"a": {"type": "null"}}}),
                Types::NULL,
            ),
        ] {
            assert_eq!(accepts(schema), expected, "{rule}");
        }
    }

    #[test]
    fn what_must_not_reach_a_validator() {
        for (rule, schema, expected) in [
            ("CALL-10: an external reference", json!({"$ref": "https://example.com/a.json"}), Some("does not resolve")),
            ("CALL-10: a file", json!({"$ref": "other.json#/a"}), Some("does not resolve")),
            ("CALL-10: itself", json!({"$ref": "#"}), Some("back to itself")),
            (
                "CALL-10: itself through others",
                json!({"$ref": "#/a", "a": {"anyOf": [{"type": "null"}, {"$ref": "#/b"}]}, "b": {"not": {"$ref": "#/a"}}}),
                Some("back to itself"),
            ),
            ("CALL-10: recursion into the value", json!({"properties": {"child": {"$ref": "#"}}}), None),
            ("CALL-10: a missing target", json!({"$ref": "#/$defs/a"}), Some("does not resolve")),
            ("CALL-10: a property named $ref", json!({"properties": {"$ref": {"type": "string"}}}), None),
            (
                "CALL-10: its own id",
                json!({"$id": "https://x.y/a", "$ref": "https://x.y/a#/$defs/b", "$defs": {"b": true}}),
                None,
            ),
            ("CALL-10: too large", json!({"anyOf": vec![json!({}); MAX_NODES]}), Some("subschemas")),
        ] {
            let refusal = read(&schema).refusal;
            match expected {
                None => assert_eq!(refusal, None, "{rule}"),
                Some(part) => {
                    assert!(refusal.as_deref().is_some_and(|text| text.contains(part)), "{rule}: {refusal:?}")
                }
            }
        }
    }

    #[test]
    fn declared_parameters_are_found_through_references() {
        let schema = json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"properties": {"title": {}}}}});
        let schema = read(&schema).schema;
        assert!(schema.declares("title") && !schema.declares("name"));
    }
}
