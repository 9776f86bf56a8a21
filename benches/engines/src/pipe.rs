//! Toolscout behind its pipe, and beside it the null server, which is given the very bytes that Toolscout answered.
//! Operations of the latter begin with `null `. One request is out at a time.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Fallible;
use crate::catalog_file::{CHANGED_WORD, Inputs};
use crate::measure::{Bounds, Outcome, Program, resident, times, times_with};

/// How frames are told apart.
#[derive(Clone, Copy, PartialEq)]
pub enum Framing {
    Lines,
    Headers,
}

impl Framing {
    fn frame(self, body: &[u8]) -> Vec<u8> {
        match self {
            Self::Lines => [body, b"\n"].concat(),
            Self::Headers => [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat(),
        }
    }
}

/// A server with its pipe. It ends with this value.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    framing: Framing,
    line: Vec<u8>,
    body: Vec<u8>,
}

impl Server {
    fn start(command: &mut Command, framing: Framing) -> Fallible<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let input = child.stdin.take().ok_or("no standard input")?;
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().ok_or("no standard output")?);
        Ok(Self { child, input, output, framing, line: Vec::new(), body: Vec::new() })
    }

    /// Sends a frame; what comes back, notifications left out.
    fn ask(&mut self, frame: &[u8]) -> Fallible<&[u8]> {
        self.input.write_all(frame)?;
        loop {
            self.read()?;
            if self.body.starts_with(b"{\"jsonrpc\":\"2.0\",\"id\":") {
                return Ok(&self.body);
            }
        }
    }

    fn read(&mut self) -> Fallible<()> {
        let mut length = 0;
        loop {
            self.line.clear();
            if self.output.read_until(b'\n', &mut self.line)? == 0 {
                return Err("the server has ended".into());
            }
            if self.framing == Framing::Lines {
                std::mem::swap(&mut self.line, &mut self.body);
                self.body.pop();
                return Ok(());
            }
            if self.line == b"\r\n" {
                break;
            }
            if let Some(number) = self.line.strip_prefix(b"Content-Length: ") {
                length = std::str::from_utf8(number)?.trim().parse()?;
            }
        }
        self.body.resize(length, 0);
        self.output.read_exact(&mut self.body)?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Pipe {
    framing: Framing,
    binary: PathBuf,
    folder: PathBuf,
    /// The two contents of the registry file.
    contents: [Vec<u8>; 2],
    /// The frames of each operation, sent in turn.
    frames: HashMap<&'static str, Vec<Vec<u8>>>,
    toolscout: Option<Server>,
    /// A null server an operation, once Toolscout has answered it.
    null: HashMap<&'static str, Server>,
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"capabilities":{}}}"#;

/// Operations that are a request and its answer.
const ROUND_TRIPS: [&str; 4] = ["search", "unknown", "assemble", "describe"];

fn request(method: &str, params: Value) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).to_string().into_bytes()
}

fn search(query: &str) -> Vec<u8> {
    request("bridge/call", json!({"name": "tool_search", "arguments": {"queries": [query]}}))
}

fn contains(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|window| window == part.as_bytes())
}

impl Pipe {
    pub fn new(framing: Framing, binary: PathBuf, folder: PathBuf, inputs: Inputs) -> Fallible<Self> {
        let contents = [std::fs::read(&inputs.catalog)?, std::fs::read(&inputs.changed)?];
        let folder = folder.join(if framing == Framing::Lines { "lines" } else { "headers" });
        std::fs::create_dir_all(folder.join("workspace"))?;
        let frame = |body: Vec<u8>| framing.frame(&body);
        let describe = json!({"name": "tool_describe", "arguments": {"names": inputs.names}});
        let register = |description: &str| {
            let tool = json!({"name": "changing", "description": description, "inputSchema": {"type": "object"}});
            let source = json!({"name": "changing", "kind": "mcp"});
            request("registry/register", json!({"source": source, "tools": [tool]}))
        };
        let frames = HashMap::from([
            ("initialize", vec![frame(INITIALIZE.into())]),
            ("search", inputs.queries.iter().map(|query| frame(search(query))).collect()),
            ("unknown", vec![frame(search(&inputs.unknown))]),
            ("describe", vec![frame(request("bridge/call", describe))]),
            ("change", vec![frame(register("one thing")), frame(register("another thing"))]),
        ]);
        let pipe = Self { framing, binary, folder, contents, frames, toolscout: None, null: HashMap::new() };
        pipe.replace_file(0)?;
        Ok(pipe)
    }

