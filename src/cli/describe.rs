//! `toolscout describe`: what a model learns of a tool before it calls it.

use serde_json::{Value, json};

use super::answers::{Bridged, Described, read};
use super::failure::Failure;
use super::flags::{Common, Describe};
use super::page::{Page, Style};
use super::report::Report;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;
use super::toolsets;

const PARAMETERS: [Column; 4] =
    [Column::name("PARAMETER"), Column::text("TYPE"), Column::word(""), Column::text("DESCRIPTION")];

/// Runs the command. An unknown name fails it, once all the others are described.
///
/// # Errors
/// As of a request; more names than one call takes.
pub fn run(common: &Common, args: &Describe, terminal: Terminal) -> Result<Report, Failure> {
    let mut sidecar = Sidecar::open(common)?;
    sidecar.settled()?;
    let arguments = json!({ "names": args.name });
    let params = json!({ "name": "tool_describe", "arguments": arguments, "scope": args.scope.wire() });
    let raw = sidecar.request("bridge/call", params)?;
    let bridged: Bridged = read(&raw)?;
    if args.output.json {
        let failed = bridged.is_error || !bridged.content::<Described>()?.not_found.is_empty();
        return Ok(Report::json(raw.get()).failed_if(failed));
    }
    let described: Described = bridged.content()?;
    let mut page = Page::new(terminal);
    for (at, (name, tool)) in described.tools.iter().enumerate() {
        if at > 0 {
            page.gap();
        }
        show(&mut page, name, tool);
    }
    for error in described.errors.values().filter_map(Value::as_str) {
        page.paragraph("", Style::Plain, error);
    }
    let mut report = Report::page(page).failed_if(!described.not_found.is_empty());
    for name in &described.not_found {
        let message = format!("no tool `{name}` in scope; `toolscout search` finds names, `toolscout status` sources");
        report = report.with_note(message);
    }
    let report = sidecar.noting_errors(report)?;
    toolsets::noting_unknown(&mut sidecar, &args.scope, report)
}

fn show(page: &mut Page, name: &str, tool: &Value) {
    page.heading(name);
    for line in tool["description"].as_str().unwrap_or_default().lines() {
        page.paragraph("", Style::Plain, line);
    }
    let rows = parameters(&tool["parameters"]);
    if rows.is_empty() {
        page.line(&[(Style::Dim, "no parameters are declared")]);
    } else {
        page.table(2, &PARAMETERS, &rows);
    }
}

/// Rows of [`PARAMETERS`]. What is inside a parameter is left to `--json`.
fn parameters(schema: &Value) -> Vec<[String; 4]> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let row = |(name, parameter): (&String, &Value)| {
        let needed = if required.contains(&name.as_str()) { "required" } else { "" };
        let description = parameter["description"].as_str().unwrap_or_default();
        [name.clone(), kind(parameter), needed.to_owned(), description.to_owned()]
    };
    schema["properties"].as_object().into_iter().flatten().map(row).collect()
}

/// A schema in a word or two: its values, its type, or what its items are.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return values.iter().map(text).collect::<Vec<_>>().join("|");
    }
    match &schema["type"] {
        Value::String(name) if name == "array" => {
            let item = schema["items"]["type"].as_str().unwrap_or("any");
            format!("{item}[]")
        }
        Value::String(name) => name.clone(),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_in_a_word() {
        for (schema, expected) in [
            (json!({ "type": "string" }), "string"),
            (json!({ "type": ["string", "null"] }), "string|null"),
            (json!({ "type": "array", "items": { "type": "object" } }), "object[]"),
            (json!({ "type": "array", "items": true }), "any[]"),
            (json!({ "type": "string", "enum": ["a", 1] }), "a|1"),
            (json!({ "anyOf": [] }), "any"),
            (json!(true), "any"),
        ] {
            assert_eq!(kind(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_of_any_shape_is_survived() {
        for schema in [json!(null), json!([]), json!({ "properties": 1, "required": 2 }), json!(true)] {
            assert_eq!(parameters(&schema), Vec::<[String; 4]>::new(), "{schema}");
        }
    }
}
