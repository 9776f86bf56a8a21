//! One framed message to what it means: a request, a notification, an answer to a request of ours, or a batch.
//!
//! Borrows from the message and copies nothing. An id stays the text that was sent, so that large integers and
//! decimals come back digit by digit; ids are compared as texts. Unknown members are ignored. A known member twice
//! is refused, since two readers would take different ones.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::oversized::Skimmer;
use super::peer::is_ours;
use crate::protocol::errors::RpcError;

/// Levels of arrays and objects in one message, the message's own object being the first.
pub const MAX_DEPTH: usize = 128;
/// Messages in one batch. Without a bound, 64 MiB of `[0,0,…]` would be answered with gigabytes of errors.
pub const MAX_BATCH: usize = 16_384;

/// A framed message.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// The usual case.
    One(Message<'a>),
    /// A JSON-RPC batch; never empty.
    Batch(Vec<Message<'a>>),
}

/// One JSON-RPC message.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants an answer.
    Request {
        /// A JSON string or number, as written.
        id: &'a str,
        /// What to do.
        method: Cow<'a, str>,
        /// With what; `null` counts as absent.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        /// What happened.
        method: Cow<'a, str>,
        /// With what; `null` counts as absent.
        params: Option<&'a RawValue>,
    },
    /// Answers a request of ours.
    Response {
        /// As written; of any type.
        id: &'a str,
        /// The `result`, or the `error`.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
    /// Meant as an answer to a request of ours, going by its id, but cannot be read as one.
    Malformed {
        /// As written.
        id: Cow<'a, str>,
        /// Why not.
        reason: String,
    },
    /// Cannot be served.
    Invalid {
        /// The id to answer with, `None` for `null`.
        id: Option<&'a str>,
        /// What to answer.
        error: RpcError,
    },
}

/// Reads one framed message.
pub fn parse(bytes: &[u8]) -> Incoming<'_> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.trim_ascii(),
        Err(_) => return Incoming::One(unreadable(bytes, RpcError::parse_error("the message is not UTF-8"))),
    };
    if deeper_than(text, MAX_DEPTH) {
        let error = RpcError::parse_error(format!("the message is nested deeper than {MAX_DEPTH} levels"));
        return Incoming::One(unreadable(bytes, error));
    }
    if text.starts_with('[') { batch(text) } else { Incoming::One(one(text)) }
}

fn invalid<'a>(error: RpcError) -> Incoming<'a> {
    Incoming::One(Message::Invalid { id: None, error })
}

/// A message without form. If it was to answer us, who waits for the answer must not wait for ever.
fn unreadable<'a>(bytes: &[u8], error: RpcError) -> Message<'a> {
    let mut skimmer = Skimmer::default();
    skimmer.read(bytes);
    let seen = skimmer.finish();
    match seen.id.filter(|id| !seen.call && is_ours(id)) {
        Some(id) => Message::Malformed { id: Cow::Owned(id), reason: error.message },
        None => Message::Invalid { id: None, error },
    }
}

/// Whether brackets outside strings nest deeper than `limit`. Linear, and right for broken JSON too in that it never
/// says no where a parser would recurse further. (serde_json's own limit does not count what `RawValue` skips.)
fn deeper_than(text: &str, limit: usize) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() <= limit {
        return false;
    }
    let (mut depth, mut at) = (0usize, 0);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' if depth == limit => return true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                at += 1;
                while let Some(&byte) = bytes.get(at) {
                    match byte {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    false
}

fn batch(text: &str) -> Incoming<'_> {
    match serde_json::from_str::<Elements<'_>>(text) {
        Err(error) => invalid(RpcError::parse_error(error.to_string())),
        Ok(Elements::TooMany) => {
            invalid(RpcError::invalid_request(format!("a batch holds at most {MAX_BATCH} messages")))
        }
        Ok(Elements::Some(raw)) if raw.is_empty() => invalid(RpcError::invalid_request("the batch is empty")),
        Ok(Elements::Some(raw)) => Incoming::Batch(raw.into_iter().map(|raw| one(raw.get())).collect()),
    }
}

/// The items of a batch, unless there are more than [`MAX_BATCH`].
enum Elements<'a> {
    Some(Vec<&'a RawValue>),
    TooMany,
}

