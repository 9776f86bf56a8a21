//! `toolscout eval`: how well a catalog's tools are found by labelled queries, and what they cost.
//!
//! The queries go through `tool_search` as a model's do. `--json` is a baseline for `--compare`.

mod compare;
mod measures;
mod queries;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answers::{Assembled, Bridged, Found, read};
use super::failure::Failure;
use super::flags::{Common, Eval};
use super::page::{Page, Style, grouped};
use super::report::Report;
use super::sidecar::Sidecar;
use super::terminal::Terminal;
use compare::{Score, worse};
use measures::{Measures, Offered, RANKS};
use queries::Query;

/// Queries in one `tool_search`, at most what it takes.
const BATCH: usize = 7;
/// A context in which no listing fits, and one in which any does that the settings allow.
const SMALLEST: u64 = 1;
const LARGEST: u64 = 1 << 40;

/// What was measured.
#[derive(Debug, Serialize, Deserialize)]
struct Evaluation {
    #[serde(flatten)]
    measures: Measures,
    tokens: Tokens,
}

impl Evaluation {
    fn scores(&self) -> Vec<Score> {
        let Tokens { tier0, tier1, tier2 } = self.tokens;
        let tiers = [("tier0", tier0), ("tier1", tier1), ("tier2", tier2)];
        let mut all = self.measures.scores();
        all.extend(tiers.map(|(tier, tokens)| Score::less(format!("tokens.{tier}"), tokens as f64)));
        all
    }
}

/// Tokens of the tools array.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    /// With every tool loaded.
    tier0: u64,
    /// With a listing of what is deferred, as large as settings allow.
    tier1: u64,
    /// With no room for one.
    tier2: u64,
}

/// Runs the command. It fails if any measure, or what it costs, is worse than in the baseline.
///
/// # Errors
/// As of a request; files that cannot be read; a baseline of another number of queries.
pub fn run(common: &Common, args: &Eval, terminal: Terminal) -> Result<Report, Failure> {
    let asked = queries::read(&args.queries)?;
    let baseline = args.compare.as_deref().map(baseline).transpose()?;
    if let Some(other) = baseline.as_ref().map(|it| it.measures.queries).filter(|count| *count != asked.len()) {
        let asked = asked.len();
        let why = format!("the baseline is of {other} queries, and here {asked} are asked: compare the same");
        return Err(Failure::Other(why));
    }
    let mut sidecar = Sidecar::open(common)?;
    let ids = ids(&mut sidecar)?;
    let unknown = unknown(&asked, &ids);
    let mut answered = Vec::with_capacity(asked.len());
    let mut asked = asked.into_iter().peekable();
    while asked.peek().is_some() {
        let batch: Vec<Query> = asked.by_ref().take(BATCH).collect();
        let offered = offered(&mut sidecar, &batch, &ids)?;
        answered.extend(batch.into_iter().zip(offered));
    }
    let evaluation = Evaluation { measures: Measures::of(&answered), tokens: tokens(&mut sidecar)? };
    let worse = baseline.map(|baseline| worse(&evaluation.scores(), &baseline.scores())).unwrap_or_default();
    let mut report = if args.output.json {
        let json = serde_json::to_string(&evaluation).map_err(|error| Failure::Other(error.to_string()))?;
        Report::json(&json)
    } else {
        let mut page = Page::new(terminal);
        show(&mut page, &evaluation);
        Report::page(page)
    };
    for (name, before, now) in &worse {
        report = report.with_note(format!("{name} is worse than in the baseline: {now}, it was {before}"));
    }
    if let Some((first, more)) = unknown {
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        report = report.with_note(format!("no such tool, though a query wants it: {first}{more}"));
    }
    Ok(sidecar.noting_errors(report)?.failed_if(!worse.is_empty()))
}

fn baseline(path: &Path) -> Result<Evaluation, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::system(&format!("{} cannot be read", path.display()), &error))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::Other(format!("{} is no baseline ({error}); write one with `eval --json`", path.display()))
    })
}

