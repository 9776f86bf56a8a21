//! The sending side of a WebSocket, which two threads use: one writes answers and may wait for the host, the other
//! reads, and must not wait when it has a ping to answer.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a socket that polls as writable surely takes without blocking. A reply over it is dropped: of pings only the
/// last need be answered.
const MAX_REPLY_BYTES: usize = 4096;

/// See the module.
pub struct Wire {
    stream: Mutex<TcpStream>,
    /// Whole frames of the reader's that the stream did not take at once.
    replies: Mutex<Vec<u8>>,
}

impl Wire {
    /// Over a connected stream.
    pub fn new(stream: TcpStream) -> Self {
        Self { stream: Mutex::new(stream), replies: Mutex::default() }
    }

    /// Sends whole frames of the reader's, now or with the writer's next ones.
    fn reply(&self, frames: &[u8]) -> io::Result<()> {
        let mut replies = lock(&self.replies);
        if replies.len() + frames.len() <= MAX_REPLY_BYTES {
            replies.extend_from_slice(frames);
        }
        drop(replies);
        self.send_replies()
    }

    /// Sends whole frames of the writer's.
    fn write(&self, frames: &[u8]) -> io::Result<()> {
        {
            let mut stream = lock(&self.stream);
            let replies = std::mem::take(&mut *lock(&self.replies));
            stream.write_all(&replies)?;
            stream.write_all(frames)?;
        }
        // The reader may have found the stream taken.
        self.send_replies()
    }

    fn send_replies(&self) -> io::Result<()> {
        // Whoever has the stream looks for replies after it.
        let Ok(mut stream) = self.stream.try_lock() else { return Ok(()) };
        if !is_writable(&stream) {
            return Ok(());
        }
        let replies = std::mem::take(&mut *lock(&self.replies));
        stream.write_all(&replies)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn is_writable(stream: &TcpStream) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut descriptors = [PollFd::new(stream, PollFlags::OUT)];
    poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// Where it cannot be asked, a reply may wait.
#[cfg(not(unix))]
fn is_writable(_: &TcpStream) -> bool {
    true
}

/// The reader's end.
pub struct ReadHalf {
    stream: TcpStream,
    wire: Arc<Wire>,
}

impl ReadHalf {
    /// Reads from `stream`, replies over `wire`.
    pub fn new(stream: TcpStream, wire: Arc<Wire>) -> Self {
        Self { stream, wire }
    }
}

impl Read for ReadHalf {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.stream.read(out)
    }
}

impl Write for ReadHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wire.reply(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The writer's end; never reads.
pub struct WriteHalf(pub Arc<Wire>);

impl Read for WriteHalf {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Write for WriteHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
