//! A source of tools and its tools, as they were registered: immutable, shared by every catalog that holds it.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::definition::{Definition, Format, Parameters};
use super::found_by::FoundBy;
use super::group::Group;
use super::json_text::{decode_string, is_flat, offset_in};
use super::listing::{Block, Line};
use super::names::{self, Naming};
use super::pattern::content_hash;
use super::policy::Policy;
use super::render;
use super::segment::Segment;
use super::stems::Stems;
use super::tokens::Quarters;

/// What kind of source it is; the order is that of visible tools and of who wins a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SourceKind")]
pub enum Kind {
    /// The host's own tools: never deferred.
    Core,
    /// A plugin of the host.
    Plugin,
    /// An MCP server.
    Mcp,
    /// The gateway's remote tools.
    Connectors,
    /// Not said: its tools stay visible.
    Unknown,
}

impl Kind {
    /// As the wire spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Plugin => "plugin",
            Self::Mcp => "mcp",
            Self::Connectors => "connectors",
            Self::Unknown => "unknown",
        }
    }

    /// How such a source's tools are named unless it says otherwise.
    pub fn default_naming(self) -> Naming {
        if self == Self::Mcp { Naming::Prefixed } else { Naming::AsIs }
    }
}

/// Where a source was registered, the nearest first: of two sources of one name the nearer wins whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// Inline in the request.
    Inline,
    /// `registry/register` of this connection.
    Connection,
    /// An attached MCP server.
    Server,
    /// A connector gateway, for one search.
    Gateway,
    /// A registry file of the workspace.
    Workspace,
    /// A registry file of the user.
    User,
    /// `--registry`.
    Flag,
}

impl Origin {
    /// As `registry/list` spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inline | Self::Connection => "connection",
            Self::Server => "server",
            Self::Gateway => "gateway",
            Self::Workspace | Self::User | Self::Flag => "file",
        }
    }
}

/// What a registration says about a source beside its tools.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceInfo {
    /// Name, which is also the label that readers see.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Naming of its tools.
    pub naming: Naming,
    /// Whether its tools may run beside others (PLAN-1).
    pub parallel: bool,
    /// Where it was registered.
    pub origin: Origin,
    /// Words that it is to be found by.
    pub found_by: Arc<FoundBy>,
}

impl SourceInfo {
    /// A source named by default for its kind.
    pub fn new(name: impl Into<String>, kind: Kind, origin: Origin) -> Self {
        let found_by = Arc::default();
        Self { name: name.into(), kind, naming: kind.default_naming(), parallel: false, origin, found_by }
    }

    /// `mcp-<name>` for an MCP server, `<name>` otherwise: empty for inline tools whose source is not known.
    pub fn toolset(&self) -> Cow<'_, str> {
        match self.kind {
            Kind::Mcp => Cow::Owned(format!("mcp-{}", self.name)),
            _ => Cow::Borrowed(&self.name),
        }
    }

    /// Whether a tool is named in both alike.
    fn names_as(&self, other: &Self) -> bool {
        (&self.name, self.naming, self.origin) == (&other.name, other.naming, other.origin)
    }
}

/// One registered tool.
pub struct Tool {
    /// The name the model sees.
    pub name: Box<str>,
    /// The name its source gave it.
    pub tool: Box<str>,
    /// A copy of its own: a tool outlives the text it was read from, which one tool must not keep alive for all.
    raw: Box<str>,
    description: Range<u32>,
    schema: Range<u32>,
    /// The shape it came in; `None` where no schema tells.
    pub format: Option<Format>,
    /// Whether it came with a request, where `source` is no part of the definition.
    pub inline: bool,
    /// Estimates of the rendered definition a format, in quarters plus one; 0 is not yet known.
    quarters: [AtomicU32; 4],
    line: OnceLock<Arc<Line>>,
    /// Where `required` stands in the schema: start and length; all ones is not yet known.
    required: AtomicU64,
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).field("raw", &self.raw()).finish()
    }
}

