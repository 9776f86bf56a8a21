//! `toolscout demo`: one conversation of a host, its model and the sidecar, on the sample catalog.
//!
//! The sidecar is a child process that is spoken to over its pipes; every answer shown is its own. Host and model are
//! played here: the model's calls are written down below, and the host only says what it would run. Nothing of the
//! user's own configuration is read.

mod folder;

use serde_json::{Value, json};

use super::answers::{Assembled, Bridged, Described, Found, Initialized, Listed, read};
use super::assemble::summary;
use super::client::{Client, Sender};
use super::failure::Failure;
use super::flags::{Common, Output, registry_folders};
use super::page::{Page, Style, count};
use super::printable;
use super::report::Report;
use super::sample;
use super::search::matches;
use super::sidecar::{ChildSidecar, initialize};
use super::table::Column;
use super::terminal::Terminal;
use folder::Folder;

/// Lines are broken here where the output is no terminal.
const USUAL_WIDTH: usize = 100;
/// Context length of the model that is played.
const CONTEXT: u64 = 200_000;
/// The tool that the model ends up calling.
const TOOL: &str = "mcp__fernboard__create_issue";
/// The source that leaves the registry.
const LEAVES: &str = "chatterloft";
/// Lines of the listing that are shown.
const LISTED: usize = 4;

const LISTING: [Column; 1] = [Column { style: Style::Dim, ..Column::text("") }];
const FOUND: [Column; 3] = [Column::name(""), Column::text(""), Column::text("")];

/// Plays it.
///
/// # Errors
/// Where the system gives no folder or process; an answer other than the sample's.
pub fn run(common: &Common, args: &Output, terminal: Terminal) -> Result<Report, Failure> {
    let made =
        |error| Failure::system("the demo needs a temporary folder; set TMPDIR to one that can be written", &error);
    let folder = Folder::new().map_err(made)?;
    folder.write(sample::REGISTRY).map_err(made)?;
    let flags =
        ["--registry".as_ref(), folder.registry().as_os_str(), "--workspace".as_ref(), folder.path().as_os_str()];
    let mut sidecar = ChildSidecar::spawn(folder.path(), &flags)?;
    let mut play = Play {
        page: Page::new(Terminal { width: terminal.width.or(Some(USUAL_WIDTH)), ..terminal }),
        host: &mut sidecar.client,
        folder: &folder,
    };
    play.all()?;
    let mut page = play.page;
    sidecar.end()?;
    if args.json {
        return Ok(Report::text(frames(&sidecar.client)));
    }
    next_steps(&mut page, common);
    Ok(Report::page(page))
}

/// The frames as JSON lines, each under what the host did with it.
fn frames(client: &Client) -> String {
    let line = |(sender, frame): &(Sender, String)| {
        let done = match sender {
            Sender::Host => "send",
            Sender::Sidecar => "receive",
        };
        // A schema in a frame may have the line breaks of its file.
        format!("{{\"{done}\": {}}}\n", printable::json_line(frame))
    };
    client.frames.iter().map(line).collect()
}

fn next_steps(page: &mut Page, common: &Common) {
    page.gap();
    let folder = registry_folders(&common.options()).into_iter().next();
    let folder = folder.map_or_else(|| "a registry folder".to_owned(), |folder| folder.display().to_string());
    let next = format!(
        "Your own tools: put each server's answer to `tools/list` as NAME.json into {folder}, then try \
         `toolscout assemble` and `toolscout search`. The frames of this demo: `toolscout demo --json`."
    );
    page.paragraph("", Style::Plain, &next);
}

struct Play<'a> {
    page: Page,
    host: &'a mut Client,
    folder: &'a Folder,
}

