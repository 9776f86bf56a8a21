//! A token, which nothing shows.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use reqwest::header::HeaderValue;
use serde::{Serialize, Serializer};

/// What stands wherever a token would.
const HIDDEN: &str = "[hidden]";
/// Characters of the longest token.
const LONGEST: usize = 16 << 10;
/// Characters of the shortest that is taken out of texts: a shorter one is no secret, and half of every text might be it.
const TELLING: usize = 6;

/// A token. `Debug` and `Serialize` show nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Arc<str>);

impl Token {
    /// Reads one, white space around it dropped; `None` where it is none: blank, or of characters that no header takes.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let good = !text.is_empty() && text.len() <= LONGEST && text.bytes().all(|byte| byte.is_ascii_graphic());
        good.then(|| Self(text.into()))
    }

    /// Its header.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    /// The token itself, to be kept in a file.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }

    /// A text without it, however JSON may have escaped it. A gateway may say what it was sent.
    pub fn hide_in<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.0.len() < TELLING {
            return text.into();
        }
        let escaped = self.0.replace('\\', "\\\\").replace('"', "\\\"");
        let mut hidden = Cow::Borrowed(text);
        for form in [&*self.0, &escaped, &escaped.replace('/', "\\/")] {
            if hidden.contains(form) {
                hidden = Cow::Owned(hidden.replace(form, HIDDEN));
            }
        }
        hidden
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl Serialize for Token {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows_it() {
        let token = Token::new(" tk_live/1234\n").unwrap();
        assert!(!format!("{token:?} {:?} {:?}", Some(&token), token.header()).contains("1234"), "CONN-7");
        assert!(!serde_json::to_string(&token).unwrap().contains("1234"), "CONN-7");
        for text in ["you sent tk_live/1234!", r#"{"message":"Bearer tk_live\/1234"}"#] {
            assert!(!token.hide_in(text).contains("1234"), "CONN-7: {text}");
        }
        assert!(matches!(token.hide_in("nothing of it"), Cow::Borrowed("nothing of it")));
        assert_eq!(Token::new("a").unwrap().hide_in("a man"), "a man");
    }

    #[test]
    fn what_no_header_takes_is_none() {
        for none in ["", " \n", "two words", "naïve", "a\nb"] {
            assert!(Token::new(none).is_none(), "{none:?}");
        }
        assert!(Token::new(&"x".repeat(LONGEST + 1)).is_none());
    }
}
