//! The MCP server of the tests, and a sidecar that is attached to it.
#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::host::{Files, Sidecar};

/// What is never reached unless something is broken.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// The program. `cargo test` builds it beside the tests, but not where only some of those are asked for.
pub fn fixture() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let program = test.parent().unwrap().parent().unwrap().join("examples/mcp_server");
        let written = |path: &Path| path.metadata().and_then(|found| found.modified()).ok();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let made_of = ["tests/fixtures/mcp_server.rs", "Cargo.lock"].map(|part| written(&root.join(part)));
        if made_of.iter().any(|part| *part > written(&program)) {
            let build = ["build", "--quiet", "--locked", "--example", "mcp_server"];
            let built = Command::new(env!("CARGO")).args(build).current_dir(root).status();
            assert!(built.is_ok_and(|status| status.success()), "the example mcp_server can be built");
        }
        program
    })
}

/// The entry of a server with these habits.
pub fn entry(habits: &[&str]) -> Value {
    json!({ "command": fixture(), "args": habits })
}

/// A sidecar attached to these servers, with a host that can be asked nothing.
pub fn attached(files: &Files, servers: Value) -> Sidecar {
    attached_as(files, servers, json!({}))
}

/// The same, with the host's capabilities.
pub fn attached_as(files: &Files, servers: Value, capabilities: Value) -> Sidecar {
    Sidecar::open(command(files, servers), json!({ "capabilities": capabilities }))
}

/// A sidecar that is to be attached to these servers.
pub fn command(files: &Files, servers: Value) -> Command {
    files.save("mcp.json", json!({ "mcpServers": servers }));
    let mut command = files.command();
    command.arg("--mcp-config").arg(files.at("mcp.json"));
    command
}

/// The status of a server, as soon as it is as it should be.
#[track_caller]
pub fn until(sidecar: &mut Sidecar, server: &str, is: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let status = status(sidecar, server);
        if is(&status) {
            return status;
        }
        assert!(Instant::now() < deadline, "still {status}");
    }
}

/// The same for its state.
#[track_caller]
pub fn until_state(sidecar: &mut Sidecar, server: &str, state: &str) -> Value {
    until(sidecar, server, |status| status["state"] == state)
}

/// The status of a server; null where there is none.
pub fn status(sidecar: &mut Sidecar, server: &str) -> Value {
    let status = sidecar.request("status", json!({}));
    let sources = status["sources"].as_array().unwrap().iter();
    sources.into_iter().find(|source| source["name"] == server).cloned().unwrap_or_default()
}

/// Parameters of a call of one tool.
pub fn calling(tool: &str, arguments: Value) -> Value {
    json!({ "name": "tool_call", "arguments": { "calls": [{ "name": tool, "arguments": arguments }] } })
}

#[track_caller]
pub fn call(sidecar: &mut Sidecar, tool: &str, arguments: Value) -> Value {
    sidecar.request("bridge/call", calling(tool, arguments))
}

/// The text of an answer's first block.
#[track_caller]
pub fn text(answer: &Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer}"))
}

/// The error of an answer that the sidecar made.
#[track_caller]
pub fn error(answer: &Value) -> &str {
    assert_eq!(answer["isError"], true, "{answer}");
    answer["content"]["error"].as_str().unwrap_or_else(|| panic!("no error: {answer}"))
}
