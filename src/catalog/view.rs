//! What one scope sees of a catalog: which tools are deferred, which stay visible.

use std::sync::{Arc, OnceLock};

use super::bits::Bits;
use super::connections::{self, Whose};
use super::listing::Block;
use super::scope::Scope;
use super::source::{Origin, Source, Tool};
use super::{Catalog, ToolId};

/// A scope applied to a catalog. Valid for that catalog only.
pub struct View {
    /// The scope it is made from.
    pub scope: Scope,
    /// Deferred tools.
    pub deferred: Bits,
    /// Number of deferred tools.
    pub deferred_count: usize,
    /// Visible tools in the order of ASSEMBLE-3.
    pub visible: Vec<ToolId>,
    /// Whether `manage_connections` stands behind the visible tools.
    pub manages: bool,
    /// Number of deferred tools of each source of the catalog.
    pub counts: Vec<u32>,
    /// Tools of the catalog that are not deferred here, where they are few.
    others: Option<Vec<ToolId>>,
    statistics: OnceLock<Statistics>,
    blocks: OnceLock<Vec<Arc<Block>>>,
}

/// Whether a tool may stand in the array by its name: not if it is that of `manage_connections` and not the host's. Where
/// it is, `manages` ends, since a name stands once.
fn may_stand(source: &Source, tool: &Tool, manages: &mut bool) -> bool {
    if &*tool.name != connections::NAME {
        return true;
    }
    let is_hosts = connections::whose(source, tool) == Whose::Hosts;
    *manages &= !is_hosts;
    is_hosts
}

/// So many tools are few: core tools, and what a user keeps loaded.
const FEW: usize = 256;

/// What BM25 needs of the collection, over the deferred tools in scope.
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    /// Number of documents.
    pub documents: f64,
    /// Mean length of a document in terms.
    pub mean_length: f64,
}

impl View {
    pub(super) fn new(catalog: &Catalog, scope: Scope) -> Self {
        let mut deferred = Bits::new(catalog.len());
        let mut counts = vec![0; catalog.sources.len()];
        let mut by_source = Vec::new();
        let mut manages =
            scope.grants_toolset(connections::TOOLSET, connections::TOOLSET) && scope.grants_tool(connections::NAME);
        let mut granted = Bits::new(catalog.len());
        for (index, source) in catalog.sources.iter().enumerate() {
            // Remote tools are of several toolsets each, and came through the scope before they came here.
            let is_remote = source.info.origin == Origin::Gateway;
            if !is_remote && !scope.grants_toolset(&source.toolset, &source.info.name) {
                continue;
            }
            if !is_remote && !scope.names_tools() && catalog.collisions.is_empty() {
                // Nothing has to be asked of each tool.
                let (base, loaded) = (catalog.base(index), source.loaded(&catalog.policy));
                deferred.insert_all(base..catalog.base(index + 1));
                counts[index] = (source.tools.len() - loaded.len()) as u32;
                for id in loaded.iter().map(|at| base + at) {
                    deferred.remove(id);
                    if !may_stand(source, catalog.tool(id), &mut manages) {
                        continue;
                    }
                    granted.insert(id);
                    by_source.push(id);
                }
                continue;
            }
            for (id, tool) in catalog.tools_of(index) {
                if catalog.is_refused(id) || (scope.names_tools() && !scope.grants_tool(&tool.name)) {
                    continue;
                }
                if !may_stand(source, tool, &mut manages) {
                    continue;
                }
                if is_remote && catalog.policy.defers_remote()
                    || catalog.policy.may_defer(source.info.kind, &tool.name, &tool.tool)
                {
                    deferred.insert(id);
                    counts[index] += 1;
                } else {
                    granted.insert(id);
                    by_source.push(id);
                }
            }
        }
        let mut visible: Vec<ToolId> = catalog.inline.iter().copied().filter(|id| granted.contains(*id)).collect();
        if catalog.inline.is_empty() {
            visible = by_source;
        } else {
            visible.extend(by_source.into_iter().filter(|id| !catalog.is_inline.contains(*id)));
        }
        Self { manages, ..Self::of(catalog, scope, deferred, counts, visible) }
    }

