//! Tools given with one request: they count as registered for it alone.
//!
//! The catalog they make with the registered ones is kept by their text, so that a host that sends the same list on
//! every turn pays for it once.

use std::sync::{Arc, PoisonError};

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::definition::Definition;
use super::names::{self, Naming};
use super::source::{Kind, Origin, Problem, Problems, Source, SourceInfo, Tool};
use super::{Catalog, ToolId};

/// Lists kept a catalog, and their bytes; past either all are dropped and made anew as they come.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 8 << 20;

/// A catalog with inline tools, and what was wrong with them.
pub struct Derived {
    /// The catalog for the request.
    pub catalog: Arc<Catalog>,
    /// Inline tools that were refused or taken with a warning.
    pub problems: Vec<Problem>,
}

/// A source and its inline tools.
type Tools = (SourceInfo, Vec<Arc<Tool>>);

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
    keep(catalog, tools, derived.clone());
    Ok(derived)
}

/// Keeps what was derived from a catalog by the text that it was derived with.
pub(super) fn keep(catalog: &Catalog, tools: &str, derived: Arc<Derived>) {
    let mut kept = catalog.derived.lock().unwrap_or_else(PoisonError::into_inner);
    let bytes = |kept: &FxHashMap<Box<str>, Arc<Derived>>| kept.keys().map(|key| key.len()).sum::<usize>();
    if kept.len() >= KEPT || bytes(&kept) + tools.len() > KEPT_BYTES {
        kept.clear();
    }
    if tools.len() <= KEPT_BYTES {
        kept.insert(tools.into(), derived);
    }
}

/// The same if it was made before.
pub fn kept(catalog: &Catalog, tools: &str) -> Option<Arc<Derived>> {
    catalog.derived.lock().unwrap_or_else(PoisonError::into_inner).get(tools).cloned()
}

fn derive(catalog: &Catalog, tools: &str) -> Result<Derived, serde_json::Error> {
    let text: Arc<str> = tools.into();
    let entries: Vec<&RawValue> = serde_json::from_str(&text)?;
    let mut problems = Problems::default();
    // Position in the request of every inline tool, by visible name.
    let mut order: FxHashMap<Box<str>, usize> = FxHashMap::default();
    // The sources in order of appearance, and where each stands.
    let mut sources: Vec<Tools> = Vec::new();
    let mut places: FxHashMap<(String, Kind), usize> = FxHashMap::default();
    for (index, entry) in entries.iter().enumerate() {
        let definition = Definition::read(entry.get());
        if names::is_bridge(definition.name.as_deref().unwrap_or_default()) {
            continue; // CORE-4: an assembly fed back in.
        }
        let item = Item::of(catalog, &definition, &order);
        let (tool, found) = item.read(&text, entry.get());
        found.into_iter().for_each(|problem| problems.push(Problem { index, ..problem }));
        let Some(tool) = tool else { continue };
        if item.hinted && is_core(catalog, &tool.name, &item.info) {
            problems.push(refusal(index, &tool, "a core tool has this name: no other source may take it"));
        } else if order.contains_key(&tool.name) {
            problems.push(refusal(index, &tool, "another inline tool has this name: rename one of them"));
        } else {
            order.insert(tool.name.clone(), index);
            let at = *places.entry((item.info.name.clone(), item.info.kind)).or_insert_with(|| {
                sources.push((item.info.clone(), Vec::new()));
                sources.len() - 1
            });
            sources[at].1.push(tool);
        }
    }
    Ok(Derived { catalog: Arc::new(put_together(catalog, sources, &order)), problems: problems.finish() })
}

/// What an inline definition counts as.
struct Item {
    info: SourceInfo,
    /// Its visible name and its own, where they are not made by the rules for its source.
    named: Option<(String, String)>,
    /// Whether the item said its source itself.
    hinted: bool,
}

