//! `toolscout explain`: why a query finds what it finds.

use serde_json::json;

use super::answers::{Explained, Part, Scored, Term, read};
use super::failure::Failure;
use super::flags::{Common, Search};
use super::gateway;
use super::newcomer;
use super::page::{Page, Style, count};
use super::report::Report;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;
use super::toolsets;

const TERMS: [Column; 4] =
    [Column::name("WORD"), Column::word("STEM"), Column::number("TOOLS"), Column::number("WEIGHT")];
const MATCHES: [Column; 5] = [
    Column::name("NAME"),
    Column::number("RANK"),
    Column::number("SCORE"),
    Column::word("WHY"),
    Column::text("PARTS OF THE SCORE"),
];
const OTHERS: [Column; 6] = [
    Column::name("NAME"),
    Column::number("RANK"),
    Column::number("SCORE"),
    Column::word("WHY"),
    Column::text("LACKS"),
    Column::text("PARTS OF THE SCORE"),
];

/// Runs the command.
///
/// # Errors
/// As of a request; a blank query.
pub fn run(common: &Common, args: &Search, terminal: Terminal) -> Result<Report, Failure> {
    if !args.output.json {
        args.not_blank()?;
    }
    let mut sidecar = Sidecar::open(common)?;
    sidecar.settled()?;
    let params = json!({ "query": args.query(), "limit": args.limit, "scope": args.scope.wire() });
    let raw = sidecar.request("search/explain", params)?;
    if args.output.json {
        return toolsets::noting_unknown(&mut sidecar, &args.scope, Report::json(raw.get()));
    }
    let explained: Explained = read(&raw)?;
    let mut page = Page::new(terminal);
    if explained.documents > 0 || !newcomer::welcome(&mut sidecar, &mut page)? {
        show(&mut page, &explained);
    }
    if gateway::is_signed_in(&sidecar.options) {
        page.gap();
        let apart = "Tools of connected apps are not part of this: a search asks their gateway for them.";
        page.paragraph("", Style::Dim, apart);
    }
    let report = sidecar.noting_errors(Report::page(page))?;
    toolsets::noting_unknown(&mut sidecar, &args.scope, report)
}

fn show(page: &mut Page, explained: &Explained) {
    page.table(0, &TERMS, &explained.terms.iter().map(term).collect::<Vec<_>>());
    let gate = explained.gate.as_ref().and_then(|gate| explained.terms.iter().find(|term| term.word == *gate));
    let mut rules = format!("{} searched", count_are(explained.documents));
    match gate {
        Some(Term { word, df: 0, .. }) => {
            rules.push_str(&format!("; no tool holds `{word}`, without which there is no match"));
        }
        Some(Term { word, .. }) => rules.push_str(&format!("; a match holds `{word}`, the rarest word")),
        None => {}
    }
    if explained.floor > 0 {
        rules.push_str(&format!(", and at least {} of the words", explained.floor));
    }
    page.paragraph("", Style::Dim, &rules);
    page.gap();
    let unheld = gate.is_some_and(|gate| gate.df == 0);
    if explained.hits.is_empty() {
        page.heading("No match");
    } else {
        page.heading("Matches");
        let row = |tool: &Scored| {
            let [name, rank, score, why] = tell(tool, unheld);
            [name, rank, score, why, parts(tool)]
        };
        page.table(0, &MATCHES, &explained.hits.iter().map(row).collect::<Vec<_>>());
    }
    if !explained.near_misses.is_empty() {
        page.gap();
        page.heading("Not matches");
        let row = |tool: &Scored| {
            let [name, rank, score, why] = tell(tool, unheld);
            [name, rank, score, why, lacks(explained, tool), parts(tool)]
        };
        page.table(0, &OTHERS, &explained.near_misses.iter().map(row).collect::<Vec<_>>());
    }
    if explained.hits.iter().chain(&explained.near_misses).any(|tool| tool.rank > tool.score) {
        page.gap();
        let order = "The order is that of RANK: the score, and more the more of a tool's name the query says.";
        page.paragraph("", Style::Dim, order);
    }
}

fn count_are(documents: u64) -> String {
    format!("{} {}", count(documents, "deferred tool"), if documents == 1 { "is" } else { "are" })
}

/// Words of the query that a tool does not hold.
fn lacks(explained: &Explained, tool: &Scored) -> String {
    let is_held = |word: &str| tool.parts.iter().any(|part| part.word == word);
    let words = explained.terms.iter().map(|term| term.word.as_str()).filter(|word| !is_held(word));
    words.collect::<Vec<_>>().join(", ")
}

fn term(term: &Term) -> [String; 4] {
    [term.word.clone(), term.stem.clone(), term.df.to_string(), format!("{:.2}", term.idf)]
}

fn tell(tool: &Scored, unheld: bool) -> [String; 4] {
    let [rank, score] = [tool.rank, tool.score].map(|number| format!("{number:.2}"));
    [tool.name.clone(), rank, score, why(&tool.reason, unheld).to_owned()]
}

fn parts(tool: &Scored) -> String {
    let part = |part: &Part| {
        let how = match part.from.as_deref() {
            Some("parameters") => " (in its parameters)".to_owned(),
            Some(from) => format!(" ({from})"),
            None if part.tf > 1 => format!(" ×{}", part.tf),
            None => String::new(),
        };
        format!("{}{how} {:.0} %", part.word, part.share * 100.0)
    };
    tool.parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The reason in a few words; `unheld`: no tool holds the word that a match must.
fn why(reason: &str, unheld: bool) -> &str {
    match reason {
        "exact" => "named",
        "gate" if unheld => "lacks a word",
        "gate" => "lacks the rarest word",
        "floor" => "holds too few words",
        "near" => "near",
        "rank" => "past the limit",
        other => other,
    }
}
