//! Neighbouring sources of a catalog, and what is looked up in all of them at once: where a term is held, and which tools
//! have a name.
//!
//! It is kept with its first source and serves every catalog that holds the same sources in a row, so that a change of
//! one source costs its group alone: a directory over all sources would be made anew for every edit of one. Where groups
//! begin depends on the sources' names and not on their places, so that a source more or less moves no others.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use hashbrown::HashTable;

use super::pattern::content_hash;
use super::segment::{Segment, term_hash};
use super::source::{Source, Tool};
use super::stems::Stems;
use super::{names, spread};

/// Sources of a group on average, a power of two, and at most. More make a change cost more, fewer a look-up.
const USUAL: u32 = 4;
const MOST: usize = 4 * USUAL as usize;

/// See the module.
pub struct Group {
    /// Its sources, by [`Source::number`].
    sources: Box<[u64]>,
    directory: OnceLock<Directory>,
    names: OnceLock<Names>,
}

/// The groups of a catalog's sources, each with the position of its first.
pub fn groups(sources: &[Arc<Source>]) -> Vec<(usize, Arc<Group>)> {
    let mut groups = Vec::new();
    let mut from = 0;
    for to in 1..=sources.len() {
        if to == sources.len() || to - from == MOST || begins_group(&sources[to]) {
            groups.push((from, sources[from].group(&sources[from..to])));
            from = to;
        }
    }
    groups
}

fn begins_group(source: &Source) -> bool {
    // The high bits are the better ones of a multiplied hash.
    content_hash(&source.info.name) >> (u64::BITS - USUAL.ilog2()) == 0
}

impl Group {
    /// A group of these sources, with nothing made yet.
    pub fn new(sources: &[Arc<Source>]) -> Self {
        let sources = sources.iter().map(|source| source.number).collect();
        Self { sources, directory: OnceLock::new(), names: OnceLock::new() }
    }

    /// Whether it is the group of these.
    pub fn is_of(&self, sources: &[Arc<Source>]) -> bool {
        self.sources.iter().copied().eq(sources.iter().map(|source| source.number))
    }

    /// How many sources it has.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Where its terms are held; `sources` are its own.
    pub fn directory(&self, sources: &[Arc<Source>], stems: &mut Stems) -> &Directory {
        self.directory.get_or_init(|| Directory::build(sources, stems))
    }

    /// Where its terms are held, if that was made.
    pub fn made_directory(&self) -> Option<&Directory> {
        self.directory.get()
    }

    /// Its tools' names; `sources` are its own.
    pub fn names(&self, sources: &[Arc<Source>]) -> &Names {
        self.names.get_or_init(|| Names::new(sources))
    }
}

/// One source that holds a term, and the term's number there, in one word: there are as many as all sources have terms.
#[derive(Debug, Clone, Copy)]
pub struct Held(u32);

/// Bits of a term's number; the source has the others. A source of so many terms would be larger than a registry may be.
const TERM_BITS: u32 = u32::BITS - MOST.ilog2();

impl Held {
    fn new(source: usize, term: u32) -> Self {
        Self((source as u32) << TERM_BITS | term)
    }

    /// Position of the source in the group.
    pub fn source(self) -> usize {
        (self.0 >> TERM_BITS) as usize
    }

    /// Number of the term in the source's segment.
    pub fn term(self) -> u32 {
        self.0 & ((1 << TERM_BITS) - 1)
    }
}

/// Which sources hold a term.
pub struct Directory {
    table: HashTable<u32>,
    /// Where the holders of each term end.
    ends: Vec<u32>,
    /// Holders of all terms, by term, then source.
    holders: Vec<Held>,
}

/// What has no number yet.
const NONE: u32 = u32::MAX;

impl Directory {
    /// The directory over the segments of sources, building those that are not there yet.
    fn build(sources: &[Arc<Source>], stems: &mut Stems) -> Self {
        let made: Vec<(&Segment, Vec<u32>)> = sources.iter().map(|source| source.segment_with(stems)).collect();
        let text = |held: Held| made[held.source()].0.term(held.term());
        let mut table: HashTable<u32> = HashTable::new();
        // Of each term, one segment and number under which its text is found.
        let mut first: Vec<Held> = Vec::new();
        let mut numbers: Vec<u32> = Vec::new();
        let mut ends: Vec<u32> = Vec::new();
        // Of a stem's number, that of its term here: of segments that were built just now no text is looked at twice.
        let mut by_stem: Vec<u32> = vec![NONE; stems.len()];
        for (source, (segment, stems)) in made.iter().enumerate() {
            for term in terms(segment) {
                let stem = stems.get(term as usize).map(|stem| *stem as usize);
                let mut number = stem.map_or(NONE, |stem| by_stem[stem]);
                if number == NONE {
                    let held = Held::new(source, term);
                    let hash = term_hash(segment.term(term));
                    let known = table.find(hash, |&number| text(first[number as usize]) == segment.term(term)).copied();
                    number = known.unwrap_or_else(|| {
                        let number = first.len() as u32;
                        first.push(held);
                        ends.push(0);
                        table.insert_unique(hash, number, |&number| term_hash(text(first[number as usize])));
                        number
                    });
                    if let Some(stem) = stem {
                        by_stem[stem] = number;
                    }
                }
                ends[number as usize] += 1;
                numbers.push(number);
            }
        }
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut holders = vec![Held::new(0, 0); numbers.len()];
        let mut numbers = numbers.into_iter();
        for (source, (segment, _)) in made.iter().enumerate() {
            for (term, number) in terms(segment).zip(&mut numbers) {
                let end = &mut ends[number as usize];
                holders[*end as usize] = Held::new(source, term);
                *end += 1;
            }
        }
        table.shrink_to_fit(|&number| term_hash(text(first[number as usize])));
        ends.shrink_to_fit();
        Self { table, ends, holders }
    }