impl<'de> Deserialize<'de> for Elements<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = Elements<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    if all.len() == MAX_BATCH {
                        while items.next_element::<IgnoredAny>()?.is_some() {}
                        return Ok(Elements::TooMany);
                    }
                    all.push(item);
                }
                Ok(Elements::Some(all))
            }
        }
        deserializer.deserialize_seq(Items)
    }
}

/// The members that mean something. All are raw, so that one of a wrong type does not hide the others: above all
/// not the id, under which the refusal must be answered.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    /// An `error` of null beside a result is what some libraries write for success.
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

/// Tells `null` from absent, which `Option` alone does not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// `text` without white space around it.
fn one(text: &str) -> Message<'_> {
    let envelope = match envelope(text) {
        Ok(envelope) => envelope,
        Err(error) => return unreadable(text.as_bytes(), error),
    };
    let (id, id_is_wrong) = match envelope.id.map(RawValue::get) {
        Some(id) if id.starts_with(|first: char| first == '"' || first == '-' || first.is_ascii_digit()) => {
            (Some(id), false)
        }
        other => (None, other.is_some()),
    };
    let ours = envelope.method.is_none().then_some(id).flatten().filter(|id| is_ours(id));
    let refuse = |reason: &str| match ours {
        Some(id) => Message::Malformed { id: Cow::Borrowed(id), reason: reason.to_owned() },
        None => Message::Invalid { id, error: RpcError::invalid_request(reason) },
    };
    if envelope.jsonrpc.and_then(string).as_deref() != Some("2.0") {
        return refuse("`jsonrpc` must be \"2.0\"");
    }
    if let Some(method) = envelope.method {
        let Some(method) = string(method) else { return refuse("`method` must be a string") };
        return match id {
            Some(id) => Message::Request { id, method, params: envelope.params },
            None if id_is_wrong => refuse("`id` must be a string or a number"),
            None => Message::Notification { method, params: envelope.params },
        };
    }
    let outcome = match (envelope.result, envelope.error) {
        (_, Some(error)) => Err(error),
        (Some(result), None) => Ok(result),
        (None, None) => return refuse("it is neither a call (`method`) nor an answer (`result` or `error`)"),
    };
    Message::Response { id: id.unwrap_or("null"), outcome }
}

