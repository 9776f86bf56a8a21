//! MCP servers that the sidecar attaches to: their tools, their calls, their faults.
#![cfg(unix)]

#[path = "support/host.rs"]
mod host;
#[path = "support/mcp.rs"]
mod mcp;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use host::{Files, Sidecar};
use mcp::{DEADLINE, attached, attached_as, call, calling, command, entry, error, text, until, until_state};
use serde_json::{Value, json};

/// The tools of the fixture as it is by default.
const TOOLS: u64 = 12;

fn ready(sidecar: &mut Sidecar, server: &str) -> Value {
    until_state(sidecar, server, "ready")
}

/// Whether a process still runs; one that has ended and is not waited for counts as gone.
fn runs(pid: u64) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim_start().starts_with('Z') && !rest.is_empty())
}

#[track_caller]
fn gone(pid: u64) {
    let deadline = Instant::now() + DEADLINE;
    while runs(pid) {
        assert!(Instant::now() < deadline, "{pid} still runs");
        std::thread::yield_now();
    }
}

/// Waits for a list of tools on disk, which nobody does but who is about to kill the sidecar.
#[track_caller]
fn kept(files: &Files) {
    let deadline = Instant::now() + DEADLINE;
    let is_list =
        |entry: std::io::Result<fs::DirEntry>| entry.is_ok_and(|it| it.path().extension() == Some("json".as_ref()));
    while !fs::read_dir(files.at("cache/toolscout/servers")).is_ok_and(|mut lists| lists.any(is_list)) {
        assert!(Instant::now() < deadline, "no list is kept");
        std::thread::yield_now();
    }
}

/// Process id, working directory, and the value of a variable, of a server.
fn place(sidecar: &mut Sidecar, server: &str, variable: &str) -> Value {
    let answer = call(sidecar, &format!("mcp__{server}__where"), json!({ "variable": variable }));
    serde_json::from_str(text(&answer)).unwrap()
}

#[test]
fn tools_of_a_server_are_found_described_and_called() {
    let files = Files::new();
    let mut sidecar = attached_as(&files, json!({ "fix": entry(&[]) }), json!({ "progress": true }));
    let status = ready(&mut sidecar, "fix");
    assert_eq!((&status["toolCount"], status["tokens"].as_u64() > Some(100)), (&json!(TOOLS), true), "{status}");
    assert_eq!(sidecar.note("catalog/didChange")["sources"], json!(["fix"]));
    let listed = sidecar.request("registry/list", json!({}));
    let source = &listed["sources"][0];
    assert_eq!(
        (&source["origin"], &source["state"], &source["kind"]),
        (&json!("server"), &json!("ready"), &json!("mcp"))
    );
    let answer = call(&mut sidecar, "mcp__fix__echo", json!({ "text": "hi", "times": "2" }));
    assert_eq!(text(&answer), "hi hi");
    assert_eq!(answer["coerced"].as_array().unwrap().len(), 1, "CALL-11: {answer}");
    let answer = call(&mut sidecar, "mcp__fix__echo", json!({ "times": 1 }));
    assert_eq!(answer["content"]["missing"], json!(["text"]), "CALL-7 comes before the server");
    let answer = call(&mut sidecar, "mcp__fix__picture", json!({}));
    let expected = json!({
        "content": [{ "type": "image", "data": "aGk=", "mimeType": "image/png" }], "isError": false,
        "structuredContent": { "width": 3 }, "_meta": { "fixture": true },
    });
    assert_eq!(answer, expected, "as it came");
    let answer = call(&mut sidecar, "mcp__fix__fail", json!({}));
    assert_eq!((text(&answer), &answer["isError"]), ("it failed", &json!(true)));
    assert!(error(&call(&mut sidecar, "mcp__fix__refuse", json!({}))).ends_with("failed: not like this"));
    let mut params = calling("mcp__fix__progress", json!({}));
    params["progressToken"] = json!("p");
    assert_eq!(text(&sidecar.request("bridge/call", params)), "done");
    let told = sidecar.notes("$/progress");
    let last = told.last().unwrap();
    assert_eq!(
        last,
        &json!({ "token": "p", "value": { "kind": "report", "message": "step 2", "progress": 2.0, "total": 2.0 } })
    );
}

#[test]
fn a_tool_that_is_not_deferred_is_called_by_its_own_name() {
    let files = Files::new();
    files.write("config/toolscout/config.yaml", "tools: {tool_search: {keep: [mcp__fix__echo]}}");
    let mut sidecar = attached_as(&files, json!({ "fix": entry(&[]) }), json!({ "approve": true }));
    ready(&mut sidecar, "fix");
    let params = json!({ "name": "mcp__fix__echo", "arguments": { "text": "hi", "times": "2" } });
    let resolved = sidecar.request("bridge/resolve", params.clone());
    assert_eq!((&resolved["calls"][0]["runsIn"], resolved.get("error")), (&json!("sidecar"), None), "{resolved}");
    let planned = json!({ "calls": [{ "id": "1", "name": "mcp__fix__echo", "arguments": {} }] });
    assert_eq!(sidecar.request("bridge/plan", planned)["stages"], json!([["1"]]));
    let id = sidecar.send("bridge/call", params);
    assert_eq!(sidecar.reply("host/approve", json!({ "decision": "allow" }))["name"], "mcp__fix__echo");
    let answer = sidecar.answer(id);
    assert_eq!(text(&answer), "hi hi");
    assert_eq!(answer["coerced"].as_array().unwrap().len(), 1, "of the argument, not of how it was called: {answer}");
}

