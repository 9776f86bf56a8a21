//! `toolscout serve`: the sidecar.

use std::io::IsTerminal;
use std::process::ExitCode;

use super::failure::complain;
use super::flags::Common;
use crate::rpc::Sink;
use crate::server;

/// Serves one host until it is gone. Nothing but frames goes to standard output; logs go to standard error.
pub fn serve(common: &Common) -> ExitCode {
    log_to_stderr();
    greet();
    let ended = server::serve_stdio(common.options(), std::io::stdin(), stdout());
    ended.unwrap_or_else(|error| {
        tracing::error!(%error, "the sidecar could not start");
        ExitCode::FAILURE
    })
}

/// Standard output, past the buffer and lock that the standard library puts before it.
#[cfg(unix)]
fn stdout() -> Sink {
    use std::os::fd::AsFd;
    match std::io::stdout().as_fd().try_clone_to_owned() {
        Ok(descriptor) => Sink::descriptor(descriptor),
        Err(_) => Sink::new(std::io::stdout()),
    }
}

#[cfg(not(unix))]
fn stdout() -> Sink {
    Sink::new(std::io::stdout())
}

/// A person who starts it by hand sees nothing happen, and may not know why.
fn greet() {
    if std::io::stdin().is_terminal() {
        complain("waiting for a host on standard input; `toolscout --help` shows what there is for people");
    }
}

fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TOOLSCOUT_LOG");
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // A second one is refused, which a program that embeds the library may well have set.
    let _ = log.try_init();
}
