//! A host that starts a relay, asks through it, judges each answer, and ends in one of several ways.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answer::{Question, Version};
use crate::editor::mark;
use crate::history::Seen;
use crate::random::Random;
use crate::site::{DEADLINE, Site};

/// After so long a request is answered from the last good snapshot if files do not answer (protocol, Lifecycle).
const PATIENCE: Duration = Duration::from_secs(2);

/// What a client did.
#[derive(Debug, Default)]
pub struct Tally {
    pub requests: u64,
    /// Its relays that it killed.
    pub kills: u64,
    /// Its relays that lost their daemon.
    pub lost: u64,
    /// Answers that came after [`PATIENCE`].
    pub late: u64,
    pub slowest: Duration,
}

/// The connection ended.
struct Gone;

/// Asks until the end, over one connection after the other.
pub fn run(site: &Site, client: u64, random: &mut Random) -> Tally {
    let mut tally = Tally::default();
    while !site.is_over() {
        Connection::open(site, client, &mut tally).live(random);
    }
    tally
}

struct Connection<'a> {
    site: &'a Site,
    client: u64,
    tally: &'a mut Tally,
    relay: Child,
    stdin: Option<ChildStdin>,
    /// Messages and when they came, until standard output ends.
    messages: Receiver<(Instant, String)>,
    last: u64,
    waiting: HashMap<u64, Asked>,
    /// What it was shown last of each file.
    seen: [Option<Seen>; 3],
    revision: u64,
    /// Versions of the registries that it was shown last.
    versions: [Version; 2],
    etag: Option<(String, [Version; 2])>,
    daemon: Option<i32>,
    /// How many daemons had died when it began.
    deaths: u64,
}

/// A request that waits for its answer.
struct Asked {
    question: Question,
    at: Instant,
    /// States of the files that the answer must not lie before.
    floor: [usize; 3],
    /// What [`Connection::seen`] was.
    seen: [Option<Seen>; 3],
    revision: u64,
}

impl<'a> Connection<'a> {
    fn open(site: &'a Site, client: u64, tally: &'a mut Tally) -> Self {
        let deaths = site.deaths();
        let mut command = site.command(&["serve", "--shared", "--idle-exit", "3"]);
        let mut relay =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a relay");
        let stdout = BufReader::new(relay.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Self {
            site,
            client,
            tally,
            stdin: relay.stdin.take(),
            relay,
            messages,
            last: 0,
            waiting: HashMap::new(),
            seen: [None; 3],
            revision: 0,
            versions: [None; 2],
            etag: None,
            daemon: None,
            deaths,
        }
    }

    fn live(mut self, random: &mut Random) {
        match self.converse(random) {
            Err(Gone) => self.end_excused(),
            Ok(()) if random.within(0..2) == 0 && !self.site.is_over() => self.end_killed(),
            Ok(()) => self.end_politely(),
        }
    }

    /// Asks a random number of questions, some of which are still open at the end.
    fn converse(&mut self, random: &mut Random) -> Result<(), Gone> {
        for question in [Question::Initialize, Question::Register, Question::Status] {
            self.ask(question)?;
        }
        self.receive_all()?;
        for _ in 0..random.within(20..400) {
            if self.site.is_over() {
                break;
            }
            let question = self.question(random);
            self.ask(question)?;
            let open = random.within(0..4) as usize;
            while self.waiting.len() > open {
                self.receive()?;
            }
            self.site.pause(random.millis(2..25));
        }
        Ok(())
    }

    fn question(&self, random: &mut Random) -> Question {
        match random.within(0..12) {
            0..=3 => Question::Assemble(self.etag.clone().filter(|_| random.within(0..2) == 0)),
            4..=6 => Question::Search,
            7..=8 => {
                let (source, letter) = [("alpha", 'a'), ("beta", 'b')][random.within(0..2) as usize];
                let version = self.versions[usize::from(letter == 'b')].unwrap_or(1);
                let number = random.within(0..8);
                Question::Describe(format!("mcp__{source}__fetch_{number}_{}", mark(letter, version)))
            }
            9 => Question::List,
            10 => Question::Config,
            _ => Question::Status,
        }
    }

    fn ask(&mut self, question: Question) -> Result<(), Gone> {
        self.last += 1;
        let (method, params) = (question.method(), question.params(self.client));
        let message = json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        let settled = [0, 1, 2].map(|file| self.site.files[file].history.settled());
        let floor = [0, 1, 2].map(|file| self.seen[file].map_or(0, |seen| seen.state).max(settled[file]));
        self.waiting
            .insert(self.last, Asked { question, at: Instant::now(), floor, seen: self.seen, revision: self.revision });
        let stdin = self.stdin.as_mut().expect("open until the end");
        stdin.write_all(format!("{message}\n").as_bytes()).map_err(|_| Gone)
    }

    fn receive_all(&mut self) -> Result<(), Gone> {
        while !self.waiting.is_empty() {
            self.receive()?;
        }
        Ok(())
    }

    /// Takes the next message; an answer must be to a request that waits.
    fn receive(&mut self) -> Result<(), Gone> {
        let (at, line) = match self.messages.recv_timeout(DEADLINE) {
            Ok(message) => message,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return Err(Gone),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let waiting: Vec<_> = self.waiting.values().map(|asked| &asked.question).collect();
                panic!("client {}: no answer to {waiting:?}", self.client)
            }
        };
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        if message.get("method").is_some() {
            return Ok(());
        }
        let asked = message["id"].as_u64().and_then(|id| self.waiting.remove(&id));
        let asked = asked.unwrap_or_else(|| panic!("client {}: an answer to nothing: {line}", self.client));
        if let Err(problem) = self.judge(&asked, at, &message["result"]) {
            panic!("client {}: {problem}\n  asked    {:?}\n  answered {line}", self.client, asked.question);
        }
        Ok(())
    }

