//! Words of the schemas of a tool's parameters: what describes each, and the values it may have. A tool is often asked for
//! in words that only stand there (`{"cloud": {"enum": ["aws", "azure"]}}`).
//!
//! They say less of what a tool is for than its description does, and come in great number. So they are no part of its
//! document (SEARCH-1), and find near answers alone. One pass over the schema; the words read of one tool are bounded. Of a
//! schema that cannot be read, those before the place where it breaks are.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::words;

/// Words read of one tool, stop words aside. Settled on labelled queries: more of them find hardly more.
const MAX_WORDS: usize = 512;

/// Calls `each` with the words of a schema's parameters, lower-cased, in order, stop words left out.
pub fn each(schema: &str, mut each: impl FnMut(&str)) {
    let mut left = MAX_WORDS;
    let mut text = |text: &str| {
        words::each_identifier_word(text, |word| {
            if left > 0 && !words::is_stop_word(word) {
                left -= 1;
                each(word);
            }
        });
        left > 0
    };
    // What was read before an error stands.
    let _ = Look { at: At::Root, text: &mut text }.deserialize(&mut serde_json::Deserializer::from_str(schema));
}

/// What a value is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// The schema of all parameters, of which their own schemas are looked into.
    Root,
    /// A part of a parameter's schema.
    Schema,
    /// A text, or a list of texts, that says something.
    Text,
    /// Nothing that matters, or no room is left.
    Nothing,
}

/// Looks into a value; the result is whether there is room for more.
struct Look<'a, F> {
    at: At,
    text: &'a mut F,
}

impl<F: FnMut(&str) -> bool> Look<'_, F> {
    fn at(&mut self, at: At) -> Look<'_, F> {
        Look { at, text: self.text }
    }

    fn inside(&self, key: &str) -> At {
        match (self.at, key) {
            (At::Root, "properties") => At::Schema,
            (At::Root | At::Nothing, _) => At::Nothing,
            (_, "description" | "enum") => At::Text,
            _ => At::Schema,
        }
    }
}

impl<'de, F: FnMut(&str) -> bool> DeserializeSeed<'de> for Look<'_, F> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        match self.at {
            At::Nothing => deserializer.deserialize_ignored_any(IgnoredAny).map(|_| true),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de, F: FnMut(&str) -> bool> Visitor<'de> for Look<'_, F> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        while let Some(key) = map.next_key::<Key<'de>>()? {
            let at = self.inside(&key.0);
            if !map.next_value_seed(self.at(at))? {
                self.at = At::Nothing;
            }
        }
        Ok(self.at != At::Nothing)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<bool, A::Error> {
        let mut at = self.at;
        while let Some(has_room) = list.next_element_seed(self.at(at))? {
            if !has_room {
                at = At::Nothing;
                self.at = at;
            }
        }
        Ok(self.at != At::Nothing)
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(if self.at == At::Text { (self.text)(text) } else { true })
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }
}

/// A key, borrowed where it holds no escape.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::catalog::scope::Scope;
    use crate::catalog::source::{Kind, Origin, Source, SourceInfo};
    use crate::catalog::{Catalog, explain, search};

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn words_of(schema: &str) -> String {
        let mut out = Vec::new();
        each(schema, |word| out.push(word.to_owned()));
        out.join(" ")
    }

    #[test]
    fn what_describes_parameters_and_what_they_may_be_is_read() {
        for (label, schema, expected) in [
            ("a description", r#"{"properties":{"a":{"description":"The city to look up"}}}"#, "city look up"),
            ("values", r#"{"properties":{"a":{"enum":["awsCloud",7,null,"azure"]}}}"#, "aws cloud azure"),
            (
                "nested",
                r#"{"properties":{"a":{"items":{"anyOf":[{"enum":["x1"]},{"properties":{"b":{"description":"deep"}}}]}}}}"#,
                "x1 deep",
            ),
            (
                "parameters of those names",
                r#"{"properties":{"description":{"type":"string"},"enum":{"enum":["y"]}}}"#,
                "y",
            ),
            ("not the whole schema's", r#"{"description":"no","enum":["no"],"properties":{"a":{"default":"no"}}}"#, ""),
            ("escapes", r#"{"properties":{"\u0061":{"description":"caf\u00e9"}}}"#, "café"),
            (
                "what stands before it breaks",
                r#"{"properties":{"a":{"description":"one"},"b":{"enum":["\ud800","two"]}}}"#,
                "one",
            ),
            ("no object", "true", ""),
            ("nothing", "", ""),
        ] {
            assert_eq!(words_of(schema), expected, "{label}");
        }
    }

    #[test]
    fn a_tool_has_no_more_than_so_many_words() {
        let many: Vec<String> = (0..5000).map(|n| format!("\"w{n}\"")).collect();
        let schema =
            format!(r#"{{"properties":{{"a":{{"enum":[{}]}},"b":{{"description":"more"}}}}}}"#, many.join(","));
        let read = words_of(&schema);
        assert_eq!((read.split(' ').count(), read.ends_with("w511")), (MAX_WORDS, true));
    }

    #[test]
    fn search_12_they_find_near_answers_and_nothing_else() {
        let cloud = r#"{"name":"create_cluster","description":"Creates one",
            "inputSchema":{"properties":{"where":{"enum":["azure","aws"]},"size":{"description":"Nodes"}}}}"#;
        let tools = format!(r#"[{cloud},{{"name":"list_regions"}},{{"name":"say_hello"}}]"#);
        let text: Arc<str> = tools.into();
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new("s", Kind::Mcp, Origin::Connection);
        let source = Source::read(info, &text, entries.iter().map(|entry| entry.get())).0;
        let catalog = Catalog::new([Arc::new(source)], Arc::default());
        let view = catalog.view(&Scope::all());
        for (rule, query, matches, near, unanswered) in [
            ("SEARCH-12: two words and one", "create azure cluster", 0, &["azure"][..], &["azure"][..]),
            ("SEARCH-12: one word and two", "azure aws cluster", 0, &["azure", "aws"], &["azure", "aws"]),
            ("SEARCH-12: one word and one do not suffice", "azure cluster", 0, &[], &["azure"]),
            ("SEARCH-4: no match", "azure", 0, &[], &["azure"]),
            ("SEARCH-12: not by schemas alone", "azure aws nodes", 0, &[], &["azure", "aws", "nodes"]),
            ("SEARCH-3: the document finds it as ever", "create cluster", 1, &[], &[]),
        ] {
            let group = search::run(&catalog, &view, query, None);
            let missing: Vec<String> = group.near.into_iter().flat_map(|near| near.missing).collect();
            assert_eq!(
                (group.matches.len(), &*missing, &*group.unanswered),
                (matches, &*list(near), &*list(unanswered)),
                "{rule}"
            );
        }
        let explained = explain::explain(&catalog, &view, "azure aws cluster", None);
        let parts = &explained.near_misses[0].parts;
        assert_eq!(
            parts.iter().map(|part| part.from).collect::<Vec<_>>(),
            [None, Some("parameters"), Some("parameters")]
        );
        let share: f64 = parts.iter().map(|part| part.share).sum();
        assert!((share - 1.0).abs() < 1e-9, "{share}");
    }
}
