//! A query made ready: its terms with their weights and postings in one view, and what a document scores.
//!
//! BM25 after Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), with the idf of Lucene:
//! `idf = ln(1 + (N - df + 0.5) / (df + 0.5))`, `score = Σ idf · tf (k1 + 1) / (tf + k1 (1 - b + b · length / mean length))`.
//!
//! BM25 does not know that a name says more than a description: `list users` would find `get_user_presence` before
//! `list_users`, which says it once. So a document is ranked by its score and a share of the highest one, by how much of
//! its name the query says.

use std::sync::Arc;

use super::index::Postings;
use super::segment::{GIVEN, NAMED};
use super::view::{Statistics, View};
use super::{Catalog, ToolId, words};

const K1: f64 = 1.5;
const B: f64 = 0.75;

/// What a whole name in the query counts, as a share of the highest score. Settled on labelled queries: see ARCHITECTURE.md.
const NAME: f64 = 0.2;

/// What a word counts by which a tool is to be found, beside the same word once in its text.
const GIVEN_SHARE: f64 = 0.5;

/// SEARCH-7: scores are compared as whole numbers of this many to one.
pub(super) const SCORE_UNIT: f64 = 1e9;

/// SEARCH-10: of a query so many characters and distinct terms count.
const MAX_CHARACTERS: usize = 1000;
const MAX_TERMS: usize = 64;

/// One distinct term of a query.
pub(super) struct Term {
    /// The word as the query has it, lower-cased.
    pub word: String,
    /// Its stem.
    pub stem: String,
    /// Deferred tools in scope that hold it.
    pub df: usize,
    /// Its weight.
    pub idf: f64,
    /// All that hold it, in scope or not.
    postings: Arc<Postings>,
}

/// A query's distinct terms in order of first appearance.
pub(super) struct Query<'a> {
    /// What counts of the query.
    pub text: &'a str,
    /// Whether there was more.
    cut: bool,
    pub catalog: &'a Catalog,
    pub view: &'a View,
    pub terms: Vec<Term>,
    /// Positions in `terms`, a word that stands twice standing twice.
    pub sequence: Vec<usize>,
    /// Whether some of the query did not count.
    pub truncated: bool,
    statistics: Statistics,
    /// What a document would score that is about nothing but the terms that there are.
    highest_known: f64,
}

