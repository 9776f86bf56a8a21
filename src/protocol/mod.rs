//! The wire: parameters and results of every method, and the error codes. `protocol/openrpc.json` is made from these
//! types; prose and guarantees are in `protocol/README.md`.

pub mod changes;
pub mod errors;
pub mod host;
pub mod lifecycle;
mod object;
pub mod openrpc;
pub mod registry;
pub mod work;

/// The version spoken, `major.minor`. Another major is refused.
pub const VERSION: &str = "1.0";
