//! Where a gateway is: an `https` origin, or `http` on this machine.

use std::fmt;

use reqwest::Url;

use crate::outbound::{is_loopback, is_unheard, names_user};

/// A gateway's origin. Shown as `https://gateway.example:8443`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(Url);

impl Origin {
    /// Reads one.
    ///
    /// # Errors
    /// What is wrong, for a person; nothing that was written is repeated, since it may hold a secret.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let url = Url::parse(text.trim()).map_err(|_| "it is no URL")?;
        if names_user(&url) {
            return Err("it holds a user's name or password");
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err("it is more than an origin: only scheme, host and port are taken");
        }
        let origin = Self(url);
        match origin.0.scheme() {
            _ if is_unheard(&origin.0) => Ok(origin),
            "http" => Err("`http` is taken for this machine only: the token would be sent in the clear"),
            _ => Err("it is not `https`"),
        }
    }

    /// Whether it is on this machine, whatever a name server says.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.0)
    }

    /// The address of a route, given by the segments of its path behind `/v1/connectors`.
    pub(super) fn route(&self, segments: &[&str]) -> Url {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().extend(["v1", "connectors"]).extend(segments);
        }
        url
    }

    /// Whether another address has the same scheme, host and port.
    pub(super) fn holds(&self, other: &Url) -> bool {
        self.0.origin() == other.origin()
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.origin().ascii_serialization())
    }
}

/// Characters of the longest link that is passed on.
const LONGEST_LINK: usize = 4096;

/// A link that a person may be sent to: one that a browser opens safely, as it came. One that could hide where it leads
/// (line ends, which browsers leave out, or letters that look like others) is given as a browser understands it.
pub fn link(text: &str) -> Option<String> {
    let url = Url::parse(text).ok().filter(|_| text.len() <= LONGEST_LINK)?;
    let safe = is_unheard(&url) && !names_user(&url);
    let is_clear = text.bytes().all(|byte| byte.is_ascii_graphic());
    safe.then(|| if is_clear { text.to_owned() } else { url.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        for (given, expected) in [
            ("https://gateway.example", Some("https://gateway.example")),
            (" https://Gateway.Example:8443/ ", Some("https://gateway.example:8443")),
            ("http://127.0.0.1:9", Some("http://127.0.0.1:9")),
            ("http://localhost:9/", Some("http://localhost:9")),
            ("http://[::1]:9", Some("http://[::1]:9")),
            ("http://gateway.example", None),
            ("http://127.0.0.1.example", None),
            ("http://localhost.example", None),
            ("https://user:secret@gateway.example", None),
            ("https://gateway.example/v1", None),
            ("https://gateway.example?key=1", None),
            ("ftp://gateway.example", None),
            ("file:///etc", None),
            ("gateway.example", None),
            ("", None),
        ] {
            assert_eq!(Origin::read(given).ok().map(|origin| origin.to_string()).as_deref(), expected, "{given}");
        }
        let origin = Origin::read("https://a.example").unwrap();
        assert_eq!(
            origin.route(&["accounts", "../x?y"]).as_str(),
            "https://a.example/v1/connectors/accounts/..%2Fx%3Fy"
        );
        for (other, same) in [("https://a.example/b", true), ("http://a.example", false), ("https://b.example", false)]
        {
            assert_eq!(origin.holds(&Url::parse(other).unwrap()), same, "{other}");
        }
    }

    #[test]
    fn links() {
        let long = format!("https://a.example/{}", "x".repeat(LONGEST_LINK));
        for (given, expected) in [
            ("https://a.example/connect?x=1", Some("https://a.example/connect?x=1")),
            ("http://127.0.0.1:8", Some("http://127.0.0.1:8")),
            ("https://a.example/\nhttps://b.example", Some("https://a.example/https://b.example")),
            ("https://a.example/\u{202e}\u{1b}[31m", Some("https://a.example/%E2%80%AE%1B[31m")),
            ("https://аpple.example/", Some("https://xn--pple-43d.example/")),
            ("https://good.example@evil.example/", None),
            ("http://a.example", None),
            ("javascript:alert(1)", None),
            ("file:///etc/passwd", None),
            ("x", None),
            (long.as_str(), None),
        ] {
            assert_eq!(link(given).as_deref(), expected, "{given:?}");
        }
    }
}
