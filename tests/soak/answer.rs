//! What is asked, and what an answer shows of the files.

use serde_json::{Value, json};

use crate::editor::{DEFAULT_BUDGET, mark, tool_count};

/// A file's version as an answer shows it; the inner `None` is a file that is not there.
pub type Version = Option<u64>;

#[derive(Debug, Clone)]
pub enum Question {
    Initialize,
    Register,
    Status,
    /// With the etag of an answer that showed these versions of the two registries.
    Assemble(Option<(String, [Version; 2])>),
    Search,
    Describe(String),
    List,
    Config,
}

/// What an answer shows; the outer `None` where it says nothing about a file.
#[derive(Debug, Default)]
pub struct Shown {
    /// Of the registries `alpha` and `beta`, and of the configuration.
    pub files: [Option<Version>; 3],
    pub revision: Option<u64>,
}

impl Question {
    pub fn method(&self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::Register => "registry/register",
            Self::Status => "status",
            Self::Assemble(_) => "assemble",
            Self::Search | Self::Describe(_) => "bridge/call",
            Self::List => "registry/list",
            Self::Config => "config/get",
        }
    }

    /// Parameters, for the client of this number.
    pub fn params(&self, client: u64) -> Value {
        match self {
            Self::Initialize | Self::Status | Self::Config | Self::Assemble(None) => json!({}),
            Self::Register => {
                let mark = mark('o', client);
                let tool = json!({ "name": format!("own_{mark}"), "description": format!("{mark} is its owner's") });
                json!({ "source": { "name": "own", "kind": "mcp" }, "tools": [tool] })
            }
            Self::Assemble(Some((etag, _))) => json!({ "ifEtag": etag }),
            Self::Search => {
                let arguments = json!({ "queries": ["alpha records", "beta records"], "limit": 20 });
                json!({ "name": "tool_search", "arguments": arguments })
            }
            Self::Describe(name) => json!({ "name": "tool_describe", "arguments": { "names": [name] } }),
            Self::List => json!({ "tools": true }),
        }
    }

    /// What the result shows to the client of this number; an error where it shows several versions of a file, another
    /// number of tools than these versions have, or what another client registered.
    pub fn shown(&self, result: &Value, client: u64) -> Result<Shown, String> {
        let mut text = result.to_string();
        if let Self::Describe(name) = self {
            text = text.replace(name, "");
        }
        let [alpha, beta, config] = [only(&text, 'a')?, only(&text, 'b')?, only(&text, 'c')?];
        if let Some(owner) = only(&text, 'o')?.filter(|owner| *owner != client) {
            return Err(format!("what client {owner} registered"));
        }
        let number = |pointer: &str| {
            let number = result.pointer(pointer).and_then(Value::as_u64);
            number.ok_or_else(|| format!("no number at {pointer}"))
        };
        let all = tool_count(alpha) + tool_count(beta) + 1;
        let total = |pointer: &str| match number(pointer)? {
            total if total == all => Ok(()),
            total => Err(format!("{total} tools at {pointer}, {all} expected")),
        };
        let version = |budget: u64| budget.checked_sub(DEFAULT_BUDGET).filter(|version| *version > 0);
        let files = match self {
            Self::Initialize | Self::Status => [None; 3],
            Self::Register => {
                if number("/accepted")? != 1 {
                    return Err("not accepted".to_owned());
                }
                [None; 3]
            }
            Self::Assemble(known) => {
                let budget = version(number("/listingBudget")?);
                match known {
                    Some((_, [alpha, beta])) if result["unchanged"] == true => {
                        [Some(*alpha), Some(*beta), Some(budget)]
                    }
                    _ => {
                        total("/deferredCount")?;
                        [Some(alpha), Some(beta), Some(budget)]
                    }
                }
            }
            Self::Search => {
                total("/content/total_available")?;
                [Some(alpha), Some(beta), None]
            }
            Self::Describe(_) => [alpha.map(Some), beta.map(Some), None],
            Self::List => {
                let sources = result["sources"].as_array().ok_or("no sources")?;
                let listed = |source: &Value| source["tools"].as_array().map_or(0, |tools| tools.len() as u64);
                let listed: u64 = sources.iter().map(listed).sum();
                if listed != all {
                    return Err(format!("{listed} tools listed, {all} expected"));
                }
                [Some(alpha), Some(beta), None]
            }
            Self::Config => {
                let budget = version(number("/settings/tools/tool_search/listing_max_tokens")?);
                if budget != config {
                    return Err(format!("configuration {budget:?} and {config:?} at once"));
                }
                [None, None, Some(config)]
            }
        };
        Ok(Shown { files, revision: result["revision"].as_u64() })
    }
}

/// The one version of this letter that a text names.
fn only(text: &str, letter: char) -> Result<Version, String> {
    let mut found = None;
    for (at, _) in text.match_indices(&format!("{letter}v")) {
        let digits = text.get(at + 2..at + 8).filter(|_| text[at + 8..].starts_with('x'));
        let Some(version) = digits.and_then(|digits| digits.parse().ok()) else { continue };
        match found {
            Some(other) if other != version => return Err(format!("{letter}: versions {other} and {version} at once")),
            _ => found = Some(version),
        }
    }
    Ok(found)
}

#[test]
fn an_answer_of_two_versions_is_told() {
    let listed = |names: &[&str]| {
        let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        Question::List.shown(&json!({ "sources": [{ "tools": tools }] }), 3)
    };
    let whole = ["1_av000007x", "2_av000007x", "3_av000007x", "4_av000007x", "own_ov000003x"];
    assert_eq!(listed(&whole).expect("one version").files, [Some(Some(7)), Some(None), None]);
    for (label, names) in [
        ("two versions", &["1_av000007x", "2_av000008x"][..]),
        ("a tool is missing", &whole[1..]),
        ("another's", &["own_ov000004x"]),
    ] {
        assert!(listed(names).is_err(), "{label}");
    }
}
