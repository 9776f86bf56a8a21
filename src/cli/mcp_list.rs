//! `toolscout mcp-list`: the MCP servers that configuration names, started once to see what becomes of them.

use serde_json::value::RawValue;

use super::answers::{SourceStatus, Status, read};
use super::failure::Failure;
use super::flags::{Common, Output};
use super::page::{Page, Style, count};
use super::report::Report;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;

const SERVERS: [Column; 6] = [
    Column::name("SERVER"),
    Column::word("STATE"),
    Column::number("TOOLS"),
    Column::number("TOKENS"),
    Column::number("START"),
    Column::text("LAST ERROR"),
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
        page.table(0, &SERVERS, &servers.iter().map(|server| row(server)).collect::<Vec<_>>());
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

fn row(server: &SourceStatus) -> [String; 6] {
    let started = server.started_in_ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
    let (tools, tokens) = match server.state.as_str() {
        "disabled" | "untrusted" => (String::new(), String::new()),
        _ => (server.tool_count.to_string(), server.tokens.unwrap_or_default().to_string()),
    };
    [server.name.clone(), server.state.clone(), tools, tokens, started, server.last_error.clone().unwrap_or_default()]
}

/// The servers' statuses as they came.
fn servers_of(raw: &RawValue) -> Result<String, Failure> {
    let status: serde_json::Value = read(raw)?;
    let sources = status["sources"].as_array().into_iter().flatten();
    let servers: serde_json::Value = sources.filter(|source| source["origin"] == "server").cloned().collect();
    Ok(servers.to_string())
}