    fn registry(&self) -> PathBuf {
        self.folder.join("registry.json")
    }

    /// Writes a content beside the registry file; the rename is left to do.
    fn beside(&self, content: usize) -> Fallible<PathBuf> {
        let beside = self.folder.join("registry.new");
        std::fs::write(&beside, &self.contents[content % 2])?;
        Ok(beside)
    }

    fn replace_file(&self, content: usize) -> Fallible<()> {
        Ok(std::fs::rename(self.beside(content)?, self.registry())?)
    }

    fn start(&self) -> Fallible<Server> {
        self.start_with(Some(&self.registry()))
    }

    fn start_with(&self, registry: Option<&Path>) -> Fallible<Server> {
        let mut command = Command::new(&self.binary);
        command.arg("serve");
        if let Some(registry) = registry {
            command.arg("--registry").arg(registry);
        }
        command.arg("--workspace").arg(self.folder.join("workspace"));
        command.env("XDG_CONFIG_HOME", self.folder.join("workspace"));
        Server::start(&mut command, self.framing)
    }

    fn null_binary() -> Fallible<PathBuf> {
        Ok(std::env::current_exe()?.with_file_name("null"))
    }

    fn start_null(&self, answers: &Path) -> Fallible<Server> {
        let framing = if self.framing == Framing::Lines { "lines" } else { "headers" };
        Server::start(Command::new(Self::null_binary()?).arg(framing).arg(answers), self.framing)
    }

    fn write_answers(&self, op: &str, answers: &[Vec<u8>]) -> Fallible<PathBuf> {
        let mut file = Vec::new();
        for answer in answers {
            let frame = self.framing.frame(answer);
            file.extend_from_slice(&(frame.len() as u64).to_le_bytes());
            file.extend_from_slice(&frame);
        }
        let path = self.folder.join(format!("{op}.answers"));
        std::fs::write(&path, file)?;
        Ok(path)
    }

    /// Starts the Toolscout that all but `load` and `initialize` ask, and null servers with its answers.
    fn first(&mut self) -> Fallible<Outcome> {
        let base = {
            let mut idle = self.start_with(None)?;
            idle.ask(&self.frames["initialize"][0])?;
            idle.ask(&self.frames["search"][0])?;
            resident(&idle.child.id().to_string())?
        };
        let mut server = self.start()?;
        let hello = server.ask(&self.frames["initialize"][0])?.to_vec();
        let found = server.ask(&self.frames["search"][0])?.to_vec();
        let id = server.child.id().to_string();
        let memory = json!({"bytes": resident(&id)?, "base": base});
        self.write_answers("initialize", std::slice::from_ref(&hello))?;
        self.write_answers("load", &[hello, found])?;

        let assembled = server.ask(&self.framing.frame(&request("assemble", json!({"contextLength": 200_000}))))?;
        let assembled: Value = serde_json::from_slice(assembled)?;
        let etag = &assembled["result"]["etag"];
        let unchanged = request("assemble", json!({"contextLength": 200_000, "ifEtag": etag}));
        self.frames.insert("assemble", vec![self.framing.frame(&unchanged)]);
        for op in ROUND_TRIPS {
            let mut answers = Vec::new();
            for frame in &self.frames[op] {
                let answer = server.ask(frame)?.to_vec();
                let expected = match op {
                    "search" => "\"matches\":[\"",
                    "unknown" => "\"matches\":[]",
                    "assemble" => "\"unchanged\":true",
                    _ => "\"parameters\":{",
                };
                if !contains(&answer, expected) || contains(&answer, "\"not_found\"") {
                    return Err(format!("{op} was answered with {}", String::from_utf8_lossy(&answer)).into());
                }
                answers.push(answer);
            }
            let null = self.start_null(&self.write_answers(op, &answers)?)?;
            self.null.insert(op, null);
        }
        self.toolscout = Some(server);
        Ok(Outcome::Other(memory))
    }

