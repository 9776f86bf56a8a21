//! Remote tools that a search brought: documents beside the registered ones, for that search alone (CONN-2).
//!
//! The catalog that they make with the registered ones is kept by what they say, as one with inline tools is.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::Catalog;
use super::inline::{self, Derived};
use super::json_text::{push_compact, push_string};
use super::names::Naming;
use super::source::{Kind, Origin, Source, SourceInfo};

/// A remote tool as a search shows it.
#[derive(Debug, Clone, Copy)]
pub struct RemoteTool<'a> {
    /// The name the model sees.
    pub name: &'a str,
    /// The gateway's name for it.
    pub slug: &'a str,
    /// What it does.
    pub description: &'a str,
    /// JSON Schema of its arguments.
    pub parameters: &'a str,
}

/// The catalog that holds these tools as a source `connectors`. They are in every scope: theirs was applied already.
pub fn with_remote<'a>(catalog: &Catalog, tools: impl IntoIterator<Item = RemoteTool<'a>>) -> Arc<Derived> {
    let mut text = String::from("[");
    let mut named = Vec::new();
    for RemoteTool { name, slug, description, parameters } in tools {
        text.push_str(if named.is_empty() { "{\"name\":" } else { ",{\"name\":" });
        named.push((name, slug));
        push_string(name, &mut text);
        text.push_str(",\"slug\":");
        push_string(slug, &mut text);
        text.push_str(",\"description\":");
        push_string(description, &mut text);
        text.push_str(",\"inputSchema\":");
        push_compact(parameters, &mut text);
        text.push('}');
    }
    text.push(']');
    // No list of inline tools begins so.
    let key = format!("remote {text}");
    if let Some(kept) = inline::kept(catalog, &key) {
        return kept;
    }
    let text: Arc<str> = text.into();
    let entries: Vec<&RawValue> = serde_json::from_str(&text).unwrap_or_default();
    let info = SourceInfo { naming: Naming::AsIs, ..SourceInfo::new("connectors", Kind::Connectors, Origin::Gateway) };
    let entries = entries.iter().zip(named).map(|(entry, named)| (entry.get(), Some(named)));
    let (source, problems) = Source::read_named(info, &text, entries);
    let sources = catalog.sources.iter().cloned().chain([Arc::new(source)]).collect();
    let derived = Arc::new(Derived { catalog: Arc::new(Catalog::of(sources, catalog.policy.clone())), problems });
    inline::keep(catalog, &key, derived.clone());
    derived
}
