//! Remote tools behind a connector gateway: signing in, the gateway's routes, names, and what a search adds of it.
//!
//! Promises: nothing is sent before somebody asks something that needs it, and then only to the gateway that the token
//! belongs to. Every wait is bounded, every body too. A token is in no message, log line or error, whatever the gateway
//! answers. A gateway that serves nothing to this account, or refuses the token, is not asked again for a while.
//!
//! It knows nothing of sessions, hosts and the sidecar's own wire; scope and approval are its caller's.

pub mod credentials;
pub mod gateway;
pub mod name;
pub mod origin;
pub mod sign_in;
pub mod token;

pub use gateway::{Account, Failure, Gateways};
pub use name::Remote;
pub use sign_in::SignIn;
pub use token::Token;
