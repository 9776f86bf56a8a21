//! A server as OAuth names it (RFC 8707): its URL, without what may be a key.

use std::fmt;

use reqwest::Url;
use sha2::{Digest, Sha256};

use crate::outbound::{is_loopback, is_unheard, names_user};

/// A server that can be signed in to. Shown as `https://mcp.example/mcp`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Resource(Url);

impl Resource {
    /// Reads the URL of a server's entry. User information, query and fragment are left out.
    ///
    /// # Errors
    /// Why no token may be sent there, for a person.
    pub fn read(url: &str) -> Result<Self, &'static str> {
        let mut url = Url::parse(url.trim()).map_err(|_| "its `url` is none")?;
        url.set_query(None);
        url.set_fragment(None);
        let _ = url.set_username("");
        let _ = url.set_password(None);
        if is_unheard(&url) {
            Ok(Self(url))
        } else {
            Err("its `url` is neither `https` nor on this machine, so that a token would be sent in the clear")
        }
    }

    /// Whether something secret may be sent to an address on this server's behalf: over TLS, or on this machine if the
    /// server is on it too. A server elsewhere is to reach nothing here. No address has a user before its host, which a
    /// person would take for the host.
    pub fn trusts(&self, url: &Url) -> bool {
        is_unheard(url) && !names_user(url) && (is_loopback(&self.0) || !is_loopback(url))
    }

    /// The same of a text.
    pub fn trusts_text(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| self.trusts(&url))
    }

    /// The name of its file, without ending: the host for a person, and a hash of all of it.
    pub fn file_stem(&self) -> String {
        let hash: String = Sha256::digest(self.0.as_str())[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        let host = self.0.host_str().unwrap_or_default().chars().filter(|c| fits(*c)).take(100);
        format!("{}-{hash}", host.collect::<String>())
    }

    pub(super) fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_without_keys() {
        for (given, expected) in [
            ("https://mcp.example/mcp", Some("https://mcp.example/mcp")),
            (" https://MCP.example:443/mcp?key=abc#d", Some("https://mcp.example/mcp")),
            ("https://me:pass@mcp.example", Some("https://mcp.example/")),
            ("http://127.0.0.1:9/mcp", Some("http://127.0.0.1:9/mcp")),
            ("http://localhost:9/", Some("http://localhost:9/")),
            ("http://[::1]:9/", Some("http://[::1]:9/")),
            ("http://mcp.example/mcp", None),
            ("http://127.0.0.1.example/", None),
            ("ftp://mcp.example", None),
            ("mcp.example", None),
            ("", None),
        ] {
            let resource = Resource::read(given).ok();
            assert_eq!(resource.as_ref().map(ToString::to_string).as_deref(), expected, "{given}");
            assert!(resource.is_none_or(|it| !it.file_stem().contains(['/', '\\', ':'])), "{given}");
        }
        let stem = |url| Resource::read(url).unwrap().file_stem();
        assert_ne!(stem("https://mcp.example/a"), stem("https://mcp.example/b"));
        assert!(stem("https://mcp.example/a").starts_with("mcp.example-"));
    }

    #[test]
    fn secrets_go_over_tls_and_from_afar_nowhere_on_this_machine() {
        let (far, near) =
            (Resource::read("https://mcp.example").unwrap(), Resource::read("http://127.0.0.1:9").unwrap());
        for (url, from_far, from_near) in [
            ("https://auth.example/token", true, true),
            ("http://auth.example/token", false, false),
            ("http://127.0.0.1:8/token", false, true),
            ("https://localhost/token", false, true),
            ("http://[::1]:8/token", false, true),
            ("https://bank.example@auth.example/token", false, false),
            ("https://:pass@auth.example/token", false, false),
            ("javascript:alert(1)", false, false),
            ("file:///etc/passwd", false, false),
            ("auth.example", false, false),
        ] {
            assert_eq!((far.trusts_text(url), near.trusts_text(url)), (from_far, from_near), "{url}");
        }
    }
}
