//! `toolscout serve`: the sidecar.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::failure::complain;
use super::flags::{Common, Serve};
use super::shared;
use crate::rpc::{Sink, Source};
use crate::share::Listen;
use crate::signals::Input;
use crate::{server, share};

/// Serves until the host is gone, or the last of many has been for a while. Nothing but frames goes to standard
/// output; logs go to standard error.
pub fn serve(common: &Common, args: &Serve) -> ExitCode {
    log_to_stderr();
    let served = if args.daemon {
        shared::serve_daemon(common, args)
    } else if args.shared {
        greet("a host");
        shared::relay(common, args, stdout())
    } else if let Some(address) = &args.listen {
        let idle = args.idle_exit.map(|seconds| Duration::from_secs(seconds.into()));
        let listen = Listen { address: address.clone(), origins: args.allow_origin.clone(), idle };
        share::listen(common.options(), listen).map(|()| ExitCode::SUCCESS)
    } else {
        greet("a host");
        Input::new(io::stdin()).and_then(|input| server::serve_stdio(common.options(), Source(input), stdout()))
    };
    served.unwrap_or_else(|error| {
        complain(&error.to_string());
        ExitCode::FAILURE
    })
}

/// Standard output, past the buffer and lock that the standard library puts before it.
#[cfg(unix)]
fn stdout() -> Sink {
    use std::os::fd::AsFd;
    match io::stdout().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Sink::descriptor(descriptor),
        Err(_) => Sink::new(io::stdout()),
    }
}

#[cfg(not(unix))]
fn stdout() -> Sink {
    Sink::new(io::stdout())
}

/// A person who starts it by hand sees nothing happen, and may not know why.
pub fn greet(whom: &str) {
    if io::stdin().is_terminal() {
        complain(&format!("waiting for {whom} on standard input; `toolscout --help` shows what there is for people"));
    }
}

/// Logs go to standard error, as much as `TOOLSCOUT_LOG` says.
pub fn log_to_stderr() {
    let level = std::env::var("TOOLSCOUT_LOG").ok().and_then(|level| level.parse().ok());
    // Of this program alone: what libraries log of the messages that pass through them may be secret.
    let own = Targets::new().with_target(env!("CARGO_CRATE_NAME"), level.unwrap_or(LevelFilter::WARN));
    let log = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false);
    // A second one is refused, which a program that embeds the library may well have set.
    let _ = tracing_subscriber::registry().with(log.with_filter(own)).try_init();
}
