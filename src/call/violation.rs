//! What is wrong with arguments, in words a model repairs its call from (CALL-9).
//!
//! The validator's errors are put in one order, the most telling first: the deepest, and through `anyOf` and
//! `oneOf` those of the alternative that came closest. No message grows with the value it speaks of.

use std::cmp::Reverse;
use std::fmt::Write as _;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde::Serialize;
use serde_json::Value;

use super::excerpt;

/// Characters of a message (CALL-9).
pub const MAX_MESSAGE: usize = 600;
/// Violations told in one answer (CALL-9).
pub const MAX_VIOLATIONS: usize = 10;
/// Bytes of a quoted value.
const QUOTE: usize = 80;
/// Bytes of a list of names or literals.
const LIST: usize = 400;
/// Nesting of alternatives that is looked into.
const MAX_NESTED_CHOICES: usize = 32;
/// Bytes of a path; the text of a longer one ends in `…`.
const MAX_PATH: usize = 500;

/// One keyword that one part of the arguments does not meet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Violation {
    /// The part, from `arguments` down: `arguments.options.count`, `arguments["a b"][0]`.
    pub path: String,
    /// The keyword.
    pub constraint: String,
    /// What the part is and what it must be.
    pub message: String,
}

/// Adds one member to a path.
pub(super) fn write_member(path: &mut String, name: &str) {
    if path.len() > MAX_PATH {
        if !path.ends_with('…') {
            path.push('…');
        }
        return;
    }
    let plain =
        name.bytes().enumerate().all(|(at, b)| b == b'_' || b.is_ascii_alphabetic() || (at > 0 && b.is_ascii_digit()));
    if plain && !name.is_empty() && name.len() <= MAX_PATH {
        path.push('.');
        path.push_str(name);
    } else {
        let _ = write!(path, "[{}]", Value::String(excerpt::clip(name, QUOTE)));
    }
}

/// The violations behind the validator's errors, most telling first, at most [`MAX_VIOLATIONS`]. Empty where the
/// validator failed rather than the arguments.
pub(super) fn telling<'a>(arguments: &Value, errors: impl Iterator<Item = ValidationError<'a>>) -> Vec<Violation> {
    let mut found = Vec::new();
    for error in errors {
        flatten(&error, 0, &mut found);
    }
    let mut violations: Vec<_> = found
        .into_iter()
        .map(|found| {
            let path = path(arguments, &found.pointer);
            let message = excerpt::clip(&found.message, MAX_MESSAGE);
            (found.vague, Reverse(found.depth), Violation { path, constraint: found.constraint, message })
        })
        .collect();
    // A total order over what is said, so that no order of the validator shows.
    violations.sort();
    let mut violations: Vec<Violation> = violations.into_iter().map(|(_, _, violation)| violation).collect();
    violations.dedup();
    violations.truncate(MAX_VIOLATIONS);
    violations
}

struct Found {
    pointer: String,
    depth: usize,
    /// Says that something does not fit, but not what.
    vague: bool,
    constraint: String,
    message: String,
}

impl Found {
    fn new(pointer: &str, constraint: &str, message: String) -> Self {
        let vague = matches!(constraint, "anyOf" | "oneOf" | "not");
        Self { pointer: pointer.to_owned(), depth: depth(pointer), vague, constraint: constraint.to_owned(), message }
    }
}

fn depth(pointer: &str) -> usize {
    pointer.bytes().filter(|&b| b == b'/').count()
}

/// Adds what an error says, or what the closest alternative of it says.
fn flatten(error: &ValidationError<'_>, nested: usize, found: &mut Vec<Found>) {
    let pointer = error.instance_path().as_str();
    match error.kind() {
        // The validator gave up, which is no fault of the arguments.
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } | Kind::Referencing(_) => {}
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } if nested < MAX_NESTED_CHOICES => {
            match closest(pointer, context) {
                Closest::Branch(branch) => {
                    for error in branch {
                        flatten(error, nested + 1, found);
                    }
                }
                Closest::Expected(at, expected) => {
                    found.push(Found::new(&at, error.kind().keyword(), format!("must be {expected}")));
                }
                Closest::None => found.push(Found::new(pointer, error.kind().keyword(), message(error))),
            }
        }
        Kind::PropertyNames { error: inner } => {
            let name = excerpt::of(inner.instance(), QUOTE);
            found.push(Found::new(
                pointer,
                "propertyNames",
                format!("the member name {name} is not allowed: {}", message(inner)),
            ));
        }
        Kind::FalseSchema => {
            let refuses_all = error.schema_path().as_str().ends_with("/additionalProperties")
                && !error.schema_path().as_str().ends_with("/properties/additionalProperties");
            found.push(if refuses_all {
                Found::new(pointer, "additionalProperties", "takes no members at all".to_owned())
            } else {
                // There is no keyword: the subschema is `false`.
                Found::new(pointer, "false", message(error))
            });
        }
        kind => found.push(Found::new(pointer, kind.keyword(), message(error))),
    }
}

