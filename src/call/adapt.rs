//! The copy of a schema that the validator compiles.
//!
//! Three differences from what was registered: `nullable: true` takes null, as in OpenAPI; a `pattern` that the
//! linear-time engine cannot take (look-around, back-references, an automaton too large) is dropped; and so is a
//! `required` that is no array of strings.
//! Literals are copied as they stand: a change happens only at the address of a subschema.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value, json};

use super::pattern;
use super::schema::{Sites, address, restricts_null};

/// The copy and the patterns that were dropped, each once, or why the schema cannot be checked.
///
/// `compiles` tells whether the engine takes a pattern. A pattern whose absence could make the whole stricter
/// (a key of `patternProperties`, or one below `not`, `if`, `oneOf` or `contains`) is not dropped: then nothing
/// is checked.
pub fn adapt(root: &Value, sites: &Sites, compiles: impl Fn(&str) -> bool) -> Result<(Value, Vec<String>), String> {
    let mut known: FxHashMap<&str, bool> = FxHashMap::default();
    let mut total: u64 = 0;
    let mut takes = |text| {
        *known.entry(text).or_insert_with(|| {
            let size = pattern::estimate(text);
            let fits = total.saturating_add(size) <= pattern::MAX_TOTAL;
            if fits {
                total += size;
            }
            fits && compiles(text)
        })
    };
    let refused =
        |text: &str| format!("the pattern {:?} cannot be matched in linear time", super::excerpt::clip(text, 80));
    if let Some(text) = sites.member_patterns.iter().find(|text| !takes(text.as_str())) {
        return Err(refused(text));
    }
    let mut dropped = FxHashSet::default();
    let mut texts: Vec<String> = Vec::new();
    for pattern in &sites.patterns {
        if !takes(pattern.text.as_str()) {
            if pattern.inverted {
                return Err(refused(&pattern.text));
            }
            dropped.insert(pattern.at);
            texts.push(pattern.text.clone());
        }
    }
    texts.sort_unstable();
    texts.dedup();
    Ok((copy(root, sites, &dropped)?, texts))
}

/// Copies a value; recursion is bounded by the nesting that the JSON parser lets through.
fn copy(value: &Value, sites: &Sites, dropped: &FxHashSet<usize>) -> Result<Value, String> {
    match value {
        Value::Array(items) => {
            items.iter().map(|item| copy(item, sites, dropped)).collect::<Result<_, _>>().map(Value::Array)
        }
        Value::Object(object) => {
            let mut copied = Map::with_capacity(object.len());
            for (key, value) in object {
                copied.insert(key.clone(), copy(value, sites, dropped)?);
            }
            if dropped.contains(&address(value)) {
                copied.shift_remove("pattern");
            }
            if sites.malformed_required.contains(&address(value)) {
                copied.shift_remove("required");
            }
            if sites.nullable.contains(&address(value)) {
                return nullable(copied, sites.passed.contains(&address(value)));
            }
            Ok(Value::Object(copied))
        }
        other => Ok(other.clone()),
    }
}

/// A subschema with `nullable: true`, so written that null meets it.
fn nullable(mut object: Map<String, Value>, passed: bool) -> Result<Value, String> {
    object.shift_remove("nullable");
    if !restricts_null(&object) {
        match object.get_mut("type") {
            Some(Value::Array(types)) if types.iter().any(|t| t == "null") => {}
            Some(Value::Array(types)) => types.push(json!("null")),
            Some(one) if one != "null" => *one = json!([one.take(), "null"]),
            _ => {}
        }
        return Ok(Value::Object(object));
    }
    if passed {
        // Wrapping would move what a reference points at.
        return Err("a reference leads through a subschema with `nullable`".to_owned());
    }
    Ok(json!({"anyOf": [{"type": "null"}, object]}))
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    fn adapted(schema: &Value) -> Result<Value, String> {
        adapt(schema, &schema::read(schema).sites, |pattern| !pattern.contains("(?")).map(|(copy, _)| copy)
    }

    #[test]
    fn copies() {
        for (rule, schema, expected) in [
            (
                "CALL-9: nullable adds a type",
                json!({"type": "string", "nullable": true}),
                json!({"type": ["string", "null"]}),
            ),
            (
                "CALL-9: nullable adds to types",
                json!({"type": ["string", "null"], "nullable": true}),
                json!({"type": ["string", "null"]}),
            ),
            (
                "CALL-9: nullable beside a reference",
                json!({"properties": {"a": {"$ref": "#/d/x", "nullable": true}}, "d": {"x": {}}}),
                json!({"properties": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#/d/x"}]}}, "d": {"x": {}}}),
            ),
            (
                "CALL-9: nullable where only a reference finds it",
                json!({"$ref": "#/x/y", "x": {"y": {"type": "object", "nullable": true}}}),
                json!({"$ref": "#/x/y", "x": {"y": {"type": ["object", "null"]}}}),
            ),
            (
                "CALL-9: a property named nullable is none",
                json!({"properties": {"nullable": {"type": "boolean"}, "type": {"type": "string"}}}),
                json!({"properties": {"nullable": {"type": "boolean"}, "type": {"type": "string"}}}),
            ),
            (
                "CALL-9: literals are never rewritten",
                json!({"const": {"type": "string", "nullable": true}, "enum": [{"type": "a", "nullable": true}],
                       "default": {"type": "a", "nullable": true}, "examples": [{"type": "a", "nullable": true}]}),
                json!({"const": {"type": "string", "nullable": true}, "enum": [{"type": "a", "nullable": true}],
                       "default": {"type": "a", "nullable": true}, "examples": [{"type": "a", "nullable": true}]}),
            ),
            ("CALL-10: look-around is dropped", json!({"pattern": "(?=a)", "minLength": 1}), json!({"minLength": 1})),
            ("CALL-10: too large is dropped", json!({"pattern": "((a{99}){99}){99}"}), json!({})),
            (
                "CALL-10: a property named pattern is none",
                json!({"properties": {"pattern": {"type": "string", "default": "(?=a)"}}}),
                json!({"properties": {"pattern": {"type": "string", "default": "(?=a)"}}}),
            ),
        ] {
            assert_eq!(adapted(&schema), Ok(expected), "{rule}");
        }
    }

    #[test]
    fn what_cannot_be_weakened_is_refused() {
        for (rule, schema) in [
            ("CALL-10: under not", json!({"not": {"pattern": "(?=a)"}})),
            (
                "CALL-10: under not, by a reference",
                json!({"not": {"properties": {"a": {"$ref": "#/$defs/a"}}}, "$defs": {"a": {"pattern": "(?=a)"}}}),
            ),
            ("CALL-10: under oneOf", json!({"oneOf": [{"pattern": "(?=a)"}, {"minLength": 3}]})),
            ("CALL-10: as a key", json!({"patternProperties": {"(?=a)": {}}, "additionalProperties": false})),
            (
                "CALL-9: nullable on the way of a reference",
                json!({"properties": {
                "a": {"enum": [null, {}], "nullable": true, "properties": {"b": {}}},
                "c": {"$ref": "#/properties/a/properties/b"}}}),
            ),
        ] {
            assert!(adapted(&schema).is_err(), "{rule}");
        }
    }
}
