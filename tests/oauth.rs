//! Signing in to MCP servers by OAuth, with an authorization server on the loopback and the test as the browser (CONN-6).
#![cfg(unix)]

#[path = "support/gateway.rs"]
mod gateway;
#[path = "support/guarded.rs"]
mod guarded;
#[path = "support/host.rs"]
mod host;
#[path = "support/mcp.rs"]
mod mcp;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use gateway::Reply;
use guarded::{Guarded, Habits, SECRET, browse, follow};
use host::{Files, Sidecar};
use mcp::{attached, attached_as, call, calling, command, error, text, until_state};
use serde_json::{Value, json};

const TOOL: &str = "mcp__safe__whoami";

/// The people's command, about the servers that a sidecar was attached to.
fn toolscout(files: &Files, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolscout"));
    command.args(args).arg("--mcp-config").arg(files.at("mcp.json")).current_dir(files.at("work"));
    command.env("XDG_CONFIG_HOME", files.at("config")).env("XDG_CACHE_HOME", files.at("cache")).stdin(Stdio::null());
    command
}

/// What a command says, and whether it went well.
fn said(mut command: Command) -> (bool, String) {
    let output = command.output().unwrap();
    (output.status.success(), [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat())
}

/// `servers authorize`, waiting for its browser.
struct Authorizing {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
    said: String,
    link: String,
}

impl Authorizing {
    #[track_caller]
    fn start(files: &Files) -> Self {
        Self::start_with(files, "safe", &[])
    }

    #[track_caller]
    fn start_with(files: &Files, name: &str, flags: &[&str]) -> Self {
        let mut command = toolscout(files, &[&["servers", "authorize", name], flags].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        let link = loop {
            let from = said.len();
            assert!(errors.read_line(&mut said).unwrap() > 0, "a link: {said}");
            if let Some(link) = said[from..].trim().strip_prefix("http://") {
                break format!("http://{link}");
            }
        };
        Self { child, errors, said, link }
    }

    /// Whether it went well, and all that it said.
    fn end(mut self) -> (bool, String) {
        self.errors.read_to_string(&mut self.said).unwrap();
        self.child.stdout.take().unwrap().read_to_string(&mut self.said).unwrap();
        (self.child.wait().unwrap().success(), self.said)
    }
}

/// Signs in as a person does.
#[track_caller]
fn sign_in(files: &Files) -> String {
    sign_in_with(files, &[])
}

#[track_caller]
fn sign_in_with(files: &Files, flags: &[&str]) -> String {
    let authorizing = Authorizing::start_with(files, "safe", flags);
    let shown = follow(&authorizing.link);
    assert!(shown.status == 200 && shown.page.contains("Signed in"), "{shown:?}");
    let (done, said) = authorizing.end();
    assert!(done && said.contains("Signed in to `safe`"), "{said}");
    said
}

/// The files of what was granted.
fn grants(files: &Files) -> Vec<PathBuf> {
    let found = fs::read_dir(files.at("config/toolscout/oauth")).into_iter().flatten();
    let paths = found.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

fn authorize(force: bool) -> Value {
    let arguments = json!({ "action": "authorize", "connectors": [{ "name": "safe", "mcp": true }], "force": force });
    json!({ "name": "manage_connections", "arguments": arguments, "callId": "call-1" })
}

#[track_caller]
fn result(answer: &Value) -> Value {
    answer["content"]["results"][0].clone()
}

/// Calls the tool through a host that is asked before.
#[track_caller]
fn call_approved(sidecar: &mut Sidecar) -> Value {
    let id = sidecar.send("bridge/call", calling(TOOL, json!({})));
    sidecar.reply("host/approve", json!({ "decision": "allow" }));
    sidecar.answer(id)
}

#[test]
fn a_server_that_wants_a_sign_in_says_so_once_and_waits_for_it() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    let status = until_state(&mut sidecar, "safe", "needs_authorization");
    assert!(status["lastError"].as_str().unwrap().contains("toolscout servers authorize safe"), "{status}");
    let refused = call(&mut sidecar, TOOL, json!({}));
    assert!(error(&refused).contains(r#"needs authorization: manage_connections {"action":"authorize""#), "{refused}");
    let published = sidecar.notes("diagnostics/publish");
    let codes = published.iter().flat_map(|file| file["diagnostics"].as_array().unwrap()).map(|it| it["code"].clone());
    assert_eq!(codes.filter(|code| code == "server-needs-authorization").count(), 1, "{published:?}");
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(text(&call(&mut sidecar, TOOL, json!({}))), "somebody");
    let refused = server.gateway.asked().into_iter().filter(|asked| asked.route == "POST /mcp");
    let refused = refused.filter(|asked| asked.header("authorization").is_empty()).count();
    assert_eq!(refused, 1, "it is not asked again before somebody has signed in");
    let path = &grants(&files)[0];
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn what_was_granted_is_forgotten_on_demand() {
    let (files, server) = (Files::new(), Guarded::new(Habits { confidential: true, ..Habits::default() }));
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    let forget = || said(toolscout(&files, &["servers", "authorize", "safe", "--forget"]));
    let (done, told) = forget();
    assert!(done && told.contains("Forgot"), "{told}");
    assert!(grants(&files).is_empty());
    assert!(error(&call(&mut sidecar, TOOL, json!({}))).contains("sign in"));
    until_state(&mut sidecar, "safe", "needs_authorization");
    let (done, told) = forget();
    assert!(done && told.contains("Nothing was granted"), "{told}");
}

#[test]
fn a_server_that_is_signed_in_and_answers_is_signed_in_to_anew_only_by_force() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    drop(attached(&files, json!({ "safe": server.entry() })));
    sign_in(&files);
    let registered = server.count("POST /register");
    let (done, told) = said(toolscout(&files, &["servers", "authorize", "safe"]));
    assert!(done && told.contains("answers already") && told.contains("--force"), "{told}");
    assert_eq!(server.count("POST /register"), registered, "nothing was begun");
    sign_in_with(&files, &["--force"]);
}

#[test]
fn conn_6_a_model_authorizes_nothing_without_an_approval() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let mut silent = attached(&files, json!({ "safe": server.entry() }));
    until_state(&mut silent, "safe", "needs_authorization");
    let answer = result(&silent.request("bridge/call", authorize(false)));
    assert_eq!(answer["status"], "approval_required");
    assert_eq!(answer["command"], "toolscout servers authorize safe");
    drop(silent);
    let mut sidecar = attached_as(&files, json!({ "safe": server.entry() }), json!({ "approve": true }));
    until_state(&mut sidecar, "safe", "needs_authorization");
    let id = sidecar.send("bridge/call", authorize(false));
    let asked = sidecar.reply("host/approve", json!({ "decision": "deny", "reason": "no" }));
    assert_eq!((&asked["name"], &asked["arguments"]["url"]), (&json!("server:safe"), &json!(server.url())));
    assert_eq!(asked["arguments"]["action"], "authorize");
    assert_eq!(result(&sidecar.answer(id))["status"], "denied");
    assert_eq!(server.count("POST /register") + server.count("GET /mcp"), 0, "nothing was begun");
}

#[test]
fn conn_6_a_host_without_a_card_gets_the_link_and_the_sign_in_goes_on() {
    let (files, server) = (Files::new(), Guarded::new(Habits { confidential: true, ..Habits::default() }));
    let mut sidecar = attached_as(&files, json!({ "safe": server.entry() }), json!({ "approve": true }));
    until_state(&mut sidecar, "safe", "needs_authorization");
    let begin = |sidecar: &mut Sidecar, force| {
        let id = sidecar.send("bridge/call", authorize(force));
        sidecar.reply("host/approve", json!({ "decision": "allow" }));
        result(&sidecar.answer(id))
    };
    let answer = begin(&mut sidecar, false);
    assert_eq!(answer["status"], "pending", "{answer}");
    let link = answer["connect_url"].as_str().unwrap();
    assert_eq!(begin(&mut sidecar, false)["connect_url"], link, "one sign-in at a time");
    let status = json!({ "action": "status", "connectors": [{ "name": "safe", "mcp": true }] });
    let status = json!({ "name": "manage_connections", "arguments": status });
    let told = sidecar.request("bridge/call", status)["content"]["mcp_servers"][0].take();
    assert_eq!(told, json!({ "name": "safe", "state": "needs_authorization", "sign_in": "pending" }));
    assert_eq!(follow(link).status, 200);
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(text(&call_approved(&mut sidecar)), "somebody");
    assert_eq!(result(&sidecar.request("bridge/call", authorize(false)))["status"], "ready");
    let again = begin(&mut sidecar, true);
    assert_eq!(again["status"], "pending", "{again}");
    assert_eq!(follow(again["connect_url"].as_str().unwrap()).status, 200);
    server.wait_for_sessions(2);
    until_state(&mut sidecar, "safe", "ready");
    server.revoke();
    assert_eq!(text(&call_approved(&mut sidecar)), "somebody", "refreshed by the client that was registered last");
}

#[test]
fn a_sign_in_of_another_process_is_taken_up_even_if_nobody_waited_for_it() {
    let (files, server) = (Files::new(), Guarded::new(Habits { confidential: true, ..Habits::default() }));
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    sign_in_with(&files, &["--force"]);
    server.revoke();
    assert!(error(&call(&mut sidecar, TOOL, json!({}))).contains("sign in"), "the client is another now");
    until_state(&mut sidecar, "safe", "needs_authorization");
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(text(&call(&mut sidecar, TOOL, json!({}))), "somebody");
}

#[test]
fn conn_6_a_card_is_shown_and_kept_true() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let capabilities = json!({ "approve": true, "showConnections": true });
    let mut sidecar = attached_as(&files, json!({ "safe": server.entry() }), capabilities);
    until_state(&mut sidecar, "safe", "needs_authorization");
    server.behave(|habits| habits.denies = true);
    for (status, expected) in [("denied", "denied"), ("active", "active")] {
        let id = sidecar.send("bridge/call", authorize(false));
        sidecar.reply("host/approve", json!({ "decision": "allow" }));
        let card = sidecar.note("host/showConnections");
        let shown = &card["connections"][0];
        assert_eq!(
            (&shown["connector"], &shown["status"], &shown["mcp"]),
            (&json!("safe"), &json!("pending"), &json!(true))
        );
        follow(shown["connectUrl"].as_str().unwrap());
        let changed = sidecar.note("connections/didChange");
        assert_eq!((&changed["callId"], &changed["connections"][0]["status"]), (&json!("call-1"), &json!(status)));
        assert_eq!(result(&sidecar.answer(id))["status"], expected);
        server.behave(|habits| habits.denies = false);
    }
    until_state(&mut sidecar, "safe", "ready");
}

#[test]
fn a_card_that_is_closed_is_answered() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let capabilities = json!({ "approve": true, "showConnections": true });
    let mut sidecar = attached_as(&files, json!({ "safe": server.entry() }), capabilities);
    until_state(&mut sidecar, "safe", "needs_authorization");
    let id = sidecar.send("bridge/call", authorize(false));
    sidecar.reply("host/approve", json!({ "decision": "allow" }));
    sidecar.reply("host/showConnections", json!({ "skipped": ["safe"] }));
    assert_eq!(result(&sidecar.answer(id))["status"], "skipped");
}

#[test]
fn a_visit_that_does_not_know_the_state_changes_nothing() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
    let authorizing = Authorizing::start(&files);
    let sent = browse(&authorizing.link).location;
    let (callback, _) = sent.split_once('?').unwrap();
    for query in ["code=forged&state=guessed", "error=access_denied&state=guessed", "code=forged", ""] {
        assert_eq!(browse(&format!("{callback}?{query}")).status, 400, "{query}");
    }
    assert_eq!(browse(&callback.replace("/callback", "/")).status, 404);
    assert_eq!(server.count("POST /token"), 0);
    let shown = browse(&sent);
    assert!(shown.page.contains("no-store") && shown.page.contains("no-referrer"), "{shown:?}");
    assert!(authorizing.end().0, "the true one is taken all the same");
}

