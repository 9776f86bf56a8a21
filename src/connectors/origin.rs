//! Where a gateway is: an `https` origin, or `http` on this machine.

use std::fmt;

use reqwest::Url;

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
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it holds a user's name or password");
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err("it is more than an origin: only scheme, host and port are taken");
        }
        let origin = Self(url);
        match origin.0.scheme() {
            "https" => Ok(origin),
            "http" if origin.is_loopback() => Ok(origin),
            "http" => Err("`http` is taken for this machine only: the token would be sent in the clear"),
            _ => Err("it is not `https`"),
        }
    }

    /// Whether it is on this machine, whatever a name server says.
    pub fn is_loopback(&self) -> bool {
        match self.0.host_str().map(|host| host.trim_start_matches('[').trim_end_matches(']')) {
            Some("localhost") => true,
            Some(host) => host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
            None => false,
        }
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

/// Whether a person may be sent to a link: one that a browser opens safely.
pub fn is_link(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let loopback = || Origin::read(&url.origin().ascii_serialization()).is_ok_and(|origin| origin.is_loopback());
    url.scheme() == "https" || url.scheme() == "http" && loopback()
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
        for (link, good) in [
            ("https://a.example/connect?x=1", true),
            ("http://127.0.0.1:8/connect", true),
            ("http://a.example", false),
            ("javascript:alert(1)", false),
            ("file:///etc/passwd", false),
            ("x", false),
        ] {
            assert_eq!(is_link(link), good, "{link}");
        }
    }
}
