//! Search over the deferred tools of a scope: matches behind a gate and a floor, near answers beside them, and the
//! answer a model reads. It would rather say nothing than something plausible and wrong.

use rustc_hash::FxHashSet;

use super::json_text::{push_compact, push_string};
use super::near::Nearness;
use super::query::Query;
use super::view::View;
use super::{Catalog, ToolId, only};

/// Most sources in the summary of a group without matches.
const MAX_SOURCES: usize = 40;
/// Longest description in an answer, in characters.
const MAX_DESCRIPTION: usize = 500;

/// What one query finds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The query as asked, as far as it counts.
    pub query: String,
    /// Tools that answer it, best first.
    pub matches: Vec<ToolId>,
    /// Tools that answer it in part.
    pub near: Vec<Near>,
    /// Exact names that found no place.
    pub cut: Vec<String>,
    /// Whether some of the query did not count.
    pub truncated: bool,
    /// Words that no tool in scope holds; filled where there is no match.
    pub unanswered: Vec<String>,
}

/// A tool that answers a query in part.
#[derive(Debug, PartialEq, Eq)]
pub struct Near {
    /// The tool.
    pub id: ToolId,
    /// The query's words that it lacks.
    pub missing: Vec<String>,
}

/// A server that is configured but down: its name and why.
pub type Unavailable<'a> = (&'a str, &'a str);

/// Runs one query.
pub fn run(catalog: &Catalog, view: &View, text: &str, limit: Option<u32>) -> Group {
    let settings = &catalog.policy.settings;
    let most = settings.max_search_limit as usize;
    let limit = limit.unwrap_or(settings.search_default_limit).clamp(1, settings.max_search_limit) as usize;
    let query = Query::new(catalog, view, text);
    let mut group = Group { query: query.shown(), truncated: query.truncated, ..Group::default() };

    let meant = catalog.meant(query.text.trim(), view);
    let exact = only(&meant).map_or_else(|| names_within(catalog, view, query.text), |one| vec![one]);
    group.cut = exact.iter().skip(most).map(|id| catalog.tool(*id).name.to_string()).collect();
    group.matches.extend(exact.into_iter().take(most));
    if group.matches.is_empty() {
        // The query is the name of several tools: each is a better answer than any that is only like it.
        group.matches.extend(catalog.by_name(meant).into_iter().take(limit));
    }

    let ranked = gated(&query, limit, &group.matches);
    let room = limit.saturating_sub(group.matches.len());
    group.matches.extend(ranked.into_iter().take(room));

    if group.matches.is_empty() {
        let unheld = query.terms.iter().filter(|term| term.df == 0);
        group.unanswered = unheld.map(|term| term.word.clone()).collect();
    }
    if settings.near && group.matches.len() < limit {
        group.near = near(&query, limit - group.matches.len(), &group.matches);
    }
    group
}

/// SEARCH-6: tools whose exact name stands in a query, in its order.
fn names_within(catalog: &Catalog, view: &View, text: &str) -> Vec<ToolId> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let separator = |c: char| matches!(c, '_' | '-' | '.' | ':' | '/');
    for run in text.split(|c: char| !(c.is_alphanumeric() || separator(c))) {
        if !run.contains(separator) {
            continue;
        }
        let trimmed = run.trim_matches(separator);
        let exact = |name| only(&catalog.meant(name, view));
        let id = exact(run).or_else(|| exact(trimmed));
        found.extend(id.filter(|id| seen.insert(*id)));
    }
    found
}

/// The best documents behind gate and floor.
fn gated(query: &Query<'_>, limit: usize, except: &[ToolId]) -> Vec<ToolId> {
    let Some(rarest) = query.rarest().filter(|at| query.terms[*at].df > 0) else { return Vec::new() };
    let floor = query.floor();
    let mut best = Best::new(query.catalog, limit);
    query.each_holder(&[rarest], |holder| {
        if holder.held() >= floor && !except.contains(&holder.id) {
            best.offer(query.rank(query.score(&holder), query.name_share(&holder)), holder.id, 0);
        }
    });
    best.kept.into_iter().map(|(_, id, _)| id).collect()
}

