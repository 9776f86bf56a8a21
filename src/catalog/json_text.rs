//! JSON as text: slices of a registry are carried as they were written, never as trees.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Appends JSON without the white space between its tokens; strings, numbers and key order stay as they were.
pub fn push_compact(json: &str, out: &mut String) {
    let bytes = json.as_bytes();
    let mut kept = 0; // start of the run not yet copied
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.push_str(&json[kept..at]);
                while at < bytes.len() && bytes[at].is_ascii_whitespace() {
                    at += 1;
                }
                kept = at;
            }
            _ => at += 1,
        }
    }
    out.push_str(&json[kept..]);
}

/// The byte behind the string that starts at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Whether arrays and objects are nested at most `most` deep in JSON.
pub fn is_flat(json: &str, most: usize) -> bool {
    // Hardly a definition opens more than that at all, which is seen many bytes at a time. The two differ in one bit.
    let opens = |part: &[u8]| usize::from(part.iter().map(|byte| u8::from(byte & !0x20 == b'[')).sum::<u8>());
    json.as_bytes().chunks(128).map(opens).sum::<usize>() <= most || depth(json) <= most
}

fn depth(json: &str) -> usize {
    let bytes = json.as_bytes();
    let (mut depth, mut deepest, mut at) = (0usize, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at) - 1,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

/// Appends a string as a JSON string.
pub fn push_string(text: &str, out: &mut String) {
    out.push('"');
    let mut kept = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape: &str = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[kept..at]);
        if escape.is_empty() {
            out.push_str(&format!("\\u{byte:04x}"));
        } else {
            out.push_str(escape);
        }
        kept = at + 1;
    }
    out.push_str(&text[kept..]);
    out.push('"');
}

/// The text of a JSON string, borrowed where it holds no escape. `None` if the JSON is no string.
///
/// A lone surrogate escape (`\ud800`) is legal JSON and no Unicode; it reads as U+FFFD.
pub fn decode_string(json: &str) -> Option<Cow<'_, str>> {
    let inner = json.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    if let Ok(text) = serde_json::from_str::<String>(json) {
        return Some(Cow::Owned(text));
    }
    // serde_json turns lone surrogates down in strings; as bytes it lets them through in WTF-8.
    let bytes: Bytes = serde_json::from_str(json).ok()?;
    Some(Cow::Owned(String::from_utf8_lossy(&bytes.0).into_owned()))
}

struct Bytes(Vec<u8>);

impl<'de> serde::Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsBytes;
        impl Visitor<'_> for AsBytes {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(AsBytes)
    }
}

/// Calls `each` with every member of a JSON object, in order. False if the JSON is no object.
pub fn members<'a>(json: &'a str, each: impl FnMut(Cow<'a, str>, &'a RawValue)) -> bool {
    struct Members<F>(F);
    impl<'de, F: FnMut(Cow<'de, str>, &'de RawValue)> Visitor<'de> for Members<F> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<&RawValue>()? {
                let value = map.next_value::<&RawValue>()?;
                (self.0)(decode_string(key.get()).unwrap_or_default(), value);
            }
            Ok(())
        }
    }
    json.trim_start().starts_with('{')
        && serde_json::Deserializer::from_str(json).deserialize_map(Members(each)).is_ok()
}

/// Where a slice of a text begins in it, in bytes.
pub fn offset_in(text: &str, slice: &str) -> usize {
    (slice.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compact_keeps_strings_numbers_and_order() {
        let mut out = String::new();
        push_compact("{ \"b\" : [ 1.0 , 1e5 ],\n\t\"a\" : \"x \\\" y\" }", &mut out);
        assert_eq!(out, r#"{"b":[1.0,1e5],"a":"x \" y"}"#);
    }

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        for (json, want) in [("1", 0), ("[]", 1), (r#"{"a":[{"]}":"[[[\""}]}"#, 3), ("[[],[[]]]", 3), ("\"", 0)] {
            assert_eq!(depth(json), want, "{json}");
            assert!(is_flat(json, want) && (want == 0 || !is_flat(json, want - 1)), "{json}");
        }
    }

    #[test]
    fn strings_come_back_as_they_went_in() {
        for text in ["", "plain", "a\"b\\c\n\r\t\u{1}é検\u{1f600}"] {
            let mut json = String::new();
            push_string(text, &mut json);
            assert_eq!(decode_string(&json).unwrap(), text);
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
        assert!(decode_string(r#""\ud800x""#).unwrap().ends_with('x'));
        assert_eq!(decode_string("12"), None);
    }

    #[test]
    fn members_in_order_with_repeated_and_escaped_keys() {
        let mut seen = Vec::new();
        assert!(members(r#"{"b":1,"\u0061":[2],"b":null}"#, |k, v| seen.push(format!("{k}={}", v.get()))));
        assert_eq!(seen, ["b=1", "a=[2]", "b=null"]);
        assert!(!members("[1]", |_, _| ()));
        assert!(!members("12", |_, _| ()));
    }
}
