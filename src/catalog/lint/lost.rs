//! Tools that their own words do not find.

use super::Told;
use crate::catalog::listing::sentence;
use crate::catalog::view::View;
use crate::catalog::{Catalog, ToolId, search, words};

/// Whether the words of its name, and its first sentence, find a tool.
pub fn look(catalog: &Catalog, view: &View, id: ToolId) -> Vec<Told> {
    let tool = catalog.tool(id);
    let mut named = Vec::new();
    words::each_identifier_word(&catalog.source_of(id).info.name, |word| named.push(word.to_owned()));
    words::each_identifier_word(&tool.tool, |word| named.push(word.to_owned()));
    let sentence = sentence::first(&tool.description(), usize::MAX);
    // A query ends without a full stop.
    let sentence = sentence.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let queries = [
        ("lost-by-name", "the words of its name find", named.join(" ")),
        ("lost-by-description", "its first sentence finds", sentence),
    ];
    let told = queries.into_iter().filter_map(|(code, what, query)| {
        query.split_whitespace().nth(1)?;
        let found = search::run(catalog, view, &query, None);
        // Where nothing is found there was no word in it.
        let first = found.matches.first().filter(|_| !found.matches.contains(&id))?;
        let (first, shown) = (&catalog.tool(*first).name, found.matches.len());
        let message =
            format!("is not among the first {shown} that {what}, but `{first}` first: say what sets it apart");
        Some((code, message))
    });
    told.collect()
}
