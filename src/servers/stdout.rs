//! What a server says on standard output, between its process and the protocol: messages go on, anything else is
//! counted and dropped.
//!
//! A line that is no message would otherwise be answered with an error, which many a server takes amiss. A message over
//! the limit is dropped too; if it was an answer, an error is put in its place, so that nobody waits for it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::large::LARGE;

/// Bytes of the longest message that is read.
pub const LONGEST: usize = 64 << 20;

/// Bytes of a dropped line that are kept at either end, to find its id in.
const ENDS: usize = 512;

/// So many bytes of what is no message are followed by this pause, so that a flood of it costs the others nothing.
const CHUNK: usize = 64 << 10;
const PAUSE: Duration = Duration::from_millis(5);
/// So many bytes each of a server's own requests and notifications counts for at least: what is done about one costs more
/// than its bytes.
const TOLD: usize = 4 << 10;
/// So many of them within a second are too many.
const MANY: u32 = 500;

/// What was dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Lines that were no messages.
    pub stray: u64,
    /// The first of them, cut.
    pub first: String,
    /// Messages that were too long.
    pub oversized: u64,
    /// Whether it asks and tells so much that it is read slowly. Nothing is dropped of that.
    pub flood: bool,
}

/// Passes messages on until either side ends. `news` is called for the first stray line, for each oversized one, and for
/// the first flood.
pub async fn pass(
    from: impl AsyncRead + Unpin,
    to: mpsc::Sender<Vec<u8>>,
    longest: usize,
    dropped: &Mutex<Dropped>,
    news: impl Fn(),
) {
    let mut from = BufReader::with_capacity(64 << 10, from);
    let mut line = Line { kept: Vec::new(), ends: None, longest };
    let mut noise = 0;
    let (mut told, mut since) = (0, Instant::now());
    loop {
        let available = match from.fill_buf().await {
            Ok(available) if !available.is_empty() => available,
            _ => return,
        };
        let end = available.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(available.len(), |at| at + 1);
        line.add(&available[..count]);
        from.consume(count);
        if end.is_none() {
            if line.ends.is_some() || !line.may_be_message() {
                noise += count;
            }
        } else {
            let sent = match line.take() {
                Taken::Blank => Ok(()),
                Taken::Message { line, tells } => {
                    if tells {
                        noise += count.max(TOLD);
                        told += 1;
                    }
                    if since.elapsed() >= Duration::from_secs(1) {
                        (told, since) = (0, Instant::now());
                    }
                    if told >= MANY && !std::mem::replace(&mut locked(dropped).flood, true) {
                        news();
                    }
                    to.send(line).await
                }
                Taken::Stray(text) => {
                    noise += count;
                    let mut dropped = locked(dropped);
                    dropped.stray += 1;
                    if dropped.stray == 1 {
                        dropped.first = text;
                        drop(dropped);
                        news();
                    }
                    Ok(())
                }
                Taken::Oversized(answer) => {
                    noise += count;
                    locked(dropped).oversized += 1;
                    news();
                    match answer {
                        Some(answer) => to.send(answer.into_bytes()).await,
                        None => Ok(()),
                    }
                }
            };
            if sent.is_err() {
                return;
            }
        }
        if noise >= CHUNK {
            noise = 0;
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn locked(dropped: &Mutex<Dropped>) -> MutexGuard<'_, Dropped> {
    dropped.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A line as it comes.
struct Line {
    kept: Vec<u8>,
    /// Of one that is too long: its last bytes. What is kept is then its first.
    ends: Option<Vec<u8>>,
    longest: usize,
}

enum Taken {
    Blank,
    /// And whether it is a request or a notification, rather than an answer.
    Message {
        line: Vec<u8>,
        tells: bool,
    },
    Stray(String),
    /// And the error to put in its place, if it was an answer.
    Oversized(Option<String>),
}

impl Line {
    fn add(&mut self, bytes: &[u8]) {
        if self.ends.is_none() {
            if self.kept.len() + bytes.len() <= self.longest && (self.may_be_message() || self.kept.len() < ENDS) {
                self.kept.extend_from_slice(bytes);
                return;
            }
            let tail = self.kept[self.kept.len().saturating_sub(ENDS)..].to_vec();
            self.kept.extend_from_slice(&bytes[..bytes.len().min(ENDS.saturating_sub(self.kept.len()))]);
            self.kept.truncate(ENDS);
            self.kept.shrink_to_fit();
            self.ends = Some(tail);
        }
        if let Some(tail) = &mut self.ends {
            tail.extend_from_slice(&bytes[bytes.len().saturating_sub(ENDS)..]);
            tail.drain(..tail.len().saturating_sub(ENDS));
        }
    }

    fn may_be_message(&self) -> bool {
        self.kept.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|byte| matches!(byte, b'{' | b'['))
    }

    fn take(&mut self) -> Taken {
        let may_be_message = self.may_be_message();
        let kept = std::mem::take(&mut self.kept);
        match self.ends.take() {
            Some(tail) if may_be_message => Taken::Oversized(answer_to(&kept, &tail)),
            None if kept.trim_ascii().is_empty() => Taken::Blank,
            // It is looked at once, where that holds up nobody.
            None if may_be_message && kept.len() >= LARGE => Taken::Message { line: kept, tells: false },
            None => match message(&kept).filter(|_| may_be_message) {
                Some(Shape { tells }) => Taken::Message { line: kept, tells },
                None => Taken::Stray(stray(&kept)),
            },
            Some(_) => Taken::Stray(stray(&kept)),
        }
    }
}

/// The beginning of a line, far longer than what is shown of it: secrets are taken out before it is cut to that.
fn stray(line: &[u8]) -> String {
    String::from_utf8_lossy(&line[..line.len().min(8 << 10)]).trim().to_owned()
}

struct Shape {
    tells: bool,
}

/// What a line is, if it is a message of JSON-RPC or a batch of such.
fn message(line: &[u8]) -> Option<Shape> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        jsonrpc: Option<&'a RawValue>,
        method: Option<IgnoredAny>,
    }
    match line.trim_ascii_start().first() {
        Some(b'[') => serde_json::from_slice::<&RawValue>(line).is_ok().then_some(Shape { tells: true }),
        _ => {
            let Message { jsonrpc, method } = serde_json::from_slice(line).ok()?;
            jsonrpc.map(|_| Shape { tells: method.is_some() })
        }
    }
}

