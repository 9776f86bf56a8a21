//! Listening on a loopback WebSocket, for hosts in a browser. One JSON-RPC message (or batch) a WebSocket message.
//!
//! Inside, a message is what stands behind a `Content-Length` header: so the connection's code serves a WebSocket as it
//! serves a pipe. A message over twice the default of `maxMessageBytes` closes the connection (1009), since WebSocket
//! messages cannot be read past piece by piece; a smaller one over the limit is answered -32040 as everywhere.

mod gate;
mod wire;

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tungstenite::protocol::{Role, WebSocketConfig};
use tungstenite::{Error, Message, Utf8Bytes, WebSocket};

use super::presence::{LAST_ANSWERS, Presence};
use super::say_ready;
use crate::rpc::Sink;
use crate::rpc::codec::{Decoder, Event, Framing, frame_start};
use crate::server::Server;
use crate::server::session::Options;
use crate::signals;
use gate::Gate;
use wire::{ReadHalf, Wire, WriteHalf};

/// Largest message that is taken off the wire.
const MAX_MESSAGE_BYTES: usize = 128 << 20;
/// How long a handshake may take, from one read to the next; and the last frames, once the connection has ended.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long accepting rests after it failed: descriptors are used up, and only a connection's end frees some.
const REST: Duration = Duration::from_millis(50);

/// Serves whoever has the token, which the ready line says, until the process has been idle.
///
/// # Errors
/// An address that is taken.
pub fn listen(options: Options, address: SocketAddr, origins: Vec<String>, idle: Option<Duration>) -> io::Result<()> {
    let listener = TcpListener::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))?;
    let address = listener.local_addr()?;
    let gate = Gate::new(origins)?;
    let ready = json!({ "url": format!("ws://{address}"), "token": gate.token() });
    let presence = Arc::new(Presence::default());
    let host = Arc::new(Host { server: Server::new(options), presence: presence.clone(), gate });
    let serving = host.clone();
    let accepting = move || {
        loop {
            let taken = listener.accept().and_then(|(stream, _)| {
                let host = serving.clone();
                thread::Builder::new().name("toolscout-host".to_owned()).spawn(move || {
                    if let Err(error) = host.receive(&stream) {
                        tracing::warn!(%error, "a connection was dropped");
                    }
                    let _ = stream.shutdown(Shutdown::Both);
                })
            });
            if let Err(error) = taken {
                tracing::warn!(%error, "a connection could not be taken");
                thread::sleep(REST);
            }
        }
    };
    thread::Builder::new().name("toolscout-accept".to_owned()).spawn(accepting)?;
    let ending = presence.clone();
    signals::on_end(move || ending.end())?;
    say_ready(ready);
    presence.wait_idle(idle);
    host.server.begin_end();
    presence.wait_empty(LAST_ANSWERS);
    host.server.end();
    Ok(())
}

struct Host {
    server: Server,
    presence: Arc<Presence>,
    gate: Gate,
}

impl Host {
    fn receive(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let wire = Arc::new(Wire::new(stream.try_clone()?));
        let half = ReadHalf::new(stream.try_clone()?, wire.clone());
        let admitted = tungstenite::accept_hdr_with_config(half, &self.gate, Some(config()));
        let socket = admitted.map_err(|error| io::Error::new(io::ErrorKind::PermissionDenied, error.to_string()))?;
        stream.set_read_timeout(None)?;

        let peer = stream.try_clone()?;
        let hang_up = move || {
            // One that has ended already cannot be shut.
            let _ = peer.shutdown(Shutdown::Read);
        };
        let Some(_present) = self.presence.enter(hang_up) else { return Ok(()) };
        let (closing, closed) = mpsc::channel();
        let messages = Messages { socket, frame: Vec::new(), at: 0 };
        let ended = self.server.serve(messages, Sink::new(Frames::new(wire, closing)));
        // The writer's thread says the WebSocket's own goodbye and lets go of its half.
        let _ = closed.recv_timeout(PATIENCE);
        ended.map(drop)
    }
}

fn config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE_BYTES)).max_frame_size(Some(MAX_MESSAGE_BYTES))
}

/// WebSocket messages as a stream of frames with a header.
struct Messages {
    socket: WebSocket<ReadHalf>,
    /// The message that is being handed out, behind its header.
    frame: Vec<u8>,
    at: usize,
}

impl Read for Messages {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.frame.len() {
            let message = match self.socket.read() {
                Ok(Message::Text(text)) => text.into(),
                Ok(Message::Binary(bytes)) => bytes,
                // Answered by the library, with the next read.
                Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_)) => continue,
                Err(Error::ConnectionClosed | Error::AlreadyClosed) => return Ok(0),
                Err(Error::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)) => return Ok(0),
                Err(Error::Io(error)) => return Err(error),
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
            };
            self.frame = Vec::with_capacity(message.len() + 32);
            frame_start(Framing::Headers, message.len(), &mut self.frame);
            self.frame.extend_from_slice(&message);
            self.at = 0;
        }
        let rest = self.frame.get(self.at..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

/// A stream of frames with a header as WebSocket messages.
struct Frames {
    decoder: Decoder,
    socket: WebSocket<WriteHalf>,
    /// Dropped with this.
    _closing: Sender<()>,
}

impl Frames {
    fn new(wire: Arc<Wire>, closing: Sender<()>) -> Self {
        let socket = WebSocket::from_raw_socket(WriteHalf(wire), Role::Server, None);
        Self { decoder: Decoder::new(Arc::new(AtomicUsize::new(usize::MAX))), socket, _closing: closing }
    }
}

impl Write for Frames {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { decoder, socket, .. } = self;
        let sent = decoder.push(bytes, &mut |event| {
            let Event::Message(body) = event else { return ControlFlow::Continue(()) };
            // Answers are JSON text.
            let text = Utf8Bytes::try_from(body.to_vec()).map_err(io::Error::other);
            match text.and_then(|text| socket.send(Message::Text(text)).map_err(io_error)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        });
        match sent {
            ControlFlow::Continue(()) => Ok(bytes.len()),
            ControlFlow::Break(error) => Err(error),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // A host that is gone misses nothing.
        let _ = self.socket.close(None).and_then(|()| self.socket.flush());
    }
}

fn io_error(error: Error) -> io::Error {
    match error {
        Error::Io(error) => error,
        Error::ConnectionClosed | Error::AlreadyClosed => io::ErrorKind::BrokenPipe.into(),
        error => io::Error::other(error.to_string()),
    }
}
