//! A source's part of the search index: terms, postings and document lengths of its tools.
//!
//! Immutable and built once a source, so that catalogs share it and adding a source costs the others nothing.
//! Document numbers are positions in the source's list of tools.
//!
//! A tool's document is what SEARCH-1 says, and the words by which it is to be found ([`super::found_by`]). Words that only
//! the schemas of its parameters hold ([`super::schema_words`]) are beside it: they count for near answers alone.

use super::pattern::content_hash;
use super::source::{Kind, Source, Tool};
use super::stems::Stems;
use super::{found_by, schema_words, words};

/// Postings of one term, by ascending document.
#[derive(Debug, Clone, Copy, Default)]
pub struct Postings<'a> {
    /// Documents that hold the term.
    pub docs: &'a [u32],
    /// How often each holds it, saturating, and whether its name does ([`NAMED`]); [`GIVEN`] where no text of it does.
    pub frequencies: &'a [u16],
    /// Documents that do not hold it, beside which it stands, ascending.
    pub beside: &'a [u32],
}

/// The bit of a frequency that says that the term stands in the tool's name, its source's label aside.
pub const NAMED: u16 = 1 << 15;
/// The frequency of a term that no text of the tool holds, and by which it is to be found.
pub const GIVEN: u16 = 1 << 14;

/// The index of one source.
#[derive(Default)]
pub struct Segment {
    /// All terms behind each other, and where each ends.
    text: String,
    ends: Vec<u32>,
    /// Where the postings of each term end.
    posting_ends: Vec<u32>,
    docs: Vec<u32>,
    frequencies: Vec<u16>,
    /// The same of what stands beside documents.
    beside_ends: Vec<u32>,
    beside: Vec<u32>,
    /// Length of each document in terms.
    pub lengths: Vec<u32>,
    /// Distinct terms of each tool's name, saturating.
    pub names: Vec<u8>,
}

impl Segment {
    /// Indexes a source's tools. With it, of each term the number of its stem.
    pub fn build(source: &Source, stems: &mut Stems) -> (Self, Vec<u32>) {
        let mut builder = Builder {
            stems,
            segment: Self::default(),
            numbers: Vec::new(),
            terms: Vec::new(),
            last: Vec::new(),
            pairs: Vec::new(),
            pair_ends: Vec::new(),
            last_beside: Vec::new(),
            beside: Vec::new(),
            given: found_by::Given::new(&source.info.found_by),
            length: 0,
            names: 0,
        };
        for tool in &source.tools {
            document(source, tool, &mut builder);
            builder.end_document();
        }
        builder.finish()
    }

    /// Number of terms.
    pub fn terms(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The postings of a term.
    pub fn postings(&self, term: u32) -> Postings<'_> {
        let range = start(&self.posting_ends, term)..self.posting_ends[term as usize] as usize;
        let beside = start(&self.beside_ends, term)..self.beside_ends[term as usize] as usize;
        Postings {
            docs: &self.docs[range.clone()],
            frequencies: &self.frequencies[range],
            beside: &self.beside[beside],
        }
    }

    /// The text of a term.
    pub fn term(&self, term: u32) -> &str {
        &self.text[start(&self.ends, term)..self.ends[term as usize] as usize]
    }
}

/// The hash under which a term is found.
pub fn term_hash(term: &str) -> u64 {
    content_hash(&term)
}

fn start(ends: &[u32], id: u32) -> usize {
    if id == 0 { 0 } else { ends[id as usize - 1] as usize }
}

