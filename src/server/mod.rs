//! A session between a host and the sidecar: life cycle, and one short handler a method.
//!
//! Handlers translate: wire to domain, domain to wire. What a connection registered, and which phase it is in, is owned
//! by its [`session::Session`]; everything else is an immutable snapshot that a request takes once.

mod approval;
mod assemble;
mod bridge;
mod changes;
mod checkers;
mod connections;
mod connectors;
mod current;
mod host_process;
mod initialize;
mod inspect;
mod metrics;
mod order;
mod registry;
mod servers;
pub mod session;
mod trust;

use std::io;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use tokio::runtime;

use crate::protocol::errors::RpcError;
use crate::protocol::lifecycle::NoParams;
use crate::rpc::{Call, Cancel, Connection, End, Flow, Limits, Sink, Table};
pub use connectors::sign_in_settings;
pub use current::{path_of, scope};
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
    // A host may have sent all it has to say in one go.
    call.session.opened().await?;
    call.ticket.before.done().await;
    call.session.shut_down();
    Ok(())
}

/// Threads that a connection's requests run on, at most; as many again compute what takes long.
const MAX_THREADS: usize = 4;

/// A process that serves connections, each with a session of its own.
pub struct Server {
    table: Arc<Table<Session>>,
    process: Arc<Process>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Who ended it.
    pub end: End,
    /// Whether as the protocol has it; a sidecar on standard input then ends with code 0.
    pub well: bool,
}

impl Server {
    /// One without connections.
    pub fn new(options: Options) -> Self {
        Self { table: Arc::new(table()), process: Arc::new(Process::new(options)) }
    }

    /// Serves one connection until it ends, blocking the caller.
    ///
    /// Its requests run on threads of its own. On shared ones another connection's requests would wait behind up to
    /// 16,384 of this one's; so the system's scheduler deals the processor out among connections.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn serve(&self, read: impl io::Read + Send + 'static, sink: Sink) -> io::Result<Ended> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        let mut runtime = runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(threads).max_blocking_threads(threads).thread_name("toolscout-work");
        let runtime = runtime.enable_time().build()?;
        let session = Arc::new(Session::new(self.process.clone()));
        let limits = Limits { max_message_bytes: session.max_message_bytes.clone(), ..Limits::default() };
        let connection = Connection {
            table: self.table.clone(),
            session: session.clone(),
            limits,
            runtime: runtime.handle().clone(),
            framing: None,
        };
        let end = connection.run(read, sink);
        // What still runs has nobody to answer to.
        runtime.shutdown_background();
        session.close();
        let end = end?;
        let well = match end {
            End::Exit => session.is_shut_down(),
            End::Eof | End::Closed => true,
            _ => false,
        };
        Ok(Ended { end, well })
    }
}

impl Server {
    /// The process is about to end: from now on MCP servers have a second until they are asked to end, and half of one
    /// more until they are killed. While that runs, the last requests are answered.
    pub fn begin_end(&self) {
        self.process.servers.begin_end();
    }

    /// Ends all MCP servers and waits until they have. For the end of the process.
    pub fn end(&self) {
        self.process.servers.end();
    }
}

/// Serves one host over standard input and output until either ends.
///
/// # Errors
/// Where the system gives no thread.
pub fn serve_stdio(options: Options, read: impl io::Read + Send + 'static, sink: Sink) -> io::Result<ExitCode> {
    let server = Arc::new(Server::new(options));
    let ended = server.serve(Last { read, server: server.clone() }, sink);
    server.end();
    let ended = ended?;
    Ok(if ended.well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The input of the only host: when it ends, so does what was started for it.
struct Last<R> {
    read: R,
    server: Arc<Server>,
}

impl<R: io::Read> io::Read for Last<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read.read(buffer);
        let ended = match &read {
            Ok(count) => *count == 0 && !buffer.is_empty(),
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        };
        if ended {
            self.server.begin_end();
        }
        read
    }
}
