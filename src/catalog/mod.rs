//! The heart: tool definitions, scope, index, search, listing, assembly, describe. Pure.
//!
//! A [`Catalog`] is one immutable set of sources under one configuration. Everything derived from it is kept with
//! it or with the part it derives from, under a key that is the content itself, and dies with it.

pub mod assembly;
mod bits;
pub mod bridge;
pub mod changes;
pub mod connections;
pub mod definition;
pub mod describe;
pub mod explain;
pub mod found_by;
mod group;
mod index;
pub mod inline;
pub mod json_text;
pub mod lint;
pub mod listing;
pub mod names;
mod near;
pub mod pattern;
pub mod policy;
mod query;
pub mod remote;
pub mod render;
mod schema_words;
pub mod scope;
pub mod search;
mod segment;
pub mod settings;
pub mod source;
mod stems;
pub mod tokens;
pub mod view;
pub mod words;

use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use assembly::{Assembly, Request};
use bits::Bits;
use group::{Group, bare_names, folded_hash};
use index::Index;
use names::Naming;
use policy::Policy;
use scope::Scope;
use source::{Source, Tool, name_hash};
use view::View;

/// Position of a tool in its catalog.
pub type ToolId = u32;

/// Views and assemblies kept a catalog; past that all are dropped and made anew as they are asked for.
const KEPT: usize = 256;

/// A set of sources under a configuration.
pub struct Catalog {
    /// The sources by kind, then label.
    pub sources: Vec<Arc<Source>>,
    /// What may be deferred.
    pub policy: Arc<Policy>,
    /// Tools that lost their name to another source's.
    pub collisions: Vec<Collision>,
    /// Inline tools in the order given, for a catalog made for one request.
    inline: Vec<ToolId>,
    /// The same, as a set.
    is_inline: Bits,
    bases: Vec<u32>,
    /// Tools by the hash of their visible name.
    names: HashTable<(u32, ToolId)>,
    refused: Bits,
    groups: OnceLock<Vec<(usize, Arc<Group>)>>,
    index: OnceLock<Index>,
    views: Mutex<FxHashMap<u64, Arc<View>>>,
    assemblies: Mutex<FxHashMap<Request, Arc<Assembly>>>,
    derived: Mutex<FxHashMap<Box<str>, Arc<inline::Derived>>>,
}

/// Two tools of different sources with one visible name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The name.
    pub name: String,
    /// The source whose tool was refused.
    pub source: String,
    /// Its tool.
    pub tool: String,
    /// The source that has the name.
    pub winner: String,
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, source, tool, winner } = self;
        write!(
            f,
            "`{tool}` of the source `{source}` is not served: the source `{winner}` has the name `{name}`; rename one of them"
        )
    }
}

/// A table wants all bits of a hash (Knuth, "The Art of Computer Programming", 6.4: multiplication by the golden ratio).
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// What a name means in a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    /// A deferred tool in scope.
    Deferred(ToolId),
    /// A tool in scope that is loaded.
    Visible(ToolId),
    /// In the core set; registered or not, it is never called through the bridge.
    Core,
    /// One of the bridge tools.
    Bridge,
    /// Nothing in scope.
    Unknown,
}

impl Catalog {
    /// Puts sources together. Of two with one name the nearer origin wins whole, and the first of equals; what the order
    /// of `sources` is does not matter otherwise.
    pub fn new(sources: impl IntoIterator<Item = Arc<Source>>, policy: Arc<Policy>) -> Self {
        let mut nearest: FxHashMap<Box<str>, Arc<Source>> = FxHashMap::default();
        for source in sources {
            match nearest.entry(source.info.name.as_str().into()) {
                Entry::Vacant(slot) => {
                    slot.insert(source);
                }
                Entry::Occupied(mut slot) if source.info.origin < slot.get().info.origin => {
                    slot.insert(source);
                }
                Entry::Occupied(_) => {}
            }
        }
        Self::of(nearest.into_values().collect(), policy)
    }

