//! Framing: a byte stream to messages and back.
//!
//! [`Decoder`] is a state machine without I/O: it is pushed bytes, split anywhere, and calls back with events.
//! It holds at most one message, never one over the limit, and gives a large buffer back after use. It does not look
//! into a message, except for the id of one that it reads past (see `oversized`).
//!
//! Two framings: header lines of which `Content-Length` counts, as in the Language Server Protocol's base protocol;
//! or one JSON value a line, as in MCP's stdio transport. The first byte that is not white space decides.

use std::convert::Infallible;
use std::io::{self, BufRead, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::oversized::{Oversized, Skimmer};

/// A header block is a line or two; one this long is some other protocol.
const MAX_HEADER_BYTES: usize = 8 * 1024;
/// Above this, the buffer of a message is freed and not kept for the next.
const KEEP_BUFFER_BYTES: usize = 1024 * 1024;
/// One read; a message that lies whole in it is never copied.
const CHUNK_BYTES: usize = 64 * 1024;

/// How messages are told apart in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// `Content-Length: N`, an empty line, N bytes.
    Headers,
    /// One JSON value a line.
    Lines,
}

/// What the decoder found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<'a> {
    /// The framing is now known; comes once, before every other event.
    Framing(Framing),
    /// One message, not yet looked at.
    Message(&'a [u8]),
    /// A message over the limit was read past.
    Oversized(Oversized),
    /// The header is broken, so nobody knows where the next message begins. Comes last.
    Broken(&'static str),
}

enum State {
    Start,
    Line,
    LongLine(Skimmer),
    Header { length: Option<u64>, bytes: usize },
    Body { remaining: u64 },
    LongBody { remaining: u64, skimmer: Skimmer },
    Dead,
}

/// See the module.
pub struct Decoder {
    state: State,
    /// The part of a header line or message that came before the current chunk.
    buffer: Vec<u8>,
    limit: Arc<AtomicUsize>,
}

impl Decoder {
    /// `limit` is `maxMessageBytes`; a change counts from the next message on.
    pub fn new(limit: Arc<AtomicUsize>) -> Self {
        Self { state: State::Start, buffer: Vec::new(), limit }
    }

    /// Takes the next bytes of the stream. Stops early, losing the rest, when `on` breaks.
    pub fn push<B>(&mut self, mut bytes: &[u8], on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        while !bytes.is_empty() {
            bytes = self.step(bytes, on)?;
        }
        ControlFlow::Continue(())
    }

    /// Takes the next bytes of the stream up to the end of one message, and gives back those behind it. For who reads
    /// the beginning of a stream and hands the rest on as it is.
    pub fn push_one<'b>(&mut self, mut bytes: &'b [u8], on: &mut impl FnMut(Event<'_>)) -> &'b [u8] {
        let mut found = false;
        while !bytes.is_empty() && !found {
            let stepped = self.step(bytes, &mut |event| {
                found |= !matches!(event, Event::Framing(_));
                on(event);
                ControlFlow::<Infallible>::Continue(())
            });
            let ControlFlow::Continue(rest) = stepped;
            bytes = rest;
        }
        bytes
    }

    /// Takes some bytes, with at most one event beside [`Event::Framing`].
    fn step<'b, B>(
        &mut self,
        bytes: &'b [u8],
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, &'b [u8]> {
        match &self.state {
            State::Start => self.start(bytes, on),
            State::Line | State::LongLine(_) => self.line(bytes, on),
            State::Header { .. } => self.header_line(bytes, on),
            State::Body { .. } | State::LongBody { .. } => self.body(bytes, on),
            State::Dead => ControlFlow::Continue(&[]),
        }
    }

    /// The stream ended. A last line without a line break counts if it is whole; other partial messages are dropped.
    pub fn finish<B>(&mut self, on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>) -> ControlFlow<B> {
        let rest = std::mem::take(&mut self.buffer);
        let whole = matches!(self.state, State::Line) && serde_json::from_slice::<serde::de::IgnoredAny>(&rest).is_ok();
        self.state = State::Dead;
        if whole { on(Event::Message(&rest)) } else { ControlFlow::Continue(()) }
    }

    fn start<'b, B>(
        &mut self,
        bytes: &'b [u8],
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, &'b [u8]> {
        let bytes = bytes.trim_ascii_start();
        let framing = match bytes.first() {
            None => return ControlFlow::Continue(bytes),
            Some(b'{' | b'[') => Framing::Lines,
            // A byte order mark or UTF-16 most likely; taken for a header line, it would be met with silence.
            Some(byte) if !byte.is_ascii_graphic() => {
                on(Event::Framing(Framing::Lines))?;
                return self.broken("the first byte begins neither JSON nor a header", on);
            }
            Some(_) => Framing::Headers,
        };
        self.state = match framing {
            Framing::Lines => State::Line,
            Framing::Headers => State::Header { length: None, bytes: 0 },
        };
        on(Event::Framing(framing))?;
        ControlFlow::Continue(bytes)
    }

    fn line<'b, B>(
        &mut self,
        bytes: &'b [u8],
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, &'b [u8]> {
        let (piece, rest, ended) = until_line_break(bytes);
        if let State::LongLine(skimmer) = &mut self.state {
            skimmer.read(piece);
        } else if self.buffer.len() + piece.len() > self.limit.load(Ordering::Relaxed) {
            let mut skimmer = Skimmer::default();
            skimmer.read(&std::mem::take(&mut self.buffer));
            skimmer.read(piece);
            self.state = State::LongLine(skimmer);
        } else if !ended {
            self.buffer.extend_from_slice(piece);
        }
        if ended {
            if let State::LongLine(skimmer) = std::mem::replace(&mut self.state, State::Line) {
                on(Event::Oversized(skimmer.finish()))?;
            } else {
                let line = self.whole(piece).trim_ascii();
                if !line.is_empty() {
                    on(Event::Message(line))?;
                }
                self.release();
            }
        }
        ControlFlow::Continue(rest)
    }

    fn header_line<'b, B>(
        &mut self,
        chunk: &'b [u8],
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, &'b [u8]> {
        let State::Header { length, bytes } = self.state else { return ControlFlow::Continue(chunk) };
        let (piece, rest, ended) = until_line_break(chunk);
        let bytes = bytes + piece.len() + usize::from(ended);
        if bytes > MAX_HEADER_BYTES {
            return self.broken("the header is longer than 8 KiB", on);
        }
        if !ended {
            self.buffer.extend_from_slice(piece);
            self.state = State::Header { length, bytes };
            return ControlFlow::Continue(rest);
        }
        let parsed = header(self.whole(piece), length);
        self.buffer.clear();
        match parsed {
            Err(reason) => return self.broken(reason, on),
            Ok(Header::Field(length)) => self.state = State::Header { length, bytes },
            // Blank lines between messages do no harm and some writers leave them.
            Ok(Header::End(None)) if bytes <= 2 => self.state = State::Header { length: None, bytes: 0 },
            Ok(Header::End(None)) => return self.broken("the header has no Content-Length", on),
            Ok(Header::End(Some(0))) => {
                self.state = State::Header { length: None, bytes: 0 };
                on(Event::Message(&[]))?;
            }
            Ok(Header::End(Some(remaining))) if remaining > self.limit.load(Ordering::Relaxed) as u64 => {
                self.state = State::LongBody { remaining, skimmer: Skimmer::default() };
            }
            Ok(Header::End(Some(remaining))) => self.state = State::Body { remaining },
        }
        ControlFlow::Continue(rest)
    }

    fn body<'b, B>(
        &mut self,
        bytes: &'b [u8],
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, &'b [u8]> {
        let (State::Body { remaining } | State::LongBody { remaining, .. }) = &mut self.state else {
            return ControlFlow::Continue(bytes);
        };
        let here = usize::try_from(*remaining).unwrap_or(usize::MAX).min(bytes.len());
        let (piece, rest) = bytes.split_at(here);
        *remaining -= here as u64;
        let ended = *remaining == 0;
        if let State::LongBody { skimmer, .. } = &mut self.state {
            skimmer.read(piece);
        } else if !ended {
            self.buffer.extend_from_slice(piece);
        }
        if ended {
            let next = State::Header { length: None, bytes: 0 };
            if let State::LongBody { skimmer, .. } = std::mem::replace(&mut self.state, next) {
                on(Event::Oversized(skimmer.finish()))?;
            } else {
                on(Event::Message(self.whole(piece)))?;
                self.release();
            }
        }
        ControlFlow::Continue(rest)
    }

    /// What was kept and `piece` as one; a piece that is all there is needs no copy.
    fn whole<'p>(&'p mut self, piece: &'p [u8]) -> &'p [u8] {
        if self.buffer.is_empty() {
            return piece;
        }
        self.buffer.extend_from_slice(piece);
        &self.buffer
    }

    fn release(&mut self) {
        self.buffer.clear();
        if self.buffer.capacity() > KEEP_BUFFER_BYTES {
            self.buffer = Vec::new();
        }
    }

    fn broken<'b, B>(
        &mut self,
        reason: &'static str,
        on: &mut impl FnMut(Event<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B, &'b [u8]> {
        self.state = State::Dead;
        self.buffer = Vec::new();
        on(Event::Broken(reason))?;
        ControlFlow::Continue(&[])
    }
}

