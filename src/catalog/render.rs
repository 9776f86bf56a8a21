//! Tool definitions as JSON in the format a model API takes.
//!
//! A definition that came in the format asked for keeps all its members, byte for byte but for white space and the visible
//! name (and `type`, which OpenAI's formats need and not every host sends). In another format it keeps name, description
//! and schema, and `strict` between the two OpenAI formats. A tool that the model's provider runs itself goes out as it
//! came in, whatever the format.

use super::definition::{Definition, Format};
use super::json_text::{members, push_compact, push_string};
use super::source::Tool;

/// What stands for a schema where the format needs one and there is none.
const NO_PARAMETERS: &str = r#"{"type":"object","properties":{}}"#;

/// What stands first in a definition of OpenAI's that came without it.
const TYPE: &str = r#""type":"function""#;

/// Appends a registered tool.
pub fn push_tool(tool: &Tool, format: Format, out: &mut String) {
    if tool.format == Some(format) {
        push_same(tool, format, out);
        return;
    }
    if tool.format.is_none() && Definition::read(tool.raw()).provider_type().is_some() {
        push_object(
            tool.raw(),
            "",
            |key| !(tool.inline && key == "source"),
            |_, value, out| push_compact(value, out),
            out,
        );
        return;
    }
    let mut strict = None;
    if tool.format.is_some_and(is_openai) && is_openai(format) {
        each_openai(tool.raw(), |key, value| {
            if key == "strict" {
                strict = Some(value);
            }
        });
    }
    let description = Some(tool.description_json()).filter(|json| !json.is_empty());
    push_parts(&tool.name, description, tool.schema().unwrap_or(NO_PARAMETERS), strict, format, out);
}

/// Appends a definition made here, such as a bridge tool.
pub fn push_new(name: &str, description: &str, schema: &str, format: Format, out: &mut String) {
    let mut json = String::with_capacity(description.len() + description.len() / 16 + 2);
    push_string(description, &mut json);
    push_parts(name, Some(&json), schema, None, format, out);
}

fn has_member(json: &str, name: &str) -> bool {
    let mut found = false;
    members(json, |key, _| found |= key == name);
    found
}

fn is_openai(format: Format) -> bool {
    matches!(format, Format::OpenAi | Format::OpenAiResponses)
}

fn each_openai<'a>(raw: &'a str, mut each: impl FnMut(&str, &'a str)) {
    let mut function = None;
    members(raw, |key, value| match &*key {
        "function" => function = Some(value.get()),
        _ => each(&key, value.get()),
    });
    if let Some(function) = function {
        members(function, |key, value| each(&key, value.get()));
    }
}

fn push_parts(
    name: &str,
    description: Option<&str>,
    schema: &str,
    strict: Option<&str>,
    format: Format,
    out: &mut String,
) {
    out.push_str(match format {
        Format::OpenAi => r#"{"type":"function","function":{"name":"#,
        Format::OpenAiResponses => r#"{"type":"function","name":"#,
        Format::Anthropic | Format::Mcp => r#"{"name":"#,
    });
    push_string(name, out);
    if let Some(description) = description {
        out.push_str(",\"description\":");
        out.push_str(description);
    }
    out.push_str(",\"");
    out.push_str(format.schema_key());
    out.push_str("\":");
    push_compact(schema, out);
    if let Some(strict) = strict {
        out.push_str(",\"strict\":");
        out.push_str(strict);
    }
    out.push_str(if format == Format::OpenAi { "}}" } else { "}" });
}

/// The definition's own members, under the visible name, without the `source` that an inline one carries.
fn push_same(tool: &Tool, format: Format, out: &mut String) {
    let raw = tool.raw();
    let untyped = is_openai(format) && !has_member(raw, "type");
    let sourced = tool.inline && has_member(raw, "source");
    if tool.name == tool.tool && !untyped && !sourced {
        push_compact(raw, out);
        return;
    }
    let begin = if untyped { TYPE } else { "" };
    let keep = |key: &str| !(sourced && key == "source");
    let named = |key: &str, value: &str, out: &mut String| match key {
        "name" => push_string(&tool.name, out),
        _ => push_compact(value, out),
    };
    if format != Format::OpenAi {
        return push_object(raw, begin, keep, named, out);
    }
    let nested = |key: &str, value: &str, out: &mut String| match key {
        "function" => push_object(value, "", |_| true, named, out),
        _ => push_compact(value, out),
    };
    push_object(raw, begin, keep, nested, out);
}

