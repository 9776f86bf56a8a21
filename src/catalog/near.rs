//! How near a tool comes to a query that it does not match: the sum of three shares, each 0 to 1.
//!
//! How much of the query's weight the tool holds; how much it is about that, twice; and how much of the tool's name the
//! query says, which counts little but tells two tools apart that hold the same words. All settled on labelled queries: see
//! ARCHITECTURE.md.

use super::query::{Holder, Query};

/// What the shares of score and name count, beside that of the weight.
const SCORE: f64 = 2.0;
const NAME: f64 = 0.3;
/// What a near answer must come to.
const ENOUGH: f64 = 0.95;
/// Fewest content words that a near answer must hold: one shared word never suffices.
const WORDS: usize = 2;

/// What nearness to one query is measured by.
pub(super) struct Nearness<'a> {
    query: &'a Query<'a>,
    weight: f64,
    highest: f64,
    /// The terms of which a near answer holds one at least, however well it does otherwise: what is held of the others is
    /// too light, or one word.
    pub essential: Vec<usize>,
}

/// The three shares of one tool.
pub(super) struct Shares {
    /// Of the query's weight.
    pub weight: f64,
    /// Of the highest score possible.
    pub score: f64,
    /// Of the name's terms.
    pub name: f64,
    /// How many of the query's terms it holds.
    words: usize,
}

impl<'a> Nearness<'a> {
    /// For a query.
    pub fn new(query: &'a Query<'a>) -> Self {
        let terms = 0..query.terms.len();
        let weight = terms.clone().map(|term| query.near_weight(term)).sum();
        let highest = terms.clone().map(|term| query.highest_part(term)).sum();
        let mut nearness = Self { query, weight, highest, essential: Vec::new() };
        let mut heaviest: Vec<usize> = terms.filter(|term| query.terms[*term].df > 0).collect();
        heaviest.sort_by(|a, b| query.terms[*a].df.cmp(&query.terms[*b].df).then(a.cmp(b)));
        if heaviest.len() < WORDS {
            return nearness;
        }
        let mut light = 0.0;
        let mut essential = heaviest.len();
        while essential > 0 {
            light += nearness.most_by(heaviest[essential - 1]);
            if essential < heaviest.len() && light + NAME >= ENOUGH {
                break;
            }
            essential -= 1;
        }
        heaviest.truncate(essential);
        nearness.essential = heaviest;
        nearness
    }

    /// The most that holding a term can add, its part in the name aside.
    fn most_by(&self, term: usize) -> f64 {
        self.query.near_weight(term) / self.weight + SCORE * self.query.highest_part(term) / self.highest
    }

    /// Of a tool with its score.
    pub fn of(&self, holder: &Holder<'_>, score: f64) -> Shares {
        let held = (0..self.query.terms.len()).filter(|term| holder.frequencies[*term] > 0);
        let weight: f64 = held.map(|term| self.query.near_weight(term)).sum();
        Shares {
            weight: weight / self.weight,
            score: score / self.highest,
            name: self.query.name_share(holder),
            words: holder.held(),
        }
    }
}

impl Shares {
    /// What the shares come to; nothing where the words are too few.
    pub fn sum(&self) -> f64 {
        if self.words < WORDS { 0.0 } else { self.weight + SCORE * self.score + NAME * self.name }
    }

    /// Whether that is a near answer.
    pub fn is_enough(&self) -> bool {
        self.sum() >= ENOUGH
    }
}
