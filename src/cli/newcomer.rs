//! What somebody is told who has no tools yet, or MCP servers of which none are known.

use serde_json::json;

use super::answers::{Listed, read};
use super::failure::Failure;
use super::flags::registry_folders;
use super::page::{Page, Style};
use super::sidecar::Sidecar;

/// Puts the way to the first tools on the page if there are none at all, and says so.
///
/// # Errors
/// As of a request.
pub fn welcome(sidecar: &mut Sidecar, page: &mut Page) -> Result<bool, Failure> {
    let listed: Listed = read(&sidecar.request("registry/list", json!({}))?)?;
    // A server that is down has none for now.
    if listed.tools() > 0 || listed.sources.iter().any(|source| source.state != "ready") {
        return Ok(false);
    }
    let starting = listed.sources.into_iter().filter(|source| source.origin == "server" && source.state != "ready");
    let starting: Vec<String> = starting.map(|source| source.name).collect();
    if !starting.is_empty() {
        unlisted(page, &starting);
        return Ok(true);
    }
    page.heading("No tools are registered yet.");
    let how = "Put a file for each MCP server, with its answer to `tools/list`, into one of these folders. \
               The file's name names the server: github.json.";
    page.paragraph("", Style::Plain, how);
    for folder in registry_folders(&sidecar.options) {
        page.line(&[(Style::Plain, "  "), (Style::Bold, &folder.display().to_string())]);
    }
    page.line(&[
        (Style::Plain, "Or name a file or folder with "),
        (Style::Bold, "--registry PATH"),
        (Style::Plain, "."),
    ]);
    page.paragraph(
        "",
        Style::Plain,
        "Or have MCP servers started: name them under `mcpServers` in config.yaml, or with --mcp-config FILE.",
    );
    page.line(&[
        (Style::Plain, "To see it at work on a sample first: "),
        (Style::Bold, "toolscout demo"),
        (Style::Plain, "."),
    ]);
    Ok(true)
}

/// Names MCP servers whose tools are not known, and what to run.
pub fn unlisted(page: &mut Page, servers: &[String]) {
    page.paragraph("Tools not known yet of: ", Style::Yellow, &servers.join(", "));
    let how = "`toolscout mcp-list` starts these MCP servers, and shows what each has and what it costs.";
    page.paragraph("", Style::Plain, how);
}
