//! Whether arguments are what a tool's schema asks for (CALL-7, CALL-9), and what happens where that cannot be
//! told: the call goes through (CALL-10).
//!
//! A [`Checker`] is compiled once from the text of a schema and kept; a check of typical arguments takes about
//! a microsecond. It never fetches anything, never hangs and never fails: a schema that is malformed, refers
//! outside itself, leads back to itself for the same value, or would cost too much for the arguments at hand
//! is not checked, and the reason is told. `format` and `content…` stay annotations, in every draft: the tool
//! knows better which dates and addresses it reads.

use std::panic::{AssertUnwindSafe, catch_unwind};

use jsonschema::{PatternCache, PatternOptions, Validator};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::schema::{self, Schema};
use super::violation::{self, Violation};
use super::{adapt, coerce, cost, excerpt};

/// Bytes of a schema beyond which it is not read. The largest of 8,600 real ones has 88 KB.
pub const MAX_SCHEMA: usize = 256 << 10;
/// Bytes of one compiled pattern.
const MAX_PATTERN: usize = 1 << 20;

/// What checking one tool's arguments needs, compiled from its schema. Shared freely between threads.
#[derive(Debug)]
pub struct Checker {
    required: Box<[Box<str>]>,
    schema: Option<Schema>,
    validator: Result<Validator, String>,
    dropped: Box<[String]>,
}

/// Arguments after a check.
#[derive(Debug)]
pub struct Checked {
    /// What the tool gets: repaired, where that was possible.
    pub arguments: Map<String, Value>,
    /// One text for each repair (CALL-11).
    pub coerced: Vec<String>,
    /// What the schema says of them.
    pub verdict: Verdict,
}

/// What a schema says of arguments.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They are as the schema wants them.
    Fits,
    /// Required members are absent (CALL-7); nothing else was looked at.
    Missing {
        /// Their names, as the schema orders them.
        missing: Vec<String>,
    },
    /// They are not as the schema wants them (CALL-9).
    Violates {
        /// The most telling first, at most ten, never empty.
        violations: Vec<Violation>,
    },
    /// The schema could not be consulted, and the call goes through (CALL-10).
    Unchecked {
        /// Why, for a log or a diagnostic.
        reason: String,
    },
}

/// The answer to a model whose call was not made. Serialized with `serde_json`, `parameters` keeps its bytes.
#[derive(Debug, Serialize)]
pub struct Refusal<'a> {
    /// What is wrong, and that the tool was not invoked.
    pub error: String,
    /// The schema as it was registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<&'a RawValue>,
    /// The part of the arguments that is at fault.
    pub path: &'a str,
    /// The keyword it does not meet.
    pub constraint: &'a str,
    /// Required members that are absent.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub missing: &'a [String],
    /// The most telling violations.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub violations: &'a [Violation],
}

impl Verdict {
    /// Whether the tool may be invoked.
    pub fn passes(&self) -> bool {
        matches!(self, Self::Fits | Self::Unchecked { .. })
    }

    /// What a model is answered when the call was not made, `None` where it may be made. `parameters` is the
    /// tool's schema as registered.
    pub fn refusal<'a>(&'a self, tool: &str, parameters: Option<&'a RawValue>) -> Option<Refusal<'a>> {
        let tool = excerpt::clip(tool, 128);
        match self {
            Self::Fits | Self::Unchecked { .. } => None,
            Self::Missing { missing } => {
                let names = excerpt::list(missing.iter(), 400, |name| format!("`{}`", excerpt::clip(name, 80)));
                Some(Refusal {
                    error: format!(
                        "`{tool}` was not invoked: its arguments lack {names}. Call it again with arguments as `parameters` describes them."
                    ),
                    parameters,
                    path: "arguments",
                    constraint: "required",
                    missing,
                    violations: &[],
                })
            }
            Self::Violates { violations } => {
                let first = violations.first()?;
                let rest = match violations.len() {
                    1 => String::new(),
                    n => format!(" `violations` holds this and {} more.", n - 1),
                };
                Some(Refusal {
                    error: format!(
                        "`{tool}` was not invoked: {} {}.{rest} Call it again with arguments as `parameters` describes them.",
                        first.path, first.message
                    ),
                    parameters,
                    path: &first.path,
                    constraint: &first.constraint,
                    missing: &[],
                    violations,
                })
            }
        }
    }
}

