//! Answers of `assemble` and `bridge/call` in MCP's form.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, MetaObject, Tool, ToolAnnotations};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Answer of `bridge/call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    content: Option<Box<RawValue>>,
    #[serde(default)]
    is_error: bool,
    #[serde(default, deserialize_with = "present")]
    structured_content: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<Value>,
    dispatch: Option<Dispatch>,
}

#[derive(Deserialize)]
struct Dispatch {
    name: String,
    source: String,
}

/// Tells `null` from absent, which `Option` alone does not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
        if let Some(Dispatch { name, source }) = answer.dispatch {
            return nobody_runs(&name, Some(&source));
        }
        let content = answer.content.unwrap_or_default();
        let mut result = Self::default();
        result.is_error = Some(answer.is_error);
        result.structured_content = answer.structured_content;
        if let Some(Value::Object(meta)) = answer.meta {
            result.meta = Some(MetaObject(meta));
        }
        match blocks(&content) {
            // What an MCP server answered goes on as it came.
            Some(blocks) => result.content = blocks,
            None => {
                let object = || serde_json::from_str::<Value>(content.get()).ok().filter(Value::is_object);
                result.structured_content = result.structured_content.or_else(object);
                result.content = vec![ContentBlock::text(content.get())];
            }
        }
        result
    }
}

/// Whether an answer of `bridge/call` says that nothing was invoked since a server is still starting.
pub fn waits_for_a_server(answer: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Refusal {
        content: Content,
    }
    #[derive(Deserialize)]
    struct Content {
        code: String,
        state: String,
    }
    let refusal: Option<Refusal> = serde_json::from_str(answer.get()).ok();
    refusal.is_some_and(|Refusal { content }| content.code == "SERVER_UNAVAILABLE" && content.state == "starting")
}

/// The blocks of what an MCP server answered. One that the SDK does not know becomes text, and costs the others nothing.
fn blocks(content: &RawValue) -> Option<Vec<ContentBlock>> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(rename = "type", borrow)]
        _kind: std::borrow::Cow<'a, str>,
    }
    let raw: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
    let block = |raw: &&RawValue| {
        serde_json::from_str::<Typed<'_>>(raw.get()).ok()?;
        Some(serde_json::from_str(raw.get()).unwrap_or_else(|_| ContentBlock::text(raw.get())))
    };
    raw.iter().map(block).collect()
}

/// For the model: a tool that is known, and that nobody can run. `source` is its source's name.
pub fn nobody_runs(name: &str, source: Option<&str>) -> CallToolResult {
    let whose = source.map_or_else(String::new, |source| format!(" of `{source}`"));
    let what = source.map_or_else(|| "its MCP server".to_owned(), |source| format!("the MCP server `{source}`"));
    let error = format!(
        "`{name}` was not invoked: only its definition{whose} is known here, from a registry, and nothing that runs it. Do \
         not call it again; tell the user that {what} has to be configured under `mcpServers` in Toolscout's config.yaml."
    );
    let content = match source {
        Some(source) => json!({ "error": error, "code": "NOT_RUNNABLE", "source": source }),
        None => json!({ "error": error, "code": "NOT_RUNNABLE" }),
    };
    CallToolResult::structured_error(content)
}

/// The definitions of an array.
pub fn tools(definitions: &[Box<RawValue>]) -> Vec<Tool> {
    definitions.iter().filter_map(|definition| tool(definition)).collect()
}

/// One definition; a member that is not as MCP has it (a source may hold anything) costs the tool that and no more.
fn tool(definition: &RawValue) -> Option<Tool> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Least {
        name: String,
        description: Option<String>,
        input_schema: JsonObject,
    }
    let tool = serde_json::from_str::<Tool>(definition.get()).or_else(|_| {
        let Least { name, description, input_schema } = serde_json::from_str(definition.get())?;
        Ok(Tool::new_with_raw(name, description.map(Into::into), input_schema))
    });
    let tool =
        tool.inspect_err(|error: &serde_json::Error| tracing::warn!(%error, "a tool has no form in MCP")).ok()?;
    // So that clients need not ask the person before every search.
    let harmless = matches!(&*tool.name, "tool_search" | "tool_describe");
    Some(if harmless { tool.annotate(ToolAnnotations::new().read_only(true).open_world(false)) } else { tool })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(answer: &Value) -> Value {
        let answer: Answer = serde_json::from_str(&answer.to_string()).unwrap();
        let mut result = serde_json::to_value(CallToolResult::from(answer)).unwrap();
        result.as_object_mut().unwrap().remove("resultType");
        result
    }

    #[test]
    fn answers_become_results() {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        for (label, answer, expected) in [
            (
                "of the bridge: as text and structured",
                json!({"content": {"total_available": 3}, "isError": false}),
                json!({"content": [{"type": "text", "text": "{\"total_available\":3}"}],
                    "structuredContent": {"total_available": 3}, "isError": false}),
            ),
            (
                "a mistake of the model's",
                json!({"content": {"error": "no"}, "isError": true}),
                json!({"content": [{"type": "text", "text": "{\"error\":\"no\"}"}],
                    "structuredContent": {"error": "no"}, "isError": true}),
            ),
            (
                "of a server: as it came",
                json!({"content": [image], "isError": true, "structuredContent": null, "_meta": {"a": 1}}),
                json!({"content": [image], "structuredContent": null, "isError": true, "_meta": {"a": 1}}),
            ),
            (
                "one block of a type that nobody knows",
                json!({"content": [image, {"type": "hologram", "data": 1}, {"type": "text", "text": "t"}]}),
                json!({"content": [image, {"type": "text", "text": "{\"type\":\"hologram\",\"data\":1}"},
                    {"type": "text", "text": "t"}], "isError": false}),
            ),
            (
                "an array that is no content",
                json!({"content": [1, 2], "isError": false}),
                json!({"content": [{"type": "text", "text": "[1,2]"}], "isError": false}),
            ),
            ("no content", json!({"content": [], "isError": false}), json!({"content": [], "isError": false})),
        ] {
            assert_eq!(result(&answer), expected, "{label}");
        }
    }

    #[test]
    fn what_a_host_would_run_is_refused_with_the_source() {
        let dispatch = json!({"dispatch": {"name": "mcp__tracker__create", "source": "tracker", "arguments": {}}});
        let refused = result(&dispatch);
        assert_eq!(refused["isError"], true);
        assert_eq!(refused["structuredContent"]["source"], "tracker");
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("`mcp__tracker__create` was not invoked") && text.contains("mcpServers"), "{text}");
    }

    #[test]
    fn an_odd_member_does_not_cost_the_tool() {
        let raw = |value: Value| RawValue::from_string(value.to_string()).unwrap();
        let schema = json!({"type": "object", "properties": {"b": {}, "a": {}}});
        let given = [
            raw(json!({"name": "odd", "description": "d", "inputSchema": schema, "annotations": 7})),
            raw(json!({"name": "tool_search", "inputSchema": schema})),
            raw(json!({"name": "none", "inputSchema": true})),
        ];
        let read = tools(&given);
        assert_eq!(read.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["odd", "tool_search"]);
        assert_eq!(serde_json::to_string(&read[0].input_schema).unwrap(), schema.to_string(), "in the order given");
        assert_eq!(read[1].annotations.as_ref().unwrap().read_only_hint, Some(true));
    }
}
