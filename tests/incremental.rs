//! A sidecar that has lived through many edits answers, byte for byte, as one that was started just now.
//!
//! Files are edited in an editor's ways and sources registered at random, some edits between two comparisons and requests in
//! flight meanwhile, so that what is kept of a catalog for the next one is held against nothing kept at all. It makes
//! `INCREMENTAL_ROUNDS` (25) comparisons; the seed is printed and can be given as `INCREMENTAL_SEED`.
#![cfg(unix)]

#[path = "support/host.rs"]
mod host;
#[path = "soak/random.rs"]
#[allow(dead_code, reason = "the soak uses all of it")]
mod random;

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::symlink;
use std::process::Command;

use host::{Files, Sidecar};
use random::Random;
use serde_json::{Map, Value, json};

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Folders of registry files, the nearest first.
const FOLDERS: [&str; 3] = ["work/.toolscout/registry", "config/toolscout/registry", "flag"];
const STEMS: [&str; 6] = ["alpha.json", "beta.yaml", "gamma.json", "other.json", "more.yml", "zeta.json"];
/// So few that many meet: in one file and in two, of two kinds, and where a name is given a server's part.
const SOURCES: [&str; 9] = ["alpha", "beta", "gamma", "Alpha", "alpha__beta", "tracker", "mail", "zeta", "日本"];
const VERBS: [&str; 8] = ["create", "list", "delete", "update", "search", "close", "fetch", "createOrUpdate"];
const NOUNS: [&str; 9] = ["issue", "issues", "ticket", "mail", "file", "pull_request", "HTTPServer", "日程", "x"];
const WORDS: [&str; 14] = [
    "issue",
    "tickets",
    "jira",
    "opens",
    "a",
    "the",
    "records",
    "naïve",
    "sends",
    "mail",
    "urgent",
    "repository",
    "alpha",
    "beta",
];

fn one<'a>(random: &mut Random, of: &[&'a str]) -> &'a str {
    of[random.within(0..of.len() as u64) as usize]
}

fn some(random: &mut Random, of: &[&str], most: u64) -> Vec<String> {
    (0..random.within(0..most + 1)).map(|_| one(random, of).to_owned()).collect()
}

fn chance(random: &mut Random, percent: u64) -> bool {
    random.within(0..100) < percent
}

fn tools(random: &mut Random) -> Value {
    let mut tools = BTreeMap::new();
    for _ in 0..random.within(0..7) {
        let name = format!("{}_{}", one(random, &VERBS), one(random, &NOUNS));
        let parameters: Map<String, Value> = some(random, &NOUNS, 3)
            .into_iter()
            .map(|name| (name, json!({ "type": "string", "description": some(random, &WORDS, 4).join(" ") })))
            .collect();
        let description = some(random, &WORDS, 8).join(" ");
        let schema = json!({ "type": "object", "properties": parameters });
        tools.insert(name.clone(), json!({ "name": name, "description": description, "inputSchema": schema }));
    }
    let mut tools: Vec<Value> = tools.into_values().collect();
    if chance(random, 30) {
        tools.reverse();
    }
    tools.into()
}

/// Aliases and keywords, in the shape of configuration.
fn found_by(random: &mut Random) -> Value {
    let patterns = ["create_*", "*issue*", "mcp__alpha__list_x", "nothing_*", "delete_ticket"];
    let keywords: Map<String, Value> =
        some(random, &patterns, 2).into_iter().map(|pattern| (pattern, json!(some(random, &WORDS, 3)))).collect();
    json!({ "aliases": some(random, &WORDS, 2), "keywords": keywords })
}

fn source(random: &mut Random) -> Value {
    let mut source = json!({ "name": one(random, &SOURCES), "kind": one(random, &["mcp", "plugin"]) });
    if chance(random, 25) {
        source["names"] = json!(one(random, &["prefixed", "as-is"]));
    }
    if chance(random, 40) {
        let words = found_by(random);
        for (key, value) in words.as_object().unwrap() {
            source[key] = value.clone();
        }
    }
    source
}

