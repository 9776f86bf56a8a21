//! Schemas on demand: what `tool_describe` answers.

use super::json_text::{push_compact, push_string};
use super::view::View;
use super::{Catalog, Named};

/// DESCRIBE-1 … DESCRIBE-4: the answer as JSON. `names` are in the order asked, each once. `withheld` says of a name that
/// is no tool now why it may be one all the same.
pub fn answer(catalog: &Catalog, view: &View, names: &[String], withheld: impl Fn(&str) -> Option<String>) -> String {
    let mut tools = String::new();
    let mut errors = String::new();
    let mut not_found = String::new();
    let mut described = Vec::new();
    for name in names {
        match catalog.resolve(name.trim(), view) {
            Named::Deferred(id) => {
                if described.contains(&id) {
                    continue;
                }
                described.push(id);
                let tool = catalog.tool(id);
                separate(&mut tools);
                push_string(&tool.name, &mut tools);
                tools.push_str(":{\"description\":");
                push_string(&tool.description(), &mut tools);
                tools.push_str(",\"parameters\":");
                push_compact(tool.schema().unwrap_or("{}"), &mut tools);
                tools.push('}');
            }
            Named::Core | Named::Visible(_) | Named::Bridge => {
                separate(&mut errors);
                push_string(name, &mut errors);
                errors.push(':');
                push_string(&catalog.called_directly(name, view), &mut errors);
            }
            Named::Unknown => match withheld(name.trim()) {
                Some(why) => {
                    separate(&mut errors);
                    push_string(name, &mut errors);
                    errors.push(':');
                    push_string(&why, &mut errors);
                }
                None => {
                    separate(&mut not_found);
                    push_string(name, &mut not_found);
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
        push_string("Take names from the listing or from tool_search, letter by letter.", &mut out);
    }
    out.push('}');
    out
}

fn separate(list: &mut String) {
    if !list.is_empty() {
        list.push(',');
    }
}
