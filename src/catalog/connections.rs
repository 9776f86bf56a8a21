//! `manage_connections` as a model sees it (CONN-6). It stands in every array, so every word is paid for on every turn.

use super::definition::Format;
use super::render::push_new;
use super::source::{Kind, Source, Tool};

/// Its name, which is in the core set whatever configuration says.
pub const NAME: &str = "manage_connections";
/// Its toolset.
pub const TOOLSET: &str = "connections";

const BOTH: &str = "Connected apps (mail, calendars, trackers) and local MCP servers: see and set up. A person confirms each; \
     nothing is disconnected here.";
const BOTH_SCHEMA: &str = r#"{"type":"object","properties":{"action":{"type":"string","enum":["status","connect","reconnect","install","enable","authorize"],"description":"(re)connect: apps; install, enable, authorize: MCP servers"},"connectors":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object","properties":{"name":{"type":"string"},"mcp":{"type":"boolean"}}}]},"description":"Slugs of apps; MCP servers as {\"name\": …, \"mcp\": true}. At most 10; none with status: all"},"force":{"type":"boolean","description":"Connect anew"}},"required":["action"]}"#;

const SERVERS: &str = "Local MCP servers: see and set up. A person confirms each; nothing is removed here.";
const SERVERS_SCHEMA: &str = r#"{"type":"object","properties":{"action":{"type":"string","enum":["status","install","enable","authorize"]},"connectors":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"mcp":{"type":"boolean"}}},"description":"{\"name\": …, \"mcp\": true}. At most 10; none with status: all"}},"required":["action"]}"#;

/// Appends its definition; with the connectors switched off only what concerns MCP servers.
pub fn push(hosted: bool, format: Format, out: &mut String) {
    let (description, schema) = if hosted { (BOTH, BOTH_SCHEMA) } else { (SERVERS, SERVERS_SCHEMA) };
    push_new(NAME, description, schema, format, out);
}

/// Whose a tool of this name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// The host has one of its own, which stands instead of ours.
    Hosts,
    /// It is ours, come in with an array that was assembled, or somebody's who may not have the name (CORE-1).
    Nobodys,
}

/// Whose a registered or inline tool of this name is.
pub(super) fn whose(source: &Source, tool: &Tool) -> Whose {
    let is_ours = || [BOTH, SERVERS].contains(&&*tool.description());
    match source.info.kind {
        Kind::Core => Whose::Hosts,
        Kind::Unknown if !is_ours() => Whose::Hosts,
        _ => Whose::Nobodys,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::connections::MAX_TARGETS;
    use crate::catalog::tokens::Quarters;

    #[test]
    fn the_schemas_are_json_and_name_the_actions() {
        for (hosted, actions, most) in [(true, 6, 185), (false, 4, 125)] {
            let mut out = String::new();
            push(hosted, Format::Mcp, &mut out);
            let tool: serde_json::Value = serde_json::from_str(&out).unwrap();
            let action = &tool["inputSchema"]["properties"]["action"]["enum"];
            assert_eq!(action.as_array().unwrap().len(), actions, "CONN-6");
            let cap = format!("At most {MAX_TARGETS};");
            let told = tool["inputSchema"]["properties"]["connectors"]["description"].as_str().unwrap();
            assert!(told.contains(&cap), "CONFIG-3: {told}");
            assert!(Quarters::of(&out).tokens() <= most, "{}: {out}", Quarters::of(&out).tokens());
        }
    }
}
