//! The MCP server between the SDK's client and a sidecar that does what the test says.

use std::io::{BufRead, BufReader, Write};
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientConfig, ClientRequest, ErrorCode, ProgressNotificationParam,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::*;

/// What the scripted sidecar was told.
type Told = Receiver<Value>;

/// A sidecar with the tools that `answer` knows. Everything it is told goes to `told`, its end as null.
fn sidecar(told: Sender<Value>) -> impl Fn(PipeReader, PipeWriter) + Send + Sync {
    let (told, connections) = (Mutex::new(told), Mutex::new(0));
    move |requests, mut answers| {
        let told = told.lock().unwrap().clone();
        let connection = {
            let mut connections = connections.lock().unwrap();
            *connections += 1;
            *connections
        };
        for line in BufReader::new(requests).lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).unwrap();
            told.send(message.clone()).unwrap();
            if message["params"]["name"] == "dies" {
                return;
            }
            for answer in answer(&message, connection) {
                writeln!(answers, "{answer}").unwrap();
            }
        }
        let _ = told.send(Value::Null);
    }
}

fn answer(message: &Value, connection: u32) -> Vec<Value> {
    let params = &message["params"];
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let progress = |value: Value| {
        let params = json!({ "token": params["progressToken"], "value": value });
        json!({ "jsonrpc": "2.0", "method": "$/progress", "params": params })
    };
    match (message["method"].as_str().unwrap(), params["name"].as_str()) {
        ("assemble", _) => {
            let tool = json!({ "name": "t", "inputSchema": {} });
            vec![result(json!({ "etag": connection.to_string(), "tools": [tool] }))]
        }
        ("status", _) => vec![result(json!({ "sources": [] }))],
        ("bridge/call", Some("hangs")) => vec![
            progress(json!({ "kind": "begin", "message": "looking" })),
            progress(json!({ "kind": "report", "progress": 30, "total": 60 })),
            progress(json!({ "kind": "report", "progress": 7, "message": "odd" })),
        ],
        ("bridge/call", Some("connection")) => vec![result(json!({ "content": { "number": connection } }))],
        ("initialize" | "bridge/call", _) => vec![result(json!({ "content": {} }))],
        _ => vec![],
    }
}

/// Hears what a server says unasked.
struct Ears {
    changes: UnboundedSender<()>,
    progress: UnboundedSender<(f64, Option<f64>, Option<String>)>,
}

impl ClientHandler for Ears {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::default()
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changes.send(()).unwrap();
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.send((told.progress, told.total, told.message)).unwrap();
    }
}

struct Client {
    service: RunningService<RoleClient, Ears>,
    changes: UnboundedReceiver<()>,
    progress: UnboundedReceiver<(f64, Option<f64>, Option<String>)>,
}

/// A server in front of the scripted sidecar, until the test's process ends.
fn start(scope: Value) -> (String, Told) {
    let (told, received) = channel();
    let (ending, end) = (Box::new(|| {}), Box::new(|| {}));
    let service = Service {
        scope,
        context_length: 1000,
        settled: None,
        ended: CancellationToken::new(),
        ending,
        end,
        sidecar: Box::new(sidecar(told)),
    };
    let (ready, address) = channel();
    thread::spawn(move || {
        serve_http(service, ([127, 0, 0, 1], 0).into(), move |address| ready.send(address).unwrap()).unwrap();
    });
    (format!("http://{}{PATH}", address.recv().unwrap()), received)
}

async fn client(url: &str) -> Client {
    let (changes, heard) = unbounded_channel();
    let (progress, reports) = unbounded_channel();
    // reqwest asks for one whatever the address; the second to be named is refused, which is no matter.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let transport = StreamableHttpClientTransport::from_uri(url);
    let service = Ears { changes, progress }.serve(transport).await.unwrap();
    Client { service, changes: heard, progress: reports }
}

fn next(told: &Told, method: &str) -> Value {
    told.iter().find(|message| message["method"] == method).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_is_told_who_asks_and_for_what() {
    let (url, told) = start(json!({ "tools": { "deny": ["x"] } }));
    let client = client(&url).await;
    let opened = next(&told, "initialize");
    assert_eq!(opened["params"]["capabilities"], json!({ "approve": false, "invoke": false, "progress": true }));
    client.service.list_tools(None).await.unwrap();
    let expected = json!({ "scope": { "tools": { "deny": ["x"] } }, "contextLength": 1000, "format": "mcp" });
    assert_eq!(next(&told, "assemble")["params"], expected);
    client.service.call_tool(CallToolRequestParams::new("t")).await.unwrap();
    let called = next(&told, "bridge/call");
    assert_eq!(called["params"]["scope"], expected["scope"]);
    assert_eq!(called["params"]["name"], "t");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_and_cancellation_are_passed_on() {
    let (url, told) = start(Value::Null);
    let mut client = client(&url).await;
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("hangs")));
    let options = PeerRequestOptions::no_options();
    let handle = client.service.send_cancellable_request(request, options).await.unwrap();
    let mut heard = Vec::new();
    while heard.len() < 3 {
        heard.push(client.progress.recv().await.unwrap());
    }
    let message = |text: &str| Some(text.to_owned());
    // The client hands each to a task of its own.
    heard.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    assert_eq!(heard, [(1.0, None, message("looking")), (30.0, Some(60.0), None), (31.0, None, message("odd"))]);
    let asked = next(&told, "bridge/call");
    handle.cancel(None).await.unwrap();
    assert_eq!(next(&told, "$/cancelRequest")["params"]["id"], asked["id"]);
    client.service.call_tool(CallToolRequestParams::new("t")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_a_connection_of_its_own_which_ends_with_it() {
    let (url, told) = start(Value::Null);
    let number = |client: &Client| {
        let peer = client.service.peer().clone();
        async move {
            let result = peer.call_tool(CallToolRequestParams::new("connection")).await.unwrap();
            result.structured_content.unwrap()["number"].clone()
        }
    };
    let (one, other) = (client(&url).await, client(&url).await);
    assert_eq!((number(&one).await, number(&other).await), (json!(1), json!(2)));
    one.service.cancel().await.unwrap();
    told.iter().find(Value::is_null).unwrap();
    assert_eq!(number(&other).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_nobody_uses_hold_no_sidecar() {
    let (url, told) = start(Value::Null);
    let mut first = client(&url).await;
    first.service.list_tools(None).await.unwrap();
    let mut others = Vec::new();
    for _ in 0..handler::MAX_CONNECTIONS {
        others.push(client(&url).await);
    }
    told.iter().find(Value::is_null).expect("the connection of the one that was idle longest");
    let result = first.service.call_tool(CallToolRequestParams::new("connection")).await.unwrap();
    assert_eq!(result.structured_content.unwrap()["number"], handler::MAX_CONNECTIONS + 2, "it has another one now");
    first.changes.recv().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_that_dies_is_replaced_and_what_changed_meanwhile_told() {
    let (url, _told) = start(Value::Null);
    let mut client = client(&url).await;
    client.service.list_tools(None).await.unwrap();
    match client.service.call_tool(CallToolRequestParams::new("dies")).await {
        Err(ServiceError::McpError(error)) => assert_eq!(error.code, ErrorCode::INTERNAL_ERROR, "{error}"),
        other => panic!("{other:?}"),
    }
    // It may take a moment until the end of a connection is seen.
    while client.service.call_tool(CallToolRequestParams::new("t")).await.is_err() {}
    client.changes.recv().await.unwrap();
}
