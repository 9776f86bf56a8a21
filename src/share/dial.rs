//! From an endpoint to a connection: dial, or start the daemon and dial.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Shared;
use super::endpoint::Endpoint;
use super::greeting::{Hello, Want, Welcome, read_line, write_line};
use super::lock::Lock;

/// How long a relay tries, and how long a daemon may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(30);
/// Daemons that one relay starts; more would end like the ones before.
const MAX_STARTS: u32 = 3;
/// Longest pause between two looks at an endpoint that another relay is about to bring up.
const MAX_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a log that are shown.
const LOG_BYTES: u64 = 2048;

/// Connects and greets. `None` where no daemon answers: nobody listens, or it ended before it said a word.
///
/// # Errors
/// A daemon that is there and does not answer, or not as one.
pub fn dial(endpoint: &Endpoint, want: Want, patience: Duration) -> io::Result<Option<(UnixStream, Welcome)>> {
    let greeted = UnixStream::connect(&endpoint.socket).and_then(|stream| {
        stream.set_read_timeout(Some(patience))?;
        write_line(&stream, &Hello::new(want))?;
        let welcome = read_line(&stream)?;
        stream.set_read_timeout(None)?;
        Ok((stream, welcome))
    });
    match greeted {
        Ok(greeted) => Ok(Some(greeted)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Ok(None),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                let problem = format!("the shared sidecar at {} does not answer", endpoint.socket.display());
                Err(io::Error::new(io::ErrorKind::TimedOut, problem))
            }
            kind => Err(io::Error::new(kind, format!("{}: {error}", endpoint.socket.display()))),
        },
    }
}

/// Connects to the daemon, which is started if there is none. Of many that come here at once, the one that gets the
/// lock starts it; the others find it.
///
/// # Errors
/// A daemon that does not come up, does not answer, or is of another version.
pub fn dial_or_start(shared: &Shared, endpoint: &Endpoint) -> io::Result<UnixStream> {
    let deadline = Instant::now() + PATIENCE;
    let mut starts = 0;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some((stream, welcome)) = dial(endpoint, Want::Serve, PATIENCE)? {
            return match welcome.version.as_str() {
                env!("CARGO_PKG_VERSION") => Ok(stream),
                other => Err(io::Error::other(format!(
                    "the shared sidecar (process {}) is of version {other}, not {}: end it with `toolscout stop`",
                    welcome.pid,
                    env!("CARGO_PKG_VERSION")
                ))),
            };
        }
        match Lock::try_take(&endpoint.lock)? {
            Some(_) if starts == MAX_STARTS => return Err(io::Error::other(not_up(endpoint))),
            Some(lock) => {
                starts += 1;
                start(shared, endpoint, lock)?;
            }
            None if Instant::now() > deadline => return Err(io::Error::other(not_up(endpoint))),
            None => {
                thread::sleep(pause);
                pause = (pause * 2).min(MAX_PAUSE);
            }
        }
    }
}

/// Starts the daemon. It is born with the lock as its standard input and the bound socket as its standard output, so
/// that who connects from now on is heard.
fn start(shared: &Shared, endpoint: &Endpoint, lock: Lock) -> io::Result<()> {
    let listener = lock.bind(&endpoint.socket)?;
    let log = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&endpoint.log)?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(&shared.arguments)
        .env_clear()
        .envs(shared.environment.iter().map(|(name, value)| (name, value)))
        // So that it keeps no folder from being removed.
        .current_dir("/")
        .stdin(lock.into_file())
        .stdout(Stdio::from(OwnedFd::from(listener)))
        .stderr(log)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("the shared sidecar cannot be started: {error}")))?;
    // Reaps it should it end first. Without the thread it is a zombie until this process ends.
    let _ = thread::Builder::new().name("toolscout-reap".to_owned()).spawn(move || child.wait());
    Ok(())
}

fn not_up(endpoint: &Endpoint) -> String {
    let mut log = String::new();
    // Whatever there is of it.
    let _ = File::open(&endpoint.log).and_then(|file| file.take(LOG_BYTES).read_to_string(&mut log));
    format!("the shared sidecar does not come up ({}): {}", endpoint.log.display(), log.trim_end())
}