#[test]
fn toolscout_does_not_start_itself_without_end() {
    let files = Files::new();
    let own = json!({ "command": env!("CARGO_BIN_EXE_toolscout"), "args": ["mcp"] });
    let wrapped = json!({ "command": "sh", "args": ["-c", format!("exec {} mcp", env!("CARGO_BIN_EXE_toolscout"))] });
    let mut sidecar = attached(&files, json!({ "own": own, "wrapped": wrapped }));
    let status = until_state(&mut sidecar, "own", "disabled");
    assert!(status.get("stderr").is_none(), "it was never started: {status}");
    let found = sidecar.opened["diagnostics"].to_string();
    assert_eq!(found.matches("server-is-itself").count(), 1, "{found}");
    let status = until_state(&mut sidecar, "wrapped", "down");
    assert!(status["stderr"].to_string().contains("would start itself again: take it out there"), "{status}");
}

#[test]
fn hints_of_a_server_travel() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "fix": entry(&[]) }));
    ready(&mut sidecar, "fix");
    let resolved = sidecar.request("bridge/resolve", calling("mcp__fix__echo", json!({})));
    let tool = &resolved["calls"][0];
    assert_eq!(
        (&tool["runsIn"], &tool["readOnly"], &tool["destructive"]),
        (&json!("sidecar"), &json!(true), &json!(false))
    );
    assert_eq!(resolved["readOnly"], true);
    let calls: Vec<Value> = ["mcp__fix__echo", "mcp__fix__fail"]
        .iter()
        .map(|tool| {
            let call = calling(tool, json!({}));
            json!({ "id": tool, "name": "tool_call", "arguments": call["arguments"] })
        })
        .collect();
    let planned = sidecar.request("bridge/plan", json!({ "calls": calls }));
    assert_eq!(planned["stages"].as_array().unwrap().len(), 2, "PLAN-1: a hint is no promise");
    assert_eq!(planned["hints"], json!([{ "id": "mcp__fix__echo", "readOnly": true, "destructive": false }]));
}

#[test]
fn a_host_that_approves_is_asked_before_every_call() {
    let files = Files::new();
    let mut sidecar = attached_as(&files, json!({ "fix": entry(&[]) }), json!({ "approve": true }));
    ready(&mut sidecar, "fix");
    let mut ask = |arguments: Value, decision: Value| {
        let mut params = calling("mcp__fix__echo", arguments);
        params["callId"] = json!("c1");
        let id = sidecar.send("bridge/call", params);
        let asked = sidecar.reply("host/approve", decision);
        (asked, sidecar.answer(id))
    };
    let (asked, answer) = ask(json!({ "text": "a" }), json!({ "decision": "allow" }));
    let expected = json!({
        "name": "mcp__fix__echo", "arguments": { "text": "a" }, "toolset": "mcp-fix", "callId": "c1", "index": 0,
        "readOnly": true, "destructive": false,
    });
    assert_eq!((asked, text(&answer)), (expected, "a"));
    let (_, answer) = ask(json!({ "text": "a" }), json!({ "decision": "deny", "reason": "not today" }));
    assert!(error(&answer).contains("not today"), "{answer}");
    assert_eq!(answer["content"]["code"], "DENIED");
    let (_, answer) =
        ask(json!({ "text": "a" }), json!({ "decision": "allow", "arguments": { "text": "b", "times": "2" } }));
    assert_eq!(text(&answer), "b b", "changed arguments are repaired too");
    let (_, answer) = ask(json!({ "text": "a" }), json!({ "decision": "allow", "arguments": { "times": 2 } }));
    assert_eq!(answer["content"]["missing"], json!(["text"]), "and refused too");
    let (_, answer) = ask(json!({ "text": "a" }), json!({ "decision": "perhaps" }));
    assert_eq!(answer["content"]["code"], "DENIED", "{answer}");
}

#[test]
fn a_cancelled_call_is_cancelled_at_the_server() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "fix": entry(&[]) }));
    ready(&mut sidecar, "fix");
    let id = sidecar.send("bridge/call", calling("mcp__fix__hang", json!({})));
    let says = |line: &'static str| move |status: &Value| status["stderr"].to_string().contains(line);
    until(&mut sidecar, "fix", says("hanging"));
    sidecar.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(sidecar.answer(id)["content"]["code"], "INTERRUPTED");
    until(&mut sidecar, "fix", says("cancelled"));
}

#[test]
fn a_call_that_takes_too_long_is_answered_and_cancelled() {
    let files = Files::new();
    let mut hasty = entry(&[]);
    hasty["call_timeout"] = json!(0.2);
    let mut sidecar = attached(&files, json!({ "fix": hasty }));
    ready(&mut sidecar, "fix");
    let answer = call(&mut sidecar, "mcp__fix__hang", json!({}));
    assert!(error(&answer).contains("no answer within 0.2 s"), "{answer}");
    until(&mut sidecar, "fix", |status| status["stderr"].to_string().contains("cancelled"));
    assert_eq!(text(&call(&mut sidecar, "mcp__fix__echo", json!({ "text": "still there" }))), "still there");
}

#[test]
fn pages_are_read_to_their_end_and_no_further() {
    let files = Files::new();
    let mut sidecar =
        attached(&files, json!({ "pages": entry(&["pages=5", "tools=20"]), "repeat": entry(&["repeat"]) }));
    assert_eq!(ready(&mut sidecar, "pages")["toolCount"], TOOLS + 20);
    assert_eq!(ready(&mut sidecar, "repeat")["toolCount"], 4);
    assert!(findings(&mut sidecar).contains("server-repeated-cursor"));
}

