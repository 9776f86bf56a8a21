//! The beginning of a relayed connection: what the host sends up to its `initialize`.
//!
//! A relay cannot dial before it has seen `initialize`, which may name the workspace; what comes before, it answers as
//! a sidecar would. To `initialize` it adds what the daemon must not take from its own process.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::protocol::errors::RpcError;
use crate::rpc::Limits;
use crate::rpc::codec::{Decoder, Event, Framing, frame_end, frame_start};
use crate::rpc::message::{Incoming, Message, parse};

/// One read.
const CHUNK_BYTES: usize = 64 * 1024;

/// How the beginning ended.
#[derive(Debug)]
pub enum Opening {
    /// With `initialize`.
    Initialize(Initialize),
    /// Without; whether as the protocol has it.
    Ended {
        /// Code 0 or 1.
        well: bool,
    },
}

/// The message with which a host begins.
#[derive(Debug, PartialEq, Eq)]
pub struct Initialize {
    /// The framing that the host chose.
    pub framing: Framing,
    /// The message, or the batch with it in it.
    pub body: Vec<u8>,
    /// What came behind it in the same read.
    pub rest: Vec<u8>,
}

/// What the relay knows and the daemon does not.
#[derive(Debug, Clone, Default)]
pub struct Asking {
    /// The relay's working directory.
    pub working_directory: Option<String>,
    /// The relay's environment.
    pub environment: BTreeMap<String, String>,
}

/// Reads until `initialize`, and answers what comes before it.
///
/// # Errors
/// Of the streams.
pub fn read_opening(read: &mut impl Read, write: &mut impl Write) -> io::Result<Opening> {
    let limit = Limits::default().max_message_bytes;
    let mut decoder = Decoder::new(limit.clone());
    let mut beginning = Beginning { framing: Framing::Lines, limit, found: None };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count = match read.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let mut bytes = &chunk[..count];
        if count == 0 {
            let _ = decoder.finish(&mut |event| {
                beginning.event(event);
                ControlFlow::<()>::Continue(())
            });
        }
        loop {
            if count > 0 {
                bytes = decoder.push_one(bytes, &mut |event| beginning.event(event));
            }
            match beginning.found.take() {
                Some(Found::Initialize(body)) => {
                    return Ok(Opening::Initialize(Initialize {
                        framing: beginning.framing,
                        body,
                        rest: bytes.to_vec(),
                    }));
                }
                Some(Found::Answer(body)) => write_frame(write, beginning.framing, body)?,
                Some(Found::Exit) => return Ok(Opening::Ended { well: false }),
                Some(Found::Broken(body)) => {
                    write_frame(write, beginning.framing, body)?;
                    return Ok(Opening::Ended { well: false });
                }
                None => {}
            }
            if bytes.is_empty() {
                break;
            }
        }
        if count == 0 {
            return Ok(Opening::Ended { well: true });
        }
    }
}

/// Writes one message in the host's framing.
///
/// # Errors
/// Of the stream.
pub fn write_frame(write: &mut impl Write, framing: Framing, mut body: Vec<u8>) -> io::Result<()> {
    let mut frame = Vec::with_capacity(body.len() + 32);
    frame_start(framing, body.len(), &mut frame);
    frame_end(framing, &mut body);
    frame.extend_from_slice(&body);
    write.write_all(&frame)?;
    write.flush()
}

enum Found {
    Initialize(Vec<u8>),
    Answer(Vec<u8>),
    Broken(Vec<u8>),
    Exit,
}

struct Beginning {
    framing: Framing,
    limit: Arc<AtomicUsize>,
    found: Option<Found>,
}

impl Beginning {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Framing(framing) => self.framing = framing,
            Event::Message(body) => self.found = message(body),
            Event::Oversized(message) => {
                let limit = self.limit.load(std::sync::atomic::Ordering::Relaxed);
                let problem = RpcError::message_too_large(limit);
                self.found = Some(Found::Answer(answer(message.id.as_deref().unwrap_or("null"), &problem)));
            }
            Event::Broken(reason) => {
                self.found = Some(Found::Broken(answer("null", &RpcError::parse_error(reason))));
            }
        }
    }
}

fn message(body: &[u8]) -> Option<Found> {
    let incoming = parse(body);
    let messages = messages(&incoming);
    if messages.iter().any(is_initialize) {
        return Some(Found::Initialize(body.to_vec()));
    }
    let exits = |message: &Message<'_>| matches!(message, Message::Notification { method, .. } if method == "exit");
    if messages.iter().any(exits) {
        return Some(Found::Exit);
    }
    answers(&incoming, &RpcError::not_initialized()).map(Found::Answer)
}

fn messages<'a, 'b>(incoming: &'b Incoming<'a>) -> &'b [Message<'a>] {
    match incoming {
        Incoming::One(message) => std::slice::from_ref(message),
        Incoming::Batch(messages) => messages,
    }
}

fn is_initialize(message: &Message<'_>) -> bool {
    matches!(message, Message::Request { method, .. } if method == "initialize")
}

