//! `toolscout explain`: why a query finds what it finds.

use serde_json::json;

use super::answers::{Explained, Part, Scored, Term, read};
use super::failure::Failure;
use super::flags::{Common, Search};
use super::newcomer;
use super::page::{Page, Style, count};
use super::report::Report;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;

const TERMS: [Column; 4] =
    [Column::name("WORD"), Column::word("STEM"), Column::number("TOOLS"), Column::number("WEIGHT")];
const TOOLS: [Column; 4] =
    [Column::name("NAME"), Column::number("SCORE"), Column::word("WHY"), Column::text("PARTS OF THE SCORE")];

/// Runs the command.
///
/// # Errors
/// As of a request; a blank query.
pub fn run(common: &Common, args: &Search, terminal: Terminal) -> Result<Report, Failure> {
    let mut sidecar = Sidecar::open(common)?;
    sidecar.settled()?;
    let params = json!({ "query": args.query(), "limit": args.limit, "scope": args.scope.wire() });
    let raw = sidecar.request("search/explain", params)?;
    if args.output.json {
        return Ok(Report::json(raw.get()));
    }
    let explained: Explained = read(&raw)?;
    let mut page = Page::new(terminal);
    if explained.documents > 0 || !newcomer::welcome(&mut sidecar, &mut page)? {
        show(&mut page, &explained);
    }
    sidecar.noting_errors(Report::page(page))
}

fn show(page: &mut Page, explained: &Explained) {
    page.table(0, &TERMS, &explained.terms.iter().map(term).collect::<Vec<_>>());
    let mut rules = format!("{} are searched", count(explained.documents, "deferred tool"));
    if let Some(gate) = &explained.gate {
        rules.push_str(&format!("; a match holds `{gate}`, the rarest word"));
    }
    if explained.floor > 0 {
        rules.push_str(&format!(", and at least {} of the words", explained.floor));
    }
    page.paragraph("", Style::Dim, &rules);
    page.gap();
    if explained.hits.is_empty() {
        page.heading("No match");
    } else {
        page.heading("Matches");
        page.table(0, &TOOLS, &explained.hits.iter().map(tool).collect::<Vec<_>>());
    }
    if !explained.near_misses.is_empty() {
        page.gap();
        page.heading("Not matches");
        page.table(0, &TOOLS, &explained.near_misses.iter().map(tool).collect::<Vec<_>>());
    }
}

fn term(term: &Term) -> [String; 4] {
    [term.word.clone(), term.stem.clone(), term.df.to_string(), format!("{:.2}", term.idf)]
}

fn tool(tool: &Scored) -> [String; 4] {
    let part = |part: &Part| {
        let how = match part.from.as_deref() {
            Some("parameters") => " (in its parameters)".to_owned(),
            Some(from) => format!(" ({from})"),
            None if part.tf > 1 => format!(" ×{}", part.tf),
            None => String::new(),
        };
        format!("{}{how} {:.0} %", part.word, part.share * 100.0)
    };
    let parts = tool.parts.iter().map(part).collect::<Vec<_>>().join(", ");
    [tool.name.clone(), format!("{:.2}", tool.score), why(&tool.reason).to_owned(), parts]
}

/// The reason in a few words.
fn why(reason: &str) -> &str {
    match reason {
        "exact" => "named",
        "gate" => "lacks the rarest word",
        "floor" => "holds too few words",
        "near" => "near",
        "rank" => "past the limit",
        other => other,
    }
}
