//! JSON-RPC errors: every code of the contract, and one constructor for each.
//!
//! These are for the host's mistakes and the sidecar's faults. A model's mistakes are results and never come here.
//! The one file outside `rpc` that names jsonrpsee.

use jsonrpsee::types::ErrorObjectOwned;
use serde::Serialize;
use serde_json::{Map, Value, json};
use serde_path_to_error::{Path, Segment};

/// The codes a host may see.
pub mod code {
    macro_rules! codes {
        ($(#[doc = $meaning:literal] $name:ident = $code:literal;)+) => {
            $(#[doc = $meaning] pub const $name: i32 = $code;)+

            /// Every code with its name and meaning, as the published contract lists them.
            pub const ALL: &[(&str, i32, &str)] = &[$((stringify!($name), $code, $meaning),)+];
        };
    }

    codes! {
        /// The message is not JSON, or is nested too deep.
        PARSE_ERROR = -32700;
        /// JSON, but no JSON-RPC message that can be served.
        INVALID_REQUEST = -32600;
        /// No such method; `data.nearest` names the known one that is spelled most like it.
        METHOD_NOT_FOUND = -32601;
        /// A parameter is wrong; `data.pointer` says which.
        INVALID_PARAMS = -32602;
        /// A fault of the sidecar.
        INTERNAL_ERROR = -32603;
        /// A request came before `initialize`.
        NOT_INITIALIZED = -32002;
        /// The host cancelled the request, or its connection ended.
        CANCELLED = -32800;
        /// The message was larger than `max_message_bytes` and was read past; `data.limit` in bytes.
        MESSAGE_TOO_LARGE = -32040;
        /// Too many requests in flight; the same request may succeed later. `data.limit` is their number.
        OVERLOADED = -32041;
    }
}

/// An error answer: what goes under `error` on the wire.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RpcError {
    /// One of [`code`].
    pub code: i32,
    /// For the person who reads the host's log.
    pub message: String,
    /// For the host's program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The same error with one more member in `data`.
    #[must_use]
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        let mut data = match self.data {
            Some(Value::Object(data)) => data,
            _ => Map::new(),
        };
        data.insert(member.to_owned(), value.into());
        self.data = Some(Value::Object(data));
        self
    }

    /// -32700.
    pub fn parse_error(message: impl Into<String>) -> Self {
        Self::new(code::PARSE_ERROR, message)
    }

    /// -32600.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// -32601, naming the method asked for and the known one that is spelled most like it.
    pub fn method_not_found(method: &str, nearest: Option<&str>) -> Self {
        match nearest {
            Some(known) => Self::new(code::METHOD_NOT_FOUND, format!("no method `{method}`; did you mean `{known}`?"))
                .with("nearest", known),
            None => Self::new(code::METHOD_NOT_FOUND, format!("no method `{method}`")),
        }
    }

    /// -32602 with `data.pointer`, the JSON pointer (RFC 6901) of the offending value, relative to `params`.
    pub fn invalid_params(pointer: &str, message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message).with("pointer", pointer)
    }

    /// -32602 from a failed typed parse. A missing parameter is pointed at by the name it should have had.
    pub fn from_params(error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let inner = error.inner();
        let mut message = inner.to_string();
        // Line and column count from the start of `params`, a place that nobody can find in the message.
        let place = format!(" at line {} column {}", inner.line(), inner.column());
        if let Some(bare) = message.strip_suffix(&place) {
            message.truncate(bare.len());
        }
        let message = without_type_names(&message);
        let mut pointer = pointer(error.path());
        if let Some(name) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
            push_token(&mut pointer, name);
        }
        Self::invalid_params(&pointer, message)
    }

    /// -32603.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL_ERROR, message)
    }

    /// -32002.
    pub fn not_initialized() -> Self {
        Self::new(code::NOT_INITIALIZED, "not initialized: send `initialize` first")
    }

    /// -32800.
    pub fn cancelled() -> Self {
        Self::new(code::CANCELLED, "cancelled")
    }

    /// -32040; `limit` in bytes.
    pub fn message_too_large(limit: usize) -> Self {
        Self::new(code::MESSAGE_TOO_LARGE, format!("the message is larger than {limit} bytes and was not read"))
            .with("limit", json!(limit))
    }

    /// -32041; `limit` is the number of requests that may be in flight.
    pub fn overloaded(limit: usize) -> Self {
        Self::new(code::OVERLOADED, format!("{limit} requests are in flight; send this one again later"))
            .with("limit", json!(limit))
    }
}

impl std::fmt::Display for RpcError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

impl From<RpcError> for ErrorObjectOwned {
    fn from(error: RpcError) -> Self {
        ErrorObjectOwned::owned(error.code, error.message, error.data)
    }
}