#[test]
fn a_server_without_tools_is_ready() {
    let files = Files::new();
    let servers = json!({ "prompts": entry(&["toolless"]), "unlisted": entry(&["unlisted"]) });
    let mut sidecar = attached(&files, servers);
    for server in ["prompts", "unlisted"] {
        let status = until(&mut sidecar, server, |status| status["state"] != "starting");
        assert_eq!((&status["state"], &status["toolCount"]), (&json!("ready"), &json!(0)), "{status}");
    }
}

/// Codes of what was last published of the file of servers.
fn findings(sidecar: &mut Sidecar) -> String {
    let notes = sidecar.notes("diagnostics/publish");
    notes.last().map(|note| note["diagnostics"].to_string()).unwrap_or_default()
}

#[test]
fn include_and_exclude_choose_the_tools() {
    let files = Files::new();
    let mut some = entry(&[]);
    some["include"] = json!(["e*", "fail"]);
    some["exclude"] = json!(["echo"]);
    let mut sidecar = attached(&files, json!({ "fix": some }));
    ready(&mut sidecar, "fix");
    assert_eq!(sidecar.tools(), ["mcp__fix__fail"]);
}

#[test]
fn a_changed_list_is_taken_up_however_often_it_changes() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "fix": entry(&[]) }));
    ready(&mut sidecar, "fix");
    sidecar.notes("catalog/didChange");
    call(&mut sidecar, "mcp__fix__change", json!({ "times": 1 }));
    assert_eq!(sidecar.note("catalog/didChange")["added"], json!(["mcp__fix__changed_1"]));
    call(&mut sidecar, "mcp__fix__change", json!({ "times": 200 }));
    let deadline = Instant::now() + DEADLINE;
    let mut told = 0;
    while !sidecar.tools().contains(&"mcp__fix__changed_201".to_owned()) {
        assert!(Instant::now() < deadline);
        told += sidecar.notes("catalog/didChange").len();
    }
    assert!(told < 20, "200 changes at once are told {told} times");
}

#[test]
fn a_crash_is_answered_and_the_server_comes_back() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "fix": entry(&[]) }));
    ready(&mut sidecar, "fix");
    let first = place(&mut sidecar, "fix", "A")["pid"].clone();
    sidecar.notes("catalog/didChange");
    let answer = call(&mut sidecar, "mcp__fix__crash", json!({}));
    assert!(error(&answer).contains("ended while it ran (it ended with code 5); it may have taken effect"), "{answer}");
    // It is called once it is back; meanwhile its tools stay.
    let second = place(&mut sidecar, "fix", "A")["pid"].clone();
    assert_ne!(first, second);
    let status = ready(&mut sidecar, "fix");
    assert_eq!(status["lastError"], "it ended with code 5");
    assert_eq!(status["stderr"], json!(["crashing as I was told to"]));
    assert_eq!(sidecar.notes("catalog/didChange"), [] as [Value; 0], "no flicker");
}

#[test]
fn a_server_that_is_down_is_named_with_the_reason_and_costs_the_others_nothing() {
    let files = Files::new();
    let mut silent = entry(&["silent"]);
    silent["startup_timeout"] = json!(0.3);
    let servers = json!({
        "fix": entry(&[]), "die": entry(&["die"]), "refuse": entry(&["refuse"]), "silent": silent,
        "missing": { "command": "/no/such/program" }, "nowhere": { "command": "true", "cwd": "/no/such/folder" },
        "http": { "url": "http://127.0.0.1:9/mcp" }, "variable": { "command": "a", "env": { "A": "${NOT_SET}" } },
        "off": { "command": "a", "disabled": true },
    });
    let mut sidecar = attached(&files, servers);
    ready(&mut sidecar, "fix");
    let reasons = [
        ("die", "it ended with code 3"),
        ("http", "Connection refused"),
        ("missing", "its program was not found"),
        ("nowhere", "its working directory /no/such/folder does not exist"),
        ("refuse", "it refused the handshake: go away"),
        ("silent", "it did not answer within 0.3 s"),
        ("variable", "`NOT_SET` is not set"),
    ];
    for (server, reason) in reasons {
        let status = until(&mut sidecar, server, |status| status["state"] == "down");
        assert!(status["lastError"].as_str().unwrap().contains(reason), "{status}");
    }
    assert_eq!(mcp::status(&mut sidecar, "off")["state"], "disabled");
    assert_eq!(mcp::status(&mut sidecar, "die")["stderr"][0], "dying as I was told to");
    let search = json!({ "name": "tool_search", "arguments": { "queries": ["zebra"] } });
    let answer = sidecar.request("bridge/call", search.clone());
    let sources = answer["content"]["results"][0]["available_sources"].as_array().unwrap();
    let named: Vec<&str> = sources.iter().map(|source| source["name"].as_str().unwrap()).collect();
    assert_eq!(named, ["die", "fix", "http", "missing", "nowhere", "refuse", "silent", "variable"], "SEARCH-9");
    assert!(sources[4]["unavailable"].as_str().unwrap().contains("/no/such/folder"), "{}", sources[4]);
    assert!(sources[1].get("unavailable").is_none());
    let assembled = sidecar.request("assemble", json!({ "contextLength": 200_000 }));
    assert_eq!(assembled["tier"], 1);
    assert!(assembled["tools"][1].to_string().contains("out of reach for now: die (it ended with code 3), http ("));
    let mut scoped = search;
    scoped["scope"] = json!({ "toolsets": { "enabled": ["mcp-fix"] } });
    let answer = sidecar.request("bridge/call", scoped);
    assert_eq!(answer["content"]["results"][0]["available_sources"].as_array().unwrap().len(), 1, "SEARCH-11");
}

