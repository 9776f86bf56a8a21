//! One sidecar for many processes: sockets to listen on, and a relay that shares a sidecar nobody has to start.
//!
//! `serve --listen` serves the protocol on a Unix domain socket or a loopback WebSocket. `serve --shared` looks like any
//! sidecar on standard input and output, and relays to a daemon that serves one user, workspace, set of flags, folder
//! of configuration and version; the first relay starts it, and it ends once it had no connection for a while.
//!
//! Promises:
//! - Only the holder of a socket's lock binds or removes it, so however many relays start at once, there is one daemon,
//!   and what a killed one leaves behind is in nobody's way.
//! - A relay that lost its daemon ends with code 1 and says why. It does not carry its host over to a new daemon: what
//!   the host registered is gone with the old one, and a request in flight may have had effects. A host that starts the
//!   next relay gets a fresh daemon.
//! - The host's bytes are passed on as they are, in the host's framing, but for the first `initialize`: to that the
//!   relay adds its working directory and the whole of its environment where the host named none. Which variables
//!   configuration names only the daemon knows, which reads it; the socket is the user's own (mode 0600, folder 0700,
//!   peer checked), and so is every process on it, which could read the same in `/proc`. It is never logged. The daemon
//!   looks at neither its own environment nor its own working directory to answer a request.
//!
//! It does not say what a connection may do: that is the session's, and sessions know nothing of each other.

pub mod address;
#[cfg(unix)]
mod daemon;
#[cfg(unix)]
mod dial;
#[cfg(unix)]
mod endpoint;
#[cfg(unix)]
mod folder;
#[cfg(unix)]
mod greeting;
#[cfg(unix)]
mod lock;
#[cfg(unix)]
mod opening;
mod presence;
#[cfg(unix)]
mod relay;
#[cfg(unix)]
pub mod running;
#[cfg(unix)]
mod unix_socket;
mod websocket;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::session::Options;
use address::Address;
#[cfg(unix)]
pub use daemon::serve as serve_daemon;
#[cfg(unix)]
pub use greeting::Welcome;
#[cfg(unix)]
pub use opening::Asking;
#[cfg(unix)]
pub use relay::{Relay, run as run_relay};

/// How a daemon is found and started; the command line makes it, since environment and flags are read there alone.
#[derive(Debug, Clone)]
pub struct Shared {
    /// Where lock and socket lie.
    pub runtime: RuntimeHome,
    /// The user's folder of configuration.
    pub user: Option<PathBuf>,
    /// The workspace to serve.
    pub workspace: Option<PathBuf>,
    /// Arguments of the daemon's process, all paths absolute. Two relays with different ones have different daemons.
    pub arguments: Vec<OsString>,
    /// The daemon's environment: what names folders and sets the log, and nothing else.
    pub environment: Vec<(OsString, OsString)>,
}

/// Where a folder for locks and sockets may be.
#[derive(Debug, Clone)]
pub struct RuntimeHome {
    /// `$XDG_RUNTIME_DIR`.
    pub runtime: Option<PathBuf>,
    /// The folder of temporary files.
    pub temporary: PathBuf,
}

/// What `serve --listen` was told.
#[derive(Debug, Clone)]
pub struct Listen {
    /// Where.
    pub address: Address,
    /// Origins of web pages that may connect.
    pub origins: Vec<String>,
    /// How long it stays without a connection; for ever where absent.
    pub idle: Option<Duration>,
}

/// Serves everybody who connects, until it has been idle.
///
/// # Errors
/// An address that is taken, or that the system refuses.
pub fn listen(options: Options, listen: Listen) -> io::Result<()> {
    match listen.address {
        #[cfg(unix)]
        Address::Unix(path) => unix_socket::listen(options, &path, listen.idle),
        #[cfg(not(unix))]
        Address::Unix(_) => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "there are no Unix domain sockets here: listen on ws://127.0.0.1:0",
        )),
        Address::WebSocket(address) => websocket::listen(options, address, listen.origins, listen.idle),
    }
}

/// Tells whoever started the process where it listens: one line on standard error.
pub fn say_ready(ready: Value) {
    // Without standard error there is nobody to tell; who knows the address can connect all the same.
    let _ = writeln!(io::stderr(), "{}", json!({ "ready": ready }));
}