impl<'a> Query<'a> {
    pub fn new(catalog: &'a Catalog, view: &'a View, text: &'a str) -> Self {
        let (text, cut) = match text.char_indices().nth(MAX_CHARACTERS) {
            Some((end, _)) => (&text[..end], true),
            None => (text, false),
        };
        // Before the statistics, since it indexes all sources with one memory of stems.
        catalog.index();
        let statistics = view.statistics(catalog);
        let mut truncated = cut;
        let mut terms: Vec<Term> = Vec::new();
        let mut sequence = Vec::new();
        for word in content_words(text, |stem| view.count(&catalog.index().postings(stem, catalog).tools) > 0) {
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
        let highest_known = sequence.iter().filter(|at| terms[**at].df > 0).map(|at| terms[*at].idf * (K1 + 1.0)).sum();
        Self { text, cut, catalog, view, terms, sequence, truncated, statistics, highest_known }
    }

    /// The query as an answer repeats it.
    pub fn shown(&self) -> String {
        let mark = if self.cut { "…" } else { "" };
        format!("{}{mark}", self.text)
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

    /// SEARCH-12: what a term weighs among partial answers: its idf, and half of that where no document holds it. Then
    /// one with a digit in it weighs nothing: a number, a date or an id is what a tool is called with.
    pub fn near_weight(&self, term: usize) -> f64 {
        let Term { idf, df, word, .. } = &self.terms[term];
        match df {
            0 if word.bytes().any(|byte| byte.is_ascii_digit()) => 0.0,
            0 => idf / 2.0,
            _ => *idf,
        }
    }

    /// What a document would score that is about nothing but a term, as often as the query says it.
    pub fn highest_part(&self, term: usize) -> f64 {
        self.times(term) * self.near_weight(term) * (K1 + 1.0)
    }

    /// How often the query says a term.
    pub fn times(&self, term: usize) -> f64 {
        self.sequence.iter().filter(|other| **other == term).count() as f64
    }

    /// Calls `each` with every deferred tool in scope that holds one of some terms, by id, and its frequency of every
    /// term. Time is linear in the postings of those terms and logarithmic in those of the others.
    pub fn each_holder(&self, of: &[usize], each: impl FnMut(Holder<'_>)) {
        self.each(of, false, each);
    }

    /// The same, of the tools too beside which one of those terms stands and that hold another.
    pub fn each_holder_or_beside(&self, of: &[usize], each: impl FnMut(Holder<'_>)) {
        self.each(of, true, each);
    }

    fn each(&self, of: &[usize], and_beside: bool, mut each: impl FnMut(Holder<'_>)) {
        let mut frequencies = vec![0u16; self.terms.len()];
        let mut cursors = vec![[0; 2]; self.terms.len()];
        let mut together: Vec<ToolId> = Vec::new();
        let holders: &[ToolId] = match of {
            [one] if !and_beside => &self.terms[*one].postings.tools,
            _ => {
                for Postings { tools, beside, .. } in of.iter().map(|term| &*self.terms[*term].postings) {
                    together.extend_from_slice(tools);
                    together.extend_from_slice(if and_beside { beside } else { &[] });
                }
                together.sort_unstable();
                together.dedup();
                &together
            }
        };
        let index = self.catalog.index();
        for &id in holders {
            if !self.view.deferred.contains(id) {
                continue;
            }
            let (mut named, mut holds) = (0, false);
            for (at, (term, cursor)) in self.terms.iter().zip(&mut cursors).enumerate() {
                let Postings { tools, frequencies: all, .. } = &*term.postings;
                let held = tools.get(forward(&mut cursor[0], tools, id)) == Some(&id);
                let frequency = if held { all[cursor[0]] } else { 0 };
                named += u32::from(frequency & NAMED != 0);
                holds |= held;
                frequencies[at] = frequency & !NAMED;
            }
            if !holds {
                continue;
            }
            let mut beside = 0;
            if and_beside {
                for (at, (term, cursor)) in self.terms.iter().zip(&mut cursors).enumerate() {
                    let tools = &term.postings.beside;
                    let found = tools.get(forward(&mut cursor[1], tools, id)) == Some(&id);
                    beside |= u64::from(found) << at;
                }
            }
            each(Holder { id, frequencies: &frequencies, length: f64::from(index.length(id)), named, beside });
        }
    }

    /// One term's part of a document's score.
    pub fn part(&self, term: usize, frequency: u16, length: f64) -> f64 {
        let idf = self.terms[term].idf;
        match frequency {
            0 => 0.0,
            GIVEN => GIVEN_SHARE * idf * self.saturated(1.0, length),
            _ => idf * self.saturated(f64::from(frequency), length),
        }
    }

    /// What a term of weight 1 counts in a document.
    fn saturated(&self, tf: f64, length: f64) -> f64 {
        tf * (K1 + 1.0) / (tf + K1 * (1.0 - B + B * length / self.statistics.mean_length))
    }

    /// What a term counts that stands beside a tool as often as the query says it, where it weighs so much.
    pub fn part_beside(&self, term: usize, weight: f64, length: f64) -> f64 {
        self.times(term) * weight * self.saturated(1.0, length)
    }

    /// What a term weighs where it stands beside a tool: its idf among all that hold it or have it beside them, and no more
    /// than where it is held.
    pub fn weight_beside(&self, term: usize) -> f64 {
        let beside = self.view.count(&self.terms[term].postings.beside);
        idf(self.statistics.documents, self.terms[term].df + beside).min(self.near_weight(term))
    }

    /// Whether a term stands beside a tool of the catalog.
    pub fn is_beside(&self, term: usize) -> bool {
        !self.terms[term].postings.beside.is_empty()
    }

    /// A document's score: its terms summed in query order.
    pub fn score(&self, holder: &Holder<'_>) -> f64 {
        let part = |term: &usize| self.part(*term, holder.frequencies[*term], holder.length);
        self.sequence.iter().map(part).sum()
    }

    /// How much of a document's name the query says, 0 to 1.
    pub fn name_share(&self, holder: &Holder<'_>) -> f64 {
        f64::from(holder.named) / f64::from(self.catalog.index().names(holder.id).max(1))
    }

    /// What a document is ranked by, given its score: rounded to 1e-9 and counted in that unit ([`SCORE_UNIT`]).
    pub fn rank(&self, score: f64, name_share: f64) -> i64 {
        ((score + NAME * self.highest_known * name_share) * SCORE_UNIT).round() as i64
    }
}

/// A document that holds a term.
pub(super) struct Holder<'a> {
    pub id: ToolId,
    /// Its frequency of every term of the query.
    pub frequencies: &'a [u16],
    /// Its length in terms.
    pub length: f64,
    /// How many of the query's terms its name holds.
    pub named: u32,
    /// Those that it does not hold and that stand beside it, as bits, where that was asked for.
    pub beside: u64,
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

impl Term {
    fn new(catalog: &Catalog, view: &View, statistics: Statistics, word: &str, stem: &str) -> Self {
        let postings = catalog.index().postings(stem, catalog);
        let df = view.count(&postings.tools);
        Self { word: word.to_owned(), stem: stem.to_owned(), df, idf: idf(statistics.documents, df), postings }
    }
}

fn idf(documents: f64, df: usize) -> f64 {
    let df = df as f64;
    libm::log(1.0 + (documents - df + 0.5) / (df + 0.5))
}

/// Moves a cursor on to the first item that is not before a tool.
fn forward(cursor: &mut usize, items: &[ToolId], id: ToolId) -> usize {
    *cursor += gallop(&items[*cursor..], |other| *other < id);
    *cursor
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
        // As in documents, the marker of an MCP name is no word of it.
        let run = run.strip_prefix("mcp__").or_else(|| run.strip_prefix("mcp_")).unwrap_or(run);
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
