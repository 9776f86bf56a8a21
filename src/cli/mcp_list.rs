//! `toolscout mcp-list`: the MCP servers that configuration names, started once to see what becomes of them.

use serde_json::value::RawValue;

use super::answers::{Initialized, SourceStatus, Status, read};
use super::failure::Failure;
use super::flags::{Common, Output};
use super::page::{Page, Style, count};
use super::report::Report;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;
use crate::servers::offers;

const SERVERS: [Column; 6] = [
    Column::name("SERVER"),
    Column::word("STATE"),
    Column::number("TOOLS"),
    Column::number("TOKENS"),
    Column::number("START"),
    Column::text("REASON"),
];

/// Runs the command. It fails if a server that should run does not.
///
/// # Errors
/// As of a request.
pub fn run(common: &Common, args: &Output, terminal: Terminal) -> Result<Report, Failure> {
    let mut sidecar = Sidecar::open(common)?;
    let raw = sidecar.settled()?;
    let status: Status = read(&raw)?;
    let servers: Vec<&SourceStatus> = status.sources.iter().filter(|source| source.origin == "server").collect();
    let failed =
        servers.iter().any(|server| matches!(server.state.as_str(), "down" | "starting" | "needs_authorization"));
    if args.json {
        return Ok(Report::json(&servers_of(&raw)?).failed_if(failed));
    }
    let mut page = Page::new(terminal);
    if servers.is_empty() {
        page.heading("No MCP servers are configured.");
        let how = "Name them under `mcpServers` in config.yaml, one a file in servers.d beside it, or in a file as editors \
                   write it, with --mcp-config FILE.";
        page.paragraph("", Style::Plain, how);
    } else {
        let rows = servers.iter().map(|server| row(server, reason(&sidecar, server)));
        page.table(0, &SERVERS, &rows.collect::<Vec<_>>());
        let ready = servers.iter().filter(|server| server.state == "ready");
        let (tools, tokens) = ready.fold((0, 0), |(tools, tokens), server| {
            (tools + server.tool_count, tokens + server.tokens.unwrap_or_default())
        });
        page.gap();
        page.line(&[(
            Style::Plain,
            &format!("{}, {} if all were loaded", count(tools, "tool"), count(tokens, "token")),
        )]);
    }
    sidecar.noting_errors(Report::page(page).failed_if(failed))
}

/// Why a server does not run, and what to do about it where that is the person's choice.
fn reason(sidecar: &Sidecar, server: &SourceStatus) -> String {
    let name = &server.name;
    let is_installed = || {
        let user = sidecar.options.places.user.as_deref();
        offers::is_name(name) && user.is_some_and(|user| offers::file_of(user, name).exists())
    };
    match server.state.as_str() {
        "untrusted" => "the workspace is not trusted; if you trust it: --trust-workspace".to_owned(),
        "disabled" if is_itself(sidecar, name) => "it is Toolscout, which would start itself again".to_owned(),
        "disabled" if is_installed() => format!("it is switched off; to switch it on: toolscout servers enable {name}"),
        "disabled" => "its entry says `disabled`; take that out to switch it on".to_owned(),
        _ => server.last_error.clone().unwrap_or_default(),
    }
}

fn is_itself(sidecar: &Sidecar, name: &str) -> bool {
    let opened = read::<Initialized>(&sidecar.opened);
    let found = opened.iter().flat_map(|opened| &opened.diagnostics).flat_map(|file| &file.diagnostics);
    { found }.any(|finding| finding.code == "server-is-itself" && finding.message.contains(&format!("`{name}`")))
}

fn row(server: &SourceStatus, reason: String) -> [String; 6] {
    let started = server.started_in_ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
    let (tools, tokens) = match server.state.as_str() {
        "disabled" | "untrusted" => (String::new(), String::new()),
        _ => (server.tool_count.to_string(), server.tokens.unwrap_or_default().to_string()),
    };
    [server.name.clone(), server.state.clone(), tools, tokens, started, reason]
}

/// The servers' statuses as they came.
fn servers_of(raw: &RawValue) -> Result<String, Failure> {
    let status: serde_json::Value = read(raw)?;
    let sources = status["sources"].as_array().into_iter().flatten();
    let servers: serde_json::Value = sources.filter(|source| source["origin"] == "server").cloned().collect();
    Ok(servers.to_string())
}
