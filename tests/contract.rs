//! The published contract is the one in force: `protocol/openrpc.json` is what the types say (`UPDATE=1` rewrites it),
//! and lists exactly the methods that are served.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;
use toolscout::protocol::openrpc;

#[test]
fn openrpc_json_is_fresh() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/openrpc.json");
    let made = openrpc::document();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &made).expect("protocol/openrpc.json can be written");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == made, "protocol/openrpc.json is stale: run `UPDATE=1 cargo test --test contract`");
}

#[test]
fn the_methods_are_those_that_are_served() {
    let document = openrpc::value();
    let methods = document["methods"].as_array().expect("methods");
    let requests = methods.iter().filter(|method| method["x-direction"] == "sidecar" && method.get("result").is_some());
    let mut published: Vec<&str> = requests.filter_map(|method| method["name"].as_str()).collect();
    published.sort_unstable();
    assert_eq!(published, toolscout::server::table().names());
    let names: BTreeSet<&str> = methods.iter().filter_map(|method| method["name"].as_str()).collect();
    assert_eq!(names.len(), methods.len(), "no name stands twice");
    for method in methods {
        let is_notification = method["x-notification"] == true;
        assert_eq!(is_notification, method.get("result").is_none(), "{}", method["name"]);
    }
}

#[test]
fn the_prose_lists_every_method_with_its_parameters() {
    let prose = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/README.md")).unwrap();
    for method in openrpc::value()["methods"].as_array().expect("methods") {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let arrow = if method["x-direction"] == "host" { "←" } else { "→" };
        let kind = if method["x-notification"] == true { "notification" } else { "request" };
        let shown = |param: &Value| {
            let mark = if param["required"] == true { "" } else { "?" };
            format!("`{}{mark}`", text(&param["name"]))
        };
        let params: Vec<String> = method["params"].as_array().expect("params").iter().map(shown).collect();
        let params = if params.is_empty() { "–".to_owned() } else { params.join(", ") };
        let row = format!("| {arrow} | `{}` | {kind} | {params} |", text(&method["name"]));
        assert!(prose.contains(&row), "protocol/README.md lacks: {row}");
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = openrpc::value();
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    for reference in &references {
        assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
    }
    for name in document["components"]["schemas"].as_object().expect("schemas").keys() {
        assert!(references.contains(&format!("#/components/schemas/{name}")), "{name} is used nowhere");
    }
}

fn collect(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect(member, references));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        _ => {}
    }
}
