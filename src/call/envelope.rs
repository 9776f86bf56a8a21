//! The envelope of `tool_call`: which tools, with which arguments (CALL-1, CALL-2, CALL-12).
//!
//! Reads what models send and refuses a batch that cannot be run whole. Whether a name exists, and whether it
//! may be called, is not decided here.

use serde_json::{Map, Value, json};

use super::arguments::{Problem, kind, over_cap, read_object};
use super::excerpt;

/// Most calls in one `tool_call` (CONFIG-3).
pub const MAX_CALLS: usize = 10;
/// What the names of remote tools begin with; only these can share one `tool_call`.
pub const CONNECTOR_PREFIX: &str = "connectors__";
/// Bytes of the caller's own arguments in an error.
const OWN_ARGUMENTS: usize = 1_000;

/// One call as it was meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Members that stood beside `name` and `arguments`, in their order.
    pub flattened: Map<String, Value>,
    /// What was read otherwise than it was sent, one text each (CALL-11).
    pub repairs: Vec<String>,
}

impl Entry {
    /// Takes the members beside `name` as the arguments, when there are no arguments, the tool's schema knows
    /// every one of them and has no parameter `name` or `arguments` of its own (CALL-12).
    pub fn unflatten(&mut self, declares: impl Fn(&str) -> bool) {
        let meant = self.arguments.is_empty()
            && !self.flattened.is_empty()
            && !declares("name")
            && !declares("arguments")
            && self.flattened.keys().all(|member| declares(member));
        if meant {
            self.arguments = std::mem::take(&mut self.flattened);
            let names = excerpt::list(self.arguments.keys(), 200, |name| format!("`{}`", excerpt::clip(name, 80)));
            self.repairs.push(format!("arguments: {names} stood beside `name` and were taken as its arguments"));
        }
    }
}

