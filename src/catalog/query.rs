//! A query made ready: its terms with their weights and postings in one view, and what a document scores.
//!
//! BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the idf of Lucene:
//! `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`, `score = Σ idf · tf (k1 + 1) / (tf + k1 (1 - b + b · length / mean length))`.

use super::index::Held;
use super::segment::{Postings, Segment};
use super::view::{Statistics, View};
use super::{Catalog, ToolId, words};

const K1: f64 = 1.5;
const B: f64 = 0.75;

/// SEARCH-7: scores are compared as whole numbers of this many to one.
pub(super) const SCORE_UNIT: f64 = 1e9;

/// SEARCH-10: of a query so many characters and distinct terms count.
const MAX_CHARACTERS: usize = 1000;
const MAX_TERMS: usize = 64;

/// One distinct term of a query.
pub(super) struct Term<'a> {
    /// The word as the query has it, lower-cased.
    pub word: String,
    /// Its stem.
    pub stem: String,
    /// Deferred tools in scope that hold it.
    pub df: usize,
    /// Its weight.
    pub idf: f64,
    /// The sources that hold it.
    holders: &'a [Held],
}

/// A query's distinct terms in order of first appearance.
pub(super) struct Query<'a> {
    pub catalog: &'a Catalog,
    pub view: &'a View,
    pub terms: Vec<Term<'a>>,
    /// Positions in `terms`, a word that stands twice standing twice.
    pub sequence: Vec<usize>,
    /// Whether some of the query did not count.
    pub truncated: bool,
    statistics: Statistics,
}

impl<'a> Query<'a> {
    pub fn new(catalog: &'a Catalog, view: &'a View, text: &str) -> Self {
        let (text, mut truncated) = match text.char_indices().nth(MAX_CHARACTERS) {
            Some((end, _)) => (&text[..end], true),
            None => (text, false),
        };
        // Before the statistics, since it indexes all sources with one memory of stems.
        catalog.index();
        let statistics = view.statistics(catalog);
        let mut terms: Vec<Term<'a>> = Vec::new();
        let mut sequence = Vec::new();
        for word in content_words(text, |stem| holds(catalog, view, stem)) {
            let stem = words::stem(&word);
            let known = terms.iter().position(|term| term.stem == stem);
            let at = match known {
                Some(at) => at,
                None if terms.len() == MAX_TERMS => {
                    truncated = true;
                    continue;
                }
                None => {
                    terms.push(Term::new(catalog, view, statistics, &word, &stem));
                    terms.len() - 1
                }
            };
            sequence.push(at);
        }
        Self { catalog, view, terms, sequence, truncated, statistics }
    }

    /// SEARCH-4: the rarest term, the first of equals.
    pub fn rarest(&self) -> Option<usize> {
        (0..self.terms.len()).min_by_key(|at| self.terms[*at].df)
    }

    /// SEARCH-5: how many distinct terms a match must hold.
    pub fn floor(&self) -> usize {
        let answerable = self.terms.iter().filter(|term| term.df > 0).count();
        if answerable >= 4 { answerable.div_ceil(2) } else { 0 }
    }

    /// SEARCH-12: what a term weighs among partial answers: its idf, and half of that where no document holds it.
    pub fn near_weight(&self, term: usize) -> f64 {
        let Term { idf, df, .. } = self.terms[term];
        if df == 0 { idf / 2.0 } else { idf }
    }

    /// What a document would score that is about nothing but the query.
    pub fn highest_score(&self) -> f64 {
        self.sequence.iter().map(|term| self.near_weight(*term) * (K1 + 1.0)).sum()
    }

    /// Calls `each` with every deferred tool in scope that holds one of some terms, by id, and its frequency of every
    /// term. Time is linear in the postings of those terms and logarithmic in those of the others.
    pub fn each_holder(&self, of: &[usize], mut each: impl FnMut(Holder<'_>)) {
        let mut frequencies = vec![0u16; self.terms.len()];
        // For every term, how far in its sources and in the postings of the present one.
        let mut cursors = vec![Cursor::default(); self.terms.len()];
        let mut docs: Vec<u32> = Vec::new();
        let mut sources: Vec<u32> = Vec::new();
        for term in of {
            sources.extend(self.terms[*term].holders.iter().map(|held| held.source));
        }
        sources.sort_unstable();
        sources.dedup();
        for source in sources {
            if self.view.counts[source as usize] == 0 {
                continue;
            }
            let segment = self.catalog.sources[source as usize].segment();
            for (term, cursor) in self.terms.iter().zip(&mut cursors) {
                cursor.enter(source, term.holders, segment);
            }
            let holders: &[u32] = match of {
                [one] => cursors[*one].postings.docs,
                _ => {
                    docs.clear();
                    of.iter().for_each(|term| docs.extend_from_slice(cursors[*term].postings.docs));
                    docs.sort_unstable();
                    docs.dedup();
                    &docs
                }
            };
            let base = self.catalog.base(source as usize);
            for &doc in holders {
                if !self.view.deferred.contains(base + doc) {
                    continue;
                }
                for (cursor, frequency) in cursors.iter_mut().zip(&mut frequencies) {
                    *frequency = cursor.frequency(doc);
                }
                let length = f64::from(segment.lengths[doc as usize]);
                each(Holder { id: base + doc, frequencies: &frequencies, length });
            }
        }
    }

    /// One term's part of a document's score.
    pub fn part(&self, term: usize, frequency: u16, length: f64) -> f64 {
        if frequency == 0 {
            return 0.0;
        }
        let tf = f64::from(frequency);
        self.terms[term].idf * tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * length / self.statistics.mean_length))
    }

    /// A document's score: its terms summed in query order, rounded to 1e-9 and counted in that unit ([`SCORE_UNIT`]).
    pub fn score(&self, holder: &Holder<'_>) -> i64 {
        let part = |term: &usize| self.part(*term, holder.frequencies[*term], holder.length);
        let score: f64 = self.sequence.iter().map(part).sum();
        (score * SCORE_UNIT).round() as i64
    }
}