    /// As `new`, of sources with distinct names.
    fn of(mut sources: Vec<Arc<Source>>, policy: Arc<Policy>) -> Self {
        sources.sort_by(|a, b| (a.info.kind, &a.info.name).cmp(&(b.info.kind, &b.info.name)));
        let mut bases = Vec::with_capacity(sources.len() + 1);
        let mut total = 0u32;
        for source in &sources {
            bases.push(total);
            total += source.tools.len() as u32;
        }
        bases.push(total);
        let mut catalog = Self {
            sources,
            policy,
            collisions: Vec::new(),
            inline: Vec::new(),
            is_inline: Bits::new(total as usize),
            bases,
            names: HashTable::with_capacity(total as usize),
            refused: Bits::new(total as usize),
            groups: OnceLock::new(),
            index: OnceLock::new(),
            views: Mutex::default(),
            assemblies: Mutex::default(),
            derived: Mutex::default(),
        };
        catalog.settle_names();
        catalog
    }

    /// Gives every visible name to one tool: kind decides, then prefixed before as-is, then label.
    fn settle_names(&mut self) {
        let mut names = std::mem::take(&mut self.names);
        for (base, source) in self.bases.iter().zip(&self.sources) {
            for (id, &hash) in (*base..).zip(source.name_hashes()) {
                // Names are looked at only where their hashes are the same.
                let is_same =
                    |&(other, holder): &(u32, ToolId)| other == hash && self.tool(holder).name == self.tool(id).name;
                let Some((_, holder)) = names.find_mut(spread(hash), is_same) else {
                    names.insert_unique(spread(hash), (hash, id), |&(hash, _)| spread(hash));
                    continue;
                };
                let rank = |id: ToolId| {
                    let info = &self.source_of(id).info;
                    let kept = info.naming == Naming::AsIs || self.tool(id).tool.starts_with("mcp_");
                    (info.kind, kept, info.name.as_str())
                };
                let (winner, loser) = if rank(id) < rank(*holder) { (id, *holder) } else { (*holder, id) };
                let collision = Collision {
                    name: self.tool(id).name.to_string(),
                    source: self.source_of(loser).info.name.clone(),
                    tool: self.tool(loser).tool.to_string(),
                    winner: self.source_of(winner).info.name.clone(),
                };
                *holder = winner;
                self.collisions.push(collision);
                self.refused.insert(loser);
            }
        }
        self.names = names;
    }

    /// Number of tools, those that lost their name included.
    pub fn len(&self) -> usize {
        self.bases.last().copied().unwrap_or(0) as usize
    }

    /// Whether there is no tool.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first id of a source's tools.
    pub fn base(&self, source: usize) -> ToolId {
        self.bases[source]
    }

    /// The position of a tool's source.
    pub fn source_index(&self, id: ToolId) -> usize {
        self.bases.partition_point(|base| *base <= id) - 1
    }

    /// A tool's source.
    pub fn source_of(&self, id: ToolId) -> &Source {
        &self.sources[self.source_index(id)]
    }

    /// A tool.
    pub fn tool(&self, id: ToolId) -> &Arc<Tool> {
        let source = self.source_index(id);
        &self.sources[source].tools[(id - self.bases[source]) as usize]
    }

    /// A source's tools with their ids.
    pub fn tools_of(&self, source: usize) -> impl Iterator<Item = (ToolId, &Arc<Tool>)> {
        (self.bases[source]..).zip(&self.sources[source].tools)
    }

    /// Whether the tool lost its name to another source's.
    pub fn is_refused(&self, id: ToolId) -> bool {
        self.refused.contains(id)
    }

    /// The tool with a visible name, in scope or not.
    pub fn find(&self, name: &str) -> Option<ToolId> {
        let hash = name_hash(name);
        let found = self.names.find(spread(hash), |&(other, id)| other == hash && &*self.tool(id).name == name);
        found.map(|(_, id)| *id)
    }

    /// What a scope sees. Made once a scope and kept.
    pub fn view(&self, scope: &Scope) -> Arc<View> {
        if let Some(view) = self.kept_view(scope) {
            return view;
        }
        let view = Arc::new(View::new(self, scope.clone()));
        keep(&self.views, scope.content(), view.clone());
        view
    }

    /// The same if it was made before.
    pub fn kept_view(&self, scope: &Scope) -> Option<Arc<View>> {
        let kept = self.views.lock().unwrap_or_else(PoisonError::into_inner).get(&scope.content()).cloned();
        kept.filter(|view| view.scope.grant() == scope.grant())
    }

    /// What a name means in a scope: a visible name, or an unambiguous bare one (`create_issue`) of a deferred tool.
    pub fn resolve(&self, name: &str, view: &View) -> Named {
        if names::is_bridge(name) {
            return Named::Bridge;
        }
        if let Some(id) = self.find(name) {
            if view.deferred.contains(id) {
                return Named::Deferred(id);
            }
            if view.visible.contains(&id) {
                return Named::Visible(id);
            }
        }
        if self.policy.is_core_name(name) {
            return Named::Core;
        }
        match self.bare(name, view) {
            Some(id) => Named::Deferred(id),
            None => Named::Unknown,
        }
    }

