//! One sidecar for many processes, over the real binary: relays and their daemon, a Unix socket, a WebSocket.

#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

/// No honest answer takes so long, even on a machine that is busy with other things.
const DEADLINE: Duration = Duration::from_secs(60);

/// A user's folders. When they go, no shared sidecar of theirs is left.
struct Site(TempDir);

impl Site {
    fn new() -> Self {
        let site = Self(tempfile::tempdir().unwrap());
        ["run", "config", "workspace"].iter().for_each(|name| fs::create_dir(site.path(name)).unwrap());
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolscout"));
        command.args(args).current_dir(self.path("workspace")).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.path("run")).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("HOME", self.0.path()).env("TMPDIR", self.0.path()).env_remove("TOOLSCOUT_LOG");
        command
    }

    /// A people's command: its code, standard output and standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn relay(&self, args: &[&str]) -> Host {
        Host::start(&mut self.command(&[&["serve", "--shared"], args].concat()))
    }

    /// A relay that is initialized.
    fn ready(&self, args: &[&str]) -> Host {
        let mut host = self.relay(args);
        host.initialize(json!({}));
        host
    }

    /// Shared sidecars that run.
    fn running(&self) -> Value {
        let (_, out, err) = self.run(&["status", "--json"]);
        serde_json::from_str::<Value>(&out).unwrap_or_else(|error| panic!("{error}: {out}{err}"))["shared"].take()
    }

    /// Files of shared sidecars with this extension.
    fn files(&self, extension: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("run/toolscout")) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.command(&["stop", "--all"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// The host of one sidecar process, which it started. One message a line.
struct Host {
    child: Child,
    stdin: Option<ChildStdin>,
    /// Lines of standard output, until it ends.
    messages: Receiver<String>,
    errors: Option<thread::JoinHandle<String>>,
    last: u64,
}

impl Host {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, mut stderr) = (BufReader::new(child.stdout.take().unwrap()), child.stderr.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let errors = thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).map(|_| text).unwrap_or_default()
        });
        Self { stdin: child.stdin.take(), child, messages, errors: Some(errors), last: 0 }
    }

    fn send(&mut self, message: Value) {
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    /// The next message; nothing but messages is taken.
    #[track_caller]
    fn receive(&self) -> Value {
        let line = self.messages.recv_timeout(DEADLINE).expect("a message");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    #[track_caller]
    fn answer_to(&self, id: &Value) -> Value {
        loop {
            let message = self.receive();
            if message.get("method").is_none() && message["id"] == *id {
                return message;
            }
        }
    }

    /// Sends a request and gives back its whole answer.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = json!(self.last);
        self.send(json!({ "id": id, "method": method, "params": params }));
        self.answer_to(&id)
    }

    #[track_caller]
    fn initialize(&mut self, params: Value) -> Value {
        let answer = self.ask("initialize", params);
        assert!(answer["result"].is_object(), "{answer}");
        answer
    }

    /// The process that serves.
    #[track_caller]
    fn pid(&mut self) -> i32 {
        self.ask("status", json!({}))["result"]["pid"].as_i64().unwrap() as i32
    }

    #[track_caller]
    fn register(&mut self, source: &str, tools: Value) {
        let answer =
            self.ask("registry/register", json!({ "source": { "name": source, "kind": "mcp" }, "tools": tools }));
        assert!(answer["result"]["accepted"].is_number(), "{answer}");
    }

    #[track_caller]
    fn sources(&mut self) -> Vec<String> {
        let listed = self.ask("registry/list", json!({}));
        let sources = listed["result"]["sources"].as_array().unwrap();
        sources.iter().map(|source| source["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits for the end of its process: the code, and what it wrote to standard error.
    #[track_caller]
    fn ended(mut self) -> (Option<i32>, String) {
        let gone = watch(self.child.id() as i32);
        gone.wait();
        let code = self.child.wait().unwrap().code();
        (code, self.errors.take().unwrap().join().unwrap())
    }

    /// Closes standard input and waits for the end.
    #[track_caller]
    fn close(mut self) -> (Option<i32>, String) {
        self.stdin = None;
        self.ended()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process whose end can be awaited, whoever's child it is.
struct Watched(std::os::fd::OwnedFd, i32);

fn watch(pid: i32) -> Watched {
    Watched(pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap(), pid)
}

impl Watched {
    #[track_caller]
    fn wait(&self) {
        let mut descriptors = [PollFd::new(&self.0, PollFlags::IN)];
        let timeout = Timespec { tv_sec: DEADLINE.as_secs() as i64, tv_nsec: 0 };
        assert_eq!(poll(&mut descriptors, Some(&timeout)), Ok(1), "process {} goes on", self.1);
    }

    fn is_gone(&self) -> bool {
        let mut descriptors = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) == Ok(1)
    }
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": {} } })
}

#[track_caller]
fn holds(text: &str, pieces: &[&str]) {
    pieces.iter().for_each(|piece| assert!(text.contains(piece), "no {piece:?} in: {text}"));
}

#[test]
fn two_relays_share_one_process() {
    let site = Site::new();
    let (mut one, mut other) = (site.ready(&[]), site.ready(&[]));
    let pid = one.pid();
    assert_eq!(other.pid(), pid);
    assert!(pid != one.child.id() as i32 && pid != other.child.id() as i32);
    assert_eq!(one.ask("status", json!({}))["result"]["connections"], 2);
    let running = site.running();
    assert_eq!((&running[0]["pid"], &running[0]["connections"]), (&json!(pid), &json!(2)));
    assert_eq!(running[0]["workspace"], site.path("workspace").to_str().unwrap());
    assert_eq!((&running[0]["version"], running.as_array().unwrap().len()), (&json!(env!("CARGO_PKG_VERSION")), 1));
    assert_eq!((one.close().0, other.close().0), (Some(0), Some(0)));
}

#[test]
fn what_one_registers_is_its_own() {
    let site = Site::new();
    let (mut one, mut other) = (site.ready(&[]), site.ready(&[]));
    let find = |host: &mut Host| {
        let arguments = json!({ "queries": ["release notes"] });
        host.ask("bridge/call", json!({ "name": "tool_search", "arguments": arguments }))["result"]["content"].clone()
    };
    one.register("git", json!([tool("draft", "Drafts release notes"), tool("tag", "Tags a commit")]));
    let alone = (find(&mut one), one.ask("assemble", json!({}))["result"]["etag"].clone());
    let hundred: Vec<Value> = (0..100).map(|n| tool(&format!("t{n}"), "Publishes release notes")).collect();
    other.register("git", json!(hundred));
    assert_eq!(find(&mut other)["total_available"], 100);
    assert_eq!(
        (find(&mut one), one.ask("assemble", json!({}))["result"]["etag"].clone()),
        alone,
        "same weights, same bytes"
    );
    other.ask("registry/unregister", json!({ "source": "git" }));
    assert_eq!((one.sources(), other.sources()), (vec!["git".to_owned()], vec![]));
    let counted = other.ask("status", json!({}));
    assert!(counted["result"]["counters"].get("assemble").is_none(), "{counted}");
    drop(one);
    assert_eq!(find(&mut other)["total_available"], 0);
}

#[test]
fn requests_and_cancellations_stay_on_their_connection() {
    let site = Site::new();
    let mut hosts = [site.relay(&[]), site.relay(&[])];
    let call = json!({ "name": "tool_call", "arguments": { "name": "mcp__git__tag", "arguments": {} } });
    let mut questions = Vec::new();
    for (number, host) in hosts.iter_mut().enumerate() {
        host.initialize(json!({ "capabilities": { "invoke": true } }));
        host.register("git", json!([tool("tag", "Tags a commit")]));
        let mut params = call.clone();
        params["callId"] = json!(format!("of {number}"));
        host.send(json!({ "id": "same", "method": "bridge/call", "params": params }));
        let question = host.receive();
        assert_eq!((&question["method"], &question["params"]["callId"]), (&json!("host/invoke"), &params["callId"]));
        questions.push(question["id"].clone());
    }
    let [one, other] = &mut hosts;
    one.send(json!({ "method": "$/cancelRequest", "params": { "id": "same" } }));
    assert!(one.answer_to(&json!("same")).is_object());
    other.send(json!({ "id": questions[1], "result": { "content": "tagged" } }));
    let answer = other.answer_to(&json!("same"));
    assert_eq!(answer["result"]["content"], "tagged", "{answer}");
    assert_eq!(questions[0], questions[1], "ids are counted by connection");
}

#[test]
fn forty_cold_starts_are_one_process() {
    let site = Site::new();
    let mut hosts: Vec<Host> = (0..40).map(|_| site.relay(&["--idle-exit", "0"])).collect();
    for host in &mut hosts {
        host.send(json!({ "id": 0, "method": "initialize" }));
    }
    let pids: Vec<i32> = hosts.iter_mut().map(Host::pid).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "{pids:?}");
    let daemon = watch(pids[0]);
    hosts.into_iter().for_each(|host| assert_eq!(host.close().0, Some(0)));
    daemon.wait();
}

#[test]
fn a_killed_daemon_ends_its_relays_and_is_replaced() {
    let site = Site::new();
    let (mut one, other) = (site.ready(&[]), site.ready(&[]));
    let pid = one.pid();
    kill(pid);
    for relay in [one, other] {
        let (code, errors) = relay.ended();
        assert_eq!(code, Some(1));
        holds(&errors, &["toolscout: the shared sidecar is gone without a word"]);
        assert_eq!(errors.lines().count(), 1, "{errors}");
    }
    assert_eq!((site.files("sock").len(), site.files("lock").len()), (1, 1), "it left them behind");
    assert_eq!(site.running(), json!([]));
    let mut hosts: Vec<Host> = (0..10).map(|_| site.ready(&[])).collect();
    let pids: Vec<i32> = hosts.iter_mut().map(Host::pid).collect();
    assert!(pids[0] != pid && pids.iter().all(|other| *other == pids[0]), "{pids:?}");
}

#[test]
fn a_stale_socket_is_in_nobodys_way() {
    let site = Site::new();
    let mut first = site.ready(&["--idle-exit", "0"]);
    let socket = site.files("sock").remove(0);
    let daemon = watch(first.pid());
    first.close();
    daemon.wait();
    drop(UnixListener::bind(&socket).unwrap());
    assert_eq!(UnixStream::connect(&socket).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(site.ready(&["--idle-exit", "0"]).close().0, Some(0));
}

#[test]
fn an_idle_daemon_ends_and_leaves_nothing() {
    for seconds in ["0", "1"] {
        let site = Site::new();
        let (mut one, two) = (site.ready(&["--idle-exit", seconds]), site.ready(&["--idle-exit", seconds]));
        let daemon = watch(one.pid());
        two.close();
        one.pid();
        assert!(!daemon.is_gone(), "one connection is left");
        one.close();
        daemon.wait();
        let left: Vec<_> = fs::read_dir(site.path("run/toolscout")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn a_daemon_outlives_its_relays_for_a_while() {
    let site = Site::new();
    let mut first = site.ready(&[]);
    let pid = first.pid();
    first.close();
    assert_eq!(site.ready(&[]).pid(), pid);
}

#[test]
fn the_end_of_a_host_closes_its_own_connection_alone() {
    let site = Site::new();
    let (mut killed, mut left, mut other) = (site.ready(&[]), site.relay(&[]), site.ready(&[]));
    let mut host = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    left.initialize(json!({ "processId": host.id() }));
    assert_eq!(other.ask("status", json!({}))["result"]["connections"], 3);
    killed.register("git", json!([tool("tag", "Tags a commit")]));
    kill(killed.child.id() as i32);
    killed.ended();
    host.kill().unwrap();
    host.wait().unwrap();
    assert_eq!(left.ended(), (Some(0), String::new()), "its process is gone");
    while other.ask("status", json!({}))["result"]["connections"] != 1 {}
    assert_eq!(other.sources(), Vec::<String>::new());
}

#[test]
fn a_host_that_never_reads_is_dropped_and_costs_the_others_nothing() {
    let site = Site::new();
    let mut other = site.ready(&[]);
    let mut flood = site.command(&["serve", "--shared"]);
    let mut flood = flood.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = flood.stdin.take().unwrap();
    // Every answer holds all tools; nobody reads them.
    let settings = json!({ "tools": { "tool_search": { "enabled": "off" } } });
    let tools: Vec<Value> = (0..200).map(|n| tool(&format!("t{n}"), &"word ".repeat(1000))).collect();
    let source = json!({ "name": "big", "kind": "mcp" });
    let mut send = move |id: u64, method: &str, params: Value| {
        writeln!(stdin, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    };
    send(0, "initialize", json!({ "settings": settings })).unwrap();
    send(1, "registry/register", json!({ "source": source, "tools": tools })).unwrap();
    while other.ask("status", json!({}))["result"]["connections"] != 2 {}
    // Until the relay is gone: its standard input breaks, as the daemon takes no more of it.
    let writer = thread::spawn(move || {
        let requests = (2..1000).map_while(|id| send(id, "assemble", json!({})).ok()).count();
        (requests, send)
    });
    while other.ask("status", json!({}))["result"]["connections"] != 1 {
        assert!(other.ask("assemble", json!({}))["result"]["etag"].is_string());
    }
    let daemon = other.pid();
    let mut answers = Vec::new();
    flood.stdout.take().unwrap().read_to_end(&mut answers).unwrap();
    assert!(answers.len() < 100 << 20, "no more than its cap was kept: {}", answers.len());
    let (requests, send) = writer.join().unwrap();
    assert!(requests > 60, "{requests}");
    drop(send);
    let mut errors = String::new();
    flood.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(flood.wait().unwrap().code(), Some(1));
    // By the daemon, or where its last word found no room either, by the relay.
    holds(&errors, &["host did not read"]);
    assert_eq!(other.pid(), daemon);
}

#[test]
fn a_flood_of_requests_does_not_stand_before_another_hosts() {
    /// What one connection may have in flight, were its requests kept waiting.
    const CAP: usize = 16_384;
    let site = Site::new();
    let (mut flood, mut other) = (site.ready(&[]), site.ready(&[]));
    let tools: Vec<Value> =
        (0..1500).map(|n| tool(&format!("t{n}"), &format!("Does this thing at length {n}"))).collect();
    [&mut flood, &mut other].into_iter().for_each(|host| host.register("big", json!(tools)));
    let call = |id: usize| {
        // Enough to do that requests are written faster than they are answered.
        let queries: Vec<String> = (0..5).map(|n| format!("does this thing at length {}", id + n)).collect();
        let params = json!({ "name": "tool_search", "arguments": { "queries": queries } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "bridge/call", "params": params })
    };
    let enough = Arc::new(AtomicBool::new(false));
    let (mut stdin, stop) = (flood.stdin.take().unwrap(), enough.clone());
    let writer = thread::spawn(move || {
        let mut ids = 1000..;
        while !stop.load(Ordering::Relaxed) {
            let requests: String = ids.by_ref().take(500).map(|id| format!("{}\n", call(id))).collect();
            stdin.write_all(requests.as_bytes()).unwrap();
        }
    });
    flood.receive();
    flood.messages.try_iter().for_each(drop);
    for id in 1000..1003 {
        other.send(call(id));
        assert!(other.answer_to(&json!(id))["result"].is_object());
    }
    let answered = flood.messages.try_iter().filter(|line| line.contains("\"result\"")).count();
    enough.store(true, Ordering::Relaxed);
    assert!(answered < CAP, "three requests waited for {answered} of the other host's");
    writer.join().unwrap();
}

#[test]
fn exit_codes_are_those_of_a_sidecar_of_its_own() {
    let site = Site::new();
    for (label, messages, code) in [
        ("end of input", vec![], Some(0)),
        ("shutdown and exit", vec![json!({ "id": 9, "method": "shutdown" }), json!({ "method": "exit" })], Some(0)),
        ("exit alone", vec![json!({ "method": "exit" })], Some(1)),
    ] {
        let mut host = site.ready(&[]);
        let by_itself = !messages.is_empty();
        for message in messages {
            let id = message.get("id").cloned();
            host.send(message);
            if let Some(id) = id {
                host.answer_to(&id);
            }
        }
        let ended = if by_itself { host.ended() } else { host.close() };
        assert_eq!(ended.0, code, "{label}: {}", ended.1);
    }
}

#[test]
fn what_comes_before_initialize_is_answered_without_a_daemon() {
    let site = Site::new();
    let mut host = site.relay(&[]);
    assert_eq!(host.ask("status", json!({}))["error"]["code"], -32002);
    assert!(site.files("sock").is_empty());
    host.initialize(json!({}));
    assert_eq!(host.ask("initialize", json!({}))["error"]["code"], -32600);
    assert_eq!(site.relay(&[]).close(), (Some(0), String::new()));
}

#[test]
fn the_framing_is_the_hosts() {
    let site = Site::new();
    let frame = |body: &str| format!("Content-Length: {}\r\n\r\n{body}", body.len());
    let mut child = site.command(&["serve", "--shared"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let shutdown = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
    // All in one write: what comes behind `initialize` must not be lost.
    stdin.write_all((frame(initialize) + &frame(shutdown)).as_bytes()).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut ids = Vec::new();
    for _ in 0..2 {
        let mut header = String::new();
        stdout.read_line(&mut header).unwrap();
        let length = header.trim_end().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
        stdout.read_line(&mut header).unwrap();
        assert!(header.ends_with("\r\n\r\n"));
        let mut body = vec![0; length];
        stdout.read_exact(&mut body).unwrap();
        ids.push(serde_json::from_slice::<Value>(&body).unwrap()["id"].as_i64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    stdin.write_all(frame(r#"{"jsonrpc":"2.0","method":"exit"}"#).as_bytes()).unwrap();
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    assert_eq!((rest, child.wait().unwrap().code()), (Vec::new(), Some(0)), "nothing but frames");
}

#[test]
fn other_workspaces_flags_and_users_have_other_daemons() {
    let site = Site::new();
    let elsewhere = site.path("elsewhere");
    fs::create_dir_all(elsewhere.join(".toolscout/registry")).unwrap();
    let tools = json!([tool("here", "Is only here")]).to_string();
    fs::write(elsewhere.join(".toolscout/registry/local.json"), tools).unwrap();
    let elsewhere = elsewhere.to_str().unwrap();
    let mut plain = site.ready(&[]);
    let mut named = site.relay(&[]);
    named.initialize(json!({ "workspace": elsewhere }));
    let mut uri = site.relay(&[]);
    uri.initialize(json!({ "workspace": format!("file://{elsewhere}") }));
    let mut flag = site.ready(&["--workspace", elsewhere]);
    let mut relative = site.relay(&["--workspace", "../elsewhere"]);
    relative.initialize(json!({ "workspace": "/nowhere" }));
    let mut trusted = site.ready(&["--trust-workspace"]);
    let mut other_config = Host::start(site.command(&["serve", "--shared"]).env("XDG_CONFIG_HOME", "/nowhere"));
    other_config.initialize(json!({}));
    let pids = [&mut plain, &mut named, &mut trusted, &mut other_config].map(Host::pid);
    let mut different = pids.to_vec();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 4, "{pids:?}");
    assert_eq!((uri.pid(), flag.pid()), (pids[1], pids[1]), "however the workspace is named");
    assert_eq!((named.sources(), relative.sources()), (vec!["local".to_owned()], vec!["local".to_owned()]));
    assert_eq!(plain.sources(), Vec::<String>::new());
}

#[test]
fn files_are_read_once_for_all_and_seen_at_once() {
    let site = Site::new();
    let (mut one, mut other) = (site.ready(&[]), site.ready(&[]));
    let registry = site.path("workspace/.toolscout/registry");
    fs::create_dir_all(&registry).unwrap();
    fs::write(registry.join("git.json"), json!([tool("tag", "Tags a commit")]).to_string()).unwrap();
    assert_eq!((one.sources(), other.sources()), (vec!["git".to_owned()], vec!["git".to_owned()]));
    fs::remove_file(registry.join("git.json")).unwrap();
    assert_eq!((one.sources(), other.sources()), (vec![], vec![]));
    let pid = one.pid();
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let names = threads.map(|task| fs::read_to_string(task.unwrap().path().join("comm")).unwrap());
    assert_eq!(names.filter(|name| name.trim() == "toolscout-files").count(), 1);
}

#[test]
fn the_daemon_has_nothing_of_the_process_that_started_it() {
    let site = Site::new();
    let mut command = site.command(&["serve", "--shared"]);
    let mut host = Host::start(command.env("API_TOKEN", "s3cret-value").env("TOOLSCOUT_LOG", "trace"));
    host.initialize(json!({}));
    let pid = host.pid();
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), Path::new("/"));
    let environment = fs::read_to_string(format!("/proc/{pid}/environ")).unwrap();
    assert!(!environment.contains("s3cret-value"), "{environment}");
    let session = |pid: i32| rustix::process::getsid(Pid::from_raw(pid)).unwrap();
    assert_eq!(session(pid).as_raw_nonzero().get(), pid, "a session of its own");
    for (number, expected) in [(0, "lock"), (1, "socket"), (2, "log")] {
        let open = fs::read_link(format!("/proc/{pid}/fd/{number}")).unwrap();
        assert!(open.to_str().unwrap().contains(expected), "{open:?}");
    }
    let log = fs::read_to_string(site.files("log").remove(0)).unwrap();
    let (_, errors) = host.close();
    assert!(!log.contains("s3cret-value") && !errors.contains("s3cret-value"), "{log}{errors}");
}

#[test]
fn a_folder_that_others_may_enter_is_refused() {
    let site = Site::new();
    let folder = site.path("run/toolscout");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut host = site.relay(&[]);
    let answer = host.ask("initialize", json!({}));
    assert_eq!(answer["error"]["code"], -32603);
    let (code, errors) = host.ended();
    assert_eq!(code, Some(1));
    for text in [&*errors, answer["error"]["message"].as_str().unwrap()] {
        holds(text, &["others may enter", "chmod 700", folder.to_str().unwrap()]);
    }
    let (code, _, errors) = site.run(&["status"]);
    assert_eq!(code, 0);
    holds(&errors, &["chmod 700"]);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn without_a_runtime_folder_the_temporary_one_serves() {
    let site = Site::new();
    let mut command = site.command(&["serve", "--shared", "--idle-exit", "0"]);
    let mut host = Host::start(command.env_remove("XDG_RUNTIME_DIR").env("TMPDIR", "."));
    host.initialize(json!({}));
    let daemon = watch(host.pid());
    let folder = site.path(&format!("workspace/toolscout-{}", rustix::process::geteuid().as_raw()));
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    assert_eq!(host.close(), (Some(0), String::new()));
    daemon.wait();
}

#[test]
fn files_are_the_users_alone() {
    let site = Site::new();
    let _host = site.ready(&[]);
    let mode = |path: &Path| fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&site.path("run/toolscout")), 0o700);
    for extension in ["sock", "lock", "log"] {
        assert_eq!(mode(&site.files(extension)[0]), 0o600, "{extension}");
    }
}

#[test]
fn a_path_too_long_for_a_socket_is_said() {
    let site = Site::new();
    let long = site.path("run").join("x".repeat(100));
    fs::create_dir(&long).unwrap();
    let mut host = Host::start(site.command(&["serve", "--shared"]).env("XDG_RUNTIME_DIR", &long));
    assert_eq!(host.ask("initialize", json!({}))["error"]["code"], -32603);
    let (code, errors) = host.ended();
    assert_eq!(code, Some(1));
    holds(&errors, &["XDG_RUNTIME_DIR", "107"]);
}

#[test]
fn a_daemon_of_another_version_is_not_met() {
    let site = Site::new();
    let mut first = site.ready(&[]);
    let daemon = watch(first.pid());
    let (socket, lock) = (site.files("sock").remove(0), site.files("lock").remove(0));
    assert_eq!(site.run(&["stop"]).0, 0);
    daemon.wait();
    // Such a one could only be there by a mistake: its name has its version in it.
    let held = File::create(&lock).unwrap();
    held.lock().unwrap();
    let listener = UnixListener::bind(&socket).unwrap();
    let stranger = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut hello = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut hello).unwrap();
        writeln!(stream, "{}", json!({ "version": "9.9.9", "pid": 7, "connections": 0, "uptimeMs": 1 })).unwrap();
        serde_json::from_str::<Value>(&hello).unwrap()
    });
    let mut host = site.relay(&[]);
    assert_eq!(host.ask("initialize", json!({}))["error"]["code"], -32603);
    let (code, errors) = host.ended();
    assert_eq!(code, Some(1));
    holds(&errors, &["of version 9.9.9, not", "process 7"]);
    assert_eq!(stranger.join().unwrap(), json!({ "version": env!("CARGO_PKG_VERSION"), "want": "serve" }));
}

#[test]
fn stop_ends_what_serves_the_workspace() {
    let site = Site::new();
    fs::create_dir(site.path("elsewhere")).unwrap();
    let elsewhere = site.path("elsewhere").to_str().unwrap().to_owned();
    let (mut here, mut there) = (site.ready(&[]), site.ready(&["--workspace", &elsewhere]));
    let (pid, other) = (here.pid(), there.pid());
    let daemon = watch(pid);
    let (code, out, err) = site.run(&["stop"]);
    assert_eq!((code, &*err), (0, ""));
    holds(&out, &["Ended", &pid.to_string(), site.path("workspace").to_str().unwrap()]);
    daemon.wait();
    let (code, errors) = here.ended();
    assert_eq!(code, Some(1));
    holds(&errors, &["the shared sidecar ended the connection: it was stopped"]);
    assert_eq!(there.pid(), other, "another workspace's goes on");
    holds(&site.run(&["stop"]).1, &["No shared sidecar of"]);
    let stopped: Value = serde_json::from_str(&site.run(&["stop", "--all", "--json"]).1).unwrap();
    assert_eq!((&stopped[0]["pid"], stopped.as_array().unwrap().len()), (&json!(other), 1));
    assert_eq!(there.ended().0, Some(1));
    assert_eq!(site.run(&["stop", "--all"]), (0, "No shared sidecar runs.\n".to_owned(), String::new()));
}

#[test]
fn signals_end_relays_and_what_they_share_in_order() {
    let site = Site::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (mut one, other) = (site.ready(&[]), site.ready(&[]));
        let pid = one.pid();
        let daemon = watch(pid);
        kill_process(Pid::from_raw(other.child.id() as i32).unwrap(), signal).unwrap();
        assert_eq!(other.ended().0, Some(0), "{signal:?}: of a relay as the end of its input");
        assert_eq!(one.pid(), pid, "{signal:?}: which ends nobody else");
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        daemon.wait();
        let (code, errors) = one.ended();
        assert_eq!(code, Some(1));
        holds(&errors, &["the shared sidecar ended the connection: it was stopped"]);
        assert_eq!(site.files("sock"), Vec::<PathBuf>::new(), "{signal:?}: nothing is left behind");
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let site = Site::new();
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$0\" serve", env!("CARGO_BIN_EXE_toolscout")]);
    nohup.current_dir(site.path("workspace")).env("XDG_CONFIG_HOME", site.path("config"));
    let mut host = Host::start(&mut nohup);
    host.initialize(json!({}));
    kill_process(Pid::from_raw(host.child.id() as i32).unwrap(), Signal::HUP).unwrap();
    host.pid();
    assert_eq!(host.close().0, Some(0));
}

#[test]
fn status_shows_what_runs() {
    let site = Site::new();
    assert!(!site.run(&["status"]).1.contains("Shared sidecars"));
    let mut host = site.ready(&[]);
    let pid = host.pid().to_string();
    let (code, out, _) = site.run(&["status"]);
    assert_eq!(code, 0);
    let row = out.lines().find(|line| line.trim_start().starts_with(&pid)).unwrap_or_else(|| panic!("{out}"));
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[1..4], [site.path("workspace").to_str().unwrap(), env!("CARGO_PKG_VERSION"), "1"]);
}

#[test]
fn wrong_usage_is_said() {
    let site = Site::new();
    for args in [
        &["serve", "--idle-exit", "1"][..],
        &["serve", "--shared", "--listen", "ws://127.0.0.1:0"],
        &["serve", "--listen", "ws://0.0.0.0:0"],
        &["serve", "--listen", "tcp:1"],
        &["serve", "--shared", "--idle-exit", "-1"],
    ] {
        let (code, out, err) = site.run(args);
        assert_eq!((code, &*out), (2, ""), "{args:?}: {err}");
        assert!(err.starts_with("error: "), "{err}");
    }
    let (code, out, err) = site.run(&["serve", "--daemon"]);
    assert_eq!((code, &*out), (1, ""));
    holds(&err, &["was not given the lock"]);
}

/// A sidecar that listens; killed when it goes.
struct Listening {
    child: Child,
    ready: Value,
}

impl Listening {
    fn start(site: &Site, args: &[&str]) -> Self {
        let mut child = site.command(args).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        Self { child, ready: ready["ready"].clone() }
    }

    fn url(&self) -> &str {
        self.ready["url"].as_str().unwrap()
    }

    fn token(&self) -> &str {
        self.ready["token"].as_str().unwrap()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_unix_socket_serves_many() {
    let site = Site::new();
    let path = site.path("own/toolscout.sock");
    let address = format!("unix:{}", path.display());
    let args = ["serve", "--listen", &address, "--idle-exit", "0"];
    let mut listening = Listening::start(&site, &args);
    assert_eq!(listening.ready, json!({ "url": address }));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(site.path("own")).unwrap().permissions().mode() & 0o777, 0o700);
    let (code, _, errors) = site.run(&args);
    assert_eq!(code, 1);
    holds(&errors, &["another sidecar listens on"]);
    let mut streams = [0, 1].map(|_| UnixStream::connect(&path).unwrap());
    let ask = |stream: &mut UnixStream, message: Value| {
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        writeln!(stream, "{message}").unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    for stream in &mut streams {
        ask(stream, json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {} }));
        let status = ask(stream, json!({ "jsonrpc": "2.0", "id": 2, "method": "status" }));
        assert_eq!(status["result"]["pid"], listening.child.id());
    }
    drop(streams);
    assert_eq!(listening.child.wait().unwrap().code(), Some(0), "idle");
    assert_eq!(fs::read_dir(site.path("own")).unwrap().count(), 0);
}

#[test]
fn a_unix_socket_lies_in_a_folder_of_ones_own_and_replaces_nothing_else() {
    let site = Site::new();
    let listen = |path: &Path| site.run(&["serve", "--listen", &format!("unix:{}", path.display())]);
    fs::set_permissions(site.path("config"), fs::Permissions::from_mode(0o755)).unwrap();
    let (code, _, errors) = listen(&site.path("config/x.sock"));
    assert_eq!(code, 1);
    holds(&errors, &["chmod 700"]);
    fs::set_permissions(site.path("run"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(site.path("run/file"), "kept").unwrap();
    let (code, _, errors) = listen(&site.path("run/file"));
    assert_eq!((code, fs::read_to_string(site.path("run/file")).unwrap()), (1, "kept".to_owned()));
    holds(&errors, &["is no socket"]);
}

type Client = WebSocket<TcpStream>;

/// Opens a WebSocket with these headers; else the status of the refusal.
fn open(url: &str, headers: &[(&'static str, &str)]) -> Result<(Client, Option<String>), u16> {
    let mut request = url.into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    let stream = TcpStream::connect(url.strip_prefix("ws://").unwrap()).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    match tungstenite::client(request, stream) {
        Ok((socket, response)) => {
            let agreed = response.headers().get("sec-websocket-protocol");
            Ok((socket, agreed.map(|name| name.to_str().unwrap().to_owned())))
        }
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
            Err(response.status().as_u16())
        }
        Err(error) => panic!("{error}"),
    }
}

fn ask(socket: &mut Client, message: &str) -> Value {
    socket.send(Message::text(message)).unwrap();
    loop {
        if let Message::Text(text) = socket.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;

#[test]
fn a_websocket_wants_its_token_and_no_strange_origin() {
    let site = Site::new();
    let page = "http://localhost:3000";
    let listening = Listening::start(&site, &["serve", "--listen", "ws://127.0.0.1:0", "--allow-origin", page]);
    let (url, token) = (listening.url(), listening.token());
    let (bearer, name) = (format!("Bearer {token}"), format!("toolscout.{token}"));
    assert!(url.starts_with("ws://127.0.0.1:") && token.len() == 64, "{}", listening.ready);
    let (authorization, protocol) = ("authorization", "sec-websocket-protocol");
    for (label, headers, expected) in [
        ("no token", vec![], Err(401)),
        ("a wrong one", vec![(authorization, "Bearer 0")], Err(401)),
        ("a wrong subprotocol", vec![(protocol, "toolscout.0")], Err(401)),
        ("a strange origin", vec![(authorization, &*bearer), ("origin", "http://evil.example")], Err(403)),
        ("bearer", vec![(authorization, &bearer)], Ok(None)),
        ("subprotocol", vec![(protocol, &name)], Ok(Some(name.clone()))),
        ("an allowed origin", vec![(protocol, &name), ("origin", page)], Ok(Some(name.clone()))),
    ] {
        assert_eq!(open(url, &headers).map(|(_, agreed)| agreed), expected, "{label}");
    }
}

#[test]
fn a_websocket_serves_as_a_pipe_does() {
    let site = Site::new();
    let mut listening = Listening::start(&site, &["serve", "--listen", "ws://127.0.0.1:0", "--idle-exit", "0"]);
    let bearer = format!("Bearer {}", listening.token());
    let open = || open(listening.url(), &[("authorization", &bearer)]).unwrap().0;
    let (mut one, mut other) = (open(), open());
    for socket in [&mut one, &mut other] {
        assert!(ask(socket, INITIALIZE)["result"].is_object());
    }
    let mut small = open();
    let settings = json!({ "max_message_bytes": 1024 });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": { "settings": settings } });
    assert!(ask(&mut small, &initialize.to_string())["result"].is_object());
    let long = json!({ "jsonrpc": "2.0", "id": 8, "method": "x".repeat(2000) }).to_string();
    let answer = ask(&mut small, &long);
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(8), &json!(-32040)), "and it goes on:");
    assert_eq!(ask(&mut small, r#"{"jsonrpc":"2.0","id":9,"method":"shutdown"}"#)["id"], 9);
    drop(small);
    while ask(&mut one, r#"{"jsonrpc":"2.0","id":2,"method":"status"}"#)["result"]["connections"] != 2 {}
    let status = ask(&mut one, r#"{"jsonrpc":"2.0","id":2,"method":"status"}"#);
    assert_eq!((&status["result"]["connections"], &status["result"]["pid"]), (&json!(2), &json!(listening.child.id())));
    // Several lines, an empty message, no JSON, and a batch: each message for itself.
    assert_eq!(ask(&mut one, "{\n\"jsonrpc\":\"2.0\",\r\n\"id\":3,\n\"method\":\"shutdown\"\n}")["id"], 3);
    assert_eq!(ask(&mut one, "")["error"]["code"], -32700);
    assert_eq!(ask(&mut one, "Content-Length: 2")["error"]["code"], -32700);
    assert_eq!(ask(&mut other, r#"[{"jsonrpc":"2.0","id":4,"method":"nope"}]"#)[0]["error"]["code"], -32601);
    other.send(Message::Ping("still there?".into())).unwrap();
    assert_eq!(other.read().unwrap(), Message::Pong("still there?".into()));
    let many: Vec<Value> = (0..3000).map(|n| tool(&format!("t{n}"), "Does what it does, at length")).collect();
    let params = json!({ "source": { "name": "big", "kind": "mcp" }, "tools": many });
    let register = json!({ "jsonrpc": "2.0", "id": 5, "method": "registry/register", "params": params }).to_string();
    assert_eq!(ask(&mut other, &register)["result"]["accepted"], 3000);
    let listed = ask(&mut other, r#"{"jsonrpc":"2.0","id":6,"method":"registry/list","params":{"tools":true}}"#);
    assert_eq!(listed["result"]["sources"][0]["toolCount"], 3000);
    one.send(Message::text(r#"{"jsonrpc":"2.0","method":"exit"}"#)).unwrap();
    assert!(matches!(one.read().unwrap(), Message::Close(_)));
    other.close(None).unwrap();
    while other.read().is_ok() {}
    assert_eq!(listening.child.wait().unwrap().code(), Some(0), "idle");
    let mut out = String::new();
    listening.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    assert_eq!(out, "", "nothing on standard output");
}

#[test]
fn a_pipe_that_somebody_made_non_blocking_is_read() {
    let site = Site::new();
    for args in [&["serve"][..], &["serve", "--shared"]] {
        let (read, mut write) = std::io::pipe().unwrap();
        rustix::fs::fcntl_setfl(&read, rustix::fs::OFlags::NONBLOCK).unwrap();
        let mut child = site.command(args).stdin(read).stdout(Stdio::piped()).spawn().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        for id in 1..=3 {
            let method = if id == 1 { "initialize" } else { "status" };
            writeln!(write, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method })).unwrap();
            let answer: Value = serde_json::from_str(&answers.next().expect("an answer").unwrap()).unwrap();
            assert_eq!((&answer["id"], answer.get("error")), (&json!(id), None), "{args:?}");
        }
        drop(write);
        assert!(child.wait().unwrap().success(), "{args:?}");
    }
}
