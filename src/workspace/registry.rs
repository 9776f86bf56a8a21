//! A registry file to sources, with a diagnostic for what is wrong in it.
//!
//! Three shapes: `{sources: [{name, kind, names?, aliases?, keywords?, supportsParallelToolCalls?, tools}]}`; `{tools: [...]}` as an MCP
//! server answers `tools/list`; a bare array of definitions. The last two are one source of kind `mcp` that is named by
//! the file's stem. What is bad is left out and said; the rest of the file is served.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::source_text::SourceText;
use crate::catalog::found_by::{self, FoundBy};
use crate::catalog::json_text::{decode_string, members, offset_in};
use crate::catalog::names::Naming;
use crate::catalog::source::{Kind, Origin, Problem, Source, SourceInfo};
use crate::diagnostic::{Diagnostic, Severity};

/// What a registry file holds.
#[derive(Debug, Default)]
pub struct Registry {
    /// Its sources, in order.
    pub sources: Vec<Arc<Source>>,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
}

impl Registry {
    /// Whether nothing of the file had to be left out.
    pub fn is_sound(&self) -> bool {
        !self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }
}

/// Reads the bytes of a file; `stem` names the source of a file that holds bare tools.
///
/// # Errors
/// One diagnostic where nothing of the file can be read.
pub fn read(file: &str, stem: &str, bytes: &[u8], origin: Origin) -> Result<Registry, Diagnostic> {
    reread(file, stem, bytes, origin, None)
}

/// The same for a file that was read before: what did not change is taken from there, and what is bad is served as it
/// was when it was last good, source by source and tool by tool.
///
/// # Errors
/// One diagnostic where nothing of the file can be read.
pub fn reread(
    file: &str,
    stem: &str,
    bytes: &[u8],
    origin: Origin,
    last: Option<&Registry>,
) -> Result<Registry, Diagnostic> {
    let text = SourceText::read(file, bytes)?;
    if text.json().len() > u32::MAX as usize {
        let message = "the file is larger than 4 GiB; split it";
        return Err(Diagnostic::whole(file, Severity::Error, "file-too-large", message));
    }
    let mut reader = Reader { file, text: &text, origin, last, registry: Registry::default() };
    if let Ok(plain) = serde_json::from_str::<Plain<'_>>(text.json()) {
        reader.sources(plain.sources.into_iter().map(Entry::from).collect());
        return Ok(reader.registry);
    }
    let content: &RawValue = text.parse()?;
    let shape = |json: &RawValue, pointer: &str, message: &str| {
        let (offset, message) = (offset_in(text.json(), json.get()), message.to_owned());
        Err(diagnostic(file, &text, Severity::Error, "registry-shape", offset, pointer.to_owned(), message))
    };
    let (mut sources, mut tools) = (None, None);
    let mut answer = None;
    members(content.get(), |key, value| match &*key {
        "result" => answer = Some(value),
        "sources" => sources = Some(value),
        "tools" => tools = Some(value),
        _ => {}
    });
    let mut tools_at = "/tools";
    if let (None, None, Some(answer)) = (sources, tools, answer) {
        // The whole answer of a server to `tools/list`, as it came over the wire.
        members(answer.get(), |key, value| {
            if key == "tools" {
                (tools, tools_at) = (Some(value), "/result/tools");
            }
        });
    }
    match (sources.map(list), tools.map(list)) {
        (Some(Ok(entries)), _) => reader.sources(entries.into_iter().map(Entry::read).collect()),
        (Some(Err(other)), _) => return shape(other, "/sources", NO_LIST),
        (None, Some(Ok(tools))) => reader.bare(stem, tools, tools_at),
        (None, Some(Err(other))) => return shape(other, tools_at, NO_LIST),
        (None, None) => match list(content) {
            Ok(tools) => reader.bare(stem, tools, ""),
            Err(other) => return shape(other, "", NO_REGISTRY),
        },
    }
    Ok(reader.registry)
}

const NO_LIST: &str = "this is no array: put what it holds in brackets";
const NO_REGISTRY: &str = "this is no registry: give it `sources`, or `tools`, or make it an array of tool definitions";

/// The items of an array, or the value that is none.
fn list(json: &RawValue) -> List<'_> {
    serde_json::from_str(json.get()).map_err(|_| json)
}

/// A file of sources as almost all are; read in one pass.
#[derive(Deserialize)]
struct Plain<'a> {
    #[serde(borrow)]
    sources: Vec<PlainEntry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlainEntry<'a> {
    #[serde(borrow)]
    name: &'a RawValue,
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    names: Option<&'a RawValue>,
    #[serde(borrow)]
    aliases: Option<&'a RawValue>,
    #[serde(borrow)]
    keywords: Option<&'a RawValue>,
    #[serde(borrow, alias = "supports_parallel_tool_calls")]
    supports_parallel_tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
}

