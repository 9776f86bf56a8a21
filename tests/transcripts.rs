//! Replays `protocol/transcripts/*.jsonl` against the real binary. What a line means is said in the README beside them.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use support::replay;

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