/// The error that stands for an answer of which only the ends are known.
fn answer_to(head: &[u8], tail: &[u8]) -> Option<String> {
    let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
    let id = id_before_result(&head).or_else(|| id_at_end(&tail))?;
    let message = format!("the answer is larger than {} MiB", LONGEST >> 20);
    let error = serde_json::json!({ "code": -32603, "message": message });
    Some(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n"))
}

/// The id of an answer that begins with it: what stands before `result` is no part of that.
fn id_before_result(head: &str) -> Option<u64> {
    let before = &head[..head.find("\"result\"")?];
    number(before.split_once("\"id\"")?.1.trim_start().strip_prefix(':')?)
}

/// The id of an answer that ends with it: one brace alone closes the message itself.
fn id_at_end(tail: &str) -> Option<u64> {
    let inside = tail.trim_end().strip_suffix('}')?;
    let inside = inside.trim_end();
    let inside =
        inside.strip_suffix("\"jsonrpc\":\"2.0\"").map_or(inside, |before| before.trim_end_matches([',', ' ']));
    let at = inside.rfind("\"id\"")?;
    let digits = inside[at + 4..].trim_start().strip_prefix(':')?.trim();
    digits.parse().ok()
}

fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(text: &str, longest: usize) -> (String, Dropped) {
        let (to, mut messages) = mpsc::channel(1);
        let dropped = Mutex::default();
        let mut passed = Vec::new();
        let pass = pass(text.as_bytes(), to, longest, &dropped, || {});
        let take = async {
            while let Some(message) = messages.recv().await {
                passed.extend(message);
            }
        };
        tokio::join!(pass, take);
        (String::from_utf8(passed).unwrap(), dropped.into_inner().unwrap())
    }

    #[tokio::test]
    async fn messages_go_on_and_the_rest_is_dropped() {
        let message = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        for stray in ["Listening on 3000", r#"{"level":"info"}"#, "{not json", "\u{1b}[31mred", &"x".repeat(9000)] {
            let (to, dropped) = passed(&format!("{stray}\n\n{message}\r\n{stray}\n"), 2000).await;
            assert_eq!(to, format!("{message}\r\n"), "{stray}");
            assert_eq!((dropped.stray, dropped.oversized), (2, 0), "{stray}");
            assert!(stray.starts_with(&dropped.first[..5]), "{stray}");
        }
        assert_eq!(passed(&format!("[{message}]\n"), 2000).await.0, format!("[{message}]\n"));
    }

    #[tokio::test]
    async fn a_flood_is_told_and_loses_nothing() {
        let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#.to_owned() + "\n";
        let flood = note.repeat(5000);
        let (to, dropped) = passed(&flood, 2000).await;
        assert!(to == flood && dropped.flood);
        assert!(!passed(&note.repeat(100), 2000).await.1.flood);
        let answers = (r#"{"jsonrpc":"2.0","id":1,"result":{"method":1}}"#.to_owned() + "\n").repeat(5000);
        assert!(!passed(&answers, 2000).await.1.flood, "answers are asked for");
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_becomes_an_error() {
        let big = "x".repeat(3000);
        for (text, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":"{big}"}}}}"#), Some(7)),
            (format!(r#"{{"result":{{"a":"{big}","id":3}},"jsonrpc":"2.0","id":7}}"#), Some(7)),
            (format!(r#"{{"result":{{"a":"{big}"}},"id":7,"jsonrpc":"2.0"}}"#), Some(7)),
            (format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"a":"{big}","id":3}}}}"#), None),
        ] {
            let (to, dropped) = passed(&format!("{text}\n"), 2000).await;
            assert_eq!((dropped.stray, dropped.oversized), (0, 1), "{id:?}");
            let answer: Option<serde_json::Value> = serde_json::from_str(&to).ok();
            assert_eq!(answer.as_ref().and_then(|answer| answer["id"].as_u64()), id);
            assert!(answer.is_none_or(|answer| answer["error"]["message"].is_string()));
        }
    }
}
