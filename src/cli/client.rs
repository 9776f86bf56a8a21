//! The host's end of a connection: one request at a time, blocking.
//!
//! Frames have a `Content-Length` header. What the sidecar asks of the host in between is answered -32601 (this host
//! can do nothing), what it only says is kept.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::failure::Failure;
use crate::protocol::errors::code;

/// Longest line of a header; a sidecar sends shorter ones.
const MAX_HEADER_LINE: u64 = 1024;

/// Who sent a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    Host,
    Sidecar,
}

/// A notification of the sidecar.
#[derive(Debug)]
pub struct Notification {
    pub method: String,
    pub params: Option<Box<RawValue>>,
}

/// See the module.
pub struct Client {
    read: Box<dyn BufRead>,
    write: Box<dyn Write>,
    last_id: u64,
    /// What the sidecar said unasked, in order.
    pub notifications: Vec<Notification>,
    /// All frames in order.
    pub frames: Vec<(Sender, String)>,
}

#[derive(Deserialize)]
struct Message {
    id: Option<Box<RawValue>>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Box<RawValue>>,
}

impl Client {
    /// A connection that is up.
    pub fn new(read: impl Read + 'static, write: impl Write + 'static) -> Self {
        Self {
            read: Box::new(BufReader::new(read)),
            write: Box::new(write),
            last_id: 0,
            notifications: Vec::new(),
            frames: Vec::new(),
        }
    }

    /// Asks, and waits for the result.
    ///
    /// # Errors
    /// The sidecar's error object, or the end of the connection.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Box<RawValue>, Failure> {
        self.last_id += 1;
        let id = self.last_id.to_string();
        self.send(json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }))?;
        loop {
            let message = self.receive()?;
            let answers = message.id.as_ref().is_none_or(|sent| sent.get() == id);
            match (message.method, message.id) {
                (Some(method), None) => self.notifications.push(Notification { method, params: message.params }),
                (Some(method), Some(id)) => {
                    let message = format!("this host has no `{method}`");
                    let error = json!({ "code": code::METHOD_NOT_FOUND, "message": message });
                    self.send(json!({ "jsonrpc": "2.0", "id": id, "error": error }))?;
                }
                (None, _) if answers => {
                    return match message.error {
                        Some(error) => Err(refused(error)),
                        // A result that is null reads as an absent one.
                        None => Ok(message.result.unwrap_or_else(|| RawValue::NULL.to_owned())),
                    };
                }
                // Nobody waits for it.
                (None, _) => {}
            }
        }
    }

    /// Tells something that has no answer.
    ///
    /// # Errors
    /// The end of the connection.
    pub fn notify(&mut self, method: &str, params: Value) -> Result<(), Failure> {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: Value) -> Result<(), Failure> {
        let body = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        self.write.write_all(frame.as_bytes()).and_then(|()| self.write.flush()).map_err(|error| ended(&error))?;
        self.frames.push((Sender::Host, body));
        Ok(())
    }

    fn receive(&mut self) -> Result<Message, Failure> {
        let body = self.body().map_err(|error| ended(&error))?;
        let message = serde_json::from_str(&body)
            .map_err(|error| Failure::Other(format!("the sidecar sent what is no JSON-RPC message: {error}")))?;
        self.frames.push((Sender::Sidecar, body));
        Ok(message)
    }

    fn body(&mut self) -> io::Result<String> {
        let mut length = None;
        loop {
            let mut line = String::new();
            self.read.by_ref().take(MAX_HEADER_LINE).read_line(&mut line)?;
            if !line.ends_with('\n') {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match (line.trim_end().split_once(':'), length) {
                (Some((name, value)), _) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse::<u64>().ok();
                }
                (Some(_), _) => {}
                (None, Some(length)) => {
                    let mut body = String::new();
                    let read = self.read.by_ref().take(length).read_to_string(&mut body)?;
                    return if read as u64 == length { Ok(body) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
                }
                (None, None) => return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame has no length")),
            }
        }
    }
}

fn refused(error: Box<RawValue>) -> Failure {
    #[derive(Deserialize)]
    struct Object {
        message: String,
    }
    let message = serde_json::from_str::<Object>(error.get()).map(|object| object.message);
    Failure::Refused { message: message.unwrap_or_else(|_| error.get().to_owned()), error }
}

fn ended(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
            Failure::Other("the sidecar ended before it answered; TOOLSCOUT_LOG=debug shows more".to_owned())
        }
        _ => Failure::system("the connection to the sidecar failed", error),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Rc<RefCell<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn client(bodies: &[&str]) -> (Client, Written) {
        let frames = bodies.iter().map(|body| format!("Content-Length: {}\r\nX-Other: 1\r\n\r\n{body}", body.len()));
        let written = Written::default();
        (Client::new(io::Cursor::new(frames.collect::<String>()), written.clone()), written)
    }

    #[test]
    fn the_answer_is_the_one_with_the_requests_id() {
        let (mut client, written) = client(&[
            r#"{"jsonrpc":"2.0","method":"diagnostics/publish","params":{"file":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":"s1","method":"host/approve","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"result":"of nobody"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"big":123456789012345678901234567890}}"#,
        ]);
        let result = client.request("status", json!({})).unwrap();
        assert_eq!(result.get(), r#"{"big":123456789012345678901234567890}"#);
        assert_eq!(client.notifications[0].method, "diagnostics/publish");
        let written = String::from_utf8(written.0.borrow().clone()).unwrap();
        assert!(written.starts_with("Content-Length: 54\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,"), "{written}");
        assert!(written.contains(r#"{"jsonrpc":"2.0","id":"s1","error":{"code":-32601,"#), "{written}");
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let message = |failure| match failure {
            Failure::Refused { message, .. } | Failure::Other(message) => message,
        };
        for (label, bodies, expected) in [
            ("an error object", vec![r#"{"id":1,"error":{"code":-32603,"message":"no"}}"#], "no"),
            ("an error whose request was not read", vec![r#"{"id":null,"error":{"code":-32700,"message":"x"}}"#], "x"),
            ("the end", vec![], "the sidecar ended before it answered; TOOLSCOUT_LOG=debug shows more"),
        ] {
            let (mut client, _) = client(&bodies);
            assert_eq!(message(client.request("status", json!({})).unwrap_err()), expected, "{label}");
        }
        for broken in ["Content-Length: 9\r\n\r\n{", "X: 1\r\n\r\n{}", "Content-Length: 2\r\n\r\n[]", "\r\n"] {
            let mut client = Client::new(io::Cursor::new(broken), io::sink());
            assert!(client.request("status", json!({})).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn a_null_result_is_a_result() {
        let (mut client, _) = client(&[r#"{"jsonrpc":"2.0","id":1,"result":null}"#]);
        assert_eq!(client.request("shutdown", Value::Null).unwrap().get(), "null");
    }
}
