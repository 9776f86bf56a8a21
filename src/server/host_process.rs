//! Ending with the host: a sidecar whose host is gone has nobody to serve, even if the pipe is still held open.

use crate::rpc::Peer;

/// Closes the connection when the process ends. One that cannot be seen now (another namespace, gone) is not watched.
#[cfg(unix)]
pub fn end_with(process: u32, peer: Peer) {
    use rustix::process::{Pid, test_kill_process};

    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return };
    if test_kill_process(pid).is_err_and(|error| error == rustix::io::Errno::SRCH) {
        return;
    }
    let watch = move || {
        wait_for(pid);
        tracing::info!(process, "the host's process has ended");
        peer.close();
    };
    // Without the thread the end of standard input still ends the sidecar.
    if let Err(error) = std::thread::Builder::new().name("toolscout-host".to_owned()).spawn(watch) {
        tracing::warn!(%error, "the host's process is not watched");
    }
}

/// Nothing is watched where processes cannot be asked for.
#[cfg(not(unix))]
pub fn end_with(_: u32, _: Peer) {}

/// Blocks until the process has ended.
#[cfg(unix)]
fn wait_for(pid: rustix::process::Pid) {
    #[cfg(target_os = "linux")]
    if let Ok(process) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut ends = [PollFd::new(&process, PollFlags::IN)];
        loop {
            match poll(&mut ends, None) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return,
                Err(_) => break,
            }
        }
    }
    while rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH) {
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
}
