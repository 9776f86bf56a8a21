//! What went wrong at the gateway, and what follows from it.

use serde::Deserialize;
use serde_json::Value;

use super::execute::NOT_FOUND;
use super::http::{Broken, Reply};
use crate::call::excerpt;
use crate::connectors::origin::link;

/// Characters of a gateway's message that are passed on.
const LONGEST: usize = 600;

/// Why a request was not answered as it should be.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The gateway serves no connectors to this account (CONN-1).
    Dark,
    /// The token was refused.
    SignedOut,
    /// The gateway is slow, out of reach or at a loss; why, for a model.
    Unavailable(String),
    /// The gateway answered that it does not do this.
    Refused(Refusal),
}

/// A refusal with a code of the gateway's.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// `CONNECTION_REQUIRED` and the like.
    pub code: String,
    /// What it says of it.
    pub message: String,
    /// The connector concerned.
    pub connector: Option<String>,
    /// Where a person connects the account.
    pub connect_url: Option<String>,
    /// What else helps.
    pub hint: Option<String>,
}

impl Refusal {
    /// One of our own.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), connector: None, connect_url: None, hint: None }
    }
}

/// A failure's body, in any of its shapes.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The code, wherever it stands.
    pub code: Option<String>,
    /// Whether it stands where an execute code does.
    pub is_flat: bool,
    pub message: Option<String>,
    pub connector: Option<String>,
    pub connect_url: Option<String>,
    pub hint: Option<String>,
}

/// `{code, message, …}`, `{error: {code, message}}`, `{error: "code"}`. Members of another type are as absent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default)]
    code: Value,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    connector: Value,
    #[serde(default)]
    connect_url: Value,
    #[serde(default)]
    hint: Value,
    #[serde(default)]
    error: Value,
}

fn text(value: &Value) -> Option<String> {
    value.as_str().and_then(shortened)
}

/// What a gateway says of something, in bounds; `None` where that is nothing.
pub(super) fn shortened(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| excerpt::clip(text, LONGEST))
}

impl Said {
    pub(super) fn read(body: &str) -> Self {
        let Ok(Body { code, message, connector, connect_url, hint, error }) = serde_json::from_str(body) else {
            return Self::default();
        };
        let flat = text(&code);
        Self {
            is_flat: flat.is_some(),
            code: flat.or_else(|| text(&error)).or_else(|| text(error.get("code")?)),
            message: text(&message).or_else(|| text(error.get("message")?)),
            connector: text(&connector),
            connect_url: connect_url.as_str().and_then(link),
            hint: text(&hint),
        }
    }

    pub(super) fn refusal(self, code: String) -> Refusal {
        let message = self.message.unwrap_or_else(|| format!("the gateway refused with {code}"));
        Refusal { code, message, connector: self.connector, connect_url: self.connect_url, hint: self.hint }
    }
}

/// Whether a code says that the sign-in ran out: that there is no token, or that it is no good. A tool that is called
/// with a bad page token must not sign anybody out, so every word has to be of that matter.
fn is_of_token(status: u16, code: &str) -> bool {
    const WORDS: [&str; 13] = [
        "token",
        "session",
        "access",
        "auth",
        "bearer",
        "gateway",
        "expired",
        "invalid",
        "revoked",
        "missing",
        "required",
        "malformed",
        "bad",
    ];
    let code = code.to_ascii_lowercase();
    let mut words = code.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let of_token = matches!(code.as_str(), "unauthorized" | "unauthenticated")
        || (code.contains("token") || code.contains("session")) && words.all(|word| WORDS.contains(&word));
    matches!(status, 400 | 403) && of_token
}

/// What an answer that is no success means on a route that lists or looks up.
pub(super) fn of_reply(reply: &Reply) -> Failure {
    let said = Said::read(&reply.body);
    match reply.status {
        401 => Failure::SignedOut,
        status if said.code.as_deref().is_some_and(|code| is_of_token(status, code)) => Failure::SignedOut,
        404 => Failure::Dark,
        status => Failure::Unavailable(format!("the gateway answered with HTTP status {status}")),
    }
}