impl Tool {
    fn new(visible: String, own: &str, definition: &Definition<'_>, entry: &str, inline: bool) -> Self {
        let range = |slice: &str| {
            let start = offset_in(entry, slice);
            start as u32..(start + slice.len()) as u32
        };
        let flat = is_flat(entry, MAX_DEPTH);
        Self {
            name: visible.into(),
            tool: own.into(),
            raw: entry.into(),
            description: definition.description.map_or(0..0, range),
            schema: definition.schema.filter(|_| flat).map_or(0..0, range),
            format: definition.format.filter(|_| flat),
            inline,
            quarters: Default::default(),
            line: OnceLock::new(),
            required: AtomicU64::new(u64::MAX),
        }
    }

    fn slice(&self, range: &Range<u32>) -> &str {
        &self.raw[range.start as usize..range.end as usize]
    }

    /// The definition's JSON as it was registered.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The description's text, empty where there is none.
    pub fn description(&self) -> Cow<'_, str> {
        decode_string(self.slice(&self.description)).unwrap_or_default()
    }

    /// The description's JSON, empty where there is none.
    pub fn description_json(&self) -> &str {
        self.slice(&self.description)
    }

    /// The schema's JSON as it was registered, if there is one.
    pub fn schema(&self) -> Option<&str> {
        Some(self.slice(&self.schema)).filter(|schema| !schema.is_empty())
    }

    /// Names of its parameters and of those required.
    pub fn parameters(&self) -> Parameters<'_> {
        let Some(schema) = self.schema() else { return Parameters::default() };
        let read = Parameters::read(schema);
        let place = read.required.map_or(0, |json| ((offset_in(schema, json) as u64) << 32) | json.len() as u64);
        self.required.store(place, Ordering::Relaxed);
        read
    }

    /// The JSON array of its required parameters' names.
    pub fn required(&self) -> &str {
        let mut place = self.required.load(Ordering::Relaxed);
        if place == u64::MAX {
            // Indexing notes it, so this is for those who ask before.
            self.parameters();
            place = self.required.load(Ordering::Relaxed);
        }
        let (start, length) = ((place >> 32) as usize, (place & u64::from(u32::MAX)) as usize);
        self.schema()
            .and_then(|schema| schema.get(start..start + length))
            .filter(|json| !json.is_empty())
            .unwrap_or("[]")
    }

    /// Its line in the listing.
    pub fn line(&self) -> &Arc<Line> {
        self.line.get_or_init(|| Arc::new(Line::new(&self.name, &self.description())))
    }

    /// The estimate of the definition in a format, as compact JSON.
    pub fn quarters(&self, format: Format) -> Quarters {
        let slot = &self.quarters[format as usize];
        match slot.load(Ordering::Relaxed) {
            0 => {
                let mut out = String::new();
                render::push_tool(self, format, &mut out);
                let quarters = Quarters::of(&out);
                // Two threads may both compute it; they store the same.
                slot.store(u32::try_from(quarters.0 + 1).unwrap_or(u32::MAX), Ordering::Relaxed);
                quarters
            }
            known => Quarters(u64::from(known) - 1),
        }
    }
}

/// A source and its tools.
pub struct Source {
    /// What was said about it.
    pub info: SourceInfo,
    /// Its toolset's name.
    pub toolset: Box<str>,
    /// Its tools, as its definition lists them.
    pub tools: Vec<Arc<Tool>>,
    /// Why it has none for the moment, of a server that is configured and does not answer.
    pub unavailable: Option<Box<str>>,
    /// Positions in that definition of entries that no tool stands for.
    gaps: Vec<usize>,
    /// Tells it from all others there are.
    pub(super) number: u64,
    made: Made,
}

/// The number of the next source.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// What is made of a source once, and serves every catalog that holds it: of a thousand sources of which one has changed,
/// the others are not looked into again.
#[derive(Default)]
struct Made {
    block: OnceLock<Arc<Block>>,
    segment: OnceLock<Segment>,
    hashes: OnceLock<Box<[u32]>>,
    quarters: [OnceLock<Quarters>; 4],
    /// Positions of tools that stay loaded, under the policy with a key.
    loaded: Mutex<Option<(u64, Arc<[u32]>)>>,
    /// The group that it was last the first of.
    group: Mutex<Option<Arc<Group>>>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("info", &self.info).field("tools", &self.tools.len()).finish()
    }
}

