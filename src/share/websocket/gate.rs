//! Who may open a WebSocket: whoever has the token, and a web page only from an origin that was allowed.

use std::hint::black_box;
use std::io;

use tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};
use tungstenite::http::{HeaderMap, HeaderValue, StatusCode, header};

/// Bytes of a token.
const TOKEN_BYTES: usize = 32;
/// Before the token, in the name of a subprotocol: the one thing that a page can set.
const SUBPROTOCOL: &str = "toolscout.";

/// See the module.
pub struct Gate {
    token: String,
    origins: Vec<String>,
}

impl Gate {
    /// With a new token.
    ///
    /// # Errors
    /// Where the system has no random bytes.
    pub fn new(origins: Vec<String>) -> io::Result<Self> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Self { token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(), origins })
    }

    /// What opens it.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The subprotocol to agree to, if any.
    fn admit(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, (StatusCode, &'static str)> {
        let allowed = |origin: &HeaderValue| self.origins.iter().any(|known| known.as_bytes() == origin.as_bytes());
        if !headers.get_all(header::ORIGIN).iter().all(allowed) {
            return Err((StatusCode::FORBIDDEN, "this origin is not allowed; see --allow-origin\n"));
        }
        let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
        let offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(',')).map(str::trim);
        let agreed =
            offered.into_iter().find(|name| name.strip_prefix(SUBPROTOCOL).is_some_and(|token| self.is_token(token)));
        if let Some(name) = agreed {
            return Ok(HeaderValue::from_str(name).ok());
        }
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
        match bearer {
            Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && self.is_token(token.trim()) => Ok(None),
            _ => Err((StatusCode::UNAUTHORIZED, "the token of the ready line is wanted\n")),
        }
    }

    /// Takes the same time wherever the texts differ.
    fn is_token(&self, text: &str) -> bool {
        let differing = self.token.bytes().zip(text.bytes()).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        text.len() == self.token.len() && differing == 0
    }
}

impl Callback for &Gate {
    fn on_request(self, request: &Request, mut response: Response) -> Result<Response, ErrorResponse> {
        match self.admit(request.headers()) {
            Ok(agreed) => {
                if let Some(name) = agreed {
                    response.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, name);
                }
                Ok(response)
            }
            Err((status, why)) => {
                let mut refusal = ErrorResponse::new(Some(why.to_owned()));
                *refusal.status_mut() = status;
                Err(refusal)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_opens_and_nothing_else_does() {
        let gate = Gate { token: "abc".into(), origins: vec!["http://localhost:3000".into()] };
        let (origin, bearer, offered) = ("origin", "authorization", "sec-websocket-protocol");
        for (label, given, expected) in [
            ("the token", vec![(bearer, "Bearer abc")], Ok(None)),
            ("the scheme's case is free", vec![(bearer, "bearer abc")], Ok(None)),
            ("as a subprotocol", vec![(offered, "toolscout.abc")], Ok(Some("toolscout.abc"))),
            ("among others", vec![(offered, "x, toolscout.abd, toolscout.abc")], Ok(Some("toolscout.abc"))),
            ("nothing", vec![], Err(401)),
            ("another", vec![(bearer, "Bearer abd")], Err(401)),
            ("a longer one", vec![(bearer, "Bearer abcd")], Err(401)),
            ("a shorter one", vec![(bearer, "Bearer ab")], Err(401)),
            ("an empty one", vec![(bearer, "Bearer ")], Err(401)),
            ("another scheme", vec![(bearer, "Basic abc")], Err(401)),
            ("a bare subprotocol", vec![(offered, "toolscout.")], Err(401)),
            ("an allowed origin", vec![(bearer, "Bearer abc"), (origin, "http://localhost:3000")], Ok(None)),
            ("an origin alone", vec![(origin, "http://localhost:3000")], Err(401)),
            ("another origin", vec![(bearer, "Bearer abc"), (origin, "http://localhost:3001")], Err(403)),
            ("no page's origin", vec![(bearer, "Bearer abc"), (origin, "null")], Err(403)),
            ("two", vec![(bearer, "Bearer abc"), (origin, "http://localhost:3000"), (origin, "null")], Err(403)),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in given {
                headers.append(name, HeaderValue::from_static(value));
            }
            let outcome = gate.admit(&headers).map_err(|(status, _)| status.as_u16());
            let outcome = outcome.map(|agreed| agreed.map(|name| name.to_str().unwrap().to_owned()));
            assert_eq!(outcome, expected.map(|name: Option<&str>| name.map(str::to_owned)), "{label}");
        }
    }

    #[test]
    fn tokens_are_new_each_time() {
        let (one, other) = (Gate::new(Vec::new()).unwrap(), Gate::new(Vec::new()).unwrap());
        assert_eq!(one.token().len(), 2 * TOKEN_BYTES);
        assert_ne!(one.token(), other.token());
    }
}
