//! Where the browser is sent back to: a port of the loopback that answers one address, with a small page of our own.
//!
//! Who does not know the `state` of the sign-in cannot end it: such a visit is refused, and waiting goes on.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use reqwest::Url;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::web;

/// The path of the address.
const PATH: &str = "/callback";
/// Visitors at one time; who comes beyond is turned away.
const VISITORS: usize = 8;
/// How long one visit may take, the exchange of the code included.
const VISIT: Duration = Duration::from_secs(60);
/// How long a visitor may take to say what it wants: who holds its place and says nothing is not to keep the person out.
const ASKING: Duration = Duration::from_secs(3);
/// How long nobody is let in where the system refuses to.
const NO_ROOM: Duration = Duration::from_millis(100);
/// How long the last page is waited for.
const LAST_PAGE: Duration = Duration::from_secs(2);

/// What the browser is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The sign-in is done.
    Done,
    /// It was denied.
    Denied,
    /// It came to nothing.
    Failed,
    /// It is not the one that is waited for.
    Stranger,
}

/// What the authorization server sent the browser back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A code, and who says that it gave it (RFC 9207).
    Granted { code: String, issuer: Option<String> },
    /// A refusal; its code, if that is a standard one.
    Denied(Option<&'static str>),
}

/// A browser that came back, and waits for its page.
pub struct Visit {
    /// What it came with.
    pub said: Said,
    /// Takes the page.
    pub page: oneshot::Sender<Page>,
}

/// See the module.
pub struct Redirect {
    listener: TcpListener,
    port: u16,
    visits: JoinSet<()>,
}

impl Redirect {
    /// Listens, on a free port unless one is wanted.
    ///
    /// # Errors
    /// Where the port is taken.
    pub async fn bind(port: Option<u16>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port, visits: JoinSet::new() })
    }

    /// The address that the browser is sent back to.
    pub fn uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the browser that comes back with this state.
    pub async fn visit(&mut self, state: &str) -> Visit {
        let (sender, mut visitors) = mpsc::channel(1);
        loop {
            tokio::select! {
                Some(visit) = visitors.recv() => return visit,
                accepted = self.listener.accept() => {
                    let Ok((stream, _)) = accepted else {
                        // The system has no room for one more now.
                        tokio::time::sleep(NO_ROOM).await;
                        continue;
                    };
                    while self.visits.try_join_next().is_some() {}
                    if self.visits.len() < VISITORS {
                        let (state, sender) = (state.to_owned(), sender.clone());
                        self.visits.spawn(async move { drop(timeout(VISIT, serve(stream, &state, sender)).await) });
                    }
                }
            }
        }
    }

    /// Stops listening, once the page is written.
    pub async fn close(mut self) {
        drop(self.listener);
        // Whoever holds a connection open without asking anything waits for no page.
        let _ = timeout(LAST_PAGE, async { while self.visits.join_next().await.is_some() {} }).await;
    }
}

async fn serve(stream: TcpStream, state: &str, visitors: mpsc::Sender<Visit>) {
    let service = hyper::service::service_fn(|request| answer(request, state, &visitors));
    let mut speaking = hyper::server::conn::http1::Builder::new();
    speaking.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(ASKING);
    let connection = speaking.serve_connection(TokioIo::new(stream), service);
    // One that breaks off is the browser's own affair.
    let _ = connection.await;
}

async fn answer(
    request: Request<Incoming>,
    state: &str,
    visitors: &mpsc::Sender<Visit>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::GET || request.uri().path() != PATH {
        return Ok(shown(Page::Stranger, StatusCode::NOT_FOUND));
    }
    let Some(said) = read(request.uri().query().unwrap_or_default(), state) else {
        return Ok(shown(Page::Stranger, StatusCode::BAD_REQUEST));
    };
    let (page, chosen) = oneshot::channel();
    // A code is worth one exchange: of two visits that know the state the first one counts.
    if visitors.try_send(Visit { said, page }).is_err() {
        return Ok(shown(Page::Stranger, StatusCode::CONFLICT));
    }
    Ok(shown(chosen.await.unwrap_or(Page::Failed), StatusCode::OK))
}

/// What a query says, if it is of this sign-in.
fn read(query: &str, state: &str) -> Option<Said> {
    let url = Url::parse(&format!("http://127.0.0.1/?{query}")).ok()?;
    let all = |name: &str| {
        url.query_pairs().filter(|(key, _)| key == name).map(|(_, value)| value.into_owned()).collect::<Vec<_>>()
    };
    // Twice the same parameter is no answer of an authorization server (RFC 6749, section 3.1).
    let one =
        |name: &str| all(name).try_into().ok().map(|[value]: [String; 1]| value).filter(|value| !value.is_empty());
    if one("state")? != state {
        return None;
    }
    if !all("error").is_empty() {
        return Some(Said::Denied(one("error").and_then(|error| web::code(&error))));
    }
    Some(Said::Granted { code: one("code")?, issuer: one("iss") })
}

fn shown(page: Page, status: StatusCode) -> Response<Full<Bytes>> {
    let (title, text) = match page {
        Page::Done => ("Signed in", "Toolscout may use the server now. You can close this page."),
        Page::Denied => ("Not signed in", "Access was denied, and nothing was stored. You can close this page."),
        Page::Failed => ("Not signed in", "The sign-in came to nothing. Where it was started it says why."),
        Page::Stranger => ("Nothing here", "This is no sign-in that Toolscout waits for."),
    };
    let html = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=color-scheme content='light dark'>\
         <title>{title}</title><style>body{{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}}\
         </style><h1>{title}</h1><p>{text}</p></html>\n"
    );
    let mut response = Response::new(Full::new(Bytes::from(html)));
    *response.status_mut() = status;
    // The address has the code in it: it is neither kept nor passed on.
    for (name, value) in [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_knows_the_state_is_an_answer() {
        let granted = |code: &str, issuer: Option<&str>| {
            Some(Said::Granted { code: code.to_owned(), issuer: issuer.map(str::to_owned) })
        };
        for (query, expected) in [
            ("code=a%20b&state=s", granted("a b", None)),
            ("code=a&state=s&iss=https%3A%2F%2Fx", granted("a", Some("https://x"))),
            ("error=access_denied&state=s", Some(Said::Denied(Some("access_denied")))),
            ("error=%3Cscript%3E&state=s&code=a", Some(Said::Denied(None))),
            ("code=a&state=t", None),
            ("code=a", None),
            ("error=access_denied", None),
            ("state=s", None),
            ("code=&state=s", None),
            ("code=a&code=b&state=s", None),
            ("code=a&state=s&state=t", None),
            ("", None),
        ] {
            assert_eq!(read(query, "s"), expected, "{query}");
        }
    }
}
