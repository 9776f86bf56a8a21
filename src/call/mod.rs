//! What a model sends to a bridge tool, made callable: read the envelope, repair the arguments, check them.
//!
//! Pure, and total: whatever was typed, the answer is a value or a [`Problem`], the text a model repairs its
//! call from. The steps stand in their own files, in the order in which a call passes them:
//! [`arguments`] and [`envelope`] read, [`suggest`] answers a wrong name, `coerce` and [`validate`] work on
//! the arguments, [`plan`] says which calls may run together.

mod adapt;
pub mod arguments;
mod coerce;
pub mod connections;
mod cost;
pub mod envelope;
pub mod excerpt;
mod pattern;
pub mod plan;
mod schema;
pub mod suggest;
pub mod validate;
mod violation;

pub use arguments::Problem;
pub use envelope::Entry;
pub use validate::{Checked, Checker, Verdict};
pub use violation::Violation;
