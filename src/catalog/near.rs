//! How near a tool comes to a query that it does not match: the sum of three shares, each 0 to 1.
//!
//! How much of the query's weight the tool holds; how much it is about that, twice; and how much of the tool's name the
//! query says, which counts little but tells two tools apart that hold the same words. A word that stands beside the tool,
//! in the schemas of its parameters, counts as if it stood in its text once, and half a word of the two that must be held, of
//! which the text holds one. All settled on labelled queries: see ARCHITECTURE.md.

use super::query::{Holder, Query};

/// What the shares of score and name count, beside that of the weight.
const SCORE: f64 = 2.0;
const NAME: f64 = 0.3;
/// What a near answer must come to.
const ENOUGH: f64 = 0.98;
/// Fewest content words that a near answer must hold: one shared word never suffices.
const WORDS: usize = 2;

/// What nearness to one query is measured by.
pub(super) struct Nearness<'a> {
    query: &'a Query<'a>,
    weight: f64,
    highest: f64,
    /// What each term weighs where it stands beside a tool.
    beside: Vec<f64>,
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
    /// How many of the query's terms it holds, two beside it being one more; none where it holds none.
    words: usize,
}

impl<'a> Nearness<'a> {
    /// For a query.
    pub fn new(query: &'a Query<'a>) -> Self {
        let terms = 0..query.terms.len();
        let weight = terms.clone().map(|term| query.near_weight(term)).sum();
        let highest = terms.clone().map(|term| query.highest_part(term)).sum();
        let beside = terms.clone().map(|term| query.weight_beside(term)).collect();
        let mut nearness = Self { query, weight, highest, beside, essential: Vec::new() };
        let mut heaviest: Vec<usize> =
            terms.filter(|term| query.terms[*term].df > 0 || query.is_beside(*term)).collect();
        heaviest.sort_by(|a, b| nearness.most_by(*b).total_cmp(&nearness.most_by(*a)).then(a.cmp(b)));
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

    /// A tool's score, that of what stands beside it included.
    pub fn score(&self, holder: &Holder<'_>) -> f64 {
        let beside = self.beside_of(holder).map(|(term, weight)| self.query.part_beside(term, weight, holder.length));
        self.query.score(holder) + beside.sum::<f64>()
    }

    /// Of a tool with that score.
    pub fn of(&self, holder: &Holder<'_>, score: f64) -> Shares {
        let held = (0..self.query.terms.len()).filter(|term| holder.frequencies[*term] > 0);
        let weight: f64 = held.map(|term| self.query.near_weight(term)).sum();
        let beside: f64 = self.beside_of(holder).map(|(_, weight)| weight).sum();
        let held = holder.held();
        Shares {
            weight: (weight + beside) / self.weight,
            score: score / self.highest,
            name: self.query.name_share(holder),
            words: if held == 0 { 0 } else { held + holder.beside.count_ones() as usize / 2 },
        }
    }

    /// The terms that stand beside a tool, and what each weighs there.
    pub fn beside_of(&self, holder: &Holder<'_>) -> impl Iterator<Item = (usize, f64)> {
        let bits = holder.beside;
        self.beside.iter().copied().enumerate().filter(move |(term, _)| bits >> term & 1 == 1)
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
