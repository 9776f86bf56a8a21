//! `toolscout search`: one query, answered as a model is answered.

use serde_json::{Value, json};

use super::answers::{Bridged, Found, Group, read};
use super::failure::Failure;
use super::flags::{Common, Search};
use super::newcomer;
use super::page::{Page, Style, count};
use super::report::Report;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;
use super::toolsets;

const MATCHES: [Column; 3] = [Column::name("NAME"), Column::text("REQUIRED"), Column::text("DESCRIPTION")];
const NEAR: [Column; 3] = [Column::name("NAME"), Column::text("LACKS"), Column::text("DESCRIPTION")];

/// Runs the command. A search that finds nothing has done its work.
///
/// # Errors
/// As of a request; a query that cannot be searched.
pub fn run(common: &Common, args: &Search, terminal: Terminal) -> Result<Report, Failure> {
    if !args.output.json {
        args.not_blank()?;
    }
    let mut sidecar = Sidecar::open(common)?;
    sidecar.settled()?;
    let arguments = json!({ "queries": [args.query()], "limit": args.limit });
    let params = json!({ "name": "tool_search", "arguments": arguments, "scope": args.scope.wire() });
    let raw = sidecar.request("bridge/call", params)?;
    let bridged: Bridged = read(&raw)?;
    if args.output.json {
        let report = Report::json(raw.get()).failed_if(bridged.is_error);
        return toolsets::noting_unknown(&mut sidecar, &args.scope, report);
    }
    let found: Found = bridged.content()?;
    let mut page = Page::new(terminal);
    if found.total_available > 0 || !newcomer::welcome(&mut sidecar, &mut page)? {
        for group in &found.results {
            show(&mut page, &found, group);
        }
    }
    let report = sidecar.noting_errors(Report::page(page))?;
    let report = toolsets::noting_unknown(&mut sidecar, &args.scope, report)?;
    // Not asked is not the same as nothing found.
    Ok(match found.connectors {
        Some(told) if !told.message.is_empty() => report.with_note(told.message),
        _ => report,
    })
}

fn show(page: &mut Page, found: &Found, group: &Group) {
    let available = count(found.total_available, "deferred tool");
    if found.total_available == 0 {
        // Nothing to be said of the words, which were put to nothing.
        page.line(&[
            (Style::Bold, "No match"),
            (Style::Plain, ": no deferred tool is in scope, so nothing was searched."),
        ]);
        push_sources(page, group);
        return;
    }
    if group.matches.is_empty() {
        page.line(&[(Style::Bold, "No match"), (Style::Plain, &format!(" among {available} for: {}", group.query))]);
        if !group.unanswered_terms.is_empty() {
            page.paragraph("No tool holds: ", Style::Yellow, &group.unanswered_terms.join(", "));
        }
        push_sources(page, group);
        page.paragraph("", Style::Dim, &group.hint);
    } else {
        page.table(0, &MATCHES, &matches(found, &group.matches));
        let matched = format!("{} of {available}", group.matches.len());
        page.line(&[(Style::Dim, &matched)]);
    }
    if !group.cut.is_empty() {
        page.paragraph("Named, but past the limit: ", Style::Plain, &group.cut.join(", "));
    }
    if !group.near.is_empty() {
        page.gap();
        page.paragraph("", Style::Dim, &group.near_note);
        let rows: Vec<[String; 3]> = group
            .near
            .iter()
            .map(|near| [near.name.clone(), near.missing.join(", "), near.description.clone()])
            .collect();
        page.table(0, &NEAR, &rows);
    }
}

/// Rows of [`MATCHES`], in the order of the matches.
pub fn matches(found: &Found, names: &[String]) -> Vec<[String; 3]> {
    let row = |name: &String| {
        let tool = found.tools.get(name).unwrap_or(&Value::Null);
        let required = tool["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let description = tool["description"].as_str().unwrap_or_default();
        [name.clone(), required.collect::<Vec<_>>().join(", "), description.to_owned()]
    };
    names.iter().map(row).collect()
}

fn push_sources(page: &mut Page, group: &Group) {
    if group.available_sources.is_empty() {
        return;
    }
    let named = group.available_sources.iter().map(|source| match &source.unavailable {
        Some(why) => format!("{} (unavailable: {why})", source.name),
        None => format!("{} ({})", source.name, source.tool_count),
    });
    let more = (group.more_sources > 0).then(|| format!("and {} more", group.more_sources));
    page.paragraph("Sources: ", Style::Plain, &named.chain(more).collect::<Vec<_>>().join(", "));
}
