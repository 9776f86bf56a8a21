//! `toolscout servers`: MCP servers that can be installed, and those that were. What `manage_connections` may do only
//! with a person's word, a person does here.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::answers::FileDiagnostics;
use super::authorize;
use super::check;
use super::configured::Configured;
use super::failure::Failure;
use super::flags::{Common, Output, Servers};
use super::page::{Page, Style};
use super::report::Report;
use super::table::Column;
use super::terminal::Terminal;
use crate::diagnostic::Diagnostic;
use crate::servers::oauth::{Resource, Store};
use crate::servers::offers::{self, Offer, Offers};
use crate::servers::secrets::Learned;

const OFFERS: [Column; 3] = [Column::name("SERVER"), Column::word("STATE"), Column::text("WHAT IT IS FOR")];

/// Runs the command.
///
/// # Errors
/// A server that is not known, or a file that is not ours or cannot be written.
pub fn run(common: &Common, command: &Servers, terminal: Terminal) -> Result<Report, Failure> {
    let options = common.options();
    let workspace = options.places.workspace.clone().or(options.working_directory.clone());
    let Offers { all: offers, findings } = offers::offers(options.places.user.as_deref(), workspace.as_deref());
    let user = options.places.user.clone();
    let user =
        user.ok_or_else(|| Failure::Other("there is no folder for configuration: set XDG_CONFIG_HOME".to_owned()))?;
    let grants = Store::new(Some(&user));
    let Configured { config, snapshot, .. } = Configured::read(&options);
    let states = |name: &str| match (offers::is_on(&user, name), offers.get(name)) {
        (Some(true), Some(offer)) if !is_granted(&grants, offer) => "needs_authorization",
        (Some(true), _) => "installed",
        (Some(false), _) => "disabled",
        (None, _) if config.settings.mcp_servers.contains_key(name) => "configured",
        (None, _) => "available",
    };
    let done = |name: &str, output: &Output, text: String, more: Value| {
        if output.json {
            let mut object = json!({ "name": name });
            object.as_object_mut().into_iter().for_each(|it| it.extend(more.as_object().cloned().unwrap_or_default()));
            return Report::json(&object.to_string());
        }
        let mut page = Page::new(terminal);
        page.line(&[(Style::Plain, &text)]);
        Report::page(page)
    };
    let failed = |name: &str, error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::Other(format!("`{name}` is not installed with `toolscout servers`")),
        std::io::ErrorKind::AlreadyExists => {
            Failure::Other(format!("`{name}` is installed already: {}", offers::file_of(&user, name).display()))
        }
        _ => Failure::system(&format!("`{name}`"), &error),
    };
    let named = |name: &str| match offers::is_name(name) {
        true => Ok(()),
        false => Err(Failure::Other("that is no name of a server: letters, digits, `_` and `-`".to_owned())),
    };
    match command {
        Servers::List(output) => list(&offers, &findings, &states, output, terminal),
        Servers::Install { name, output } => {
            let offer = offers.get(name).ok_or_else(|| {
                Failure::Other(format!("no server `{name}` is known; `toolscout servers list` shows those that are"))
            })?;
            // Its file would win over an entry that a person wrote elsewhere.
            if let (None, Some(server)) = (offers::is_on(&user, name), config.settings.mcp_servers.get(name)) {
                let place = format!("{}:{}", server.origin.file, server.origin.place.line);
                let why = format!("`{name}` is configured already in {place}: take it out there first");
                return Err(Failure::Other(why));
            }
            if snapshot.without_layer {
                let why = "a file of the configuration cannot be read, and may name it: `toolscout check` says which";
                return Err(Failure::Other(format!("`{name}` is not installed: {why}")));
            }
            let path = offers::install(&user, name, offer).map_err(|error| failed(name, error))?;
            let set = |name: &String| options.environment.get(name).is_some_and(|value| !value.is_empty());
            let missing: Vec<String> = offer.needs().into_iter().filter(|name| !set(name)).collect();
            let text = format!("Installed `{name}` ({}) in {}.", shown(offer), path.display());
            let more = json!({ "file": path, "entry": offer.entry(), "missing_variables": missing });
            let report = done(name, output, text, more);
            if offer.oauth {
                return Ok(report.with_note(format!("sign in to it: toolscout servers authorize {name}")));
            }
            Ok(if missing.is_empty() {
                report
            } else {
                report.with_note(format!("set {} where the host is started, or it cannot start", missing.join(", ")))
            })
        }
        Servers::Enable { name, output } | Servers::Disable { name, output } => {
            named(name)?;
            let on = matches!(command, Servers::Enable { .. });
            let changed = offers::switch(&user, name, on).map_err(|error| failed(name, error))?;
            let word = if on { "on" } else { "off" };
            let already = if changed { "" } else { " already" };
            Ok(done(
                name,
                output,
                format!("`{name}` is switched {word}{already}."),
                json!({ "enabled": on, "changed": changed }),
            ))
        }
        Servers::Remove { name, output } => {
            named(name)?;
            let grant = authorize::last_grant(&options, name);
            offers::remove(&user, name).map_err(|error| failed(name, error))?;
            let forgotten = grant.map_or(Ok(false), |grant| grant.forget());
            let forgotten =
                forgotten.map_err(|error| Failure::system("what was granted for it cannot be forgotten", &error))?;
            let more = if forgotten { " and forgot what was granted for it" } else { "" };
            let text = format!("Removed `{name}`{more}.");
            Ok(done(name, output, text, json!({ "removed": true, "forgotten": forgotten })))
        }
        Servers::Authorize(args) => authorize::run(common, args, terminal),
    }
}

/// Whether nobody has to sign in to it, or somebody has.
fn is_granted(grants: &Store, offer: &Offer) -> bool {
    let resource = offer.url.as_ref().filter(|_| offer.oauth).and_then(|url| Resource::read(url).ok());
    resource.is_none_or(|resource| grants.entry(&resource, Learned::default()).is_granted().unwrap_or(false))
}

fn shown(offer: &Offer) -> String {
    match &offer.url {
        Some(url) => url.clone(),
        None => offer.command.iter().chain(&offer.args).cloned().collect::<Vec<_>>().join(" "),
    }
}

fn list(
    offers: &BTreeMap<String, Offer>,
    findings: &[Diagnostic],
    states: &dyn Fn(&str) -> &'static str,
    output: &Output,
    terminal: Terminal,
) -> Result<Report, Failure> {
    let findings = FileDiagnostics::of(findings);
    if output.json {
        let servers = offers.iter().map(|(name, offer)| {
            let (description, entry) = (&offer.description, offer.entry());
            json!({ "name": name, "state": states(name), "description": description, "entry": entry, "needs": offer.needs() })
        });
        let listed = json!({ "servers": servers.collect::<Vec<_>>(), "diagnostics": findings });
        return Ok(Report::json(&listed.to_string()));
    }
    let mut page = Page::new(terminal);
    let rows: Vec<_> =
        offers.iter().map(|(name, offer)| [name.clone(), states(name).to_owned(), offer.description.clone()]).collect();
    page.table(0, &OFFERS, &rows);
    if !findings.is_empty() {
        page.gap();
    }
    findings.iter().for_each(|file| check::show(&mut page, file));
    Ok(Report::page(page))
}
