//! One tool definition as text, in any of the shapes that hosts and servers use.
//!
//! | shape | schema under | nested in `function` |
//! | --- | --- | --- |
//! | MCP | `inputSchema` | no |
//! | Anthropic | `input_schema` | no |
//! | OpenAI (Responses) | `parameters` | no |
//! | OpenAI (Chat Completions) | `parameters` | yes |
//!
//! Nothing is copied: what is found are slices of the text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json_text::{decode_string, members};

/// The shapes a definition comes in, and goes out in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// `{type: "function", function: {name, description, parameters}}`.
    OpenAi,
    /// `{type: "function", name, description, parameters}`.
    OpenAiResponses,
    /// `{name, description, input_schema}`.
    Anthropic,
    /// `{name, description, inputSchema}`.
    Mcp,
}

impl Format {
    /// All of them, in the order of their discriminants.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Mcp];

    /// The member that holds the schema.
    pub fn schema_key(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiResponses => "parameters",
            Self::Anthropic => "input_schema",
            Self::Mcp => "inputSchema",
        }
    }
}

/// The parts of a definition, as slices of its JSON.
#[derive(Debug, Default)]
pub struct Definition<'a> {
    /// `name`, if it is a string.
    pub name: Option<Cow<'a, str>>,
    /// The JSON of `description`, if it is a string.
    pub description: Option<&'a str>,
    /// The JSON of the schema, whatever it is.
    pub schema: Option<&'a str>,
    /// `source` of an inline definition.
    pub source: Option<&'a str>,
    /// The shape it came in.
    pub format: Option<Format>,
    /// The JSON of `type`.
    kind: Option<&'a str>,
}

impl<'a> Definition<'a> {
    /// Reads a definition. What is no object has no parts.
    pub fn read(json: &'a str) -> Self {
        let mut found = Self::default();
        let mut function = None;
        members(json, |key, value| {
            let value = value.get();
            match &*key {
                "function" if value.starts_with('{') => function = Some(value),
                _ => found.take(&key, value),
            }
        });
        if let Some(function) = function {
            // The outer object holds only `type` and, inline, `source`.
            members(function, |key, value| found.take(&key, value.get()));
            found.format = Some(Format::OpenAi);
        }
        found
    }

    /// The `type` of a tool that the model's provider runs itself (`web_search_20250305`, `code_interpreter`): it has no
    /// schema, and nothing of it may be rewritten.
    pub fn provider_type(&self) -> Option<String> {
        let kind = self.kind.filter(|_| self.format.is_none()).and_then(decode_string)?;
        (!matches!(&*kind, "function" | "custom")).then(|| kind.into_owned())
    }

    fn take(&mut self, key: &str, value: &'a str) {
        match key {
            "name" => self.name = decode_string(value),
            "description" if value.starts_with('"') => self.description = Some(value),
            "source" => self.source = Some(value),
            "type" => self.kind = Some(value),
            "inputSchema" => self.schema_in(Format::Mcp, value),
            "input_schema" => self.schema_in(Format::Anthropic, value),
            "parameters" => self.schema_in(Format::OpenAiResponses, value),
            _ => {}
        }
    }

    fn schema_in(&mut self, format: Format, value: &'a str) {
        // A null schema is none, and must not hide one under another name.
        if value != "null" {
            self.schema = Some(value);
            self.format = Some(format);
        }
    }
}

/// The top-level parts of a parameter schema that search and describe need.
#[derive(Debug, Default)]
pub struct Parameters<'a> {
    /// The parameters' names, in order.
    pub names: Vec<Cow<'a, str>>,
    /// The JSON of `required`, if it is an array of strings.
    pub required: Option<&'a str>,
}

/// A schema as almost all are; read in one pass.
#[derive(Deserialize)]
struct Plain<'a> {
    #[serde(borrow, default)]
    properties: Names<'a>,
    #[serde(borrow)]
    required: Option<&'a RawValue>,
}

/// The keys of an object.
#[derive(Default)]
struct Names<'a>(Vec<Cow<'a, str>>);

impl<'de: 'a, 'a> Deserialize<'de> for Names<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Names<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names<'de>, A::Error> {
                let mut names = Vec::new();
                while let Some(key) = map.next_key::<&RawValue>()? {
                    names.push(decode_string(key.get()).unwrap_or_default());
                    map.next_value::<IgnoredAny>()?;
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

impl<'a> Parameters<'a> {
    /// Reads a schema's `properties` and `required`.
    pub fn read(schema: &'a str) -> Self {
        let mut found = match serde_json::from_str::<Plain<'a>>(schema) {
            Ok(plain) => Self { names: plain.properties.0, required: plain.required.map(RawValue::get) },
            Err(_) => Self::read_odd(schema),
        };
        found.required = found.required.filter(|json| serde_json::from_str::<Vec<Cow<'_, str>>>(json).is_ok());
        found
    }

    /// The same for a schema with members that repeat or are not what they should be.
    fn read_odd(schema: &'a str) -> Self {
        let mut found = Self::default();
        members(schema, |key, value| match &*key {
            "properties" => {
                found.names.clear();
                members(value.get(), |name, _| found.names.push(name));
            }
            "required" => found.required = Some(value.get()),
            _ => {}
        });
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_is_read() {
        for (json, format) in [
            (r#"{"name":"a","description":"d","inputSchema":{"type":"object"}}"#, Format::Mcp),
            (r#"{"name":"a","description":"d","input_schema":{"type":"object"}}"#, Format::Anthropic),
            (
                r#"{"type":"function","name":"a","description":"d","parameters":{"type":"object"}}"#,
                Format::OpenAiResponses,
            ),
            (
                r#"{"type":"function","function":{"name":"a","description":"d","parameters":{"type":"object"}}}"#,
                Format::OpenAi,
            ),
        ] {
            let read = Definition::read(json);
            assert_eq!(read.name.as_deref(), Some("a"), "{json}");
            assert_eq!(read.description, Some("\"d\""), "{json}");
            assert_eq!(read.schema, Some(r#"{"type":"object"}"#), "{json}");
            assert_eq!(read.format, Some(format), "{json}");
        }
    }

    #[test]
    fn what_is_missing_or_malformed_is_none() {
        for json in ["42", "null", "[]", "{}", r#"{"name":7}"#, r#"{"name":null}"#] {
            assert!(Definition::read(json).name.is_none(), "{json}");
        }
        let read = Definition::read(r#"{"name":"a","description":3,"inputSchema":null}"#);
        assert!(read.description.is_none() && read.schema.is_none());
    }

    #[test]
    fn parameters_keep_their_order() {
        let read = Parameters::read(r#"{"required":["b"],"properties":{"b":{},"a":true}}"#);
        assert_eq!(read.names, ["b", "a"]);
        assert_eq!(read.required, Some(r#"["b"]"#));
        assert!(Parameters::read(r#"{"required":"b"}"#).required.is_none());
        let odd = Parameters::read(r#"{"properties":[],"required":["b"],"properties":{"\u0062":1}}"#);
        assert_eq!((odd.names, odd.required), (vec!["b".into()], Some(r#"["b"]"#)));
        assert!(Parameters::read("true").names.is_empty());
    }
}
