//! Whether a check may be begun: the work and the stack it would take, counted before it is done.
//!
//! A validator follows references and collects the errors of every alternative, so a small schema can ask for
//! exponential work, and a call has nobody to interrupt it. Without references the product of both sizes
//! bounds the work. Otherwise, or where that is too coarse, every pair of a node and a value that can meet is
//! visited once, and how often they meet is added up: never less than what the validator does.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::schema::{Additional, NodeId, Schema, address};

/// Work below which nothing is counted, in (node, value) pairs.
const CHEAP: u64 = 50_000;
/// Work beyond which nothing is checked. About 50 ns each in the validator.
const MAX_WORK: u64 = 2_000_000;
/// Pairs beyond which counting itself takes too long.
const MAX_PAIRS: u64 = 500_000;
/// Nesting of one evaluation, which is what takes stack.
const MAX_DEPTH: usize = 400;
/// Bytes of text that count as one step.
const TEXT_STEP: usize = 32;

/// Why a check of this value would be too much, if it would.
pub fn refusal(schema: &Schema, value: &Value) -> Option<&'static str> {
    if !schema.refers && (schema.nodes.len() as u64).saturating_mul(weight(value, 0)) <= CHEAP {
        return None;
    }
    let mut count = Count { schema, known: FxHashMap::default(), pairs: MAX_PAIRS };
    match count.pair(0, value, 0) {
        None => Some("the schema leads too deep for these arguments, or to too many places"),
        Some(cost) if cost.work.saturating_add(cost.again) > MAX_WORK => {
            Some("checking these arguments against the schema would take too long")
        }
        Some(_) => None,
    }
}

/// Levels of arrays and objects in a value.
pub fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

/// Size of a value: one for each part, and its text.
pub fn weight(value: &Value, depth: usize) -> u64 {
    if depth > MAX_DEPTH {
        return u64::MAX;
    }
    let inner = match value {
        Value::String(text) => (text.len() / TEXT_STEP) as u64,
        Value::Array(items) => items.iter().fold(0u64, |sum, item| sum.saturating_add(weight(item, depth + 1))),
        Value::Object(members) => members.iter().fold(0u64, |sum, (name, value)| {
            sum.saturating_add((name.len() / TEXT_STEP) as u64).saturating_add(weight(value, depth + 1))
        }),
        _ => 0,
    };
    inner.saturating_add(1)
}

/// What evaluating a value against a node takes.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    /// Steps of one evaluation.
    work: u64,
    /// Steps taken again: an alternative is first tried and then asked for its errors, which hold copies.
    again: u64,
    /// Nesting of the evaluation.
    height: usize,
}

impl Cost {
    fn add(&mut self, part: Self) {
        self.work = self.work.saturating_add(part.work);
        self.again = self.again.saturating_add(part.again);
        self.height = self.height.max(part.height + 1);
    }
}

struct Count<'a> {
    schema: &'a Schema,
    known: FxHashMap<(NodeId, usize), Cost>,
    pairs: u64,
}

impl Count<'_> {
    fn spend(&mut self, pairs: u64) -> Option<()> {
        self.pairs = self.pairs.checked_sub(pairs)?;
        Some(())
    }

    /// The cost of a pair, `None` where it leads too deep or counting took too long.
    fn pair(&mut self, id: NodeId, value: &Value, depth: usize) -> Option<Cost> {
        let schema = self.schema;
        let node = &schema.nodes[id];
        // A pair that leads nowhere is counted faster than remembered.
        let leads = value.is_array() || value.is_object() || node.leads_on();
        if leads && let Some(&cost) = self.known.get(&(id, address(value))) {
            return (depth + cost.height <= MAX_DEPTH).then_some(cost);
        }
        if depth > MAX_DEPTH {
            return None;
        }
        let breadth = match value {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        self.spend(1 + breadth as u64 / 8)?;
        let texts = match value {
            Value::String(text) => 1 + text.len() / TEXT_STEP,
            Value::Object(members) => members.keys().map(|name| 1 + name.len() / TEXT_STEP).sum(),
            _ => 0,
        };
        let literals = node.literals.as_ref().map_or(0, |literals| literals.len() / 8);
        let own = 1 + literals + texts * (node.patterns + node.any_member.len());
        let mut cost = Cost { work: own as u64, again: 0, height: 0 };
        for &to in node.all_of.iter().chain(&node.aside) {
            cost.add(self.pair(to, value, depth + 1)?);
        }
        for choice in &node.choices {
            let weight = weight(value, depth);
            self.spend(weight / 8)?;
            let copies = (choice.len() as u64).saturating_mul(weight);
            cost.again = cost.again.saturating_add(copies);
            for &to in choice {
                let mut part = self.pair(to, value, depth + 1)?;
                part.again = part.again.saturating_add(part.work);
                cost.add(part);
            }
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if let Some(&to) = node.properties.get(name.as_str()) {
                        cost.add(self.pair(to, member, depth + 1)?);
                    } else if let Additional::Follow(to) = node.additional {
                        cost.add(self.pair(to, member, depth + 1)?);
                    }
                    for &to in &node.any_member {
                        cost.add(self.pair(to, member, depth + 1)?);
                    }
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    if let Some(&to) = node.prefix.get(at).or(node.rest.as_ref()) {
                        cost.add(self.pair(to, item, depth + 1)?);
                    }
                    for &to in &node.any_item {
                        cost.add(self.pair(to, item, depth + 1)?);
                    }
                }
            }
            _ => {}
        }
        if node.revisits {
            let weight = weight(value, depth);
            self.spend(weight / 8)?;
            cost.again = cost.again.saturating_add(cost.work).saturating_add(weight);
        }
        if leads {
            self.known.insert((id, address(value)), cost);
        }
        Some(cost)
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;
    use serde_json::json;

    /// `#/$defs/0` refers twice to `#/$defs/1`, and so on: 2^n visits.
    fn doubling(keyword: &str, n: usize) -> Value {
        let defs: serde_json::Map<_, _> = (0..n)
            .map(|at| {
                let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
                (at.to_string(), json!({keyword: [next, next]}))
            })
            .chain([(n.to_string(), json!({"type": "integer"}))])
            .collect();
        json!({"$ref": "#/$defs/0", "$defs": defs})
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inner, _| json!({"child": inner}))
    }

    #[test]
    fn work_is_bounded_before_it_is_done() {
        let tree = json!({"properties": {"child": {"$ref": "#"}}});
        for (rule, schema, value, refused) in [
            ("CALL-10: a plain call", json!({"properties": {"a": {}}}), json!({"a": 1}), false),
            ("CALL-10: a tree", tree.clone(), nested(100), false),
            ("CALL-10: a tree without end", tree, nested(390), true),
            ("CALL-10: doubling a little", doubling("allOf", 5), json!({}), false),
            ("CALL-10: doubling allOf", doubling("allOf", 40), json!({}), true),
            ("CALL-10: doubling anyOf", doubling("anyOf", 40), json!({}), true),
            (
                "CALL-10: a large value under a small schema",
                json!({"properties": {"a": {}}}),
                json!({"a": vec![0; 100_000]}),
                false,
            ),
            (
                "CALL-10: many alternatives for a large value",
                json!({"properties": {"a": {"anyOf": vec![json!({"type": "null"}); 500]}}}),
                json!({"a": vec![0; 100_000]}),
                true,
            ),
        ] {
            let schema = schema::read(&schema).schema;
            assert_eq!(refusal(&schema, &value).is_some(), refused, "{rule}");
        }
    }
}
