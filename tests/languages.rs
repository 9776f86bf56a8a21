//! Three processes in three languages on one shared sidecar: a peer with the TypeScript client, one with the Go client,
//! and this one, each with a tool of its own. `tests/run` builds the peers and says where they are.

#![cfg(unix)]

#[path = "support/host.rs"]
mod host;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use host::{Files, Sidecar};
use serde_json::{Value, json};

/// What is never reached unless something is broken.
const DEADLINE: Duration = Duration::from_secs(60);
const REGISTRY: &str = "work/.toolscout/registry/weather.json";

/// A process that speaks JSON lines about what its client gives it; see `clients/typescript/examples/peer.ts`.
struct Peer {
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
}

impl Peer {
    fn start(files: &Files, name: &'static str, mut command: Command) -> Self {
        command.arg("--binary").arg(env!("CARGO_BIN_EXE_toolscout"));
        command.arg("--workspace").arg(files.at("work")).args(["--name", name]);
        shared(files, &mut command).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap_or_else(|_| panic!("{name} wrote {line}")));
            }
        });
        let input = child.stdin.take();
        Self { name, child, input, lines }
    }

    /// The next line with this member.
    #[track_caller]
    fn next(&self, member: &str) -> Value {
        loop {
            let mut line = self.lines.recv_timeout(DEADLINE).unwrap_or_else(|_| panic!("{}: no {member}", self.name));
            if line.get(member).is_some() {
                return line[member].take();
            }
        }
    }

    #[track_caller]
    fn ask(&mut self, line: &str, member: &str) -> Value {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        self.next(member)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.input = None;
        // One that does not end with its input would be left running.
        let ended = self.child.wait();
        if !std::thread::panicking() {
            assert!(ended.unwrap().success(), "{} failed", self.name);
        }
    }
}

/// The folders of a user of their own, whose shared sidecars are nobody else's.
fn shared<'a>(files: &Files, command: &'a mut Command) -> &'a mut Command {
    let run = files.at("run");
    std::fs::create_dir_all(&run).unwrap();
    command.env("XDG_RUNTIME_DIR", run).env("XDG_CONFIG_HOME", files.at("config")).env_remove("TOOLSCOUT_LOG")
}

fn built(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| panic!("{variable} is not set: this test is run by tests/run"))
}

fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({ "name": name, "description": "Tells the weather.", "inputSchema": {} });
    json!({ "tools": names.iter().map(tool).collect::<Vec<_>>() })
}

#[test]
fn three_languages_share_one_sidecar() {
    let files = Files::new();
    files.write(REGISTRY, tools(&["forecast"]));
    let mut node = Command::new("node");
    node.arg(built("TYPESCRIPT_PEER"));
    let mut peers = [("typescript", node), ("go", Command::new(built("GO_PEER")))]
        .map(|(name, peer)| Peer::start(&files, name, peer));
    let mut command = files.command();
    shared(&files, command.arg("--shared"));
    let mut rust = Sidecar::open(command, json!({ "capabilities": { "invoke": true } }));
    let own = json!({ "source": { "name": "rust", "kind": "mcp" }, "tools": [{ "name": "hello" }] });
    assert_eq!(rust.request("registry/register", own)["accepted"], 1);

    // One process, and in it each sees the file and itself.
    let pid = rust.request("status", json!({}))["pid"].take();
    assert_eq!(rust.tools(), ["mcp__rust__hello", "mcp__weather__forecast"]);
    for peer in &peers {
        let ready = peer.next("ready");
        assert_eq!(ready["pid"], pid, "{}", peer.name);
        let mut names = [format!("mcp__{}__hello", peer.name), "mcp__weather__forecast".to_owned()];
        names.sort();
        assert_eq!(ready["names"], json!(names));
    }
    assert_eq!(rust.request("status", json!({}))["connections"], 3);

    // A call reaches who registered the tool, and nobody else's search finds it.
    for peer in &mut peers {
        let answer = peer.ask("call good morning", "answer");
        assert_eq!(answer, json!({ "from": peer.name, "text": "good morning" }));
        assert_eq!(peer.ask("search hello", "matches"), json!([format!("mcp__{}__hello", peer.name)]));
    }

    // One edit reaches all three, once.
    files.save(REGISTRY, tools(&["forecast", "alerts"]));
    let changed = json!({ "added": ["mcp__weather__alerts"], "removed": [], "changed": [] });
    for peer in &peers {
        assert_eq!(peer.next("changed"), changed, "{}", peer.name);
    }
    assert_eq!(rust.note("catalog/didChange")["added"], changed["added"]);

    // Who leaves takes only what is its own.
    let [typescript, go] = peers;
    drop(typescript);
    let mut go = go;
    assert_eq!(go.ask("call again", "answer"), json!({ "from": "go", "text": "again" }));
    drop(go);
    assert_eq!(rust.tools(), ["mcp__rust__hello", "mcp__weather__alerts", "mcp__weather__forecast"]);
    drop(rust);
    let mut stop = Command::new(env!("CARGO_BIN_EXE_toolscout"));
    stop.args(["stop", "--all"]).current_dir(files.at("work"));
    assert!(shared(&files, &mut stop).status().unwrap().success());
}