/// The same error to every request; what is no message gets its own.
fn answers(incoming: &Incoming<'_>, error: &RpcError) -> Option<Vec<u8>> {
    let bodies = messages(incoming).iter().filter_map(|message| match message {
        Message::Request { id, .. } => Some(answer(id, error)),
        Message::Invalid { id, error } => Some(answer(id.unwrap_or("null"), error)),
        Message::Notification { .. } | Message::Response { .. } | Message::Malformed { .. } => None,
    });
    let bodies: Vec<Vec<u8>> = bodies.collect();
    match incoming {
        _ if bodies.is_empty() => None,
        Incoming::One(_) => bodies.into_iter().next(),
        Incoming::Batch(_) => Some([&b"["[..], &bodies.join(&b','), b"]"].concat()),
    }
}

/// A response object; `id` is raw JSON.
fn answer(id: &str, error: &RpcError) -> Vec<u8> {
    #[derive(Serialize)]
    struct Response<'a> {
        jsonrpc: &'a str,
        id: &'a RawValue,
        error: &'a RpcError,
    }
    let id: &RawValue = serde_json::from_str(id).unwrap_or(RawValue::NULL);
    // Code, text and data of an error always have a form in JSON.
    serde_json::to_vec(&Response { jsonrpc: "2.0", id, error }).unwrap_or_default()
}

impl Initialize {
    /// What answers all its requests where there is nobody to serve them.
    pub fn refused(&self, error: &RpcError) -> Option<Vec<u8>> {
        answers(&parse(&self.body), error)
    }

    /// The workspace that the host names.
    pub fn workspace(&self) -> Option<String> {
        let incoming = parse(&self.body);
        let params = messages(&incoming).iter().find_map(|message| match message {
            Message::Request { params, .. } if is_initialize(message) => *params,
            _ => None,
        });
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(params?.get()).ok()?;
        serde_json::from_str(members.get("workspace")?.get()).ok()
    }

    /// The message with `cwd` and `environment` in it where the host gave none. One whose parameters are no object is
    /// left for the daemon to refuse.
    pub fn with(&self, asking: &Asking) -> Vec<u8> {
        let added = match parse(&self.body) {
            Incoming::One(message) => extended(&message, asking).map(|raw| raw.get().as_bytes().to_vec()),
            Incoming::Batch(messages) => {
                serde_json::from_slice::<Vec<Box<RawValue>>>(&self.body).ok().and_then(|raw| {
                    let items = messages.iter().zip(raw).map(|(message, raw)| extended(message, asking).unwrap_or(raw));
                    serde_json::to_vec(&items.collect::<Vec<_>>()).ok()
                })
            }
        };
        added.unwrap_or_else(|| self.body.clone())
    }
}

