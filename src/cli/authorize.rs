//! `toolscout servers authorize`: a person signs in to an MCP server by OAuth, or has what was granted forgotten.
//!
//! The link is printed for them to open; no browser is opened for them. Nothing is kept unless they come back in time.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::configured::Configured;
use super::failure::Failure;
use super::flags::{Authorize, Common};
use super::page::{Page, Style};
use super::printable;
use super::report::Report;
use super::terminal::Terminal;
use crate::server::session::Options;
use crate::servers::oauth::{Client, Ending, Entry, Flow, PATIENT, Store};
use crate::servers::spec::{Outcome, Reach, Spec};
use crate::servers::{Pool, State};

/// How long a server has to answer with what was granted, and the time between two looks at it.
const ANSWERING: Duration = Duration::from_secs(15);
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command.
///
/// # Errors
/// A server that is not configured or cannot be signed in to, and whatever keeps the person from it.
pub fn run(common: &Common, args: &Authorize, terminal: Terminal) -> Result<Report, Failure> {
    let Authorize { name, forget, force, output } = args;
    let name = name.as_str();
    let options = common.options();
    let spec = spec(&options, name)?;
    let (entry, client) = entry(&options, &spec)?;
    let url = entry.resource().to_string();
    let done = |text: String, key: &str, value: bool| {
        if output.json {
            return Report::json(&json!({ "name": name, "url": url, key: value }).to_string());
        }
        let mut page = Page::new(terminal);
        page.line(&[(Style::Plain, &text)]);
        Report::page(page)
    };
    if *forget {
        let gone = entry.forget().map_err(|error| Failure::system("what was granted cannot be forgotten", &error))?;
        return Ok(match gone {
            true => done(format!("Forgot what was granted for `{name}` ({url})."), "forgotten", true),
            false => done(format!("Nothing was granted for `{name}` ({url})."), "forgotten", false),
        });
    }
    if !force && entry.is_granted().unwrap_or(false) && answers(&options, spec) {
        let text = format!("`{name}` ({url}) is signed in to and answers already; --force signs in anew.");
        return Ok(done(text, "authorized", true));
    }
    match sign_in(name, &entry, &client)? {
        Ending::Authorized => Ok(done(format!("Signed in to `{name}` ({url})."), "authorized", true)),
        Ending::Denied(code) => {
            let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
            Err(Failure::Other(format!("access to `{name}` was denied{code}; nothing was stored")))
        }
        Ending::Failed(why) => Err(Failure::Other(format!("`{name}` was not signed in to: {why}"))),
        Ending::TimedOut => Err(Failure::Other(format!("nobody signed in to `{name}` within {} s", PATIENT.as_secs()))),
    }
}

/// Whether a server works with what was granted for it.
fn answers(options: &Options, spec: Spec) -> bool {
    let pool = Pool::new(options.launcher.clone(), None, options.places.user.as_deref());
    let Ok(server) = pool.attach(spec) else { return false };
    let deadline = Instant::now() + ANSWERING;
    while server.view().state == State::Starting && Instant::now() < deadline {
        thread::sleep(LOOK);
    }
    server.view().state == State::Ready
}

/// Prints the link on standard error, so that standard output is the result's alone, and waits.
fn sign_in(name: &str, entry: &Entry, client: &Client) -> Result<Ending, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let flow = Flow::begin(entry, client).await;
        let flow = flow.map_err(|why| Failure::Other(format!("`{name}` cannot be signed in to: {why}")))?;
        let mut stderr = io::stderr();
        let shown = printable::visible(name);
        let text = format!(
            "Open this link on this machine to sign in to `{shown}` (waiting {} s; Ctrl-C ends it):\n\n  {}\n",
            PATIENT.as_secs(),
            flow.link()
        );
        writeln!(stderr, "{text}").and_then(|()| stderr.flush())?;
        Ok(flow.wait(PATIENT).await)
    })
}

/// What was granted for a server, and how it is asked for.
fn entry(options: &Options, spec: &Spec) -> Result<(Entry, Client), Failure> {
    let name = &spec.name;
    let resource = match (&spec.reach, spec.resource()) {
        (_, Some(Ok(resource))) => resource,
        (_, Some(Err(why))) => return Err(Failure::Other(format!("`{name}` cannot be signed in to: {why}"))),
        (Reach::Http { .. }, None) => {
            let why = "its entry has an `Authorization` header, which wins, or `oauth: false`";
            return Err(Failure::Other(format!("`{name}` is not signed in to by OAuth: {why}")));
        }
        (Reach::Stdio { .. }, None) => {
            return Err(Failure::Other(format!(
                "`{name}` runs on this machine, and signs in by itself where it has to"
            )));
        }
    };
    let client = match &spec.reach {
        Reach::Http { oauth: Some(client), .. } => client.clone(),
        _ => Client::default(),
    };
    Ok((Store::new(options.places.user.as_deref()).entry(&resource, spec.secrets.learned.clone()), client))
}

/// The server of a name, as files and flags have it.
fn spec(options: &Options, name: &str) -> Result<Spec, Failure> {
    let configured = Configured::read(options);
    let Some(outcome) = configured.server(options, name) else {
        let waits = configured.config.untrusted.iter().any(|waiting| waiting.key == format!("mcpServers.{name}"));
        let why = match waits {
            true => "is the workspace's, which is not trusted yet: see --trust-workspace".to_owned(),
            false => format!("is not configured; `toolscout servers install {name}` installs it if it is known"),
        };
        return Err(Failure::Other(format!("the server `{name}` {why}")));
    };
    match outcome {
        Outcome::Run(spec) => Ok(*spec),
        Outcome::Disabled => Err(Failure::Other(format!("`{name}` is switched off in its configuration"))),
        Outcome::Faulty(why) => Err(Failure::Other(format!("`{name}` cannot be used: {why}"))),
    }
}

/// What was granted for a server that is about to be removed; nothing where another one has it too.
pub fn last_grant(options: &Options, name: &str) -> Option<Entry> {
    let grant = |name: &str| entry(options, &spec(options, name).ok()?).ok().map(|(entry, _)| entry);
    let own = grant(name)?;
    let config = Configured::read(options).config;
    let mut others = config.settings.mcp_servers.keys().filter(|other| *other != name).filter_map(|other| grant(other));
    others.all(|other| other.resource() != own.resource()).then_some(own)
}