    fn judge(&mut self, asked: &Asked, came: Instant, result: &Value) -> Result<(), String> {
        let took = came.duration_since(asked.at);
        self.tally.requests += 1;
        self.tally.slowest = self.tally.slowest.max(took);
        let is_late = took >= PATIENCE;
        self.tally.late += u64::from(is_late);
        if !result.is_object() {
            return Err("no result".to_owned());
        }
        let shown = asked.question.shown(result, self.client)?;
        for (file, version) in shown.files.into_iter().enumerate() {
            let Some(version) = version else { continue };
            let floor = if is_late { 0 } else { asked.floor[file] };
            let found = self.site.files[file].history.find(floor, asked.seen[file], version);
            let state = found.map_err(|error| format!("file {file} after {took:?}: {error}"))?;
            if self.seen[file].is_none_or(|seen| seen.state <= state) {
                self.seen[file] = Some(Seen { state, version });
            }
            if let Some(known) = self.versions.get_mut(file) {
                *known = version;
            }
        }
        if let Some(revision) = shown.revision {
            if revision < asked.revision {
                return Err(format!("revision {revision} after {}", asked.revision));
            }
            self.revision = self.revision.max(revision);
        }
        match (&asked.question, shown.files) {
            (Question::Assemble(_), [Some(alpha), Some(beta), _]) => {
                self.etag = result["etag"].as_str().map(|etag| (etag.to_owned(), [alpha, beta]));
            }
            (Question::Status, _) => {
                let pid = result["pid"].as_i64().ok_or("no pid")? as i32;
                if self.daemon.is_some_and(|daemon| daemon != pid) {
                    return Err(format!("process {pid} after {:?}", self.daemon));
                }
                self.daemon = Some(pid);
                self.site.serves(pid);
            }
            _ => {}
        }
        Ok(())
    }

    /// Kills its relay, with requests in flight.
    fn end_killed(mut self) {
        self.tally.kills += 1;
        self.relay.kill().unwrap();
        while self.receive().is_ok() {}
        self.relay.wait().unwrap();
    }

    /// Waits for all answers and closes; nothing more may come.
    fn end_politely(mut self) {
        if self.receive_all().is_err() {
            return self.end_excused();
        }
        self.stdin = None;
        while self.receive().is_ok() {}
        if self.relay.wait().unwrap().code() != Some(0) {
            self.end_excused();
        }
    }

    /// Has lost its daemon, which was killed, and is told so.
    fn end_excused(mut self) {
        while self.receive().is_ok() {}
        let mut errors = String::new();
        self.relay.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let code = self.relay.wait().unwrap().code();
        assert!(
            self.site.is_excused(self.daemon, self.deaths),
            "client {}: its relay ended with {code:?}, though nobody killed process {:?}: {errors}",
            self.client,
            self.daemon
        );
        assert!(code == Some(1) && errors.starts_with("toolscout: "), "{code:?}: {errors}");
        self.tally.lost += 1;
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        // Has ended, but after a failure.
        let _ = self.relay.kill();
        let _ = self.relay.wait();
    }
}