/// An `initialize` with what it lacks; of other messages nothing.
fn extended(message: &Message<'_>, asking: &Asking) -> Option<Box<RawValue>> {
    #[derive(Serialize)]
    struct Request<'a> {
        jsonrpc: &'a str,
        id: &'a RawValue,
        method: &'a str,
        params: BTreeMap<String, Box<RawValue>>,
    }
    let Message::Request { id, params, .. } = message else { return None };
    if !is_initialize(message) {
        return None;
    }
    let mut params: BTreeMap<String, Box<RawValue>> = match params {
        Some(params) => serde_json::from_str(params.get()).ok()?,
        None => BTreeMap::new(),
    };
    let mut add = |name: &str, value: Option<Box<RawValue>>| {
        let absent = params.get(name).is_none_or(|given| given.get() == "null");
        if let Some(value) = value.filter(|_| absent) {
            params.insert(name.to_owned(), value);
        }
    };
    add("cwd", asking.working_directory.as_ref().and_then(|folder| to_raw_value(folder).ok()));
    add("environment", to_raw_value(&asking.environment).ok());
    to_raw_value(&Request { jsonrpc: "2.0", id: serde_json::from_str(id).ok()?, method: "initialize", params }).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// With what every message has and no case is about.
    fn whole(text: &str) -> String {
        ["id", "method"].iter().fold(text.to_owned(), |text, first| {
            text.replace(&format!("{{\"{first}\":"), &format!("{{\"jsonrpc\":\"2.0\",\"{first}\":"))
        })
    }

    fn opening(text: &str) -> (Opening, String) {
        let mut answered = Vec::new();
        let opening = read_opening(&mut whole(text).as_bytes(), &mut answered).unwrap();
        (opening, String::from_utf8(answered).unwrap())
    }

    #[track_caller]
    fn initialize(text: &str) -> Initialize {
        match opening(text).0 {
            Opening::Initialize(initialize) => initialize,
            ended => panic!("{ended:?}"),
        }
    }

    #[test]
    fn the_rest_is_left_as_it_is() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#;
        for (label, text, framing, rest) in [
            ("lines", format!("{body}\n{{\"x\":2\n"), Framing::Lines, "{\"x\":2\n"),
            ("blank lines before", format!("\n\n{body}\n\n"), Framing::Lines, "\n"),
            ("no line break behind", body.to_owned(), Framing::Lines, ""),
            ("headers", format!("Content-Length: {}\r\n\r\n{body}Content-", body.len()), Framing::Headers, "Content-"),
        ] {
            let found = initialize(&text);
            assert_eq!(found, Initialize { framing, body: body.into(), rest: rest.into() }, "{label}");
        }
    }

    #[test]
    fn a_stream_may_be_split_anywhere() {
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                let count = self.0.len().min(out.len()).min(1);
                out[..count].copy_from_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Ok(count)
            }
        }
        let frame = |text: &str| format!("Content-Length: {}\r\n\r\n{}", whole(text).len(), whole(text));
        let initialize = r#"{"id":2,"method":"initialize"}"#;
        let text = frame(r#"{"id":1,"method":"status"}"#) + &frame(initialize) + "rest";
        let mut slow = Slow(text.as_bytes());
        let mut answered = Vec::new();
        let Ok(Opening::Initialize(found)) = read_opening(&mut slow, &mut answered) else { panic!() };
        assert_eq!((&*found.body, &*found.rest), (whole(initialize).as_bytes(), &b""[..]));
        assert_eq!(slow.0, b"rest");
        assert!(answered.starts_with(b"Content-Length: "));
    }

    #[test]
    fn what_comes_before_is_answered_as_a_sidecar_would() {
        let error = |id: &str, code: i32| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#);
        for (label, text, expected, well) in [
            ("nothing", "", vec![], true),
            ("a request", "{\"id\":1.50,\"method\":\"status\"}\n", vec![error("1.50", -32002)], true),
            ("a notification", "{\"method\":\"initialized\"}\n", vec![], true),
            ("an answer", "{\"id\":1,\"result\":2}\n", vec![], true),
            ("broken JSON", "{\"id\":1\n", vec![error("null", -32700)], true),
            (
                "a batch",
                "[{\"id\":1,\"method\":\"a\"},{\"method\":\"b\"},3]\n",
                vec!["[".to_owned() + &error("1", -32002), error("null", -32600)],
                true,
            ),
            ("exit", "{\"method\":\"exit\"}\n{\"id\":1,\"method\":\"initialize\"}\n", vec![], false),
            ("a broken header", "Content-Length: x\r\n\r\n", vec![error("null", -32700)], false),
        ] {
            let (opening, answered) = opening(text);
            let Opening::Ended { well: ended } = opening else { panic!("{label}: {opening:?}") };
            assert_eq!(ended, well, "{label}");
            assert_eq!(answered.is_empty(), expected.is_empty(), "{label}: {answered}");
            expected.iter().for_each(|piece| assert!(answered.contains(piece), "{label}: {answered}"));
        }
    }

    #[test]
    fn working_directory_and_environment_are_added_where_the_host_gave_none() {
        let asking =
            Asking { working_directory: Some("/here".into()), environment: [("A".to_owned(), "1".to_owned())].into() };
        let message = |params: &str| format!(r#"{{"id":1,"method":"initialize","params":{params}}}"#);
        for (label, params, expected) in [
            ("none given", "{}", json!({ "cwd": "/here", "environment": { "A": "1" } })),
            ("null given", r#"{"cwd":null}"#, json!({ "cwd": "/here", "environment": { "A": "1" } })),
            ("a folder given", r#"{"cwd":"/x"}"#, json!({ "cwd": "/x", "environment": { "A": "1" } })),
            ("variables given", r#"{"environment":{}}"#, json!({ "cwd": "/here", "environment": {} })),
            ("no object", "[1]", json!([1])),
        ] {
            let added: Value = serde_json::from_slice(&initialize(&message(params)).with(&asking)).unwrap();
            assert_eq!((&added["params"], &added["id"]), (&expected, &json!(1)), "{label}");
        }
        let bare: Value =
            serde_json::from_slice(&initialize(r#"{"id":1,"method":"initialize"}"#).with(&asking)).unwrap();
        assert_eq!(bare["params"]["cwd"], "/here");
        let batch = initialize(&format!("[{},{{\"id\":2,\"method\":\"status\"}}]\n", message("{}"))).with(&asking);
        let batch: Value = serde_json::from_slice(&batch).unwrap();
        assert_eq!((&batch[0]["params"]["cwd"], &batch[1]["method"]), (&json!("/here"), &json!("status")));
        let exact = initialize(&message(r#"{"settings":{"x":123456789012345678901234567890}}"#)).with(&asking);
        assert!(
            String::from_utf8(exact).unwrap().contains("123456789012345678901234567890"),
            "numbers stay as written"
        );
    }

    #[test]
    fn the_workspace_is_the_one_in_initialize() {
        for (params, expected) in [
            (r#"{"workspace":"/w"}"#, Some("/w")),
            (r#"{"workspace":7}"#, None),
            (r#"{"workspace":null}"#, None),
            ("{}", None),
            ("[]", None),
        ] {
            let found = initialize(&format!(r#"[{{"id":1,"method":"initialize","params":{params}}}]"#));
            assert_eq!(found.workspace().as_deref(), expected, "{params}");
        }
    }
}
