//! Where frames are written: a blocking byte sink that can say whether a write would block.

use std::io::{self, Write};

/// What a writable pipe or socket takes without blocking: `PIPE_BUF`, which POSIX makes atomic, is 4096 on Linux and
/// 512 elsewhere. A socket that polls as writable has more than that.
const DIRECT_BYTES: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// A blocking writer.
pub struct Sink(Kind);

enum Kind {
    Writer(Box<dyn Write + Send>),
    #[cfg(unix)]
    Descriptor {
        file: std::fs::File,
        /// Bytes that it takes when it is empty; 0 where that is not known.
        capacity: usize,
    },
}

impl Sink {
    /// Any writer. Never says that it is writable, so every frame goes through the writer's thread.
    pub fn new(writer: impl Write + Send + 'static) -> Self {
        Self(Kind::Writer(Box::new(writer)))
    }

    /// A pipe or socket. An answer is written by the thread that has it, whenever the descriptor takes it whole
    /// without blocking: a round trip then costs one change of thread less.
    #[cfg(unix)]
    pub fn descriptor(descriptor: impl Into<std::os::fd::OwnedFd>) -> Self {
        let file: std::fs::File = descriptor.into().into();
        let capacity = capacity(&file);
        Self(Kind::Descriptor { file, capacity })
    }

    /// Whether a write of so many bytes surely does not block now.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        match &self.0 {
            Kind::Writer(_) => false,
            #[cfg(unix)]
            Kind::Descriptor { file, .. } if bytes <= DIRECT_BYTES => {
                poll(file, Some(&rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 }))
            }
            #[cfg(unix)]
            Kind::Descriptor { file, capacity } => bytes <= *capacity && is_empty(file),
        }
    }
}

/// What a pipe takes when it is empty (pipe(7): 64 KiB, or a page for users who have many); nothing is known of others.
#[cfg(target_os = "linux")]
fn capacity(file: &std::fs::File) -> usize {
    rustix::pipe::fcntl_getpipe_size(file).unwrap_or(0)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn capacity(_: &std::fs::File) -> usize {
    0
}

/// Whether the other end of a pipe has read all.
#[cfg(unix)]
fn is_empty(file: &std::fs::File) -> bool {
    rustix::io::ioctl_fionread(file).is_ok_and(|unread| unread == 0)
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
            Kind::Descriptor { file, .. } => loop {
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
            Kind::Descriptor { .. } => Ok(()),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_pipe_takes_what_surely_finds_room() {
        let (mut reader, writer) = io::pipe().unwrap();
        let mut sink = Sink::descriptor(writer);
        let capacity = rustix::pipe::fcntl_getpipe_size(&reader).unwrap();
        assert!(sink.takes(1) && sink.takes(capacity) && !sink.takes(capacity + 1), "empty");
        sink.write_all(b"x").unwrap();
        assert!(sink.takes(DIRECT_BYTES) && !sink.takes(DIRECT_BYTES + 1), "not empty");
        reader.read_exact(&mut [0]).unwrap();
        assert!(sink.takes(capacity), "read");
        sink.write_all(&vec![b'x'; capacity]).unwrap();
        assert!(!sink.takes(1), "full");
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let sink = Sink::descriptor(socket);
        assert!(sink.takes(DIRECT_BYTES) && !sink.takes(DIRECT_BYTES + 1), "nobody knows what it has room for");
        assert!(!Sink::new(Vec::new()).takes(1), "it may be anything");
    }
}
