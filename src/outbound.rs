//! What is known alike of every way out of the process, to servers and to a gateway: which addresses are on this machine,
//! which are safe to send to, and why nothing was sent.
//!
//! It sends nothing.

use std::error::Error;

use reqwest::Url;

/// Names the cryptography of TLS, without which reqwest makes no client. Once a process; that it is named already is no error.
pub fn name_cryptography() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Whether an address is on this machine, whatever a name server says.
pub fn is_loopback(url: &Url) -> bool {
    match url.host_str().map(|host| host.trim_start_matches('[').trim_end_matches(']')) {
        Some("localhost") => true,
        Some(host) => host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

/// Whether a user stands before the host, which a person would take for the host.
pub fn names_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Whether what is sent to an address is read by nobody on its way: over TLS, or on this machine.
pub fn is_unheard(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && is_loopback(url)
}

/// What is at the bottom of an error, `Connection refused` rather than that a request failed. It names no address, which may
/// hold a key.
pub fn cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    match deepest.downcast_ref::<reqwest::Error>() {
        // Its own words end with the address.
        Some(_) => "the connection failed".to_owned(),
        None => deepest.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_this_machine() {
        for (url, expected) in [
            ("http://localhost:9", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:9", true),
            ("http://localhost.example", false),
            ("http://127.0.0.1.example", false),
            ("file:///etc", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn a_cause_names_no_address() {
        name_cryptography();
        let client = reqwest::Client::new();
        let error = client.get("ftp:// /key").build().unwrap_err();
        assert!(!cause(&error).contains("key"));
        let inner = std::io::Error::other("refused");
        assert_eq!(cause(&std::io::Error::other(inner)), "refused");
    }
}
