//! A session between a host and the sidecar: life cycle, and one short handler a method.
//!
//! Handlers translate: wire to domain, domain to wire. What a connection registered, and which phase it is in, is owned
//! by its [`session::Session`]; everything else is an immutable snapshot that a request takes once.

mod assemble;
mod bridge;
mod changes;
mod checkers;
mod current;
mod host_process;
mod initialize;
mod inspect;
mod metrics;
mod order;
mod registry;
pub mod session;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use crate::protocol::errors::RpcError;
use crate::protocol::lifecycle::NoParams;
use crate::rpc::{Call, Cancel, Connection, End, Flow, Limits, Sink, Table};
use session::{Options, Process, Session};

/// Every method, with its handler.
pub fn table() -> Table<Session> {
    Table::builder()
        .method("initialize", Cancel::Cooperative, initialize::initialize)
        .method("shutdown", Cancel::Drop, shutdown)
        .method("registry/register", Cancel::Cooperative, registry::register)
        .method("registry/unregister", Cancel::Cooperative, registry::unregister)
        .method("registry/list", Cancel::Drop, registry::list)
        .method("assemble", Cancel::Drop, assemble::assemble)
        .method("bridge/call", Cancel::Cooperative, bridge::call)
        .method("bridge/resolve", Cancel::Drop, bridge::resolve)
        .method("bridge/plan", Cancel::Drop, bridge::plan)
        .method("search/explain", Cancel::Drop, inspect::explain)
        .method("config/get", Cancel::Drop, inspect::config)
        .method("status", Cancel::Drop, inspect::status)
        .notification("initialized", |_, _: NoParams| Flow::Continue)
        .notification("exit", |_, _: NoParams| Flow::Exit)
        .build()
}

async fn shutdown(call: Call<Session>, _: NoParams) -> Result<(), RpcError> {
    call.session.shut_down();
    Ok(())
}

/// Serves one host over standard input and output until either ends.
///
/// # Errors
/// Where the system gives no thread.
pub fn serve_stdio(options: Options, read: impl io::Read + Send + 'static, sink: Sink) -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().thread_name("toolscout-work").build()?;
    let process = Arc::new(Process::new(options));
    let session = Arc::new(Session::new(process));
    let limits = Limits { max_message_bytes: session.max_message_bytes.clone(), ..Limits::default() };
    let connection =
        Connection { table: Arc::new(table()), session: session.clone(), limits, runtime: runtime.handle().clone() };
    let end = connection.run(read, sink)?;
    // What still runs has nobody to answer to.
    runtime.shutdown_background();
    Ok(match end {
        End::Exit if session.is_shut_down() => ExitCode::SUCCESS,
        End::Eof | End::Closed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}
