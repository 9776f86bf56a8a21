//! `toolscout check`: what is wrong with configuration and registries, what could be better, and what it all costs.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;

use super::answers::{Diagnostic, FileDiagnostics, Initialized, Status, read};
use super::configured::Configured;
use super::failure::Failure;
use super::flags::{Check, Common, FailOn};
use super::newcomer;
use super::page::{Page, Style, count, grouped};
use super::report::Report;
use super::sidecar::Sidecar;
use super::table::Column;
use super::terminal::Terminal;
use crate::call::{Checker, excerpt};
use crate::catalog::Catalog;
use crate::catalog::lint::{self, Finding};
use crate::catalog::policy::Policy;
use crate::catalog::scope::Scope;
use crate::catalog::source::Origin;
use crate::server::session::Options;
use crate::servers::offers::offers;
use crate::servers::spec::Outcome;
use crate::servers::{Cache, is_this_program, last_known};
use crate::workspace::found_by;

const SOURCES: [Column; 3] = [Column::name("SOURCE"), Column::number("TOOLS"), Column::number("TOKENS")];
const LARGEST: [Column; 2] = [Column::name("MOST EXPENSIVE TOOLS"), Column::number("TOKENS")];

/// Sources of which the cost is shown; the others are counted together.
const SHOWN: usize = 20;

/// What could be better about the tools of registry files and MCP servers, and what they cost.
#[derive(Serialize)]
struct Lint {
    advice: Vec<Advice>,
    sources: Vec<Cost>,
    largest: Vec<Cost>,
    /// MCP servers that would be started, and whose tools no earlier start left on disk.
    unlisted: Vec<String>,
}

/// About one tool.
#[derive(Serialize)]
struct Advice {
    /// The file it stands in, or its server does.
    file: String,
    /// The name that a model sees.
    name: String,
    code: &'static str,
    message: String,
}

#[derive(Serialize)]
struct Cost {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<u64>,
    tokens: u64,
}

/// What `initialize` found, and beside it what else there is to say.
#[derive(Serialize)]
struct Checked<'a> {
    diagnostics: &'a [FileDiagnostics],
    untrusted: &'a [String],
    #[serde(flatten)]
    lint: &'a Lint,
}

/// Runs the command. It fails if there are errors, or as `--fail-on` has it.
///
/// # Errors
/// As of a request; a workspace that is not there.
pub fn run(common: &Common, args: &Check, terminal: Terminal) -> Result<Report, Failure> {
    if let Some(missing) = common.workspace.as_ref().filter(|path| !path.is_dir()) {
        return Err(Failure::Other(format!("there is no folder {}", missing.display())));
    }
    let mut sidecar = Sidecar::open_without_servers(common)?;
    let mut opened: Initialized = read(&sidecar.opened)?;
    // A sidecar reads them only when it is asked what can be installed.
    let places = &sidecar.options.places;
    let workspace = places.workspace.as_deref().or(sidecar.options.working_directory.as_deref());
    opened.diagnostics.extend(FileDiagnostics::of(&offers(places.user.as_deref(), workspace).findings));
    let errors = opened.errors();
    let all: usize = opened.diagnostics.iter().map(|file| file.diagnostics.len()).sum();
    let warnings = all as u64 - errors;
    let lint = lint(&sidecar.options);
    let failed = match args.fail_on {
        FailOn::Error => errors > 0,
        FailOn::Warning => all > 0,
        FailOn::Advice => all > 0 || !lint.advice.is_empty(),
        FailOn::Never => false,
    };
    let status: Status = read(&sidecar.request("status", json!({}))?)?;
    if args.output.json {
        let checked = Checked { diagnostics: &opened.diagnostics, untrusted: &status.untrusted, lint: &lint };
        let json = serde_json::to_string(&checked).map_err(|error| Failure::Other(error.to_string()))?;
        return Ok(Report::json(&json).failed_if(failed));
    }
    let mut page = Page::new(terminal);
    opened.diagnostics.iter().for_each(|file| show(&mut page, file));
    for Advice { file, name, code, message } in &lint.advice {
        page.line(&[
            (Style::Plain, &format!("{file}: ")),
            (Style::Dim, "advice"),
            (Style::Plain, &format!(": `{name}` {message} ")),
            (Style::Dim, &format!("[{code}]")),
        ]);
    }
    if !status.untrusted.is_empty() {
        let keys = status.untrusted.join(", ");
        page.paragraph("Not in effect until the workspace is trusted (--trust-workspace): ", Style::Yellow, &keys);
    }
    if all == 0 && lint.sources.is_empty() && lint.unlisted.is_empty() && newcomer::welcome(&mut sidecar, &mut page)? {
        return Ok(Report::page(page));
    }
    costs(&mut page, &lint);
    if !lint.unlisted.is_empty() {
        newcomer::unlisted(&mut page, &lint.unlisted);
        page.gap();
    }
    if all + lint.advice.len() > 0 {
        let errors = count(errors, "error");
        let advice = format!("{}, {} of advice", count(warnings, "warning"), count(lint.advice.len() as u64, "piece"));
        page.line(&[(Style::Bold, &format!("{errors}, {advice}"))]);
    } else {
        let tools = lint.sources.iter().filter_map(|source| source.tools).sum();
        let files = status.watching.paths.iter().filter(|path| Path::new(path).is_file()).count();
        let [files, sources, tools] = [(files as u64, "file"), (lint.sources.len() as u64, "source"), (tools, "tool")]
            .map(|(number, one)| count(number, one));
        page.line(&[(Style::Green, "All is well"), (Style::Plain, &format!(": {files}, {sources}, {tools}"))]);
    }
    Ok(Report::page(page).failed_if(failed))
}

