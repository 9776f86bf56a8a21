//! The patterns of transcripts: what a message must look like. See `protocol/transcripts/README.md`.
//!
//! Works on JSON text and not on parsed values, so that `$text` can hold a value to its very bytes.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Names bound by `$bind`, with the strings they stand for.
pub type Bindings = BTreeMap<String, String>;

/// Whether the JSON text `actual` is what `pattern` says; the error says where it is not.
pub fn check(pattern: &Value, actual: &str, bindings: &mut Bindings) -> Result<(), String> {
    Check { exact: false, bindings }.value(pattern, actual, "")
}

struct Check<'a> {
    /// Inside `$exact`: objects have no members but those named.
    exact: bool,
    bindings: &'a mut Bindings,
}

impl Check<'_> {
    fn value(&mut self, pattern: &Value, actual: &str, at: &str) -> Result<(), String> {
        match pattern {
            Value::Object(members) => match members.iter().next() {
                Some((operator, operand)) if operator.starts_with('$') && members.len() == 1 => {
                    self.operator(operator, operand, actual, at)
                }
                _ => self.object(members, actual, at),
            },
            Value::Array(items) => {
                let actual = array(actual).ok_or_else(|| differs(at, pattern, actual))?;
                if items.len() != actual.len() {
                    return Err(format!(
                        "{at}: {} items expected, {} came: {}",
                        items.len(),
                        actual.len(),
                        list(&actual)
                    ));
                }
                let mut pairs = items.iter().zip(&actual).enumerate();
                pairs.try_for_each(|(index, (item, actual))| self.value(item, actual.get(), &format!("{at}/{index}")))
            }
            scalar => match serde_json::from_str::<Value>(actual) {
                Ok(actual) if actual == *scalar => Ok(()),
                _ => Err(differs(at, scalar, actual)),
            },
        }
    }

    fn object(&mut self, members: &Map<String, Value>, actual: &str, at: &str) -> Result<(), String> {
        let Ok(actual) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(actual) else {
            return Err(format!("{at}: an object expected, {actual} came"));
        };
        for (name, pattern) in members {
            let at = format!("{at}/{name}");
            let wants_none = pattern.get("$absent").is_some();
            match actual.get(name) {
                None if wants_none => {}
                None => return Err(format!("{at}: absent, {pattern} expected")),
                Some(actual) if wants_none => return Err(format!("{at}: must be absent, {} came", actual.get())),
                Some(actual) => self.value(pattern, actual.get(), &at)?,
            }
        }
        match actual.keys().find(|name| self.exact && !members.contains_key(*name)) {
            Some(name) => Err(format!("{at}/{name}: not expected")),
            None => Ok(()),
        }
    }

    fn operator(&mut self, operator: &str, operand: &Value, actual: &str, at: &str) -> Result<(), String> {
        let parsed: Value = serde_json::from_str(actual).map_err(|error| format!("{at}: no JSON: {error}"))?;
        match (operator, operand) {
            ("$any", _) => Ok(()),
            ("$type", Value::String(wanted)) if kind(&parsed) == wanted => Ok(()),
            ("$type", wanted) => Err(format!("{at}: of type {wanted} expected, {actual} came")),
            ("$text", Value::String(wanted)) if actual == wanted => Ok(()),
            ("$text", Value::String(wanted)) => {
                Err(format!("{at}: the text differs\n  expected {wanted}\n  came     {actual}"))
            }
            ("$regex", Value::String(regex)) => match parsed.as_str() {
                Some(text) if finds(regex, text)? => Ok(()),
                _ => Err(format!("{at}: text like /{regex}/ expected, {actual} came")),
            },
            ("$bind", Value::String(name)) => match parsed {
                Value::String(text) => {
                    self.bindings.insert(name.clone(), text);
                    Ok(())
                }
                _ => Err(format!("{at}: a string to bind `{name}` to expected, {actual} came")),
            },
            ("$exact", pattern) => {
                let before = std::mem::replace(&mut self.exact, true);
                let outcome = self.value(pattern, actual, at);
                self.exact = before;
                outcome
            }
            ("$unordered", Value::Array(items)) => self.unordered(items, actual, at),
            _ => Err(format!("{at}: the transcript uses an unknown operator {operator}: {operand}")),
        }
    }

    /// Each pattern takes the first item that is left and fits it.
    fn unordered(&mut self, items: &[Value], actual: &str, at: &str) -> Result<(), String> {
        let mut left = array(actual).ok_or_else(|| format!("{at}: an array expected, {actual} came"))?;
        if items.len() != left.len() {
            return Err(format!("{at}: {} items expected, {} came: {}", items.len(), left.len(), list(&left)));
        }
        for item in items {
            let found = left.iter().position(|actual| self.value(item, actual.get(), at).is_ok());
            let found = found.ok_or_else(|| format!("{at}: {item} fits none of {}", list(&left)))?;
            left.remove(found);
        }
        Ok(())
    }
}