/// The bytes before the first line break, those after it, and whether there is one.
fn until_line_break(bytes: &[u8]) -> (&[u8], &[u8], bool) {
    let mut rest = bytes;
    // `BufRead` of a slice never fails; it is taken for its fast search.
    let taken = rest.skip_until(b'\n').unwrap_or(bytes.len());
    match bytes[..taken].split_last() {
        Some((b'\n', line)) => (line, rest, true),
        _ => (bytes, &[], false),
    }
}

enum Header {
    Field(Option<u64>),
    End(Option<u64>),
}

/// One header line; `length` is what earlier lines of the block said.
fn header(line: &[u8], length: Option<u64>) -> Result<Header, &'static str> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(Header::End(length));
    }
    let Some(colon) = line.iter().position(|&byte| byte == b':') else {
        return Err("a header line has no colon");
    };
    let (name, value) = line.split_at(colon);
    if !name.trim_ascii().eq_ignore_ascii_case(b"content-length") {
        return Ok(Header::Field(length));
    }
    let value = value[1..].trim_ascii();
    // `u64::from_str` takes a plus sign, which no header has.
    let digits = Some(value).filter(|value| value.iter().all(u8::is_ascii_digit));
    let parsed = digits.and_then(|value| std::str::from_utf8(value).ok()).and_then(|value| value.parse().ok());
    match (parsed, length) {
        (None, _) => Err("Content-Length is not a number"),
        (Some(new), Some(old)) if new != old => Err("two Content-Length headers differ"),
        (Some(new), _) => Ok(Header::Field(Some(new))),
    }
}

