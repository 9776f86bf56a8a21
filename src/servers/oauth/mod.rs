//! Signing in to MCP servers by OAuth 2.1, as the Model Context Protocol has it: the protocol itself is the SDK's.
//!
//! Promises: a token goes to the server that it was given for and to that server's authorization server, over `https`, or
//! over `http` where both are on this machine, and follows no redirect. Tokens are kept in files that are their owner's
//! alone. What is said of a failure are words of our own: of what was sent or answered nothing is repeated but a status
//! and a standard error code.
//!
//! It opens no browser: whoever asked for a sign-in gets the link.

mod flow;
mod redirect;
mod resource;
mod session;
mod sign_in;
mod store;
mod web;

pub use flow::{Ending, Flow, PATIENT};
pub use resource::Resource;
pub use session::manager;
pub use sign_in::SignIn;
pub use store::{Entry, Store};

/// How a server is signed in to, as far as its entry says.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// The id of a client that was registered by hand; without one, one is registered for each sign-in.
    pub id: Option<String>,
    /// Its secret, if it has one.
    pub secret: Option<String>,
    /// Scopes to ask for instead of those that the server names.
    pub scopes: Vec<String>,
    /// The port of the loopback that the browser is sent back to; without one, a free one.
    pub port: Option<u16>,
}
