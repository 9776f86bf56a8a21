//! The heart: tool definitions, scope, index, search, listing, assembly. Pure.

pub mod listing;
pub mod settings;
pub mod tokens;
