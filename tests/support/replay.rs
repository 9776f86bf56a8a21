//! Replays one transcript in a temporary folder of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::pattern::{Bindings, check};
use super::sidecar::{Framing, Sidecar};

/// The first line.
#[derive(Deserialize)]
struct Header {
    transcript: String,
    framing: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// Any other line.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    /// For people.
    #[serde(rename = "why")]
    _why: Option<String>,
    send: Option<Box<RawValue>>,
    send_raw: Option<String>,
    expect: Option<Value>,
    expect_close: Option<bool>,
    close: Option<bool>,
    exit: Option<i32>,
    write: Option<BTreeMap<String, String>>,
    remove: Option<String>,
}

/// `Err` says which line failed and why.
pub fn replay(path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let dir = folder.path().canonicalize().map_err(|error| error.to_string())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut player = Player { dir: dir.clone(), bindings: Bindings::new(), sidecar: None, waiting: Vec::new() };
    player.bindings.insert("dir".to_owned(), dir.to_string_lossy().into_owned());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        player.line(index + 1, line, &name).map_err(|problem| player.failure(&name, index + 1, line, &problem))?;
    }
    player.end().map_err(|problem| player.failure(&name, text.lines().count(), "", &problem))
}

struct Player {
    dir: PathBuf,
    bindings: Bindings,
    sidecar: Option<Sidecar>,
    /// Patterns of the current run of `expect` lines that no message has matched yet, with their line numbers.
    waiting: Vec<(usize, String)>,
}

impl Player {
    fn line(&mut self, number: usize, line: &str, name: &str) -> Result<(), String> {
        if self.sidecar.is_none() {
            return self.header(&self.substituted(line), name);
        }
        if serde_json::from_str::<Line>(line).is_ok_and(|line| line.expect.is_some()) {
            self.waiting.push((number, line.to_owned()));
            return Ok(());
        }
        self.settle()?;
        let line: Line = serde_json::from_str(&self.substituted(line)).map_err(|error| error.to_string())?;
        let dir = self.dir.clone();
        let sidecar = self.sidecar.as_mut().ok_or("not started")?;
        if let Some(message) = line.send {
            sidecar.send(message.get()).map_err(|error| error.to_string())?;
        } else if let Some(text) = line.send_raw {
            sidecar.send_raw(&text).map_err(|error| error.to_string())?;
        } else if line.expect_close.is_some() {
            self.expect_end()?;
        } else if line.close.is_some() {
            sidecar.close();
        } else if let Some(code) = line.exit {
            let actual = sidecar.exit_code()?;
            if actual != Some(code) {
                return Err(format!("exit code {code} expected, {actual:?} came"));
            }
        } else if let Some(files) = line.write {
            write(&dir, &files)?;
        } else if let Some(path) = line.remove {
            fs::remove_file(inside(&dir, &path)?).map_err(|error| format!("{path}: {error}"))?;
        } else {
            return Err("the line says nothing to do".to_owned());
        }
        Ok(())
    }

    fn header(&mut self, line: &str, name: &str) -> Result<(), String> {
        let header: Header = serde_json::from_str(line).map_err(|error| format!("header: {error}"))?;
        if format!("{}.jsonl", header.transcript) != name {
            return Err(format!("the transcript calls itself `{}`", header.transcript));
        }
        let framing = match header.framing.as_str() {
            "lines" => Framing::Lines,
            "content-length" => Framing::Headers,
            other => return Err(format!("no framing `{other}`")),
        };
        for folder in ["config", "workspace"] {
            fs::create_dir(self.dir.join(folder)).map_err(|error| error.to_string())?;
        }
        write(&self.dir, &header.files)?;
        self.sidecar = Some(Sidecar::start(&self.dir, &header.args, framing).map_err(|error| error.to_string())?);
        Ok(())
    }

    /// Known names for what they stand for, as JSON writes it; others are left alone.
    fn substituted(&self, line: &str) -> String {
        self.bindings.iter().fold(line.to_owned(), |line, (name, text)| {
            let json = Value::from(text.as_str()).to_string();
            line.replace(&format!("${{{name}}}"), &json[1..json.len() - 1])
        })
    }

    /// Reads until each waiting pattern has its message. A message that fits none is a failure.
    fn settle(&mut self) -> Result<(), String> {
        while !self.waiting.is_empty() {
            let sidecar = self.sidecar.as_ref().ok_or("not started")?;
            let lines = || self.waiting.iter().map(|(number, _)| number.to_string()).collect::<Vec<_>>().join(", ");
            let message = match sidecar.receive() {
                Ok(Some(message)) => message,
                Ok(None) => return Err(format!("standard output ended before what lines {} expect", lines())),
                Err(problem) => return Err(format!("{problem}, while lines {} wait", lines())),
            };
            let mut misfits = Vec::new();
            let mut found = None;
            for (at, (number, line)) in self.waiting.iter().enumerate() {
                let line: Line = serde_json::from_str(&self.substituted(line)).map_err(|error| error.to_string())?;
                let mut bindings = self.bindings.clone();
                match check(&line.expect.unwrap_or_default(), &message, &mut bindings) {
                    Ok(()) => {
                        found = Some((at, bindings));
                        break;
                    }
                    Err(misfit) => misfits.push(format!("  line {number}: {misfit}")),
                }
            }
            let (at, bindings) = found
                .ok_or_else(|| format!("a message fits no line that waits:\n  {message}\n{}", misfits.join("\n")))?;
            self.bindings = bindings;
            self.waiting.remove(at);
        }
        Ok(())
    }

    fn expect_end(&mut self) -> Result<(), String> {
        match self.sidecar.as_ref().ok_or("not started")?.receive()? {
            None => Ok(()),
            Some(message) => Err(format!("the end of standard output expected, a message came:\n  {message}")),
        }
    }

    /// Nothing may come that no line expected, not even after the last.
    fn end(&mut self) -> Result<(), String> {
        self.settle()?;
        self.sidecar.as_mut().ok_or("the transcript is empty")?.close();
        self.expect_end()
    }

    fn failure(&self, name: &str, number: usize, line: &str, problem: &str) -> String {
        let errors = self.sidecar.as_ref().map(Sidecar::errors).filter(|errors| !errors.is_empty());
        let errors = errors.map(|errors| format!("\n  standard error:\n{errors}")).unwrap_or_default();
        let shown: String = line.chars().take(200).collect();
        format!("{name}:{number}: {problem}\n  at {shown}{errors}")
    }
}

fn write(dir: &Path, files: &BTreeMap<String, String>) -> Result<(), String> {
    for (path, content) in files {
        let target = inside(dir, path)?;
        let parent = target.parent().unwrap_or(dir);
        let beside = dir.join("being-written");
        // At once, since a sidecar may look in between.
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&beside, content))
            .and_then(|()| fs::rename(&beside, &target))
            .map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// A transcript touches nothing outside its folder.
fn inside(dir: &Path, path: &str) -> Result<PathBuf, String> {
    let plain = Path::new(path).components().all(|component| matches!(component, Component::Normal(_)));
    if plain { Ok(dir.join(path)) } else { Err(format!("`{path}` is not inside the folder")) }
}
