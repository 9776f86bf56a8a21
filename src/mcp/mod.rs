//! Toolscout as an MCP server: any MCP client gets tool search from it, over standard input and output or Streamable
//! HTTP.
//!
//! Towards the client it is the official SDK's server, towards the sidecar a host like any other, with one connection a
//! session. It translates and decides nothing: what is listed is what `assemble` answers, what is called goes to
//! `bridge/call`, and a call that the sidecar would have its host run is refused, since this host runs nothing.
//!
//! It does not say where the sidecar is, reads no flag and no environment, and says nothing to people.

mod handler;
mod http;
mod result;
mod stdio;
mod upstream;

use std::io::{self, PipeReader, PipeWriter};
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::runtime::{self, Runtime};
use tokio_util::sync::CancellationToken;

use handler::{Handler, Sessions};
pub use http::PATH;
use stdio::Input;
use upstream::{Connect, Upstream};

/// How long the sidecars of a process that ends have to end what they started.
const LAST_ACTS: Duration = Duration::from_secs(3);
/// How long what is in the middle of a step has to get out of it.
const LAST_TASKS: Duration = Duration::from_millis(500);
/// Threads that serve clients, at most.
const MAX_THREADS: usize = 4;

/// What all clients of the process are shown, and by which sidecar.
pub struct Service {
    /// The scope on the wire; null grants all.
    pub scope: Value,
    /// Context length of the model, in tokens: the listing's budget is a share of it.
    pub context_length: u64,
    /// Told once, when servers have settled, what the sidecar answers to `status` and `registry/list`: this module says
    /// nothing to people.
    pub settled: Option<Box<Settled>>,
    /// Cancelled when nobody is left to be served; whoever cancels it asks for the end.
    pub ended: CancellationToken,
    /// Told once that no client is left, before what is on its way is answered.
    pub ending: Box<dyn Fn() + Send + Sync>,
    /// Ends what the sidecars of the process have in common, and waits until it has; called last.
    pub end: Box<dyn FnOnce() + Send>,
    /// Serves one host's connection until it ends: requests to read, answers to write.
    pub sidecar: Box<dyn Fn(PipeReader, PipeWriter) + Send + Sync>,
}

/// Hears of `status` and `registry/list`.
pub type Settled = dyn Fn(&RawValue, &RawValue) + Send + Sync;

impl Service {
    /// Its sessions, and what is left to do once they have ended.
    fn start(self, runtime: &Runtime) -> (Arc<Sessions>, Last) {
        let Self { scope, context_length, settled, ended, ending, end, sidecar } = self;
        let (alive, gone) = channel();
        let connect = move |requests, answers| {
            let _alive = alive.clone();
            sidecar(requests, answers);
        };
        let connect = Connect {
            sidecar: Arc::new(connect),
            runtime: runtime.handle().clone(),
            settled: Arc::new(Mutex::new(settled)),
        };
        let sessions = Arc::new(Sessions::new(Upstream::new(scope, context_length, connect), ended.clone()));
        runtime.spawn(async move {
            ended.cancelled().await;
            ending();
        });
        (sessions, Last { gone, end })
    }
}

/// The end of the sidecars.
struct Last {
    /// Closed by the last of them.
    gone: Receiver<()>,
    end: Box<dyn FnOnce() + Send>,
}

impl Last {
    fn end(self) {
        let _ = self.gone.recv_timeout(LAST_ACTS);
        (self.end)();
    }
}

/// Serves one client over standard input and output until it closes them.
///
/// # Errors
/// Where the system gives no thread, or the client's first words are not MCP's.
pub fn serve_stdio(service: Service) -> io::Result<()> {
    let runtime = runtime()?;
    let (sessions, last) = service.start(&runtime);
    let ended = runtime.block_on(async {
        let (stdin, stdout) = rmcp::transport::stdio();
        let input = Input::new(stdin, sessions.ended.clone());
        match Handler::new(sessions).serve((input, stdout)).await {
            Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    });
    // A read of standard input that never returns must keep nobody from leaving.
    runtime.shutdown_background();
    last.end();
    ended
}

/// Serves all who connect to a loopback address until the end is asked for. `ready` is told the address.
///
/// # Errors
/// An address that is taken or not to be had.
pub fn serve_http(service: Service, address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let runtime = runtime()?;
    let (sessions, last) = service.start(&runtime);
    let ended = sessions.ended.clone();
    let served = runtime.block_on(async {
        tokio::select! {
            served = http::serve(sessions, address, ready) => served,
            () = ended.cancelled() => Ok(()),
        }
    });
    runtime.shutdown_timeout(LAST_TASKS);
    last.end();
    served
}

fn runtime() -> io::Result<Runtime> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    runtime::Builder::new_multi_thread().worker_threads(threads).thread_name("mcp-work").enable_all().build()
}

#[cfg(test)]
mod tests;
