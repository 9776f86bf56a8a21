//! What is said on the socket of a shared sidecar before the protocol begins, and after it has ended.
//!
//! Whoever connects says which version it is and what it wants, one line of JSON; the daemon says who it is, one line of
//! JSON. To serve, the protocol follows in both directions, byte by byte. When the daemon ends the connection it says
//! how, behind a zero byte, which stands in no frame; an end without one is a daemon that died. These lines are read
//! by other versions too (`toolscout status`, `toolscout stop`), so members may only ever be added.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Longest line of a greeting: a path and a few words.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Stands before [`Farewell`]. A frame is JSON text and header lines, in which there is none.
pub const END_MARK: u8 = 0;

/// From whoever connects.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// Its version.
    pub version: String,
    /// What for.
    pub want: Want,
}

impl Hello {
    /// From this version.
    pub fn new(want: Want) -> Self {
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), want }
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Want {
    /// The protocol.
    Serve,
    /// To know that the daemon is there.
    Status,
    /// That the daemon ends; the connection closes when it has.
    Stop,
}

/// From the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Welcome {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// The workspace it serves.
    pub workspace: Option<String>,
    /// Hosts it serves now.
    pub connections: usize,
    /// Since it started.
    pub uptime_ms: u64,
}

/// How the daemon ended a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Farewell {
    /// Whether as the protocol has it.
    pub well: bool,
    /// Why, for a person.
    pub reason: String,
}

/// Writes one line.
///
/// # Errors
/// Of the stream.
pub fn write_line(mut stream: impl Write, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    stream.write_all(&text)
}

/// Reads one line and not a byte more.
///
/// # Errors
/// Of the stream; its end, and a line that is something else.
pub fn read_line<T: DeserializeOwned>(mut stream: impl Read) -> io::Result<T> {
    let mut line = Vec::new();
    while line.len() < MAX_LINE_BYTES {
        // One at a time: what stands behind the line is the protocol's.
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => return Ok(serde_json::from_slice(&line)?),
            [byte] => line.push(byte),
        }
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "no line of a greeting is so long"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_and_nothing_behind_it() {
        let mut text = Vec::new();
        write_line(&mut text, &Hello::new(Want::Stop)).unwrap();
        text.extend_from_slice(b"rest");
        let mut stream = &text[..];
        let hello: Hello = read_line(&mut stream).unwrap();
        assert_eq!((hello.want, stream), (Want::Stop, &b"rest"[..]));
    }

    #[test]
    fn another_version_is_understood() {
        let line = "{\"version\":\"9.9.9\",\"pid\":1,\"connections\":2,\"uptimeMs\":3,\"more\":[]}\n";
        let welcome: Welcome = read_line(line.as_bytes()).unwrap();
        assert_eq!((&*welcome.version, welcome.workspace), ("9.9.9", None));
    }

    #[test]
    fn what_is_no_greeting_is_an_error() {
        for text in ["", "{\"want\":\"serve\"", "GET / HTTP/1.1\r\n", "{}\n", "\u{0}\n"] {
            assert!(read_line::<Hello>(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(read_line::<Hello>(io::repeat(b'x')).is_err(), "a line without an end");
    }
}
