//! The arguments of `manage_connections`, and which door each target is for (CONN-6).

use serde_json::{Map, Value, json};

use super::arguments::{Problem, kind, over_cap};
use super::excerpt;

/// Most targets in one call.
pub const MAX_TARGETS: usize = 10;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Look.
    Status,
    /// Connect an app's account.
    Connect,
    /// The same, whether it is connected or not.
    Reconnect,
    /// Set up an MCP server.
    Install,
    /// Switch a configured one on.
    Enable,
    /// Sign in to one.
    Authorize,
}

impl Action {
    const ALL: [(&'static str, Self); 6] = [
        ("status", Self::Status),
        ("connect", Self::Connect),
        ("reconnect", Self::Reconnect),
        ("install", Self::Install),
        ("enable", Self::Enable),
        ("authorize", Self::Authorize),
    ];

    /// As the model writes it.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, action)| *action == self).map_or("", |(name, _)| name)
    }

    /// Whether it is for apps, which live behind the gateway.
    pub fn is_hosted(self) -> bool {
        matches!(self, Self::Connect | Self::Reconnect)
    }

    /// Whether it is for MCP servers.
    pub fn is_local(self) -> bool {
        matches!(self, Self::Install | Self::Enable | Self::Authorize)
    }
}

/// Whom it is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Target {
    /// An app, by slug, in lower case.
    App(String),
    /// An MCP server.
    Server(String),
}

/// A call that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// What.
    pub action: Action,
    /// For whom, each once; none with `status` is all.
    pub targets: Vec<Target>,
    /// Whether what is connected is connected anew.
    pub force: bool,
}

/// Reads the arguments; the problem says what to send instead.
pub fn read(arguments: &Map<String, Value>) -> Result<Wanted, Problem> {
    let action = action(arguments.get("action"))?;
    let given = arguments.get("connectors").or_else(|| arguments.get("connector"));
    let targets = targets(given)?;
    if targets.is_empty() && action != Action::Status {
        let example = if action.is_local() { json!([{ "name": "…", "mcp": true }]) } else { json!(["…"]) };
        return Err(Problem::new(format!("`connectors` names nobody. Send {}.", right_call(action, &example))));
    }
    for target in &targets {
        let (name, why, right) = match target {
            Target::App(name) if action.is_local() => (name, "is for MCP servers, which are named with `mcp`", action),
            Target::Server(name) if action.is_hosted() => (name, "is for apps, not for MCP servers", Action::Install),
            _ => continue,
        };
        let (shown, action) = (excerpt::clip(name, 128), action.as_str());
        let right = right_call(right, &json!([{ "name": name, "mcp": true }]));
        return Err(Problem::new(format!("Nothing was done for `{shown}`: `{action}` {why}. Send {right}.")));
    }
    Ok(Wanted { action, targets, force: is_true(arguments.get("force")) })
}

/// Whether a switch is on, sent as text or not.
fn is_true(given: Option<&Value>) -> bool {
    given.is_some_and(|given| given == true || given == "true")
}

/// A call as it should be, as JSON text.
pub fn right_call(action: Action, connectors: &Value) -> String {
    json!({ "action": action.as_str(), "connectors": connectors }).to_string()
}

fn action(given: Option<&Value>) -> Result<Action, Problem> {
    let names = Action::ALL.map(|(name, _)| name).join(", ");
    let text = match given {
        Some(Value::String(text)) => text.trim().to_ascii_lowercase(),
        None | Some(Value::Null) => return Err(Problem::new(format!("`action` is absent: one of {names}."))),
        Some(other) => return Err(Problem::new(format!("`action` must be one of {names}, not {}.", kind(other)))),
    };
    if matches!(text.as_str(), "disconnect" | "remove" | "delete" | "revoke" | "uninstall" | "disable") {
        let error = "Nothing is disconnected or removed with this tool. A person disconnects an account where it was \
                     connected, in the gateway's own pages, and removes an MCP server with `toolscout servers remove NAME`.";
        return Err(Problem::new(error));
    }
    let known = Action::ALL.iter().find(|(name, _)| *name == text || text == "list" && *name == "status");
    let unknown = || Problem::new(format!("`{}` is no action: one of {names}.", excerpt::clip(&text, 80)));
    known.map(|(_, action)| *action).ok_or_else(unknown)
}