/// What is wrong with a file.
pub fn show(page: &mut Page, FileDiagnostics { file, diagnostics }: &FileDiagnostics) {
    diagnostics.iter().for_each(|diagnostic| show_one(page, file, diagnostic));
}

/// `file:line:column: error: message [code]`, as compilers write it, so that editors can follow it.
fn show_one(page: &mut Page, file: &str, diagnostic: &Diagnostic) {
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

fn costs(page: &mut Page, lint: &Lint) {
    if lint.sources.is_empty() {
        return;
    }
    page.gap();
    let row = |cost: &Cost| [cost.name.clone(), grouped(cost.tools.unwrap_or_default()), grouped(cost.tokens)];
    let mut rows: Vec<[String; 3]> = lint.sources.iter().take(SHOWN).map(row).collect();
    if let Some(rest) = lint.sources.get(SHOWN..).filter(|rest| !rest.is_empty()) {
        let sum = |of: fn(&Cost) -> u64| grouped(rest.iter().map(of).sum());
        let name = format!("{} more", grouped(rest.len() as u64));
        rows.push([name, sum(|cost| cost.tools.unwrap_or_default()), sum(|cost| cost.tokens)]);
    }
    page.table(0, &SOURCES, &rows);
    page.gap();
    let largest: Vec<[String; 2]> = lint.largest.iter().map(|cost| [cost.name.clone(), grouped(cost.tokens)]).collect();
    page.table(0, &LARGEST, &largest);
    page.gap();
}

/// Looks at the tools of registry files, and at those that MCP servers last had, without a session around them.
fn lint(options: &Options) -> Lint {
    let configured = Configured::read(options);
    let Configured { config, snapshot, .. } = &configured;
    let mut sources = snapshot.sources.clone();
    let mut unlisted = Vec::new();
    let cache = Cache(options.cache.clone());
    for name in config.settings.mcp_servers.keys() {
        let Some(Outcome::Run(spec)) = configured.server(options, name) else { continue };
        if is_this_program(&spec.reach, options.launcher.as_ref()) {
            continue;
        }
        match last_known(&spec, &cache) {
            Some(source) => sources.push(source),
            None => unlisted.push(name.clone()),
        }
    }
    found_by::give(&mut sources, &config.settings.sources, &[]);
    let policy = Policy::new(config.settings.tool_search.clone(), &config.settings.core);
    let catalog = Catalog::new(sources, Arc::new(policy));
    let mut found = lint::findings(&catalog, &catalog.view(&Scope::all()));
    for id in (0..catalog.len() as u32).filter(|id| !catalog.is_refused(*id)) {
        let Some(checker) = catalog.tool(id).schema().map(Checker::compile) else { continue };
        found.extend(checker.unchecked().map(|reason| {
            let message =
                format!("is called with arguments that nobody checks, since its schema cannot be used: {reason}");
            Finding { id, code: "schema-unchecked", message }
        }));
        found.extend(checker.dropped_patterns().iter().map(|pattern| {
            let pattern = excerpt::clip(pattern, 80);
            let why = "which is no regular expression that can be matched in linear time: nothing is held against it";
            Finding { id, code: "pattern-unchecked", message: format!("has the `pattern` `{pattern}`, {why}") }
        }));
    }
    found.sort_by_key(|finding| finding.id);
    let costs = lint::costs(&catalog);
    let cost = |(name, tools, tokens)| Cost { name, tools: Some(tools), tokens };
    let name = |id| catalog.tool(id).name.to_string();
    Lint {
        advice: found.into_iter().map(|finding| advice(&configured, &catalog, finding)).collect(),
        sources: costs.sources.into_iter().map(cost).collect(),
        unlisted,
        largest: costs.largest.into_iter().map(|(id, tokens)| Cost { name: name(id), tools: None, tokens }).collect(),
    }
}

fn advice(configured: &Configured, catalog: &Catalog, Finding { id, code, message }: Finding) -> Advice {
    let source = &catalog.source_of(id).info;
    let file = match source.origin {
        Origin::Server => configured.config.settings.mcp_servers.get(&source.name).map(|server| &server.origin.file),
        _ => configured.snapshot.homes.get(&source.name),
    };
    Advice { file: file.cloned().unwrap_or_default(), name: catalog.tool(id).name.to_string(), code, message }
}
