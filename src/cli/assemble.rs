//! `toolscout assemble`: what a model sees on a turn, and what it costs.

use serde_json::json;

use super::answers::{Assembled, read};
use super::failure::Failure;
use super::flags::{Assemble, Common};
use super::newcomer;
use super::page::{Page, Style, count, grouped};
use super::report::Report;
use super::sidecar::Sidecar;
use super::terminal::Terminal;
use super::toolsets;
use crate::catalog::connections::NAME;

/// Runs the command.
///
/// # Errors
/// As of a request.
pub fn run(common: &Common, args: &Assemble, terminal: Terminal) -> Result<Report, Failure> {
    let mut sidecar = Sidecar::open(common)?;
    sidecar.settled()?;
    let params = json!({ "contextLength": args.context, "format": args.format.as_str(), "scope": args.scope.wire() });
    let raw = sidecar.request("assemble", params)?;
    if args.output.json {
        return toolsets::noting_unknown(&mut sidecar, &args.scope, Report::json(raw.get()));
    }
    let assembled: Assembled = read(&raw)?;
    let mut page = Page::new(terminal);
    if assembled.named().any(|(name, _)| name != NAME) || !newcomer::welcome(&mut sidecar, &mut page)? {
        show(&mut page, &assembled);
    }
    let report = sidecar.noting_errors(Report::page(page))?;
    toolsets::noting_unknown(&mut sidecar, &args.scope, report)
}

fn show(page: &mut Page, assembled: &Assembled) {
    summary(page, "", assembled);
    page.line(&[(Style::Dim, "etag    "), (Style::Plain, &assembled.etag)]);
    page.gap();
    page.heading("The model sees");
    let names: Vec<&str> = assembled.named().map(|(name, _)| name).collect();
    page.paragraph("", Style::Plain, &names.join(", "));
    if assembled.activated {
        page.gap();
        page.heading("Description of tool_search");
        for line in assembled.bridge_lines() {
            page.paragraph("", Style::Plain, line);
        }
    }
}

/// Counts and costs, each line behind `indent`.
pub fn summary(page: &mut Page, indent: &str, assembled: &Assembled) {
    let bridge = if assembled.activated { 3 } else { 0 };
    let own = assembled.named().filter(|(name, _)| *name == NAME).count() as u64;
    let visible = (assembled.tools.len() as u64).saturating_sub(bridge + own);
    let own = if own > 0 { " and manage_connections" } else { "" };
    let tools = if assembled.activated {
        let deferred = grouped(assembled.deferred_count);
        let (visible, tier) = (grouped(visible), assembled.tier);
        format!("{deferred} deferred, {visible} visible as before, 3 bridge tools{own} (tier {tier})")
    } else {
        format!("{}{own}, nothing deferred (tier {})", count(visible, "tool"), assembled.tier)
    };
    let Assembled { tokens, listing_form, listing_tokens, listing_budget, .. } = assembled;
    let (before, after) = (grouped(tokens.before), grouped(tokens.after));
    let saved = match (assembled.activated, tokens.saved()) {
        (false, _) => String::new(),
        (true, 0) => ", which pays from some more tools on".to_owned(),
        (true, saved) => format!(", {saved} % saved"),
    };
    page.line(&[(Style::Dim, indent), (Style::Dim, "tools   "), (Style::Plain, &tools)]);
    let costs = format!("{before} if all were loaded, {after} as it is");
    page.line(&[(Style::Dim, indent), (Style::Dim, "tokens  "), (Style::Plain, &costs), (Style::Green, &saved)]);
    if assembled.activated {
        let listing = format!("{listing_form}, {} of {} tokens", grouped(*listing_tokens), grouped(*listing_budget));
        page.line(&[(Style::Dim, indent), (Style::Dim, "listing "), (Style::Plain, &listing)]);
    }
}
