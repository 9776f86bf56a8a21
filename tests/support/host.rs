//! A sidecar of one's own over pipes, as a host has it, with a folder for its files.
#![allow(dead_code, reason = "each test uses its part")]

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// What is never reached unless something is broken.
const DEADLINE: Duration = Duration::from_secs(30);

/// A user's and a workspace's folder.
pub struct Files(TempDir);

impl Files {
    pub fn new() -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        fs::create_dir(files.at("work")).unwrap();
        files
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Writes in place, as `>` of a shell does; folders are made.
    #[track_caller]
    pub fn write(&self, path: &str, text: impl ToString) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.to_string()).unwrap();
        path
    }

    /// Writes beside and renames, as editors do.
    pub fn save(&self, path: &str, text: impl ToString) {
        let beside = self.write(&format!("{path}~"), text);
        fs::rename(beside, self.at(path)).unwrap();
    }

    /// A sidecar that looks for its files here.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolscout"));
        command.arg("serve").current_dir(self.at("work"));
        command.env("XDG_CONFIG_HOME", self.at("config")).env("XDG_CACHE_HOME", self.at("cache"));
        command.env_remove("TOOLSCOUT_LOG");
        command
    }

    /// The same, running and initialized.
    pub fn sidecar(&self) -> Sidecar {
        Sidecar::new(self.command())
    }
}

/// A running sidecar; ends when it is dropped.
pub struct Sidecar {
    /// Its process, if it is one of its own.
    child: Option<Child>,
    /// The connection to it, if it is another's.
    stream: Option<UnixStream>,
    input: Option<Box<dyn Write>>,
    messages: Receiver<Value>,
    notes: VecDeque<Value>,
    id: u64,
    /// The result of `initialize`.
    pub opened: Value,
}

impl Sidecar {
    pub fn new(command: Command) -> Self {
        Self::open(command, json!({}))
    }

    /// One that is initialized with these parameters.
    pub fn open(mut command: Command, params: Value) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self::initialized(input, output, params, Some(child), None)
    }

    /// A connection to one that serves others too.
    pub fn over(stream: UnixStream, params: Value) -> Self {
        let [input, output] = [(), ()].map(|()| stream.try_clone().unwrap());
        Self::initialized(input, output, params, None, Some(stream))
    }

    fn initialized(
        input: impl Write + 'static,
        output: impl Read + Send + 'static,
        params: Value,
        child: Option<Child>,
        stream: Option<UnixStream>,
    ) -> Self {
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let input: Option<Box<dyn Write>> = Some(Box::new(input));
        let mut sidecar = Self { child, stream, input, messages, notes: VecDeque::new(), id: 0, opened: Value::Null };
        sidecar.opened = sidecar.request("initialize", params);
        sidecar
    }

    /// Sends a request without waiting for its answer.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.id += 1;
        self.write(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }));
        self.id
    }

    fn write(&mut self, message: &Value) {
        self.input.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Answers the next request of this kind, and gives its parameters; what came before it is dropped.
    #[track_caller]
    pub fn reply(&mut self, method: &str, result: Value) -> Value {
        let mut asked = self.next(method);
        self.write(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
        asked["params"].take()
    }

    /// Tells something that has no answer.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Closes its standard input; its answers can still be read.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits until it has ended of itself, and gives its exit code.
    pub fn ended(mut self) -> Option<i32> {
        self.child.as_mut().unwrap().wait().unwrap().code()
    }

    /// Closes its standard input and waits until it has ended.
    pub fn close(mut self) {
        self.input = None;
        self.child.as_mut().unwrap().wait().unwrap();
    }

    /// The result of a request that was sent.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        let deadline = Instant::now() + DEADLINE;
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        // It may have come while another was waited for.
        let mut early = self.notes.iter().position(is_it).and_then(|at| self.notes.remove(at));
        loop {
            let mut message = early.take().unwrap_or_else(|| self.receive(deadline).expect("an answer in time"));
            if is_it(&message) {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].take();
            }
            self.notes.push_back(message);
        }
    }

    /// The results of requests that were sent, in their order. What the host is asked to approve meanwhile, it does.
    #[track_caller]
    pub fn approved(&mut self, ids: &[u64]) -> Vec<Value> {
        let deadline = Instant::now() + DEADLINE;
        let mut results = vec![Value::Null; ids.len()];
        while results.contains(&Value::Null) {
            let mut message = self.notes.pop_front().or_else(|| self.receive(deadline)).expect("answers in time");
            if message["method"] == "host/approve" {
                self.write(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "decision": "allow" } }));
            } else if let Some(at) = ids.iter().position(|id| message["method"].is_null() && message["id"] == *id) {
                assert!(message.get("error").is_none(), "{message}");
                results[at] = message["result"].take();
            }
        }
        results
    }

    /// The error of a request that was sent.
    #[track_caller]
    pub fn refusal(&mut self, id: u64) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let mut message = self.receive(deadline).expect("an answer in time");
            if message["id"] == id {
                assert!(message.get("result").is_none(), "{message}");
                return message["error"].take();
            }
            self.notes.push_back(message);
        }
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn receive(&self, deadline: Instant) -> Option<Value> {
        self.messages.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// Parameters of the next notification of this kind; others before it are dropped.
    #[track_caller]
    pub fn note(&mut self, method: &str) -> Value {
        self.next(method)["params"].take()
    }

    #[track_caller]
    fn next(&mut self, method: &str) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let next = self.notes.pop_front().or_else(|| self.receive(deadline));
            let next = next.unwrap_or_else(|| panic!("no {method} in time"));
            if next["method"] == method {
                return next;
            }
        }
    }

    /// Notifications of a kind that have come by now.
    pub fn notes(&mut self, method: &str) -> Vec<Value> {
        // What was sent before this answer has come by now.
        self.request("config/get", json!({}));
        let notes = std::mem::take(&mut self.notes);
        notes.into_iter().filter(|note| note["method"] == method).map(|mut note| note["params"].take()).collect()
    }

    /// Visible names of all tools, sorted.
    #[track_caller]
    pub fn tools(&mut self) -> Vec<String> {
        let listed = self.request("registry/list", json!({ "tools": true }));
        let sources = listed["sources"].as_array().unwrap().iter();
        let tools = sources.flat_map(|source| source["tools"].as_array().unwrap());
        let mut names: Vec<String> = tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(stream) = &self.stream {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Whether the paths are the same place; the sidecar names them as they were named to it.
pub fn is_at(named: &Value, path: &Path) -> bool {
    Path::new(named.as_str().unwrap_or_default()) == path
}
