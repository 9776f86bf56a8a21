//! Files whose every version says its number in all it holds, and how people's editors write them.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::history::{History, State};
use crate::random::Random;

/// `listing_max_tokens` without a configuration; its version is what it has beyond that.
pub const DEFAULT_BUDGET: u64 = 4000;

/// How many tools a version of a registry file has.
pub fn tool_count(version: Option<u64>) -> u64 {
    version.map_or(0, |version| 4 + version % 7)
}

/// The word that says version `number` of the file with this letter. Its end shows whether it was cut.
pub fn mark(letter: char, number: u64) -> String {
    format!("{letter}v{number:06}x")
}

/// A file under edit.
pub struct Edited {
    path: PathBuf,
    /// Versions that a link may lead to.
    targets: PathBuf,
    text: fn(u64) -> Value,
    pub history: History,
}

pub fn alpha(version: u64) -> Value {
    registry('a', "alpha", version)
}

pub fn beta(version: u64) -> Value {
    registry('b', "beta", version)
}

fn registry(letter: char, source: &str, version: u64) -> Value {
    let mark = mark(letter, version);
    let tool = |number| {
        let parameter = json!({ "type": "string", "description": format!("what {mark} wants") });
        json!({
            "name": format!("fetch_{number}_{mark}"),
            "description": format!("{mark} fetches {source} records of kind {number}"),
            "inputSchema": { "type": "object", "properties": { "query": parameter } },
        })
    };
    json!({ "tools": (0..tool_count(Some(version))).map(tool).collect::<Vec<_>>() })
}

/// A layer of configuration; JSON is YAML, and half of it is never YAML.
pub fn config(version: u64) -> Value {
    let settings = json!({ "listing_max_tokens": DEFAULT_BUDGET + version, "keep": [mark('c', version)] });
    json!({ "tools": { "tool_search": settings } })
}

impl Edited {
    /// Has its first version.
    pub fn new(path: PathBuf, targets: &Path, text: fn(u64) -> Value) -> Self {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let edited = Self { path, targets: targets.to_owned(), text, history: History::default() };
        edited.save(1);
        edited
    }

    /// Edits the file in one of an editor's ways; says the version it has then, if it is a new one.
    pub fn edit(&self, random: &mut Random, last: u64) -> u64 {
        let next = last + 1;
        match random.within(0..10) {
            0..=2 => self.save(next),
            3..=5 => self.write_in_place(next, random),
            6 => self.link(next),
            7..=8 => {
                self.write_half(next, random);
                return last;
            }
            _ => {
                // It may be gone already.
                let _ = self.history.enter(State::Absent, || fs::remove_file(&self.path));
                return last;
            }
        }
        next
    }

    fn text(&self, version: u64) -> String {
        (self.text)(version).to_string()
    }

    /// Writes beside and renames.
    fn save(&self, version: u64) {
        let beside = self.path.with_extension("beside");
        fs::write(&beside, self.text(version)).unwrap();
        self.history.enter(State::Whole(version), || fs::rename(&beside, &self.path)).unwrap();
    }

    /// Empties the file and writes some of it.
    fn write_half(&self, version: u64, random: &mut Random) -> (File, String) {
        let mut text = self.text(version);
        let rest = text.split_off(random.within(0..text.len() as u64) as usize);
        self.history.enter(State::Broken, || {
            let mut file = File::create(&self.path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            (file, rest)
        })
    }

    fn write_in_place(&self, version: u64, random: &mut Random) {
        let (mut file, rest) = self.write_half(version, random);
        self.history.enter(State::Whole(version), || file.write_all(rest.as_bytes())).unwrap();
    }

    /// Has a link lead to another file.
    fn link(&self, version: u64) {
        let name = format!("{}-{version}", self.path.file_stem().unwrap().display());
        let (target, beside) = (self.targets.join(name), self.path.with_extension("beside"));
        fs::write(&target, self.text(version)).unwrap();
        symlink(&target, &beside).unwrap();
        self.history.enter(State::Whole(version), || fs::rename(&beside, &self.path)).unwrap();
    }
}
