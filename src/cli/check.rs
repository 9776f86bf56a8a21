//! `toolscout check`: what is wrong with configuration and registries, where, and what to do.

use std::path::Path;

use serde_json::json;

use super::answers::{Diagnostic, Initialized, Listed, Status, read};
use super::failure::Failure;
use super::flags::{Common, Output};
use super::newcomer;
use super::page::{Page, Style, count};
use super::report::Report;
use super::sidecar::Sidecar;
use super::terminal::Terminal;

/// Runs the command. It fails if there are errors; warnings are no failure.
///
/// # Errors
/// As of a request.
pub fn run(common: &Common, args: &Output, terminal: Terminal) -> Result<Report, Failure> {
    let mut sidecar = Sidecar::open_without_servers(common)?;
    let opened: Initialized = read(&sidecar.opened)?;
    let errors = opened.errors();
    if args.json {
        return Ok(Report::json(sidecar.opened.get()).failed_if(errors > 0));
    }
    let mut page = Page::new(terminal);
    for file in &opened.diagnostics {
        file.diagnostics.iter().for_each(|diagnostic| show(&mut page, &file.file, diagnostic));
    }
    let all: usize = opened.diagnostics.iter().map(|file| file.diagnostics.len()).sum();
    if all > 0 {
        let warnings = count(all as u64 - errors, "warning");
        page.line(&[(Style::Bold, &format!("{}, {warnings}", count(errors, "error")))]);
    } else if !newcomer::welcome(&mut sidecar, &mut page)? {
        let status: Status = read(&sidecar.request("status", json!({}))?)?;
        let listed: Listed = read(&sidecar.request("registry/list", json!({}))?)?;
        let files = status.watching.paths.iter().filter(|path| Path::new(path).is_file()).count();
        let [files, sources, tools] =
            [(files as u64, "file"), (listed.sources.len() as u64, "source"), (listed.tools(), "tool")]
                .map(|(number, one)| count(number, one));
        page.line(&[(Style::Green, "All is well"), (Style::Plain, &format!(": {files}, {sources}, {tools}"))]);
    }
    Ok(Report::page(page).failed_if(errors > 0))
}

/// `file:line:column: error: message [code]`, as compilers write it, so that editors can follow it.
fn show(page: &mut Page, file: &str, diagnostic: &Diagnostic) {
    let mut place = if file.is_empty() { "registries".to_owned() } else { file.to_owned() };
    if diagnostic.line > 0 {
        place.push_str(&format!(":{}:{}", diagnostic.line, diagnostic.column));
    }
    let style = if diagnostic.is_error() { Style::Red } else { Style::Yellow };
    page.line(&[
        (Style::Plain, &format!("{place}: ")),
        (style, &diagnostic.severity),
        (Style::Plain, &format!(": {} ", diagnostic.message)),
        (Style::Dim, &format!("[{}]", diagnostic.code)),
    ]);
}
