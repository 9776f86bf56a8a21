//! Where in a catalog a term is held.
//!
//! Postings stay with their sources ([`super::segment`]), which catalogs share; so do the directories over neighbouring
//! sources ([`super::group`]). The postings of terms that are asked for are put behind each other and kept, since walking
//! them is then what a search costs; those of hundreds of sources would each be a cache miss.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustc_hash::FxHashMap;

use super::segment::term_hash;
use super::stems::Stems;
use super::{Catalog, ToolId};

/// All postings of one term in a catalog, by ascending tool.
#[derive(Debug, Default)]
pub struct Postings {
    /// Tools that hold the term.
    pub tools: Vec<ToolId>,
    /// How often each holds it, as [`super::segment::Postings::frequencies`].
    pub frequencies: Vec<u16>,
    /// Tools beside which the term stands.
    pub beside: Vec<ToolId>,
}

/// Postings kept a catalog, in tools (6 bytes each at most); past that all are dropped and put together anew as they are asked for.
const KEPT: usize = 1 << 19;
/// What a term costs beside its tools, in the same measure: words that nothing holds are kept too.
const TERM: usize = 16;

/// Postings that were asked for, by term, and what they cost together.
type Kept = (FxHashMap<Box<str>, Arc<Postings>>, usize);

/// See the module.
pub struct Index {
    /// Length of every tool's document in terms.
    lengths: Vec<u32>,
    /// Distinct terms of every tool's name.
    names: Vec<u8>,
    kept: Mutex<Kept>,
}

impl Index {
    /// The index of a catalog, building what of it is not there yet.
    pub fn build(catalog: &Catalog) -> Self {
        make_groups(catalog);
        let segments = || catalog.sources.iter().map(|source| source.segment());
        let (mut lengths, mut names) = (Vec::with_capacity(catalog.len()), Vec::with_capacity(catalog.len()));
        segments().for_each(|segment| lengths.extend_from_slice(&segment.lengths));
        segments().for_each(|segment| names.extend_from_slice(&segment.names));
        Self { lengths, names, kept: Mutex::default() }
    }

    /// Length of a tool's document in terms.
    pub fn length(&self, id: ToolId) -> u32 {
        self.lengths[id as usize]
    }

    /// How many distinct terms a tool's name has, its source's label aside; 255 and more are 255.
    pub fn names(&self, id: ToolId) -> u8 {
        self.names[id as usize]
    }

    /// The postings of a stemmed term in the catalog that this is the index of.
    pub fn postings(&self, term: &str, catalog: &Catalog) -> Arc<Postings> {
        if let Some(kept) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).0.get(term) {
            return kept.clone();
        }
        let made = Arc::new(Self::put_together(term, catalog));
        let mut guard = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, size) = &mut *guard;
        let cost = made.tools.len() + made.beside.len() + TERM;
        if *size + cost > KEPT {
            kept.clear();
            *size = 0;
        }
        *size += cost;
        kept.insert(term.into(), made.clone());
        made
    }

    fn put_together(term: &str, catalog: &Catalog) -> Postings {
        let hash = term_hash(term);
        let mut made = Postings::default();
        let mut before = 0;
        for (sources, group) in catalog.groups() {
            // Built with the index.
            let holders = group.made_directory().map_or(&[][..], |directory| directory.holders(hash, term, sources));
            for held in holders {
                let part = sources[held.source()].segment().postings(held.term());
                let base = catalog.base(before + held.source());
                made.tools.extend(part.docs.iter().map(|doc| base + doc));
                made.frequencies.extend_from_slice(part.frequencies);
                made.beside.extend(part.beside.iter().map(|doc| base + doc));
            }
            before += sources.len();
        }
        made
    }
}

/// Tools from which on several threads make what of the groups is not there yet, and how many at most.
const LARGE: usize = 1000;
const THREADS: usize = 4;

fn make_groups(catalog: &Catalog) {
    let unmade: Vec<_> = catalog.groups().filter(|(_, group)| group.made_directory().is_none()).collect();
    let tools: usize = unmade.iter().flat_map(|(sources, _)| *sources).map(|source| source.tools.len()).sum();
    let next = AtomicUsize::new(0);
    let make = || {
        let mut stems = Stems::default();
        while let Some((sources, group)) = unmade.get(next.fetch_add(1, Ordering::Relaxed)) {
            group.directory(sources, &mut stems);
            group.names(sources);
        }
    };
    let threads = if tools < LARGE { 1 } else { thread::available_parallelism().map_or(1, NonZero::get).min(THREADS) };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system gives none, fewer do it.
            let _ = thread::Builder::new().spawn_scoped(scope, make);
        }
        make();
    });
}