/// SEARCH-12: tools that hold at least two of the query's content words and are near enough.
fn near(query: &Query<'_>, room: usize, except: &[ToolId]) -> Vec<Near> {
    let nearness = Nearness::new(query);
    let mut best = Best::new(query.catalog, room);
    query.each_holder_or_beside(&nearness.essential, |holder| {
        if except.contains(&holder.id) {
            return;
        }
        let score = nearness.score(&holder);
        let shares = nearness.of(&holder, score);
        if shares.is_enough() {
            best.offer(query.rank(score, shares.name), holder.id, holder.lacks());
        }
    });
    best.kept.into_iter().map(|(_, id, lacks)| Near { id, missing: words(query, lacks) }).collect()
}

/// The words of some of a query's terms, given as bits.
fn words(query: &Query<'_>, terms: u64) -> Vec<String> {
    let some = query.terms.iter().enumerate().filter(|(at, _)| terms >> at & 1 == 1);
    some.map(|(_, term)| term.word.clone()).collect()
}

/// The highest-scored so many, ties by name.
struct Best<'a> {
    catalog: &'a Catalog,
    limit: usize,
    /// Score, tool, and the query's terms that it lacks, as bits.
    kept: Vec<(i64, ToolId, u64)>,
}

impl<'a> Best<'a> {
    fn new(catalog: &'a Catalog, limit: usize) -> Self {
        Self { catalog, limit, kept: Vec::with_capacity(limit.min(64) + 1) }
    }

    fn offer(&mut self, score: i64, id: ToolId, lacks: u64) {
        let full = self.kept.len() == self.limit;
        if full && self.kept.last().is_none_or(|(lowest, ..)| score < *lowest) {
            return;
        }
        let name = |id: ToolId| &*self.catalog.tool(id).name;
        let before =
            |(other, kept, _): &(i64, ToolId, u64)| *other > score || (*other == score && name(*kept) < name(id));
        let at = self.kept.partition_point(before);
        self.kept.insert(at, (score, id, lacks));
        self.kept.truncate(self.limit);
    }
}

/// SEARCH-8, SEARCH-9: the answer to a `tool_search` as JSON.
pub fn answer(catalog: &Catalog, view: &View, groups: &[Group], unavailable: &[Unavailable<'_>]) -> String {
    let mut out = String::with_capacity(1024);
    out.push_str("{\"results\":[");
    for (at, group) in groups.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_group(catalog, view, group, unavailable, &mut out);
    }
    out.push_str("],\"tools\":{");
    let mut seen = FxHashSet::default();
    for id in groups.iter().flat_map(|group| &group.matches) {
        if seen.insert(*id) {
            if seen.len() > 1 {
                out.push(',');
            }
            push_tool(catalog, *id, &mut out);
        }
    }
    out.push_str("},\"total_available\":");
    out.push_str(&view.deferred_count.to_string());
    out.push('}');
    out
}

/// CONN-2: the same answer, with what became of the search among remote tools.
pub fn with_remote_status(mut answer: String, status: &str, message: &str) -> String {
    if answer.pop().is_some() {
        answer.push_str(",\"connectors\":{\"status\":");
        push_string(status, &mut answer);
        answer.push_str(",\"message\":");
        push_string(message, &mut answer);
        answer.push_str("}}");
    }
    answer
}