impl Play<'_> {
    fn all(&mut self) -> Result<(), Failure> {
        let about = "A host starts `toolscout serve` with a sample registry and talks to it over its pipes. \
                     Every answer below is the sidecar's own.";
        self.page.paragraph("", Style::Plain, about);
        self.initialize()?;
        let etag = self.assemble()?;
        self.search()?;
        self.describe()?;
        self.wrong_call()?;
        self.right_call()?;
        self.edit(&etag)
    }

    fn step(&mut self, method: &str, text: &str) {
        self.page.gap();
        self.page.line(&[(Style::Bold, method), (Style::Dim, "  "), (Style::Dim, text)]);
    }

    fn say(&mut self, first: &str, text: &str) {
        self.page.paragraph(first, Style::Plain, text);
    }

    /// What the model did with a bridge tool.
    fn bridge(&mut self, name: &str, arguments: Value) -> Result<Bridged, Failure> {
        read(&self.host.request("bridge/call", json!({ "name": name, "arguments": arguments }))?)
    }

    fn initialize(&mut self) -> Result<(), Failure> {
        self.step("1 initialize", "the host says hello");
        let opened: Initialized = read(&self.host.request("initialize", initialize("toolscout-demo"))?)?;
        let listed: Listed = read(&self.host.request("registry/list", json!({}))?)?;
        let Initialized { server_info, protocol_version, .. } = &opened;
        let tools = count(listed.tools(), "tool");
        let sources = count(listed.sources.len() as u64, "source");
        let text = format!(
            "{} {}, protocol {protocol_version}: {tools} of {sources} are registered, with {}.",
            server_info.name,
            server_info.version,
            count(opened.errors(), "error")
        );
        self.say("  ", &text);
        Ok(())
    }

    fn assemble(&mut self) -> Result<String, Failure> {
        self.step("2 assemble", "what the model sees on its turn, and what that costs");
        let assembled: Assembled = read(&self.host.request("assemble", json!({ "contextLength": CONTEXT }))?)?;
        summary(&mut self.page, "  ", &assembled);
        let lines = assembled.bridge_lines();
        if let Some(first) = lines.iter().position(|line| line.ends_with(" tools):")) {
            self.say("  ", "The description of tool_search ends with the listing:");
            let listing = &lines[first..];
            let more = listing.len().saturating_sub(LISTED) as u64;
            let shown = listing.iter().take(LISTED).map(|line| [(*line).to_owned()]);
            let rows: Vec<[String; 1]> = shown.chain([[format!("… {}", count(more, "more line"))]]).collect();
            self.page.table(4, &LISTING, &rows);
        }
        Ok(assembled.etag)
    }

    fn search(&mut self) -> Result<(), Failure> {
        self.step("3 tool_search", "the model looks for what it needs, two queries in one call");
        let arguments = json!({ "queries": ["create an issue", "post chat message"], "limit": 2 });
        let found: Found = self.bridge("tool_search", arguments)?.content()?;
        for group in &found.results {
            self.page.line(&[(Style::Plain, "  “"), (Style::Plain, &group.query), (Style::Plain, "”")]);
            self.page.table(4, &FOUND, &matches(&found, &group.matches));
        }
        Ok(())
    }

    fn describe(&mut self) -> Result<(), Failure> {
        self.step("4 tool_describe", "only now does a schema enter the context");
        let described: Described = self.bridge("tool_describe", json!({ "names": [TOOL] }))?.content()?;
        for (name, tool) in &described.tools {
            let names = |pointer: &str| match tool.pointer(pointer) {
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
                Some(Value::Object(members)) => members.keys().map(String::as_str).collect::<Vec<_>>().join(", "),
                _ => String::new(),
            };
            self.page.line(&[(Style::Plain, "  "), (Style::Bold, name)]);
            self.say("    parameters  ", &names("/parameters/properties"));
            self.say("    required    ", &names("/parameters/required"));
        }
        Ok(())
    }

    fn wrong_call(&mut self) -> Result<(), Failure> {
        self.step("5 tool_call", "with a mistake: nothing runs, and the answer says what to repair");
        let arguments = json!({
            "project_key": "CORE",
            "title": "Nightly build fails in the packaging step",
            "issue_type": "bug",
            "priority": "P1",
            "labels": "ci",
        });
        let bridged = self.call(arguments)?;
        let mistake = bridged.mistake()?.ok_or_else(|| unexpected("a wrong call was taken"))?;
        self.say("  answer     ", &mistake);
        Ok(())
    }

    fn right_call(&mut self) -> Result<(), Failure> {
        self.step("6 tool_call", "once more; a bare label is repaired on the way");
        let arguments = json!({
            "project_key": "CORE",
            "title": "Nightly build fails in the packaging step",
            "issue_type": "bug",
            "priority": "high",
            "labels": "ci",
            "description": "No package since Tuesday.",
        });
        let bridged = self.call(arguments)?;
        let dispatch = bridged.dispatch.ok_or_else(|| unexpected("a right call was refused"))?;
        for repair in &dispatch.coerced {
            self.say("  repaired   ", repair);
        }
        let (tool, source) = (&dispatch.tool, &dispatch.source);
        self.say("  host runs  ", &format!("{tool} of {source}, with {}", spaced(&dispatch.arguments)));
        Ok(())
    }

    fn call(&mut self, arguments: Value) -> Result<Bridged, Failure> {
        self.say("  arguments  ", &spaced(&arguments));
        self.bridge("tool_call", json!({ "calls": [{ "name": TOOL, "arguments": arguments }] }))
    }

    fn edit(&mut self, etag: &str) -> Result<(), Failure> {
        self.step("7 assemble", &format!("after {LEAVES} left the registry file: the next request sees it"));
        let unchanged = self.assemble_if(etag)?;
        let mut registry: Value = serde_json::from_str(sample::REGISTRY).unwrap_or_default();
        if let Some(sources) = registry["sources"].as_array_mut() {
            sources.retain(|source| source["name"] != LEAVES);
        }
        self.folder
            .write(&registry.to_string())
            .map_err(|error| Failure::system("the demo cannot change its registry file", &error))?;
        let changed = self.assemble_if(etag)?;
        if !unchanged.unchanged || changed.unchanged {
            return Err(unexpected("the etag does not follow the registry"));
        }
        summary(&mut self.page, "  ", &changed);
        let etags = format!("{etag} before (asked again: unchanged, no array sent), {} now", changed.etag);
        self.page.paragraph("  etag    ", Style::Plain, &etags);
        for notification in &self.host.notifications {
            let params = notification.params.as_ref().map_or("", |params| params.get());
            let text = format!("{} {}", notification.method, counted(params));
            self.page.paragraph("  told    ", Style::Plain, &text);
        }
        Ok(())
    }

    fn assemble_if(&mut self, etag: &str) -> Result<Assembled, Failure> {
        read(&self.host.request("assemble", json!({ "contextLength": CONTEXT, "ifEtag": etag }))?)
    }
}

/// JSON on one line, with the number of items in place of each list of them.
fn counted(json: &str) -> String {
    let mut value: Value = serde_json::from_str(json).unwrap_or_default();
    for member in value.as_object_mut().into_iter().flat_map(|members| members.values_mut()) {
        if let Value::Array(items) = member {
            *member = items.len().into();
        }
    }
    spaced(&value)
}

/// JSON on one line that can be wrapped.
fn spaced(value: &Value) -> String {
    printable::json_line(&value.to_string())
}

fn unexpected(what: &str) -> Failure {
    Failure::Other(format!("the demo went another way: {what}; please report it"))
}