impl<'a> From<PlainEntry<'a>> for Entry<'a> {
    fn from(plain: PlainEntry<'a>) -> Self {
        Self {
            name: Some(plain.name),
            kind: plain.kind,
            names: plain.names,
            aliases: plain.aliases,
            keywords: plain.keywords,
            parallel: plain.supports_parallel_tool_calls,
            tools: Some(Ok(plain.tools)),
        }
    }
}

/// A list of raw values, or something else.
type List<'a> = Result<Vec<&'a RawValue>, &'a RawValue>;

/// An item of `sources`; what is not understood is kept as it stands.
#[derive(Default)]
struct Entry<'a> {
    name: Option<&'a RawValue>,
    kind: Option<&'a RawValue>,
    names: Option<&'a RawValue>,
    aliases: Option<&'a RawValue>,
    keywords: Option<&'a RawValue>,
    parallel: Option<&'a RawValue>,
    tools: Option<List<'a>>,
}

struct Reader<'a> {
    file: &'a str,
    text: &'a SourceText,
    origin: Origin,
    last: Option<&'a Registry>,
    registry: Registry,
}

impl<'a> Reader<'a> {
    fn sources(&mut self, entries: Vec<Entry<'a>>) {
        let names: Vec<String> = entries.iter().map(Entry::name).collect();
        for (index, (entry, name)) in entries.into_iter().zip(&names).enumerate() {
            let at = format!("/sources/{index}");
            let start = [entry.name, entry.kind].into_iter().flatten().next().map_or(0, |json| self.offset(json));
            if name.trim().is_empty() {
                let message = "the source has no name: give it a `name` that is a string and not blank".to_owned();
                self.say(Severity::Error, "source-unnamed", start, at, message);
                let last = self.last.and_then(|last| last.sources.get(index));
                self.keep(last.filter(|last| !names.contains(&last.info.name)));
                continue;
            }
            if self.registry.sources.iter().any(|source| source.info.name == *name) {
                let message = format!("the source `{name}` stands twice in this file: only the first is served");
                self.say(Severity::Error, "source-twice", start, at, message);
                continue;
            }
            let info = self.info(&entry, name, &at);
            let words = [("keywords", entry.keywords), ("aliases", entry.aliases)];
            match entry.tools {
                Some(Ok(tools)) => self.add(info, tools, &format!("{at}/tools")),
                Some(Err(other)) => {
                    let (offset, pointer) = (self.offset(other), format!("{at}/tools"));
                    self.say(Severity::Error, "registry-shape", offset, pointer, NO_LIST.to_owned());
                    self.keep(self.last_of(name));
                }
                None => self.add(info, Vec::new(), &at),
            }
            if let Some((key, json)) = words.into_iter().find_map(|(key, json)| Some((key, json?))) {
                let unused = self.registry.sources.last().map(|source| found_by::unused(source)).unwrap_or_default();
                for message in unused {
                    self.say(Severity::Warning, "source-words", self.offset(json), format!("{at}/{key}"), message);
                }
            }
        }
    }

