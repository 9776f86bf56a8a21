//! The queue of what is to be written, and the thread that writes it.
//!
//! Pushing never waits for the host, since a bounded queue deadlocks with a host that writes all its requests before
//! it reads. Instead, over a mark of unsent bytes no further request begins ([`Outgoing::wait_for_room`]) until the
//! host has read. A host is given up when it has read nothing for `stall` while more than the mark lies unsent, or
//! when [`HARD_CAP`] marks do. A frame is written whole or not at all.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::codec::{Framing, frame_end, frame_start};
use super::connection::End;
use super::gate::{Gate, Pass};
use super::lock;
use super::sink::Sink;

/// Frames up to this many bytes together become one write.
const COALESCE_BYTES: usize = 64 * 1024;
/// Marks of unsent bytes at which the host is given up though it reads: what was running before the mark was reached
/// may pass it, but not without end.
const HARD_CAP: usize = 4;

pub(super) struct Outgoing {
    queue: Mutex<Queue>,
    /// There is something to write, or the queue closed.
    work: Condvar,
    /// Everything is written, or the queue closed.
    idle: Condvar,
    /// Locked by who writes; who holds `queue` only tries. Gone once the writer's thread ends, so that the host sees
    /// the end though a session still holds its `Peer`.
    sink: Mutex<Option<Sink>>,
    mark: usize,
    /// Bytes of answers in batches that are not whole yet.
    pub batched: AtomicUsize,
    stall: Duration,
    /// Runs the watch over a host that may have stopped reading.
    runtime: Handle,
    end: Sender<End>,
}

struct Queue {
    bodies: VecDeque<Vec<u8>>,
    /// Of `bodies` and of what is being written.
    bytes: usize,
    /// When the host last took something, or had nothing to take.
    progress: Instant,
    /// A task watches `progress`.
    watched: bool,
    gate: Gate,
    /// The writer's thread is at the sink.
    writing: bool,
    /// Unknown until the host's first byte; until then nothing is written.
    framing: Option<Framing>,
    closed: bool,
    scratch: Vec<u8>,
}

impl Outgoing {
    /// `mark` in bytes; `end` is told when the host does not read or the sink fails.
    pub fn new(sink: Sink, mark: usize, stall: Duration, runtime: Handle, end: Sender<End>) -> Self {
        let queue = Queue {
            bodies: VecDeque::new(),
            bytes: 0,
            progress: Instant::now(),
            watched: false,
            gate: Gate::default(),
            writing: false,
            framing: None,
            closed: false,
            scratch: Vec::new(),
        };
        Self {
            queue: Mutex::new(queue),
            work: Condvar::new(),
            idle: Condvar::new(),
            sink: Mutex::new(Some(sink)),
            mark,
            batched: AtomicUsize::new(0),
            stall,
            runtime,
            end,
        }
    }

    /// Whether unfinished batches hold more than the mark, so that no further request of a batch may begin. They
    /// cannot wait for room: it comes only when all of their batch are answered.
    pub fn batches_are_full(&self) -> bool {
        self.batched.load(Ordering::Relaxed) >= self.mark
    }

    /// What a new request must wait for before it begins; `None` where there is room.
    pub fn wait_for_room(&self) -> Option<oneshot::Receiver<Pass>> {
        let mut queue = lock(&self.queue);
        let room = queue.closed || (queue.bytes < self.mark && queue.gate.is_idle());
        (!room).then(|| queue.gate.wait())
    }

    /// A request that had waited is answered.
    pub(super) fn passed(self: &Arc<Self>) {
        let mut queue = lock(&self.queue);
        queue.gate.passed();
        self.open_gate(queue);
    }

    /// Lets requests begin if there is room.
    fn open_gate(self: &Arc<Self>, mut queue: MutexGuard<'_, Queue>) {
        if queue.bytes >= self.mark || queue.gate.is_idle() {
            return;
        }
        let all = queue.bytes == 0;
        let passing = queue.gate.open(all);
        // Outside the lock: a pass that nobody takes any more comes back to it.
        drop(queue);
        for sender in passing {
            let _ = sender.send(Pass(self.clone()));
        }
    }

    pub fn set_framing(&self, framing: Framing) {
        lock(&self.queue).framing = Some(framing);
        self.work.notify_one();
    }

