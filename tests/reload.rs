//! Files that change while the sidecar runs: what it serves, what it tells, whether it asked or was told.
#![cfg(unix)]

#[path = "support/host.rs"]
mod host;

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use host::{Files, Sidecar, is_at};
use serde_json::{Value, json};

const CHANGE: &str = "catalog/didChange";
const FINDINGS: &str = "diagnostics/publish";
const REGISTRY: &str = "work/.toolscout/registry/s.json";

/// A registry file with tools of these names.
fn tools(names: &[&str]) -> Value {
    let tool = |name: &&str| json!({ "name": name, "inputSchema": { "type": "object" } });
    json!({ "sources": [{ "name": "s", "kind": "plugin", "tools": names.iter().map(tool).collect::<Vec<_>>() }] })
}

/// `+added -removed ~changed` of the next change that the host is told of.
#[track_caller]
fn change(sidecar: &mut Sidecar) -> String {
    shown(&sidecar.note(CHANGE))
}

fn shown(change: &Value) -> String {
    let mark = |mark: char, key: &str| {
        let names = change[key].as_array().unwrap().clone();
        names.into_iter().map(move |name| format!("{mark}{}", name.as_str().unwrap()))
    };
    let all: Vec<String> = mark('+', "added").chain(mark('-', "removed")).chain(mark('~', "changed")).collect();
    all.join(" ")
}

#[test]
fn every_way_of_writing_a_file_is_noticed_again_and_again() {
    let rename = |files: &Files, names: &[&str]| files.save(REGISTRY, tools(names));
    let truncate = |files: &Files, names: &[&str]| drop(files.write(REGISTRY, tools(names)));
    let replace = |files: &Files, names: &[&str]| {
        fs::remove_file(files.at(REGISTRY)).unwrap();
        files.write(REGISTRY, tools(names));
    };
    let link = |files: &Files, names: &[&str]| {
        let to = files.write(&format!("far/{}.json", names.concat()), tools(names));
        symlink(to, files.at("far/link")).unwrap();
        fs::rename(files.at("far/link"), files.at(REGISTRY)).unwrap();
    };
    // As Kubernetes mounts a ConfigMap: the file is a link through a link to a folder, which is swapped.
    let swap_folder = |files: &Files, names: &[&str]| {
        let version = names.concat();
        files.write(&format!("far/{version}/s.json"), tools(names));
        symlink(&version, files.at("far/..new")).unwrap();
        fs::rename(files.at("far/..new"), files.at("far/..data")).unwrap();
        if !files.at(REGISTRY).is_symlink() {
            symlink(files.at("far/..data/s.json"), files.at("far/link")).unwrap();
            fs::rename(files.at("far/link"), files.at(REGISTRY)).unwrap();
        }
    };
    let rename_folder = |files: &Files, names: &[&str]| {
        files.write("work/new/registry/s.json", tools(names));
        fs::rename(files.at("work/.toolscout"), files.at(&format!("work/old{}", names.concat()))).unwrap();
        fs::rename(files.at("work/new"), files.at("work/.toolscout")).unwrap();
    };
    type Way<'a> = (&'a str, &'a dyn Fn(&Files, &[&str]));
    let ways: [Way<'_>; 6] = [
        ("by renaming", &rename),
        ("in place", &truncate),
        ("anew", &replace),
        ("as a link", &link),
        ("behind a link to a folder", &swap_folder),
        ("with its folder", &rename_folder),
    ];
    for (label, write) in ways {
        let files = Files::new();
        files.write(REGISTRY, tools(&["a", "x"]));
        let mut sidecar = files.sidecar();
        assert_eq!(sidecar.request("status", json!({}))["watching"]["mode"], "native");
        for (name, expected) in [("b", "+b -a -x"), ("c", "+c -b -x"), ("d", "+d -c -x")] {
            write(&files, &[name]);
            assert_eq!(change(&mut sidecar), expected, "{label}");
            // Through all links, to the file itself.
            fs::write(files.at(REGISTRY), tools(&[name, "x"]).to_string()).unwrap();
            assert_eq!(change(&mut sidecar), "+x", "{label}, then in place");
        }
        assert_eq!(sidecar.tools(), ["d", "x"], "{label}");
    }
}