impl Checker {
    /// Compiles the JSON text of a schema. Never fails: see [`Checker::unchecked`].
    pub fn compile(schema_json: &str) -> Self {
        let fail = |reason: String| Self {
            required: Box::default(),
            schema: None,
            validator: Err(reason),
            dropped: Box::default(),
        };
        if schema_json.len() > MAX_SCHEMA {
            return fail(format!("the schema has more than {MAX_SCHEMA} bytes"));
        }
        let root: Value = match serde_json::from_str(schema_json) {
            Ok(root) => root,
            Err(error) => return fail(format!("the schema is not valid JSON: {error}")),
        };
        if !root.is_object() {
            return fail("the schema is not an object".to_owned());
        }
        let read = schema::read(&root);
        let built = match read.refusal {
            Some(reason) => Err(reason),
            None => build(&root, &read.sites),
        };
        let (validator, dropped) = match built {
            Ok((validator, dropped)) => (Ok(validator), dropped.into()),
            Err(reason) => (Err(reason), Box::default()),
        };
        let required = root.get("required").and_then(schema::names).unwrap_or_default();
        Self { required, schema: Some(read.schema), validator, dropped }
    }

    /// Why this schema is never checked, if it is not.
    pub fn unchecked(&self) -> Option<&str> {
        self.validator.as_ref().err().map(String::as_str)
    }

    /// Values of `pattern` that are not checked, since they are no regular expressions or would cost too much, sorted.
    pub fn dropped_patterns(&self) -> &[String] {
        &self.dropped
    }

    /// Whether the schema declares a parameter of this name (CALL-12).
    pub fn declares(&self, parameter: &str) -> bool {
        self.schema.as_ref().is_some_and(|schema| schema.declares(parameter))
    }

    /// Probes, repairs and validates arguments.
    pub fn check(&self, arguments: Map<String, Value>) -> Checked {
        let missing: Vec<String> = self
            .required
            .iter()
            .filter(|name| !arguments.contains_key(&***name))
            .map(|name| name.to_string())
            .collect();
        if !missing.is_empty() {
            return Checked { arguments, coerced: Vec::new(), verdict: Verdict::Missing { missing } };
        }
        let given = Value::Object(arguments);
        let mut trial = self.fits(&given);
        let (value, coerced) = match (&trial, &self.schema) {
            (Ok(true), _) | (_, None) => (given, Vec::new()),
            (_, Some(schema)) => {
                let repaired = coerce::coerce(schema, &given);
                if !repaired.repairs.is_empty() {
                    trial = self.fits(&repaired.arguments);
                }
                (repaired.arguments, repaired.repairs)
            }
        };
        let verdict = match trial {
            Ok(true) => Verdict::Fits,
            Ok(false) => self.violations(&value),
            Err(reason) => Verdict::Unchecked { reason },
        };
        let arguments = match value {
            Value::Object(arguments) => arguments,
            // Repairs keep the type of the whole.
            _ => Map::new(),
        };
        Checked { arguments, coerced, verdict }
    }

    /// The validator's answer, or why it was not asked.
    fn fits(&self, value: &Value) -> Result<bool, String> {
        let validator = self.affordable(value)?;
        guarded(|| validator.is_valid(value))
    }

    fn affordable(&self, value: &Value) -> Result<&Validator, String> {
        let validator = self.validator.as_ref().map_err(String::clone)?;
        match self.schema.as_ref().and_then(|schema| cost::refusal(schema, value)) {
            Some(reason) => Err(reason.to_owned()),
            None => Ok(validator),
        }
    }

    fn violations(&self, value: &Value) -> Verdict {
        let found = self
            .affordable(value)
            .and_then(|validator| guarded(|| violation::telling(value, validator.iter_errors(value))));
        match found {
            Ok(violations) if violations.is_empty() => {
                Verdict::Unchecked { reason: "the validator found no fault it could name".to_owned() }
            }
            Ok(violations) => Verdict::Violates { violations },
            Err(reason) => Verdict::Unchecked { reason },
        }
    }
}

fn build(root: &Value, sites: &schema::Sites) -> Result<(Validator, Vec<String>), String> {
    let options = jsonschema::options()
        .offline()
        // Linear in the text, unlike the default engine.
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN).dfa_size_limit(MAX_PATTERN))
        .with_pattern_cache(PatternCache::new())
        .should_validate_formats(false)
        .without_content_encoding_support("base64")
        .without_content_media_type_support("application/json");
    guarded(|| {
        let takes = |pattern: &str| options.build(&serde_json::json!({ "pattern": pattern })).is_ok();
        let (schema, dropped) = adapt::adapt(root, sites, takes)?;
        let validator = options.build(&schema).map_err(|error| {
            let at = excerpt::clip(error.schema_path().as_str(), 80);
            format!(
                "the schema is malformed at {:?}: {}",
                error.instance_path().as_str(),
                excerpt::clip(&format!("{} ({at})", error.masked()), 200)
            )
        })?;
        Ok((validator, dropped))
    })?
}

/// A panic of the validator is the validator's fault, and the call's no more than any other.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| "the validator failed".to_owned())
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
