//! The shared sidecars of a user that run now, of any version: for `toolscout status` and `toolscout stop`.

use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use super::RuntimeHome;
use super::dial::dial;
use super::endpoint::Endpoint;
use super::folder::check_private;
use super::greeting::{Want, Welcome};

/// How long one may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long one that was told to end may take.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// One that runs.
#[derive(Debug)]
pub struct Running {
    /// What it says of itself.
    pub welcome: Welcome,
    endpoint: Endpoint,
}

/// All that answer, by workspace and process, and what is wrong with those that do not.
///
/// # Errors
/// A folder that is not the user's alone. One that is not there holds nobody.
pub fn list(runtime: &RuntimeHome) -> io::Result<(Vec<Running>, Vec<io::Error>)> {
    let folder = runtime.folder();
    match check_private(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        checked => checked?,
    }
    let (mut running, mut problems) = (Vec::new(), Vec::new());
    for entry in folder.read_dir()? {
        let socket: PathBuf = entry?.path();
        if socket.extension().is_none_or(|extension| extension != "sock") {
            continue;
        }
        let endpoint = Endpoint { lock: socket.with_extension("lock"), log: socket.with_extension("log"), socket };
        match dial(&endpoint, Want::Status, PATIENCE) {
            Ok(Some((_, welcome))) => running.push(Running { welcome, endpoint }),
            // Left behind by one that was killed; the next start takes it over.
            Ok(None) => {}
            Err(error) => problems.push(error),
        }
    }
    running.sort_by(|a, b| (&a.welcome.workspace, a.welcome.pid).cmp(&(&b.welcome.workspace, b.welcome.pid)));
    Ok((running, problems))
}

impl Running {
    /// Ends it and waits until it has ended. Its relays end with code 1.
    ///
    /// # Errors
    /// One that does not end in time.
    pub fn stop(&self) -> io::Result<()> {
        let Some((mut stream, _)) = dial(&self.endpoint, Want::Stop, PATIENCE)? else { return Ok(()) };
        stream.set_read_timeout(Some(END_PATIENCE))?;
        match stream.read(&mut [0]) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                let problem = format!("process {} does not end: kill it", self.welcome.pid);
                Err(io::Error::new(io::ErrorKind::TimedOut, problem))
            }
            _ => Ok(()),
        }
    }
}