#[test]
fn what_is_removed_is_gone_until_it_comes_back() {
    let files = Files::new();
    files.write(REGISTRY, tools(&["a"]));
    let mut sidecar = files.sidecar();
    for _ in 0..3 {
        fs::remove_file(files.at(REGISTRY)).unwrap();
        assert_eq!(change(&mut sidecar), "-a");
        files.write(REGISTRY, tools(&["a"]));
        assert_eq!(change(&mut sidecar), "+a");
    }
    assert_eq!(sidecar.notes(CHANGE).len(), 0);
}

#[test]
fn a_folder_may_appear_later_go_and_come_back() {
    for (registry, folder) in [
        (REGISTRY, "work/.toolscout"),
        (REGISTRY, "work/.toolscout/registry"),
        (REGISTRY, "work"),
        ("config/toolscout/registry/s.json", "config"),
        ("config/toolscout/registry/s.json", "config/toolscout"),
    ] {
        let files = Files::new();
        let mut sidecar = files.sidecar();
        for _ in 0..3 {
            files.write(registry, tools(&["a"]));
            assert_eq!(change(&mut sidecar), "+a", "{folder}");
            fs::remove_dir_all(files.at(folder)).unwrap();
            assert_eq!(change(&mut sidecar), "-a", "{folder}");
        }
    }
}

#[test]
fn a_request_sees_what_was_written_before_it() {
    let files = Files::new();
    let mut sidecar = files.sidecar();
    for round in 0..50 {
        let name = format!("t{round}");
        match round % 3 {
            0 => drop(files.write(REGISTRY, tools(&[&name]))),
            1 => files.save(REGISTRY, tools(&[&name])),
            _ => {
                fs::remove_file(files.at(REGISTRY)).unwrap();
                assert_eq!(sidecar.tools(), [""; 0]);
                files.write(REGISTRY, tools(&[&name]));
            }
        }
        assert_eq!(sidecar.tools(), [name]);
    }
}

