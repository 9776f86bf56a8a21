//! The module map of ARCHITECTURE.md, held by reading the source.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each module of the crate may name of the others.
const ARROWS: &[(&str, &[&str])] = &[
    ("diagnostic", &[]),
    ("private_file", &[]),
    ("outbound", &[]),
    ("signals", &[]),
    ("catalog", &[]),
    ("call", &[]),
    ("protocol", &["catalog", "diagnostic"]),
    ("rpc", &["protocol"]),
    ("workspace", &["catalog", "diagnostic"]),
    ("connectors", &["catalog", "call", "diagnostic", "private_file", "outbound"]),
    ("servers", &["workspace", "catalog", "diagnostic", "private_file", "outbound"]),
    ("server", &["connectors", "servers", "rpc", "protocol", "workspace", "catalog", "call", "diagnostic"]),
    ("share", &["signals", "server", "rpc", "protocol", "workspace"]),
    ("host", &["rpc", "protocol"]),
    ("mcp", &["host", "rpc", "protocol"]),
    (
        "cli",
        &[
            "call",
            "connectors",
            "signals",
            "mcp",
            "share",
            "server",
            "servers",
            "rpc",
            "protocol",
            "workspace",
            "catalog",
            "diagnostic",
        ],
    ),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every file of the crate with the module it belongs to and its code, without tests and comments.
fn files() -> Vec<(PathBuf, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    found.sort();
    let files = found.into_iter().filter(|path| path.file_stem().unwrap() != "tests");
    files
        .map(|path| {
            let inside = path.strip_prefix(&root).unwrap();
            let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
            let module = first.trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
            let code = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            (inside.to_owned(), module, code)
        })
        .collect()
}

#[test]
fn modules_name_only_what_they_may() {
    let mut wrong = BTreeSet::new();
    for (path, module, code) in files() {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == module) else { continue };
        for named in code.split("crate::").skip(1) {
            let named: String = named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let known = ARROWS.iter().any(|(name, _)| *name == named);
            if known && named != module && !allowed.contains(&named.as_str()) {
                wrong.insert(format!("{} names {named}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn pure_modules_know_no_runtime_file_or_socket() {
    let mut wrong = BTreeSet::new();
    for (path, module, code) in files() {
        let forbidden: &[&str] = match module.as_str() {
            "catalog" | "call" => {
                &["tokio", "std::fs", "std::net", "std::env", "jsonrpsee", "std::process", "std::time"]
            }
            "rpc" => &["std::env"],
            "protocol" => &["tokio", "std::fs", "std::env"],
            "workspace" | "server" => &["jsonrpsee", "std::env", "stdout", "rmcp"],
            "connectors" => &["jsonrpsee", "std::env", "stdout", "rmcp"],
            "servers" => &["jsonrpsee", "std::env", "io::stdout"],
            _ => &["jsonrpsee"],
        };
        for word in forbidden {
            let errors = module == "protocol" && path.ends_with("errors.rs");
            if code.contains(word) && !(errors && *word == "jsonrpsee") {
                wrong.insert(format!("{} names {word}", path.display()));
            }
        }
        if module == "protocol" && !path.ends_with("errors.rs") && code.contains("jsonrpsee") {
            wrong.insert(format!("{} names jsonrpsee", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_vague_module_names() {
    for (path, ..) in files() {
        for vague in ["utils", "util", "helpers", "common", "manager", "misc"] {
            assert!(
                !path.components().any(|part| Path::new(part.as_os_str()).file_stem().is_some_and(|s| s == vague)),
                "{}",
                path.display()
            );
        }
    }
}