#[test]
fn noise_costs_nothing_and_is_told() {
    let files = Files::new();
    let servers = json!({
        "stray": entry(&["stray"]), "loud": entry(&["stderr=8"]), "flood": entry(&["flood"]), "twice": entry(&["twice"]),
        "wide": entry(&["properties=1500"]), "fix": entry(&[]),
    });
    let mut sidecar = attached(&files, servers);
    for server in ["fix", "stray", "loud", "twice", "wide"] {
        let status = ready(&mut sidecar, server);
        let tools = if server == "wide" { TOOLS + 1 } else { TOOLS };
        assert_eq!(status["toolCount"], tools, "{server}");
    }
    let loud = until(&mut sidecar, "loud", |status| status["stderr"].as_array().is_some_and(|lines| !lines.is_empty()));
    assert!(loud["stderr"].to_string().len() <= 66 << 10, "bounded");
    let answer = call(&mut sidecar, "mcp__fix__noise", json!({}));
    assert_eq!(text(&answer), "said");
    let found = findings(&mut sidecar);
    for expected in ["Fixture 1.0 listens on standard input", "a line that is no message", "tool-name-taken"] {
        assert!(found.contains(expected), "{expected} in {found}");
    }
    let described = sidecar
        .request("bridge/call", json!({ "name": "tool_describe", "arguments": { "names": ["mcp__wide__wide"] } }));
    let properties = &described["content"]["tools"]["mcp__wide__wide"]["parameters"]["properties"];
    assert_eq!(properties.as_object().unwrap().len(), 1500);
}

#[test]
fn a_server_that_tells_without_end_is_read_slowly() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "rude": entry(&["rude"]), "fix": entry(&[]) }));
    ready(&mut sidecar, "rude");
    ready(&mut sidecar, "fix");
    assert_eq!(text(&call(&mut sidecar, "mcp__rude__tell", json!({}))), "told");
    let deadline = Instant::now() + DEADLINE;
    while !findings(&mut sidecar).contains("server-flood") {
        assert!(Instant::now() < deadline);
        assert_eq!(text(&call(&mut sidecar, "mcp__fix__echo", json!({ "text": "hi" }))), "hi");
    }
    assert_eq!(text(&call(&mut sidecar, "mcp__rude__echo", json!({ "text": "still" }))), "still");
}

#[test]
fn a_server_that_reads_nothing_is_started_again() {
    let files = Files::new();
    let mut rude = entry(&["rude"]);
    rude["call_timeout"] = json!(1);
    let mut sidecar = attached(&files, json!({ "rude": rude }));
    ready(&mut sidecar, "rude");
    let first = place(&mut sidecar, "rude", "A")["pid"].as_u64().unwrap();
    call(&mut sidecar, "mcp__rude__deaf", json!({}));
    let answer = call(&mut sidecar, "mcp__rude__echo", json!({ "text": "z".repeat(1_000_000) }));
    assert!(error(&answer).contains("1 s") || error(&answer).contains("it hung"), "{answer}");
    let hung = |status: &Value| status["lastError"].as_str().is_some_and(|why| why.starts_with("it hung"));
    until(&mut sidecar, "rude", hung);
    ready(&mut sidecar, "rude");
    gone(first);
    assert_ne!(place(&mut sidecar, "rude", "A")["pid"], first);
}

#[test]
fn a_server_that_closes_its_standard_input_is_started_again() {
    let files = Files::new();
    let closes = r#"read -r line
        printf '%s\n' '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}'
        read -r line; read -r line
        printf '%s\n' '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}'
        exec <&-
        sleep 1000"#;
    let mut sidecar = attached(&files, json!({ "closes": { "command": "sh", "args": ["-c", closes] } }));
    ready(&mut sidecar, "closes");
    let deadline = Instant::now() + DEADLINE;
    // Which is seen by who writes to it, once it has; what was written before is lost.
    let closed = |status: &Value| status["lastError"] == "it closed its standard input";
    while !closed(&mcp::status(&mut sidecar, "closes")) {
        assert!(Instant::now() < deadline);
        sidecar.send("bridge/call", calling("mcp__closes__t", json!({})));
    }
}

#[test]
fn a_long_result_is_cut_and_kept_whole() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "fix": entry(&[]) }));
    ready(&mut sidecar, "fix");
    let answer = call(&mut sidecar, "mcp__fix__big", json!({ "bytes": 50_000_000 }));
    assert_eq!(text(&answer).len(), 256 << 10);
    let file = answer["outputFile"].as_str().unwrap();
    assert!(answer["content"][1]["text"].as_str().unwrap().contains(file), "{}", answer["content"][1]);
    let kept = fs::metadata(file).unwrap();
    assert_eq!((kept.len(), kept.permissions().mode() & 0o777), (50_000_000, 0o600));
    let answer = call(&mut sidecar, "mcp__fix__big", json!({ "bytes": 70_000_000 }));
    assert!(error(&answer).contains("larger than 64 MiB"), "{answer}");
    assert_eq!(text(&call(&mut sidecar, "mcp__fix__echo", json!({ "text": "well" }))), "well");
}