/// The hash under which a visible name is found.
pub fn name_hash(name: &str) -> u32 {
    content_hash(&name) as u32
}

/// Problems of a kind told one by one; of more, only how many there are.
const MAX_PROBLEMS: usize = 100;

/// Deepest nesting of a definition. Its schema goes out inside of other JSON, and 128 levels is what parsers take.
const MAX_DEPTH: usize = 100;

/// Problems as they are found, bounded: a list of millions of bad entries must not become millions of messages.
#[derive(Debug, Default)]
pub struct Problems {
    told: Vec<Problem>,
    /// How many were warnings, and how many refusals.
    found: [usize; 2],
}

impl Problems {
    /// Tells one, while there are few of its kind.
    pub fn push(&mut self, problem: Problem) {
        let found = &mut self.found[usize::from(problem.refused)];
        *found += 1;
        if *found <= MAX_PROBLEMS {
            self.told.push(problem);
        }
    }

    /// Those told, and one more that counts the others.
    pub fn finish(mut self) -> Vec<Problem> {
        let more: usize = self.found.iter().map(|found| found.saturating_sub(MAX_PROBLEMS)).sum();
        if more > 0 {
            self.told.push(Problem {
                index: 0,
                offset: 0,
                name: String::new(),
                refused: false,
                code: "more-problems",
                message: format!("{more} more entries of this list are refused or odd: mend those told first"),
            });
        }
        self.told
    }
}

/// Something about one entry of a source's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Position in the source's list of tools.
    pub index: usize,
    /// Byte offset of the entry in the text.
    pub offset: usize,
    /// Its name, as far as it has one.
    pub name: String,
    /// Whether the tool was refused; otherwise it is served and this is a warning.
    pub refused: bool,
    /// Stable name of the kind of problem.
    pub code: &'static str,
    /// What is wrong and what to do.
    pub message: String,
}

