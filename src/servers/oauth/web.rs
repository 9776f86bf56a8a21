//! The way to authorization servers: what the SDK wants to send goes out here, if it may go there, and comes back bounded.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest};
use serde::Deserialize;

use super::resource::Resource;

/// Bytes of the longest answer that is read.
const LARGEST: usize = 1 << 20;
/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(10);

/// Error codes of RFC 6749, 7591 and 8707, which are all that is ever repeated of a refusal.
const CODES: [&str; 19] = [
    "access_denied",
    "consent_required",
    "interaction_required",
    "invalid_client",
    "invalid_client_metadata",
    "invalid_grant",
    "invalid_redirect_uri",
    "invalid_request",
    "invalid_scope",
    "invalid_software_statement",
    "invalid_target",
    "invalid_token",
    "login_required",
    "server_error",
    "temporarily_unavailable",
    "unapproved_software_statement",
    "unauthorized_client",
    "unsupported_grant_type",
    "unsupported_response_type",
];

/// The standard code that a text is, if it is one.
pub fn code(text: &str) -> Option<&'static str> {
    CODES.iter().find(|code| **code == text).copied()
}

/// See the module.
pub struct Web {
    client: reqwest::Client,
    resource: Resource,
    /// What was last refused: `HTTP 400, invalid_grant`, or why nothing was sent.
    refused: Mutex<Option<String>>,
}

/// What an authorization server says of a refusal (RFC 6749, section 5.2).
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl Web {
    /// The way to the authorization server of a resource.
    ///
    /// # Errors
    /// Why there is none.
    pub fn new(resource: Resource) -> Result<Self, String> {
        let client = crate::servers::http::builder().timeout(REQUEST).connect_timeout(CONNECT).build();
        let client = client.map_err(|error| format!("HTTP cannot be spoken here: {error}"))?;
        Ok(Self { client, resource, refused: Mutex::default() })
    }

    /// What was last refused, once.
    pub fn refused(&self) -> Option<String> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn send(&self, request: OAuthHttpRequest) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        // What was refused before says nothing of what comes now.
        let _ = self.refused();
        let request = reqwest::Request::try_from(request.request)?;
        let host = request.url().host_str().unwrap_or_default().to_owned();
        if !self.resource.trusts(request.url()) {
            return Err(self.note(format!("{host} is reached neither over TLS nor as this machine's own")));
        }
        let sent = self.client.execute(request).await;
        let mut response = sent.map_err(|error| self.note(unreached(&host, &error)))?;
        let status = response.status();
        let mut answer = http::Response::builder().status(status);
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        let mut body = Vec::new();
        // A server that streams to whoever asks says nothing of OAuth there, and never comes to an end.
        let kind = response.headers().get(http::header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if kind.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            return Ok(answer.body(body)?);
        }
        while let Some(chunk) = response.chunk().await.map_err(|error| self.note(unreached(&host, &error)))? {
            if body.len() + chunk.len() > LARGEST {
                return Err(self.note(format!("{host} answers with more than {LARGEST} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        if !status.is_success() {
            let refusal = serde_json::from_slice::<Refusal>(&body).ok();
            let code = refusal.and_then(|refusal| code(&refusal.error)).map(|code| format!(", {code}"));
            self.note(format!("{host} answers HTTP {}{}", status.as_u16(), code.unwrap_or_default()));
        }
        Ok(answer.body(body)?)
    }

    fn note(&self, why: String) -> OAuthHttpClientError {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        why.into()
    }
}

// The error's own words have the address with its query.
fn unreached(host: &str, error: &reqwest::Error) -> String {
    if error.is_timeout() {
        format!("{host} does not answer in time")
    } else {
        format!("{host} cannot be reached: {}", crate::outbound::cause(error))
    }
}

impl OAuthHttpClient for Web {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request))
    }
}