enum Closest<'a> {
    /// The alternative that was meant.
    Branch(&'a [ValidationError<'static>]),
    /// No alternative was meant, but this is where they part, and what they want there.
    Expected(String, String),
    None,
}

/// How far a value is from an alternative; less is closer.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone, Copy)]
struct Distance {
    wrong_type: bool,
    /// Literals missed on the value itself or on its members, which is how alternatives are told apart.
    wrong_literal: usize,
    errors: usize,
}

fn closest<'a>(pointer: &str, context: &'a [Vec<ValidationError<'static>>]) -> Closest<'a> {
    let own = depth(pointer);
    let distance = |branch: &[ValidationError<'static>]| Distance {
        wrong_type: branch.iter().any(|error| {
            matches!(error.kind(), Kind::Type { .. } | Kind::FalseSchema)
                && depth(error.instance_path().as_str()) == own
        }),
        wrong_literal: branch
            .iter()
            .filter(|error| is_literal(error) && depth(error.instance_path().as_str()) <= own + 1)
            .count(),
        errors: branch.len(),
    };
    let mut ranked: Vec<(Distance, &'a [ValidationError<'static>])> =
        context.iter().map(|branch| (distance(branch), branch.as_slice())).collect();
    ranked.sort_by_key(|(distance, _)| *distance);
    let Some(&(best, branch)) = ranked.first() else { return Closest::None };
    let rivals: Vec<_> =
        ranked.iter().filter(|(d, _)| d.wrong_type == best.wrong_type).map(|(_, branch)| *branch).collect();
    if rivals.len() == 1 {
        return Closest::Branch(branch);
    }
    if best.wrong_type {
        let wanted: Vec<String> = context.iter().flatten().filter_map(wanted_type).collect();
        return match unique(wanted) {
            wanted if wanted.is_empty() => Closest::None,
            wanted => {
                let is = context
                    .iter()
                    .flatten()
                    .next()
                    .map_or(String::new(), |e| format!(", is {}", excerpt::of(e.instance(), QUOTE)));
                Closest::Expected(pointer.to_owned(), format!("{}{is}", or(&wanted)))
            }
        };
    }
    if best.wrong_literal == 0 {
        return Closest::Branch(branch);
    }
    // Every alternative of the type misses a literal: if all miss it in one place, that place is the fault.
    let place = branch.iter().find(|error| is_literal(error)).map_or(pointer, |error| error.instance_path().as_str());
    let missed: Option<Vec<&ValidationError<'static>>> = rivals
        .iter()
        .map(|branch| branch.iter().find(|error| is_literal(error) && error.instance_path().as_str() == place))
        .collect();
    match missed {
        Some(missed) => {
            let wanted = unique(missed.iter().flat_map(|error| literals(error)).collect());
            let is =
                missed.first().map_or(String::new(), |error| format!(", is {}", excerpt::of(error.instance(), QUOTE)));
            Closest::Expected(place.to_owned(), format!("{}{is}", or(&wanted)))
        }
        None => Closest::Branch(branch),
    }
}

fn is_literal(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), Kind::Constant { .. } | Kind::Enum { .. })
}

fn literals(error: &ValidationError<'_>) -> Vec<String> {
    match error.kind() {
        Kind::Constant { expected_value } => vec![excerpt::of(expected_value, QUOTE)],
        Kind::Enum { options } => options
            .as_array()
            .map_or(Vec::new(), |options| options.iter().map(|option| excerpt::of(option, QUOTE)).collect()),
        _ => Vec::new(),
    }
}

fn wanted_type(error: &ValidationError<'static>) -> Option<String> {
    match error.kind() {
        Kind::Type { kind } => Some(types(kind)),
        _ => None,
    }
}