/// Feeds a decoder from a blocking reader until the stream ends (`Ok(None)`), `on` breaks, or a read fails.
pub fn read_all<B>(
    mut read: impl Read,
    decoder: &mut Decoder,
    mut on: impl FnMut(Event<'_>) -> ControlFlow<B>,
) -> io::Result<Option<B>> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let flow = match read.read(&mut chunk) {
            Ok(0) => return Ok(decoder.finish(&mut on).break_value()),
            Ok(count) => decoder.push(&chunk[..count], &mut on),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if let ControlFlow::Break(value) = flow {
            return Ok(Some(value));
        }
    }
}

/// What goes before a body of `length` bytes.
pub fn frame_start(framing: Framing, length: usize, out: &mut Vec<u8>) {
    if framing == Framing::Headers {
        out.extend_from_slice(b"Content-Length: ");
        out.extend_from_slice(length.to_string().as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
    }
}

/// Makes a body fit its framing and puts on it what goes behind it. `body` is JSON.
pub fn frame_end(framing: Framing, body: &mut Vec<u8>) {
    if framing == Framing::Lines {
        // In JSON a raw line break stands between tokens only, so a space says the same.
        for byte in body.iter_mut() {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        body.push(b'\n');
    }
}

#[cfg(test)]
mod tests;