fn registry(random: &mut Random) -> Value {
    match random.within(0..3) {
        0 => json!({ "tools": tools(random) }),
        1 => tools(random),
        _ => {
            let sources = (0..random.within(0..4)).map(|_| {
                let mut source = source(random);
                source["tools"] = tools(random);
                source
            });
            json!({ "sources": sources.collect::<Vec<_>>() })
        }
    }
}

fn config(random: &mut Random) -> Value {
    let sources: Map<String, Value> =
        some(random, &SOURCES, 4).into_iter().map(|name| (name, found_by(random))).collect();
    let search = json!({
        "near": one(random, &["on", "off"]),
        "listing": one(random, &["auto", "on"]),
        "listing_max_tokens": random.within(200..600),
        "keep": some(random, &["create_*", "*__list_*", "fetch_x"], 1),
    });
    let core = json!({ "extend": some(random, &["close_*", "search_mail"], 1) });
    json!({ "tools": { "tool_search": search, "sources": sources }, "core": core })
}

struct Site {
    files: Files,
    /// What the host registered, by source.
    registered: BTreeMap<String, Value>,
    /// Counts names that are never used again.
    fresh: u64,
}

impl Site {
    fn new() -> Self {
        let files = Files::new();
        fs::create_dir(files.at("flag")).unwrap();
        Self { files, registered: BTreeMap::new(), fresh: 0 }
    }

    fn command(&self) -> Command {
        let mut command = self.files.command();
        command.arg("--registry").arg(self.files.at("flag")).arg("--registry").arg(self.files.at("lone.json"));
        command
    }

    fn unused(&mut self, stem: &str) -> String {
        self.fresh += 1;
        format!("{stem}{}", self.fresh)
    }

    /// Changes something in some way, and says how.
    fn edit(&mut self, random: &mut Random, sidecar: &mut Sidecar) -> String {
        let path = match random.within(0..10) {
            0 => "lone.json".to_owned(),
            _ => format!("{}/{}", one(random, &FOLDERS), one(random, &STEMS)),
        };
        let at = self.files.at(&path);
        match random.within(0..13) {
            0..=1 => drop(self.files.write(&path, registry(random))),
            2..=3 => self.files.save(&path, registry(random)),
            4 => {
                let _ = fs::remove_file(&at);
                self.files.write(&path, registry(random));
            }
            5 => {
                let (target, link) = (self.unused("far/"), self.unused("far/link"));
                let target = self.files.write(&target, registry(random));
                symlink(target, self.files.at(&link)).unwrap();
                fs::create_dir_all(at.parent().unwrap()).unwrap();
                fs::rename(self.files.at(&link), &at).unwrap();
            }
            6 => drop(fs::remove_file(&at)),
            7 => {
                // Which of two files with one source is served depends on their names.
                let to = format!("{}/{}", one(random, &FOLDERS), one(random, &STEMS));
                fs::create_dir_all(self.files.at(&to).parent().unwrap()).unwrap();
                let _ = fs::rename(&at, self.files.at(&to));
                return format!("rename {path} to {to}");
            }
            8 => {
                let folder = self.files.at(one(random, &FOLDERS));
                let aside = self.unused("aside");
                let _ = fs::rename(&folder, self.files.at(&aside));
                let new = self.unused("new");
                if chance(random, 70) {
                    self.files.write(&format!("{new}/{}", one(random, &STEMS)), registry(random));
                    fs::create_dir_all(folder.parent().unwrap()).unwrap();
                    fs::rename(self.files.at(&new), &folder).unwrap();
                }
                return format!("swap {}", folder.display());
            }
            9..=10 => {
                self.files.save("config/toolscout/config.yaml", config(random));
                return "configure".to_owned();
            }
            11 => {
                let source = source(random);
                let name = source["name"].as_str().unwrap().to_owned();
                let params = json!({ "source": source, "tools": tools(random) });
                sidecar.request("registry/register", params.clone());
                self.registered.insert(name.clone(), params);
                return format!("register {name}");
            }
            _ => {
                let name = one(random, &SOURCES);
                if self.registered.remove(name).is_some() {
                    sidecar.request("registry/unregister", json!({ "source": name }));
                }
                return format!("unregister {name}");
            }
        }
        format!("write {path}")
    }
}