    fn null(&mut self, op: &str, bounds: Bounds) -> Fallible<Outcome> {
        if op == "first" {
            let null = self.null.get("search").ok_or("Toolscout answered nothing that it could answer")?;
            return Ok(Outcome::Other(json!({"bytes": resident(&null.child.id().to_string())?, "base": 0})));
        }
        if op == "load" || op == "initialize" {
            let answers = self.folder.join(format!("{op}.answers"));
            return times(bounds, |_| {
                let mut server = self.start_null(&answers)?;
                server.ask(&self.frames["initialize"][0])?;
                if op == "load" {
                    server.ask(&self.frames["search"][0])?;
                }
                Ok(server)
            });
        }
        match self.null.get_mut(op) {
            Some(server) => {
                let frames = &self.frames[op];
                times(bounds, |n| Ok(server.ask(&frames[n % frames.len()])?.len()))
            }
            None => Ok(Outcome::Cannot("no work")),
        }
    }

    /// From a rename of the file to the first answer out of its new content.
    fn rename(&self, server: &mut Server, bounds: Bounds) -> Fallible<Outcome> {
        let frame = self.framing.frame(&search(CHANGED_WORD));
        let outcome = times_with(
            bounds,
            |n| {
                let content = (n + 1) % 2;
                Ok((content, self.beside(content)?))
            },
            |(content, beside)| {
                std::fs::rename(beside, self.registry())?;
                let asked = Instant::now();
                while contains(server.ask(&frame)?, "\"matches\":[]") == (content == 1) {
                    if asked.elapsed() > Duration::from_secs(10) {
                        return Err("the new content is not seen within ten seconds".into());
                    }
                }
                Ok(())
            },
        );
        self.replace_file(0)?;
        outcome
    }

    /// Searches while the file is replaced over and over.
    fn busy(&self, server: &mut Server, bounds: Bounds) -> Fallible<Outcome> {
        let stop = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            let writes = scope.spawn(|| {
                let mut content = 0;
                while !stop.load(Ordering::Relaxed) {
                    content += 1;
                    let _ = self.replace_file(content);
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            let frames = &self.frames["search"];
            let outcome = times(bounds, |n| Ok(server.ask(&frames[n % frames.len()])?.len()));
            stop.store(true, Ordering::Relaxed);
            let _ = writes.join();
            outcome
        });
        self.replace_file(0)?;
        server.ask(&self.frames["search"][0])?;
        outcome
    }

    fn change(&self, server: &mut Server, bounds: Bounds) -> Fallible<Outcome> {
        let (changes, assemble) = (&self.frames["change"], &self.frames["assemble"][0]);
        server.ask(&changes[1])?;
        let outcome = times(bounds, |n| {
            server.ask(&changes[n % 2])?;
            Ok(server.ask(assemble)?.len())
        });
        server.ask(&self.framing.frame(&request("registry/unregister", json!({"source": "changing"}))))?;
        outcome
    }
}

impl Program for Pipe {
    fn run(&mut self, op: &str, bounds: Bounds) -> Fallible<Outcome> {
        if let Some(op) = op.strip_prefix("null ") {
            return self.null(op, bounds);
        }
        match op {
            "first" => return self.first(),
            "load" | "initialize" => {
                return times(bounds, |_| {
                    let mut server = self.start()?;
                    server.ask(&self.frames["initialize"][0])?;
                    if op == "load" {
                        server.ask(&self.frames["search"][0])?;
                    }
                    Ok(server)
                });
            }
            _ => {}
        }
        let mut server = self.toolscout.take().ok_or("not started")?;
        let outcome = match op {
            "rename" => self.rename(&mut server, bounds),
            "busy" => self.busy(&mut server, bounds),
            "change" => self.change(&mut server, bounds),
            op => match self.frames.get(op) {
                Some(frames) => times(bounds, |n| Ok(server.ask(&frames[n % frames.len()])?.len())),
                None => Ok(Outcome::Cannot("in process only")),
            },
        };
        self.toolscout = Some(server);
        outcome
    }
}