/// The same where refusals have codes: a 404 with one is no plain 404.
pub(super) fn of_execute(reply: &Reply) -> Failure {
    let said = Said::read(&reply.body);
    match said.code.clone().filter(|_| reply.status != 401) {
        Some(code) if said.is_flat && !is_of_token(reply.status, &code) => Failure::Refused(said.refusal(code)),
        Some(code) if !is_of_token(reply.status, &code) && (reply.status != 404 || code == NOT_FOUND) => {
            Failure::Refused(said.refusal(code))
        }
        _ => match of_reply(reply) {
            Failure::Unavailable(why) => Failure::Refused(Refusal::new("GATEWAY_ERROR", why)),
            other => other,
        },
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Self {
        Self::Unavailable(format!("the gateway is out of reach: {}", broken.told()))
    }
}

/// An answer that was to be a success and cannot be read.
pub(super) fn unreadable() -> Failure {
    Failure::Unavailable("the gateway's answer cannot be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let reply = |status, body: &str| Reply { status, body: body.to_owned(), retry_after: None };
        let refused = |code: &str| format!("refused {code}");
        let shown = |failure: Failure| match failure {
            Failure::Dark => "dark".to_owned(),
            Failure::SignedOut => "signed out".to_owned(),
            Failure::Unavailable(_) => "unavailable".to_owned(),
            Failure::Refused(refusal) => refused(&refusal.code),
        };
        for (status, body, listing, executing) in [
            (401, "", "signed out", "signed out"),
            (401, r#"{"code":"TOOL_NOT_FOUND"}"#, "signed out", "signed out"),
            (403, r#"{"error":"token_expired"}"#, "signed out", "signed out"),
            (403, r#"{"error":{"code":"INVALID_TOKEN","message":"m"}}"#, "signed out", "signed out"),
            (400, r#"{"code":"TOKEN_REVOKED"}"#, "signed out", "signed out"),
            (403, r#"{"error":"session_expired"}"#, "signed out", "signed out"),
            (400, r#"{"code":"INVALID_PAGE_TOKEN"}"#, "unavailable", "refused INVALID_PAGE_TOKEN"),
            (400, r#"{"code":"MAX_TOKENS_EXCEEDED"}"#, "unavailable", "refused MAX_TOKENS_EXCEEDED"),
            (422, r#"{"code":"INVALID_TOKEN"}"#, "unavailable", "refused INVALID_TOKEN"),
            (404, "", "dark", "dark"),
            (404, "not found", "dark", "dark"),
            (404, r#"{"error":"not_found"}"#, "dark", "dark"),
            (404, r#"{"code":"TOOL_NOT_FOUND","message":"m"}"#, "dark", "refused TOOL_NOT_FOUND"),
            (404, r#"{"error":{"code":"TOOL_NOT_FOUND","message":"m"}}"#, "dark", "refused TOOL_NOT_FOUND"),
            (404, r#"{"error":{"code":"NOT_FOUND","message":"m"}}"#, "dark", "dark"),
            (409, r#"{"code":"CONNECTION_REQUIRED"}"#, "unavailable", "refused CONNECTION_REQUIRED"),
            (403, r#"{"code":"TOOL_NOT_ALLOWED"}"#, "unavailable", "refused TOOL_NOT_ALLOWED"),
            (418, r#"{"code":"SOMETHING_NEW"}"#, "unavailable", "refused SOMETHING_NEW"),
            (422, r#"{"error":{"code":"INVALID_ARGUMENTS"}}"#, "unavailable", "refused INVALID_ARGUMENTS"),
            (500, "oops", "unavailable", "refused GATEWAY_ERROR"),
            (500, r#"{"error":5}"#, "unavailable", "refused GATEWAY_ERROR"),
            (502, "{", "unavailable", "refused GATEWAY_ERROR"),
        ] {
            assert_eq!(shown(of_reply(&reply(status, body))), listing, "{status} {body}");
            assert_eq!(shown(of_execute(&reply(status, body))), executing, "{status} {body}");
        }
    }

    #[test]
    fn a_link_that_no_browser_should_follow_is_dropped_and_a_message_is_bounded() {
        let said = Said::read(r#"{"code":"CONNECTION_REQUIRED","connectUrl":"javascript:alert(1)","hint":" h "}"#);
        assert_eq!((said.connect_url, said.hint.as_deref()), (None, Some("h")));
        let long = format!(r#"{{"code":"X","message":"{}"}}"#, "y".repeat(5000));
        assert_eq!(Said::read(&long).message.unwrap().chars().count(), LONGEST);
    }
}