impl From<ErrorObjectOwned> for RpcError {
    fn from(error: ErrorObjectOwned) -> Self {
        let data = error.data().and_then(|data| serde_json::from_str(data.get()).ok());
        Self { code: error.code(), message: error.message().to_owned(), data }
    }
}

/// The path of a failed parse as a JSON pointer (RFC 6901): `""` is the whole value, `/tools/0/a~1b` a member.
/// Ends early where serde no longer knows the place.
pub fn pointer(path: &Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => push_token(&mut pointer, &index.to_string()),
            Segment::Map { key } | Segment::Enum { variant: key } => push_token(&mut pointer, key),
            Segment::Unknown => break,
        }
    }
    pointer
}

/// `~` first, or the escape of `/` would be escaped again.
fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
}

/// What serde says it expected, in words that a host's author knows: `struct Name` is an object there.
fn without_type_names(message: &str) -> String {
    let Some((before, rest)) = message.split_once("expected struct ") else { return message.to_owned() };
    let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    let rest = if rest.starts_with(" with ") { "" } else { rest };
    format!("{before}expected an object{rest}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only parsed")]
    struct Params {
        source: Source,
        #[serde(default)]
        tools: Vec<Tool>,
        #[serde(default)]
        limits: BTreeMap<String, u8>,
        mode: Option<Mode>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only parsed")]
    struct Source {
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only parsed")]
    struct Tool {
        name: String,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only parsed")]
    enum Mode {
        Fast,
        Slow { steps: u8 },
    }

    #[test]
    fn pointer_names_the_offending_parameter() {
        for (label, params, pointer) in [
            ("ERRORS: wrong type at the root", "3", ""),
            ("ERRORS: wrong type of a member", r#"{"source":{"name":7}}"#, "/source/name"),
            ("ERRORS: a missing parameter is named", "{}", "/source"),
            ("ERRORS: a missing nested parameter is named", r#"{"source":{}}"#, "/source/name"),
            ("ERRORS: an item of a list", r#"{"source":{"name":"a"},"tools":[{"name":"b"},4]}"#, "/tools/1"),
            ("ERRORS: inside an item", r#"{"source":{"name":"a"},"tools":[{"name":[]}]}"#, "/tools/0/name"),
            (
                "ERRORS: an unknown member where none may be",
                r#"{"source":{"name":"a"},"tools":[{"nam":1}]}"#,
                "/tools/0/nam",
            ),
            (
                "ERRORS: slash and tilde are escaped",
                r#"{"source":{"name":"a"},"limits":{"a/b~c":-1}}"#,
                "/limits/a~1b~0c",
            ),
            ("ERRORS: an unknown word", r#"{"source":{"name":"a"},"mode":"quick"}"#, "/mode"),
            (
                "ERRORS: inside a variant",
                r#"{"source":{"name":"a"},"mode":{"slow":{"steps":"x"}}}"#,
                "/mode/slow/steps",
            ),
        ] {
            let mut json = serde_json::Deserializer::from_str(params);
            let error = serde_path_to_error::deserialize::<_, Params>(&mut json).expect_err(label);
            let error = RpcError::from_params(&error);
            assert_eq!(error.code, code::INVALID_PARAMS, "{label}");
            assert_eq!(error.data, Some(json!({ "pointer": pointer })), "{label}: {}", error.message);
            assert!(!error.message.contains("column"), "{label}: {}", error.message);
        }
    }

    #[test]
    fn every_code_of_the_contract() {
        for (label, error, code, member) in [
            ("ERRORS: -32700", RpcError::parse_error("x"), -32700, None),
            ("ERRORS: -32600", RpcError::invalid_request("x"), -32600, None),
            ("ERRORS: -32601", RpcError::method_not_found("statsu", Some("status")), -32601, Some("nearest")),
            ("ERRORS: -32602", RpcError::invalid_params("/a", "x"), -32602, Some("pointer")),
            ("ERRORS: -32603", RpcError::internal("x"), -32603, None),
            ("ERRORS: -32002", RpcError::not_initialized(), -32002, None),
            ("ERRORS: -32800", RpcError::cancelled(), -32800, None),
            ("ERRORS: -32040", RpcError::message_too_large(9), -32040, Some("limit")),
            ("ERRORS: -32041", RpcError::overloaded(9), -32041, Some("limit")),
        ] {
            assert_eq!(error.code, code, "{label}");
            let members: Vec<&String> = error.data.iter().filter_map(Value::as_object).flat_map(Map::keys).collect();
            assert_eq!(members, member.iter().collect::<Vec<_>>(), "{label}");
            assert_eq!(RpcError::from(ErrorObjectOwned::from(error.clone())), error, "{label}: there and back");
        }
    }
}
