//! The real binary as a child process, with every read under a deadline.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// No honest answer takes so long, even on a machine that is busy with other things.
const DEADLINE: Duration = Duration::from_secs(30);

/// How messages are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One a line.
    Lines,
    /// Behind `Content-Length`.
    Headers,
}

/// A running sidecar; killed when dropped.
pub struct Sidecar {
    child: Child,
    stdin: Option<ChildStdin>,
    framing: Framing,
    /// Messages of standard output; closed at its end.
    messages: Receiver<io::Result<String>>,
    errors: Arc<Mutex<String>>,
}

impl Sidecar {
    /// Starts one whose user configuration is `dir/config` and whose working directory is `dir/workspace`.
    pub fn start<A: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = A>, framing: Framing) -> io::Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_toolscout"))
            .args(args)
            .current_dir(dir.join("workspace"))
            .env("XDG_CONFIG_HOME", dir.join("config"))
            .env("HOME", dir)
            .env_remove("TOOLSCOUT_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (sender, messages) = channel();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        thread::spawn(move || {
            while let Some(message) = next(&mut stdout, framing).transpose() {
                let failed = message.is_err();
                if sender.send(message).is_err() || failed {
                    return;
                }
            }
        });
        let errors = Arc::new(Mutex::new(String::new()));
        let (told, stderr) = (errors.clone(), BufReader::new(child.stderr.take().expect("piped")));
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let mut told = told.lock().expect("nobody panics with it");
                told.push_str(&line);
                told.push('\n');
            }
        });
        Ok(Self { stdin: child.stdin.take(), child, framing, messages, errors })
    }

    /// Sends one message in the framing of the connection.
    pub fn send(&mut self, message: &str) -> io::Result<()> {
        match self.framing {
            Framing::Lines => self.send_raw(&format!("{message}\n")),
            Framing::Headers => self.send_raw(&format!("Content-Length: {}\r\n\r\n{message}", message.len())),
        }
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, text: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(text.as_bytes())?;
        stdin.flush()
    }

    /// Closes standard input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// The next message; `None` at the end of standard output.
    pub fn receive(&self) -> Result<Option<String>, String> {
        match self.messages.recv_timeout(DEADLINE) {
            Ok(Ok(message)) => Ok(Some(message)),
            Ok(Err(error)) => Err(format!("standard output is not framed as agreed: {error}")),
            Err(RecvTimeoutError::Timeout) => Err(format!("nothing came for {DEADLINE:?}")),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// The exit code, `None` if a signal ended it.
    pub fn exit_code(&mut self) -> Result<Option<i32>, String> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) => return Ok(status.code()),
                None if Instant::now() > deadline => return Err(format!("still running after {DEADLINE:?}")),
                // The standard library has no wait with a deadline.
                None => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// What it wrote to standard error so far.
    pub fn errors(&self) -> String {
        self.errors.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn next(from: &mut impl BufRead, framing: Framing) -> io::Result<Option<String>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    if framing == Framing::Lines {
        return Ok(Some(line.trim_end_matches('\n').to_owned()));
    }
    let length = line.trim_end().strip_prefix("Content-Length: ").and_then(|length| length.parse().ok());
    let length: usize = length.ok_or_else(|| io::Error::other(format!("no header: {line:?}")))?;
    line.clear();
    from.read_line(&mut line)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    String::from_utf8(body).map(Some).map_err(io::Error::other)
}