fn unique(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = rustc_hash::FxHashSet::default();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

fn or(texts: &[String]) -> String {
    match texts {
        [first, second] => format!("{first} or {second}"),
        [one] => one.clone(),
        many => format!("one of {}", excerpt::list(many.iter(), LIST, Clone::clone)),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(set) => set.iter().map(|one| one.to_string()).collect::<Vec<_>>().join(" or "),
    }
}

fn message(error: &ValidationError<'_>) -> String {
    let is = || excerpt::of(error.instance(), QUOTE);
    let limit = |limit: &Value| excerpt::of(limit, QUOTE);
    let count = || match &**error.instance() {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::String(text) => text.chars().count(),
        _ => 0,
    };
    let unexpected = |names: &[String]| {
        let names = excerpt::list(names.iter(), LIST, |name| format!("`{}`", excerpt::clip(name, QUOTE)));
        format!("takes no such member: {names}")
    };
    match error.kind() {
        Kind::Type { kind } => format!("must be {}, is {}", types(kind), is()),
        Kind::Required { property } => {
            format!(
                "lacks the required member `{}`",
                property.as_str().map_or_else(|| limit(property), |name| excerpt::clip(name, QUOTE))
            )
        }
        Kind::AdditionalProperties { unexpected: names } | Kind::UnevaluatedProperties { unexpected: names } => {
            unexpected(names)
        }
        Kind::AdditionalItems { limit } => format!("takes at most {limit} items, has {}", count()),
        Kind::UnevaluatedItems { .. } => "holds items that the schema does not allow".to_owned(),
        Kind::Enum { .. } | Kind::Constant { .. } => format!("must be {}, is {}", or(&literals(error)), is()),
        Kind::Minimum { limit: n } => format!("must be at least {}, is {}", limit(n), is()),
        Kind::Maximum { limit: n } => format!("must be at most {}, is {}", limit(n), is()),
        Kind::ExclusiveMinimum { limit: n } => format!("must be more than {}, is {}", limit(n), is()),
        Kind::ExclusiveMaximum { limit: n } => format!("must be less than {}, is {}", limit(n), is()),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}, is {}", is()),
        Kind::MinLength { limit } => format!("must have at least {limit} characters, has {}", count()),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters, has {}", count()),
        Kind::MinItems { limit } => format!("must have at least {limit} items, has {}", count()),
        Kind::MaxItems { limit } => format!("must have at most {limit} items, has {}", count()),
        Kind::MinProperties { limit } => format!("must have at least {limit} members, has {}", count()),
        Kind::MaxProperties { limit } => format!("must have at most {limit} members, has {}", count()),
        Kind::Pattern { pattern } => format!("must match the pattern {}, is {}", excerpt::clip(pattern, 200), is()),
        Kind::Format { format } => format!("must be a {format}, is {}", is()),
        Kind::UniqueItems => "holds an item twice".to_owned(),
        Kind::Contains => "does not hold the items that the schema wants in it".to_owned(),
        Kind::FalseSchema => "is not allowed here".to_owned(),
        Kind::Not { .. } => format!("has a form that the schema excludes, is {}", is()),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => format!("fits no alternative of the schema, is {}", is()),
        Kind::OneOfMultipleValid { .. } => {
            format!("fits several alternatives of which exactly one may fit, is {}", is())
        }
        other => format!("does not meet `{}`, is {}", other.keyword(), is()),
    }
}

/// The path of a JSON pointer. Only the value tells an index from a member named like one.
fn path(root: &Value, pointer: &str) -> String {
    let mut path = String::from("arguments");
    let mut value = Some(root);
    for segment in pointer.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        if matches!(value, Some(Value::Array(_))) && name.bytes().all(|b| b.is_ascii_digit()) {
            let _ = write!(path, "[{name}]");
            value = value.and_then(|value| value.get(name.parse::<usize>().ok()?));
        } else {
            write_member(&mut path, &name);
            value = value.and_then(|value| value.get(&name));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths() {
        let root = json!({"a": [{"b c": 1, "0": [2]}], "": {"é": 3}, "_x9": 4, "9x": 5, "a/b~": 6});
        for (rule, pointer, expected) in [
            ("CALL-9: the whole", "", "arguments"),
            ("CALL-9: members and items", "/a/0", "arguments.a[0]"),
            ("CALL-9: a key that is no identifier", "/a/0/b c", r#"arguments.a[0]["b c"]"#),
            ("CALL-9: a key that looks like an index", "/a/0/0/0", r#"arguments.a[0]["0"][0]"#),
            ("CALL-9: an empty key", "//é", r#"arguments[""]["é"]"#),
            ("CALL-9: an underscore and digits", "/_x9", "arguments._x9"),
            ("CALL-9: a digit first", "/9x", r#"arguments["9x"]"#),
            ("CALL-9: an escaped pointer", "/a~1b~0", r#"arguments["a/b~"]"#),
        ] {
            assert_eq!(path(&root, pointer), expected, "{rule}");
        }
    }
}
