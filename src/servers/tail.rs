//! The end of what a server says on standard error: at most 200 lines and 64 KiB, however much it says.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Lines kept.
const LINES: usize = 200;
/// Bytes kept.
const BYTES: usize = 64 << 10;
/// Bytes of one line kept.
const LINE: usize = 4 << 10;

/// Bytes read at once, and the pause after as many: a server that says more than some 50 MB a second waits, so that
/// its noise costs the others nothing.
const CHUNK: usize = 256 << 10;
const PAUSE: Duration = Duration::from_millis(5);

/// See the module.
#[derive(Default)]
pub struct Tail(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    lines: VecDeque<String>,
    bytes: usize,
    /// The line that has no end yet.
    open: Vec<u8>,
}

impl Tail {
    /// Reads to the end and keeps the last of it.
    pub async fn drain(&self, mut from: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 16 << 10];
        let mut read = 0;
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            self.add(&buffer[..count]);
            read += count;
            if read >= CHUNK {
                read = 0;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// The lines kept, the last one as far as it was said.
    pub fn lines(&self) -> Vec<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let open = (!kept.open.is_empty()).then(|| line(&kept.open));
        kept.lines.iter().cloned().chain(open).collect()
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            let room = LINE.saturating_sub(kept.open.len());
            kept.open.extend_from_slice(&text[..text.len().min(room)]);
            if ends {
                let text = line(&std::mem::take(&mut kept.open));
                kept.bytes += text.len();
                kept.lines.push_back(text);
            }
            while kept.lines.len() > LINES || kept.bytes > BYTES {
                let first = kept.lines.pop_front().map_or(0, |line| line.len());
                kept.bytes -= first.min(kept.bytes);
            }
        }
    }
}

fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_is_kept() {
        let tail = Tail::default();
        tail.drain(&b"one\r\ntwo\nthr"[..]).await;
        tail.drain(&b"ee"[..]).await;
        assert_eq!(tail.lines(), ["one", "two", "three"]);
        let many: String = (0..1000).map(|n| format!("{n}\n")).collect();
        tail.drain(many.as_bytes()).await;
        let lines = tail.lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[199].as_str()), (200, "800", "999"));
        tail.drain("x".repeat(9 << 20).as_bytes()).await;
        tail.drain(format!("\n{}", format!("{}\n", "y".repeat(4000)).repeat(300)).as_bytes()).await;
        assert!(tail.lines().iter().map(String::len).sum::<usize>() <= BYTES);
    }
}
