//! Strangers' texts made fit for a terminal: whatever they hold, nothing reaches it as a control sequence.
//!
//! Characters that do not show (controls, bidirectional and other format characters, tags) are spelled out, so that a
//! person sees that they are there; the catalog says which they are, and the standard library's table what else a terminal
//! does not print. Look-alikes pass.

use std::fmt::Write as _;

use crate::catalog::listing::hides;

/// Whether a character would act on the terminal or hide in the text.
fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    // Tag characters are combining marks to the standard library.
    if matches!(c, '\u{e0000}'..='\u{e0fff}') || hides(c) {
        return true;
    }
    // Behind another character a combining mark is left as it is, as it should be.
    let mut text = String::from("a");
    text.push(c);
    text.escape_debug().nth(1) == Some('\\')
}

/// The text on one line, every white space character as a space and every hidden one as `\u{…}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_whitespace() {
            out.push(' ');
        } else if is_hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// [`visible`] with white space folded to single spaces.
pub fn folded(text: &str) -> String {
    visible(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// JSON text, indented by two spaces. Numbers and keys stay as they were written; in strings hidden characters become
/// JSON escapes, which leaves the value as it was.
pub fn json(text: &str) -> String {
    lay_out(text, true)
}

/// JSON text on one line, with a space behind `,` and `:`.
pub fn json_line(text: &str) -> String {
    lay_out(text, false)
}

fn lay_out(text: &str, indented: bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut depth = 0_usize;
    let mut chars = text.chars().peekable();
    let line = |depth: usize, out: &mut String| {
        if indented {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", depth));
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                out.push('"');
                push_string(&mut chars, &mut out);
            }
            '{' | '[' => {
                out.push(c);
                while chars.next_if(|c| c.is_ascii_whitespace()).is_some() {}
                match chars.next_if(|c| matches!(c, '}' | ']')) {
                    Some(close) => out.push(close),
                    None => {
                        depth += 1;
                        line(depth, &mut out);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(depth, &mut out);
                out.push(c);
            }
            ',' => {
                out.push(',');
                if indented {
                    line(depth, &mut out);
                } else {
                    out.push(' ');
                }
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

/// The rest of a string, up to its closing quote.
fn push_string(chars: &mut impl Iterator<Item = char>, out: &mut String) {
    let mut escaped = false;
    for c in chars {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
        if c == '"' && !escaped {
            return;
        }
        escaped = c == '\\' && !escaped;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_a_terminal() {
        for (label, text, expected) in [
            ("an escape sequence is spelled out", "a\x1b[31mb", "a\\u{1b}[31mb"),
            ("so is its one-byte form", "a\u{9b}31m", "a\\u{9b}31m"),
            ("a line break is a space", "a\nb\r\nc\u{2028}d", "a b  c d"),
            ("a bell and a backspace", "\x07\x08", "\\u{7}\\u{8}"),
            ("bidirectional characters", "a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("zero-width space", "a\u{200b}b", "a\\u{200b}b"),
            ("fillers that are letters", "a\u{3164}\u{115f}", "a\\u{3164}\\u{115f}"),
            ("tag characters", "a\u{e0041}", "a\\u{e0041}"),
            ("accents, quotes, backslashes and wide characters stay", "e\u{301} \"'\\ 検索", "e\u{301} \"'\\ 検索"),
        ] {
            assert_eq!(visible(text), expected, "{label}");
        }
        assert_eq!(folded("  a \n\n\t b "), "a b");
    }

    #[test]
    fn json_keeps_its_value() {
        let text = r#"{"a":[1.0,10000000000000000000001,{}, [ ]],"b":"x, \"y\": \\","c":{"d":null}}"#;
        let laid_out = json(text);
        assert_eq!(
            laid_out,
            "{\n  \"a\": [\n    1.0,\n    10000000000000000000001,\n    {},\n    []\n  ],\n  \
             \"b\": \"x, \\\"y\\\": \\\\\",\n  \"c\": {\n    \"d\": null\n  }\n}"
        );
        assert_eq!(json_line(r#"{"a":[1,2],"b":{}}"#), r#"{"a": [1, 2], "b": {}}"#);
        let hostile = serde_json::json!("a\u{9b}\u{202e}\u{e0041}\u{7f}").to_string();
        assert_eq!(json(&hostile), r#""a\u009b\u202e\udb40\udc41\u007f""#);
        assert_eq!(serde_json::from_str::<String>(&json(&hostile)).unwrap(), "a\u{9b}\u{202e}\u{e0041}\u{7f}");
    }

    #[test]
    fn broken_json_is_survived() {
        for text in ["", "]]}", "\"abc", "{\"a\":", "[[[", "\"\\"] {
            json(text);
        }
    }
}
