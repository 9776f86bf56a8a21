//! What the owner of a catalog wants to hear of it, beyond what is broken: tools that cannot be found, or told apart, or that
//! cost more than they say.
//!
//! Findings are in the order of sources and tools. Two searches a deferred tool are run, so that time grows with the catalog
//! as so many searches do.

mod alike;
mod costs;
mod described;
mod hidden;
mod lost;
mod renamed;

pub use costs::{Costs, costs};

use super::view::View;
use super::{Catalog, ToolId};
use alike::Alike;

/// Something about one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The tool.
    pub id: ToolId,
    /// Stable name of the kind of finding.
    pub code: &'static str,
    /// What, and what to do.
    pub message: String,
}

/// Kind of a finding, and its message.
type Told = (&'static str, String);

/// Looks at every tool.
pub fn findings(catalog: &Catalog, view: &View) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut alike = Alike::default();
    for source in 0..catalog.sources.len() {
        for (id, tool) in catalog.tools_of(source).filter(|(id, _)| !catalog.is_refused(*id)) {
            let of_itself = [
                described::look(tool),
                hidden::look(tool),
                renamed::look(&catalog.source_of(id).info, tool),
                alike.look(catalog, id),
            ];
            let searched = if view.deferred.contains(id) { lost::look(catalog, view, id) } else { Vec::new() };
            let told = of_itself.into_iter().flatten().chain(searched);
            found.extend(told.map(|(code, message)| Finding { id, code, message }));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::catalog::scope::Scope;
    use crate::catalog::source::{Kind, Origin, Source, SourceInfo};

    fn source(label: &str, tools: &[Value]) -> Arc<Source> {
        let text: Arc<str> = Value::from(tools).to_string().into();
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new(label, Kind::Mcp, Origin::User);
        Arc::new(Source::read(info, &text, entries.iter().map(|entry| entry.get())).0)
    }

    fn told(sources: Vec<Arc<Source>>) -> Vec<String> {
        let catalog = Catalog::new(sources, Arc::default());
        let found = findings(&catalog, &catalog.view(&Scope::all()));
        found.iter().map(|found| format!("{} {}", catalog.tool(found.id).tool, found.code)).collect()
    }

    #[test]
    fn tools_that_may_be_mistaken_for_another_are_told_once() {
        let tool = |name: &str, description: &str| json!({ "name": name, "description": description });
        let list = "Lists the files of a folder. ";
        for (label, one, other, expected) in [
            (
                "the same words",
                tool("drop", "Removes a file for good"),
                tool("delete", "For good removes a file"),
                &["delete alike"][..],
            ),
            (
                "nearly the same, of one name",
                tool("getUser", "Get the details of a user of the team by name"),
                tool("get_users", "Get the details of users of a team by names or id"),
                &["get_users nearly-alike"],
            ),
            (
                "nearly the same, of other names",
                tool("list_coupons", "Get the list of all coupons of the shop by name"),
                tool("list_prices", "Get the list of all prices of the shop by name"),
                &[],
            ),
            (
                "one name, another matter",
                tool("search", "Find the papers of a journal by their title"),
                tool("search", "Look for flights between two cities on a day"),
                &[],
            ),
            (
                "the same beginning",
                tool("list_directory", &format!("{list}Their names, one a line, folders before files.")),
                tool("list_directory_sizes", &format!("{list}With sizes in bytes, the largest first.")),
                &["list_directory_sizes same-summary"],
            ),
            (
                "nothing said",
                tool("run", "Go"),
                tool("start", "Go"),
                &["run short-description", "start short-description"],
            ),
        ] {
            // `a` is looked at first.
            let mut told = told(vec![source("a", &[one]), source("b", &[other])]);
            told.retain(|found| !found.contains("lost-by"));
            assert_eq!(told, expected, "{label}");
        }
    }

    #[test]
    fn a_tool_that_its_own_words_do_not_find_is_told() {
        let many =
            |n: usize| json!({ "name": format!("get_user_{n}"), "description": "Get user. Get user, the user." });
        let mut tools: Vec<Value> = (0..6).map(many).collect();
        let long = format!("Get user. {}", "Returns more than anybody would ever want to know. ".repeat(20));
        tools.push(json!({ "name": "user", "description": long }));
        let told = told(vec![source("s", &tools)]);
        assert!(told.contains(&"user lost-by-description".to_owned()), "{told:?}");
    }
}
