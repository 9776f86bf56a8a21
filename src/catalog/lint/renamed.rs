//! Tools that models are shown under another name than their own.

use super::Told;
use crate::catalog::names::{MAX_NAME, Naming, fits};
use crate::catalog::source::{SourceInfo, Tool};

/// Why the name that a model sees is not the tool's own, nor that behind its server's.
pub fn look(source: &SourceInfo, tool: &Tool) -> Option<Told> {
    let (label, own) = (&source.name, &tool.tool);
    let whole = format!("mcp__{label}__{own}");
    if *tool.name == **own || *tool.name == *whole {
        return None;
    }
    let is_odd = |name: &str| !name.chars().all(fits);
    let shown = if source.naming == Naming::Prefixed { &whole } else { &**own };
    let why = if is_odd(own) {
        "model APIs take only letters, digits, `_` and `-` of ASCII: rename it".to_owned()
    } else if is_odd(shown) {
        format!("model APIs take only letters, digits, `_` and `-` of ASCII: rename its source `{label}`")
    } else if shown.len() > MAX_NAME {
        format!("names have at most {MAX_NAME} characters, the server's included: shorten one of them")
    } else {
        "`__` is what parts a server's name from a tool's: rename the one that holds or ends with it".to_owned()
    };
    Some(("name-changed", format!("is all that models can be shown of `{own}`: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::source::{Kind, Origin, Source};

    #[test]
    fn what_is_to_be_done_about_a_name_depends_on_what_is_wrong_with_it() {
        let long = "x".repeat(60);
        for (label, source, tool, expected) in [
            ("as it is", "s", "a", None),
            ("a space", "s", "a b", Some(": rename it")),
            ("another script", "s", "\u{65e5}\u{672c}", Some(": rename it")),
            ("long, of the letters there are", "s", &*long, Some(": shorten one of them")),
            ("both", "s", &*format!("{long} {long}"), Some(": rename it")),
            ("the server's", "my server", "a", Some(": rename its source `my server`")),
            ("what parts them", "s__t", "a", Some("holds or ends with it")),
        ] {
            let text = serde_json::json!({ "name": tool }).to_string().into();
            let source = Source::read(SourceInfo::new(source, Kind::Mcp, Origin::User), &text, [&*text]).0;
            let told = look(&source.info, &source.tools[0]).map(|(_, message)| message);
            assert_eq!(told.is_some(), expected.is_some(), "{label}: {told:?}");
            assert!(told.unwrap_or_default().ends_with(expected.unwrap_or_default()), "{label}");
        }
    }
}
