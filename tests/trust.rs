//! What a workspace's own configuration may decide, and how a person is asked.
#![cfg(unix)]

#[path = "support/host.rs"]
mod host;

use std::fs;

use host::{Files, Sidecar, is_at};
use serde_json::{Value, json};

const CONFIG: &str = "work/.toolscout/config.yaml";
const APPROVED: &str = "config/toolscout/approved";
const ASK: &str = "host/approve";

/// A workspace that wants `forecast` loaded.
fn workspace() -> Files {
    let files = Files::new();
    let tools = json!([{ "name": "forecast" }, { "name": "alerts" }]);
    let source = json!({ "sources": [{ "name": "weather", "kind": "plugin", "tools": tools }] });
    files.write("work/.toolscout/registry/weather.json", source);
    files.write(CONFIG, "core: [forecast]\n");
    files
}

fn asking(files: &Files) -> Sidecar {
    Sidecar::open(files.command(), json!({ "capabilities": { "approve": true } }))
}

fn waits(sidecar: &mut Sidecar) -> Value {
    sidecar.request("status", json!({}))["untrusted"].take()
}

fn deferred(sidecar: &mut Sidecar) -> Value {
    sidecar.request("assemble", json!({}))["deferredCount"].take()
}

/// Until what was approved is in effect, of which nothing is told where it changes no definition.
fn taken_up(sidecar: &mut Sidecar) {
    while waits(sidecar) != json!([]) {}
}

#[test]
fn a_person_is_asked_once_and_the_approval_is_kept() {
    let files = workspace();
    let mut sidecar = asking(&files);
    let asked = sidecar.reply(ASK, json!({ "decision": "allow" }));
    assert_eq!(
        (&asked["name"], &asked["arguments"]["settings"]),
        (&json!("workspace"), &json!({"core": ["forecast"]}))
    );
    assert!(is_at(&asked["arguments"]["file"], &files.at(CONFIG)), "{asked}");
    taken_up(&mut sidecar);
    assert_eq!(deferred(&mut sidecar), 1);
    let mut next = asking(&files);
    assert_eq!((waits(&mut next), deferred(&mut next)), (json!([]), json!(1)));
    assert_eq!(next.notes(ASK), [] as [Value; 0]);
    // A host that cannot be asked has it too, and a running one loses it when the approval is taken back.
    let mut silent = files.sidecar();
    assert_eq!(waits(&mut silent), json!([]));
    for kept in fs::read_dir(files.at(APPROVED)).unwrap() {
        fs::remove_file(kept.unwrap().path()).unwrap();
    }
    assert_eq!((waits(&mut silent), deferred(&mut silent)), (json!(["core"]), json!(2)));
}

#[test]
fn other_content_is_another_question() {
    let files = workspace();
    let mut sidecar = asking(&files);
    sidecar.reply(ASK, json!({ "decision": "allow" }));
    taken_up(&mut sidecar);
    files.save(CONFIG, "core: [alerts]\n");
    assert_eq!((waits(&mut sidecar), deferred(&mut sidecar)), (json!(["core"]), json!(2)), "not what was approved");
    let asked = sidecar.reply(ASK, json!({ "decision": "deny", "reason": "no" }));
    assert_eq!(asked["arguments"]["settings"], json!({ "core": ["alerts"] }));
    files.save(CONFIG, "core: [forecast]\n");
    assert_eq!((waits(&mut sidecar), deferred(&mut sidecar)), (json!([]), json!(1)), "what was approved before");
    files.save(CONFIG, "core: [alerts]\n");
    assert_eq!(waits(&mut sidecar), json!(["core"]));
    assert_eq!(sidecar.notes(ASK), [] as [Value; 0], "denied once, it is not asked about again");
}

#[test]
fn no_answer_and_no_capability_approve_nothing() {
    let files = workspace();
    for answer in [json!({ "decision": "perhaps" }), json!("allow"), Value::Null] {
        let mut sidecar = asking(&files);
        sidecar.reply(ASK, answer);
        assert_eq!((waits(&mut sidecar), deferred(&mut sidecar)), (json!(["core"]), json!(2)));
    }
    let mut silent = files.sidecar();
    assert_eq!((waits(&mut silent), silent.notes(ASK)), (json!(["core"]), Vec::new()));
    assert!(!files.at(APPROVED).exists());
}

#[test]
fn an_approval_that_cannot_be_kept_holds_for_the_connection() {
    let files = workspace();
    files.write(APPROVED, "a file where the folder should be");
    let mut sidecar = asking(&files);
    sidecar.reply(ASK, json!({ "decision": "allow" }));
    taken_up(&mut sidecar);
    assert_eq!(waits(&mut files.sidecar()), json!(["core"]));
}

#[test]
fn a_servers_command_is_asked_about_by_itself() {
    let files = workspace();
    files.write(CONFIG, "core: [forecast]\nmcpServers: {x: {command: run}}\n");
    let mut sidecar = asking(&files);
    // In any order.
    let mut asked = [(); 2].map(|()| sidecar.reply(ASK, json!({ "decision": "deny" })));
    asked.sort_by_key(|asked| asked["name"].to_string());
    assert_eq!((&asked[0]["name"], &asked[0]["arguments"]["command"]), (&json!("server:x"), &json!("run")));
    assert_eq!(asked[0]["arguments"]["action"], "trust");
    assert_eq!(
        (&asked[1]["name"], &asked[1]["arguments"]["settings"]),
        (&json!("workspace"), &json!({ "core": ["forecast"] }))
    );
}
