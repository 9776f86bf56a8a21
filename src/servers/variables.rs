//! `${VAR}` and `${VAR:-default}` in what configuration says of a server.
//!
//! Filled once, by what the asking connection has: what a variable holds is not looked into again. `${env:VAR}`, as some
//! editors write it, is the same as `${VAR}`. A `${` without an end is plain text.

use std::collections::BTreeMap;

/// What may be filled in.
#[derive(Clone, Copy)]
pub struct Variables<'a> {
    /// By name.
    pub environment: &'a BTreeMap<String, String>,
    /// What `${workspaceFolder}` stands for.
    pub folder: Option<&'a str>,
}

/// A text with its variables filled, and what they held.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// The text.
    pub text: String,
    /// Values that came from the environment: they may be secret.
    pub values: Vec<String>,
}

impl Variables<'_> {
    /// Fills a text.
    ///
    /// # Errors
    /// The first variable that is not set and has no default.
    pub fn fill(self, text: &str) -> Result<Filled, String> {
        let mut filled = Filled::default();
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else { break };
            filled.text.push_str(&rest[..start]);
            let inside = &rest[start + 2..start + length];
            let (name, default) = inside.split_once(":-").map_or((inside, None), |(name, text)| (name, Some(text)));
            let name = name.strip_prefix("env:").unwrap_or(name);
            match (self.value(name).filter(|value| !value.is_empty() || default.is_none()), default) {
                (Some(value), _) => {
                    filled.text.push_str(value);
                    filled.values.push(value.to_owned());
                }
                (None, Some(default)) => filled.text.push_str(default),
                (None, None) => return Err(name.to_owned()),
            }
            rest = &rest[start + length + 1..];
        }
        filled.text.push_str(rest);
        Ok(filled)
    }

    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "workspaceFolder" => self.folder,
            _ => self.environment.get(name).map(String::as_str),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_once() {
        let environment = [("A", "1"), ("EMPTY", ""), ("NESTED", "${A}")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let variables = Variables { environment: &environment, folder: Some("/w") };
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("${A}", Ok("1")),
            ("x${A}y${env:A}z", Ok("x1y1z")),
            ("${B}", Err("B")),
            ("${B:-two}", Ok("two")),
            ("${B:-}", Ok("")),
            ("${A:-two}", Ok("1")),
            ("${EMPTY}", Ok("")),
            ("${EMPTY:-two}", Ok("two")),
            ("${NESTED}", Ok("${A}")),
            ("${A", Ok("${A")),
            ("$A {A} $", Ok("$A {A} $")),
            ("${input:token}", Err("input:token")),
            ("${workspaceFolder}/x", Ok("/w/x")),
        ] {
            let filled = variables.fill(text).map(|filled| filled.text);
            assert_eq!(filled.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
