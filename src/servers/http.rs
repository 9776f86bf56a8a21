//! A server that is reached over Streamable HTTP.

use std::collections::{BTreeMap, HashMap};

use rmcp::transport::auth::AuthError;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};

use super::stdout::LONGEST;
use crate::outbound::{cause, name_cryptography};

/// A client as every server is to be spoken to with.
pub(super) fn builder() -> reqwest::ClientBuilder {
    name_cryptography();
    reqwest::Client::builder()
        // A redirect could carry the headers, which are secret, to somebody else.
        .redirect(reqwest::redirect::Policy::none())
        // An idle connection whose last answer was not read to its end stalls the next request.
        .pool_max_idle_per_host(0)
}

/// A client for servers.
///
/// # Errors
/// What a person is to be told.
pub fn client() -> Result<reqwest::Client, String> {
    builder().build().map_err(|error| format!("HTTP cannot be spoken here: {}", cause(&error)))
}

/// The way to a server; nothing is sent yet.
pub fn transport<C>(client: C, url: &str, headers: &BTreeMap<String, String>) -> StreamableHttpClientTransport<C>
where
    C: StreamableHttpClient + Sync,
{
    let mut named = HashMap::new();
    for (name, value) in headers {
        // Their form was checked when the entry was read.
        if let (Ok(name), Ok(mut value)) = (http::HeaderName::try_from(name), http::HeaderValue::try_from(value)) {
            value.set_sensitive(true);
            named.insert(name, value);
        }
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(named);
    config.max_json_response_size = LONGEST;
    config.max_sse_event_size = LONGEST;
    // A new session may have other tools: its life begins again.
    config.reinit_on_expired_session = false;
    StreamableHttpClientTransport::with_client(client, config)
}

/// Why something was not sent, without the address, which may hold a key.
pub fn why(error: &DynamicTransportError) -> String {
    let http = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    match http {
        Some(StreamableHttpError::Client(error)) if error.is_timeout() => "there was no answer in time".to_owned(),
        Some(StreamableHttpError::Client(error)) => cause(error),
        // The SDK's own words for it are the status and the body.
        Some(StreamableHttpError::UnexpectedServerResponse(text)) if text.starts_with("HTTP 3") => {
            let status: String = text.chars().skip(5).take_while(char::is_ascii_digit).collect();
            format!("it redirects to another address (HTTP {status}), which is not followed: name that one in `url`")
        }
        Some(StreamableHttpError::AuthRequired(_)) => "it wants somebody to sign in (HTTP 401)".to_owned(),
        Some(StreamableHttpError::InsufficientScope(_)) => {
            "it wants more to be granted to it than was (HTTP 403): authorize it again".to_owned()
        }
        // The SDK's words for these repeat what was answered.
        Some(StreamableHttpError::Auth(AuthError::CredentialStoreError(why))) => why.clone(),
        Some(StreamableHttpError::Auth(_)) => {
            "its token has expired and could not be refreshed now; it is tried again with the next call".to_owned()
        }
        Some(error) => error.to_string(),
        None => cause(&*error.error),
    }
}

/// Whether the server has forgotten the session, so that nothing was done.
pub fn is_forgotten(error: &DynamicTransportError) -> bool {
    let http = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(http, Some(StreamableHttpError::SessionExpired))
}

/// Whether the server wants somebody to sign in first, so that nothing was done.
pub fn is_unauthorized(error: &DynamicTransportError) -> bool {
    let http = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(http, Some(StreamableHttpError::AuthRequired(_)))
}

/// Whether the server was not there to be asked.
pub fn is_gone(error: &DynamicTransportError) -> bool {
    let http = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(http, Some(StreamableHttpError::Client(error)) if error.is_connect() || error.is_request())
}
