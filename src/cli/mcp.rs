//! `toolscout mcp`: MCP clients are served by a sidecar in this process, or by the shared one.

use std::io::{self, PipeWriter};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use clap::error::ErrorKind;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::answers::{Listed, Status, read};
use super::failure::complain;
use super::flags::{Cli, Common, Mcp, Serve};
use super::serve::{greet, log_to_stderr};
use super::shared;
use super::toolsets;
use crate::mcp::{self, PATH, Service};
use crate::protocol::errors::RpcError;
use crate::protocol::work;
use crate::rpc::Sink;
use crate::server::{self, Server};
use crate::servers::MARK;
use crate::share::say_ready;
use crate::signals;

/// Serves until the client is gone; over HTTP, for ever.
pub fn serve(common: &Common, args: &Mcp) -> ExitCode {
    let scope = args.scope();
    if let Some(problem) = problem_of(&scope) {
        Cli::command().error(ErrorKind::ValueValidation, problem).exit();
    }
    log_to_stderr();
    if std::env::var_os(MARK).is_some() {
        complain(
            "this is started by a Toolscout that has it among its MCP servers, and would start itself again: take it out there",
        );
        return ExitCode::FAILURE;
    }
    let service = service(common, args, scope);
    let asked = service.ended.clone();
    let caught = signals::on_end(move || asked.cancel());
    let served = caught.and_then(|()| match args.http {
        Some(address) => mcp::serve_http(service, address, |address| {
            say_ready(json!({ "url": format!("http://{address}{PATH}") }));
        }),
        None => {
            greet("an MCP client");
            mcp::serve_stdio(service)
        }
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

/// What is wrong with a scope: said at once, and not with every answer.
fn problem_of(given: &Value) -> Option<String> {
    let scope: work::Scope = serde_json::from_value(given.clone()).ok()?;
    let RpcError { message, data, .. } = server::scope(Some(scope)).err()?;
    let pattern = data.as_ref().and_then(|data| data.get("pointer")?.as_str()?.strip_prefix("/scope"));
    match pattern.and_then(|at| given.pointer(at)?.as_str()) {
        Some(pattern) => Some(format!("`{pattern}`: {message}")),
        None => Some(message),
    }
}

/// What keeps a client from tools that the person at it means it to have.
fn told(scope: &Value, status: &Status, listed: &Listed) -> Vec<String> {
    let mut told = toolsets::unknown(scope, status, listed);
    let waiting = status.sources.iter().filter(|source| source.state == "untrusted");
    let waiting: Vec<&str> = waiting.map(|source| source.name.as_str()).collect();
    if !waiting.is_empty() {
        told.push(format!(
            "the workspace's MCP servers wait for trust: {}; if you trust it: toolscout mcp --trust-workspace",
            waiting.join(", ")
        ));
    }
    told
}

fn service(common: &Common, args: &Mcp, scope: Value) -> Service {
    let (context_length, ended) = (args.context_length, CancellationToken::new());
    let asked = scope.clone();
    let settled: Option<Box<mcp::Settled>> = Some(Box::new(move |status, listed| {
        if let (Ok(status), Ok(listed)) = (read::<Status>(status), read::<Listed>(listed)) {
            told(&asked, &status, &listed).iter().for_each(|line| complain(line));
        }
    }));
    let tell = |served: io::Result<()>| {
        if let Err(error) = served {
            complain(&error.to_string());
        }
    };
    if args.shared {
        let (common, serve) = (common.clone(), Serve { shared: true, ..Serve::default() });
        let relay = move |requests, answers| tell(shared::relay_between(&common, &serve, requests, answers).map(drop));
        // Other connections' servers are not this process's to end.
        let (ending, end) = (Box::new(|| {}), Box::new(|| {}));
        return Service { scope, context_length, settled, ended, ending, end, sidecar: Box::new(relay) };
    }
    let server = Arc::new(Server::new(common.options()));
    let (ending, last) = (server.clone(), server.clone());
    let serve = move |requests, answers| tell(server.serve(requests, sink(answers)).map(drop));
    Service {
        scope,
        context_length,
        settled,
        ended,
        ending: Box::new(move || ending.begin_end()),
        end: Box::new(move || last.end()),
        sidecar: Box::new(serve),
    }
}

#[cfg(unix)]
fn sink(answers: PipeWriter) -> Sink {
    Sink::descriptor(answers)
}

#[cfg(not(unix))]
fn sink(answers: PipeWriter) -> Sink {
    Sink::new(answers)
}

/// `127.0.0.1:PORT`, or another address of the loopback.
pub fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address = match text.strip_prefix("localhost:") {
        Some(port) => port.parse().ok().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        None => text.parse().ok(),
    };
    let address: SocketAddr = address.ok_or("not an address with a port, such as 127.0.0.1:0")?;
    // There is neither encryption nor a token.
    if address.ip().is_loopback() {
        Ok(address)
    } else {
        Err(format!("{} is not a loopback address: take 127.0.0.1", address.ip()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_is_served() {
        for (text, expected) in [
            ("127.0.0.1:0", Some("127.0.0.1:0")),
            ("localhost:80", Some("127.0.0.1:80")),
            ("[::1]:9", Some("[::1]:9")),
            ("0.0.0.0:0", None),
            ("192.168.0.1:0", None),
            ("127.0.0.1", None),
            ("example.org:80", None),
            ("http://127.0.0.1:0", None),
        ] {
            assert_eq!(loopback(text).ok(), expected.map(|address| address.parse().unwrap()), "{text}");
        }
    }
}