impl Source {
    /// Reads a source's tools: `entries` are slices of `text`. A tool is refused only for its name; the others are served.
    pub fn read<'a>(
        info: SourceInfo,
        text: &'a Arc<str>,
        entries: impl IntoIterator<Item = &'a str>,
    ) -> (Self, Vec<Problem>) {
        Self::read_as(info, text, entries.into_iter().map(|entry| (entry, None)), None)
    }

    /// The same, where some entries have a visible name and one of their own beside what they say.
    pub fn read_named<'a>(
        info: SourceInfo,
        text: &'a Arc<str>,
        entries: impl IntoIterator<Item = (&'a str, Option<(&'a str, &'a str)>)>,
    ) -> (Self, Vec<Problem>) {
        Self::read_as(info, text, entries, None)
    }

    /// The same for a source that was read before: a tool whose text did not change is the one of then, with all that is
    /// known of it.
    pub fn reread<'a>(
        info: SourceInfo,
        text: &'a Arc<str>,
        entries: impl IntoIterator<Item = &'a str>,
        last: Option<&Self>,
    ) -> (Self, Vec<Problem>) {
        Self::read_as(info, text, entries.into_iter().map(|entry| (entry, None)), last)
    }

    fn read_as<'a>(
        info: SourceInfo,
        text: &'a Arc<str>,
        entries: impl IntoIterator<Item = (&'a str, Option<(&'a str, &'a str)>)>,
        last: Option<&Self>,
    ) -> (Self, Vec<Problem>) {
        let mut known = Known::new(last.filter(|last| last.info.names_as(&info)));
        let mut problems = Problems::default();
        let mut tools: Vec<Arc<Tool>> = Vec::new();
        let mut gaps = Vec::new();
        let mut seen = FxHashSet::default();
        for (index, (entry, named)) in entries.into_iter().enumerate() {
            let mut problem = |name: &str, refused, code, message: String| {
                if refused {
                    gaps.push(index);
                }
                let offset = offset_in(text, entry);
                problems.push(Problem { index, offset, name: name.to_owned(), refused, code, message });
            };
            let tool = match known.next_if(entry) {
                Some(tool) => tool,
                None => {
                    let definition = Definition::read(entry);
                    let name = named.map(|(_, own)| own).or(definition.name.as_deref()).unwrap_or_default();
                    if name.trim().is_empty() {
                        let message =
                            "the tool has no name: give it a `name` that is a string and not blank".to_owned();
                        problem(name, true, "tool-unnamed", message);
                        continue;
                    }
                    if names::is_bridge(name) {
                        let message = format!("`{name}` is reserved for the bridge: rename the tool");
                        problem(name, true, "tool-reserved-name", message);
                        continue;
                    }
                    let visible = match named {
                        Some((visible, _)) => visible.to_owned(),
                        None => names::visible(&info.name, name, info.naming, info.origin == Origin::Server),
                    };
                    let inline = info.origin == Origin::Inline;
                    known
                        .named(&visible, entry)
                        .unwrap_or_else(|| Arc::new(Tool::new(visible, name, &definition, entry, inline)))
                }
            };
            let (visible, name) = (&tool.name, &tool.tool);
            if !seen.insert(visible.clone()) {
                let message = format!("the source already has a tool that is shown as `{visible}`: rename one of them");
                problem(name, true, "tool-name-taken", message);
                continue;
            }
            match tool.schema() {
                None if !is_flat(entry, MAX_DEPTH) => {
                    let message = format!(
                        "`{name}` is nested deeper than {MAX_DEPTH} levels: its schema is left out, its calls go through unchecked"
                    );
                    problem(name, false, "tool-too-deep", message);
                }
                None if Definition::read(entry).provider_type().is_some() => {}
                None => {
                    let message = format!("`{name}` has no parameter schema: its calls go through unchecked");
                    problem(name, false, "tool-no-schema", message);
                }
                Some(schema) if !schema.starts_with('{') => {
                    let message = format!("the schema of `{name}` is no object: its calls go through unchecked");
                    problem(name, false, "tool-bad-schema", message);
                }
                Some(_) => {}
            }
            tools.push(tool);
        }
        (Self { gaps, ..Self::of(info, tools) }, problems.finish())
    }

    /// Puts the last good definition where an entry is refused: that of the same name where the entry tells one, else
    /// that of the same place. One that is served anyway is put nowhere. `problems` are those of `self`.
    pub fn keeping(self, last: &Self, problems: &mut [Problem]) -> Self {
        if self.gaps.is_empty() || !last.info.names_as(&self.info) {
            return self;
        }
        let by_name: FxHashMap<&str, &Arc<Tool>> = last.tools.iter().map(|tool| (&*tool.tool, tool)).collect();
        let mut served: FxHashSet<Box<str>> = self.tools.iter().map(|tool| tool.name.clone()).collect();
        let mut refused = problems.iter_mut().filter(|problem| problem.refused);
        let (mut tools, mut gaps) = (Vec::with_capacity(self.tools.len()), Vec::new());
        let mut good = self.tools.into_iter();
        let mut bad = self.gaps.into_iter().peekable();
        for index in 0.. {
            if bad.next_if_eq(&index).is_none() {
                match good.next() {
                    Some(tool) => tools.push(tool),
                    None => break,
                }
                continue;
            }
            let problem = refused.next();
            let named = problem.as_ref().and_then(|problem| by_name.get(problem.name.as_str()).copied());
            let found = [named, last.at(index)].into_iter().flatten().find(|tool| !served.contains(&tool.name));
            match (found, problem) {
                (Some(tool), Some(problem)) => {
                    problem.message.push_str("; until then its last good definition is served");
                    served.insert(tool.name.clone());
                    tools.push(tool.clone());
                }
                _ => gaps.push(index),
            }
        }
        Self { gaps, ..Self::of(self.info, tools) }
    }

    /// The tool that stands for the entry at a position of the source's definition.
    fn at(&self, index: usize) -> Option<&Arc<Tool>> {
        match self.gaps.binary_search(&index) {
            Ok(_) => None,
            Err(before) => self.tools.get(index - before),
        }
    }

    /// Whether it is the same as another in every respect, its tools being the very same.
    pub fn is_same(&self, other: &Self) -> bool {
        let same_tools = || self.tools.iter().zip(&other.tools).all(|(a, b)| Arc::ptr_eq(a, b));
        self.info == other.info && self.tools.len() == other.tools.len() && self.gaps == other.gaps && same_tools()
    }

    /// A source of tools that exist already.
    pub fn of(info: SourceInfo, tools: Vec<Arc<Tool>>) -> Self {
        let toolset = info.toolset().into();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { info, toolset, tools, unavailable: None, gaps: Vec::new(), number, made: Made::default() }
    }

    /// The same source, to be found by these words. Its tools are the very same.
    #[must_use]
    pub fn with_words(&self, found_by: FoundBy) -> Self {
        Self {
            gaps: self.gaps.clone(),
            unavailable: self.unavailable.clone(),
            ..Self::of(SourceInfo { found_by: Arc::new(found_by), ..self.info.clone() }, self.tools.clone())
        }
    }

    /// A source that has no tools for the moment, and why.
    pub fn unavailable(info: SourceInfo, reason: &str) -> Self {
        Self { unavailable: Some(reason.into()), ..Self::of(info, Vec::new()) }
    }

    /// The listing block of all its tools.
    pub fn block(&self) -> &Arc<Block> {
        self.made.block.get_or_init(|| Arc::new(self.block_of(self.tools.iter().map(|tool| &**tool))))
    }

    /// The listing block of some of its tools.
    pub fn block_of<'a>(&self, tools: impl Iterator<Item = &'a Tool>) -> Block {
        Block::of_lines(&self.info.name, tools.map(|tool| tool.line().clone()))
    }

    /// A hash of each tool's visible name.
    pub fn name_hashes(&self) -> &[u32] {
        self.made.hashes.get_or_init(|| self.tools.iter().map(|tool| name_hash(&tool.name)).collect())
    }

    /// The estimate of all its tools in a format.
    pub fn quarters(&self, format: Format) -> Quarters {
        let sum = || self.tools.iter().map(|tool| tool.quarters(format)).sum();
        *self.made.quarters[format as usize].get_or_init(sum)
    }

    /// Positions of its tools that a policy keeps loaded, ascending.
    pub fn loaded(&self, policy: &Policy) -> Arc<[u32]> {
        let mut kept = self.made.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some((key, loaded)) if *key == policy.key() => loaded.clone(),
            _ => {
                let stays = |(_, tool): &(u32, &Arc<Tool>)| !policy.may_defer(self.info.kind, &tool.name, &tool.tool);
                let loaded: Arc<[u32]> = (0..).zip(&self.tools).filter(stays).map(|(at, _)| at).collect();
                *kept = Some((policy.key(), loaded.clone()));
                loaded
            }
        }
    }

    /// The group of sources that begins with this one.
    pub(super) fn group(&self, sources: &[Arc<Self>]) -> Arc<Group> {
        let mut kept = self.made.group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = kept.as_ref().filter(|group| group.is_of(sources)) {
            return group.clone();
        }
        kept.insert(Arc::new(Group::new(sources))).clone()
    }

    /// Its part of the search index.
    pub fn segment(&self) -> &Segment {
        self.segment_with(&mut Stems::default()).0
    }

    /// The same, with stems that other sources share. If it is made only now, also the number of each term's stem.
    pub fn segment_with(&self, stems: &mut Stems) -> (&Segment, Vec<u32>) {
        let mut numbers = Vec::new();
        let segment = self.made.segment.get_or_init(|| {
            let made = Segment::build(self, stems);
            numbers = made.1;
            made.0
        });
        (segment, numbers)
    }
}