    /// What a model is told of a name that the host itself answers to.
    pub fn called_directly(&self, name: &str, view: &View) -> String {
        match self.bare(name, view) {
            // The host may not have it at all, and then this is what was meant.
            Some(id) => format!(
                "{name} is a tool of the host: if it is loaded, call it directly, by its own name. The deferred tool of that name is {}.",
                self.tool(id).name
            ),
            None => format!("{name} is loaded already: call it directly, by its own name."),
        }
    }

    /// The one deferred tool in scope that is so called without its server part, case folded.
    fn bare(&self, name: &str, view: &View) -> Option<ToolId> {
        only(&self.so_called(name, view))
    }

    /// The deferred tools in scope that are so called without their server part, case folded.
    fn so_called(&self, name: &str, view: &View) -> Vec<ToolId> {
        let folded = name.to_lowercase();
        let hash = folded_hash(&folded);
        let is = |id: &ToolId| bare_names(self.source_of(*id), self.tool(*id)).any(|bare| bare == folded);
        self.named(view, |sources, group| group.names(sources).bare(hash), is)
    }

    /// The same, by name, where they are several: a name that means one of them says too little.
    pub fn ambiguous(&self, name: &str, view: &View) -> Vec<ToolId> {
        let all = self.so_called(name.trim(), view);
        if all.len() == 1 { Vec::new() } else { self.by_name(all) }
    }

    /// Tools in the order of their names.
    pub(crate) fn by_name(&self, mut tools: Vec<ToolId>) -> Vec<ToolId> {
        tools.sort_by(|a, b| self.tool(*a).name.cmp(&self.tool(*b).name));
        tools
    }

    /// The deferred tools in scope that a name may mean, case folded: the one that is shown so, else those that are so called
    /// without their server part.
    pub(crate) fn meant(&self, name: &str, view: &View) -> Vec<ToolId> {
        let folded = name.to_lowercase();
        let hash = folded_hash(&folded);
        let is = |id: &ToolId| self.tool(*id).name.to_lowercase() == folded;
        let whole = self.named(view, |sources, group| group.names(sources).visible(hash), is);
        if whole.len() == 1 { whole } else { self.so_called(name, view) }
    }

    /// Of the tools `found` in each group, the deferred ones in scope that are meant.
    fn named<'a, I: Iterator<Item = u32> + 'a>(
        &'a self,
        view: &View,
        found: impl Fn(&'a [Arc<Source>], &'a Group) -> I,
        is: impl Fn(&ToolId) -> bool,
    ) -> Vec<ToolId> {
        let mut all = Vec::new();
        let mut before = 0;
        for (sources, group) in self.groups() {
            let base = self.base(before);
            before += sources.len();
            let ids = found(sources, group).map(|at| base + at);
            all.extend(ids.filter(|id| view.deferred.contains(*id)).filter(&is));
        }
        // A tool may be so called twice over.
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Neighbouring sources, each with what is kept of them together.
    fn groups(&self) -> impl Iterator<Item = (&[Arc<Source>], &Group)> {
        let groups = self.groups.get_or_init(|| group::groups(&self.sources));
        groups.iter().map(|(from, group)| (&self.sources[*from..from + group.len()], &**group))
    }

    /// Where terms are held.
    fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::build(self))
    }

    /// Whether a search has nothing left to make first.
    pub fn is_search_ready(&self, view: &View) -> bool {
        self.index.get().is_some() && view.has_statistics()
    }

    /// Makes now what the first search would have to make.
    pub fn prepare_search(&self, view: &View) {
        self.index();
        view.statistics(self);
    }
}

/// A tool that is the only one.
pub(crate) fn only(tools: &[ToolId]) -> Option<ToolId> {
    if let [one] = tools { Some(*one) } else { None }
}

/// Keeps a value under its key, dropping all when there are too many: the values can always be made anew.
fn keep<K: std::hash::Hash + Eq, V>(kept: &Mutex<FxHashMap<K, V>>, key: K, value: V) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() >= KEPT {
        kept.clear();
    }
    kept.insert(key, value);
}

#[cfg(test)]
mod tests;