#[test]
fn a_slow_server_keeps_nobody_waiting_but_its_callers() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "fix": entry(&["slow=1000"]) }));
    assert_eq!(sidecar.request("assemble", json!({}))["deferredCount"], 0, "it has not answered yet");
    ready(&mut sidecar, "fix");
    kept(&files);
    drop(sidecar);
    // The next time its tools are known from the start, and whoever calls one waits for it.
    let mut sidecar = attached(&files, json!({ "fix": entry(&["slow=1000"]) }));
    let assembled = sidecar.request("assemble", json!({}));
    assert_eq!(assembled["deferredCount"], TOOLS);
    assert_eq!(mcp::status(&mut sidecar, "fix")["state"], "starting");
    assert_eq!(text(&call(&mut sidecar, "mcp__fix__echo", json!({ "text": "at last" }))), "at last");
    assert_eq!(sidecar.request("assemble", json!({}))["etag"], assembled["etag"], "the bytes did not flicker");
    drop(sidecar);
    let kept = fs::read_dir(files.at("cache/toolscout/servers")).unwrap().next().unwrap().unwrap();
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    files.write("config/toolscout/config.yaml", "mcp_cache: off\n");
    let mut sidecar = attached(&files, json!({ "fix": entry(&["slow=1000"]) }));
    assert_eq!(sidecar.request("assemble", json!({}))["deferredCount"], 0, "switched off");
}

#[test]
fn a_changed_entry_restarts_its_server_alone_and_a_removed_one_ends() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "a": entry(&[]), "b": entry(&[]) }));
    let pids = |sidecar: &mut Sidecar| ["a", "b"].map(|server| place(sidecar, server, "A")["pid"].as_u64().unwrap());
    ready(&mut sidecar, "a");
    ready(&mut sidecar, "b");
    let before = pids(&mut sidecar);
    let mut changed = entry(&[]);
    changed["env"] = json!({ "A": "new" });
    files.save("mcp.json", json!({ "mcpServers": { "a": entry(&[]), "b": changed } }));
    let deadline = Instant::now() + DEADLINE;
    let mut value = Value::Null;
    while value != "new" {
        assert!(Instant::now() < deadline);
        ready(&mut sidecar, "b");
        value = place(&mut sidecar, "b", "A")["value"].clone();
    }
    let after = pids(&mut sidecar);
    assert_eq!(before[0], after[0]);
    gone(before[1]);
    files.save("mcp.json", json!({ "mcpServers": { "b": changed } }));
    until(&mut sidecar, "a", Value::is_null);
    gone(before[0]);
    assert!(runs(after[1]));
}