/// An object's members but for some, each value written as told, behind one that it did not have.
fn push_object(
    json: &str,
    begin: &str,
    keep: impl Fn(&str) -> bool,
    write: impl Fn(&str, &str, &mut String),
    out: &mut String,
) {
    out.push('{');
    out.push_str(begin);
    let mut first = begin.is_empty();
    members(json, |key, value| {
        if !keep(&key) {
            return;
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        push_string(&key, out);
        out.push(':');
        write(&key, value.get(), out);
    });
    out.push('}');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::names::Naming;
    use crate::catalog::source::{Kind, Origin, Source, SourceInfo};

    fn render(definition: &str, kind: Kind, format: Format) -> String {
        let text: Arc<str> = definition.into();
        let info = SourceInfo { naming: Naming::AsIs, ..SourceInfo::new("s", kind, Origin::Inline) };
        let info = if kind == Kind::Mcp { SourceInfo { naming: Naming::Prefixed, ..info } } else { info };
        let (source, _) = Source::read(info, &text, [&*text]);
        let mut out = String::new();
        push_tool(&source.tools[0], format, &mut out);
        out
    }

    #[test]
    fn the_same_format_keeps_every_member() {
        let function =
            r#"{"type":"function","function":{"name":"a","strict":true,"parameters":{ "x" : 1.0 }},"x":[ ]}"#;
        assert_eq!(
            render(function, Kind::Core, Format::OpenAi),
            r#"{"type":"function","function":{"name":"a","strict":true,"parameters":{"x":1.0}},"x":[]}"#
        );
        assert_eq!(
            render(function, Kind::Mcp, Format::OpenAi),
            r#"{"type":"function","function":{"name":"mcp__s__a","strict":true,"parameters":{"x":1.0}},"x":[]}"#
        );
        assert_eq!(
            render(r#"{"name":"a","inputSchema":{},"annotations":{},"source":{"name":"s"}}"#, Kind::Mcp, Format::Mcp),
            r#"{"name":"mcp__s__a","inputSchema":{},"annotations":{}}"#
        );
    }

    #[test]
    fn openai_formats_always_say_function() {
        assert_eq!(
            render(r#"{"name":"a","parameters":{},"strict":true}"#, Kind::Core, Format::OpenAiResponses),
            r#"{"type":"function","name":"a","parameters":{},"strict":true}"#
        );
        assert_eq!(
            render(r#"{"function":{"name":"a","parameters":{}}}"#, Kind::Mcp, Format::OpenAi),
            r#"{"type":"function","function":{"name":"mcp__s__a","parameters":{}}}"#
        );
    }

    #[test]
    fn another_format_keeps_name_description_and_schema() {
        let mcp = r#"{"name":"a","description":"d","inputSchema":{"b":1,"a":2},"annotations":{}}"#;
        for (format, want) in [
            (
                Format::OpenAi,
                r#"{"type":"function","function":{"name":"a","description":"d","parameters":{"b":1,"a":2}}}"#,
            ),
            (Format::OpenAiResponses, r#"{"type":"function","name":"a","description":"d","parameters":{"b":1,"a":2}}"#),
            (Format::Anthropic, r#"{"name":"a","description":"d","input_schema":{"b":1,"a":2}}"#),
        ] {
            assert_eq!(render(mcp, Kind::Core, format), want);
        }
        assert_eq!(
            render(
                r#"{"type":"function","function":{"name":"a","strict":true,"parameters":{}}}"#,
                Kind::Core,
                Format::OpenAiResponses
            ),
            r#"{"type":"function","name":"a","parameters":{},"strict":true}"#
        );
        assert_eq!(
            render(r#"{"name":"a"}"#, Kind::Core, Format::Mcp),
            r#"{"name":"a","inputSchema":{"type":"object","properties":{}}}"#
        );
    }
}