fn scope(random: &mut Random) -> Value {
    match random.within(0..3) {
        0 => {
            json!({ "toolsets": { "enabled": some(random, &["mcp-alpha", "beta", "mcp-tracker", "zeta", "mcp-mail"], 3) } })
        }
        1 => json!({ "toolsets": { "disabled": some(random, &["mcp-alpha", "beta", "mcp-tracker"], 2) } }),
        _ => json!({}),
    }
}

/// Requests whose answers depend on the catalog.
fn questions(random: &mut Random) -> Vec<(&'static str, Value)> {
    let mut questions = vec![("registry/list", json!({ "tools": true })), ("config/get", json!({}))];
    for format in ["mcp", "anthropic"] {
        questions.push(("assemble", json!({ "contextLength": 200_000, "format": format, "scope": scope(random) })));
    }
    for _ in 0..5 {
        let mut words = some(random, &WORDS, 3);
        words.push(one(random, &VERBS).to_owned());
        words.extend(some(random, &NOUNS, 1));
        words.extend(some(random, &SOURCES, 1));
        let query = words.join(" ");
        questions.push(("search/explain", json!({ "query": query, "scope": scope(random) })));
        let name = format!("{}_{}", one(random, &VERBS), one(random, &NOUNS));
        let arguments = json!({ "queries": [query, name] });
        questions
            .push(("bridge/call", json!({ "name": "tool_search", "arguments": arguments, "scope": scope(random) })));
        let names = [name.clone(), format!("mcp__{}__{name}", one(random, &SOURCES))];
        questions.push(("bridge/call", json!({ "name": "tool_describe", "arguments": { "names": names } })));
    }
    questions
}

fn answers(sidecar: &mut Sidecar, questions: &[(&'static str, Value)]) -> Vec<String> {
    let answer = |(method, params): &(&'static str, Value)| {
        let mut answer = sidecar.request(method, params.clone());
        // How often it changed is its life's.
        answer.as_object_mut().unwrap().remove("revision");
        answer.to_string()
    };
    questions.iter().map(answer).collect()
}

/// What a sidecar has said of files so far, by file, taken up into what it said before.
fn take_findings(sidecar: &mut Sidecar, findings: &mut BTreeMap<String, Value>) {
    let opened = sidecar.opened["diagnostics"].take();
    let mut told = opened.as_array().cloned().unwrap_or_default();
    told.extend(sidecar.notes("diagnostics/publish"));
    for mut told in told {
        let file = told["file"].as_str().unwrap().to_owned();
        match told["diagnostics"].take() {
            Value::Array(list) if list.is_empty() => drop(findings.remove(&file)),
            list => drop(findings.insert(file, list)),
        }
    }
}

#[test]
fn assemble_7_a_life_of_edits_leaves_no_trace() {
    let seed = from_environment("INCREMENTAL_SEED", RandomState::new().hash_one(0));
    let rounds = from_environment("INCREMENTAL_ROUNDS", 25);
    println!("incremental: INCREMENTAL_ROUNDS={rounds} INCREMENTAL_SEED={seed}");
    let random = &mut Random::new(seed, 0);
    let mut site = Site::new();
    let mut old = Sidecar::new(site.command());
    let mut told = BTreeMap::new();
    for round in 0..rounds {
        let mut edits = Vec::new();
        for _ in 0..random.within(1..6) {
            edits.push(site.edit(random, &mut old));
            if chance(random, 50) {
                // Makes something of the state in between, which the next may be made of.
                let (method, params) = questions(random).swap_remove(2 + random.within(0..8) as usize);
                old.request(method, params);
            }
        }
        let questions = questions(random);
        let mut new = Sidecar::new(site.command());
        for params in site.registered.values().rev() {
            new.request("registry/register", params.clone());
        }
        let (ours, theirs) = (answers(&mut old, &questions), answers(&mut new, &questions));
        for ((question, ours), theirs) in questions.iter().zip(ours).zip(theirs) {
            assert_eq!(ours, theirs, "{question:?} in round {round} of seed {seed}, after {edits:?}");
        }
        let mut expected = BTreeMap::new();
        take_findings(&mut old, &mut told);
        take_findings(&mut new, &mut expected);
        assert_eq!(told, expected, "findings in round {round} of seed {seed}, after {edits:?}");
    }
}
