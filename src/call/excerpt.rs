//! Short pieces of values for messages: what a model sent is quoted, never echoed whole.

use std::fmt::Write as _;
use std::io;

use serde_json::Value;

/// Compact JSON of a value, at most `limit` bytes and then `…`. Work is bounded by `limit`, not by the value.
pub fn of(value: &Value, limit: usize) -> String {
    let mut out = Limited { bytes: Vec::new(), limit, cut: false };
    // The only error is the one that `Limited` raises to stop the serializer.
    let _ = serde_json::to_writer(&mut out, value);
    let mut text = String::from_utf8_lossy(&out.bytes).into_owned();
    if out.cut {
        // The cut may have split a character.
        while text.ends_with('\u{fffd}') {
            text.pop();
        }
        text.push('…');
    }
    text
}

/// At most `limit` characters of a text, the last one being `…` where it was cut.
pub fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// `a, b, c`, ending in `and N more` once `limit` bytes are reached.
pub fn list<T>(items: impl ExactSizeIterator<Item = T>, limit: usize, show: impl Fn(T) -> String) -> String {
    let total = items.len();
    let mut text = String::new();
    for (shown, item) in items.enumerate() {
        if text.len() >= limit {
            let _ = write!(text, " and {} more", total - shown);
            break;
        }
        if shown > 0 {
            text.push_str(", ");
        }
        text.push_str(&show(item));
    }
    text
}

struct Limited {
    bytes: Vec<u8>,
    limit: usize,
    cut: bool,
}

impl io::Write for Limited {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.bytes.len();
        self.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            self.cut = true;
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_quoted_within_its_limit() {
        assert_eq!(of(&json!({"a": [1, "x"]}), 40), r#"{"a":[1,"x"]}"#);
        assert_eq!(of(&json!("x".repeat(1 << 20)), 4), "\"xxx…");
        assert_eq!(of(&json!("éé"), 4), "\"é…", "a character is never split");
    }

    #[test]
    fn a_list_says_how_many_it_leaves_out() {
        assert_eq!(list(["a", "b"].iter(), 9, |s| s.to_string()), "a, b");
        assert_eq!(list(["aaaa", "bbbb", "cc", "dd"].iter(), 9, |s| s.to_string()), "aaaa, bbbb and 2 more");
    }

    #[test]
    fn a_clipped_text_keeps_its_limit() {
        assert_eq!(clip("abc", 3), "abc");
        assert_eq!(clip("abcd", 3), "ab…");
    }
}
