//! The three bridge tools as a model sees them. Every word is paid for on every turn.

use super::definition::Format;
use super::listing::{Form, Listing, summary, visible};
use super::render::push_new;

const SEARCH_SCHEMA: &str = r#"{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":7,"description":"One query per capability: the service's name plus action and object, e.g. \"github create issue\""},"limit":{"type":"integer","minimum":1,"description":"Most matches per query"}},"required":["queries"]}"#;

const DESCRIBE: &str = "Load the parameter schemas of deferred tools by name, all you need in one call.";
const DESCRIBE_SCHEMA: &str = r#"{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":10,"description":"Names from the listing or from tool_search"}},"required":["names"]}"#;

const CALL: &str = "Run a deferred tool. Load its schema with tool_describe first. One entry per call; only connectors__ tools \
     may stand together in one call.";
const CALL_SCHEMA: &str = r#"{"type":"object","properties":{"calls":{"type":"array","minItems":1,"maxItems":10,"items":{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","description":"As the tool's schema says"}},"required":["name","arguments"]}}},"required":["calls"]}"#;

/// Servers out of reach that are named; every word is paid for on every turn.
const MAX_DOWN: usize = 8;

/// What the bridge leads to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Behind<'a> {
    /// Number of deferred tools.
    pub deferred: usize,
    /// Whether a gateway may have tools, which nobody can count.
    pub remote: bool,
    /// Configured servers that do not answer, and why.
    pub down: &'a [(&'a str, &'a str)],
}

/// Appends the three definitions, a comma between them. The listing stands at the very end of `tool_search`.
pub fn push_all(behind: &Behind<'_>, listing: &Listing, format: Format, out: &mut String) {
    let description = search_description(behind, listing.form, &listing.text);
    push_new("tool_search", &description, SEARCH_SCHEMA, format, out);
    out.push(',');
    push_new("tool_describe", DESCRIBE, DESCRIBE_SCHEMA, format, out);
    out.push(',');
    push_new("tool_call", CALL, CALL_SCHEMA, format, out);
}

/// ASSEMBLE-3, ASSEMBLE-4, LISTING-7: what `tool_search` says of itself.
pub fn search_description(behind: &Behind<'_>, form: Form, listing: &str) -> String {
    let Behind { deferred, remote, down } = *behind;
    let mut text = match deferred {
        0 if remote => "Tools of connected apps are".to_owned(),
        1 => "1 more tool is".to_owned(),
        _ => format!("{deferred} more tools are"),
    };
    text.push_str(
        " available but not loaded. Find them here, load schemas with tool_describe, run them with tool_call.",
    );
    text.push_str(match form {
        Form::Full | Form::Names => {
            " All of them are listed below: for a name you can see, go straight to tool_describe. Never say that a listed tool \
             is unavailable."
        }
        Form::Mixed => {
            " For a name you can see below, go straight to tool_describe. Never say that a listed tool is unavailable. Servers \
             given only by a count have that many tools too: find those with this tool first."
        }
        Form::Groups | Form::None => {
            " Search here first, before you use a more general tool in place of one of these or say that a capability is \
             missing."
        }
    });
    if remote && deferred > 0 {
        text.push_str(" Tools of connected apps come on top and are in no list: search for them.");
    }
    if !down.is_empty() {
        text.push_str(" Configured, but out of reach for now: ");
        for (at, (name, reason)) in down.iter().take(MAX_DOWN).enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            visible::push(&mut text, name);
            text.push_str(" (");
            text.push_str(&summary(reason));
            text.push(')');
        }
        match down.len().saturating_sub(MAX_DOWN) {
            0 => text.push('.'),
            more => text.push_str(&format!(" and {more} more.")),
        }
    }
    if form == Form::Groups {
        text.push_str(" They belong to the servers below.");
    }
    if !listing.is_empty() {
        text.push_str("\n\n");
        text.push_str(listing);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::arguments::{MAX_NAMES, MAX_QUERIES};
    use crate::call::envelope::MAX_CALLS;

    #[test]
    fn the_caps_in_the_schemas_are_those_enforced() {
        for (schema, cap) in [(SEARCH_SCHEMA, MAX_QUERIES), (DESCRIBE_SCHEMA, MAX_NAMES), (CALL_SCHEMA, MAX_CALLS)] {
            assert!(schema.contains(&format!("\"maxItems\":{cap},")), "CONFIG-3: {cap}");
            assert!(serde_json::from_str::<serde_json::Value>(schema).is_ok());
        }
    }

    #[test]
    fn the_description_ends_with_the_listing_and_holds_the_count() {
        for form in [Form::Full, Form::Names, Form::Mixed, Form::Groups, Form::None] {
            let text = search_description(&Behind { deferred: 42, ..Behind::default() }, form, "a (42 tools)");
            assert!(text.starts_with("42 more tools are"), "ASSEMBLE-3: {form:?}");
            assert!(text.ends_with("\n\na (42 tools)"), "LISTING-1: {form:?}");
            let named = matches!(form, Form::Full | Form::Names | Form::Mixed);
            assert_eq!(text.contains("straight to tool_describe"), named, "LISTING-7: {form:?}");
            assert_eq!(text.contains("say that a capability is missing"), !named, "ASSEMBLE-4: {form:?}");
        }
        let one = Behind { deferred: 1, ..Behind::default() };
        assert!(search_description(&one, Form::None, "").starts_with("1 more tool is"));
    }

    #[test]
    fn servers_out_of_reach_are_named_before_the_listing() {
        let down: Vec<(String, String)> = (0..10).map(|n| (format!("s{n}"), "it\nended. Code 1".to_owned())).collect();
        let down: Vec<(&str, &str)> = down.iter().map(|(name, reason)| (name.as_str(), reason.as_str())).collect();
        fn behind<'a>(down: &'a [(&'a str, &'a str)]) -> Behind<'a> {
            Behind { deferred: 3, down, ..Behind::default() }
        }
        let text = search_description(&behind(&down[..2]), Form::Full, "a (3 tools)");
        assert!(text.ends_with("out of reach for now: s0 (it ended.), s1 (it ended.).\n\na (3 tools)"), "{text}");
        let text = search_description(&behind(&down), Form::None, "");
        assert!(text.ends_with("s7 (it ended.) and 2 more."), "{text}");
    }

    #[test]
    fn tools_that_nobody_can_count_are_told_of_before_the_listing() {
        let behind = |deferred| Behind { deferred, remote: true, down: &[] };
        let only = search_description(&behind(0), Form::None, "");
        assert!(only.starts_with("Tools of connected apps are available") && !only.contains('0'), "{only}");
        let both = search_description(&behind(2), Form::Full, "a (2 tools)");
        assert!(both.starts_with("2 more tools are") && both.contains("connected apps"), "{both}");
        assert!(both.ends_with("search for them.\n\na (2 tools)"), "LISTING-1: {both}");
    }
}
