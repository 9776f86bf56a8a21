//! MCP servers that can be installed: published ones that are known here, and those of the user's and the workspace's
//! catalog folders. Installing one writes its entry as a file of its own beside the user's configuration.
//!
//! A file that a person wrote is never touched: what is changed or removed begins with the line that only we write.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The published servers.
const KNOWN: &str = include_str!("offers.yaml");
/// The first line of every file that is written here.
const MARK: &str = "# Written by toolscout; `toolscout servers` changes and removes it.";
/// The line of one that is switched off.
const DISABLED: &str = "disabled: true";
/// Bytes of the largest catalog file, and how many are read of a folder.
const LARGEST: u64 = 256 << 10;
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
    pub fn entry(&self) -> Map<String, Value> {
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

/// All that can be installed, by name. The user's win over those known here; a workspace's take nobody's name, since who
/// installs `github` must not get what a stranger's folder calls so. A file that cannot be read is passed over.
pub fn offers(user: Option<&Path>, workspace: Option<&Path>) -> BTreeMap<String, Offer> {
    let mut offers = parse("", KNOWN);
    let folders = [user.map(|folder| folder.join("catalog")), workspace.map(|root| root.join(".toolscout/catalog"))];
    for (of_user, folder) in [true, false].into_iter().zip(folders) {
        let Some(folder) = folder else { continue };
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml"));
        files.sort();
        for path in files.into_iter().take(MAX_FILES) {
            let small = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
            if let Some(text) = small.then(|| fs::read_to_string(&path).ok()).flatten() {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                for (name, offer) in parse(&stem, &text) {
                    if of_user || !offers.contains_key(&name) {
                        offers.insert(name, offer);
                    }
                }
            }
        }
    }
    offers
}

/// `{name: offer}`, or one offer named by its file.
fn parse(stem: &str, text: &str) -> BTreeMap<String, Offer> {
    let one = serde_saphyr::from_str::<Offer>(text).ok().filter(Offer::is_sound);
    let several = || serde_saphyr::from_str::<BTreeMap<String, Offer>>(text).unwrap_or_default();
    let all = one.map_or_else(several, |one| BTreeMap::from([(stem.to_owned(), one)]));
    all.into_iter().filter(|(name, offer)| is_name(name) && offer.is_sound()).collect()
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
        let known = parse("", KNOWN);
        assert!(known.len() >= 12, "{}", known.len());
        assert_eq!(known.len(), KNOWN.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).count());
        for (name, offer) in &known {
            assert!(!offer.description.is_empty(), "{name}");
        }
        assert_eq!(known["github"].needs(), ["GITHUB_TOKEN"]);
        for (name, offer) in known.iter().filter(|(_, offer)| offer.oauth) {
            let is_sound = offer.url.is_some() && offer.headers.is_empty() && offer.needs().is_empty();
            assert!(is_sound, "{name}: a header would win over the sign-in");
        }
    }

    #[test]
    fn the_users_catalog_wins_and_bad_files_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (user, work) = (folder.path().join("user"), folder.path().join("work"));
        for (path, text) in [
            (user.join("catalog/mine.yaml"), "command: run\nenv: {A: '${A}', B: '${B:-x}'}"),
            (user.join("catalog/bad.yaml"), "["),
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
        let users = offers(Some(&user), None);
        assert_eq!((users["mine"].command.as_deref(), users["mine"].needs()), (Some("run"), vec!["A".to_owned()]));
        assert!(users.contains_key("a") && !users.contains_key("../b") && !users.contains_key("c"));
        let all = offers(Some(&user), Some(&work));
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