fn targets(given: Option<&Value>) -> Result<Vec<Target>, Problem> {
    let read;
    let given = match given {
        // A list, or a target, that was sent as text.
        Some(Value::String(text)) if text.trim_start().starts_with(['[', '{']) => {
            read = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
            Some(&read)
        }
        other => other,
    };
    let items = match given {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    if items.len() > MAX_TARGETS {
        return Err(over_cap("connectors", items.len(), MAX_TARGETS));
    }
    let mut targets = Vec::new();
    for item in items {
        let target = match item {
            Value::String(slug) => Some(Target::App(slug.trim().to_ascii_lowercase())),
            Value::Object(object) => object.get("name").and_then(Value::as_str).map(|name| {
                let name = name.trim();
                if is_true(object.get("mcp")) {
                    Target::Server(name.to_owned())
                } else {
                    Target::App(name.to_ascii_lowercase())
                }
            }),
            _ => None,
        };
        let named = |target: &Target| matches!(target, Target::App(name) | Target::Server(name) if !name.is_empty());
        let Some(target) = target.filter(named) else {
            let got = kind(item);
            let form = "an app's slug or {\"name\": …, \"mcp\": true}";
            return Err(Problem::new(format!(
                "An item of `connectors` is {got} that names nobody; it must be {form}."
            )));
        };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments() {
        for (rule, given, expected) in [
            ("CONN-6: status of all", json!({ "action": "status" }), Ok("status []")),
            (
                "CONN-6: an app",
                json!({ "action": "connect", "connectors": ["Gmail"] }),
                Ok(r#"connect [App("gmail")]"#),
            ),
            (
                "CONN-6: one as it is",
                json!({ "action": "connect", "connectors": "gmail" }),
                Ok(r#"connect [App("gmail")]"#),
            ),
            (
                "CONN-6: as text",
                json!({ "action": " CONNECT ", "connectors": "[\"gmail\", \"gmail\"]" }),
                Ok(r#"connect [App("gmail")]"#),
            ),
            (
                "CONN-6: a server",
                json!({ "action": "install", "connectors": [{ "name": "Linear", "mcp": true }] }),
                Ok(r#"install [Server("Linear")]"#),
            ),
            ("CONN-6: nobody", json!({ "action": "connect" }), Err("`connectors` names nobody")),
            ("CONN-6: a blank name", json!({ "action": "connect", "connectors": [" "] }), Err("names nobody")),
            ("CONN-6: a number", json!({ "action": "connect", "connectors": [5] }), Err("is a number")),
            ("CONN-6: no action", json!({}), Err("`action` is absent")),
            ("CONN-6: an unknown action", json!({ "action": "fly" }), Err("`fly` is no action")),
            (
                "CONN-6: never disconnects",
                json!({ "action": "disconnect", "connectors": ["gmail"] }),
                Err("A person disconnects"),
            ),
            (
                "CONN-6: the wrong door",
                json!({ "action": "connect", "connectors": [{ "name": "linear", "mcp": true }] }),
                Err(r#"{"action":"install","connectors":[{"name":"linear","mcp":true}]}"#),
            ),
            (
                "CONN-6: the wrong door",
                json!({ "action": "install", "connectors": ["linear"] }),
                Err(r#"{"action":"install","connectors":[{"name":"linear","mcp":true}]}"#),
            ),
            ("CONFIG-3: too many", json!({ "action": "connect", "connectors": vec!["a"; 11] }), Err("at most 10")),
        ] {
            let read = read(given.as_object().unwrap());
            match (read, expected) {
                (Ok(got), Ok(expected)) => {
                    assert_eq!(format!("{} {:?}", got.action.as_str(), got.targets), expected, "{rule}")
                }
                (Err(got), Err(part)) => assert!(got.error.contains(part), "{rule}: {}", got.error),
                (got, expected) => panic!("{rule}: {got:?} is not {expected:?}"),
            }
        }
        let forced = read(json!({ "action": "connect", "connectors": "a", "force": "true" }).as_object().unwrap());
        assert!(forced.unwrap().force);
    }
}