#[test]
fn an_interrupt_ends_the_wait_and_keeps_nothing() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
    let mut authorizing = Authorizing::start(&files);
    assert!(Command::new("kill").args(["-INT", &authorizing.child.id().to_string()]).status().unwrap().success());
    assert!(!authorizing.child.wait().unwrap().success());
    assert!(grants(&files).is_empty());
}

#[test]
fn what_goes_wrong_is_told_and_nothing_is_kept() {
    let far = |url: &str| Some(url.to_owned());
    for (label, habits, why) in [
        ("no registration", Habits { registers_nobody: true, ..Habits::default() }, "client_id"),
        ("plain PKCE", Habits { plain: true, ..Habits::default() }, "S256"),
        (
            "a token endpoint in the clear",
            Habits { token_endpoint: far("http://auth.example/token"), ..Habits::default() },
            "https",
        ),
        (
            "another resource",
            Habits { resource: far("https://other.example/mcp"), ..Habits::default() },
            "another server",
        ),
    ] {
        let (files, server) = (Files::new(), Guarded::new(habits));
        files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
        let (done, told) = said(toolscout(&files, &["servers", "authorize", "safe"]));
        assert!(!done && told.contains(why), "{label}: {told}");
        assert!(grants(&files).is_empty(), "{label}");
    }
    let (files, server) = (Files::new(), Guarded::new(Habits { denies: true, ..Habits::default() }));
    files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
    let authorizing = Authorizing::start(&files);
    assert!(follow(&authorizing.link).page.contains("denied"));
    let (done, told) = authorizing.end();
    assert!(!done && told.contains("denied (access_denied)"), "{told}");
    assert!(grants(&files).is_empty());
}

