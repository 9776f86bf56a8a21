//! `serve --shared`: a sidecar on standard input and output whose work a daemon does.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use super::Shared;
use super::dial::dial_or_start;
use super::endpoint::Endpoint;
use super::greeting::{END_MARK, Farewell};
use super::opening::{Asking, Initialize, Opening, read_opening, write_frame};
use crate::protocol::errors::RpcError;
use crate::server::path_of;

/// How long the last answers may take once the host is gone; a sidecar ends within two seconds.
const LAST_ANSWERS: Duration = Duration::from_millis(1900);
/// Longest farewell.
const FAREWELL_BYTES: u64 = 4096;
/// One read.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a relay knows of its own process.
pub struct Relay {
    /// What the daemon is told of it.
    pub asking: Asking,
    /// Flag `--workspace`.
    pub workspace: Option<PathBuf>,
    /// The process's own.
    pub working_directory: Option<PathBuf>,
}

/// Relays until the host or the daemon ends the connection. False where the host ended it other than the protocol has
/// it: with `exit` and no `shutdown`, or a broken header.
///
/// # Errors
/// What the host is to be told on standard error: no daemon, its end, or its reason to end the connection.
pub fn run(
    relay: &Relay,
    shared: impl FnOnce(Option<&Path>) -> Shared,
    mut stdin: impl Read + Send + 'static,
    mut stdout: impl Write + Send + 'static,
) -> io::Result<bool> {
    let initialize = match read_opening(&mut stdin, &mut stdout)? {
        Opening::Initialize(initialize) => initialize,
        Opening::Ended { well } => return Ok(well),
    };
    let shared = shared(relay.workspace_of(&initialize).as_deref());
    let endpoint = Endpoint::of(&shared);
    let dialled = endpoint.and_then(|endpoint| Ok((dial_or_start(&shared, &endpoint)?, endpoint)));
    let (daemon, endpoint) = match dialled {
        Ok(dialled) => dialled,
        Err(error) => {
            if let Some(body) = initialize.refused(&RpcError::internal(error.to_string())) {
                write_frame(&mut stdout, initialize.framing, body)?;
            }
            return Err(error);
        }
    };
    let (events, happened) = mpsc::channel();
    let up = Up { initialize, asking: relay.asking.clone(), daemon: daemon.try_clone()?, events: events.clone() };
    thread::Builder::new().name("relay-up".to_owned()).spawn(move || up.run(stdin))?;
    thread::Builder::new().name("relay-down".to_owned()).spawn(move || {
        // Who left before this is heard has ended the process.
        let _ = events.send(down(&daemon, stdout));
    })?;
    match happened.recv() {
        // Nobody is left to be told how the daemon takes it, unless it does not take it well.
        Ok(Event::HostGone) => {
            let last = happened.recv_timeout(LAST_ANSWERS);
            Ok(!matches!(last, Ok(Event::Ended(Some(Farewell { well: false, .. })))))
        }
        Ok(Event::Ended(Some(Farewell { well: true, .. }))) => Ok(true),
        Ok(Event::Ended(Some(Farewell { reason, .. }))) => {
            Err(io::Error::other(format!("the shared sidecar ended the connection: {reason}")))
        }
        Ok(Event::HostDeaf(error)) => Err(error),
        Ok(Event::Ended(None)) | Err(_) => Err(io::Error::other(format!(
            "the shared sidecar is gone without a word: it was killed, or this host did not read its answers ({}); \
             start a new one to go on",
            endpoint.log.display()
        ))),
    }
}

impl Relay {
    /// `--workspace`, else the host's, else the working directory.
    fn workspace_of(&self, initialize: &Initialize) -> Option<PathBuf> {
        let named = || initialize.workspace().map(|text| path_of(&text).to_owned());
        let workspace = self.workspace.clone().or_else(named).or_else(|| self.working_directory.clone())?;
        Some(std::path::absolute(&workspace).unwrap_or(workspace))
    }
}

enum Event {
    /// Standard input ended.
    HostGone,
    /// Standard output takes no more.
    HostDeaf(io::Error),
    /// The daemon closed the connection, well behaved or not.
    Ended(Option<Farewell>),
}

/// From the host to the daemon.
struct Up {
    initialize: Initialize,
    asking: Asking,
    daemon: UnixStream,
    events: Sender<Event>,
}

impl Up {
    fn run(self, mut stdin: impl Read) {
        let Self { initialize, asking, mut daemon, events } = self;
        let first = write_frame(&mut daemon, initialize.framing, initialize.with(&asking));
        let sent = first.and_then(|()| daemon.write_all(&initialize.rest)).is_ok();
        // Where the daemon takes no more, its other direction says why.
        if sent && copy(&mut stdin, &mut daemon) {
            let _ = events.send(Event::HostGone);
            let _ = daemon.shutdown(Shutdown::Write);
        }
    }
}

/// Copies to the end of `from`; false where `to` ended first.
fn copy(from: &mut impl Read, to: &mut impl Write) -> bool {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match from.read(&mut chunk) {
            Ok(0) => return true,
            Ok(count) => {
                if to.write_all(&chunk[..count]).is_err() {
                    return false;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read");
                return true;
            }
        }
    }
}

/// From the daemon to the host.
fn down(mut daemon: &UnixStream, mut stdout: impl Write) -> Event {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let bytes = match daemon.read(&mut chunk) {
            Ok(0) => return Event::Ended(None),
            Ok(count) => &chunk[..count],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Event::Ended(None),
        };
        let end = bytes.iter().position(|byte| *byte == END_MARK);
        let (frames, behind) = bytes.split_at(end.unwrap_or(bytes.len()));
        if let Err(error) = stdout.write_all(frames).and_then(|()| stdout.flush()) {
            return Event::HostDeaf(io::Error::new(
                error.kind(),
                format!("the host does not take its answers: {error}"),
            ));
        }
        if let Some((_, behind)) = behind.split_first() {
            let mut farewell = behind.to_vec();
            // One that is cut short says less than none.
            let _ = daemon.take(FAREWELL_BYTES).read_to_end(&mut farewell);
            return Event::Ended(serde_json::from_slice(&farewell).ok());
        }
    }
}