    fn of(catalog: &Catalog, scope: Scope, deferred: Bits, counts: Vec<u32>, visible: Vec<ToolId>) -> Self {
        let deferred_count = counts.iter().sum::<u32>() as usize;
        let few = catalog.len() - deferred_count <= FEW;
        let others = few.then(|| deferred.missing(catalog.len() as ToolId).collect());
        Self {
            scope,
            deferred,
            deferred_count,
            visible,
            manages: false,
            counts,
            others,
            statistics: OnceLock::new(),
            blocks: OnceLock::new(),
        }
    }

    /// The same without some of the deferred tools.
    pub fn hiding(&self, catalog: &Catalog, hidden: impl IntoIterator<Item = ToolId>) -> Self {
        let (mut deferred, mut counts) = (self.deferred.clone(), self.counts.clone());
        for id in hidden {
            if deferred.contains(id) {
                deferred.remove(id);
                counts[catalog.source_index(id)] -= 1;
            }
        }
        let hiding = Self::of(catalog, self.scope.clone(), deferred, counts, self.visible.clone());
        Self { manages: self.manages, ..hiding }
    }

    /// Whether every tool of a source is deferred.
    pub fn is_whole(&self, catalog: &Catalog, source: usize) -> bool {
        self.counts[source] as usize == catalog.sources[source].tools.len()
    }

    /// Sources in scope that have no tools for the moment, and why; by label.
    pub fn unavailable<'a>(&self, catalog: &'a Catalog) -> Vec<(&'a str, &'a str)> {
        let granted = |source: &&Arc<Source>| self.scope.grants_toolset(&source.toolset, &source.info.name);
        let sources = catalog.sources.iter().filter(granted);
        let why = |source: &'a Arc<Source>| Some((source.info.name.as_str(), source.unavailable.as_deref()?));
        let mut all: Vec<(&str, &str)> = sources.filter_map(why).collect();
        all.sort_unstable();
        all
    }

    /// Deferred tools of a source.
    pub fn deferred_of<'a>(
        &'a self,
        catalog: &'a Catalog,
        source: usize,
    ) -> impl Iterator<Item = (ToolId, &'a Arc<Tool>)> {
        catalog.tools_of(source).filter(|(id, _)| self.deferred.contains(*id))
    }

    /// Number of documents and their mean length.
    pub fn statistics(&self, catalog: &Catalog) -> Statistics {
        *self.statistics.get_or_init(|| {
            let index = catalog.index();
            let deferred = (0..catalog.len() as ToolId).filter(|id| self.deferred.contains(*id));
            let total: u64 = deferred.map(|id| u64::from(index.length(id))).sum();
            let documents = self.deferred_count as f64;
            Statistics { documents, mean_length: (total as f64 / documents.max(1.0)).max(1.0) }
        })
    }

    /// How many of some tools, given in ascending order, are deferred.
    pub fn count(&self, tools: &[ToolId]) -> usize {
        // Where few are not, asking for those few is cheaper than asking for each.
        match &self.others {
            Some(others) if others.len() * 16 < tools.len() => {
                tools.len() - others.iter().filter(|id| tools.binary_search(id).is_ok()).count()
            }
            _ => tools.iter().filter(|id| self.deferred.contains(**id)).count(),
        }
    }

    /// Whether the statistics are there already.
    pub fn has_statistics(&self) -> bool {
        self.statistics.get().is_some()
    }

    /// The listing blocks of the sources with deferred tools, sorted by label.
    pub fn blocks(&self, catalog: &Catalog) -> &[Arc<Block>] {
        self.blocks.get_or_init(|| {
            let mut with_tools: Vec<usize> = (0..self.counts.len()).filter(|index| self.counts[*index] > 0).collect();
            with_tools.sort_by(|a, b| catalog.sources[*a].info.name.cmp(&catalog.sources[*b].info.name));
            with_tools
                .into_iter()
                .map(|index| {
                    let source = &catalog.sources[index];
                    if self.is_whole(catalog, index) {
                        source.block().clone()
                    } else {
                        Arc::new(source.block_of(self.deferred_of(catalog, index).map(|(_, tool)| &**tool)))
                    }
                })
                .collect()
        })
    }
}