#[test]
fn a_client_that_was_registered_by_hand_is_used() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (files, server) = (Files::new(), Guarded::new(Habits { registers_nobody: true, ..Habits::default() }));
    server.know("by-hand", &format!("http://127.0.0.1:{port}/callback"));
    let oauth = json!({ "clientId": "by-hand", "callbackPort": port, "scopes": "tools:use" });
    let mut sidecar = attached(&files, json!({ "safe": { "url": server.url(), "oauth": oauth } }));
    until_state(&mut sidecar, "safe", "needs_authorization");
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(server.count("POST /register"), 0);
}

#[test]
fn an_expired_token_is_refreshed_and_a_revoked_one_too() {
    let (files, server) = (Files::new(), Guarded::new(Habits { confidential: true, ..Habits::default() }));
    files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
    sign_in(&files);
    let path = grants(&files).remove(0);
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let first = kept["credentials"]["token_response"]["access_token"].as_str().unwrap().to_owned();
    kept["credentials"]["token_received_at"] = json!(1);
    fs::write(&path, kept.to_string()).unwrap();
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(server.grants("refresh_token"), 1, "it had expired");
    let shown =
        server.gateway.asked().into_iter().filter(|asked| asked.header("authorization").contains(&first)).count();
    assert_eq!(shown, 0, "what has expired is not shown");
    server.revoke();
    assert_eq!(text(&call(&mut sidecar, TOOL, json!({}))), "somebody", "refreshed within the call");
    assert_eq!(server.grants("refresh_token"), 2);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_refused_refresh_is_told_once_and_not_tried_again() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    server.behave(|habits| habits.refuses_refresh = true);
    server.revoke();
    assert!(error(&call(&mut sidecar, TOOL, json!({}))).contains("sign in"));
    until_state(&mut sidecar, "safe", "needs_authorization");
    assert_eq!(server.grants("refresh_token"), 1);
    assert!(grants(&files).is_empty(), "what is worth nothing is not kept");
    drop(sidecar);
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    until_state(&mut sidecar, "safe", "needs_authorization");
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(server.grants("refresh_token"), 1, "the refused token was never shown again");
}

