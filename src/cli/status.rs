//! `toolscout status`: which sources there are, where they come from, whether search works, and which shared sidecars
//! run.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::answers::{Listed, Source, Status, read};
use super::failure::Failure;
use super::flags::{Common, Output};
use super::gateway::{self, Standing};
use super::newcomer;
use super::page::{Page, Style, count};
use super::report::Report;
use super::shared::Running;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;

const SOURCES: [Column; 6] = [
    Column::name("SOURCE"),
    Column::word("KIND"),
    Column::word("TOOLSET"),
    Column::word("FROM"),
    Column::word("STATE"),
    Column::number("TOOLS"),
];

/// Runs the command. It fails if the probe search does.
///
/// # Errors
/// As of a request.
pub fn run(common: &Common, args: &Output, terminal: Terminal) -> Result<Report, Failure> {
    let mut sidecar = Sidecar::open(common)?;
    let raw = sidecar.settled()?;
    let status: Status = read(&raw)?;
    let running = Running::all();
    let gateway = gateway::standing(&sidecar.options)?;
    if args.json {
        let mut answer: Map<String, Value> = read(&raw)?;
        answer.insert("shared".to_owned(), running.json());
        if let Some((url, standing)) = gateway {
            answer.insert("gateway".to_owned(), json!({ "url": url, "state": standing.word() }));
        }
        return Ok(running.noted(Report::json(&Value::Object(answer).to_string()).failed_if(!status.probe.ok)));
    }
    let listed: Listed = read(&sidecar.request("registry/list", json!({}))?)?;
    let mut page = Page::new(terminal);
    show(&mut page, &status, &listed);
    if let Some((url, standing)) = gateway {
        let style = if standing == Standing::SignedIn { Style::Plain } else { Style::Yellow };
        page.gap();
        page.paragraph("Connected apps: ", style, &format!("{url}: {}", standing.told()));
    }
    if listed.tools() == 0 {
        page.gap();
        newcomer::welcome(&mut sidecar, &mut page)?;
    }
    if !running.is_empty() {
        page.gap();
        page.heading("Shared sidecars");
        running.show(&mut page);
    }
    sidecar.noting_errors(running.noted(Report::page(page).failed_if(!status.probe.ok)))
}

fn show(page: &mut Page, status: &Status, listed: &Listed) {
    let (style, state) = match status {
        Status { probe, .. } if !probe.ok => (Style::Red, "search does not work"),
        Status { degraded: true, .. } => (Style::Yellow, "degraded: a file cannot be read"),
        Status { stale: true, .. } => (Style::Yellow, "stale: the files do not answer"),
        _ => (Style::Green, "ready"),
    };
    page.line(&[(Style::Bold, "toolscout "), (Style::Bold, &status.version), (Style::Plain, ": "), (style, state)]);
    let totals = format!("{} in {}", count(listed.tools(), "tool"), count(listed.sources.len() as u64, "source"));
    page.line(&[(Style::Plain, &format!("{totals}; a probe search took {} µs", status.probe.micros))]);
    if !listed.sources.is_empty() {
        page.gap();
        page.table(0, &SOURCES, &listed.sources.iter().map(source).collect::<Vec<_>>());
    }
    page.gap();
    page.heading("Looked for");
    for path in &status.watching.paths {
        let there = Path::new(path).exists();
        let (style, mark) = if there { (Style::Plain, "") } else { (Style::Dim, " (not there)") };
        page.line(&[(style, "  "), (style, path), (style, mark)]);
    }
    if !status.untrusted.is_empty() {
        page.gap();
        let keys = status.untrusted.join(", ");
        page.paragraph("Not in effect until the workspace is trusted (--trust-workspace): ", Style::Yellow, &keys);
    }
}

fn source(source: &Source) -> [String; 6] {
    let Source { name, kind, toolset, origin, state, tool_count } = source;
    [name.clone(), kind.clone(), toolset.clone(), origin.clone(), state.clone(), tool_count.to_string()]
}
