//! Whether a check may be begun: the work and the stack it would take, counted before it is done.
//!
//! A validator follows references and collects the errors of every alternative, so a small schema can ask for
//! exponential work, and a call has nobody to interrupt it. Without references the product of both sizes
//! bounds the work; otherwise, or where that is too coarse, the evaluation is walked through beforehand with
//! every branch taken, which is never less than what the validator does.

use serde_json::Value;

use super::schema::{Additional, NodeId, Schema};

/// Work below which nothing is walked, in (node, value) pairs.
const CHEAP: u64 = 50_000;
/// Work beyond which nothing is checked. About 50 ns each in the validator.
const MAX_WORK: u64 = 2_000_000;
/// Nesting of one evaluation, which is what takes stack.
const MAX_DEPTH: usize = 400;
/// Bytes of text that count as one step.
const TEXT_STEP: usize = 32;

/// Why a check of this value would be too much, if it would.
pub fn refusal(schema: &Schema, value: &Value) -> Option<&'static str> {
    let weight = weight(value, 0);
    if !schema.refers && (schema.nodes.len() as u64).saturating_mul(weight) <= CHEAP {
        return None;
    }
    let mut walk = Walk { schema, left: MAX_WORK, refusal: None };
    walk.node(0, value, 0, 1);
    walk.refusal
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

struct Walk<'a> {
    schema: &'a Schema,
    left: u64,
    refusal: Option<&'static str>,
}

impl Walk<'_> {
    fn spend(&mut self, work: u64) {
        match self.left.checked_sub(work) {
            Some(left) => self.left = left,
            None => self.refusal = Some("checking these arguments against the schema would take too long"),
        }
    }

    /// `factor` is how often the validator comes by: once, and once more for every alternative around it, since
    /// an alternative is first tried and then asked for its errors.
    fn node(&mut self, id: NodeId, value: &Value, depth: usize, factor: u64) {
        if depth > MAX_DEPTH {
            self.refusal = Some("the schema leads too deep for these arguments");
        }
        if self.refusal.is_some() {
            return;
        }
        let node = &self.schema.nodes[id];
        let texts = match value {
            Value::String(text) => 1 + text.len() / TEXT_STEP,
            Value::Object(members) => members.keys().map(|name| 1 + name.len() / TEXT_STEP).sum(),
            _ => 0,
        };
        let literals = node.literals.as_ref().map_or(0, |literals| literals.len() / 8);
        self.spend(factor.saturating_mul((1 + literals + texts * (node.patterns + node.any_member.len())) as u64));
        let mut factor = factor;
        if node.revisits {
            self.spend(factor.saturating_mul(weight(value, depth)));
            factor += 1;
        }
        for &to in node.all_of.iter().chain(&node.aside) {
            self.node(to, value, depth + 1, factor);
        }
        for choice in &node.choices {
            // The errors of an alternative hold copies of what they speak of.
            self.spend((choice.len() as u64).saturating_mul(weight(value, depth)));
            for &to in choice {
                self.node(to, value, depth + 1, factor + 1);
            }
        }
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    if let Some(&to) = node.properties.get(name.as_str()) {
                        self.node(to, value, depth + 1, factor);
                    } else if let Additional::Follow(to) = node.additional {
                        self.node(to, value, depth + 1, factor);
                    }
                    for &to in &node.any_member {
                        self.node(to, value, depth + 1, factor);
                    }
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    if let Some(&to) = node.prefix.get(at).or(node.rest.as_ref()) {
                        self.node(to, item, depth + 1, factor);
                    }
                    for &to in &node.any_item {
                        self.node(to, item, depth + 1, factor);
                    }
                }
            }
            _ => {}
        }
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
