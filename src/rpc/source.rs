//! Where frames are read: standard input that blocks, whatever became of its descriptor.
//!
//! A pipe's flags are shared by all who hold that end: a host, or a program before this one, may have made it
//! non-blocking. Reading then waits for bytes instead of failing.

use std::io::{self, Read};

/// See the module.
pub struct Source<R>(pub R);

#[cfg(unix)]
impl<R: Read + std::os::fd::AsFd> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use rustix::event::{PollFd, PollFlags, poll};
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // A failure shows again with the next read.
                    let _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None);
                }
                read => return read,
            }
        }
    }
}

#[cfg(not(unix))]
impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}
