//! Characters of a definition that a model reads and nobody sees.

use serde_json::Value;

use super::Told;
use crate::catalog::listing::visible::hides;
use crate::catalog::source::Tool;

/// The first such character.
pub fn look(tool: &Tool) -> Option<Told> {
    let code = u32::from(invisible(tool.raw())?);
    let message = format!("holds U+{code:04X}, which nobody sees and a model reads: remove it");
    Some(("invisible-character", message))
}

fn invisible(raw: &str) -> Option<char> {
    if raw.is_ascii() && !raw.contains("\\u") {
        return None;
    }
    fn of_text(text: &str) -> Option<char> {
        text.chars().find(|c| hides(*c))
    }
    fn first(value: &Value) -> Option<char> {
        match value {
            Value::String(text) => of_text(text),
            Value::Array(items) => items.iter().find_map(first),
            Value::Object(members) => members.iter().find_map(|(key, value)| of_text(key).or_else(|| first(value))),
            _ => None,
        }
    }
    // It was read before, with the same bound on its depth.
    first(&serde_json::from_str(raw).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_or_shapes_what_shows_is_not_told() {
        for (label, text, expected) in [
            ("a zero-width space", "a\u{200b}b", Some('\u{200b}')),
            ("a grapheme joiner", "a\u{34f}b", Some('\u{34f}')),
            ("a Hangul filler", "a\u{115f}b", Some('\u{115f}')),
            ("another", "a\u{3164}b", Some('\u{3164}')),
            ("a tag", "a\u{e0041}b", Some('\u{e0041}')),
            ("a control character", "a\u{7}b", Some('\u{7}')),
            (
                "joiners of a script or an emoji",
                "\u{915}\u{94d}\u{200d}\u{937} \u{1f469}\u{200d}\u{1f4bb} x\u{200c}y",
                None,
            ),
            ("variation selectors", "\u{2764}\u{fe0f} \u{8fbb}\u{e0100}", None),
            ("lines", "a\r\n\tb", None),
        ] {
            assert_eq!(invisible(&serde_json::json!({ "description": text }).to_string()), expected, "{label}");
            assert_eq!(invisible(&serde_json::json!({ text: [] }).to_string()), expected, "{label}, in a key");
        }
    }
}
