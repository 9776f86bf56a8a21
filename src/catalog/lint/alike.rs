//! Tools that a model may take for one another, since they say the same of themselves.

use rustc_hash::FxHashMap;

use super::Told;
use super::described::{FEWEST_WORDS, said, stems};
use crate::catalog::listing::sentence;
use crate::catalog::{Catalog, ToolId};

/// So many tools named with the same words are compared with those that follow.
const MAX_COMPARED: usize = 32;

/// Tools met before, by what may be mistaken for the same.
#[derive(Default)]
pub struct Alike {
    /// By the words of description and parameters.
    words: FxHashMap<Vec<String>, ToolId>,
    /// By what a listing shows beside the name.
    summaries: FxHashMap<String, ToolId>,
    /// By the words of the name: each tool and the words that it says.
    names: FxHashMap<Vec<String>, Vec<(ToolId, Vec<String>)>>,
}

impl Alike {
    /// What an earlier tool has in common with this one, the most telling first.
    pub fn look(&mut self, catalog: &Catalog, id: ToolId) -> Option<Told> {
        let tool = catalog.tool(id);
        let name = |id: &ToolId| &catalog.tool(*id).name;
        let said = said(tool);
        if said.is_empty() {
            return None;
        }
        let same = self.words.get(&said).map(|first| {
            ("alike", format!("says with the same words what `{}` does: a model cannot tell them apart", name(first)))
        });
        self.words.entry(said.clone()).or_insert(id);

        let mut named = stems(&tool.tool, true);
        named.sort();
        named.dedup();
        let named = self.names.entry(named).or_default();
        let near = named.iter().find(|(_, other)| are_nearly_the_same(&said, other)).map(|(first, _)| {
            (
                "nearly-alike",
                format!(
                    "is named and described with nearly the same words as `{}`: say what sets them apart",
                    name(first)
                ),
            )
        });
        if named.len() < MAX_COMPARED {
            named.push((id, said));
        }

        let summary = sentence::summary(&tool.description()).to_lowercase();
        let first =
            self.summaries.get(&summary).filter(|_| summary.split(' ').nth(FEWEST_WORDS - 1).is_some()).map(|first| {
                (
                    "same-summary",
                    format!(
                        "begins as `{}` does, and a listing shows no more of either: begin with what sets it apart",
                        name(first)
                    ),
                )
            });
        self.summaries.entry(summary).or_insert(id);
        same.or(near).or(first)
    }
}

/// Whether of all the words of two, given sorted, at least four fifths are in both.
fn are_nearly_the_same(one: &[String], other: &[String]) -> bool {
    let both = one.iter().filter(|word| other.binary_search(word).is_ok()).count();
    both * 5 >= (one.len() + other.len() - both) * 4
}