    /// Sends one JSON value, or queues it. After the end of the connection it is dropped.
    pub fn push(self: &Arc<Self>, body: Vec<u8>) {
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
        // One answer may be larger than any bound; it is what piles up unread that must not.
        let piles_up = queue.bytes > 0;
        if !piles_up {
            queue.progress = Instant::now();
        }
        queue.bytes += body.len();
        queue.bodies.push_back(body);
        if piles_up && queue.bytes > self.mark {
            if self.stall.is_zero() || queue.bytes > self.mark.saturating_mul(HARD_CAP) {
                return self.give_up(&mut queue);
            }
            if !std::mem::replace(&mut queue.watched, true) {
                self.runtime.spawn(self.clone().watch());
            }
        }
        self.work.notify_one();
    }

    /// Gives the host up if it reads nothing for `stall`. Ends as soon as no more than the mark is unsent.
    async fn watch(self: Arc<Self>) {
        while let Some(left) = self.patience() {
            tokio::time::sleep(left).await;
        }
    }

    /// How long the host may still read nothing; `None` if it need not be watched any longer.
    fn patience(&self) -> Option<Duration> {
        let mut queue = lock(&self.queue);
        let left = self.stall.saturating_sub(queue.progress.elapsed());
        queue.watched = !queue.closed && queue.bytes > self.mark && !left.is_zero();
        if !queue.closed && queue.bytes > self.mark && left.is_zero() {
            self.give_up(&mut queue);
        }
        queue.watched.then_some(left)
    }

    fn give_up(&self, queue: &mut Queue) {
        let seconds = queue.progress.elapsed().as_secs();
        tracing::warn!(unsent = queue.bytes, seconds, "the host does not read; its connection is dropped");
        self.fail(queue, End::OutgoingOverflow);
    }

    /// The host took so many bytes.
    fn wrote(self: &Arc<Self>, bytes: usize) {
        let mut queue = lock(&self.queue);
        queue.bytes = queue.bytes.saturating_sub(bytes);
        queue.progress = Instant::now();
        self.open_gate(queue);
    }

    /// Writes a small body on this thread if that cannot block; gives the body back if it might.
    fn write_direct(&self, queue: &mut Queue, mut body: Vec<u8>) -> io::Result<Option<Vec<u8>>> {
        // More than any header or line end has.
        const HEADER_BYTES: usize = 48;
        let Some(framing) = queue.framing else { return Ok(Some(body)) };
        let bytes = body.len() + HEADER_BYTES;
        let Ok(mut sink) = self.sink.try_lock() else { return Ok(Some(body)) };
        let Some(sink) = sink.as_mut().filter(|sink| sink.takes(bytes)) else { return Ok(Some(body)) };
        queue.scratch.clear();
        frame_start(framing, body.len(), &mut queue.scratch);
        frame_end(framing, &mut body);
        queue.scratch.extend_from_slice(&body);
        sink.write_all(&queue.scratch).map(|()| None)
    }

    /// The writer's thread: returns when the queue closes or the sink fails.
    pub fn write_loop(self: &Arc<Self>) {
        self.write_until_closed();
        *lock(&self.sink) = None;
    }

    fn write_until_closed(self: &Arc<Self>) {
        let mut taken = Vec::new();
        let mut scratch = Vec::with_capacity(COALESCE_BYTES);
        while let Some((framing, bytes)) = self.take(&mut taken) {
            let written = self.write(framing, &mut taken, &mut scratch, bytes);
            let mut queue = lock(&self.queue);
            queue.writing = false;
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

    /// Writes frames of `bytes` bytes together, step by step, so that a host that reads a large one slowly is seen to.
    fn write(
        self: &Arc<Self>,
        framing: Framing,
        taken: &mut Vec<Vec<u8>>,
        scratch: &mut Vec<u8>,
        bytes: usize,
    ) -> io::Result<()> {
        let mut sink = lock(&self.sink);
        let Some(sink) = sink.as_mut() else { return Ok(()) };
        scratch.clear();
        let mut left = bytes;
        for mut body in taken.drain(..) {
            frame_start(framing, body.len(), scratch);
            frame_end(framing, &mut body);
            if body.len() <= COALESCE_BYTES {
                scratch.extend_from_slice(&body);
                continue;
            }
            sink.write_all(scratch)?;
            scratch.clear();
            for piece in body.chunks(COALESCE_BYTES) {
                sink.write_all(piece)?;
                let here = piece.len().min(left);
                left -= here;
                self.wrote(here);
            }
        }
        sink.write_all(scratch)?;
        sink.flush()?;
        self.wrote(left);
        Ok(())
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
