//! Where in a catalog a term is held: one look-up for all sources.
//!
//! Postings stay with their sources ([`super::segment`]), which catalogs share; this is the directory over them, made
//! when a catalog is first searched. Its size is that of the sources' vocabularies, not of their postings.

use hashbrown::HashTable;
use rustc_hash::FxHashMap;

use super::segment::{Segment, term_hash};
use super::source::Source;
use super::words;

/// Stems of words met before; each is stemmed once a catalog.
#[derive(Default)]
pub struct Stems(FxHashMap<Box<str>, Box<str>>);

impl Stems {
    /// The stem of a lower-cased word.
    pub fn of(&mut self, word: &str) -> &str {
        if !self.0.contains_key(word) {
            self.0.insert(word.into(), words::stem(word).into());
        }
        &self.0[word]
    }
}

/// One source that holds a term, and the term's number there.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// Position of the source in the catalog.
    pub source: u32,
    /// Number of the term in the source's segment.
    pub term: u32,
}

/// See the module.
pub struct Index {
    table: HashTable<u32>,
    /// Where the holders of each term end.
    ends: Vec<u32>,
    /// Holders of all terms, by term, then source.
    holders: Vec<Held>,
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
        Self { table, ends, holders }
    }

    /// The sources that hold a stemmed term, in the catalog's order. `sources` are those it was built from.
    pub fn holders(&self, term: &str, sources: &[std::sync::Arc<Source>]) -> &[Held] {
        let text = |held: Held| sources[held.source as usize].segment().term(held.term);
        let number = self.table.find(term_hash(term), |&number| text(self.of(number)[0]) == term);
        number.map_or(&[], |&number| self.of(number))
    }

    fn of(&self, number: u32) -> &[Held] {
        let start = if number == 0 { 0 } else { self.ends[number as usize - 1] };
        &self.holders[start as usize..self.ends[number as usize] as usize]
    }
}
