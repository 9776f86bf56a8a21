//! Tools given with one request: they count as registered for it alone.
//!
//! The catalog they make with the registered ones is kept by their text, so that a host that sends the same list on
//! every turn pays for it once.

use std::sync::{Arc, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::definition::Definition;
use super::names::{self, Naming};
use super::source::{Kind, Origin, Problem, Source, SourceInfo, Tool};
use super::{Catalog, ToolId, keep};

/// A catalog with inline tools, and what was wrong with them.
pub struct Derived {
    /// The catalog for the request.
    pub catalog: Arc<Catalog>,
    /// Inline tools that were refused or taken with a warning.
    pub problems: Vec<Problem>,
}

/// `source` of an inline definition.
#[derive(Deserialize)]
struct Hint {
    name: String,
    kind: Option<Kind>,
}

/// The catalog that holds the tools of a JSON array beside the registered ones. `Err` if it is no array.
pub fn with_inline(catalog: &Catalog, tools: &str) -> Result<Arc<Derived>, serde_json::Error> {
    if let Some(kept) = kept(catalog, tools) {
        return Ok(kept);
    }
    let derived = Arc::new(derive(catalog, tools)?);
    keep(&catalog.derived, tools.into(), derived.clone());
    Ok(derived)
}

/// The same if it was made before.
pub fn kept(catalog: &Catalog, tools: &str) -> Option<Arc<Derived>> {
    catalog.derived.lock().unwrap_or_else(PoisonError::into_inner).get(tools).cloned()
}

fn derive(catalog: &Catalog, tools: &str) -> Result<Derived, serde_json::Error> {
    let text: Arc<str> = tools.into();
    let entries: Vec<&RawValue> = serde_json::from_str(&text)?;
    let mut problems = Vec::new();
    // The sources in order of appearance, each with its items' positions.
    let mut sources: Vec<(SourceInfo, Vec<usize>)> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let definition = Definition::read(entry.get());
        let name = definition.name.as_deref().unwrap_or_default();
        if names::is_bridge(name) {
            continue; // CORE-4: an assembly fed back in.
        }
        let info = info(catalog, &definition);
        match sources.iter_mut().find(|(known, _)| known.name == info.name && known.kind == info.kind) {
            Some((_, indices)) => indices.push(index),
            None => sources.push((info, vec![index])),
        }
    }
    // Position in the request of every inline tool, by visible name.
    let mut order: FxHashMap<Box<str>, usize> = FxHashMap::default();
    let mut inline: Vec<(SourceInfo, Vec<Arc<Tool>>)> = Vec::new();
    for (info, indices) in sources {
        let (source, found) = Source::read(info.clone(), &text, indices.iter().map(|index| entries[*index].get()));
        let refused: FxHashSet<usize> = found.iter().filter(|p| p.refused).map(|p| p.index).collect();
        let served = indices.iter().enumerate().filter(|(at, _)| !refused.contains(at)).map(|(_, index)| *index);
        let mut kept = Vec::new();
        for (tool, index) in source.tools.iter().zip(served) {
            if protected(catalog, &info, tool) {
                problems.push(refusal(index, tool, "a core tool has this name: no other source may take it"));
            } else if order.contains_key(&tool.name) {
                problems.push(refusal(index, tool, "another inline tool has this name: rename one of them"));
            } else {
                order.insert(tool.name.clone(), index);
                kept.push(tool.clone());
            }
        }
        problems.extend(found.into_iter().map(|problem| Problem { index: indices[problem.index], ..problem }));
        inline.push((info, kept));
    }
    problems.sort_by_key(|problem| problem.index);
    Ok(Derived { catalog: Arc::new(put_together(catalog, inline, &order)), problems })
}

fn put_together(
    catalog: &Catalog,
    inline: Vec<(SourceInfo, Vec<Arc<Tool>>)>,
    order: &FxHashMap<Box<str>, usize>,
) -> Catalog {
    let mut all = Vec::with_capacity(catalog.sources.len() + inline.len());
    let mut inline = inline;
    for source in &catalog.sources {
        let added = inline.iter().position(|(info, _)| info.name == source.info.name && info.kind == source.info.kind);
        let replaced = !order.is_empty() && source.tools.iter().any(|tool| order.contains_key(&tool.name));
        if added.is_none() && !replaced {
            all.push(source.clone());
            continue;
        }
        let mut tools: Vec<Arc<Tool>> =
            source.tools.iter().filter(|tool| !order.contains_key(&tool.name)).cloned().collect();
        tools.extend(added.map(|at| inline.remove(at).1).into_iter().flatten());
        all.push(Arc::new(Source::of(source.info.clone(), tools)));
    }
    all.extend(inline.into_iter().map(|(info, tools)| Arc::new(Source::of(info, tools))));
    let mut derived = Catalog::of(all, catalog.policy.clone());
    let mut given: Vec<(usize, ToolId)> = (0..derived.len() as ToolId)
        .filter_map(|id| order.get(&derived.tool(id).name).map(|index| (*index, id)))
        .filter(|(_, id)| !derived.is_refused(*id))
        .collect();
    given.sort_unstable();
    derived.inline = given.into_iter().map(|(_, id)| id).collect();
    derived
}

/// Whether a registered core tool has the name and the inline one is no tool of the host itself (CORE-1).
fn protected(catalog: &Catalog, info: &SourceInfo, tool: &Tool) -> bool {
    matches!(info.kind, Kind::Mcp | Kind::Plugin | Kind::Connectors)
        && catalog.find(&tool.name).is_some_and(|id| catalog.source_of(id).info.kind == Kind::Core)
}

fn refusal(index: usize, tool: &Tool, message: &str) -> Problem {
    Problem {
        index,
        offset: 0,
        name: tool.tool.to_string(),
        refused: true,
        code: "tool-name-taken",
        message: format!("`{}`: {message}", tool.name),
    }
}

/// The source an inline item is of: the one it names, else the server in its name, else unknown.
fn info(catalog: &Catalog, definition: &Definition<'_>) -> SourceInfo {
    let hint: Option<Hint> = definition.source.and_then(|json| serde_json::from_str(json).ok());
    let server = definition.name.as_deref().and_then(names::split_prefixed).map(|(server, _)| server.to_owned());
    let (name, kind) = match (hint, server) {
        (Some(hint), _) => (hint.name, hint.kind),
        (None, Some(server)) => (server, Some(Kind::Mcp)),
        (None, None) => {
            return SourceInfo { naming: Naming::AsIs, ..SourceInfo::new("", Kind::Unknown, Origin::Inline) };
        }
    };
    // What is registered under this name says more than an inline item does.
    match catalog.sources.iter().find(|source| source.info.name == name) {
        Some(known) if kind.is_none_or(|kind| kind == known.info.kind) => known.info.clone(),
        _ => SourceInfo::new(name, kind.unwrap_or(Kind::Unknown), Origin::Inline),
    }
}
