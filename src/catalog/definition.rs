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

    fn take(&mut self, key: &str, value: &'a str) {
        match key {
            "name" => self.name = decode_string(value),
            "description" if value.starts_with('"') => self.description = Some(value),
            "source" => self.source = Some(value),
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
    /// Names under `required`; none if it is no array of strings.
    pub required: Vec<String>,
}

impl<'a> Parameters<'a> {
    /// Reads a schema's `properties` and `required`.
    pub fn read(schema: &'a str) -> Self {
        let mut found = Self::default();
        members(schema, |key, value| match &*key {
            "properties" => {
                found.names.clear();
                members(value.get(), |name, _| found.names.push(name));
            }
            "required" => found.required = serde_json::from_str(value.get()).unwrap_or_default(),
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
        assert_eq!(read.required, ["b"]);
        assert!(Parameters::read(r#"{"required":"b"}"#).required.is_empty());
        assert!(Parameters::read("true").names.is_empty());
    }
}