    /// The sources that hold a stemmed term, by their position; `sources` are those it was made of.
    pub fn holders(&self, hash: u64, term: &str, sources: &[Arc<Source>]) -> &[Held] {
        let text = |held: Held| sources[held.source()].segment().term(held.term());
        let found = self.table.find(hash, |&number| text(self.of(number)[0]) == term);
        found.map_or(&[], |&number| self.of(number))
    }

    fn of(&self, number: u32) -> &[Held] {
        let start = if number == 0 { 0 } else { self.ends[number as usize - 1] };
        &self.holders[start as usize..self.ends[number as usize] as usize]
    }
}

/// The terms of a segment that can be told apart.
fn terms(segment: &Segment) -> Range<u32> {
    0..segment.terms().min(1 << TERM_BITS)
}

/// Tools by the hash of a case-folded name; a tool is its position in the group.
type ByHash = HashTable<(u32, u32)>;

/// Names by their case-folded form, for exact-name queries.
pub struct Names {
    visible: ByHash,
    bare: ByHash,
}

impl Names {
    fn new(sources: &[Arc<Source>]) -> Self {
        let tools: usize = sources.iter().map(|source| source.tools.len()).sum();
        let (mut visible, mut bare) = (ByHash::with_capacity(tools), ByHash::with_capacity(tools));
        let insert = |table: &mut ByHash, name: &str, at| {
            let hash = folded_hash(name);
            table.insert_unique(spread(hash), (hash, at), |(hash, _)| spread(*hash));
        };
        let tools = sources.iter().flat_map(|source| source.tools.iter().map(move |tool| (&**source, &**tool)));
        for (at, (source, tool)) in (0..).zip(tools) {
            insert(&mut visible, &tool.name.to_lowercase(), at);
            bare_names(source, tool).for_each(|name| insert(&mut bare, &name, at));
        }
        Self { visible, bare }
    }

    /// Positions of tools whose case-folded visible name may be the one with this hash.
    pub fn visible(&self, hash: u32) -> impl Iterator<Item = u32> {
        with_hash(&self.visible, hash)
    }

    /// The same of names without the server part.
    pub fn bare(&self, hash: u32) -> impl Iterator<Item = u32> {
        with_hash(&self.bare, hash)
    }
}

fn with_hash(names: &ByHash, hash: u32) -> impl Iterator<Item = u32> {
    names.iter_hash(spread(hash)).filter(move |(other, _)| *other == hash).map(|(_, at)| *at)
}

/// The hash under which a case-folded name is found.
pub fn folded_hash(folded: &str) -> u32 {
    content_hash(&folded) as u32
}

/// A tool's case-folded names without the server part: its own, and what is left of the visible one.
pub fn bare_names(source: &Source, tool: &Tool) -> impl Iterator<Item = String> {
    let own = names::bare(&tool.tool, &source.info.name).to_lowercase();
    let shown = names::split_prefixed(&tool.name).map(|(_, shown)| shown.to_lowercase());
    let shown = shown.filter(|shown| *shown != own);
    std::iter::once(own).chain(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::source::{Kind, Origin, SourceInfo};

    fn source(name: &str) -> Arc<Source> {
        let text: Arc<str> = format!(r#"{{"name":"{name}_tool"}}"#).into();
        Arc::new(Source::read(SourceInfo::new(name, Kind::Plugin, Origin::Connection), &text, [&*text]).0)
    }

    fn kept(before: &[(usize, Arc<Group>)], after: &[(usize, Arc<Group>)]) -> usize {
        before.iter().filter(|(_, group)| after.iter().any(|(_, other)| Arc::ptr_eq(group, other))).count()
    }

    #[test]
    fn a_change_of_one_source_leaves_the_other_groups_as_they_are() {
        let mut sources: Vec<_> = (0..400).map(|n| source(&format!("source{n:03}"))).collect();
        let first = groups(&sources);
        assert!(first.len() > 10, "{} groups", first.len());
        assert_eq!(first.iter().map(|(_, group)| group.len()).sum::<usize>(), 400);
        assert!(first.iter().all(|(_, group)| group.len() <= MOST));
        assert_eq!(kept(&first, &groups(&sources)), first.len(), "nothing changed");
        sources[200] = source("source200");
        let second = groups(&sources);
        assert_eq!((kept(&first, &second), second.len()), (first.len() - 1, first.len()), "another of that name");
        sources.insert(100, source("source099a"));
        let third = groups(&sources);
        assert!(kept(&second, &third) + 2 >= second.len(), "one more: at most its group is split");
        sources.remove(300);
        assert!(kept(&third, &groups(&sources)) + 2 >= third.len(), "one less");
    }
}
