//! Schemas on demand: what `tool_describe` answers.

use serde_json::value::RawValue;

use super::json_text::{push_compact, push_string};
use super::view::View;
use super::{Catalog, Named};

/// Names told of a name that several tools have, and bytes of a hint after which no more are.
const MAX_SEVERAL: usize = 5;
const MAX_HINT: usize = 1000;

/// What somebody else says of a name that the catalog does not know.
#[derive(Debug, Clone)]
pub enum Elsewhere {
    /// There is a tool.
    Tool {
        /// Its visible name.
        name: String,
        /// Its description.
        description: String,
        /// The JSON of its schema.
        parameters: Box<RawValue>,
    },
    /// It could not be asked about, and why.
    Error(String),
}

/// DESCRIBE-1 … DESCRIBE-4: the answer as JSON. `names` are in the order asked, each once.
pub fn answer(catalog: &Catalog, view: &View, names: &[String]) -> String {
    answer_with(catalog, view, names, |_| None)
}

/// The same, where names that the catalog does not know may be known elsewhere (CONN-9).
pub fn answer_with<'a>(
    catalog: &Catalog,
    view: &View,
    names: &[String],
    elsewhere: impl Fn(&str) -> Option<&'a Elsewhere>,
) -> String {
    let mut remote = Vec::new();
    let mut tools = String::new();
    let mut errors = String::new();
    let mut not_found = String::new();
    let mut described = Vec::new();
    let mut hint = String::new();
    for name in names {
        match catalog.resolve(name.trim(), view) {
            Named::Deferred(id) => {
                if described.contains(&id) {
                    continue;
                }
                described.push(id);
                let tool = catalog.tool(id);
                push_tool(&tool.name, &tool.description(), tool.schema().unwrap_or("{}"), &mut tools);
            }
            Named::Core | Named::Visible(_) | Named::Bridge => {
                push_error(name, &catalog.called_directly(name, view), &mut errors);
            }
            Named::Unknown => match elsewhere(name) {
                Some(Elsewhere::Tool { name, .. }) if remote.contains(&name) => {}
                Some(Elsewhere::Tool { name, description, parameters }) => {
                    remote.push(name);
                    push_tool(name, description, parameters.get(), &mut tools);
                }
                Some(Elsewhere::Error(why)) => push_error(name, why, &mut errors),
                None => {
                    separate(&mut not_found);
                    push_string(name, &mut not_found);
                    let several = catalog.ambiguous(name, view);
                    if !several.is_empty() && hint.len() < MAX_HINT {
                        let names = several.iter().take(MAX_SEVERAL).map(|id| &*catalog.tool(*id).name);
                        let names: Vec<&str> = names.collect();
                        hint.push_str(&format!(
                            "{name} is the name of {} tools: {}. ",
                            several.len(),
                            names.join(", ")
                        ));
                    }
                }
            },
        }
    }
    let mut out = format!("{{\"tools\":{{{tools}}}");
    if !errors.is_empty() {
        out.push_str(&format!(",\"errors\":{{{errors}}}"));
    }
    if !not_found.is_empty() {
        out.push_str(&format!(",\"not_found\":[{not_found}],\"hint\":"));
        hint.push_str("Take names from the listing or from tool_search, letter by letter.");
        push_string(&hint, &mut out);
    }
    out.push('}');
    out
}

fn push_tool(name: &str, description: &str, parameters: &str, tools: &mut String) {
    separate(tools);
    push_string(name, tools);
    tools.push_str(":{\"description\":");
    push_string(description, tools);
    tools.push_str(",\"parameters\":");
    push_compact(parameters, tools);
    tools.push('}');
}

fn push_error(name: &str, why: &str, errors: &mut String) {
    separate(errors);
    push_string(name, errors);
    errors.push(':');
    push_string(why, errors);
}

fn separate(list: &mut String) {
    if !list.is_empty() {
        list.push(',');
    }
}
