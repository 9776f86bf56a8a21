//! Whether JSON of a gateway's may be passed on as it came.
//!
//! What a model is answered is not read again on its way, so that one part which the host cannot read would cost it the
//! whole message. Half a surrogate pair and endless nesting are what readers stumble over in otherwise good JSON.

/// Levels of the deepest value that is passed on: readers stop at 128 commonly, and an answer is wrapped itself.
const DEEPEST: usize = 100;

/// Looks at each byte once. The text is JSON already.
pub(super) fn is_passable(json: &str) -> bool {
    let bytes = json.as_bytes();
    let (mut depth, mut in_string, mut at) = (0usize, false, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if bytes.get(at) == Some(&b'u') => match unit(bytes, at) {
                Some(0xD800..=0xDBFF) => {
                    let follows = bytes.get(at + 5) == Some(&b'\\') && bytes.get(at + 6) == Some(&b'u');
                    if !follows || !matches!(unit(bytes, at + 6), Some(0xDC00..=0xDFFF)) {
                        return false;
                    }
                    at += 11;
                }
                Some(0xDC00..=0xDFFF) | None => return false,
                Some(_) => at += 5,
            },
            b'\\' => at += 1,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > DEEPEST {
                    return false;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// The four hexadecimal digits behind the `u` that stands here.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = std::str::from_utf8(bytes.get(at + 1..at + 5)?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_readers_stumble_over() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for (json, expected) in [
            (r#"{"a": ["b\\ud800", "\ud83d\ude00", "é"]}"#.to_owned(), true),
            (r#""\ud800""#.to_owned(), false),
            (r#""\ude00\ud83d""#.to_owned(), false),
            (r#""\ud83d\n""#.to_owned(), false),
            (r#""\ud83d\ud83d""#.to_owned(), false),
            (r#"{"\udfff": 1}"#.to_owned(), false),
            (format!("\"{}\"", "[".repeat(1000)), true),
            (r#"["\"[[[", "\\"]"#.to_owned(), true),
            (nested(DEEPEST), true),
            (nested(DEEPEST + 1), false),
            (format!("[{}]", vec!["[]"; 1000].join(",")), true),
        ] {
            assert_eq!(is_passable(&json), expected, "{json}");
            let read = serde_json::from_str::<serde_json::Value>(&json);
            assert!(!expected || read.is_ok(), "what passes is read: {json}");
        }
    }
}