fn push_group(catalog: &Catalog, view: &View, group: &Group, unavailable: &[Unavailable<'_>], out: &mut String) {
    out.push_str("{\"query\":");
    push_string(&group.query, out);
    out.push_str(",\"matches\":");
    push_strings(group.matches.iter().map(|id| &*catalog.tool(*id).name), out);
    if !group.cut.is_empty() {
        out.push_str(",\"cut\":");
        push_strings(group.cut.iter().map(String::as_str), out);
    }
    if group.truncated {
        out.push_str(",\"truncated\":true");
    }
    if !group.near.is_empty() {
        out.push_str(",\"near\":[");
        for (at, near) in group.near.iter().enumerate() {
            out.push_str(if at == 0 { "{\"name\":" } else { ",{\"name\":" });
            let tool = catalog.tool(near.id);
            push_string(&tool.name, out);
            out.push_str(",\"description\":");
            push_string(cut(&tool.description(), MAX_DESCRIPTION).as_ref(), out);
            out.push_str(",\"missing\":");
            push_strings(near.missing.iter().map(String::as_str), out);
            out.push('}');
        }
        out.push_str("],\"near_note\":\"Close, but not what was asked: each lacks the words under missing.\"");
    }
    if group.matches.is_empty() {
        out.push_str(",\"unanswered_terms\":");
        push_strings(group.unanswered.iter().map(String::as_str), out);
        push_sources(catalog, view, unavailable, out);
        out.push_str(",\"hint\":");
        push_string(hint(group), out);
    }
    out.push('}');
}

fn hint(group: &Group) -> &'static str {
    if group.unanswered.is_empty() {
        "No tool holds enough of these words. Before concluding that the capability is missing, search again with fewer words: \
         the service's name plus an action or object."
    } else {
        "Search again without the unanswered words, with the service's name plus an action or object, before concluding that \
         the capability is missing."
    }
}

/// The sources with deferred tools, those with most tools kept first, by label.
fn push_sources(catalog: &Catalog, view: &View, unavailable: &[Unavailable<'_>], out: &mut String) {
    let mut sources: Vec<(&str, u32, Option<&str>)> = catalog
        .sources
        .iter()
        .zip(&view.counts)
        .filter(|(_, count)| **count > 0)
        .map(|(source, count)| (source.info.name.as_str(), *count, None))
        .collect();
    for (name, reason) in unavailable {
        match sources.iter_mut().find(|(known, ..)| known == name) {
            Some(known) => known.2 = Some(reason),
            None => sources.push((name, 0, Some(reason))),
        }
    }
    sources.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let more = sources.len().saturating_sub(MAX_SOURCES);
    sources.truncate(MAX_SOURCES);
    sources.sort();
    out.push_str(",\"available_sources\":[");
    for (at, (name, count, reason)) in sources.into_iter().enumerate() {
        out.push_str(if at == 0 { "{\"name\":" } else { ",{\"name\":" });
        push_string(name, out);
        out.push_str(",\"tool_count\":");
        out.push_str(&count.to_string());
        if let Some(reason) = reason {
            out.push_str(",\"unavailable\":");
            push_string(reason, out);
        }
        out.push('}');
    }
    out.push(']');
    if more > 0 {
        out.push_str(",\"more_sources\":");
        out.push_str(&more.to_string());
    }
}

fn push_tool(catalog: &Catalog, id: ToolId, out: &mut String) {
    let tool = catalog.tool(id);
    let info = &catalog.source_of(id).info;
    push_string(&tool.name, out);
    out.push_str(":{\"source\":\"");
    out.push_str(info.kind.as_str());
    out.push_str("\",\"source_name\":");
    push_string(&info.name, out);
    out.push_str(",\"description\":");
    push_string(&cut(&tool.description(), MAX_DESCRIPTION), out);
    out.push_str(",\"required\":");
    push_compact(tool.required(), out);
    out.push('}');
}

fn push_strings<'a>(texts: impl Iterator<Item = &'a str>, out: &mut String) {
    out.push('[');
    for (at, text) in texts.enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_string(text, out);
    }
    out.push(']');
}

/// A text of at most `most` characters, the last of them `…` where it was cut.
fn cut(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= most || text.chars().nth(most).is_none() {
        return text.into();
    }
    let end = text.char_indices().nth(most - 1).map_or(text.len(), |(at, _)| at);
    format!("{}…", text[..end].trim_end()).into()
}
