//! Streamable HTTP on a loopback address.
//!
//! Whoever runs a program on this machine may connect. A web page may not: the SDK's service refuses a `Host` that is no
//! name of the loopback (a page whose name was rebound to it sends its own), and an `Origin` other than this server's.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::handler::{Handler, Sessions};

/// Where it is served.
pub const PATH: &str = "/mcp";
/// Connections at once; another waits.
const MAX_CONNECTIONS: usize = 256;
/// How long a session may be idle. A client that comes back later is told to begin anew, which not all can.
const IDLE: Duration = Duration::from_secs(24 * 3600);
/// Pause after the system gave no connection, which it may well do again.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves for ever. `ready` is told where.
///
/// # Errors
/// An address that is taken or not to be had.
pub async fn serve(sessions: Arc<Sessions>, address: SocketAddr, ready: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let config = StreamableHttpServerConfig::default()
        .with_allowed_hosts(names(address.port()))
        .with_allowed_origins(names(address.port()).map(|name| format!("http://{name}")))
        .enforce_origin_validation();
    let mut manager = LocalSessionManager::default();
    manager.session_config.keep_alive = Some(IDLE);
    let service = StreamableHttpService::new(move || Ok(Handler::new(sessions.clone())), Arc::new(manager), config);
    ready(address);

    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection is not taken");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Only the delay of small answers is at stake.
        let _ = stream.set_nodelay(true);
        let service = service.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |request: Request<Incoming>| {
                let service = service.clone();
                async move {
                    if request.uri().path() == PATH {
                        return Ok::<_, Infallible>(service.handle(request).await);
                    }
                    let mut nothing = Response::new(Empty::new().boxed());
                    *nothing.status_mut() = StatusCode::NOT_FOUND;
                    Ok(nothing)
                }
            });
            // With a timer, a header that never ends does.
            let http = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), answer);
            if let Err(error) = http.await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(place);
        });
    }
}

/// This server's names, which no page can have.
fn names(port: u16) -> impl Iterator<Item = String> {
    ["127.0.0.1", "localhost", "[::1]"].into_iter().map(move |host| format!("{host}:{port}"))
}
