//! The `arguments` of a bridge tool, in the forms in which models send them, and the typed fields of
//! `tool_search` and `tool_describe`.
//!
//! Every reader answers with the value or with a [`Problem`] that says what to send instead. Over a cap
//! nothing of the call is done (CONFIG-3).

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::excerpt;

/// Most queries in one `tool_search` (CONFIG-3).
pub const MAX_QUERIES: usize = 7;
/// Most names in one `tool_describe` (CONFIG-3).
pub const MAX_NAMES: usize = 10;

/// What a model did wrong, as the object it is answered with: `{"error": text, …members}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// What was wrong and what to send instead.
    pub error: String,
    /// Members that stand beside `error`.
    pub members: Map<String, Value>,
}

impl Problem {
    /// A problem that its text says whole.
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), members: Map::new() }
    }

    /// Adds one member beside `error`.
    #[must_use]
    pub fn with(mut self, member: &str, value: Value) -> Self {
        self.members.insert(member.to_owned(), value);
        self
    }

    /// The object for the model, `error` first.
    pub fn into_object(self) -> Map<String, Value> {
        let mut object = Map::with_capacity(1 + self.members.len());
        object.insert("error".to_owned(), Value::String(self.error));
        object.extend(self.members);
        object
    }
}

/// The arguments object: an object, the same as JSON text, or nothing at all (null, absent, blank).
pub fn object(arguments: Option<Value>) -> Result<Map<String, Value>, Problem> {
    read_object(arguments).map_err(|got| Problem::new(format!("`arguments` must be a JSON object, not {got}.")))
}

/// [`object`], with the description of what else it was as the error.
pub(super) fn read_object(value: Option<Value>) -> Result<Map<String, Value>, String> {
    match value {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(Map::new()),
        Some(Value::String(text)) => match serde_json::from_str(&text) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(Value::Null) => Ok(Map::new()),
            Ok(other) => Err(format!("JSON text of {}", kind(&other))),
            Err(error) => Err(format!("text that is not valid JSON ({error})")),
        },
        Some(other) => Err(kind(&other).to_owned()),
    }
}

/// `queries` of `tool_search`: one string or an array of strings, blank ones dropped (SEARCH-10). `query`, the
/// older spelling, is read where `queries` is absent.
pub fn queries(arguments: &Map<String, Value>) -> Result<Vec<String>, Problem> {
    const FORM: &str = r#"Send {"queries": ["what to look for"]}"#;
    let given = arguments.get("queries").or_else(|| arguments.get("query"));
    let queries = strings(given).map_err(|got| {
        Problem::new(format!("`queries` must be a string or an array of strings, not {got}. {FORM}."))
    })?;
    match queries.len() {
        0 => Err(Problem::new(format!("`queries` holds nothing to look for. {FORM}."))),
        n if n > MAX_QUERIES => Err(over_cap("queries", n, MAX_QUERIES)),
        _ => Ok(queries),
    }
}

/// `names` of `tool_describe`: one string or an array of strings, each once (DESCRIBE-1). `name` is read where
/// `names` is absent.
pub fn names(arguments: &Map<String, Value>) -> Result<Vec<String>, Problem> {
    const FORM: &str = r#"Send {"names": ["tool_name"]}"#;
    let given = arguments.get("names").or_else(|| arguments.get("name"));
    let mut names = strings(given)
        .map_err(|got| Problem::new(format!("`names` must be a string or an array of strings, not {got}. {FORM}.")))?;
    let mut seen = FxHashSet::default();
    for name in &mut names {
        *name = name.trim().to_owned();
    }
    names.retain(|name| seen.insert(name.clone()));
    match names.len() {
        0 => Err(Problem::new(format!("`names` names no tool. {FORM}."))),
        n if n > MAX_NAMES => Err(over_cap("names", n, MAX_NAMES)),
        _ => Ok(names),
    }
}

/// `limit` of `tool_search`, unclamped; `None` where it is absent or cannot be read (SEARCH-10).
pub fn limit(arguments: &Map<String, Value>) -> Option<i64> {
    match arguments.get("limit")? {
        // A float beyond the range saturates, which clamping would do anyway.
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().map(|n| n as i64)),
        Value::String(text) => {
            let text = text.trim();
            text.parse().ok().or_else(|| text.parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| n as i64))
        }
        _ => None,
    }
}

pub(super) fn over_cap(what: &str, given: usize, cap: usize) -> Problem {
    Problem::new(format!("{given} {what} in one call, at most {cap} are taken. Nothing was done; retry with fewer."))
}

/// What a value is, for a message.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The strings of a field, blank ones dropped; the error says what stands there instead.
fn strings(given: Option<&Value>) -> Result<Vec<String>, String> {
    let strings = match given {
        None => return Err("absent".to_owned()),
        Some(Value::String(text)) => match text_of_array(text) {
            Some(strings) => strings,
            None => vec![text.clone()],
        },
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .map(|(at, item)| match item {
                Value::String(text) => Ok(text.clone()),
                other => Err(format!("an array whose item {at} is {} ({})", kind(other), excerpt::of(other, 40))),
            })
            .collect::<Result<_, _>>()?,
        Some(other) => return Err(kind(other).to_owned()),
    };
    Ok(strings.into_iter().filter(|text| !text.trim().is_empty()).collect())
}

