//! Where frames are written: a blocking byte sink that can say whether a small write would block.

use std::io::{self, Write};

/// What a writable pipe or socket takes without blocking: `PIPE_BUF`, which POSIX makes atomic, is 4096 on Linux and
/// 512 elsewhere. A socket that polls as writable has more than that.
pub const DIRECT_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// A blocking writer.
pub struct Sink(Kind);

enum Kind {
    Writer(Box<dyn Write + Send>),
    #[cfg(unix)]
    Descriptor(std::fs::File),
}

impl Sink {
    /// Any writer. Never says that it is writable, so every frame goes through the writer's thread.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Kind::Writer(Box::new(writer)))
    }

    /// A pipe or socket. A small answer is written by the thread that has it, whenever the descriptor takes it
    /// without blocking: a round trip then costs one change of thread less.
    #[cfg(unix)]
    pub fn descriptor(descriptor: impl Into<std::os::fd::OwnedFd>) -> Self {
        Self(Kind::Descriptor(descriptor.into().into()))
    }

    /// Whether a write of up to [`DIRECT_BYTES`] bytes surely does not block now.
    pub(super) fn is_writable(&self) -> bool {
        match &self.0 {
            Kind::Writer(_) => false,
            #[cfg(unix)]
            Kind::Descriptor(file) => poll(file, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 })),
        }
    }
}

/// Whether `file` is writable, waiting up to `timeout`. An error or a hang-up counts: the write will say which.
#[cfg(unix)]
fn poll(file: &std::fs::File, timeout: Option<&rustix::event::Timespec>) -> bool {
    use rustix::event::{PollFd, PollFlags};
    let mut descriptors = [PollFd::new(file, PollFlags::OUT)];
    rustix::event::poll(&mut descriptors, timeout).is_ok_and(|ready| ready > 0)
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Writer(writer) => writer.write(bytes),
            #[cfg(unix)]
            Kind::Descriptor(file) => loop {
                match file.write(bytes) {
                    // Another holder of the descriptor may have made it non-blocking.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        poll(file, None);
                    }
                    written => return written,
                }
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Writer(writer) => writer.flush(),
            #[cfg(unix)]
            Kind::Descriptor(_) => Ok(()),
        }
    }
}
