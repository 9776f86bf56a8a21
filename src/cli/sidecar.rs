//! A sidecar for one command: inside this process for the people's commands, as a child for the demo.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::answers::{Initialized, Status, read};
use super::client::Client;
use super::failure::Failure;
use super::flags::Common;
use super::page::count;
use super::report::Report;
use crate::rpc::Sink;
use crate::server;
use crate::server::session::Options;

/// Parameters of `initialize`: a host that can be asked nothing.
pub fn initialize(client: &str) -> Value {
    let info = json!({ "name": client, "version": env!("CARGO_PKG_VERSION") });
    json!({ "protocolVersion": "1.0", "clientInfo": info, "capabilities": {} })
}

/// One in this process, initialized.
pub struct Sidecar {
    /// What the command line said.
    pub options: Options,
    /// The result of `initialize` as it came.
    pub opened: Box<RawValue>,
    /// None once it is being dropped.
    client: Option<Client>,
    thread: Option<JoinHandle<()>>,
}

/// How long MCP servers are waited for; they say themselves when it takes longer than they may.
const SETTLING: Duration = Duration::from_secs(60);
/// Time between two looks at them.
const LOOK: Duration = Duration::from_millis(20);

impl Sidecar {
    /// Starts it on a thread of its own; it ends when this is dropped.
    ///
    /// # Errors
    /// Where the system gives no pipe or thread, or files cannot be looked at.
    pub fn open(common: &Common) -> Result<Self, Failure> {
        Self::serve(common.options())
    }

    /// The same, but MCP servers are only read about.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_without_servers(common: &Common) -> Result<Self, Failure> {
        Self::serve(Options { without_servers: true, ..common.options() })
    }

    fn serve(options: Options) -> Result<Self, Failure> {
        let (requests, write) = io::pipe()?;
        let (read, answers) = io::pipe()?;
        let served = options.clone();
        let thread = thread::Builder::new().name("toolscout-sidecar".to_owned()).spawn(move || {
            // One that cannot start closes the pipe, which is how the client learns of it.
            let _ = server::serve_stdio(served, requests, sink(answers));
        })?;
        let mut client = Client::new(read, write);
        let opened = client.request("initialize", initialize("toolscout-cli"))?;
        Ok(Self { options, opened, client: Some(client), thread: Some(thread) })
    }

    /// Asks, and waits for the result.
    ///
    /// # Errors
    /// The sidecar's error object, or the end of the connection.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Box<RawValue>, Failure> {
        match &mut self.client {
            Some(client) => client.request(method, params),
            None => Err(Failure::Other("the sidecar has ended".to_owned())),
        }
    }

    /// The status once no MCP server is starting any more: a person waits for what a host must not wait for.
    ///
    /// # Errors
    /// As of a request.
    pub fn settled(&mut self) -> Result<Box<RawValue>, Failure> {
        let deadline = Instant::now() + SETTLING;
        loop {
            let raw = self.request("status", json!({}))?;
            let starting = read::<Status>(&raw)?.sources.iter().any(|source| source.state == "starting");
            if !starting || Instant::now() > deadline {
                return Ok(raw);
            }
            thread::sleep(LOOK);
        }
    }

    /// The report with a note where configuration or registries have errors, which may be why something is not found.
    ///
    /// # Errors
    /// An answer that cannot be read, or a file on the command line that is not there.
    pub fn noting_errors(&self, report: Report) -> Result<Report, Failure> {
        let places = &self.options.places;
        if let Some(missing) = places.registry.iter().chain(&places.config).find(|path| !path.exists()) {
            let missing = missing.display();
            return Err(Failure::Other(format!("there is no {missing}; create it or take it off the command line")));
        }
        let errors = read::<Initialized>(&self.opened)?.errors();
        if errors == 0 {
            return Ok(report);
        }
        let errors = count(errors, "error");
        Ok(report.with_note(format!("{errors} in configuration or registries; see `toolscout check`")))
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // It ends when its input does, after the servers that it started.
        self.client = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(unix)]
fn sink(answers: io::PipeWriter) -> Sink {
    Sink::descriptor(answers)
}

#[cfg(not(unix))]
fn sink(answers: io::PipeWriter) -> Sink {
    Sink::new(answers)
}

/// One in a process of its own, as a host runs it.
pub struct ChildSidecar {
    /// The connection to it.
    pub client: Client,
    child: Child,
}

impl ChildSidecar {
    /// Starts `toolscout serve` in `folder`, which also stands for the user's folder of configuration.
    ///
    /// # Errors
    /// Where the system gives no process.
    pub fn spawn(folder: &Path, flags: &[&OsStr]) -> Result<Self, Failure> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("serve")
            .args(flags)
            .current_dir(folder)
            .env("XDG_CONFIG_HOME", folder.join("config"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(read), Some(write)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(Failure::Other("the sidecar has no pipes".to_owned()));
        };
        Ok(Self { client: Client::new(read, write), child })
    }

    /// Ends it as a host does.
    ///
    /// # Errors
    /// One that does not end well.
    pub fn end(&mut self) -> Result<(), Failure> {
        self.client.request("shutdown", Value::Null)?;
        self.client.notify("exit", Value::Null)?;
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(Failure::Other(format!("the sidecar ended with {status}"))) }
    }
}

impl Drop for ChildSidecar {
    fn drop(&mut self) {
        // Both fail where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
