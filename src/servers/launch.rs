//! Being the process that holds a server: starts its program, and ends that with all that it started when the sidecar is
//! gone, however that ended.
//!
//! The sidecar starts servers through its own program. The process leads the group that the server and what it starts
//! belong to, and hears from the kernel when the sidecar has ended. What leaves the group is out of reach, and on systems
//! whose kernel does not tell (all but Linux) servers are started without it.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

/// The hidden subcommand: the sidecar's process id, `--`, the program and its arguments follow.
pub const SUBCOMMAND: &str = "become-server";

/// Holds the server until it ends, and ends as it did.
///
/// # Errors
/// A program that cannot be started, with the exit code that shells use.
pub fn launch(sidecar: u32, command: &[OsString]) -> Result<ExitCode, (u8, io::Error)> {
    let Some((program, args)) = command.split_first() else {
        return Err((2, io::Error::other("no program was named")));
    };
    #[cfg(target_os = "linux")]
    {
        hold::hold(sidecar, program, args)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (sidecar, program, args);
        Err((1, io::Error::from(io::ErrorKind::Unsupported)))
    }
}

#[cfg(target_os = "linux")]
mod hold {
    use std::ffi::OsString;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, ExitCode, ExitStatus};
    use std::{fs, io, thread};

    use rustix::process::{
        Signal, getpgid, getpgrp, getppid, kill_process_group, set_parent_process_death_signal, setpgid,
    };
    use signal_hook::consts::{SIGCHLD, SIGTERM};
    use signal_hook::iterator::Signals;

    use super::super::process::GRACE;

    /// See [`super::launch`].
    pub fn hold(sidecar: u32, program: &OsString, args: &[OsString]) -> Result<ExitCode, (u8, io::Error)> {
        let has_ended = || getppid().is_none_or(|parent| parent.as_raw_nonzero().get().cast_unsigned() != sidecar);
        let other = |error: io::Error| (1, error);
        // The sidecar made it the leader already; by hand it is not to end others.
        setpgid(None, None).map_err(|error| (1, error.into()))?;
        let mut signals = Signals::new([SIGTERM, SIGCHLD]).map_err(other)?;
        set_parent_process_death_signal(Some(Signal::TERM)).map_err(|error| (1, error.into()))?;
        // It may have ended before it was asked for.
        if has_ended() {
            return Err((1, io::Error::other("the sidecar has ended")));
        }
        let mut child = Command::new(program).args(args).spawn().map_err(|error| {
            let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            (code, error)
        })?;
        // The streams are the server's alone: who closes its own is to be noticed at the other end.
        let told = let_go_of_streams();
        if let Err(error) = told {
            let _ = child.kill();
            return Err(other(error));
        }
        for signal in signals.forever() {
            let status = child.try_wait().ok().flatten();
            // While the sidecar lives it tells the whole group when it wants the end, and sees to it.
            if (signal == SIGTERM || status.is_some()) && has_ended() {
                end_group();
            }
            if let Some(status) = status {
                end_others();
                return Ok(end_as(status));
            }
        }
        Ok(ExitCode::FAILURE)
    }

    fn let_go_of_streams() -> io::Result<()> {
        let nowhere = fs::File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nowhere)?;
        rustix::stdio::dup2_stdout(&nowhere)?;
        rustix::stdio::dup2_stderr(&nowhere)?;
        Ok(())
    }

    /// Asks all of the group to end, and kills what is left of it, this process included.
    fn end_group() {
        let group = getpgrp();
        let _ = kill_process_group(group, Signal::TERM);
        thread::sleep(GRACE);
        let _ = kill_process_group(group, Signal::KILL);
    }

    /// Kills what the server started and left, at once as the sidecar does, which may just be ending and not come to it.
    fn end_others() {
        let group = getpgrp();
        let elsewhere = getpgid(getppid());
        // Out of reach of that, so that how the server ended can be told. Refused where the sidecar has ended.
        let _ = elsewhere.and_then(|elsewhere| setpgid(None, Some(elsewhere)));
        let _ = kill_process_group(group, Signal::KILL);
    }

    fn end_as(status: ExitStatus) -> ExitCode {
        if let Some(signal) = status.signal() {
            // A dump of this process's memory says nothing of the server.
            let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
            let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
        ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}