#[test]
fn same_size_and_same_modification_time_hide_nothing() {
    let files = Files::new();
    let path = files.write(REGISTRY, tools(&["a"]));
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let mut sidecar = files.sidecar();
    for name in ["b", "c", "d"] {
        files.write(REGISTRY, tools(&[name]));
        fs::File::options().append(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert_eq!(sidecar.tools(), [name]);
    }
}

#[test]
fn a_broken_file_keeps_its_last_good_content_until_it_is_mended() {
    let whole = tools(&["a", "b"]).to_string();
    for (label, broken, code, line, column) in [
        ("half written", &whole[..whole.len() / 2], "json-syntax", 1, whole.len() as u64 / 2 + 1),
        ("empty", "", "empty-file", 1, 1),
        ("no JSON", "{\n  \"sources\": nope\n}", "json-syntax", 2, 15),
        ("no registry", "{}", "registry-shape", 1, 1),
        ("no list", "{\"sources\": 3}", "registry-shape", 1, 13),
    ] {
        let files = Files::new();
        let path = files.write(REGISTRY, &whole);
        let mut sidecar = files.sidecar();
        files.write(REGISTRY, broken);
        let findings = sidecar.note(FINDINGS);
        assert!(is_at(&findings["file"], &path), "{label}: {findings}");
        let finding = &findings["diagnostics"][0];
        assert_eq!((&finding["severity"], &finding["code"]), (&json!("error"), &json!(code)), "{label}");
        let (at_line, at_column) = (finding["line"].as_u64().unwrap(), finding["column"].as_u64().unwrap());
        assert_eq!(at_line, line, "{label}: {finding}");
        assert!(at_column.abs_diff(column) <= 1, "{label}: {finding}");
        assert_eq!(sidecar.tools(), ["a", "b"], "{label}");
        assert_eq!(sidecar.request("status", json!({}))["degraded"], false, "{label}");
        files.write(REGISTRY, tools(&["a", "c"]));
        let cleared = sidecar.note(FINDINGS);
        assert_eq!(cleared["diagnostics"], json!([]), "{label}");
        assert_eq!(change(&mut sidecar), "+c -b", "{label}");
    }
}

#[test]
fn a_file_that_is_being_written_is_neither_served_nor_told_half() {
    let text = |name: &str| tools(&[name, "other"]).to_string();
    let files = Files::new();
    let path = files.write(REGISTRY, text("t"));
    let mut sidecar = files.sidecar();
    let mut before = "t".to_owned();
    for round in 0..10 {
        let name = format!("t{round}");
        let text = text(&name);
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        let start = Instant::now();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(first).unwrap();
        let written = fs::metadata(&path).unwrap().accessed().unwrap();
        let listing = sidecar.send("registry/list", json!({ "tools": true }));
        // The half is read, which shows where the file system notes it.
        while fs::metadata(&path).unwrap().accessed().unwrap() == written && start.elapsed() < Duration::from_millis(50)
        {
        }
        file.write_all(second).unwrap();
        let was_short = start.elapsed() < Duration::from_millis(90);
        let listed = sidecar.answer(listing)["sources"][0]["tools"].take();
        let listed: Vec<_> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert!(listed == [&*before, "other"] || listed == [&*name, "other"], "{listed:?}");
        assert_eq!(sidecar.tools(), ["other", &*name]);
        // On a machine that stood still in between the file was left half for long enough to be told.
        let told = sidecar.notes(FINDINGS);
        assert!(told.is_empty() || !was_short, "{told:?}");
        before = name;
    }
}

#[test]
fn a_broken_configuration_never_means_defaults() {
    let limit = |sidecar: &mut Sidecar| {
        let config = sidecar.request("config/get", json!({}));
        config["settings"]["tools"]["tool_search"]["search_default_limit"].clone()
    };
    let config = "config/toolscout/config.yaml";
    let files = Files::new();
    files.write(config, "tools: {tool_search: {search_default_limit: 7}}");
    let mut sidecar = files.sidecar();
    for broken in ["tools: {tool_search: {search_def", "", "a: [", "a: 1\na: 2\n"] {
        files.write(config, broken);
        assert_eq!(limit(&mut sidecar), 7, "{broken:?}");
        assert_eq!(sidecar.note(FINDINGS)["diagnostics"][0]["severity"], "error", "{broken:?}");
        files.write(config, "tools: {tool_search: {search_default_limit: 7}}");
        assert_eq!(sidecar.note(FINDINGS)["diagnostics"], json!([]), "{broken:?}");
    }
    fs::remove_file(files.at(config)).unwrap();
    assert_eq!(limit(&mut sidecar), 5, "what is gone is gone");

    files.write(config, "a: [");
    let mut cold = files.sidecar();
    assert_eq!((limit(&mut cold), &cold.request("status", json!({}))["degraded"]), (json!(5), &json!(true)));
}

#[test]
fn one_bad_tool_keeps_its_last_good_definition_and_the_others_change() {
    let files = Files::new();
    files.write(REGISTRY, tools(&["a", "b", "c"]));
    let mut sidecar = files.sidecar();
    let mut bad = tools(&["a", "b", "c", "d"]);
    bad["sources"][0]["tools"][1] = json!({ "name": 3, "inputSchema": {} });
    files.write(REGISTRY, &bad);
    let finding = sidecar.note(FINDINGS)["diagnostics"][0].take();
    assert_eq!((&finding["code"], &finding["pointer"]), (&json!("tool-unnamed"), &json!("/sources/0/tools/1")));
    assert_eq!(change(&mut sidecar), "+d");
    assert_eq!(sidecar.tools(), ["a", "b", "c", "d"]);

    bad["sources"][0]["tools"].as_array_mut().unwrap().remove(1);
    files.write(REGISTRY, &bad);
    assert_eq!(sidecar.note(FINDINGS)["diagnostics"], json!([]));
    assert_eq!(change(&mut sidecar), "-b", "what is removed is no longer kept");
}

#[test]
fn words_to_be_found_by_may_be_edited() {
    let files = Files::new();
    files.write(
        REGISTRY,
        json!({ "sources": [{ "name": "s", "kind": "plugin", "tools": [{ "name": "create_issue" }] }] }),
    );
    let config = |text: &str| files.save("config/toolscout/config.yaml", text);
    let mut sidecar = files.sidecar();
    let etag = |sidecar: &mut Sidecar| sidecar.request("assemble", json!({ "format": "mcp" }))["etag"].clone();
    let found = |sidecar: &mut Sidecar, query: &str| {
        let arguments = json!({ "queries": [query] });
        let answer = sidecar.request("bridge/call", json!({ "name": "tool_search", "arguments": arguments }));
        answer["content"]["results"][0]["matches"] == json!(["create_issue"])
    };
    let before = etag(&mut sidecar);
    assert!(!found(&mut sidecar, "jira issue"));
    config("tools: {sources: {s: {aliases: [jira]}}}");
    assert!(found(&mut sidecar, "jira issue"), "given");
    config("tools: {sources: {s: {aliases: [tracker], keywords: {create_*: [ticket]}}}}");
    assert!(!found(&mut sidecar, "jira issue") && found(&mut sidecar, "tracker issue"), "given others");
    assert!(found(&mut sidecar, "ticket"), "by the name of a tool");
    config("tools: {sources: {s: {aliases: [tracker], keywords: {move_*: [ticket]}}, gone: {aliases: [x]}}}");
    assert!(!found(&mut sidecar, "ticket"));
    let found_in = |note: Value| {
        let all = note["diagnostics"].as_array().unwrap().clone();
        all.into_iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let codes = ["config-unknown-tool", "config-unknown-source"];
    assert_eq!(found_in(sidecar.note(FINDINGS)), codes);
    config("tools: {sources: {s: {aliases: 7}}}");
    assert!(!found(&mut sidecar, "tracker issue"), "what cannot be read is as if it were not there");
    assert_eq!(etag(&mut sidecar), before, "ASSEMBLE-7: no byte of an array is another");
}

#[test]
fn a_burst_is_told_once() {
    let files = Files::new();
    let mut sidecar = files.sidecar();
    // A look that was due for something else may fall amid a burst, and then it is done again; without gathering, no
    // burst is ever told as one.
    for round in 0..20 {
        for file in 0..10 {
            let name = format!("t{round}_{file}");
            let source = json!({ "sources": [{ "name": name, "kind": "plugin", "tools": [{ "name": name }] }] });
            files.write(&format!("work/.toolscout/registry/{name}.json"), source);
        }
        if sidecar.note(CHANGE)["added"].as_array().unwrap().len() == 10 {
            return;
        }
        while sidecar.tools().len() < 10 * (round + 1) {}
        sidecar.notes(CHANGE);
    }
    panic!("no burst of ten files was told as one change");
}

#[test]
fn a_change_is_told_once_by_whoever_sees_it_first() {
    let files = Files::new();
    let mut sidecar = files.sidecar();
    files.write(REGISTRY, tools(&["a"]));
    // This request's look is the first to see it; the watcher's comes after.
    assert_eq!(sidecar.tools(), ["a"]);
    assert_eq!(sidecar.notes(CHANGE).iter().map(shown).collect::<Vec<_>>(), ["+a"], "told before the answer");
    files.save(REGISTRY, tools(&["a", "b"]));
    assert_eq!(change(&mut sidecar), "+b", "and not told again");
}

#[test]
fn what_a_host_does_itself_it_is_not_told() {
    let files = Files::new();
    files.write(REGISTRY, tools(&["a"]));
    let mut sidecar = files.sidecar();
    let own = json!({ "source": { "name": "s", "kind": "plugin" }, "tools": [{ "name": "own" }] });
    sidecar.request("registry/register", own);
    files.write(REGISTRY, tools(&["b"]));
    assert_eq!(sidecar.tools(), ["own"], "a source of the connection is nearer than one of a file");
    sidecar.request("registry/unregister", json!({ "source": "s" }));
    assert_eq!(sidecar.tools(), ["b"]);
    assert_eq!(sidecar.notes(CHANGE), [Value::Null; 0]);
    files.write(REGISTRY, tools(&["c"]));
    assert_eq!(change(&mut sidecar), "+c -b");
}

#[test]
fn the_prompt_changes_only_if_what_it_shows_does() {
    let files = Files::new();
    files.write(REGISTRY, tools(&["a", "b"]));
    let mut sidecar = files.sidecar();
    let etag = |sidecar: &mut Sidecar| sidecar.request("assemble", json!({}))["etag"].clone();
    let before = etag(&mut sidecar);
    files.write(REGISTRY, format!("{:#}", tools(&["a", "b"])));
    files.write("config/toolscout/config.yaml", "# nothing\n{}");
    assert_eq!(etag(&mut sidecar), before);
    assert_eq!(sidecar.notes(CHANGE), [Value::Null; 0]);
    files.write(REGISTRY, tools(&["a", "b", "c"]));
    assert_ne!(etag(&mut sidecar), before);
}

#[test]
fn files_are_polled_where_configuration_asks_for_it() {
    let files = Files::new();
    files.write(REGISTRY, tools(&["a"]));
    files.write("config/toolscout/config.yaml", "watch: poll");
    let mut sidecar = files.sidecar();
    let watching = sidecar.request("status", json!({}))["watching"].take();
    assert_eq!(watching["mode"], "poll");
    assert!(watching["reason"].as_str().unwrap().contains("configuration"), "{watching}");
    for (name, expected) in [("b", "+b -a"), ("c", "+c -b")] {
        files.save(REGISTRY, tools(&[name]));
        assert_eq!(change(&mut sidecar), expected);
    }
    files.write("config/toolscout/config.yaml", "watch: auto");
    sidecar.tools();
    // The next look comes after the watcher is back.
    let watching = sidecar.request("status", json!({}))["watching"].take();
    assert_eq!((&watching["mode"], watching.get("reason")), (&json!("native"), None));
    files.save(REGISTRY, tools(&["d"]));
    assert_eq!(change(&mut sidecar), "+d -c");
}

#[test]
fn an_untrusted_workspace_cannot_have_files_polled() {
    let files = Files::new();
    files.write("work/.toolscout/config.yaml", "watch: poll");
    assert_eq!(files.sidecar().request("status", json!({}))["watching"]["mode"], "native");
}

#[test]
#[cfg(target_os = "linux")]
fn files_are_polled_where_the_system_has_no_watch_left() {
    let files = Files::new();
    files.write(REGISTRY, tools(&["a"]));
    // Limits can be lowered by anybody in a user namespace of their own, where the system allows those.
    let limited = |limit: &str| format!("echo 0 > /proc/sys/user/{limit} && exec \"$0\" serve");
    for limit in ["max_inotify_instances", "max_inotify_watches"] {
        let mut allowed = std::process::Command::new("unshare");
        if !allowed.args(["-Ur", "true"]).status().is_ok_and(|status| status.success()) {
            eprintln!("not tested: no user namespaces here");
            return;
        }
        let mut command = std::process::Command::new("unshare");
        let plain = files.command();
        command.args(["-Ur", "sh", "-c", &limited(limit)]).arg(plain.get_program());
        command.current_dir(files.at("work")).env("XDG_CONFIG_HOME", files.at("config"));
        files.save(REGISTRY, tools(&["a"]));
        let mut sidecar = Sidecar::new(command);
        let watching = sidecar.request("status", json!({}))["watching"].take();
        assert_eq!(watching["mode"], "poll", "{limit}");
        assert!(watching["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{limit}: {watching}");
        files.save(REGISTRY, tools(&["b"]));
        assert_eq!(change(&mut sidecar), "+b -a", "{limit}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_named_like_a_registry_keeps_nobody_waiting() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let files = Files::new();
    files.write(REGISTRY, tools(&["a"]));
    let pipe = files.at("work/.toolscout/registry/pipe.json");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let mut sidecar = files.sidecar();
    let found = &sidecar.opened["diagnostics"][0];
    assert!(is_at(&found["file"], &pipe), "{found}");
    assert_eq!(found["diagnostics"][0]["code"], "file-not-regular");
    assert_eq!(sidecar.tools(), ["a"]);
    fs::remove_file(&pipe).unwrap();
    assert_eq!(sidecar.note(FINDINGS)["diagnostics"], json!([]));
}