/// `source/tool` of every tool, by the name a model sees.
fn ids(sidecar: &mut Sidecar) -> Result<BTreeMap<String, String>, Failure> {
    let listed: Value = read(&sidecar.request("registry/list", json!({ "tools": true }))?)?;
    let mut ids = BTreeMap::new();
    for source in listed["sources"].as_array().into_iter().flatten() {
        for tool in source["tools"].as_array().into_iter().flatten() {
            if let (Some(source), Some(name), Some(tool)) =
                (source["name"].as_str(), tool["name"].as_str(), tool["tool"].as_str())
            {
                ids.insert(name.to_owned(), format!("{source}/{tool}"));
            }
        }
    }
    Ok(ids)
}

/// The first wanted tool that there is not, and how many more.
fn unknown(asked: &[Query], ids: &BTreeMap<String, String>) -> Option<(String, usize)> {
    let known: std::collections::BTreeSet<&String> = ids.iter().flat_map(|(name, id)| [name, id]).collect();
    let mut unknown: Vec<&String> = asked.iter().flat_map(|query| &query.relevant).collect();
    unknown.retain(|wanted| !known.contains(wanted));
    unknown.sort();
    unknown.dedup();
    unknown.first().map(|first| ((*first).clone(), unknown.len() - 1))
}

fn offered(sidecar: &mut Sidecar, batch: &[Query], ids: &BTreeMap<String, String>) -> Result<Vec<Offered>, Failure> {
    let mut all = Vec::with_capacity(batch.len());
    // A blank query is no query to `tool_search`, so that positions would not hold.
    let asked: Vec<&str> = batch.iter().map(|query| &*query.query).filter(|query| !query.trim().is_empty()).collect();
    let mut groups = Vec::new();
    if !asked.is_empty() {
        let arguments = json!({ "queries": asked, "limit": RANKS[RANKS.len() - 1] });
        let raw = sidecar.request("bridge/call", json!({ "name": "tool_search", "arguments": arguments }))?;
        groups = read::<Bridged>(&raw)?.content::<Found>()?.results;
    }
    let mut groups = groups.into_iter();
    for query in batch {
        let group = if query.query.trim().is_empty() { None } else { groups.next() };
        let Some(group) = group else {
            all.push(Offered { tools: Vec::new(), matches: 0 });
            continue;
        };
        let matches = group.matches.len();
        let names = group.matches.into_iter().chain(group.near.into_iter().map(|near| near.name));
        let tools = names.map(|name| [ids.get(&name).cloned().unwrap_or_default(), name]).collect();
        all.push(Offered { tools, matches });
    }
    Ok(all)
}

fn tokens(sidecar: &mut Sidecar) -> Result<Tokens, Failure> {
    let mut of = |context: u64| -> Result<Assembled, Failure> {
        read(&sidecar.request("assemble", json!({ "contextLength": context }))?)
    };
    let (full, none) = (of(LARGEST)?, of(SMALLEST)?);
    Ok(Tokens { tier0: full.tokens.before, tier1: full.tokens.after, tier2: none.tokens.after })
}

fn show(page: &mut Page, evaluation: &Evaluation) {
    let Evaluation { measures, tokens } = evaluation;
    page.heading(&format!("{} labelled queries", grouped(measures.queries as u64)));
    let recall = |values: [f64; 3]| {
        RANKS.iter().zip(values).map(|(rank, value)| format!("@{rank} {value:.3}")).collect::<Vec<_>>().join("  ")
    };
    let mut rows = vec![
        ("matches  ", recall(measures.matches)),
        ("offered  ", format!("{}  (matches and near)", recall(measures.offered))),
        ("mrr      ", format!("{:.3}", measures.mrr)),
        ("names    ", format!("{:.2} a query", measures.names)),
        ("empty    ", format!("{:.1} % of those that can be answered", measures.empty * 100.0)),
    ];
    if let Some(share) = measures.no_answer {
        rows.push(("no answer", format!(" {:.1} % of those that cannot be, offered nothing", share * 100.0)));
    }
    let Tokens { tier0, tier1, tier2 } = tokens;
    let [all, listed, bare] = [*tier0, *tier1, *tier2].map(grouped);
    rows.push(("tokens   ", format!("{all} with all loaded, {listed} with a listing, {bare} without")));
    for (label, text) in &rows {
        page.line(&[(Style::Dim, label), (Style::Plain, text)]);
    }
}