/// SEARCH-1: the words of the name, the source's label if the name does not hold it, description, parameter names.
fn document(source: &Source, tool: &Tool, out: &mut Builder<'_>) {
    let label = &source.info.name;
    let named = tool.name.strip_prefix("mcp__").or_else(|| tool.name.strip_prefix("mcp_"));
    let prefixed = named.is_some() && source.info.kind == Kind::Mcp;
    let kept = tool.tool.starts_with("mcp_");
    if prefixed && !kept {
        // The visible name is made of these two; it may be cut or carry a hash, they do not.
        words::each_identifier_word(label, |word| out.add(word, Place::Text));
        words::each_identifier_word(&tool.tool, |word| out.add(word, Place::Name));
    } else {
        let name = if kept { tool.tool[4..].trim_start_matches('_') } else { &tool.tool };
        words::each_identifier_word(name, |word| out.add(word, Place::Name));
        let held = folded_words(name).windows_of(&folded_words(label));
        if !held {
            words::each_identifier_word(label, |word| out.add(word, Place::Text));
        }
    }
    words::each_word(&tool.description(), |word| out.add(word, Place::Text));
    for name in tool.parameters().names {
        words::each_identifier_word(&name, |word| out.add(word, Place::Text));
    }
    out.add_given(tool);
    schema_words::each(tool.schema().unwrap_or_default(), |word| out.add(word, Place::Schema));
}

/// The words of an identifier, for asking whether one holds another.
struct Words(Vec<String>);

fn folded_words(identifier: &str) -> Words {
    let mut words = Vec::new();
    words::each_identifier_word(identifier, |word| words.push(word.to_owned()));
    Words(words)
}

impl Words {
    fn windows_of(&self, part: &Self) -> bool {
        part.0.is_empty() || self.0.windows(part.0.len()).any(|window| window == part.0)
    }
}

/// Where a tool has a word. Those that count most are added first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In its name.
    Name,
    /// In the rest of its document.
    Text,
    /// Among the words by which it is to be found.
    Given,
    /// In a schema of its parameters.
    Schema,
}

/// A stem that no document of the source has had yet, and a term that the present one has not.
const NONE: u32 = u32::MAX;

struct Builder<'a> {
    stems: &'a mut Stems,
    segment: Segment,
    /// Of each term here, the number of its stem.
    numbers: Vec<u32>,
    /// Numbers of stems to those of terms here.
    terms: Vec<u32>,
    /// Of each term, its last place in `pairs`, and the last document that it stands beside.
    last: Vec<u32>,
    last_beside: Vec<u32>,
    /// (term, frequency) of all documents, and where each document's end.
    pairs: Vec<(u32, u16)>,
    pair_ends: Vec<usize>,
    /// (term, document) of what stands beside documents.
    beside: Vec<(u32, u32)>,
    given: found_by::Given,
    /// Of the present document: its words, and the distinct ones of its name.
    length: u32,
    names: u8,
}

impl Builder<'_> {
    fn add(&mut self, word: &str, place: Place) {
        let term = self.term(word);
        let last = &mut self.last[term as usize];
        let from = self.pair_ends.last().copied().unwrap_or(0);
        let held = *last != NONE && *last as usize >= from;
        if place == Place::Schema {
            let document = self.segment.lengths.len() as u32;
            if !held && std::mem::replace(&mut self.last_beside[term as usize], document) != document {
                self.beside.push((term, document));
            }
            return;
        }
        if !held {
            *last = self.pairs.len() as u32;
            self.pairs.push((term, if place == Place::Given { GIVEN } else { 0 }));
        }
        if place == Place::Given {
            return;
        }
        self.length += 1;
        let frequency = &mut self.pairs[*last as usize].1;
        if *frequency & !NAMED < GIVEN - 1 {
            *frequency += 1;
        }
        if place == Place::Name && *frequency & NAMED == 0 {
            *frequency |= NAMED;
            self.names = self.names.saturating_add(1);
        }
    }

    fn add_given(&mut self, tool: &Tool) {
        // Moved out and back, since a word that is given becomes a term of the builder.
        let given = std::mem::take(&mut self.given);
        given.each_word(&tool.name, &tool.tool, |word| self.add(word, Place::Given));
        self.given = given;
    }

    fn term(&mut self, word: &str) -> u32 {
        let number = self.stems.number(word) as usize;
        if number >= self.terms.len() {
            self.terms.resize(number + 1, NONE);
        }
        if self.terms[number] == NONE {
            self.terms[number] = self.segment.ends.len() as u32;
            self.segment.text.push_str(self.stems.text(number as u32));
            self.segment.ends.push(self.segment.text.len() as u32);
            self.numbers.push(number as u32);
            self.last.push(NONE);
            self.last_beside.push(NONE);
        }
        self.terms[number]
    }

    fn end_document(&mut self) {
        self.segment.lengths.push(std::mem::take(&mut self.length));
        self.segment.names.push(std::mem::take(&mut self.names));
        self.pair_ends.push(self.pairs.len());
    }

    /// Counting sorts by term; documents stay in ascending order within one.
    fn finish(mut self) -> (Segment, Vec<u32>) {
        let terms = self.segment.ends.len();
        let mut ends = starts(terms, self.pairs.iter().map(|(term, _)| *term));
        let mut docs = vec![0u32; self.pairs.len()];
        let mut frequencies = vec![0u16; self.pairs.len()];
        let mut from = 0;
        for (doc, &to) in self.pair_ends.iter().enumerate() {
            for &(term, frequency) in &self.pairs[from..to] {
                let at = next(&mut ends, term);
                docs[at] = doc as u32;
                frequencies[at] = frequency;
            }
            from = to;
        }
        let mut beside_ends = starts(terms, self.beside.iter().map(|(term, _)| *term));
        let mut beside = vec![0u32; self.beside.len()];
        for &(term, doc) in &self.beside {
            beside[next(&mut beside_ends, term)] = doc;
        }
        let Segment { text, ends: term_ends, lengths, names, .. } = &mut self.segment;
        text.shrink_to_fit();
        term_ends.shrink_to_fit();
        lengths.shrink_to_fit();
        names.shrink_to_fit();
        (Segment { posting_ends: ends, docs, frequencies, beside_ends, beside, ..self.segment }, self.numbers)
    }
}

