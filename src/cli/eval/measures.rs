//! How well queries are answered, in numbers that can be compared.

use serde::{Deserialize, Serialize};

use super::compare::Score;
use super::queries::Query;

/// Ranks at which recall is taken.
pub const RANKS: [usize; 3] = [1, 5, 10];

/// What was offered for one query, best first, as `source/tool` and by visible name.
pub struct Offered {
    /// Matches, then near answers.
    pub tools: Vec<[String; 2]>,
    /// How many of them are matches.
    pub matches: usize,
}

/// Means over all queries, rounded to four places. Recall is the share of the wanted tools that is found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measures {
    /// Queries.
    pub queries: usize,
    /// Recall among the first 1, 5 and 10 matches.
    pub matches: [f64; 3],
    /// Recall among the first 1, 5 and 10 of matches and near answers.
    pub offered: [f64; 3],
    /// Mean of one by the rank of the first good answer, matches before near ones.
    pub mrr: f64,
    /// Names offered for a query.
    pub names: f64,
    /// Share of the answerable queries for which nothing is offered.
    pub empty: f64,
    /// Share of the others for which nothing is offered, as it should be; absent where all can be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<f64>,
}

impl Measures {
    /// Of queries with what was offered for each.
    pub fn of(answered: &[(Query, Offered)]) -> Self {
        let (asked, hopeless): (Vec<_>, Vec<_>) = answered.iter().partition(|(query, _)| !query.relevant.is_empty());
        let recall = |rank: usize, near: bool| {
            mean(asked.iter().map(|(query, offered)| {
                let end = rank.min(if near { offered.tools.len() } else { offered.matches });
                let found = query.relevant.iter().filter(|wanted| is_among(wanted, &offered.tools[..end]));
                found.count() as f64 / query.relevant.len() as f64
            }))
        };
        let reciprocal = asked.iter().map(|(query, offered)| {
            let good = |tool: &[String; 2]| {
                query.relevant.iter().chain(&query.also_acceptable).any(|wanted| tool.contains(wanted))
            };
            offered.tools.iter().position(good).map_or(0.0, |at| 1.0 / (at + 1) as f64)
        });
        let nothing = |(_, offered): &&(Query, Offered)| f64::from(u8::from(offered.tools.is_empty()));
        Self {
            queries: answered.len(),
            matches: RANKS.map(|rank| recall(rank, false)),
            offered: RANKS.map(|rank| recall(rank, true)),
            mrr: mean(reciprocal),
            names: mean(answered.iter().map(|(_, offered)| offered.tools.len() as f64)),
            empty: mean(asked.iter().map(nothing)),
            no_answer: (!hopeless.is_empty()).then(|| mean(hopeless.iter().map(nothing))),
        }
    }

    /// Each by name, but for the number of queries, which is how many there were and no merit.
    pub fn scores(&self) -> Vec<Score> {
        let recall = |kind: &str, recall: [f64; 3]| {
            RANKS.into_iter().zip(recall).map(|(rank, value)| Score::more(format!("{kind}@{rank}"), value)).collect()
        };
        let mut all: Vec<Score> = recall("matches", self.matches);
        all.extend::<Vec<_>>(recall("offered", self.offered));
        all.extend([Score::more("mrr", self.mrr), Score::less("names", self.names), Score::less("empty", self.empty)]);
        all.extend(self.no_answer.map(|share| Score::more("noAnswer", share)));
        all
    }
}

fn is_among(wanted: &String, tools: &[[String; 2]]) -> bool {
    tools.iter().any(|tool| tool.contains(wanted))
}

/// To four places; 0 of nothing.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    (values.sum::<f64>() / count * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(relevant: &[&str], matches: &[&str], near: &[&str]) -> (Query, Offered) {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let tools = matches.iter().chain(near).map(|tool| [(*tool).to_owned(), tool.replace('/', "_")]).collect();
        let query = Query { query: String::new(), relevant: texts(relevant), also_acceptable: texts(&["s/other"]) };
        (query, Offered { tools, matches: matches.len() })
    }

    #[test]
    fn measures_count_what_they_say() {
        let all = [
            answered(&["s/a", "s_b"], &["s/a"], &["s/x", "s/b"]),
            answered(&["s/c"], &[], &[]),
            answered(&["s/d"], &[], &["s/other"]),
            answered(&[], &[], &["s/x"]),
            answered(&[], &[], &[]),
        ];
        let measures = Measures::of(&all);
        let expected = Measures {
            queries: 5,
            matches: [0.1667, 0.1667, 0.1667],
            offered: [0.1667, 0.3333, 0.3333],
            mrr: 0.6667,
            names: 1.0,
            empty: 0.3333,
            no_answer: Some(0.5),
        };
        assert_eq!(measures, expected);
    }
}
