//! The made-up catalogs as files, and what is asked of them; the same for every program of a run.

use std::fmt::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Fallible;
use crate::support;

/// A word that one tool of the changed catalog has, and nothing else.
pub const CHANGED_WORD: &str = "quokka";

/// What is asked of a catalog, and where it is.
#[derive(Serialize, Deserialize)]
pub struct Inputs {
    /// The catalog, a registry file.
    pub catalog: String,
    /// The same with another description of one tool, which has `CHANGED_WORD`.
    pub changed: String,
    /// Position of that tool.
    pub changed_tool: usize,
    /// Queries that have answers, asked in turn.
    pub queries: Vec<String>,
    /// A word that no tool has.
    pub unknown: String,
    /// Names to describe, as models see them.
    pub names: Vec<String>,
}

/// A registry file, typed; schemas stay text.
#[derive(Deserialize)]
pub struct Registry<'a> {
    #[serde(borrow)]
    pub sources: Vec<Source<'a>>,
}

#[derive(Deserialize)]
pub struct Source<'a> {
    pub name: &'a str,
    #[serde(borrow)]
    pub tools: Vec<Tool<'a>>,
}

#[derive(Deserialize)]
pub struct Tool<'a> {
    pub name: &'a str,
    pub description: &'a str,
    #[serde(borrow, rename = "inputSchema")]
    pub schema: &'a RawValue,
}

/// Writes a catalog of so many tools, its changed twin and `inputs.json` into a folder.
pub fn write(tools: usize, folder: &Path) -> Fallible<()> {
    let json = support::registry(tools);
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let registry: Registry<'_> = serde_json::from_str(&json)?;
    let all: Vec<(&str, &Tool<'_>)> =
        registry.sources.iter().flat_map(|source| source.tools.iter().map(|tool| (source.name, tool))).collect();
    let changed_tool = tools / 2;
    let description = all[changed_tool].1.description;
    let at = description.as_ptr() as usize - json.as_ptr() as usize;
    let changed = format!("{}{CHANGED_WORD} {}", &json[..at], &json[at..]);
    let inputs = Inputs {
        catalog: path("catalog.json"),
        changed: path("changed.json"),
        changed_tool,
        queries: (0..64)
            .map(|n| all[n * tools / 64].1.description.split(' ').take(3).collect::<Vec<_>>().join(" "))
            .collect(),
        unknown: "xylophone".to_owned(),
        names: (0..10)
            .map(|n| all[n * tools / 10])
            .map(|(source, tool)| format!("mcp__{source}__{}", tool.name))
            .collect(),
    };
    std::fs::write(&inputs.catalog, &json)?;
    std::fs::write(&inputs.changed, changed)?;
    std::fs::write(path("inputs.json"), serde_json::to_string(&inputs)?)?;
    Ok(())
}

/// One document of a search engine: what the seed's system and Toolscout search as well, which is the words of name,
/// source, description and parameters' names.
#[derive(Clone)]
pub struct Document {
    pub name: String,
    pub description: String,
    pub text: String,
}

/// All documents of a catalog.
pub fn documents(json: &str) -> Fallible<Vec<Document>> {
    #[derive(Deserialize)]
    struct Schema {
        #[serde(default)]
        properties: serde_json::Map<String, serde_json::Value>,
    }
    let registry: Registry<'_> = serde_json::from_str(json)?;
    let mut out = Vec::new();
    for source in &registry.sources {
        for tool in &source.tools {
            let schema: Schema = serde_json::from_str(tool.schema.get())?;
            let mut text = format!("{} {} {}", tool.name.replace('_', " "), source.name, tool.description);
            for name in schema.properties.keys() {
                let _ = write!(text, " {}", name.replace('_', " "));
            }
            out.push(Document { name: tool.name.to_owned(), description: tool.description.to_owned(), text });
        }
    }
    Ok(out)
}
