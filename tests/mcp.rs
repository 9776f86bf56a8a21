//! `toolscout mcp`, driven by the official SDK's client over both transports, and by hand where a client would not err.
#![cfg(unix)]

#[path = "support/mcp.rs"]
mod attached;
#[path = "support/host.rs"]
mod host;

use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use host::Files;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ErrorCode, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, SubscriptionFilter,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What is never reached unless something is broken.
const DEADLINE: Duration = Duration::from_secs(30);
const REGISTRY: &str = "work/.toolscout/registry/tools.json";

/// The last revision that begins with `initialize`, and the one that has no sessions.
const LIFECYCLES: [fn() -> ClientLifecycleMode; 2] = [
    || ClientLifecycleMode::Initialize,
    || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
];

fn registry() -> Value {
    let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]});
    let tool = |name: &str, description: &str| json!({"name": name, "description": description, "inputSchema": schema});
    json!({"sources": [
        {"name": "tracker", "kind": "mcp", "tools": [tool("create_issue", "Opens an issue."), tool("wipe", "Deletes all issues.")]},
        {"name": "mail", "kind": "mcp", "tools": [tool("send", "Sends a letter.")]},
        {"name": "host", "kind": "core", "tools": [tool("read_file", "Reads a file.")]},
    ]})
}

fn files() -> Files {
    let files = Files::new();
    files.write(REGISTRY, registry());
    files
}

fn command(files: &Files, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolscout"));
    command.arg("mcp").args(args).current_dir(files.at("work")).env("XDG_CONFIG_HOME", files.at("config"));
    command
        .env("XDG_RUNTIME_DIR", files.at("run"))
        .env("HOME", files.at(""))
        .env("TMPDIR", files.at(""))
        .env_remove("XDG_CACHE_HOME");
    command.env_remove("TOOLSCOUT_LOG");
    command
}

/// An HTTP server that ends when it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(files: &Files, args: &[&str]) -> Self {
        let args = [&["--http", "127.0.0.1:0"], args].concat();
        let mut child = command(files, &args).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut line).unwrap();
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::stderr()));
        let ready: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { child, url: ready["ready"]["url"].as_str().unwrap().to_owned() }
    }

    fn address(&self) -> SocketAddr {
        self.url.strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap().parse().unwrap()
    }

    /// Status of a request with these headers beside the usual ones.
    fn status(&self, path: &str, host: &str, headers: &str) -> u16 {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}})
        .to_string();
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        line.split(' ').nth(1).unwrap_or_else(|| panic!("{line}")).parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Hears what a server says unasked.
struct Ears {
    changes: UnboundedSender<()>,
    progress: UnboundedSender<ProgressNotificationParam>,
}

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        let _ = self.changes.send(());
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let _ = self.progress.send(told);
    }
}

struct Client {
    service: RunningService<RoleClient, Ears>,
    changes: UnboundedReceiver<()>,
    progress: UnboundedReceiver<ProgressNotificationParam>,
}

impl Client {
    async fn stdio(files: &Files, args: &[&str], lifecycle: ClientLifecycleMode) -> Self {
        let transport = TokioChildProcess::new(tokio::process::Command::from(command(files, args))).unwrap();
        let (sender, changes) = unbounded_channel();
        let (reporter, progress) = unbounded_channel();
        let service =
            Ears { changes: sender, progress: reporter }.serve_with_lifecycle(transport, lifecycle).await.unwrap();
        Self { service, changes, progress }
    }

    async fn http(server: &Server, lifecycle: ClientLifecycleMode) -> Self {
        // reqwest asks for one whatever the address; the second to be named is refused, which is no matter.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let transport = StreamableHttpClientTransport::from_uri(server.url.as_str());
        let (sender, changes) = unbounded_channel();
        let (reporter, progress) = unbounded_channel();
        let service =
            Ears { changes: sender, progress: reporter }.serve_with_lifecycle(transport, lifecycle).await.unwrap();
        Self { service, changes, progress }
    }