/// A document that holds a term.
pub(super) struct Holder<'a> {
    pub id: ToolId,
    /// Its frequency of every term of the query.
    pub frequencies: &'a [u16],
    /// Its length in terms.
    pub length: f64,
}

impl Holder<'_> {
    /// The query's terms that it does not hold, as bits: there are at most 64.
    pub fn lacks(&self) -> u64 {
        let lacking = self.frequencies.iter().enumerate().filter(|(_, frequency)| **frequency == 0);
        lacking.fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// How many of the query's distinct terms it holds.
    pub fn held(&self) -> usize {
        self.frequencies.iter().filter(|frequency| **frequency > 0).count()
    }
}

/// A way through a term's postings, source by source and document by document, both ascending.
#[derive(Clone, Copy, Default)]
struct Cursor<'a> {
    holder: usize,
    postings: Postings<'a>,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn enter(&mut self, source: u32, holders: &[Held], segment: &'a Segment) {
        self.holder += gallop(&holders[self.holder..], |held| held.source < source);
        let held = holders.get(self.holder).filter(|held| held.source == source);
        self.postings = held.map(|held| segment.postings(held.term)).unwrap_or_default();
        self.at = 0;
    }

    fn frequency(&mut self, doc: u32) -> u16 {
        let Postings { docs, frequencies } = self.postings;
        self.at += gallop(&docs[self.at..], |other| *other < doc);
        if docs.get(self.at) == Some(&doc) { frequencies[self.at] } else { 0 }
    }
}

impl<'a> Term<'a> {
    fn new(catalog: &'a Catalog, view: &View, statistics: Statistics, word: &str, stem: &str) -> Self {
        let holders = catalog.index().holders(stem, &catalog.sources);
        let df = holders.iter().map(|held| count(catalog, view, *held)).sum();
        Self { word: word.to_owned(), stem: stem.to_owned(), df, idf: idf(statistics.documents, df), holders }
    }
}

/// Deferred tools in scope of one source that hold a term.
fn count(catalog: &Catalog, view: &View, held: Held) -> usize {
    let source = held.source as usize;
    if view.counts[source] == 0 {
        return 0;
    }
    let docs = catalog.sources[source].segment().postings(held.term).docs;
    if view.is_whole(catalog, source) {
        return docs.len();
    }
    let base = catalog.base(source);
    docs.iter().filter(|doc| view.deferred.contains(base + **doc)).count()
}

fn holds(catalog: &Catalog, view: &View, stem: &str) -> bool {
    catalog.index().holders(stem, &catalog.sources).iter().any(|held| count(catalog, view, *held) > 0)
}

fn idf(documents: f64, df: usize) -> f64 {
    let df = df as f64;
    libm::log(1.0 + (documents - df + 0.5) / (df + 0.5))
}

/// The position of the first item that is not before what is looked for, in steps that double.
fn gallop<T>(items: &[T], before: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while step <= items.len() && before(&items[step - 1]) {
        step *= 2;
    }
    let from = step / 2;
    from + items[from..step.min(items.len())].partition_point(before)
}

/// The query's words without stop words, unless it has nothing else. An identifier in camelCase is one word where a
/// document holds it so (`GitHub`), and its parts where only those are held (`createIssue`), as names are indexed.
fn content_words(text: &str, held: impl Fn(&str) -> bool) -> Vec<String> {
    let mut all = Vec::new();
    for run in text.split_whitespace() {
        let mut joined = Vec::new();
        words::each_word(run, |word| joined.push(word.to_owned()));
        let mut parts = Vec::new();
        words::each_identifier_word(run, |word| parts.push(word.to_owned()));
        let split = parts.len() > joined.len()
            && !joined.iter().all(|word| held(&words::stem(word)))
            && parts.iter().all(|word| held(&words::stem(word)));
        all.extend(if split { parts } else { joined });
    }
    let content: Vec<String> = all.iter().filter(|word| !words::is_stop_word(word)).cloned().collect();
    if content.is_empty() { all } else { content }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gallop_finds_the_first_not_before() {
        let docs: Vec<u32> = (0..100).map(|n| n * 3).collect();
        for doc in 0..310 {
            assert_eq!(gallop(&docs, |d| *d < doc), docs.partition_point(|d| *d < doc), "{doc}");
        }
        assert_eq!(gallop(&[0; 0], |_| true), 0);
    }
}