#[test]
fn a_file_that_others_may_read_is_not_used() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
    sign_in(&files);
    let path = grants(&files).remove(0);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    let status = until_state(&mut sidecar, "safe", "down");
    assert!(status["lastError"].as_str().unwrap().contains("chmod 600"), "{status}");
    assert_eq!(server.count("POST /mcp"), 0);
}

#[test]
fn a_header_of_the_entry_wins() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let entry = json!({ "url": server.url(), "headers": { "authorization": "Bearer of-my-own" } });
    let mut sidecar = attached_as(&files, json!({ "safe": entry }), json!({ "approve": true }));
    let status = until_state(&mut sidecar, "safe", "needs_authorization");
    assert!(!status["lastError"].as_str().unwrap().contains("servers authorize"), "{status}");
    assert_eq!(result(&sidecar.request("bridge/call", authorize(false)))["status"], "unsupported");
    let (done, told) = said(toolscout(&files, &["servers", "authorize", "safe"]));
    assert!(!done && told.contains("Authorization"), "{told}");
    assert_eq!(server.gateway.routes(), ["POST /mcp"], "nothing of OAuth was asked");
}

#[test]
fn a_server_that_is_removed_is_forgotten_unless_another_entry_has_it() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    files.save("mcp.json", json!({ "mcpServers": { "twin": server.entry() } }));
    files.write("config/toolscout/catalog/safe.yaml", format!("url: {}\noauth: true\n", server.url()));
    let state = || {
        let listed = toolscout(&files, &["servers", "list", "--json"]).output().unwrap().stdout;
        let listed: Value = serde_json::from_slice(&listed).unwrap();
        let servers = listed["servers"].as_array().unwrap();
        servers.iter().find(|server| server["name"] == "safe").unwrap()["state"].clone()
    };
    let run = |args: &[&str]| said(toolscout(&files, args));
    assert_eq!(state(), "available");
    assert!(run(&["servers", "install", "safe"]).1.contains("toolscout servers authorize safe"));
    assert_eq!(state(), "needs_authorization");
    sign_in(&files);
    assert_eq!(state(), "installed");
    assert!(run(&["servers", "remove", "safe"]).0 && grants(&files).len() == 1, "`twin` has it too");
    files.save("mcp.json", json!({ "mcpServers": {} }));
    assert!(run(&["servers", "install", "safe"]).0);
    assert!(run(&["servers", "remove", "safe"]).1.contains("forgot"));
    assert!(grants(&files).is_empty());
}

