//! MCP servers that can be installed: published ones that are known here, and those of the user's and the workspace's
//! catalog folders. Installing one writes its entry as a file of its own beside the user's configuration.
//!
//! A file that a person wrote is never touched: what is changed or removed begins with the line that only we write.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, json};

use crate::diagnostic::{Diagnostic, Severity};
use crate::workspace::node::{Place, Value};
use crate::workspace::problem::quoted;
use crate::workspace::regular;
use crate::workspace::source_text::read_node;

/// The published servers.
const KNOWN: &str = include_str!("offers.yaml");
/// The first line of every file that is written here.
const MARK: &str = "# Written by toolscout; `toolscout servers` changes and removes it.";
/// The line of one that is switched off.
const DISABLED: &str = "disabled: true";
/// Bytes of the largest catalog file, and how many are read of a folder.
const LARGEST: u64 = 1 << 20;
const MAX_FILES: usize = 256;

/// A server that can be installed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Offer {
    /// What it is for.
    pub description: String,
    /// The program, of one that runs here.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it is given, which may name the user's own.
    pub env: BTreeMap<String, String>,
    /// Its endpoint, of one that is reached over HTTP.
    pub url: Option<String>,
    /// Headers of every request to it.
    pub headers: BTreeMap<String, String>,
    /// Whether a person signs in to it by OAuth.
    pub oauth: bool,
}

impl Offer {
    /// Its entry as configuration has it.
    pub fn entry(&self) -> Map<String, serde_json::Value> {
        let mut entry = Map::new();
        entry.extend(self.command.iter().map(|command| ("command".to_owned(), json!(command))));
        entry.extend((!self.args.is_empty()).then(|| ("args".to_owned(), json!(self.args))));
        entry.extend((!self.env.is_empty()).then(|| ("env".to_owned(), json!(self.env))));
        entry.extend(self.url.iter().map(|url| ("url".to_owned(), json!(url))));
        entry.extend((!self.headers.is_empty()).then(|| ("headers".to_owned(), json!(self.headers))));
        entry.extend(self.oauth.then(|| ("oauth".to_owned(), json!(true))));
        entry
    }

    /// Variables that have to be set for it, each once, sorted.
    pub fn needs(&self) -> Vec<String> {
        let texts = self.args.iter().chain(self.env.values()).chain(self.headers.values()).chain(&self.url);
        let mut needs: Vec<String> = texts.flat_map(|text| variables(text)).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    fn is_sound(&self) -> bool {
        self.command.is_some() != self.url.is_some()
    }
}

/// The variables without default that a text names.
fn variables(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
    parts.map(|(name, _)| name).filter(|name| !name.contains(":-") && *name != "workspaceFolder").map(str::to_owned)
}

/// Whether a text can be a server's name: it becomes that of a file.
pub fn is_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=64).contains(&text.len()) && text.chars().all(good)
}

/// What can be installed, and what is wrong with the folders.
#[derive(Debug, Default)]
pub struct Offers {
    /// The servers, by name.
    pub all: BTreeMap<String, Offer>,
    /// Files and entries that are passed over, in the order in which they were read.
    pub findings: Vec<Diagnostic>,
}