/// The tools of a source as it was, found by their text without reading it.
struct Known<'a> {
    tools: &'a [Arc<Tool>],
    /// The one that comes next if nothing was added or removed here.
    next: usize,
    /// Positions by name, made when first asked for.
    names: Option<FxHashMap<&'a str, usize>>,
}

impl<'a> Known<'a> {
    fn new(source: Option<&'a Source>) -> Self {
        Self { tools: source.map_or(&[], |source| &source.tools), next: 0, names: None }
    }

    fn next_if(&mut self, entry: &str) -> Option<Arc<Tool>> {
        let tool = self.tools.get(self.next).filter(|tool| *tool.raw == *entry)?;
        self.next += 1;
        Some(tool.clone())
    }

    /// The one of this name, if its text is the entry. The one behind it comes next in any case.
    fn named(&mut self, visible: &str, entry: &str) -> Option<Arc<Tool>> {
        let tools = self.tools;
        let all = || tools.iter().enumerate().map(|(at, tool)| (&*tool.name, at)).collect();
        let at = *self.names.get_or_insert_with(all).get(visible)?;
        self.next = at + 1;
        tools.get(at).filter(|tool| *tool.raw == *entry).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[&str]) -> (Source, Vec<Problem>) {
        let text: Arc<str> = format!("[{}]", entries.join(",")).into();
        let parsed: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new("s", Kind::Mcp, Origin::Connection);
        Source::read(info, &text, parsed.iter().map(|entry| entry.get()))
    }

