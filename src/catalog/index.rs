//! Where in a catalog a term is held: one look-up for all sources.
//!
//! Postings stay with their sources ([`super::segment`]), which catalogs share; this is the directory over them, made
//! when a catalog is first searched. Its size is that of the sources' vocabularies, not of their postings. The postings of
//! terms that are asked for are put behind each other and kept, since walking them is then what a search costs; those of
//! hundreds of sources would each be a cache miss.

use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use super::segment::{Segment, term_hash};
use super::source::Source;
use super::{Catalog, ToolId, words};

/// Stems of words met before, by number; each word is stemmed once a catalog.
#[derive(Default)]
pub struct Stems {
    words: FxHashMap<Box<str>, u32>,
    numbers: FxHashMap<Box<str>, u32>,
    texts: Vec<Box<str>>,
}

impl Stems {
    /// The number of a lower-cased word's stem.
    pub fn number(&mut self, word: &str) -> u32 {
        if let Some(&number) = self.words.get(word) {
            return number;
        }
        let stem = words::stem(word);
        let number = match self.numbers.get(&*stem) {
            Some(&number) => number,
            None => {
                let number = self.texts.len() as u32;
                self.texts.push(stem.as_ref().into());
                self.numbers.insert(stem.as_ref().into(), number);
                number
            }
        };
        self.words.insert(word.into(), number);
        number
    }

    /// The stem with a number.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// One source that holds a term, and the term's number there.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Position of the source in the catalog.
    source: u32,
    /// Number of the term in the source's segment.
    term: u32,
}

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

/// Postings that were asked for, by term, and how many tools they hold together.
type Kept = (FxHashMap<u32, Arc<Postings>>, usize);

/// See the module.
pub struct Index {
    table: HashTable<u32>,
    /// Where the holders of each term end.
    ends: Vec<u32>,
    /// Holders of all terms, by term, then source.
    holders: Vec<Held>,
    /// Length of every tool's document in terms.
    lengths: Vec<u32>,
    /// Distinct terms of every tool's name.
    names: Vec<u8>,
    kept: Mutex<Kept>,
    none: Arc<Postings>,
}

impl Index {
    /// The directory over the segments of sources, building those that are not there yet.
    pub fn build<'a>(sources: impl Iterator<Item = &'a Source> + Clone) -> Self {
        let mut stems = Stems::default();
        let segments: Vec<&Segment> = sources.map(|source| source.segment_with(&mut stems)).collect();
        let mut table: HashTable<u32> = HashTable::new();
        // Of each term, one segment and number under which its text is found.
        let mut first: Vec<Held> = Vec::new();
        let text = |held: Held| segments[held.source as usize].term(held.term);
        let mut numbers: Vec<u32> = Vec::new();
        let mut ends: Vec<u32> = Vec::new();
        for (source, segment) in segments.iter().enumerate() {
            for term in 0..segment.terms() {
                let held = Held { source: source as u32, term };
                let hash = term_hash(segment.term(term));
                let known = table.find(hash, |&number| text(first[number as usize]) == segment.term(term)).copied();
                let number = known.unwrap_or_else(|| {
                    let number = first.len() as u32;
                    first.push(held);
                    ends.push(0);
                    table.insert_unique(hash, number, |&number| term_hash(text(first[number as usize])));
                    number
                });
                ends[number as usize] += 1;
                numbers.push(number);
            }
        }
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut holders = vec![Held { source: 0, term: 0 }; numbers.len()];
        let mut numbers = numbers.into_iter();
        for (source, segment) in segments.iter().enumerate() {
            for (term, number) in (0..segment.terms()).zip(&mut numbers) {
                let end = &mut ends[number as usize];
                holders[*end as usize] = Held { source: source as u32, term };
                *end += 1;
            }
        }
        let lengths = segments.iter().flat_map(|segment| segment.lengths.iter().copied()).collect();
        let names = segments.iter().flat_map(|segment| segment.names.iter().copied()).collect();
        Self { table, ends, holders, lengths, names, kept: Mutex::default(), none: Arc::default() }
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
        let text = |held: Held| catalog.sources[held.source as usize].segment().term(held.term);
        let found = self.table.find(term_hash(term), |&number| text(self.of(number)[0]) == term);
        let Some(&number) = found else { return self.none.clone() };
        if let Some(kept) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).0.get(&number) {
            return kept.clone();
        }
        let mut made = Postings::default();
        for held in self.of(number) {
            let part = catalog.sources[held.source as usize].segment().postings(held.term);
            let base = catalog.base(held.source as usize);
            made.tools.extend(part.docs.iter().map(|doc| base + doc));
            made.frequencies.extend_from_slice(part.frequencies);
            made.beside.extend(part.beside.iter().map(|doc| base + doc));
        }
        let made = Arc::new(made);
        let mut guard = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, size) = &mut *guard;
        let more = made.tools.len() + made.beside.len();
        if *size + more > KEPT {
            kept.clear();
            *size = 0;
        }
        *size += more;
        kept.insert(number, made.clone());
        made
    }

    fn of(&self, number: u32) -> &[Held] {
        let start = if number == 0 { 0 } else { self.ends[number as usize - 1] };
        &self.holders[start as usize..self.ends[number as usize] as usize]
    }
}
