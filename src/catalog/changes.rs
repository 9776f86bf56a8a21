//! What became of a catalog when its sources were read again: names that came, went, or mean something else.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::json_text::push_compact;
use super::source::{Origin, Source};
use super::{Catalog, ToolId};

/// Differences between two catalogs, each list sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Visible names that were none before.
    pub added: Vec<String>,
    /// Visible names that are none any more.
    pub removed: Vec<String>,
    /// Visible names under which another definition stands, or one of another source.
    pub changed: Vec<String>,
    /// Sources of any of these, before or after, and those that came, went or are described otherwise.
    pub sources: Vec<String>,
}

impl Changes {
    /// What differs, other than by what the connection registered: that is its own doing, and known to it. Sources that
    /// are the very same in both cost nothing.
    pub fn between(old: &Catalog, new: &Catalog) -> Self {
        let before: FxHashMap<&str, &Arc<Source>> = by_name(old);
        let after: FxHashMap<&str, &Arc<Source>> = by_name(new);
        let mut changes = Self::default();
        let gone =
            before.iter().filter(|(name, _)| !after.contains_key(*name)).map(|(name, was)| (*name, Some(*was), None));
        let here = after.iter().map(|(name, is)| (*name, before.get(name).copied(), Some(*is)));
        for (name, was, is) in here.chain(gone) {
            let same = matches!((was, is), (Some(was), Some(is)) if Arc::ptr_eq(was, is));
            let own = [was, is].into_iter().flatten().any(|source| source.info.origin == Origin::Connection);
            if !same && !own {
                changes.add(name, was, is, old, new);
            }
        }
        for list in [&mut changes.added, &mut changes.removed, &mut changes.changed, &mut changes.sources] {
            list.sort_unstable();
            // A name that went from one source to another is met in both.
            list.dedup();
        }
        changes
    }

    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    fn add(&mut self, source: &str, was: Option<&Arc<Source>>, is: Option<&Arc<Source>>, old: &Catalog, new: &Catalog) {
        let count = |changes: &Self| changes.added.len() + changes.removed.len() + changes.changed.len();
        let before = count(self);
        for tool in is.into_iter().flat_map(|source| &source.tools) {
            match (old.find(&tool.name), new.find(&tool.name)) {
                (None, Some(_)) => self.added.push(tool.name.to_string()),
                (Some(was), Some(is)) if differ(old, was, new, is) => self.changed.push(tool.name.to_string()),
                _ => {}
            }
        }
        for tool in was.into_iter().flat_map(|source| &source.tools) {
            match (old.find(&tool.name), new.find(&tool.name)) {
                (Some(_), None) => self.removed.push(tool.name.to_string()),
                // Another source had the name too and has it for itself now.
                (Some(was), Some(is)) if differ(old, was, new, is) => self.changed.push(tool.name.to_string()),
                _ => {}
            }
        }
        if count(self) > before || was.map(|was| &was.info) != is.map(|is| &is.info) {
            self.sources.push(source.to_owned());
        }
    }
}

fn by_name(catalog: &Catalog) -> FxHashMap<&str, &Arc<Source>> {
    catalog.sources.iter().map(|source| (source.info.name.as_str(), source)).collect()
}

/// Whether a name means something else now. White space between tokens means nothing.
fn differ(old: &Catalog, was: ToolId, new: &Catalog, is: ToolId) -> bool {
    let (from, to) = (&old.source_of(was).info, &new.source_of(is).info);
    if (&from.name, from.kind) != (&to.name, to.kind) {
        return true;
    }
    let (before, after) = (old.tool(was), new.tool(is));
    let compact = |json: &str| {
        let mut out = String::with_capacity(json.len());
        push_compact(json, &mut out);
        out
    };
    !Arc::ptr_eq(before, after) && before.raw() != after.raw() && compact(before.raw()) != compact(after.raw())
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::catalog::policy::Policy;
    use crate::catalog::source::{Kind, SourceInfo};

    fn source(name: &str, origin: Origin, tools: &str) -> Arc<Source> {
        let text: Arc<str> = tools.into();
        let entries: Vec<&RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new(name, Kind::Plugin, origin);
        Arc::new(Source::read(info, &text, entries.iter().map(|entry| entry.get())).0)
    }

    fn user(name: &str, tools: &str) -> Arc<Source> {
        source(name, Origin::User, tools)
    }

    /// `+added -removed ~changed @source`.
    fn between(old: &[&Arc<Source>], new: &[&Arc<Source>]) -> String {
        let catalog = |sources: &[&Arc<Source>]| {
            Catalog::new(sources.iter().map(|source| (*source).clone()), Arc::new(Policy::default()))
        };
        let Changes { added, removed, changed, sources } = Changes::between(&catalog(old), &catalog(new));
        let mark = |mark: &'static str, names: Vec<String>| names.into_iter().map(move |name| format!("{mark}{name}"));
        let all = mark("+", added).chain(mark("-", removed)).chain(mark("~", changed)).chain(mark("@", sources));
        all.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn differences_are_told_by_name() {
        let ab = user("one", r#"[{"name":"a"},{"name":"b"}]"#);
        let ab_again = user("one", r#"[{"name": "a"}, {"name":"b"}]"#);
        let ba = user("one", r#"[{"name":"b"},{"name":"a"}]"#);
        let bc = user("one", r#"[{"name":"b","description":"new"},{"name":"c"}]"#);
        let a_elsewhere = user("two", r#"[{"name":"a"}]"#);
        let empty = user("one", "[]");
        let own = source("own", Origin::Connection, r#"[{"name":"x"}]"#);
        let own_one = source("one", Origin::Connection, r#"[{"name":"x"}]"#);
        for (label, old, new, expected) in [
            ("the same source", vec![&ab], vec![&ab], ""),
            ("the same content", vec![&ab], vec![&ab_again], ""),
            ("the same content in another order", vec![&ab], vec![&ba], ""),
            ("some of each", vec![&ab], vec![&bc], "+c -a ~b @one"),
            ("a source that came", vec![], vec![&ab], "+a +b @one"),
            ("a source that went", vec![&ab], vec![], "-a -b @one"),
            ("a source without tools that came", vec![], vec![&empty], "@one"),
            ("a name that another source has now", vec![&ab], vec![&a_elsewhere], "-b ~a @one @two"),
            (
                "a name that another source has for itself now",
                vec![&ab, &a_elsewhere],
                vec![&a_elsewhere],
                "-b ~a @one",
            ),
            ("a name that another source still has", vec![&a_elsewhere, &ab], vec![&ab], "@two"),
            ("what was registered", vec![&ab], vec![&ab, &own], ""),
            ("what was registered in the place of a file's", vec![&ab], vec![&own_one], ""),
            ("a file beside what was registered", vec![&own], vec![&own, &empty], "@one"),
        ] {
            assert_eq!(between(&old, &new), expected, "{label}");
        }
    }
}
