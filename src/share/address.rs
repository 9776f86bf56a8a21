//! What `--listen` names: `unix:PATH`, or `ws://` with a loopback address.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where a sidecar listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A Unix domain socket.
    Unix(PathBuf),
    /// A WebSocket; port 0 is any that is free.
    WebSocket(SocketAddr),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() {
                Err("no path behind `unix:`".to_owned())
            } else {
                Ok(Self::Unix(path.into()))
            };
        }
        let Some(authority) = text.strip_prefix("ws://") else {
            return Err("neither `unix:PATH` nor `ws://127.0.0.1:PORT`".to_owned());
        };
        let address = match authority.strip_prefix("localhost:") {
            Some(port) => port.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            None => authority.parse().ok(),
        };
        let address: SocketAddr = address.ok_or("not an address with a port, such as `ws://127.0.0.1:0`")?;
        // The token travels unencrypted.
        if !address.ip().is_loopback() {
            return Err(format!("{} is not a loopback address: take 127.0.0.1", address.ip()));
        }
        Ok(Self::WebSocket(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let socket = |text: &str| Some(Address::WebSocket(text.parse().unwrap()));
        for (text, expected) in [
            ("unix:/run/x.sock", Some(Address::Unix("/run/x.sock".into()))),
            ("ws://127.0.0.1:0", socket("127.0.0.1:0")),
            ("ws://localhost:80", socket("127.0.0.1:80")),
            ("ws://[::1]:9", socket("[::1]:9")),
            ("unix:", None),
            ("/run/x.sock", None),
            ("ws://127.0.0.1", None),
            ("ws://127.0.0.1:1/path", None),
            ("ws://0.0.0.0:0", None),
            ("ws://192.168.0.1:0", None),
            ("ws://example.org:80", None),
            ("wss://127.0.0.1:0", None),
        ] {
            assert_eq!(text.parse::<Address>().ok(), expected, "{text}");
        }
    }
}