/// The calls of one `tool_call`: one of a local tool, or up to [`MAX_CALLS`] of connector tools.
pub fn parse(arguments: Option<Value>) -> Result<Vec<Entry>, Problem> {
    let mut repairs = Vec::new();
    let calls = match calls(arguments, &mut repairs)? {
        Value::Array(calls) => calls,
        one => vec![one],
    };
    if calls.len() > MAX_CALLS {
        return Err(over_cap("calls", calls.len(), MAX_CALLS));
    }
    if calls.is_empty() {
        return Err(form("`calls` is empty"));
    }
    let entries = calls
        .into_iter()
        .enumerate()
        .map(|(at, call)| entry(at, call, repairs.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    refuse_mixed(entries)
}

/// What stands for `calls`: an array, or one call.
fn calls(arguments: Option<Value>, repairs: &mut Vec<String>) -> Result<Value, Problem> {
    let mut object = match text_read(arguments, "arguments", repairs)? {
        Value::Object(object) => object,
        // The array where the object that holds it should stand.
        calls @ Value::Array(_) => return Ok(calls),
        Value::Null => return Err(form("`tool_call` names no tool")),
        other => return Err(form(&format!("`arguments` is {}", kind(&other)))),
    };
    match text_read(object.shift_remove("calls"), "calls", repairs)? {
        calls @ (Value::Array(_) | Value::Object(_)) => Ok(calls),
        // The older form, one call without `calls`.
        Value::Null if object.contains_key("name") => Ok(Value::Object(object)),
        Value::Null => Err(form("`calls` is absent")),
        other => Err(form(&format!("`calls` is {}", kind(&other)))),
    }
}

/// A value, or the one that it spells as JSON text; null where it is absent or blank.
fn text_read(value: Option<Value>, what: &str, repairs: &mut Vec<String>) -> Result<Value, Problem> {
    match value {
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Value::Null),
        Some(Value::String(text)) => {
            let read = serde_json::from_str(&text)
                .map_err(|error| form(&format!("`{what}` is text that is not valid JSON ({error})")))?;
            if what == "calls" {
                repairs.push("calls: JSON text read as what it spells".to_owned());
            }
            Ok(read)
        }
        other => Ok(other.unwrap_or(Value::Null)),
    }
}

fn entry(at: usize, call: Value, mut repairs: Vec<String>) -> Result<Entry, Problem> {
    let mut call = match call {
        Value::Object(call) => call,
        other => return Err(form(&format!("entry {at} of `calls` is {}", kind(&other)))),
    };
    let name = match call.shift_remove("name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name.trim().to_owned(),
        Some(Value::String(_)) => return Err(form(&format!("entry {at} of `calls` has a blank `name`"))),
        Some(Value::Null) | None => return Err(form(&format!("entry {at} of `calls` has no `name`"))),
        Some(other) => return Err(form(&format!("entry {at} of `calls`: `name` is {}", kind(&other)))),
    };
    let given = call.shift_remove("arguments");
    let spelled = matches!(&given, Some(Value::String(text)) if !text.trim().is_empty());
    let arguments = read_object(given).map_err(|got| {
        let name = excerpt::clip(&name, 128);
        form(&format!("entry {at} of `calls` (`{name}`): `arguments` must be an object, not {got}"))
    })?;
    if spelled {
        repairs.push("arguments: JSON text read as an object".to_owned());
    }
    Ok(Entry { name, arguments, flattened: call, repairs })
}

/// A batch runs whole or not at all: one local tool, or connector tools only.
fn refuse_mixed(entries: Vec<Entry>) -> Result<Vec<Entry>, Problem> {
    let local = entries.iter().filter(|entry| !entry.name.starts_with(CONNECTOR_PREFIX)).count();
    let why = match (entries.len(), local) {
        (1, _) | (_, 0) => return Ok(entries),
        (all, local) if all == local => "several local tools cannot share one `tool_call`",
        _ => "local tools and `connectors__` tools cannot share one `tool_call`",
    };
    let example = entries.first().map_or(Value::Null, |first| {
        let given = if first.arguments.is_empty() { &first.flattened } else { &first.arguments };
        let whole = Value::Object(given.clone());
        let text = excerpt::of(&whole, OWN_ARGUMENTS);
        let arguments = if text.ends_with('…') { json!({}) } else { whole };
        json!({"calls": [{"name": excerpt::clip(&first.name, 128), "arguments": arguments}]})
    });
    Err(Problem::new(format!("Nothing was invoked: {why}. Send one call each, this one first: {example}")))
}

fn form(what: &str) -> Problem {
    Problem::new(format!(
        r#"Nothing was invoked: {what}. Send {{"calls": [{{"name": "tool_name", "arguments": {{…}}}}]}}."#
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(arguments: Value) -> Result<String, String> {
        parse(Some(arguments)).map_err(|problem| problem.error).map(|entries| {
            let shown =
                entries.iter().map(|entry| format!("{} {}", entry.name, Value::Object(entry.arguments.clone())));
            shown.collect::<Vec<_>>().join("; ")
        })
    }

    #[test]
    fn envelopes() {
        let a = json!({"name": "a", "arguments": {"x": 1}});
        let connector = json!({"name": "connectors__gmail__send", "arguments": {}});
        for (rule, given, expected) in [
            ("CALL-1: an array of one", json!({"calls": [a]}), Ok(r#"a {"x":1}"#)),
            ("CALL-1: one object", json!({"calls": a}), Ok(r#"a {"x":1}"#)),
            ("CALL-1: the array as text", json!({"calls": json!([a]).to_string()}), Ok(r#"a {"x":1}"#)),
            ("CALL-1: the object as text", json!({"calls": a.to_string()}), Ok(r#"a {"x":1}"#)),
            ("CALL-1: all of it as text", json!(json!({"calls": [a]}).to_string()), Ok(r#"a {"x":1}"#)),
            ("CALL-1: the array without `calls`", json!([a]), Ok(r#"a {"x":1}"#)),
            ("CALL-1: the old form", a.clone(), Ok(r#"a {"x":1}"#)),
            ("CALL-1: the old form beside null", json!({"calls": null, "name": "a"}), Ok("a {}")),
            ("CALL-1: arguments as text", json!({"name": "a", "arguments": r#"{"x": 1}"#}), Ok(r#"a {"x":1}"#)),
            ("CALL-1: arguments null", json!({"name": "a", "arguments": null}), Ok("a {}")),
            ("CALL-1: arguments absent", json!({"name": " a "}), Ok("a {}")),
            ("CALL-1: arguments blank", json!({"name": "a", "arguments": " "}), Ok("a {}")),
            (
                "CALL-1: arguments an array",
                json!({"calls": [{"name": "a", "arguments": [1]}]}),
                Err("entry 0 of `calls` (`a`): `arguments` must be an object, not an array"),
            ),
            (
                "CALL-1: arguments broken text",
                json!({"calls": [{"name": "a", "arguments": "{x"}]}),
                Err("not valid JSON"),
            ),
            ("CALL-1: no name", json!({"calls": [{"arguments": {}}]}), Err("entry 0 of `calls` has no `name`")),
            ("CALL-1: a blank name", json!({"calls": [{"name": " "}]}), Err("entry 0 of `calls` has a blank `name`")),
            (
                "CALL-1: a name that is none",
                json!({"calls": [connector, {"name": 5}]}),
                Err("entry 1 of `calls`: `name` is a number"),
            ),
            (
                "CALL-1: an entry that is none",
                json!({"calls": [connector, "a"]}),
                Err("entry 1 of `calls` is a string"),
            ),
            ("CALL-1: calls of another kind", json!({"calls": 5}), Err("`calls` is a number")),
            ("CALL-1: broken text", json!({"calls": "[{"}), Err("not valid JSON")),
            ("CALL-1: nothing", json!({}), Err("`calls` is absent")),
            ("CALL-1: null", json!(null), Err("names no tool")),
            ("CALL-1: an empty array", json!({"calls": []}), Err("`calls` is empty")),
            ("CALL-1: endless nesting", json!({"calls": "[".repeat(100_000)}), Err("not valid JSON")),
            (
                "CALL-1: the valid form is told",
                json!({}),
                Err(r#"{"calls": [{"name": "tool_name", "arguments": {…}}]}"#),
            ),
            (
                "CALL-2: several connectors",
                json!({"calls": [connector, connector]}),
                Ok("connectors__gmail__send {}; connectors__gmail__send {}"),
            ),
            (
                "CALL-2: several local tools",
                json!({"calls": [a, a]}),
                Err(r#"this one first: {"calls":[{"name":"a","arguments":{"x":1}}]}"#),
            ),
            (
                "CALL-2: a mix",
                json!({"calls": [connector, a]}),
                Err(r#"{"calls":[{"name":"connectors__gmail__send","arguments":{}}]}"#),
            ),
            (
                "CONFIG-3: ten are taken",
                json!({"calls": vec![json!({"name": "connectors__a__b"}); 10]}),
                Ok("connectors__a__b"),
            ),
            (
                "CONFIG-3: eleven are not",
                json!({"calls": vec![json!({"name": "connectors__a__b"}); 11]}),
                Err("at most 10"),
            ),
        ] {
            match (shown(given), expected) {
                (Ok(got), Ok(expected)) => assert!(got.starts_with(expected), "{rule}: {got}"),
                (Err(got), Err(part)) => assert!(got.contains(part), "{rule}: {got}"),
                (got, expected) => panic!("{rule}: {got:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn a_refused_batch_never_echoes_megabytes() {
        let huge = json!({"name": "a", "arguments": {"x": "y".repeat(1 << 20)}});
        assert!(shown(json!({"calls": [huge, huge]})).unwrap_err().len() < 500);
    }

    #[test]
    fn flattened_envelopes() {
        for (rule, given, parameters, expected) in [
            (
                "CALL-12: known members",
                json!({"name": "a", "title": 1, "body": 2}),
                &["title", "body"][..],
                r#"{"title":1,"body":2}"#,
            ),
            ("CALL-12: in an array too", json!({"calls": [{"name": "a", "title": 1}]}), &["title"], r#"{"title":1}"#),
            (
                "CALL-12: a blank `arguments` beside",
                json!({"name": "a", "arguments": {}, "title": 1}),
                &["title"],
                r#"{"title":1}"#,
            ),
            ("CALL-12: an unknown member", json!({"name": "a", "title": 1, "id": 2}), &["title"], "{}"),
            (
                "CALL-12: arguments of their own",
                json!({"name": "a", "arguments": {"x": 1}, "title": 1}),
                &["title", "x"],
                r#"{"x":1}"#,
            ),
            ("CALL-12: a parameter `name`", json!({"name": "a", "title": 1}), &["title", "name"], "{}"),
            ("CALL-12: a parameter `arguments`", json!({"name": "a", "title": 1}), &["title", "arguments"], "{}"),
        ] {
            let mut entry = parse(Some(given)).unwrap().remove(0);
            let before = entry.arguments.clone();
            entry.unflatten(|name| parameters.contains(&name));
            assert_eq!(Value::Object(entry.arguments.clone()).to_string(), expected, "{rule}");
            assert_eq!(!entry.repairs.is_empty(), entry.arguments != before, "{rule}: the repair is told");
        }
    }
}
