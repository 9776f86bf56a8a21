//! Listening on a Unix domain socket.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::lock::Lock;
use super::presence::{LAST_ANSWERS, Presence};
use super::{endpoint, folder, say_ready};
use crate::rpc::Sink;
use crate::server::session::Options;
use crate::server::{Ended, Server};
use crate::signals;

/// How long accepting rests after it failed: descriptors are used up, and only a connection's end frees some.
const REST: Duration = Duration::from_millis(50);

/// `serve --listen unix:PATH`: the protocol from the first byte to the last, until the process has been idle.
///
/// # Errors
/// A folder that is not the user's alone, a path that another sidecar listens on, or one that the system refuses.
pub fn listen(options: Options, path: &Path, idle: Option<Duration>) -> io::Result<()> {
    let path = std::path::absolute(path)?;
    endpoint::check_length(&path)?;
    folder::make_private(path.parent().unwrap_or(Path::new("/")))?;
    let mut beside = path.clone().into_os_string();
    beside.push(".lock");
    let Some(lock) = Lock::try_take(&PathBuf::from(beside))? else {
        let problem = format!("another sidecar listens on {}", path.display());
        return Err(io::Error::new(io::ErrorKind::AddrInUse, problem));
    };
    let listener = lock.bind(&path)?;
    let server = Arc::new(Server::new(options));
    let serving = server.clone();
    let presence = Arc::new(Presence::default());
    let counting = presence.clone();
    accept(listener, move |stream| {
        let peer = stream.try_clone()?;
        let Some(_present) = counting.enter(move || hang_up(&peer)) else { return Ok(()) };
        let ended = serve(&serving, &stream);
        let_go(&stream);
        ended.map(drop)
    })?;
    let ending = presence.clone();
    signals::on_end(move || ending.end())?;
    say_ready(json!({ "url": format!("unix:{}", path.display()) }));
    presence.wait_idle(idle);
    server.begin_end();
    presence.wait_empty(LAST_ANSWERS);
    server.end();
    lock.remove_and_release(&[&path]);
    Ok(())
}

/// Takes connections of the same user for ever, each on a thread of its own; all of it behind the caller's back.
///
/// # Errors
/// Where the system gives no thread.
pub fn accept(
    listener: UnixListener,
    receive: impl Fn(UnixStream) -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<()> {
    let receive = Arc::new(receive);
    let accepting = move || {
        loop {
            let taken = listener.accept().and_then(|(stream, _)| {
                let receive = receive.clone();
                thread::Builder::new().name("toolscout-host".to_owned()).spawn(move || {
                    if let Err(error) = check_peer(&stream).and_then(|()| receive(stream)) {
                        tracing::warn!(%error, "a connection was dropped");
                    }
                })
            });
            if let Err(error) = taken {
                tracing::warn!(%error, "a connection could not be taken");
                thread::sleep(REST);
            }
        }
    };
    thread::Builder::new().name("toolscout-accept".to_owned()).spawn(accepting).map(drop)
}

/// Serves the protocol on a stream. It is left open, for the caller to say its last word and [`let_go`].
///
/// # Errors
/// Where the system gives no descriptor or thread.
pub fn serve(server: &Server, stream: &UnixStream) -> io::Result<Ended> {
    server.serve(stream.try_clone()?, Sink::descriptor(stream.try_clone()?))
}

/// Lets a reader or a writer go that is still in a call after the connection has ended.
pub fn let_go(stream: &UnixStream) {
    // One that the host has shut already cannot be shut again.
    let _ = stream.shutdown(Shutdown::Both);
}

/// Ends a connection as if its host had closed it, so that the last answers still go out.
pub fn hang_up(stream: &UnixStream) {
    // One that has ended already cannot be shut.
    let _ = stream.shutdown(Shutdown::Read);
}

/// Refuses other users, root included. The folder keeps them out already, unless it was opened up after the check.
#[cfg(target_os = "linux")]
fn check_peer(stream: &UnixStream) -> io::Result<()> {
    let peer = rustix::net::sockopt::socket_peercred(stream)?.uid.as_raw();
    if peer == folder::user() {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("it came from user {peer}")))
}

/// Other systems say who the peer is in ways that the standard library has not; there the folder keeps others out.
#[cfg(not(target_os = "linux"))]
fn check_peer(_: &UnixStream) -> io::Result<()> {
    Ok(())
}