    #[test]
    fn a_bad_tool_is_refused_and_the_others_are_served() {
        let (source, problems) = read(&[
            r#"{"name":"good","inputSchema":{}}"#,
            "42",
            r#"{"name":" ","inputSchema":{}}"#,
            r#"{"name":"tool_call","inputSchema":{}}"#,
            r#"{"name":"good","inputSchema":{}}"#,
            r#"{"name":"also good"}"#,
            r#"{"name":"x","inputSchema":[]}"#,
        ]);
        assert_eq!(source.tools.iter().map(|t| &*t.tool).collect::<Vec<_>>(), ["good", "also good", "x"]);
        let seen: Vec<_> = problems.iter().map(|p| (p.index, p.refused, p.code)).collect();
        assert_eq!(
            seen,
            [
                (1, true, "tool-unnamed"),
                (2, true, "tool-unnamed"),
                (3, true, "tool-reserved-name"),
                (4, true, "tool-name-taken"),
                (5, false, "tool-no-schema"),
                (6, false, "tool-bad-schema"),
            ]
        );
        assert_eq!(problems[0].offset, 34);
    }

    #[test]
    fn millions_of_bad_entries_are_told_in_few_words() {
        let entries = vec!["1"; 5000];
        let (source, problems) = read(&entries);
        assert!(source.tools.is_empty());
        assert_eq!(problems.len(), MAX_PROBLEMS + 1);
        assert!(problems[MAX_PROBLEMS].message.starts_with("4900 more"), "{}", problems[MAX_PROBLEMS].message);
    }

