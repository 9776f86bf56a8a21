//! The process behind `serve --shared`: it serves the relays of one endpoint until it has been idle or is stopped.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Shared;
use super::endpoint::Endpoint;
use super::greeting::{END_MARK, Farewell, Hello, Want, Welcome, read_line, write_line};
use super::lock::Lock;
use super::presence::{LAST_ANSWERS, Presence};
use super::unix_socket::{accept, hang_up, let_go, serve as serve_stream};
use crate::rpc::End;
use crate::server::session::Options;
use crate::server::{Ended, Server};
use crate::signals;

/// How long whoever connects may take to say what for, and to take the farewell.
const PATIENCE: Duration = Duration::from_secs(5);

/// Serves until the last connection has been gone for `idle`, or somebody asks for the end. The process was started
/// by a relay with the endpoint's lock as standard input and its bound socket as standard output.
///
/// # Errors
/// A process that was not started so.
pub fn serve(options: Options, shared: &Shared, stdin: File, stdout: OwnedFd, idle: Duration) -> io::Result<()> {
    // A session of its own, so that neither a terminal's interrupt nor the end of the relay's group reaches it. Refused
    // to the leader of a group, which a process that a relay started is not.
    let _ = rustix::process::setsid();
    let endpoint = Endpoint::of(shared)?;
    let lock = Lock::inherited(stdin, &endpoint.lock)?;
    let listener = UnixListener::from(stdout);
    if listener.local_addr()?.as_pathname() != Some(&endpoint.socket) {
        return Err(io::Error::other("this process was not given the socket of its endpoint"));
    }
    let daemon = Arc::new(Daemon {
        server: Server::new(options),
        presence: Presence::default(),
        workspace: shared.workspace.as_ref().map(|folder| folder.display().to_string()),
        started: Instant::now(),
        stopping: Mutex::default(),
    });
    let receiving = daemon.clone();
    accept(listener, move |stream| receiving.receive(stream))?;
    let ending = daemon.clone();
    signals::on_end(move || ending.presence.end())?;
    daemon.presence.wait_idle(Some(idle));
    daemon.server.begin_end();
    daemon.presence.wait_empty(LAST_ANSWERS);
    daemon.server.end();
    let silent = fs::metadata(&endpoint.log).is_ok_and(|log| log.len() == 0);
    let files = [endpoint.socket.as_path(), endpoint.log.as_path()];
    // A log with something in it is kept until the next start.
    lock.remove_and_release(if silent { &files } else { &files[..1] });
    daemon.say_ended();
    Ok(())
}

struct Daemon {
    server: Server,
    presence: Presence,
    workspace: Option<String>,
    started: Instant,
    /// Those who asked for the end, and see by the end of their connection that it has come.
    stopping: Mutex<Vec<UnixStream>>,
}

impl Daemon {
    fn receive(&self, stream: UnixStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let hello: Hello = read_line(&stream)?;
        match hello.want {
            Want::Status => write_line(&stream, &self.welcome()),
            Want::Stop => {
                write_line(&stream, &self.welcome())?;
                self.stopping.lock().unwrap_or_else(PoisonError::into_inner).push(stream);
                self.presence.end();
                Ok(())
            }
            Want::Serve => {
                let peer = stream.try_clone()?;
                // One that comes too late is closed without a word, and its relay starts the next daemon.
                let Some(_present) = self.presence.enter(move || hang_up(&peer)) else { return Ok(()) };
                write_line(&stream, &self.welcome())?;
                stream.set_read_timeout(None)?;
                stream.set_write_timeout(None)?;
                let ended = serve_stream(&self.server, &stream);
                self.say_farewell(&stream, &ended);
                let_go(&stream);
                ended.map(drop)
            }
        }
    }

    fn welcome(&self) -> Welcome {
        Welcome {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            workspace: self.workspace.clone(),
            connections: self.presence.count(),
            uptime_ms: self.started.elapsed().as_millis() as u64,
        }
    }

    fn say_farewell(&self, mut stream: &UnixStream, ended: &io::Result<Ended>) {
        let farewell = match ended {
            Ok(Ended { end: End::Eof, .. }) if self.presence.is_ending() => {
                Farewell { well: false, reason: "it was stopped".to_owned() }
            }
            Ok(Ended { end, well }) => Farewell { well: *well, reason: end.to_string() },
            Err(error) => Farewell { well: false, reason: error.to_string() },
        };
        let _ = stream.set_write_timeout(Some(PATIENCE));
        // A relay that is gone misses nothing.
        let _ = stream.write_all(&[END_MARK]).and_then(|()| write_line(stream, &farewell));
    }

    /// Tells those who asked for the end that it has come.
    fn say_ended(&self) {
        self.stopping.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}