    /// The tools as JSON, by name.
    async fn tools(&self) -> Value {
        let listed = soon(self.service.list_tools(None)).await.unwrap();
        listed.tools.iter().map(|tool| (tool.name.to_string(), json!(tool))).collect::<serde_json::Map<_, _>>().into()
    }

    async fn try_call(&self, name: &str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let Value::Object(arguments) = arguments else { panic!("no object: {arguments}") };
        soon(self.service.call_tool(CallToolRequestParams::new(name.to_owned()).with_arguments(arguments))).await
    }

    /// `isError` of a result and its structured content, which is its text as well.
    async fn call(&self, name: &str, arguments: Value) -> (bool, Value) {
        let result = self.try_call(name, arguments).await.unwrap();
        let [content] = result.content.as_slice() else { panic!("{result:?}") };
        let text: Value = serde_json::from_str(&content.as_text().unwrap().text).unwrap();
        assert_eq!(Some(&text), result.structured_content.as_ref());
        (result.is_error.unwrap(), text)
    }

    async fn change(&mut self) {
        soon(self.changes.recv()).await.unwrap();
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("in time")
}

fn code(error: &ServiceError) -> ErrorCode {
    match error {
        ServiceError::McpError(error) => error.code,
        other => panic!("{other}"),
    }
}

async fn every_kind_of_answer(client: Client, label: &str) {
    let tools = client.tools().await;
    let names: Vec<_> = tools.as_object().unwrap().keys().collect();
    assert_eq!(names, ["read_file", "manage_connections", "tool_search", "tool_describe", "tool_call"], "{label}");
    let listing = tools["tool_search"]["description"].as_str().unwrap();
    assert!(listing.contains("- mcp__tracker__create_issue: Opens an issue."), "{label}: {listing}");
    assert_eq!(tools["tool_search"]["annotations"]["readOnlyHint"], true, "{label}");
    assert!(tools["tool_call"].get("annotations").is_none(), "{label}: it may do anything");

    let (failed, found) = client.call("tool_search", json!({"queries": ["open an issue"]})).await;
    assert!(!failed, "{label}");
    assert_eq!(found["results"][0]["matches"], json!(["mcp__tracker__create_issue"]), "{label}");
    let (failed, described) = client.call("tool_describe", json!({"names": ["create_issue"]})).await;
    assert!(!failed, "{label}");
    let described = &described["tools"]["mcp__tracker__create_issue"]["parameters"];
    assert_eq!(described["required"], json!(["title"]), "{label}");

    let call = |arguments: Value| json!({"calls": [{"name": "create_issue", "arguments": arguments}]});
    let (failed, refused) = client.call("tool_call", call(json!({}))).await;
    assert!(failed, "{label}: a mistake of the model's is a result");
    assert_eq!(refused["missing"], json!(["title"]), "{label}");
    for (name, arguments) in
        [("tool_call", call(json!({"title": "x"}))), ("mcp__tracker__create_issue", json!({"title": "x"}))]
    {
        let (failed, nobody) = client.call(name, arguments).await;
        assert!(failed, "{label}: {name}");
        assert_eq!(
            (&nobody["code"], &nobody["source"]),
            (&json!("NOT_RUNNABLE"), &json!("tracker")),
            "{label}: {name}"
        );
    }
    let (failed, nobody) = client.call("read_file", json!({})).await;
    assert!(failed, "{label}: it is listed, and no host is there to run it");
    assert_eq!(nobody["code"], "NOT_RUNNABLE", "{label}");

    let unknown = client.try_call("nope", json!({})).await.unwrap_err();
    assert_eq!(code(&unknown), ErrorCode::INVALID_PARAMS, "{label}: {unknown}");
    let paged = PaginatedRequestParams::default().with_cursor(Some("2".to_owned()));
    let paged = soon(client.service.list_tools(Some(paged))).await.unwrap_err();
    assert_eq!(code(&paged), ErrorCode::INVALID_PARAMS, "{label}: {paged}");
    soon(client.service.cancel()).await.unwrap();
}

#[tokio::test]
async fn stdio_serves_a_client() {
    let files = files();
    for lifecycle in LIFECYCLES {
        let client = Client::stdio(&files, &[], lifecycle()).await;
        every_kind_of_answer(client, &format!("{:?}", lifecycle())).await;
    }
}

#[tokio::test]
async fn http_serves_a_client() {
    let files = files();
    let server = Server::start(&files, &[]);
    for lifecycle in LIFECYCLES {
        let client = Client::http(&server, lifecycle()).await;
        every_kind_of_answer(client, &format!("{:?}", lifecycle())).await;
    }
}

#[tokio::test]
async fn what_the_flags_deny_is_nowhere() {
    let files = files();
    for args in [
        &["--toolsets", "tracker,host", "--deny", "mcp__*__wipe"][..],
        &["--toolset", "tracker", "--toolsets=host", "--deny", "mcp__tracker__wipe"],
        &["--without-toolset", "mail", "--allow", "mcp__tracker__create_*", "--allow", "read_file"],
    ] {
        let client = Client::stdio(&files, args, ClientLifecycleMode::Initialize).await;
        let listed = client.tools().await.to_string();
        assert!(listed.contains("create_issue") && listed.contains("read_file"), "{args:?}: {listed}");
        assert!(!listed.contains("wipe") && !listed.contains("mail"), "{args:?}: {listed}");
        let (_, found) = client.call("tool_search", json!({"queries": ["delete all issues", "send a letter"]})).await;
        assert_eq!(found["total_available"], 1, "{args:?}: {found}");
        assert!(!found.to_string().contains("wipe") && !found.to_string().contains("mail"), "{args:?}: {found}");
        let names = json!(["mcp__tracker__wipe", "mcp__mail__send"]);
        let (_, described) = client.call("tool_describe", json!({ "names": names })).await;
        assert_eq!(described["not_found"], names, "{args:?}");
        for name in ["mcp__tracker__wipe", "mcp__mail__send"] {
            let call = json!({"calls": [{"name": name, "arguments": {"title": "x"}}]});
            let (failed, refused) = client.call("tool_call", call).await;
            assert!(failed && refused["error"].as_str().unwrap().contains("is no tool here"), "{args:?}: {refused}");
            let direct = client.try_call(name, json!({"title": "x"})).await.unwrap_err();
            assert_eq!(code(&direct), ErrorCode::INVALID_PARAMS, "{args:?}: {direct}");
        }
        soon(client.service.cancel()).await.unwrap();
    }
}

/// Changes what no array shows, then what one does; gives the names that the array has to show.
async fn edit(files: &Files, client: &Client) {
    let mut registry = registry();
    registry["sources"][0]["tools"][0]["inputSchema"]["required"] = json!([]);
    files.save(REGISTRY, &registry);
    // The host has been told by now: an answer that shows a change comes behind the news of it.
    let (_, described) = client.call("tool_describe", json!({"names": ["create_issue"]})).await;
    assert_eq!(described["tools"]["mcp__tracker__create_issue"]["parameters"]["required"], json!([]));
    // Long enough for a wrong word to come: it is on its way already.
    for _ in 0..20 {
        client.call("tool_search", json!({"queries": ["issue"]})).await;
    }
    registry["sources"][1]["tools"][0]["description"] = json!("Sends a parcel.");
    files.save(REGISTRY, &registry);
}

#[tokio::test]
async fn a_client_is_told_when_its_array_is_another() {
    let files = files();
    let server = Server::start(&files, &[]);
    for transport in ["stdio", "http"] {
        files.save(REGISTRY, registry());
        let mut client = match transport {
            "stdio" => Client::stdio(&files, &[], ClientLifecycleMode::Initialize).await,
            _ => Client::http(&server, ClientLifecycleMode::Initialize).await,
        };
        client.tools().await;
        edit(&files, &client).await;
        client.change().await;
        let listed = client.tools().await.to_string();
        assert!(listed.contains("Sends a parcel."), "{transport}: {listed}");
        client.call("tool_search", json!({"queries": ["issue"]})).await;
        assert!(client.changes.try_recv().is_err(), "{transport}: once, and not for what the array does not show");
        soon(client.service.cancel()).await.unwrap();
    }
}

#[tokio::test]
async fn a_client_without_a_session_listens() {
    let files = files();
    let server = Server::start(&files, &[]);
    for transport in ["stdio", "http"] {
        files.save(REGISTRY, registry());
        let client = match transport {
            "stdio" => Client::stdio(&files, &[], LIFECYCLES[1]()).await,
            _ => Client::http(&server, LIFECYCLES[1]()).await,
        };
        let wanted = SubscriptionFilter::builder().tools_list_changed().build();
        let mut subscription = soon(client.service.listen(wanted)).await.unwrap();
        assert_eq!(subscription.acknowledged().tools_list_changed, Some(true), "{transport}");
        // Its own array is made once it is acknowledged, from files as they are then.
        client.tools().await;
        edit(&files, &client).await;
        let told = soon(subscription.next()).await.unwrap();
        assert!(told.is_some(), "{transport}");
        assert!(client.tools().await.to_string().contains("Sends a parcel."), "{transport}");
    }
}

#[tokio::test]
async fn http_sessions_do_not_touch_each_other() {
    let files = files();
    let server = Server::start(&files, &[]);
    let mut one = Client::http(&server, ClientLifecycleMode::Initialize).await;
    let other = Client::http(&server, ClientLifecycleMode::Initialize).await;
    one.tools().await;
    other.tools().await;
    soon(other.service.cancel()).await.unwrap();
    files.save(REGISTRY, json!({"sources": []}));
    one.change().await;
    assert_eq!(one.tools().await.as_object().unwrap().keys().collect::<Vec<_>>(), ["manage_connections"]);
    assert_eq!(server.status("/mcp", &server.address().to_string(), "Mcp-Session-Id: nobody\r\n"), 404);
}

#[test]
fn web_pages_are_kept_out() {
    let files = files();
    let server = Server::start(&files, &[]);
    let (here, port) = (server.address().to_string(), server.address().port());
    let origin = |origin: &str| format!("Origin: {origin}\r\n");
    for (label, path, host, headers, expected) in [
        ("a client", "/mcp", here.clone(), String::new(), 200),
        ("by another name of the loopback", "/mcp", format!("localhost:{port}"), String::new(), 200),
        ("a rebound name", "/mcp", format!("evil.example:{port}"), String::new(), 403),
        ("another port", "/mcp", format!("127.0.0.1:{}", port ^ 1), String::new(), 403),
        ("its own origin", "/mcp", here.clone(), origin(&format!("http://{here}")), 200),
        ("another page", "/mcp", here.clone(), origin("http://evil.example"), 403),
        ("another server of this machine", "/mcp", here.clone(), origin("http://localhost:1"), 403),
        ("a page without origin", "/mcp", here.clone(), origin("null"), 403),
        ("another path", "/", here.clone(), String::new(), 404),
        ("what looks for a login", "/.well-known/oauth-protected-resource", here.clone(), String::new(), 404),
    ] {
        assert_eq!(server.status(path, &host, &headers), expected, "{label}");
    }
}

/// What comes back for lines of standard input, and the code of the end.
fn talk(files: &Files, args: &[&str], lines: &[&str]) -> (Vec<Value>, Option<i32>) {
    let mut child = command(files, args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
    drop(input);
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    let answers = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (answers, child.wait().unwrap().code())
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#;

#[test]
fn garbage_ends_nothing_and_the_end_of_input_all() {
    let files = files();
    let (answers, code) = talk(
        &files,
        &[],
        &[
            "garbage",
            "\u{feff}{",
            INITIALIZE,
            "{",
            "",
            "[[[[",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tool_search","arguments":"text"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/destroy"}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#,
        ],
    );
    let codes: std::collections::BTreeMap<i64, i64> = answers
        .iter()
        .filter_map(|answer| Some((answer["id"].as_i64()?, answer["error"]["code"].as_i64().unwrap_or_default())))
        .collect();
    let expected = [(1, 0), (2, -32602), (3, -32602), (4, -32601), (5, 0)];
    assert_eq!(codes, expected.into_iter().collect(), "{answers:?}");
    assert_eq!(code, Some(0));
    assert_eq!(talk(&files, &[], &[]), (vec![], Some(0)), "without a word");
}

#[test]
fn who_only_listens_keeps_nobody() {
    let files = files();
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let mut child = command(&files, &[]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answers = BufReader::new(output).lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut ask = |id: u32, method: &str, params: Value| {
        writeln!(input, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).unwrap();
    };
    ask(1, "subscriptions/listen", json!({"_meta": meta, "notifications": {"toolsListChanged": true}}));
    assert_eq!(answers.next().unwrap()["method"], "notifications/subscriptions/acknowledged");
    for id in [2, 3] {
        ask(id, "tools/list", json!({ "_meta": meta }));
        assert_eq!(answers.next().unwrap()["id"], id);
    }
    drop(input);
    let last = answers.next().expect("a last word, which shows that nobody waited for the time to run out");
    assert!(last["id"] == 1 && last.get("result").is_some(), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn flags_that_cannot_be_are_said_at_once() {
    let files = files();
    for (args, told) in [
        (&["--deny", "a["][..], "`a[`"),
        (&["--http", "0.0.0.0:0"], "loopback"),
        (&["--context-length", "0"], "--context-length"),
    ] {
        let output = command(&files, args).stdin(Stdio::null()).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert!(errors.contains(told), "{args:?}: {errors}");
    }
}

#[tokio::test]
async fn a_shared_sidecar_serves_and_may_go() {
    let files = files();
    std::fs::create_dir(files.at("run")).unwrap();
    let stop = || {
        let mut stop = Command::new(env!("CARGO_BIN_EXE_toolscout"));
        stop.args(["stop", "--all"]).env("XDG_RUNTIME_DIR", files.at("run")).env("TMPDIR", files.at(""));
        let output = stop.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let client = Client::stdio(&files, &["--shared"], ClientLifecycleMode::Initialize).await;
    assert!(client.tools().await.to_string().contains("create_issue"));
    assert!(stop().contains("1 "), "there is one");
    // Another is started. The end of the last may be heard of a little later than `stop` is done.
    let again = async {
        loop {
            if let Ok(listed) = client.service.list_tools(None).await {
                return listed;
            }
        }
    };
    assert_eq!(soon(again).await.tools.len(), 5);
    soon(client.service.cancel()).await.unwrap();
    stop();
}

/// Files where the fixture is configured as the server `fix`.
fn attached_files(habits: &[&str]) -> Files {
    let files = files();
    files.write("config/toolscout/servers.d/fix.yaml", attached::entry(habits));
    files
}

/// Tools that need not be looked for.
fn loaded(files: &Files) {
    files.write("config/toolscout/config.yaml", "tools: {tool_search: {enabled: off}}");
}

#[tokio::test]
async fn a_client_that_asks_once_gets_the_tools_of_servers_that_start() {
    let files = attached_files(&["slow=300"]);
    loaded(&files);
    let client = Client::stdio(&files, &[], ClientLifecycleMode::Initialize).await;
    assert!(client.tools().await.get("mcp__fix__echo").is_some());
    soon(client.service.cancel()).await.unwrap();
    // And one that does not ask at all.
    std::fs::remove_dir_all(files.at(".cache")).unwrap();
    let client = Client::stdio(&files, &[], ClientLifecycleMode::Initialize).await;
    let result = client.try_call("mcp__fix__echo", json!({"text": "hi"})).await.unwrap();
    assert_eq!(result.content[0].as_text().unwrap().text, "hi", "{result:?}");
    soon(client.service.cancel()).await.unwrap();
}

#[tokio::test]
async fn tools_of_attached_servers_are_called_through() {
    let files = attached_files(&[]);
    let down = json!({"command": "/no/such/program"});
    files.write("config/toolscout/servers.d/gone.yaml", down);
    loaded(&files);
    let mut client = Client::stdio(&files, &[], ClientLifecycleMode::Initialize).await;
    client.tools().await;
    let result = client.try_call("mcp__fix__picture", json!({})).await.unwrap();
    let result = json!(result);
    assert_eq!(result["content"], json!([{"type": "image", "data": "aGk=", "mimeType": "image/png"}]), "as it came");
    assert_eq!((&result["structuredContent"], &result["_meta"]["fixture"]), (&json!({"width": 3}), &json!(true)));
    let result = client.try_call("mcp__fix__fail", json!({})).await.unwrap();
    assert_eq!(result.is_error, Some(true));
    let (failed, refused) = client.call("mcp__gone__tool", json!({})).await;
    assert!(failed);
    assert_eq!(refused["code"], "SERVER_UNAVAILABLE", "{refused}");

    let progress = CallToolRequestParams::new("mcp__fix__progress");
    let asked = rmcp::model::ClientRequest::CallToolRequest(rmcp::model::CallToolRequest::new(progress));
    let options = rmcp::service::PeerRequestOptions::no_options;
    let running = soon(client.service.send_cancellable_request(asked, options())).await.unwrap();
    soon(running.await_response()).await.unwrap();
    let told = soon(client.progress.recv()).await.unwrap();
    assert_eq!((told.progress, told.total, told.message.as_deref()), (1.0, Some(2.0), Some("step 1")));

    let hang = CallToolRequestParams::new("mcp__fix__hang");
    let asked = rmcp::model::ClientRequest::CallToolRequest(rmcp::model::CallToolRequest::new(hang));
    let running = soon(client.service.send_cancellable_request(asked, options())).await.unwrap();
    soon(running.cancel(None)).await.unwrap();
    let result = client.try_call("mcp__fix__change", json!({"times": 1})).await.unwrap();
    assert_eq!(result.is_error, Some(false), "nobody waits for what was cancelled");
    client.change().await;
    assert!(client.tools().await.get("mcp__fix__changed_1").is_some());
    soon(client.service.cancel()).await.unwrap();
}

#[test]
fn a_signal_ends_it_and_its_servers_in_order() {
    for (args, name) in [(&[][..], "TERM"), (&["--http", "127.0.0.1:0"], "INT")] {
        let files = attached_files(&["stubborn"]);
        loaded(&files);
        let mut child =
            command(&files, args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let ask = |request: Value| request.to_string();
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": {"name": "mcp__fix__where", "arguments": {}}});
        let answer = if args.is_empty() {
            let mut input = child.stdin.as_ref().unwrap();
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            for line in [INITIALIZE.to_owned(), ask(initialized), ask(call)] {
                writeln!(input, "{line}").unwrap();
            }
            BufReader::new(child.stdout.take().unwrap()).lines().nth(1).unwrap().unwrap()
        } else {
            let mut line = String::new();
            BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
            let ready: Value = serde_json::from_str(&line).unwrap();
            let url = ready["ready"]["url"].as_str().unwrap().to_owned();
            tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
                let _ = rustls::crypto::ring::default_provider().install_default();
                let transport = StreamableHttpClientTransport::from_uri(url);
                let (changes, _) = unbounded_channel();
                let (progress, _) = unbounded_channel();
                let ears = Ears { changes, progress };
                let service = ears.serve_with_lifecycle(transport, ClientLifecycleMode::Initialize).await.unwrap();
                let called = service.call_tool(CallToolRequestParams::new("mcp__fix__where"));
                json!({"result": soon(called).await.unwrap()}).to_string()
            })
        };
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let place: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
        let server = format!("/proc/{}/stat", place["pid"]);
        let sent = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
        let left = std::fs::read_to_string(server).unwrap_or_default();
        assert!(left.is_empty() || left.contains(") Z "), "{args:?}: {left}");
    }
}