    #[test]
    fn a_definition_nested_too_deep_loses_its_schema() {
        let deep = format!(r#"{{"name":"a","inputSchema":{}1{}}}"#, "{\"a\":".repeat(5000), "}".repeat(5000));
        let (source, problems) = read(&[&deep]);
        assert_eq!((source.tools[0].schema(), problems[0].code), (None, "tool-too-deep"));
        let mut out = String::new();
        render::push_tool(&source.tools[0], Format::Mcp, &mut out);
        assert!(out.len() < 200, "{out}");
    }

    #[test]
    fn parts_are_slices_of_the_text() {
        let (source, _) = read(&[r#"{"name":"a","description":"one\ntwo","inputSchema":{ "type" : "object" }}"#]);
        let tool = &source.tools[0];
        assert_eq!(&*tool.name, "mcp__s__a");
        assert_eq!(tool.description(), "one\ntwo");
        assert_eq!(tool.schema(), Some(r#"{ "type" : "object" }"#));
        let quarters = Quarters::of(r#"{"name":"mcp__s__a","description":"one\ntwo","inputSchema":{"type":"object"}}"#);
        assert_eq!(tool.quarters(Format::Mcp), quarters);
        assert_eq!(tool.quarters(Format::Mcp), quarters);
    }

    fn reread(entries: &[&str], last: Option<&Source>) -> Source {
        let text: Arc<str> = format!("[{}]", entries.join(",")).into();
        let parsed: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let info = SourceInfo::new("s", Kind::Plugin, Origin::User);
        let (source, mut problems) = Source::reread(info, &text, parsed.iter().map(|entry| entry.get()), last);
        match last {
            Some(last) => source.keeping(last, &mut problems),
            None => source,
        }
    }

    /// Tools of a source with these entries, after one with those; `+` marks one that is the very same.
    fn after(before: &[&str], now: &[&str]) -> String {
        let last = reread(before, None);
        let kept = |tool: &Arc<Tool>| last.tools.iter().any(|other| Arc::ptr_eq(tool, other));
        let source = reread(now, Some(&last));
        let shown = source.tools.iter().map(|tool| format!("{}{}", tool.tool, if kept(tool) { "+" } else { "" }));
        shown.collect::<Vec<_>>().join(" ")
    }

    const A: &str = r#"{"name":"a"}"#;
    const B: &str = r#"{"name":"b"}"#;
    const B2: &str = r#"{"name":"b","description":"other"}"#;
    const C: &str = r#"{"name":"c"}"#;
    const BAD: &str = "42";

    #[test]
    fn a_tool_whose_text_is_the_same_is_the_same() {
        for (before, now, expected) in [
            (vec![A, B, C], vec![A, B, C], "a+ b+ c+"),
            (vec![A, B, C], vec![A, B2, C], "a+ b c+"),
            (vec![A, B, C], vec![A, C], "a+ c+"),
            (vec![A, C], vec![A, B, C], "a+ b c+"),
            (vec![A, B, C], vec![C, B, A], "c+ b+ a+"),
            (vec![A, B], vec![A, A, B], "a+ b+"),
            (vec![], vec![A], "a"),
        ] {
            assert_eq!(after(&before, &now), expected, "{before:?} to {now:?}");
        }
    }

    #[test]
    fn a_bad_entry_keeps_the_last_good_definition() {
        let reserved = r#"{"name":"tool_call"}"#;
        for (label, before, now, expected) in [
            ("of its place", vec![A, B, C], vec![A, BAD, C], "a+ b+ c+"),
            ("of its place, renamed to a reserved name", vec![A, B, C], vec![A, reserved, C], "a+ b+ c+"),
            ("of its place, renamed to a name that is taken", vec![A, B, C], vec![A, A, C], "a+ b+ c+"),
            ("unless it is served elsewhere", vec![A, B], vec![BAD, A, B], "a+ b+"),
            ("of its place among others that change", vec![A, B, C], vec![B2, BAD, A], "b a+"),
            ("several", vec![A, B, C], vec![BAD, BAD, C, BAD], "a+ b+ c+"),
            ("nothing once the entry is gone", vec![A, B], vec![A], "a+"),
            ("nothing where nothing was", vec![BAD, B], vec![BAD, BAD, B], "b+"),
            ("positions count bad entries too", vec![BAD, A, B], vec![BAD, A, BAD], "a+ b+"),
        ] {
            assert_eq!(after(&before, &now), expected, "{label}");
        }
    }

    #[test]
    fn what_was_kept_is_kept_again() {
        let good = reread(&[A, B], None);
        let once = reread(&[BAD, BAD], Some(&good));
        let twice = reread(&["43", BAD], Some(&once));
        assert!(good.is_same(&once) && once.is_same(&twice), "{once:?} {twice:?}");
        assert!(!good.is_same(&reread(&[A, B2], Some(&good))) && !good.is_same(&reread(&[A], Some(&good))));
    }
}
