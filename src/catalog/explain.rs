//! Why a query finds what it finds: terms, gate, floor, and every term's part of a score.

use serde::Serialize;

use super::near::Nearness as Near;
use super::query::{Holder, Query, SCORE_UNIT};
use super::search;
use super::segment::GIVEN;
use super::view::View;
use super::{Catalog, ToolId};

/// The account of one query.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The query.
    pub query: String,
    /// Its terms in order; a word that stands twice stands once here.
    pub terms: Vec<TermWeight>,
    /// The word that every match must hold: the rarest.
    pub gate: Option<String>,
    /// Fewest distinct terms that a match must hold, 0 where the floor does not apply.
    pub floor: usize,
    /// Deferred tools in scope.
    pub documents: usize,
    /// Tools that match, best first.
    pub hits: Vec<Scored>,
    /// The best of those that do not, whether offered as near answers or not.
    pub near_misses: Vec<Scored>,
}

/// One term of the query.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TermWeight {
    /// As the query has it.
    pub word: String,
    /// Its stem, which is what is looked up.
    pub stem: String,
    /// Tools that hold it.
    pub df: usize,
    /// Its weight.
    pub idf: f64,
}

/// One tool and where its score comes from.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scored {
    /// Visible name.
    pub name: String,
    /// BM25 score; of a near miss with what stands in the schemas of its parameters.
    pub score: f64,
    /// What it is ranked by: the score, and something for what the query says of its name.
    pub rank: f64,
    /// Why it is here: `exact`, `match`, `near`, `gate`, `floor` or `rank`.
    pub reason: &'static str,
    /// Parts of the score, for the terms it holds.
    pub parts: Vec<Part>,
    /// Of a near miss: how near it comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearness: Option<Nearness>,
}

/// How near a tool comes to a query that it does not match; it is offered from a sum of 0.98 on.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Nearness {
    /// Share of the query's weight that it holds.
    pub weight: f64,
    /// Share of the highest score possible.
    pub score: f64,
    /// Share of its name that the query says.
    pub name: f64,
    /// `weight + 2 score + 0.3 name`; 0 with fewer than two words held, two in the schemas of parameters being one.
    pub sum: f64,
}

/// A term's part of a score.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ScorePart")]
pub struct Part {
    /// The term as the query has it.
    pub word: String,
    /// How often the tool holds it.
    pub tf: u16,
    /// The term's weight.
    pub idf: f64,
    /// Where the tool has it, if no text of it holds it: `given` as an alias or a keyword, or `parameters`, in the schemas of
    /// its parameters, which counts for near answers alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<&'static str>,
    /// Its share of the score, 0 to 1.
    pub share: f64,
}

/// Explains a query in a scope.
pub fn explain(catalog: &Catalog, view: &View, text: &str, limit: Option<u32>) -> Explanation {
    let query = Query::new(catalog, view, text);
    let group = search::run(catalog, view, text, limit);
    let gate = query.rarest();
    let floor = query.floor();
    let mut scored: Vec<Found> = Vec::new();
    let all: Vec<usize> = (0..query.terms.len()).collect();
    let near = Near::new(&query);
    query.each_holder_or_beside(&all, |holder| {
        // What stands beside a tool makes it no match.
        let is_match = group.matches.contains(&holder.id);
        let score = if is_match { query.score(&holder) } else { near.score(&holder) };
        let shares = near.of(&holder, score);
        let parts = parts(&query, &holder, (!is_match).then_some(&near), score);
        let (score, rank) = ((score * SCORE_UNIT).round() / SCORE_UNIT, query.rank(score, shares.name));
        let nearness = Nearness { weight: shares.weight, score: shares.score, name: shares.name, sum: shares.sum() };
        scored.push(Found { score, rank, id: holder.id, frequencies: holder.frequencies.into(), parts, nearness });
    });
    let name = |found: &Found| &catalog.tool(found.id).name;
    scored.sort_by(|a, b| b.rank.cmp(&a.rank).then_with(|| name(a).cmp(name(b))));

    let passes = |found: &Found| gate.is_some_and(|gate| found.frequencies[gate] > 0) && found.held() >= floor;
    let hits = group.matches.iter().map(|id| match scored.iter().find(|found| found.id == *id) {
        Some(found) => scored_tool(&query, found, if passes(found) { "match" } else { "exact" }),
        None => Scored {
            name: catalog.tool(*id).name.to_string(),
            score: 0.0,
            reason: "exact",
            parts: Vec::new(),
            rank: 0.0,
            nearness: None,
        },
    });
    let hits: Vec<Scored> = hits.collect();
    let misses = scored.iter().filter(|found| !group.matches.contains(&found.id)).take(hits.len().max(5));
    let near_misses = misses
        .map(|found| {
            let reason = if group.near.iter().any(|near| near.id == found.id) {
                "near"
            } else if gate.is_none_or(|gate| found.frequencies[gate] == 0) {
                "gate"
            } else if found.held() < floor {
                "floor"
            } else {
                "rank"
            };
            Scored { nearness: Some(found.nearness.clone()), ..scored_tool(&query, found, reason) }
        })
        .collect();
    Explanation {
        query: text.to_owned(),
        gate: gate.map(|at| query.terms[at].word.clone()),
        floor,
        documents: view.deferred_count,
        hits,
        near_misses,
        terms: query
            .terms
            .iter()
            .map(|term| TermWeight { word: term.word.clone(), stem: term.stem.clone(), df: term.df, idf: term.idf })
            .collect(),
    }
}

/// A tool that holds some of the query's terms, or has them beside it.
struct Found {
    score: f64,
    rank: i64,
    id: ToolId,
    frequencies: Box<[u16]>,
    parts: Vec<Part>,
    nearness: Nearness,
}

impl Found {
    fn held(&self) -> usize {
        self.frequencies.iter().filter(|frequency| **frequency > 0).count()
    }
}

/// Where a tool's score comes from; what stands beside it counts for near answers.
fn parts(query: &Query<'_>, holder: &Holder<'_>, near: Option<&Near<'_>>, score: f64) -> Vec<Part> {
    let share = |part: f64| if score > 0.0 { part / score } else { 0.0 };
    let part = |at: usize, tf: u16, idf: f64, from: Option<&'static str>, counts: f64| Part {
        word: query.terms[at].word.clone(),
        tf,
        idf,
        from,
        share: share(counts),
    };
    let held = (0..query.terms.len()).filter(|at| holder.frequencies[*at] > 0).map(|at| {
        let counts = query.times(at) * query.part(at, holder.frequencies[at], holder.length);
        match holder.frequencies[at] {
            GIVEN => part(at, 0, query.terms[at].idf, Some("given"), counts),
            tf => part(at, tf, query.terms[at].idf, None, counts),
        }
    });
    let beside = near
        .into_iter()
        .flat_map(|near| near.beside_of(holder))
        .map(|(at, weight)| part(at, 0, weight, Some("parameters"), query.part_beside(at, weight, holder.length)));
    held.chain(beside).collect()
}

fn scored_tool(query: &Query<'_>, found: &Found, reason: &'static str) -> Scored {
    Scored {
        name: query.catalog.tool(found.id).name.to_string(),
        score: found.score,
        rank: found.rank as f64 / SCORE_UNIT,
        reason,
        parts: found.parts.clone(),
        nearness: None,
    }
}