/// A process that is sent a signal.
fn signal(pid: u64, name: &str) {
    let sent = std::process::Command::new("kill").args(["-s", name, &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// Process ids of a server and of what it started, which goes as unwillingly.
fn family(sidecar: &mut Sidecar) -> (u64, u64) {
    ready(sidecar, "fix");
    let pid = place(sidecar, "fix", "A")["pid"].as_u64().unwrap();
    let child = text(&call(sidecar, "mcp__fix__spawn", json!({}))).parse().unwrap();
    assert!(runs(child) && runs(pid));
    (pid, child)
}

#[test]
fn servers_end_with_the_sidecar_and_all_that_they_started() {
    for (label, habits) in [("a good one", &[][..]), ("one that will not go", &["stubborn"])] {
        for how in ["close", "TERM", "INT", "HUP"] {
            let files = Files::new();
            let mut sidecar = attached(&files, json!({ "fix": entry(habits) }));
            let (pid, child) = family(&mut sidecar);
            if how == "close" {
                sidecar.close();
            } else {
                signal(sidecar.pid().into(), how);
                assert_eq!(sidecar.ended(), Some(0), "{label}, {how}: in order");
            }
            assert!(!runs(pid), "{label}, {how}: the sidecar ends after it");
            // It is killed by then, which nobody but the system can wait for: it is no child of the sidecar.
            gone(child);
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn servers_of_a_killed_sidecar_end_with_all_that_they_started() {
    for habits in [&[][..], &["stubborn"]] {
        let files = Files::new();
        let mut sidecar = attached(&files, json!({ "fix": entry(habits) }));
        let (pid, child) = family(&mut sidecar);
        signal(sidecar.pid().into(), "KILL");
        gone(pid);
        gone(child);
    }
}

#[test]
fn a_call_in_flight_has_a_second_when_the_host_is_gone() {
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "fix": entry(&[]) }));
    ready(&mut sidecar, "fix");
    let id = sidecar.send("bridge/call", calling("mcp__fix__progress", json!({})));
    sidecar.close_input();
    assert_eq!(text(&sidecar.answer(id)), "done");
    assert_eq!(sidecar.ended(), Some(0));
}

#[test]
fn tools_of_a_server_that_is_down_are_told_with_the_reason() {
    let files = Files::new();
    let servers = json!({ "fix": entry(&[]), "die": entry(&["die"]), "off": { "command": "a", "disabled": true } });
    let mut sidecar = attached(&files, servers);
    ready(&mut sidecar, "fix");
    until_state(&mut sidecar, "die", "down");
    for (server, state, told) in [("die", "down", "is down: it ended with code 3"), ("off", "disabled", "is disabled")]
    {
        let name = format!("mcp__{server}__anything");
        for params in [calling(&name, json!({})), json!({ "name": name, "arguments": {} })] {
            let answer = sidecar.request("bridge/call", params.clone());
            assert!(error(&answer).contains(told), "{answer}");
            let content = &answer["content"];
            let expected = (&json!("SERVER_UNAVAILABLE"), &json!(server), &json!(state));
            assert_eq!((&content["code"], &content["server"], &content["state"]), expected);
            let resolved = sidecar.request("bridge/resolve", params.clone());
            assert!(resolved["error"].as_str().unwrap().contains(told), "{resolved}");
            let mut elsewhere = params;
            elsewhere["scope"] = json!({ "toolsets": { "enabled": ["mcp-fix"] } });
            if elsewhere["name"] == "tool_call" {
                let answer = sidecar.request("bridge/call", elsewhere);
                assert!(!error(&answer).contains("code 3"), "another scope's server is not told of: {answer}");
            }
        }
        let params = json!({ "name": "tool_describe", "arguments": { "names": [name, "nope", "mcp__fix__nope"] } });
        let described = sidecar.request("bridge/call", params)["content"].clone();
        assert!(described["errors"][&name].as_str().unwrap().contains(told), "{described}");
        assert_eq!(described["not_found"], json!(["nope", "mcp__fix__nope"]), "what a server that answers has not");
    }
}

#[test]
fn a_name_that_was_last_known_to_be_a_servers_is_told_as_its_own() {
    let files = Files::new();
    let program = files.at("server");
    std::os::unix::fs::symlink(mcp::fixture(), &program).unwrap();
    let servers = json!({ "fix": { "command": program } });
    let mut first = attached(&files, servers.clone());
    ready(&mut first, "fix");
    kept(&files);
    drop(first);
    fs::remove_file(&program).unwrap();
    let mut sidecar = attached(&files, servers);
    until_state(&mut sidecar, "fix", "down");
    for (name, code) in [("echo", json!("SERVER_UNAVAILABLE")), ("nope", Value::Null)] {
        let answer = call(&mut sidecar, name, json!({}));
        assert_eq!(answer["content"]["code"], code, "{answer}");
    }
}

#[test]
fn variables_are_those_of_the_asking_connection_and_never_shown() {
    let files = Files::new();
    let mut server = entry(&[]);
    server["env"] = json!({ "TOKEN": "Bearer ${SECRET_OF_TEST}", "PLAIN": "${MISSING:-default}" });
    let servers = json!({ "fix": server, "bad": { "command": "sh", "args": ["-c", "echo $TOKEN >&2; exit 9"], "env": { "TOKEN": "${SECRET_OF_TEST}" } } });
    let mut starting = command(&files, servers.clone());
    starting.env("SECRET_OF_TEST", "hush-hush-1").env("OTHER_SECRET", "x");
    let mut sidecar = Sidecar::open(starting, json!({}));
    ready(&mut sidecar, "fix");
    assert_eq!(place(&mut sidecar, "fix", "TOKEN")["value"], "Bearer hush-hush-1");
    assert_eq!(place(&mut sidecar, "fix", "PLAIN")["value"], "default");
    assert_eq!(place(&mut sidecar, "fix", "OTHER_SECRET")["value"], Value::Null, "what is not named is not given");
    assert_eq!(until_state(&mut sidecar, "bad", "down")["stderr"], json!(["***"]));
    for method in ["status", "config/get", "registry/list"] {
        let answer = sidecar.request(method, json!({})).to_string();
        assert!(!answer.contains("hush-hush"), "{method}: {answer}");
    }
    drop(sidecar);
    let environment = json!({ "SECRET_OF_TEST": "of-the-host", "PATH": std::env::var("PATH").unwrap() });
    let mut sidecar = Sidecar::open(command(&files, servers), json!({ "environment": environment }));
    ready(&mut sidecar, "fix");
    assert_eq!(place(&mut sidecar, "fix", "TOKEN")["value"], "Bearer of-the-host");
}

#[test]
fn a_secret_shows_nowhere_though_a_server_tells_it() {
    let files = Files::new();
    let mut server = entry(&["rude"]);
    server["env"] =
        json!({ "KEY": "-----BEGIN-----\nfirst-line-of-key\nsecond-line-of-key", "TOKEN": "Bearer ${SECRET_OF_TEST}" });
    let web = json!({ "url": "http://user:pass-of-user@127.0.0.1:9/x?key=key-in-query", "headers": { "A": "key-in-header" } });
    let mut starting = command(&files, json!({ "fix": server, "web": web }));
    starting.env("SECRET_OF_TEST", "hush-hush-1").env("TOOLSCOUT_LOG", "trace");
    starting.stderr(fs::File::create(files.at("log")).unwrap());
    let mut sidecar = Sidecar::open(starting, json!({}));
    ready(&mut sidecar, "fix");
    until_state(&mut sidecar, "web", "down");
    let mut told = call(&mut sidecar, "mcp__fix__leak", json!({})).to_string();
    assert!(told.len() > 1000 && told.contains("***"), "of an error most is told: {told}");
    until(&mut sidecar, "fix", |status| status["stderr"].as_array().is_some_and(|lines| !lines.is_empty()));
    let deadline = Instant::now() + DEADLINE;
    loop {
        let found: String = sidecar.notes("diagnostics/publish").iter().map(Value::to_string).collect();
        told += &found;
        if found.contains("server-stray-output") {
            break;
        }
        assert!(Instant::now() < deadline);
        told += &sidecar.request("status", json!({})).to_string();
    }
    for method in ["status", "config/get", "registry/list"] {
        told += &sidecar.request(method, json!({})).to_string();
    }
    drop(sidecar);
    let mut folders = vec![files.at("cache"), files.at("config"), files.at("log")];
    while let Some(path) = folders.pop() {
        match fs::read_dir(&path) {
            Ok(inside) => folders.extend(inside.map(|entry| entry.unwrap().path())),
            Err(_) => told += &fs::read_to_string(&path).unwrap_or_default(),
        }
    }
    for secret in ["first-line", "second-line", "hush-hush", "pass-of-user", "key-in-query", "key-in-header"] {
        let at = told.find(secret);
        assert_eq!(at, None, "{secret}: {}", at.map_or("", |at| &told[at.saturating_sub(200)..at]));
    }
}

#[test]
fn servers_of_a_workspace_wait_for_trust_one_by_one() {
    let files = Files::new();
    files.write("work/.mcp.json", json!({ "servers": { "one": entry(&[]), "two": entry(&[]) } }));
    let mut own = entry(&[]);
    own["env"] = json!({ "KEY": "value-of-key" });
    files.write("config/toolscout/servers.d/mine.yaml", own);
    let mut sidecar = Sidecar::open(files.command(), json!({ "capabilities": { "approve": true } }));
    ready(&mut sidecar, "mine");
    for server in ["one", "two"] {
        assert_eq!(mcp::status(&mut sidecar, server)["state"], "untrusted");
    }
    let waiting = sidecar.request("status", json!({}))["untrusted"].clone();
    assert_eq!(waiting, json!(["mcpServers.one", "mcpServers.two"]));
    let asked = sidecar.reply("host/approve", json!({ "decision": "allow" }));
    assert_eq!(asked["arguments"]["command"], json!(mcp::fixture()));
    // They are asked for at once.
    let (approved, other) = if asked["name"] == "server:one" { ("one", "two") } else { ("two", "one") };
    ready(&mut sidecar, approved);
    assert_eq!(mcp::status(&mut sidecar, other)["state"], "untrusted");
    drop(sidecar);
    let mut sidecar = files.sidecar();
    ready(&mut sidecar, approved);
    assert_eq!(mcp::status(&mut sidecar, other)["state"], "untrusted", "what was approved is remembered, and no more");
}

#[test]
fn http_servers_are_attached_too() {
    let files = Files::new();
    let mut listening = std::process::Command::new(mcp::fixture());
    let mut listening = listening.arg("http").stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    let mut output = std::io::BufReader::new(listening.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut url).unwrap();
    let server = json!({ "type": "http", "url": url.trim(), "headers": { "X-Key": "a-secret-key" } });
    let mut sidecar = attached(&files, json!({ "web": server }));
    assert_eq!(ready(&mut sidecar, "web")["toolCount"], TOOLS);
    assert_eq!(text(&call(&mut sidecar, "mcp__web__echo", json!({ "text": "hi" }))), "hi");
    sidecar.notes("catalog/didChange");
    call(&mut sidecar, "mcp__web__change", json!({ "times": 1 }));
    assert_eq!(sidecar.note("catalog/didChange")["added"], json!(["mcp__web__changed_1"]));
    let _ = listening.kill();
    let _ = listening.wait();
    let answer = call(&mut sidecar, "mcp__web__echo", json!({ "text": "hi" }));
    assert!(error(&answer).contains("cannot be reached") && !error(&answer).contains("a-secret-key"), "{answer}");
    until(&mut sidecar, "web", |status| status["state"] != "ready" && status["lastError"].is_string());
    // Another takes its place, in a new session and with other tools.
    let port = url.trim().rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    let listen = |tools: &str| {
        let mut listening = std::process::Command::new(mcp::fixture());
        let listening = listening.args([&format!("http={port}"), tools]).stdout(std::process::Stdio::piped());
        let mut listening = listening.spawn().unwrap();
        let mut output = std::io::BufReader::new(listening.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut String::new()).unwrap();
        listening
    };
    let mut listening = listen("tools=1");
    until(&mut sidecar, "web", |status| status["state"] == "ready" && status["toolCount"] == TOOLS + 1);
    let _ = listening.kill();
    let _ = listening.wait();
    let mut listening = listen("tools=2");
    let answer = call(&mut sidecar, "mcp__web__echo", json!({ "text": "a new session" }));
    assert_eq!(text(&answer), "a new session", "{answer}");
    until(&mut sidecar, "web", |status| status["state"] == "ready" && status["toolCount"] == TOOLS + 2);
    let _ = listening.kill();
    let _ = listening.wait();
}

#[test]
fn a_redirect_is_told_and_not_followed() {
    use std::io::{Read, Write};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let answer =
                "HTTP/1.1 307 Temporary Redirect\r\nlocation: /mcp/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    let files = Files::new();
    let mut sidecar = attached(&files, json!({ "moved": { "url": url } }));
    let status = until_state(&mut sidecar, "moved", "down");
    let told = status["lastError"].as_str().unwrap();
    assert!(told.contains("redirects to another address (HTTP 307), which is not followed"), "{told}");
}

#[test]
fn connections_of_one_sidecar_share_a_server_unless_it_says_otherwise() {
    use std::os::unix::net::UnixStream;

    let files = Files::new();
    let (mut own, mut named) = (entry(&[]), entry(&[]));
    own["shared"] = json!(false);
    named["env"] = json!({ "WHO": "${WHO}" });
    let servers = json!({ "common": entry(&[]), "own": own, "named": named });
    files.save("mcp.json", json!({ "mcpServers": servers }));
    let socket = files.at("run/socket");
    fs::create_dir(files.at("run")).unwrap();
    fs::set_permissions(files.at("run"), fs::Permissions::from_mode(0o700)).unwrap();
    let mut serving = files.command();
    serving.arg("--mcp-config").arg(files.at("mcp.json"));
    serving.arg(format!("--listen=unix:{}", socket.display())).stderr(std::process::Stdio::piped());
    let mut serving = serving.spawn().unwrap();
    let mut ready_line = String::new();
    let mut errors = std::io::BufReader::new(serving.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut errors, &mut ready_line).unwrap();
    assert!(ready_line.contains("ready"), "{ready_line}");
    std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
    let connect = |who: &str| {
        let stream = UnixStream::connect(&socket).unwrap();
        let environment = json!({ "WHO": who, "PATH": std::env::var("PATH").unwrap() });
        Sidecar::over(stream, json!({ "environment": environment, "cwd": files.at("work") }))
    };
    let pids = |sidecar: &mut Sidecar| {
        ["common", "own", "named"].map(|server| {
            ready(sidecar, server);
            place(sidecar, server, "WHO")["pid"].as_u64().unwrap()
        })
    };
    let (mut ann, mut bob, mut cyd) = (connect("ann"), connect("ann"), connect("cyd"));
    let (of_ann, of_bob, of_cyd) = (pids(&mut ann), pids(&mut bob), pids(&mut cyd));
    assert_eq!((of_ann[0], of_ann[0]), (of_bob[0], of_cyd[0]), "one copy serves all");
    assert!(of_ann[1] != of_bob[1] && of_bob[1] != of_cyd[1], "`shared: false`");
    assert_eq!(of_ann[2], of_bob[2], "the same once the variable is filled");
    assert_ne!(of_ann[2], of_cyd[2]);
    assert_eq!(place(&mut cyd, "named", "WHO")["value"], "cyd");
    drop(cyd);
    gone(of_cyd[1]);
    gone(of_cyd[2]);
    drop(ann);
    gone(of_ann[1]);
    assert!(runs(of_bob[0]) && runs(of_bob[2]), "others still use them");
    assert_eq!(text(&call(&mut bob, "mcp__common__echo", json!({ "text": "here" }))), "here");
    signal(serving.id().into(), "TERM");
    assert!(serving.wait().unwrap().success(), "in order");
    assert!(!runs(of_bob[0]) && !runs(of_bob[2]) && !socket.exists(), "it ends last, and leaves nothing");
}

#[test]
fn files_of_servers_are_read_in_every_shape_and_followed() {
    let files = Files::new();
    files.write("config/toolscout/servers.d/one.yaml", entry(&[]));
    files.write("config/toolscout/servers.d/more.yaml", json!({ "two": entry(&[]), "three": { "disabled": true } }));
    files.write("config/toolscout/config.yaml", json!({ "mcpServers": { "four": entry(&["tools=1"]) } }));
    let mut sidecar = attached(&files, json!({ "four": entry(&["tools=2"]) }));
    for server in ["one", "two", "four"] {
        ready(&mut sidecar, server);
    }
    assert_eq!(mcp::status(&mut sidecar, "three")["state"], "disabled");
    assert_eq!(mcp::status(&mut sidecar, "four")["toolCount"], TOOLS + 2, "a nearer layer wins");
    files.save("config/toolscout/servers.d/five.yaml", entry(&[]));
    ready(&mut sidecar, "five");
    // What breaks keeps its last good content.
    files.save("config/toolscout/servers.d/five.yaml", "command: [");
    assert!(sidecar.note("diagnostics/publish").to_string().contains("five.yaml"));
    assert_eq!(mcp::status(&mut sidecar, "five")["state"], "ready");
    fs::remove_file(files.at("config/toolscout/servers.d/five.yaml")).unwrap();
    until(&mut sidecar, "five", Value::is_null);
    let place_of = |sidecar: &mut Sidecar, file: &str, pointer: &str| {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let note = sidecar.note("diagnostics/publish");
            let found =
                note["diagnostics"].as_array().unwrap().iter().any(|it| it["pointer"] == pointer && it["line"] == 2);
            if note["file"].as_str().unwrap().ends_with(file) && found {
                return;
            }
            assert!(Instant::now() < deadline, "{note}");
        }
    };
    files.save("config/toolscout/servers.d/one.yaml", "args: []\ncommand: {}\n");
    place_of(&mut sidecar, "one.yaml", "/command");
    files.save("config/toolscout/servers.d/more.yaml", "two:\n  command: {}\n");
    place_of(&mut sidecar, "more.yaml", "/two/command");
}

#[test]
fn people_see_what_becomes_of_their_servers() {
    let files = Files::new();
    files.save(
        "mcp.json",
        json!({ "mcpServers": { "fix": entry(&[]), "die": entry(&["die"]), "off": { "disabled": true } } }),
    );
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_toolscout"));
        command.args(args).arg("--mcp-config").arg(files.at("mcp.json")).current_dir(files.at("work"));
        command.env("XDG_CONFIG_HOME", files.at("config")).env("XDG_CACHE_HOME", files.at("cache"));
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, check) = run(&["check"]);
    assert_eq!(code, 0, "{check}");
    assert!(!files.at("cache").exists(), "check starts nothing");
    for piece in ["Tools not known yet of: die, fix", "toolscout mcp-list"] {
        assert!(check.contains(piece), "{piece}: {check}");
    }
    assert!(!check.contains("No tools are registered"), "{check}");
    let (code, table) = run(&["mcp-list"]);
    assert_eq!(code, 1, "one does not run");
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[1][..3], ["die", "down", "0"], "{table}");
    assert!(table.contains("it ended with code 3"), "{table}");
    assert_eq!(words[2][..3], ["fix", "ready", "12"], "{table}");
    assert_eq!(words[3][..2], ["off", "disabled"], "{table}");
    let checked: Value = serde_json::from_str(&run(&["check", "--json"]).1).unwrap();
    let source = &checked["sources"][0];
    assert_eq!((&source["name"], &source["tools"], &checked["unlisted"]), (&json!("fix"), &json!(12), &json!(["die"])));
    let tokens = source["tokens"].as_u64().unwrap();
    assert!(tokens > 0 && table.contains(&format!(" {tokens} ")), "what mcp-list shows: {checked}\n{table}");
    let file = files.at("mcp.json").display().to_string();
    assert!(checked["advice"].as_array().unwrap().iter().all(|advice| advice["file"] == *file), "{checked}");
    let (code, found) = run(&["search", "echo", "--json"]);
    assert_eq!(code, 0);
    assert!(found.contains("mcp__fix__echo"), "a person waits for the servers: {found}");
}
