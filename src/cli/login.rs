//! `toolscout login` and `logout`: the token of a connector gateway, kept for its owner alone.
//!
//! The token comes from a hidden prompt or from standard input, never from an argument: those show in the list of
//! processes and in the shell's history.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use serde_json::json;

use super::configured::Configured;
use super::failure::Failure;
use super::flags::{Common, Login};
use super::gateway::{self, Standing};
use super::page::{Page, Style};
use super::report::Report;
use super::terminal::Terminal;
use crate::connectors::origin::Origin;
use crate::connectors::sign_in::Kept;
use crate::connectors::token::Token;
use crate::connectors::{SignIn, credentials};
use crate::server::session::Options;

/// Bytes of the longest token that is read.
const LONGEST: u64 = 64 << 10;

/// Stores a token, and asks the gateway whether it takes it; one that is refused stays stored.
///
/// # Errors
/// No gateway, no token, or a file that cannot be written.
pub fn login(common: &Common, args: &Login, terminal: Terminal) -> Result<Report, Failure> {
    let options = common.options();
    let configured = configured(&options);
    let folder = options.places.user.as_ref();
    let folder =
        folder.ok_or_else(|| Failure::Other("there is no home for the token: set XDG_CONFIG_HOME".to_owned()))?;
    let none = "no gateway is configured: name it with --gateway URL";
    let origin = match args.gateway.as_ref().or(configured.as_ref()) {
        Some(url) => origin(url)?,
        // To sign in anew, where the last token ran out.
        None => match credentials::stored(folder).unwrap_or_default().as_slice() {
            [(only, _)] => only.clone(),
            _ => return Err(Failure::Other(none.to_owned())),
        },
    };
    let token = read_token(&origin).map_err(|error| Failure::system("the token cannot be read", &error))?;
    let unfit = || Failure::Other("that is no token: it is blank, or has characters that no header takes".to_owned());
    let token = Token::new(&token).ok_or_else(unfit)?;
    let path = credentials::path_in(folder);
    let stored = credentials::store(folder, &origin, &token);
    stored.map_err(|error| Failure::system(&format!("{} cannot be written", path.display()), &error))?;
    let others: Vec<String> = match &configured {
        Some(url) if Origin::read(url).is_ok_and(|configured| configured == origin) => Vec::new(),
        Some(url) => vec![format!("the configuration names another gateway, {url}")],
        // What is stored is enough where it is for one gateway alone.
        None => credentials::stored(folder)
            .unwrap_or_default()
            .into_iter()
            .filter(|(other, _)| *other != origin)
            .map(|(other, _)| format!("there is a sign-in to {other} too"))
            .collect(),
    };
    let standing = gateway::ask(SignIn { origin: origin.clone(), token, kept: Kept::Stored })?;
    let report = if args.output.json {
        let (used, state) = (others.is_empty(), standing.word());
        Report::json(&json!({ "gateway": origin.to_string(), "file": path, "used": used, "state": state }).to_string())
    } else {
        let mut page = Page::new(terminal);
        let path = path.display();
        let line = match standing {
            Standing::SignedIn | Standing::NoApps => format!("Signed in to {origin}; the token is in {path}."),
            _ => format!("Stored the token for {origin} in {path}."),
        };
        page.line(&[(Style::Plain, &line)]);
        Report::page(page)
    };
    let report = match standing {
        Standing::SignedIn => report,
        _ => report.with_note(format!("{origin}: {}", standing.told())),
    };
    let report = report.failed_if(standing == Standing::Refused);
    Ok(if others.is_empty() {
        report
    } else {
        let why = others.join(", ");
        report.with_note(format!("{why}: to use this one, set tools.connectors.gateway_url: {origin}"))
    })
}

/// Takes tokens away: that of a gateway, or all. That there is none is no failure.
///
/// # Errors
/// A file that cannot be read or written.
pub fn logout(common: &Common, args: &Login, terminal: Terminal) -> Result<Report, Failure> {
    let origin = args.gateway.as_deref().map(origin).transpose()?;
    let folder = common.options().places.user;
    let removed = folder.map_or(Ok(Vec::new()), |folder| credentials::remove(&folder, origin.as_ref()));
    let removed = removed.map_err(|error| Failure::system("the stored tokens cannot be changed", &error))?;
    if args.output.json {
        return Ok(Report::json(&json!({ "gateways": removed }).to_string()));
    }
    let mut page = Page::new(terminal);
    let line = if removed.is_empty() {
        "Nobody was signed in.".to_owned()
    } else {
        format!("Signed out of {}.", removed.join(", "))
    };
    page.line(&[(Style::Plain, &line)]);
    Ok(Report::page(page))
}

fn origin(url: &str) -> Result<Origin, Failure> {
    Origin::read(url).map_err(|why| Failure::Other(format!("the gateway's URL is not taken: {why}")))
}

/// The gateway that the user's own configuration names, or a file on the command line; a workspace's would be sent the
/// token by whoever wrote it.
fn configured(options: &Options) -> Option<String> {
    Configured::read_untrusting(options).config.settings.connectors.gateway_url
}

fn read_token(origin: &Origin) -> io::Result<String> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        let mut text = String::new();
        stdin.lock().take(LONGEST).read_to_string(&mut text)?;
        return Ok(text);
    }
    let mut stderr = io::stderr();
    write!(stderr, "Token for {origin} (not shown): ")?;
    stderr.flush()?;
    let _hidden = Hidden::new()?;
    let mut text = String::new();
    stdin.lock().take(LONGEST).read_line(&mut text)?;
    writeln!(stderr)?;
    Ok(text)
}

/// A terminal that does not show what is typed, until this is dropped.
#[cfg(unix)]
struct Hidden(rustix::termios::Termios);

#[cfg(unix)]
impl Hidden {
    fn new() -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = io::stdin();
        let shown = tcgetattr(&stdin)?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&stdin, OptionalActions::Flush, &hidden)?;
        Ok(Self(shown))
    }
}

#[cfg(unix)]
impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = rustix::termios::tcsetattr(io::stdin(), rustix::termios::OptionalActions::Flush, &self.0);
    }
}

/// Elsewhere nothing is prompted for: what is typed would be shown.
#[cfg(not(unix))]
struct Hidden;

#[cfg(not(unix))]
impl Hidden {
    fn new() -> io::Result<Self> {
        Err(io::Error::other("pass the token on standard input: `toolscout login < FILE`"))
    }
}
