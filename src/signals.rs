//! Signals that ask the process to end (TERM, INT, HUP): they end it in order, as the end of its input does.
//!
//! One that the process was started to ignore, as under `nohup`, stays ignored. Asking twice changes nothing, since an end
//! in order takes two seconds at most; KILL is what cuts it short.

use std::io::{self, Read};

/// Input that ends with the first such signal.
pub struct Input<R> {
    read: R,
    #[cfg(unix)]
    asked: std::os::unix::net::UnixStream,
}

impl<R> Input<R> {
    /// Reads from `read` until then.
    ///
    /// # Errors
    /// Where the system gives no descriptor.
    pub fn new(read: R) -> io::Result<Self> {
        Ok(Self {
            read,
            #[cfg(unix)]
            asked: asked()?,
        })
    }
}

#[cfg(unix)]
impl<R: Read + std::os::fd::AsFd> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut ready = [PollFd::new(&self.asked, PollFlags::IN), PollFd::new(&self.read, PollFlags::IN)];
        match poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => return Err(io::ErrorKind::Interrupted.into()),
            Ok(_) if !ready[0].revents().is_empty() => return Ok(0),
            // What cannot be waited for is read.
            _ => {}
        }
        self.read.read(buffer)
    }
}

#[cfg(unix)]
impl<R: std::os::fd::AsFd> std::os::fd::AsFd for Input<R> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.read.as_fd()
    }
}

#[cfg(not(unix))]
impl<R: Read> Read for Input<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.read(buffer)
    }
}

/// Runs `act` once, on a thread of its own, with the first such signal.
///
/// # Errors
/// Where the system gives no descriptor or thread.
#[cfg(unix)]
pub fn on_end(act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut asked = asked()?;
    let wait = move || {
        while let Err(error) = asked.read(&mut [0]) {
            if error.kind() != io::ErrorKind::Interrupted {
                return;
            }
        }
        act();
    };
    std::thread::Builder::new().name("toolscout-signal".to_owned()).spawn(wait).map(drop)
}

/// Nothing is caught where there are no such signals.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn on_end(_: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Ok(())
}

/// Readable from the first such signal on.
#[cfg(unix)]
fn asked() -> io::Result<std::os::unix::net::UnixStream> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let (asked, ask) = std::os::unix::net::UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
        signal_hook::low_level::pipe::register(signal, ask.try_clone()?)?;
    }
    Ok(asked)
}

/// Whether the process was started to ignore it, where the system says so.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
