//! How long is waited for the gateway, and for the person who connects accounts there.

use std::time::Duration;

/// The bound of each route, second tries included, and the pace of a card. The default is what is published; a test
/// shortens one and lets the others be endless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// `POST /search`.
    pub search: Duration,
    /// `POST /schemas`.
    pub schemas: Duration,
    /// `POST /execute`, for each slug that is tried.
    pub execute: Duration,
    /// `GET` of the list, all its pages together.
    pub list: Duration,
    /// `POST /connections`.
    pub connect: Duration,
    /// `GET /accounts/<connectionId>`.
    pub look: Duration,
    /// Time between two looks at one account.
    pub pause: Duration,
    /// How long a person has for the accounts of a card.
    pub card: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            search: seconds(30),
            schemas: seconds(10),
            execute: seconds(60),
            list: seconds(30),
            connect: seconds(30),
            look: seconds(10),
            pause: seconds(1),
            card: seconds(300),
        }
    }
}
