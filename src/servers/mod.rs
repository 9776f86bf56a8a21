//! MCP servers that the sidecar attaches to: what configuration says of them, their lives, their tools, calls of them.
//!
//! Promises: nobody waits for a server but who calls it; what one does, however bad, costs the others nothing; a value
//! that its configuration takes from a variable, or gives as `env` or header, is in no message, log or status.
//!
//! It knows nothing of connections: whoever uses a server holds it, and what is held by nobody is ended.

pub mod answer;
mod cache;
mod call;
mod http;
pub mod large;
pub mod launch;
mod life;
pub mod oauth;
pub mod offers;
mod pool;
mod process;
pub mod secrets;
mod server;
pub mod spec;
mod stdout;
mod tail;
mod tools;
mod transport;
mod variables;
pub mod whole;

pub use cache::Cache;
pub use call::Progress;
pub use pool::Pool;
pub use process::{MARK, is_this_program};
pub use server::{Attached, Server, State, View};
pub use tools::{Warning, last_known};
