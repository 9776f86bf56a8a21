//! Being the process that becomes a server: asks the kernel to end it with the sidecar, then runs its program.
//!
//! The sidecar starts servers through its own program, since what a process asks for between its start and its
//! program's is code that no safe Rust can put there.

use std::ffi::OsString;
use std::io;

/// The hidden subcommand: the sidecar's process id, `--`, the program and its arguments follow.
pub const SUBCOMMAND: &str = "become-server";

/// Becomes the program. Returns only where that fails, with the exit code that shells use.
pub fn launch(sidecar: u32, command: &[OsString]) -> (u8, io::Error) {
    let Some((program, args)) = command.split_first() else {
        return (2, io::Error::other("no program was named"));
    };
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        if let Err(error) = set_parent_process_death_signal(Some(Signal::TERM)) {
            return (1, error.into());
        }
        // It may have ended before it was asked for.
        if getppid().is_none_or(|parent| parent.as_raw_nonzero().get().cast_unsigned() != sidecar) {
            return (1, io::Error::other("the sidecar has ended"));
        }
    }
    let _ = sidecar;
    become_program(program, args)
}

#[cfg(unix)]
fn become_program(program: &OsString, args: &[OsString]) -> (u8, io::Error) {
    use std::os::unix::process::CommandExt;
    let error = std::process::Command::new(program).args(args).exec();
    (if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 }, error)
}

#[cfg(not(unix))]
fn become_program(_: &OsString, _: &[OsString]) -> (u8, io::Error) {
    (1, io::Error::from(io::ErrorKind::Unsupported))
}
