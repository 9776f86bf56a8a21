//! A server that is reached over Streamable HTTP.

use std::collections::HashMap;

use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};

use super::spec::Reach;
use super::stdout::LONGEST;

/// The way to a server; nothing is sent yet.
///
/// # Errors
/// What a person is to be told.
pub fn transport(reach: &Reach) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let Reach::Http { url, headers } = reach else { return Err("it is reached over its standard streams".to_owned()) };
    // Once a process; that it is there already is no error.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        // A redirect could carry the headers, which are secret, to somebody else.
        .redirect(reqwest::redirect::Policy::none())
        // An idle connection whose last answer was not read to its end stalls the next request.
        .pool_max_idle_per_host(0)
        .build()
        .map_err(|error| format!("HTTP cannot be spoken here: {}", cause(&error)))?;
    let mut named = HashMap::new();
    for (name, value) in headers {
        // Their form was checked when the entry was read.
        if let (Ok(name), Ok(mut value)) = (http::HeaderName::try_from(name), http::HeaderValue::try_from(value)) {
            value.set_sensitive(true);
            named.insert(name, value);
        }
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(named);
    config.max_json_response_size = LONGEST;
    config.max_sse_event_size = LONGEST;
    // A new session may have other tools: its life begins again.
    config.reinit_on_expired_session = false;
    Ok(StreamableHttpClientTransport::with_client(client, config))
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
        Some(error) => error.to_string(),
        None => cause(&*error.error),
    }
}

/// Whether the server has forgotten the session, so that nothing was done.
pub fn is_forgotten(error: &DynamicTransportError) -> bool {
    let http = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(http, Some(StreamableHttpError::SessionExpired))
}

/// Whether the server was not there to be asked.
pub fn is_gone(error: &DynamicTransportError) -> bool {
    let http = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    matches!(http, Some(StreamableHttpError::Client(error)) if error.is_connect() || error.is_request())
}

/// What is at the bottom of an error: `Connection refused` rather than that a request failed.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
