//! The queue of what is to be written, and the thread that writes it.
//!
//! Pushing never waits for the host. The queue has no bound in messages, since a bounded one deadlocks with a host
//! that writes all its requests before it reads; it is capped in bytes, over which the connection is given up.
//! A frame is written whole or not at all.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::codec::{Framing, frame_end, frame_start};
use super::connection::End;
use super::lock;
use super::sink::{DIRECT_BYTES, Sink};

/// Frames up to this many bytes together become one write.
const COALESCE_BYTES: usize = 64 * 1024;

pub(super) struct Outgoing {
    queue: Mutex<Queue>,
    /// There is something to write, or the queue closed.
    work: Condvar,
    /// Everything is written, or the queue closed.
    idle: Condvar,
    /// Locked by who writes, after `queue` or without it, never before. Gone once the writer's thread ends, so that
    /// the host sees the end though a session still holds its `Peer`.
    sink: Mutex<Option<Sink>>,
    cap: usize,
    end: Sender<End>,
}

#[derive(Default)]
struct Queue {
    bodies: VecDeque<Vec<u8>>,
    /// Of `bodies` and of what is being written.
    bytes: usize,
    /// The writer's thread is at the sink.
    writing: bool,
    /// Unknown until the host's first byte; until then nothing is written.
    framing: Option<Framing>,
    closed: bool,
    scratch: Vec<u8>,
}

impl Outgoing {
    /// `cap` in bytes; `end` is told when the host does not read or the sink fails.
    pub fn new(sink: Sink, cap: usize, end: Sender<End>) -> Self {
        Self {
            queue: Mutex::default(),
            work: Condvar::new(),
            idle: Condvar::new(),
            sink: Mutex::new(Some(sink)),
            cap,
            end,
        }
    }

    pub fn set_framing(&self, framing: Framing) {
        lock(&self.queue).framing = Some(framing);
        self.work.notify_one();
    }

    /// Sends one JSON value, or queues it. After the end of the connection it is dropped.
    pub fn push(&self, body: Vec<u8>) {
        let mut queue = lock(&self.queue);
        if queue.closed {
            return;
        }
        let body = if queue.bodies.is_empty() && !queue.writing {
            match self.write_direct(&mut queue, body) {
                Ok(None) => return,
                Ok(Some(body)) => body,
                Err(error) => return self.fail(&mut queue, End::WriteFailed(error.kind())),
            }
        } else {
            body
        };
        // One answer may be larger than the cap; it is what piles up unread that must not.
        if queue.bytes > 0 && queue.bytes + body.len() > self.cap {
            tracing::error!(unsent = queue.bytes, cap = self.cap, "the host does not read; its connection is dropped");
            return self.fail(&mut queue, End::OutgoingOverflow);
        }
        queue.bytes += body.len();
        queue.bodies.push_back(body);
        self.work.notify_one();
    }

    /// Writes a small body on this thread if that cannot block; gives the body back if it might.
    fn write_direct(&self, queue: &mut Queue, mut body: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        // The header of the largest such frame: `Content-Length: 4096\r\n\r\n`.
        const HEADER_BYTES: usize = 24;
        let Some(framing) = queue.framing else { return Ok(Some(body)) };
        if body.len() + HEADER_BYTES > DIRECT_BYTES {
            return Ok(Some(body));
        }
        let Ok(mut sink) = self.sink.try_lock() else { return Ok(Some(body)) };
        let Some(sink) = sink.as_mut().filter(|sink| sink.is_writable()) else { return Ok(Some(body)) };
        queue.scratch.clear();
        frame_start(framing, body.len(), &mut queue.scratch);
        frame_end(framing, &mut body);
        queue.scratch.extend_from_slice(&body);
        sink.write_all(&queue.scratch).map(|()| None)
    }

    /// The writer's thread: returns when the queue closes or the sink fails.
    pub fn write_loop(&self) {
        self.write_until_closed();
        *lock(&self.sink) = None;
    }

    fn write_until_closed(&self) {
        let mut taken = Vec::new();
        let mut scratch = Vec::with_capacity(COALESCE_BYTES);
        while let Some((framing, bytes)) = self.take(&mut taken) {
            let written = self.write(framing, &mut taken, &mut scratch);
            let mut queue = lock(&self.queue);
            queue.writing = false;
            queue.bytes = queue.bytes.saturating_sub(bytes);
            if let Err(error) = written {
                return self.fail(&mut queue, End::WriteFailed(error.kind()));
            }
            if queue.bodies.is_empty() {
                self.idle.notify_all();
            }
        }
    }

    /// Waits for work and takes one write's worth of it: its framing and bytes. `None` once closed.
    fn take(&self, taken: &mut Vec<Vec<u8>>) -> Option<(Framing, usize)> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.closed {
                return None;
            }
            if let (Some(framing), false) = (queue.framing, queue.bodies.is_empty()) {
                let mut bytes = 0;
                while let Some(next) = queue.bodies.front().map(Vec::len)
                    && (taken.is_empty() || bytes + next <= COALESCE_BYTES)
                {
                    bytes += next;
                    taken.extend(queue.bodies.pop_front());
                }
                queue.writing = true;
                return Some((framing, bytes));
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&self, framing: Framing, taken: &mut Vec<Vec<u8>>, scratch: &mut Vec<u8>) -> io::Result<()> {
        let mut sink = lock(&self.sink);
        let Some(sink) = sink.as_mut() else { return Ok(()) };
        scratch.clear();
        for mut body in taken.drain(..) {
            frame_start(framing, body.len(), scratch);
            frame_end(framing, &mut body);
            if body.len() <= COALESCE_BYTES {
                scratch.extend_from_slice(&body);
            } else {
                sink.write_all(scratch)?;
                scratch.clear();
                sink.write_all(&body)?;
            }
        }
        sink.write_all(scratch)?;
        sink.flush()
    }

    /// Waits until everything is written, the queue is closed, or it is `deadline`.
    pub fn wait_idle(&self, deadline: Instant) {
        let mut queue = lock(&self.queue);
        while !queue.closed && queue.framing.is_some() && (queue.writing || !queue.bodies.is_empty()) {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return };
            queue = self.idle.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Drops what is queued and ends the writer's thread, as soon as it is not in a write.
    pub fn close(&self) {
        self.shut(&mut lock(&self.queue));
    }

    fn fail(&self, queue: &mut Queue, end: End) {
        self.shut(queue);
        // Nobody listens once the connection has ended.
        let _ = self.end.send(end);
    }

    fn shut(&self, queue: &mut Queue) {
        queue.closed = true;
        queue.bodies = VecDeque::new();
        self.work.notify_all();
        self.idle.notify_all();
    }
}