fn envelope(text: &str) -> Result<Envelope<'_>, RpcError> {
    // A derived reader also takes an array for a struct's members in order.
    let shape = if text.starts_with('[') { None } else { Some(serde_json::from_str::<Envelope<'_>>(text)) };
    match shape {
        Some(Ok(envelope)) => Ok(envelope),
        Some(Err(error)) if error.classify() != Category::Data => Err(RpcError::parse_error(error.to_string())),
        // A wrong shape stops the reader early; what follows may still be no JSON at all.
        shape => match (serde_json::from_str::<IgnoredAny>(text), shape) {
            (Err(error), _) => Err(RpcError::parse_error(error.to_string())),
            (Ok(_), Some(Err(error))) if text.starts_with('{') => Err(RpcError::invalid_request(error.to_string())),
            (Ok(_), _) => Err(RpcError::invalid_request("a message must be a JSON object")),
        },
    }
}

/// The text of a JSON string, borrowed where nothing in it is escaped.
fn string(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') { serde_json::from_str(raw.get()).ok().map(Cow::Owned) } else { Some(Cow::Borrowed(inner)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line for each message: its kind, its id and what it says.
    fn show(message: &Message<'_>) -> String {
        let raw = |value: Option<&RawValue>| value.map_or("-", RawValue::get).to_owned();
        match message {
            Message::Request { id, method, params } => format!("request {id} {method} {}", raw(*params)),
            Message::Notification { method, params } => format!("notification {method} {}", raw(*params)),
            Message::Response { id, outcome: Ok(result) } => format!("result {id} {result}"),
            Message::Response { id, outcome: Err(error) } => format!("error {id} {error}"),
            Message::Malformed { id, .. } => format!("malformed {id}"),
            Message::Invalid { id, error } => format!("{} {}", error.code, id.unwrap_or("null")),
        }
    }

    fn read(bytes: &[u8]) -> String {
        match parse(bytes) {
            Incoming::One(message) => show(&message),
            Incoming::Batch(messages) => format!("[{}]", messages.iter().map(show).collect::<Vec<_>>().join(", ")),
        }
    }

    #[test]
    fn one_line_a_case() {
        for (label, text, expected) in [
            (
                "TRANSPORT: request",
                r#"{"jsonrpc":"2.0","id":1,"method":"a","params":{"b":1}}"#,
                r#"request 1 a {"b":1}"#,
            ),
            ("TRANSPORT: no params", r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, "request 1 a -"),
            (
                "TRANSPORT: null params count as none",
                r#"{"jsonrpc":"2.0","id":1,"method":"a","params":null}"#,
                "request 1 a -",
            ),
            ("TRANSPORT: notification", r#"{"jsonrpc":"2.0","method":"a"}"#, "notification a -"),
            ("TRANSPORT: escaped method", r#"{"jsonrpc":"2.0","id":1,"method":"\u0061\/b"}"#, "request 1 a/b -"),
            ("TRANSPORT: escaped member name", r#"{"jsonrpc":"2.0","\u0069d":1,"method":"a"}"#, "request 1 a -"),
            (
                "TRANSPORT: large integer id",
                r#"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"a"}"#,
                "request 123456789012345678901234567890 a -",
            ),
            ("TRANSPORT: decimal id", r#"{"jsonrpc":"2.0","id":1.50,"method":"a"}"#, "request 1.50 a -"),
            ("TRANSPORT: negative id", r#"{"jsonrpc":"2.0","id":-0,"method":"a"}"#, "request -0 a -"),
            ("TRANSPORT: exponent id", r#"{"jsonrpc":"2.0","id":1E400,"method":"a"}"#, "request 1E400 a -"),
            (
                "TRANSPORT: string id with escapes",
                r#"{"jsonrpc":"2.0","id":"\u00e9\"","method":"a"}"#,
                r#"request "\u00e9\"" a -"#,
            ),
            (
                "TRANSPORT: white space around",
                "\r\n {\"jsonrpc\" : \"2.0\" , \"id\" : 1 ,\"method\":\"a\"} \r\n",
                "request 1 a -",
            ),
            (
                "TRANSPORT: unknown members are ignored",
                r#"{"jsonrpc":"2.0","id":1,"method":"a","meta":[{}]}"#,
                "request 1 a -",
            ),
            (
                "TRANSPORT: result",
                r#"{"jsonrpc":"2.0","id":"toolscout:1","result":null}"#,
                r#"result "toolscout:1" null"#,
            ),
            ("TRANSPORT: error", r#"{"jsonrpc":"2.0","id":"t","error":{"code":1}}"#, r#"error "t" {"code":1}"#),
            (
                "TRANSPORT: null error beside a result",
                r#"{"jsonrpc":"2.0","id":"t","result":1,"error":null}"#,
                r#"result "t" 1"#,
            ),
            ("TRANSPORT: error of nobody's", r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "error null {}"),
            ("ERRORS: null id", r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#, "-32600 null"),
            ("ERRORS: id of another type", r#"{"jsonrpc":"2.0","id":[1],"method":"a"}"#, "-32600 null"),
            ("ERRORS: boolean id", r#"{"jsonrpc":"2.0","id":true,"method":"a"}"#, "-32600 null"),
            ("ERRORS: no version, id kept", r#"{"id":5,"method":"a"}"#, "-32600 5"),
            ("ERRORS: version 1.0, id kept", r#"{"jsonrpc":"1.0","id":"x","method":"a"}"#, "-32600 \"x\""),
            ("ERRORS: version as a number", r#"{"jsonrpc":2.0,"id":5,"method":"a"}"#, "-32600 5"),
            ("ERRORS: method is no string, id kept", r#"{"jsonrpc":"2.0","id":5,"method":3}"#, "-32600 5"),
            ("ERRORS: neither call nor answer", r#"{"jsonrpc":"2.0","id":5}"#, "-32600 5"),
            ("ERRORS: two ids", r#"{"jsonrpc":"2.0","id":5,"id":6,"method":"a"}"#, "-32600 null"),
            (
                "ERRORS: our id, null error alone",
                r#"{"jsonrpc":"2.0","id":"toolscout:1","error":null}"#,
                "malformed \"toolscout:1\"",
            ),
            ("ERRORS: our id, no outcome", r#"{"jsonrpc":"2.0","id":"toolscout:1"}"#, "malformed \"toolscout:1\""),
            ("ERRORS: our id, no version", r#"{"id":"toolscout:1","result":1}"#, "malformed \"toolscout:1\""),
            (
                "ERRORS: our id, two results",
                r#"{"jsonrpc":"2.0","id":"toolscout:1","result":1,"result":2}"#,
                "malformed \"toolscout:1\"",
            ),
            (
                "ERRORS: our id, broken JSON",
                r#"{"jsonrpc":"2.0","id":"toolscout:1","result":[}"#,
                "malformed \"toolscout:1\"",
            ),
            ("ERRORS: our id, escaped", r#"{"id":"\u0074oolscout:1","result":1}"#, r#"malformed "\u0074oolscout:1""#),
            (
                "ERRORS: our id in a batch",
                r#"[{"id":"toolscout:1"},{"id":2}]"#,
                "[malformed \"toolscout:1\", -32600 2]",
            ),
            ("ERRORS: our id, but a call", r#"{"id":"toolscout:1","method":"a"}"#, "-32600 \"toolscout:1\""),
            (
                "ERRORS: our id, but a broken call",
                r#"{"jsonrpc":"2.0","id":"toolscout:1","method":"a","params":[}"#,
                "-32700 null",
            ),
            ("ERRORS: a number", "5", "-32600 null"),
            ("ERRORS: a string", r#""hello""#, "-32600 null"),
            ("ERRORS: empty", "", "-32700 null"),
            ("ERRORS: blank", "  ", "-32700 null"),
            ("ERRORS: cut short", r#"{"jsonrpc":"2.0","id":5,"method":"a""#, "-32700 null"),
            ("ERRORS: broken inside params", r#"{"jsonrpc":"2.0","id":5,"method":"a","params":{"b":}}"#, "-32700 null"),
            ("ERRORS: two values", r#"{"jsonrpc":"2.0","id":5,"method":"a"} {}"#, "-32700 null"),
            ("ERRORS: wrong shape and broken later", "5 5", "-32700 null"),
            ("ERRORS: two ids and broken later", r#"{"id":5,"id":6,"#, "-32700 null"),
            ("ERRORS: single quotes", "{'jsonrpc':'2.0'}", "-32700 null"),
            (
                "TRANSPORT: batch",
                r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"}]"#,
                "[request 1 a -, notification b -]",
            ),
            (
                "TRANSPORT: invalid items in a batch",
                r#"[1,[],{"jsonrpc":"2.0","id":1,"method":"a"}]"#,
                "[-32600 null, -32600 null, request 1 a -]",
            ),
            ("ERRORS: empty batch", "[ ]", "-32600 null"),
            ("ERRORS: broken batch", r#"[{"jsonrpc":"2.0","id":1,"method":"a"},"#, "-32700 null"),
        ] {
            assert_eq!(read(text.as_bytes()), expected, "{label}");
        }
        assert_eq!(read(b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"a\"}"), "-32700 null", "ERRORS: not UTF-8");
        let answer = b"{\"jsonrpc\":\"2.0\",\"result\":\"\xff\",\"id\":\"toolscout:1\"}";
        assert_eq!(read(answer), "malformed \"toolscout:1\"", "ERRORS: our id, not UTF-8");
    }

    fn nested(levels: usize) -> String {
        let inner = levels - 1;
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{}{}}}"#, "[".repeat(inner), "]".repeat(inner))
    }

    #[test]
    fn depth_counts_the_whole_message() {
        assert!(read(nested(128).as_bytes()).starts_with("request"), "ERRORS: 128 levels are taken");
        assert_eq!(read(nested(129).as_bytes()), "-32700 null", "ERRORS: 129 levels are not");
        assert_eq!(read(format!("[{}]", nested(128)).as_bytes()), "-32700 null", "ERRORS: a batch is a level");
        let answer = format!(r#"{{"result":{}{},"id":"toolscout:1"}}"#, "[".repeat(128), "]".repeat(128));
        assert_eq!(read(answer.as_bytes()), "malformed \"toolscout:1\"", "ERRORS: nor in an answer");
        assert_eq!(read("[".repeat(1 << 20).as_bytes()), "-32700 null", "ERRORS: no end");
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":["{}\"{}"]}}"#, "[".repeat(200), "{".repeat(200));
        assert!(read(text.as_bytes()).starts_with("request"), "ERRORS: brackets in strings do not nest");
    }

    #[test]
    fn batches_are_bounded() {
        let batch = |count: usize| format!("[{}]", vec!["0"; count].join(","));
        assert!(read(batch(MAX_BATCH).as_bytes()).starts_with('['), "TRANSPORT: a full batch");
        assert_eq!(read(batch(MAX_BATCH + 1).as_bytes()), "-32600 null", "TRANSPORT: one more");
    }
}