#[test]
fn conn_7_no_token_code_verifier_or_secret_is_in_anything_that_comes_out() {
    let (files, server) = (Files::new(), Guarded::new(Habits { confidential: true, ..Habits::default() }));
    let mut serving = command(&files, json!({ "safe": server.entry() }));
    let log = files.at("log");
    serving.env("TOOLSCOUT_LOG", "trace").stderr(fs::File::create(&log).unwrap());
    let mut sidecar = Sidecar::open(serving, json!({ "capabilities": { "approve": true } }));
    until_state(&mut sidecar, "safe", "needs_authorization");
    let mut out = String::new();
    let mut hear = |value: Value| out.push_str(&value.to_string());
    let id = sidecar.send("bridge/call", authorize(false));
    hear(sidecar.reply("host/approve", json!({ "decision": "allow" })));
    let answer = sidecar.answer(id);
    let link = result(&answer)["connect_url"].as_str().unwrap().to_owned();
    hear(answer);
    let page = follow(&link).page;
    until_state(&mut sidecar, "safe", "ready");
    hear(call_approved(&mut sidecar));
    // A server that repeats what it was sent, and an authorization server that does.
    server.behave(|habits| habits.tells = true);
    hear(call_approved(&mut sidecar));
    server.behave(|habits| (habits.tells, habits.refuses_refresh) = (false, true));
    server.revoke();
    hear(call_approved(&mut sidecar));
    hear(until_state(&mut sidecar, "safe", "needs_authorization"));
    for method in ["status", "config/get", "registry/list"] {
        hear(sidecar.request(method, json!({})));
    }
    hear(sidecar.notes("diagnostics/publish").into());
    sidecar.close();
    let told = sign_in(&files);
    let cached = said({
        let mut find = Command::new("grep");
        find.args(["-r", SECRET]).arg(files.at("cache"));
        find
    });
    assert!(!cached.0, "in the cache: {}", cached.1);
    let all = [out, page, told, fs::read_to_string(log).unwrap()].concat();
    assert!(all.contains("safe") && !all.contains(SECRET), "{all}");
    let verifiers = server.verifiers();
    assert!(verifiers.len() == 2 && verifiers.iter().all(|verifier| !all.contains(verifier)));
}