impl Item {
    /// The source it names; else that of the registered tool whose visible name it has; else the server in its name;
    /// else unknown, and then it is a tool of the host itself, whose name is its own affair.
    fn of(catalog: &Catalog, definition: &Definition<'_>, taken: &FxHashMap<Box<str>, usize>) -> Self {
        let hint: Option<Hint> = definition.source.and_then(|json| serde_json::from_str(json).ok());
        let name = definition.name.as_deref().unwrap_or_default();
        if let Some(hint) = hint {
            // What is registered under this name says more than an inline item does.
            let known = catalog.sources.iter().find(|source| source.info.name == hint.name);
            let info = known.map(|source| source.info.clone());
            let info =
                info.unwrap_or_else(|| SourceInfo::new(hint.name, hint.kind.unwrap_or(Kind::Unknown), Origin::Inline));
            return Self { info, named: None, hinted: true };
        }
        if let Some(id) = catalog.find(name) {
            let named = Some((name.to_owned(), catalog.tool(id).tool.to_string()));
            return Self { info: catalog.source_of(id).info.clone(), named, hinted: false };
        }
        if let Some((server, _)) = names::split_prefixed(name) {
            let known =
                catalog.sources.iter().find(|source| source.info.name == server && source.info.kind == Kind::Mcp);
            let info = known.map(|source| source.info.clone());
            let info = info.unwrap_or_else(|| SourceInfo::new(server, Kind::Mcp, Origin::Inline));
            return Self { info, named: None, hinted: false };
        }
        let info = SourceInfo { naming: Naming::AsIs, ..SourceInfo::new("", Kind::Unknown, Origin::Inline) };
        let own = match (definition.name.is_some(), definition.provider_type()) {
            // A tool that the model's provider runs has no name of its own, and there may be several of a type.
            (false, Some(kind)) => (0..)
                .map(|n| if n == 0 { kind.clone() } else { format!("{kind} {n}") })
                .find(|name| !taken.contains_key(name.as_str())),
            _ => Some(name.to_owned()),
        };
        let named = own.filter(|own| !own.trim().is_empty()).map(|own| (own.clone(), own));
        Self { info, named, hinted: false }
    }

    fn read(&self, text: &Arc<str>, entry: &str) -> (Option<Arc<Tool>>, Vec<Problem>) {
        // Inline, so that what belongs to the request is not taken for a part of the definition.
        let info = SourceInfo { origin: Origin::Inline, ..self.info.clone() };
        let named = self.named.as_ref().map(|(visible, own)| (visible.as_str(), own.as_str()));
        let (source, problems) = Source::read_named(info, text, [(entry, named)]);
        (source.tools.into_iter().next(), problems)
    }
}

fn put_together(catalog: &Catalog, inline: Vec<Tools>, order: &FxHashMap<Box<str>, usize>) -> Catalog {
    let mut all = Vec::with_capacity(catalog.sources.len() + inline.len());
    let mut inline: FxHashMap<(String, Kind), Tools> =
        inline.into_iter().map(|(info, tools)| ((info.name.clone(), info.kind), (info, tools))).collect();
    for source in &catalog.sources {
        let added = inline.remove(&(source.info.name.clone(), source.info.kind));
        let replaced = !order.is_empty() && source.tools.iter().any(|tool| order.contains_key(&tool.name));
        if added.is_none() && !replaced {
            all.push(source.clone());
            continue;
        }
        let mut tools: Vec<Arc<Tool>> =
            source.tools.iter().filter(|tool| !order.contains_key(&tool.name)).cloned().collect();
        tools.extend(added.into_iter().flat_map(|(_, tools)| tools));
        all.push(Arc::new(Source::of(source.info.clone(), tools)));
    }
    // In any order: the catalog has its own.
    all.extend(inline.into_values().map(|(info, tools)| Arc::new(Source::of(info, tools))));
    let mut derived = Catalog::of(all, catalog.policy.clone());
    let mut given: Vec<(usize, ToolId)> = (0..derived.len() as ToolId)
        .filter_map(|id| order.get(&derived.tool(id).name).map(|index| (*index, id)))
        .filter(|(_, id)| !derived.is_refused(*id))
        .collect();
    given.sort_unstable();
    derived.inline = given.into_iter().map(|(_, id)| id).collect();
    for id in &derived.inline {
        derived.is_inline.insert(*id);
    }
    derived
}

/// Whether a registered core tool of another source has the name (CORE-1).
fn is_core(catalog: &Catalog, name: &str, info: &SourceInfo) -> bool {
    let holder = catalog.find(name).map(|id| &catalog.source_of(id).info);
    holder.is_some_and(|holder| holder.kind == Kind::Core && holder.name != info.name)
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
