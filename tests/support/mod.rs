//! What tests that run the real binary share.

pub mod pattern;
pub mod replay;
pub mod sidecar;
