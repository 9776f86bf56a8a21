//! Toolscout: a sidecar that decides what a model sees of a large tool catalog.
//!
//! Invariants that hold across the crate (ARCHITECTURE.md has them with their reasons):
//!
//! - `catalog` and `call` are pure: no runtime, no file, no socket, no wire type, and nothing that a user
//!   typed makes them fail: they return a value and a list of problems.
//! - The same input gives the same bytes; the order of a hash map never shows.
//! - jsonrpsee is named in `rpc` and `protocol::errors` alone; standard output is written by `rpc::sink`, `mcp` and `cli`.

pub mod call;
pub mod catalog;
pub mod cli;
pub mod connectors;
pub mod diagnostic;
pub mod host;
pub mod mcp;
pub mod outbound;
pub mod private_file;
pub mod protocol;
pub mod rpc;
pub mod server;
pub mod servers;
pub mod share;
pub mod signals;
pub mod workspace;
