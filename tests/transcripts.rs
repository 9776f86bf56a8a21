//! Replays `protocol/transcripts/*.jsonl` against the real binary. What a line means is said in the README beside them.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::replay;
use support::sidecar::{Framing, Sidecar};

fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("protocol/transcripts");
    let entries = std::fs::read_dir(&folder).expect("protocol/transcripts can be read");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl")).collect();
    paths.sort();
    paths
}

/// All are run, a few at a time, whatever becomes of each. `TRANSCRIPT=name` runs one.
#[test]
fn every_transcript_replays() {
    let mut paths = transcripts();
    if let Ok(one) = std::env::var("TRANSCRIPT") {
        paths.retain(|path| path.file_stem().is_some_and(|stem| *stem == *one));
    }
    assert!(!paths.is_empty(), "there are transcripts");
    let failures = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(failure) = replay::replay(path) {
                        failures.lock().expect("no test thread panics").push(failure);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no test thread panics");
    failures.sort();
    assert!(failures.is_empty(), "{} of {} failed:\n\n{}", failures.len(), paths.len(), failures.join("\n\n"));
}

/// In what it says that came, `…` stands for any text.
#[test]
fn the_conversation_in_the_readme_is_a_real_one() {
    let readme = include_str!("../README.md");
    let block = readme.split("```jsonc\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a conversation");
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("workspace")).expect("a workspace");
    let mut sidecar = Sidecar::start(folder.path(), [""; 0], Framing::Lines).expect("a sidecar");
    let mut answers = 0;
    for line in block.lines() {
        if let Some(request) = line.strip_prefix("→ ") {
            sidecar.send(request).expect("it takes requests");
            continue;
        }
        let shown = line.strip_prefix("← ").expect("an arrow");
        let came = sidecar.receive().expect("an answer").expect("an answer");
        assert!(is_shortened(shown, &came), "README.md shows\n  {shown}\nbut there came\n  {came}");
        answers += 1;
    }
    assert_eq!(answers, 5);
}

fn is_shortened(shown: &str, whole: &str) -> bool {
    let Some((start, others)) = shown.split_once('…') else { return shown == whole };
    let Some(mut rest) = whole.strip_prefix(start) else { return false };
    let (between, end) = others.rsplit_once('…').unwrap_or(("", others));
    for piece in between.split('…') {
        let Some((_, behind)) = rest.split_once(piece) else { return false };
        rest = behind;
    }
    rest.ends_with(end)
}