fn array(text: &str) -> Option<Vec<Box<RawValue>>> {
    serde_json::from_str(text).ok()
}

fn list(items: &[Box<RawValue>]) -> String {
    items.iter().map(|item| item.get()).collect::<Vec<_>>().join(", ")
}

fn differs(at: &str, expected: &Value, actual: &str) -> String {
    format!("{at}: {expected} expected, {actual} came")
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// ECMA-262 regular expressions are what JSON Schema's `pattern` takes, so its validator finds them for us.
fn finds(regex: &str, text: &str) -> Result<bool, String> {
    let schema = serde_json::json!({ "pattern": regex });
    let validator = jsonschema::validator_for(&schema).map_err(|error| format!("/{regex}/: {error}"))?;
    Ok(validator.is_valid(&text.into()))
}

#[test]
fn patterns() {
    for (label, pattern, actual, fits) in [
        ("an object is a subset", r#"{"a":1}"#, r#"{"a":1,"b":2}"#, true),
        ("a member is missing", r#"{"a":1}"#, r#"{"b":2}"#, false),
        ("exact: no other member", r#"{"$exact":{"a":1}}"#, r#"{"a":1,"b":2}"#, false),
        ("exact reaches inside", r#"{"$exact":{"a":[{}]}}"#, r#"{"a":[{"b":2}]}"#, false),
        ("exact takes operators", r#"{"$exact":{"a":{"$any":true}}}"#, r#"{"a":{"b":2}}"#, true),
        ("absent", r#"{"a":{"$absent":true}}"#, r#"{"b":1}"#, true),
        ("absent, but there", r#"{"a":{"$absent":true}}"#, r#"{"a":null}"#, false),
        ("an array is whole", "[1]", "[1,2]", false),
        ("an array is in order", "[1,2]", "[2,1]", false),
        ("unordered", r#"{"$unordered":[1,2]}"#, "[2,1]", true),
        ("unordered, one wrong", r#"{"$unordered":[1,1]}"#, "[2,1]", false),
        ("type", r#"{"$type":"string"}"#, r#""x""#, true),
        ("another type", r#"{"$type":"string"}"#, "1", false),
        ("regex finds anywhere", r#"{"$regex":"b.d$"}"#, r#""abcd""#, true),
        ("regex does not find", r#"{"$regex":"^b"}"#, r#""abcd""#, false),
        ("text is bytes", r#"{"$text":"1.50"}"#, "1.50", true),
        ("text is not a value", r#"{"$text":"1.50"}"#, "1.5", false),
        ("an unknown operator never fits", r#"{"$like":1}"#, "1", false),
    ] {
        let outcome = check(&serde_json::from_str(pattern).expect(label), actual, &mut Bindings::new());
        assert_eq!(outcome.is_ok(), fits, "{label}: {outcome:?}");
    }
    let mut bindings = Bindings::new();
    check(&serde_json::json!([{ "$bind": "it" }]), r#"["x"]"#, &mut bindings).expect("a string");
    assert_eq!(bindings["it"], "x");
}