/// All that can be installed. The user's win over those known here; a workspace's take nobody's name, since who installs
/// `github` must not get what a stranger's folder calls so. A bad file or entry is told and costs the others nothing.
pub fn offers(user: Option<&Path>, workspace: Option<&Path>) -> Offers {
    let mut offers = Offers { all: known(), findings: Vec::new() };
    let folders = [user.map(|folder| folder.join("catalog")), workspace.map(|root| root.join(".toolscout/catalog"))];
    for (of_user, folder) in [true, false].into_iter().zip(folders) {
        let Some(folder) = folder else { continue };
        let mut files: Vec<PathBuf> =
            fs::read_dir(&folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
        files.sort();
        if files.len() > MAX_FILES {
            let message = format!("only the first {MAX_FILES} files are read: put several servers into one");
            offers.findings.push(refused(&folder, Place::UNKNOWN, message));
        }
        for path in files.into_iter().take(MAX_FILES) {
            let found = read(&path, &mut offers.findings).unwrap_or_else(|finding| {
                offers.findings.push(finding);
                BTreeMap::new()
            });
            for (name, offer) in found {
                if of_user || !offers.all.contains_key(&name) {
                    offers.all.insert(name, offer);
                }
            }
        }
    }
    offers
}

fn known() -> BTreeMap<String, Offer> {
    serde_saphyr::from_str(KNOWN).unwrap_or_default()
}

/// `{name: offer}`, or one offer named by its file. Bad entries are left out and told, in words of our own: what they hold
/// may be secret.
fn read(path: &Path, findings: &mut Vec<Diagnostic>) -> Result<BTreeMap<String, Offer>, Diagnostic> {
    let bytes = regular::read(path, LARGEST).map_err(|why| why.diagnostic(path))?.bytes;
    let node = read_node(&path.display().to_string(), &bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let is_one =
        ["command", "url"].iter().any(|key| node.get(key).is_some_and(|it| !matches!(it.value, Value::Map(_))));
    let all = match is_one {
        true => serde_saphyr::from_str(&text).map(|offer| {
            let stem = path.file_stem().unwrap_or_default();
            BTreeMap::from([(stem.to_string_lossy().into_owned(), offer)])
        }),
        false => serde_saphyr::from_str::<BTreeMap<String, Offer>>(&text),
    };
    let mut all = all.map_err(|error| {
        let at = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let place = error.location().map(|found| Place { line: at(found.line()), column: at(found.column()) });
        let message = format!(
            "this is no server, or list of servers by name, so that no one of the file can be installed: {FORM}"
        );
        refused(path, place.unwrap_or(node.place), message)
    })?;
    all.retain(|name, offer| {
        let wrong = match (is_name(name), offer.is_sound()) {
            (true, true) => return true,
            (false, _) => "a name is of letters, digits, `_` and `-`, at most 64 of them",
            (true, false) => FORM,
        };
        let entry = node.entries().iter().find(|entry| !is_one && *entry.key == **name);
        let place = entry.map_or(node.place, |entry| entry.key_place);
        findings.push(refused(path, place, format!("{} cannot be installed: {wrong}", quoted(name))));
        false
    });
    Ok(all)
}

/// What an entry has to be.
const FORM: &str = "it needs either `command`, with `args` and `env`, or `url`, with `headers` and `oauth`";

fn refused(path: &Path, place: Place, message: String) -> Diagnostic {
    let whole = Diagnostic::whole(path.display().to_string(), Severity::Error, "offer-refused", message);
    Diagnostic { line: place.line, column: place.column, ..whole }
}

/// Where a server's own file is in the user's folder.
pub fn file_of(user: &Path, name: &str) -> PathBuf {
    user.join("servers.d").join(format!("{name}.yaml"))
}

/// Writes a server's file.
///
/// # Errors
/// Where there is one already, or it cannot be written.
pub fn install(user: &Path, name: &str, offer: &Offer) -> io::Result<PathBuf> {
    let path = file_of(user, name);
    let mut text = format!("{MARK}\n");
    for (key, value) in offer.entry() {
        // JSON is YAML.
        text.push_str(&format!("{key}: {value}\n"));
    }
    create(&path, &text)?;
    Ok(path)
}

/// Switches a server on or off that was installed here. Whether that changed anything.
///
/// # Errors
/// Where its file is not one that was written here, or cannot be written.
pub fn switch(user: &Path, name: &str, on: bool) -> io::Result<bool> {
    let path = file_of(user, name);
    let text = own(&path)?;
    if says_on(&text) == on {
        return Ok(false);
    }
    let mut lines: Vec<&str> = text.lines().filter(|line| *line != DISABLED).collect();
    if !on {
        lines.push(DISABLED);
    }
    replace(&path, &format!("{}\n", lines.join("\n")))?;
    Ok(true)
}

/// Whether a server is switched on; `None` where it was not installed here.
pub fn is_on(user: &Path, name: &str) -> Option<bool> {
    own(&file_of(user, name)).ok().map(|text| says_on(&text))
}

fn says_on(text: &str) -> bool {
    !text.lines().any(|line| line == DISABLED)
}

/// Removes the file of a server that was installed here.
///
/// # Errors
/// As of [`switch`].
pub fn remove(user: &Path, name: &str) -> io::Result<()> {
    let path = file_of(user, name);
    own(&path)?;
    fs::remove_file(path)
}

/// The text of a file that was written here.
fn own(path: &Path) -> io::Result<String> {
    let text = fs::read_to_string(path)?;
    if text.lines().next() == Some(MARK) {
        return Ok(text);
    }
    let message = format!("{} was written by a person: edit it there", path.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

fn beside(path: &Path) -> PathBuf {
    // No extension of configuration, so that half a file is never read.
    path.with_extension(format!("{}~", std::process::id()))
}

/// Writes a new file whole, or not at all.
fn create(path: &Path, text: &str) -> io::Result<()> {
    let written = beside(path);
    write(&written, text)?;
    // Unlike a rename it fails where somebody has written one meanwhile.
    let linked = fs::hard_link(&written, path);
    let _ = fs::remove_file(&written);
    linked
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let written = beside(path);
    write(&written, text)?;
    fs::rename(written, path)
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_can_be_read() {
        let known = known();
        assert!(known.len() >= 12, "{}", known.len());
        assert_eq!(known.len(), KNOWN.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).count());
        for (name, offer) in &known {
            assert!(!offer.description.is_empty() && is_name(name) && offer.is_sound(), "{name}");
        }
        assert_eq!(known["github"].needs(), ["GITHUB_TOKEN"]);
        for (name, offer) in known.iter().filter(|(_, offer)| offer.oauth) {
            let is_sound = offer.url.is_some() && offer.headers.is_empty() && offer.needs().is_empty();
            assert!(is_sound, "{name}: a header would win over the sign-in");
        }
    }

    #[test]
    fn the_users_catalog_wins_and_what_is_bad_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let (user, work) = (folder.path().join("user"), folder.path().join("work"));
        for (path, text) in [
            (user.join("catalog/mine.yaml"), "command: run\nenv: {A: '${A}', B: '${B:-x}'}"),
            (user.join("catalog/bad.yaml"), "["),
            (user.join("catalog/list.yaml"), "command: run\nargs: {secret: pass-1}"),
            (
                user.join("catalog/more.yaml"),
                "a: {url: 'https://a.example'}\n'../b': {command: x}\nc: {description: neither}",
            ),
            (work.join(".toolscout/catalog/mine.yaml"), "command: other"),
            (work.join(".toolscout/catalog/theirs.yaml"), "command: other"),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let Offers { all: users, findings } = offers(Some(&user), None);
        let told: Vec<(&str, u32)> = findings.iter().map(|it| (it.file.rsplit('/').next().unwrap(), it.line)).collect();
        assert_eq!(told, [("bad.yaml", 1), ("list.yaml", 2), ("more.yaml", 2), ("more.yaml", 3)], "{findings:?}");
        assert!(findings[1..].iter().all(|it| it.code == "offer-refused" && !it.message.contains("pass-1")));
        assert_eq!((users["mine"].command.as_deref(), users["mine"].needs()), (Some("run"), vec!["A".to_owned()]));
        assert!(users.contains_key("a") && !users.contains_key("../b") && !users.contains_key("c"));
        let all = offers(Some(&user), Some(&work)).all;
        assert_eq!(all["mine"].command.as_deref(), Some("run"), "a workspace takes nobody's name");
        assert_eq!(all["theirs"].command.as_deref(), Some("other"));
    }

    #[test]
    fn conn_6_a_file_that_a_person_wrote_is_never_touched() {
        let user = tempfile::tempdir().unwrap();
        let offer =
            Offer { command: Some("npx".into()), args: vec!["-y".into(), "it: \"is\"".into()], ..Offer::default() };
        let path = install(user.path(), "x", &offer).unwrap();
        let read: Offer = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read, offer);
        assert!(install(user.path(), "x", &offer).is_err(), "there is one already");
        assert_eq!(is_on(user.path(), "x"), Some(true));
        assert!(switch(user.path(), "x", false).unwrap() && !switch(user.path(), "x", false).unwrap());
        assert_eq!(is_on(user.path(), "x"), Some(false));
        assert!(fs::read_to_string(&path).unwrap().contains(DISABLED));
        assert!(switch(user.path(), "x", true).unwrap());
        assert!(!fs::read_to_string(&path).unwrap().contains(DISABLED));
        fs::write(&path, "command: mine\n").unwrap();
        assert_eq!(is_on(user.path(), "x"), None, "it is a person's");
        assert!(switch(user.path(), "x", false).is_err() && remove(user.path(), "x").is_err());
        assert!(install(user.path(), "x", &offer).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "command: mine\n");
        fs::remove_file(&path).unwrap();
        install(user.path(), "x", &offer).unwrap();
        remove(user.path(), "x").unwrap();
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 0, "nothing is left behind");
    }
}