    /// The source of this name as it last was.
    fn last_of(&self, name: &str) -> Option<&'a Arc<Source>> {
        self.last?.sources.iter().find(|source| source.info.name == name)
    }

    fn keep(&mut self, last: Option<&Arc<Source>>) {
        self.registry.sources.extend(last.cloned());
    }

    fn info(&mut self, entry: &Entry<'a>, name: &str, at: &str) -> SourceInfo {
        let kind = match entry.kind {
            None => Kind::Mcp,
            Some(json) => {
                serde_json::from_str(json.get()).ok().filter(|kind| *kind != Kind::Connectors).unwrap_or_else(|| {
                    let last = self.last_of(name).map(|last| last.info.kind);
                    let instead = if last.is_some() { "it stays as it was" } else { "the source's tools stay visible" };
                    let message = format!("`kind` is none of core, mcp, plugin: {instead}");
                    self.say(Severity::Warning, "source-kind", self.offset(json), format!("{at}/kind"), message);
                    last.unwrap_or(Kind::Unknown)
                })
            }
        };
        let mut info = SourceInfo::new(name, kind, self.origin);
        match entry.names.map(|json| (json, json.get())) {
            None | Some((_, "null")) => {}
            Some((_, r#""prefixed""#)) => info.naming = Naming::Prefixed,
            Some((_, r#""as-is""#)) => info.naming = Naming::AsIs,
            Some((json, _)) => {
                let message = "`names` is neither prefixed nor as-is: the kind's own way of naming is used".to_owned();
                self.say(Severity::Warning, "source-names", self.offset(json), format!("{at}/names"), message);
            }
        }
        match entry.parallel.map(|json| (json, json.get())) {
            None | Some((_, "null" | "false")) => {}
            Some((_, "true")) => info.parallel = true,
            Some((json, _)) => {
                let message = "`supportsParallelToolCalls` is neither true nor false: taken as false".to_owned();
                let pointer = format!("{at}/supportsParallelToolCalls");
                self.say(Severity::Warning, "source-parallel", self.offset(json), pointer, message);
            }
        }
        info.found_by = Arc::new(FoundBy {
            aliases: self.words(entry.aliases, at, "aliases", "a list of texts"),
            keywords: self.words(entry.keywords, at, "keywords", "lists of texts by a tool's name or a glob"),
        });
        info
    }

    /// Words that the source is to be found by.
    fn words<T: serde::de::DeserializeOwned + Default>(
        &mut self,
        json: Option<&'a RawValue>,
        at: &str,
        key: &str,
        what: &str,
    ) -> T {
        let Some(json) = json.filter(|json| json.get() != "null") else { return T::default() };
        serde_json::from_str(json.get()).unwrap_or_else(|_| {
            let message = format!("`{key}` is not {what}: left out");
            self.say(Severity::Warning, "source-words", self.offset(json), format!("{at}/{key}"), message);
            T::default()
        })
    }

    fn bare(&mut self, stem: &str, tools: Vec<&'a RawValue>, at: &str) {
        self.add(SourceInfo::new(stem, Kind::Mcp, self.origin), tools, at);
    }

    fn add(&mut self, info: SourceInfo, tools: Vec<&'a RawValue>, at: &str) {
        let last = self.last_of(&info.name);
        let entries = tools.into_iter().map(RawValue::get);
        let (mut source, mut problems) = Source::reread(info, self.text.shared(), entries, last.map(|last| &**last));
        if let Some(last) = last {
            source = source.keeping(last, &mut problems);
        }
        for Problem { index, offset, refused, code, message, .. } in problems {
            let severity = if refused { Severity::Error } else { Severity::Warning };
            self.say(severity, code, offset, format!("{at}/{index}"), message);
        }
        // The same source, so that its part of the index and of the listing is the same too.
        let source = last.filter(|last| last.is_same(&source)).cloned().unwrap_or_else(|| Arc::new(source));
        self.registry.sources.push(source);
    }

    fn offset(&self, json: &RawValue) -> usize {
        offset_in(self.text.json(), json.get())
    }

    fn say(&mut self, severity: Severity, code: &'static str, offset: usize, pointer: String, message: String) {
        let diagnostic = diagnostic(self.file, self.text, severity, code, offset, pointer, message);
        self.registry.diagnostics.push(diagnostic);
    }
}

fn diagnostic(
    file: &str,
    text: &SourceText,
    severity: Severity,
    code: &'static str,
    offset: usize,
    pointer: String,
    message: String,
) -> Diagnostic {
    let place = text.place(offset);
    Diagnostic { file: file.to_owned(), line: place.line, column: place.column, severity, code, message, pointer }
}

impl<'a> Entry<'a> {
    /// Its name, empty where it has none.
    fn name(&self) -> String {
        self.name.and_then(|json| decode_string(json.get())).unwrap_or_default().into_owned()
    }

    fn read(json: &'a RawValue) -> Self {
        let mut entry = Self::default();
        members(json.get(), |key, value| match &*key {
            "name" => entry.name = Some(value),
            "kind" => entry.kind = Some(value),
            "names" => entry.names = Some(value),
            "aliases" => entry.aliases = Some(value),
            "keywords" => entry.keywords = Some(value),
            "supportsParallelToolCalls" | "supports_parallel_tool_calls" => entry.parallel = Some(value),
            "tools" => entry.tools = Some(list(value)),
            _ => {}
        });
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, last: Option<&Registry>) -> Result<Registry, Diagnostic> {
        reread("f.json", "f", text.as_bytes(), Origin::User, last)
    }

    /// Sources with their kinds and tools; `+` marks a source that is the very same as before.
    fn after(before: &str, now: &str) -> (String, Vec<&'static str>) {
        let last = parse(before, None).unwrap();
        let registry = match parse(now, Some(&last)) {
            Ok(registry) => registry,
            Err(diagnostic) => return ("as before".to_owned(), vec![diagnostic.code]),
        };
        let shown = registry.sources.iter().map(|source| {
            let same = if last.sources.iter().any(|other| Arc::ptr_eq(source, other)) { "+" } else { "" };
            let tools: Vec<&str> = source.tools.iter().map(|tool| &*tool.tool).collect();
            format!("{}{same}:{}:{}", source.info.name, source.info.kind.as_str(), tools.join(","))
        });
        (shown.collect::<Vec<_>>().join(" "), registry.diagnostics.iter().map(|diagnostic| diagnostic.code).collect())
    }

    #[test]
    fn what_is_bad_is_served_as_it_was_and_the_rest_as_it_is() {
        let source = |name: &str, kind: &str, tools: &[&str]| {
            let tool = |name: &&str| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#);
            let tools: Vec<String> = tools.iter().map(tool).collect();
            format!(r#"{{"name":{name},"kind":{kind},"tools":[{}]}}"#, tools.join(", "))
        };
        let (a, b) = (source(r#""a""#, r#""mcp""#, &["x", "y"]), source(r#""b""#, r#""plugin""#, &["z"]));
        let file = |sources: &[&str]| format!(r#"{{"sources":[{}]}}"#, sources.join(","));
        let before = file(&[&a, &b]);
        for (label, now, expected, codes) in [
            ("the same in another order", file(&[&b, &a]), "b+:plugin:z a+:mcp:x,y", vec![]),
            ("another tool", file(&[&source(r#""a""#, r#""mcp""#, &["x"]), &b]), "a:mcp:x b+:plugin:z", vec![]),
            (
                "no name",
                file(&[&a, &source("7", r#""plugin""#, &["w"])]),
                "a+:mcp:x,y b+:plugin:z",
                vec!["source-unnamed"],
            ),
            (
                "no name, of a source that is served",
                file(&[&b, &source("7", "1", &[])]),
                "b+:plugin:z",
                vec!["source-unnamed"],
            ),
            ("no list", file(&[&a, r#"{"name":"b","tools":3}"#]), "a+:mcp:x,y b+:plugin:z", vec!["registry-shape"]),
            (
                "no kind that is known",
                file(&[&source(r#""a""#, r#""mpc""#, &["x"]), &source(r#""c""#, "1", &["w"])]),
                "a:mcp:x c:unknown:w",
                vec!["source-kind", "source-kind"],
            ),
            ("a source that is gone", file(&[&b]), "b+:plugin:z", vec![]),
            ("no registry", "7".to_owned(), "as before", vec!["registry-shape"]),
            ("no sources", r#"{"sources":{}}"#.to_owned(), "as before", vec!["registry-shape"]),
            ("no tools", r#"{"tools":{}}"#.to_owned(), "as before", vec!["registry-shape"]),
            ("half of it", before[..30].to_owned(), "as before", vec!["json-syntax"]),
        ] {
            assert_eq!(after(&before, &now), (expected.to_owned(), codes), "{label}");
        }
    }

    #[test]
    fn a_bad_tool_is_told_where_it_is() {
        let last = parse(r#"[{"name":"x","inputSchema":{}}]"#, None).unwrap();
        let registry = parse("[\n  {\"name\":null}]", Some(&last)).unwrap();
        assert_eq!(registry.sources[0].tools.len(), 1);
        let told = &registry.diagnostics[0];
        assert_eq!((told.line, told.column, &*told.pointer, told.code), (2, 3, "/0", "tool-unnamed"));
        assert!(told.message.ends_with("until then its last good definition is served"), "{}", told.message);
        assert!(!registry.is_sound() && last.is_sound());
    }

    #[test]
    fn words_for_no_tool_are_told_where_they_are() {
        let text = "{\"sources\":[{\"name\":\"a\",\n\"keywords\":{\"move_*\":[\"x\"]},\"tools\":[{\"name\":\"t\",\"inputSchema\":{}}]}]}";
        let found = parse(text, None).unwrap().diagnostics;
        let told: Vec<_> = found.iter().map(|it| (it.line, it.code, &*it.pointer, it.severity)).collect();
        assert_eq!(told, [(2, "source-words", "/sources/0/keywords", Severity::Warning)]);
    }

    #[test]
    fn a_source_carries_words_to_be_found_by() {
        let last =
            parse(r#"{"sources":[{"name":"a","aliases":["x"],"keywords":{"t*":["y"]},"tools":[]}]}"#, None).unwrap();
        let found_by = &last.sources[0].info.found_by;
        assert_eq!(
            (found_by.aliases.as_slice(), &*found_by.keywords["t*"]),
            (&["x".to_owned()][..], &["y".to_owned()][..])
        );
        for (aliases, codes, same) in
            [(r#"["x"]"#, vec![], true), (r#"["z"]"#, vec![], false), ("7", vec!["source-words"], false)]
        {
            let text =
                format!(r#"{{"sources":[{{"name":"a","aliases":{aliases},"keywords":{{"t*":["y"]}},"tools":[]}}]}}"#);
            let now = parse(&text, Some(&last)).unwrap();
            assert_eq!(now.diagnostics.iter().map(|found| found.code).collect::<Vec<_>>(), codes, "{aliases}");
            assert_eq!(Arc::ptr_eq(&now.sources[0], &last.sources[0]), same, "{aliases}");
        }
    }
}
