//! What a single value means as a setting, however it was written: `yes`, `"ON"` and `1` are all on, `"25"` is 25.
//!
//! `None` means that it cannot be read; whoever asks says so to the person and knows what holds instead.

use super::node::{Node, Value};

/// On or off.
pub fn switch(node: &Node) -> Option<bool> {
    match &node.value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(digits) if **digits == *"1" => Some(true),
        Value::Number(digits) if **digits == *"0" => Some(false),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" | "on" => Some(true),
            "false" | "no" | "0" | "off" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// One of three: `auto`, or what a switch says.
pub fn auto_on_off<T>(node: &Node, [auto, on, off]: [T; 3]) -> Option<T> {
    if is_word(node, "auto") {
        return Some(auto);
    }
    switch(node).map(|is_on| if is_on { on } else { off })
}

/// Whether it is `word`, in any case.
pub fn is_word(node: &Node, word: &str) -> bool {
    matches!(&node.value, Value::String(text) if text.trim().eq_ignore_ascii_case(word))
}

/// A number, never NaN; infinite where it is too large for a double. As text it takes decimal digits with sign,
/// fraction and exponent.
pub fn number(node: &Node) -> Option<f64> {
    let digits = match &node.value {
        Value::Number(digits) => digits,
        // `f64::from_str` takes `inf`, `nan` and `infinity` too.
        Value::String(text) if text.bytes().any(|byte| byte.is_ascii_digit()) => text,
        _ => return None,
    };
    // Adding zero makes -0 plain 0.
    digits.trim().parse::<f64>().ok().filter(|number| !number.is_nan()).map(|number| number + 0.0)
}

/// A number without a fraction.
pub fn whole(node: &Node) -> Option<f64> {
    number(node).filter(|number| number.is_infinite() || number.fract() == 0.0)
}

/// Text, trimmed; `Some(None)` for null or blank.
pub fn optional_text(node: &Node) -> Option<Option<String>> {
    match &node.value {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        _ => None,
    }
}