#[test]
fn a_token_that_cannot_be_used_is_no_sign_in() {
    let other = "another type than `Bearer`";
    let unusable = "a token that cannot be sent to anybody";
    for (label, key, value, why) in [
        ("RFC 6749, 7.1: an unknown type", "token_type", json!("mac"), other),
        ("RFC 6749, A.12: nothing", "access_token", json!(""), unusable),
        ("RFC 6749, A.12: a line break", "access_token", json!("a\r\nX: y"), unusable),
        ("RFC 6749, A.12: beyond ASCII", "access_token", json!("naïve"), unusable),
        ("larger than is ever sent", "access_token", json!("x".repeat(300_000)), unusable),
        ("RFC 6749, A.17: a line break", "refresh_token", json!("a\nb"), unusable),
        ("RFC 6749, A.14: a negative time", "expires_in", json!(-1), "gave no token"),
        ("RFC 6749, A.14: a time that is no whole number", "expires_in", json!(1e300), "gave no token"),
    ] {
        let (files, server) =
            (Files::new(), Guarded::new(Habits { granted: [(key, value)].into(), ..Habits::default() }));
        files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
        let authorizing = Authorizing::start(&files);
        assert!(!follow(&authorizing.link).page.contains("Signed in"), "{label}");
        let (done, told) = authorizing.end();
        assert!(!done && told.contains(why) && !told.contains(SECRET), "{label}: {told}");
        assert!(grants(&files).is_empty(), "{label}");
    }
}

#[test]
fn no_time_of_a_token_is_too_long() {
    let granted = [("expires_in", json!(u64::MAX))].into();
    let (files, server) = (Files::new(), Guarded::new(Habits { granted, ..Habits::default() }));
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(text(&call(&mut sidecar, TOOL, json!({}))), "somebody");
    assert_eq!(server.count("POST /token"), 1);
}

