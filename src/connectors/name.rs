//! Names of remote tools (CONN-3): `connectors__<connector>__<tool>` for the model, a slug for the gateway.
//!
//! The connector is lower-cased; the tool is the slug without its `<CONNECTOR>_`. So `GMAIL_X` and a literal `X` share a
//! name, and which is meant is settled by asking for the prefixed one first.

use std::fmt;

use crate::call::envelope::CONNECTOR_PREFIX;

/// Toolset of all remote tools, and the name of their source.
pub const TOOLSET: &str = "connectors";

/// Characters of the longest connector or slug.
const LONGEST: usize = 200;

/// A remote tool, as its name says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remote {
    /// The connector, in lower case.
    pub connector: String,
    /// What stands behind it.
    pub tool: String,
}

impl Remote {
    /// Reads a name; `None` where it is malformed.
    pub fn parse(name: &str) -> Option<Self> {
        let (connector, tool) = name.trim().strip_prefix(CONNECTOR_PREFIX)?.split_once("__")?;
        Self::new(connector, tool)
    }

    /// The tool of a connector that the gateway knows by this slug; `None` where no name could lead back to it.
    pub fn of_slug(connector: &str, slug: &str) -> Option<Self> {
        let prefix = format!("{}_", connector.to_ascii_uppercase());
        let tool = slug.strip_prefix(&prefix).filter(|tool| !tool.is_empty()).unwrap_or(slug);
        let remote = Self::new(connector, tool)?;
        (Self::parse(&remote.to_string()).as_ref() == Some(&remote)).then_some(remote)
    }

    fn new(connector: &str, tool: &str) -> Option<Self> {
        let tool_like = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let good = is_connector(connector) && (1..=LONGEST).contains(&tool.len()) && tool.chars().all(tool_like);
        good.then(|| Self { connector: connector.to_ascii_lowercase(), tool: tool.to_owned() })
    }

    /// The slug that is tried first.
    pub fn prefixed(&self) -> String {
        format!("{}_{}", self.connector.to_ascii_uppercase(), self.tool)
    }

    /// The slug that is tried once after it.
    pub fn literal(&self) -> &str {
        &self.tool
    }

    /// Its connector's toolset.
    pub fn toolset(&self) -> String {
        toolset(&self.connector)
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CONNECTOR_PREFIX}{}__{}", self.connector, self.tool)
    }
}

/// The toolset of one connector.
pub fn toolset(connector: &str) -> String {
    format!("{TOOLSET}-{connector}")
}

/// Whether a text can be a connector's slug.
pub fn is_connector(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    (1..=LONGEST).contains(&text.len()) && text.chars().all(good) && !text.contains("__")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (connector, slug, name) in [
            ("gmail", "GMAIL_SEND_EMAIL", Some("connectors__gmail__SEND_EMAIL")),
            ("Gmail", "GMAIL_SEND_EMAIL", Some("connectors__gmail__SEND_EMAIL")),
            ("gmail", "SEND_EMAIL", Some("connectors__gmail__SEND_EMAIL")),
            ("gmail", "gmail_send", Some("connectors__gmail__gmail_send")),
            ("gmail", "GMAIL_", Some("connectors__gmail__GMAIL_")),
            ("one_drive", "ONE_DRIVE_LIST", Some("connectors__one_drive__LIST")),
            ("a", "A__X", Some("connectors__a___X")),
            ("a_", "A__X", None),
            ("a__b", "X", None),
            ("", "X", None),
            ("a b", "X", None),
            ("a", "two words", None),
        ] {
            let remote = Remote::of_slug(connector, slug);
            assert_eq!(remote.as_ref().map(ToString::to_string).as_deref(), name, "CONN-3: {connector} {slug}");
            if let Some(remote) = remote {
                let slugs = [remote.prefixed(), remote.literal().to_owned()];
                assert!(slugs.contains(&slug.to_owned()), "CONN-3: {slug} is among {slugs:?}");
            }
        }
    }

    #[test]
    fn conn_4_malformed_names_are_none() {
        for name in [
            "connectors__",
            "connectors__gmail",
            "connectors__gmail__",
            "connectors____x",
            "connectors__g mail__x",
            "connectors__gmail__x/../y",
            "gmail__x",
        ] {
            assert_eq!(Remote::parse(name), None, "{name}");
        }
        let remote = Remote::parse("connectors__GMail__SEND").unwrap();
        assert_eq!((remote.connector.as_str(), remote.prefixed().as_str()), ("gmail", "GMAIL_SEND"));
        assert_eq!(remote.toolset(), "connectors-gmail");
    }
}
