//! How long is waited: for the gateway, for the person who connects accounts there, and until it is asked again.

use std::time::Duration;

/// The bound of each route, second tries included, the pace of a card, and for how long a refusal holds. The default is what is published; a test
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
    /// `GET` of a single connector, which only tells whether somebody is signed in.
    pub greet: Duration,
    /// `POST /connections`.
    pub connect: Duration,
    /// `GET /accounts/<connectionId>`.
    pub look: Duration,
    /// Time between two looks at one account.
    pub pause: Duration,
    /// How long a person has for the accounts of a card.
    pub card: Duration,
    /// How long a gateway that serves nothing to an account is left alone (CONN-1).
    pub dark: Duration,
    /// How long a token that was refused is not shown again: long enough to be no loop, short enough that a gateway's bad
    /// hour is not taken for the end of a sign-in for good.
    pub refused: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            search: seconds(30),
            schemas: seconds(10),
            execute: seconds(60),
            list: seconds(30),
            greet: seconds(10),
            connect: seconds(30),
            look: seconds(10),
            pause: seconds(1),
            card: seconds(300),
            dark: seconds(60),
            refused: seconds(600),
        }
    }
}