#[test]
fn a_hostile_authorization_server_is_told_of_and_ends_nothing() {
    const METADATA: &str = "GET /.well-known/oauth-authorization-server";
    const RESOURCE: &str = "GET /.well-known/oauth-protected-resource/mcp";
    let page = || Reply::With(200, vec![("content-type", "text/html".to_owned())], "<html>".to_owned());
    let elsewhere = || Reply::With(302, vec![("location", "http://127.0.0.1:9/".to_owned())], String::new());
    let metadata = |server: &Guarded, key: &str, value: &str| {
        let here = &server.gateway.url;
        let mut metadata = json!({
            "issuer": here, "authorization_endpoint": format!("{here}/authorize"), "token_endpoint": format!("{here}/token"),
            "registration_endpoint": format!("{here}/register"), "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
        });
        metadata[key] = value.into();
        Reply::Json(200, metadata)
    };
    type Answer<'a> = &'a dyn Fn(&Guarded) -> Reply;
    let cases: [(&str, &str, Answer<'_>, &str); 14] = [
        ("a resource without end", RESOURCE, &|_| Reply::Endless, "more than 1048576 bytes"),
        ("metadata without end", METADATA, &|_| Reply::Endless, "more than 1048576 bytes"),
        ("a client without end", "POST /register", &|_| Reply::Endless, "more than 1048576 bytes"),
        ("brackets without end", METADATA, &|_| Reply::With(200, vec![], "[".repeat(500_000)), "can be used"),
        ("a page", METADATA, &|_| page(), "can be used"),
        ("a page as client", "POST /register", &|_| page(), "client_id"),
        ("a redirect", METADATA, &|_| elsewhere(), "HTTP 302"),
        ("half of it", METADATA, &|_| Reply::Half("{".to_owned()), "can be used"),
        ("no HTTP", METADATA, &|_| Reply::Raw(b"\x00\xff\r\n\r\n".to_vec()), "cannot be reached"),
        ("another issuer", METADATA, &|server| metadata(server, "issuer", "https://other.example"), "the one that was"),
        (
            "a link that runs",
            METADATA,
            &|server| metadata(server, "authorization_endpoint", "javascript:alert(1)"),
            "plain `https`",
        ),
        (
            "a link that looks like another's",
            METADATA,
            &|server| metadata(server, "authorization_endpoint", "http://bank.example@127.0.0.1:9/"),
            "plain `https`",
        ),
        (
            "a client that is not registered",
            "POST /register",
            &|_| Reply::Json(500, json!({ "error": SECRET })),
            "registered no client (127.0.0.1 answers HTTP 500)",
        ),
        ("a client without name", "POST /register", &|_| Reply::Json(201, json!({ "client_id": "" })), "client_id"),
    ];
    for (label, route, answer, why) in cases {
        let (files, server) = (Files::new(), Guarded::new(Habits::default()));
        let answer = answer(&server);
        server.behave(|habits| drop(habits.answers.insert(route, answer)));
        files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
        let (done, told) = said(toolscout(&files, &["servers", "authorize", "safe"]));
        assert!(!done && told.contains(why) && !told.contains(SECRET), "{label}: {told}");
        assert!(grants(&files).is_empty(), "{label}");
    }
}

#[test]
fn a_state_in_the_authorization_servers_own_address_is_not_ours() {
    let (files, server) = (Files::new(), Guarded::new(Habits { own_state: true, ..Habits::default() }));
    files.save("mcp.json", json!({ "mcpServers": { "safe": server.entry() } }));
    sign_in(&files);
}

#[test]
fn a_server_with_a_name_that_writes_to_the_terminal_does_not() {
    let (files, server) = (Files::new(), Guarded::new(Habits { denies: true, ..Habits::default() }));
    files.save("mcp.json", json!({ "mcpServers": { "sa\u{1b}[2Jfe": server.entry() } }));
    let authorizing = Authorizing::start_with(&files, "sa\u{1b}[2Jfe", &[]);
    follow(&authorizing.link);
    let (_, told) = authorizing.end();
    assert!(told.matches("sa\\u{1b}[2Jfe").count() == 2 && !told.contains('\u{1b}'), "{told}");
}

#[test]
fn a_refresh_that_always_fails_is_told_and_the_grant_kept() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let mut sidecar = attached(&files, json!({ "safe": server.entry() }));
    sign_in(&files);
    until_state(&mut sidecar, "safe", "ready");
    server.behave(|habits| drop(habits.answers.insert("POST /token", Reply::Json(500, json!({ "error": SECRET })))));
    server.revoke();
    for _ in 0..3 {
        let answer = call(&mut sidecar, TOOL, json!({}));
        assert!(answer["isError"] == true && !answer.to_string().contains(SECRET), "{answer}");
    }
    assert_eq!(grants(&files).len(), 1, "it may be refreshed yet");
    server.behave(|habits| habits.answers.clear());
    until_state(&mut sidecar, "safe", "ready");
    assert_eq!(text(&call(&mut sidecar, TOOL, json!({}))), "somebody");
}

#[test]
fn conn_6_two_who_ask_at_once_get_one_sign_in() {
    let (files, server) = (Files::new(), Guarded::new(Habits::default()));
    let approving = json!({ "approve": true });
    let mut sidecar = attached_as(&files, json!({ "safe": server.entry() }), approving);
    until_state(&mut sidecar, "safe", "needs_authorization");
    let asked = [(), (), ()].map(|()| sidecar.send("bridge/call", authorize(false)));
    let links: Vec<Value> =
        sidecar.approved(&asked).iter().map(|answer| result(answer)["connect_url"].clone()).collect();
    assert!(links[0].is_string() && links.iter().all(|link| *link == links[0]), "{links:?}");
    assert_eq!(server.count("POST /register"), 1);
}