/// Models write an array as JSON text; no query or name has that form otherwise.
fn text_of_array(text: &str) -> Option<Vec<String>> {
    if text.trim_start().starts_with('[') { serde_json::from_str(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        object(Some(value)).unwrap()
    }

    #[test]
    fn arguments_in_every_form() {
        for (rule, given, expected) in [
            ("SEARCH-10: absent is {}", None, Ok(json!({}))),
            ("SEARCH-10: null is {}", Some(json!(null)), Ok(json!({}))),
            ("CALL-1: blank is {}", Some(json!("  \n")), Ok(json!({}))),
            ("SEARCH-10: JSON text of null is {}", Some(json!("null")), Ok(json!({}))),
            ("SEARCH-10: an object", Some(json!({"a": 1})), Ok(json!({"a": 1}))),
            ("SEARCH-10: JSON text", Some(json!(r#"{"a": 1}"#)), Ok(json!({"a": 1}))),
            ("SEARCH-10: an array is none", Some(json!([])), Err("not an array")),
            ("SEARCH-10: text of an array is none", Some(json!("[1]")), Err("JSON text of an array")),
            ("SEARCH-10: broken JSON text", Some(json!("{\"a\"")), Err("not valid JSON")),
            ("SEARCH-10: a number", Some(json!(7)), Err("not a number")),
            ("SEARCH-10: endless nesting", Some(json!("[".repeat(100_000))), Err("not valid JSON")),
        ] {
            match (object(given), expected) {
                (Ok(got), Ok(expected)) => assert_eq!(Value::Object(got), expected, "{rule}"),
                (Err(got), Err(part)) => assert!(got.error.contains(part), "{rule}: {}", got.error),
                (got, expected) => panic!("{rule}: {got:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn queries_in_every_form() {
        for (rule, given, expected) in [
            ("SEARCH-10: one string is one query", json!({"queries": "send mail"}), Ok(vec!["send mail"])),
            ("SEARCH-10: an array", json!({"queries": ["a", "b"]}), Ok(vec!["a", "b"])),
            ("SEARCH-10: JSON text of an array", json!({"queries": r#"["a","b"]"#}), Ok(vec!["a", "b"])),
            ("SEARCH-10: brackets alone are a query", json!({"queries": "[draft] mail"}), Ok(vec!["[draft] mail"])),
            ("SEARCH-10: the older spelling", json!({"query": "a"}), Ok(vec!["a"])),
            ("SEARCH-10: blanks are dropped", json!({"queries": ["", " ", "a"]}), Ok(vec!["a"])),
            ("SEARCH-10: nothing left", json!({"queries": ["", " "]}), Err("nothing to look for")),
            ("SEARCH-10: absent", json!({}), Err("not absent")),
            ("SEARCH-10: no strings", json!({"queries": ["a", 5]}), Err("item 1 is a number (5)")),
            ("SEARCH-10: an object", json!({"queries": {"q": "a"}}), Err("not an object")),
            ("CONFIG-3: seven are taken", json!({"queries": vec!["a"; 7]}), Ok(vec!["a"; 7])),
            ("CONFIG-3: eight are not", json!({"queries": vec!["a"; 8]}), Err("at most 7")),
        ] {
            match (queries(&map(given)), expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{rule}"),
                (Err(got), Err(part)) => assert!(got.error.contains(part), "{rule}: {}", got.error),
                (got, expected) => panic!("{rule}: {got:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn names_in_every_form() {
        let many: Vec<String> = (0..11).map(|n| format!("tool_{n}")).collect();
        for (rule, given, expected) in [
            ("DESCRIBE-1: one string is one name", json!({"names": "a"}), Ok(vec!["a"])),
            ("DESCRIBE-1: duplicates once, in order", json!({"names": ["b", "a", "b", " a"]}), Ok(vec!["b", "a"])),
            ("DESCRIBE-1: the singular", json!({"name": "a"}), Ok(vec!["a"])),
            ("DESCRIBE-1: none", json!({"names": []}), Err("names no tool")),
            ("CONFIG-3: eleven are not taken", json!({"names": many}), Err("at most 10")),
        ] {
            match (names(&map(given)), expected) {
                (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{rule}"),
                (Err(got), Err(part)) => assert!(got.error.contains(part), "{rule}: {}", got.error),
                (got, expected) => panic!("{rule}: {got:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn limit_in_every_form() {
        for (rule, given, expected) in [
            ("SEARCH-10: a number", json!({"limit": 3}), Some(3)),
            ("SEARCH-10: a numeric string", json!({"limit": " 12 "}), Some(12)),
            ("SEARCH-10: a decimal", json!({"limit": "4.0"}), Some(4)),
            ("SEARCH-10: beyond any range", json!({"limit": 1e300}), Some(i64::MAX)),
            ("SEARCH-10: negative, for the caller to clamp", json!({"limit": -1}), Some(-1)),
            ("SEARCH-10: a word", json!({"limit": "many"}), None),
            ("SEARCH-10: not a number", json!({"limit": "NaN"}), None),
            ("SEARCH-10: an array", json!({"limit": [3]}), None),
            ("SEARCH-10: absent", json!({}), None),
        ] {
            assert_eq!(limit(&map(given)), expected, "{rule}");
        }
    }

    #[test]
    fn a_problem_is_an_object_with_its_error_first() {
        let object = Problem::new("no").with("hint", json!("yes")).into_object();
        assert_eq!(serde_json::to_string(&object).unwrap(), r#"{"error":"no","hint":"yes"}"#);
    }
}