/// Where the postings of each term begin; [`next`] moves each on to where they end.
fn starts(terms: usize, postings: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut ends = vec![0u32; terms];
    postings.for_each(|term| ends[term as usize] += 1);
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    ends
}

fn next(ends: &mut [u32], term: u32) -> usize {
    let at = ends[term as usize];
    ends[term as usize] += 1;
    at as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::source::{Origin, SourceInfo};

    fn source(label: &str, kind: Kind, definition: &str) -> Source {
        let text: Arc<str> = definition.into();
        Source::read(SourceInfo::new(label, kind, Origin::Connection), &text, [&*text]).0
    }

    fn frequency(source: &Source, word: &str) -> u16 {
        let (segment, stem) = (source.segment(), words::stem(word));
        let term = (0..segment.terms()).find(|term| segment.term(*term) == stem);
        term.map_or(0, |term| segment.postings(term).frequencies[0] & !NAMED)
    }

    #[test]
    fn search_1_document() {
        let json = r#"{"name":"createIssue","description":"Opens issues.","inputSchema":{"properties":{"teamId":{}}}}"#;
        let mcp = source("linear", Kind::Mcp, json);
        for (word, want) in
            [("linear", 1), ("create", 1), ("issue", 2), ("open", 1), ("team", 1), ("id", 1), ("mcp", 0)]
        {
            assert_eq!(frequency(&mcp, word), want, "SEARCH-1: {word}");
        }
        assert_eq!(mcp.segment().lengths, [7]);
        let plugin = source("linear", Kind::Plugin, r#"{"name":"linear_create"}"#);
        assert_eq!(frequency(&plugin, "linear"), 1, "SEARCH-1: the label only if the name does not hold it");
        let plugin = source("linear", Kind::Plugin, r#"{"name":"linearity"}"#);
        assert_eq!(frequency(&plugin, "linear"), 2, "SEARCH-1: held by words, not by letters");
        let kept = source("linear", Kind::Mcp, r#"{"name":"mcp_linear_create"}"#);
        assert_eq!((frequency(&kept, "linear"), frequency(&kept, "mcp")), (1, 0));
    }

    #[test]
    fn postings_are_in_order_of_documents() {
        let text: Arc<str> = r#"[{"name":"a"},{"name":"b"},{"name":"a_b_a"}]"#.into();
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new("s", Kind::Plugin, Origin::Connection);
        let (source, _) = Source::read(info, &text, entries.iter().map(|e| e.get()));
        let postings = source.segment().postings(0);
        assert_eq!((postings.docs, postings.frequencies), (&[0, 2][..], &[1 | NAMED, 2 | NAMED][..]));
        assert_eq!(source.segment().names, [1, 1, 2]);
    }
}
