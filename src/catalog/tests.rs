//! The rules of behaviour, one case each, on catalogs of the project's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::assembly::{self, Assembly};
use super::definition::Format;
use super::listing::Form;
use super::policy::Policy;
use super::scope::{Grant, Scope};
use super::settings::{CoreSet, Enabled, ListingMode, ToolSearch};
use super::source::{Kind, Origin, Source, SourceInfo};
use super::{Catalog, describe, explain, inline, search};

/// A source of tools given as `name: description (parameters)`.
fn source(kind: Kind, label: &str, tools: &[&str]) -> Arc<Source> {
    source_from(Origin::Connection, kind, label, tools)
}

fn source_from(origin: Origin, kind: Kind, label: &str, tools: &[&str]) -> Arc<Source> {
    let definitions: Vec<Value> = tools.iter().map(|tool| definition(tool)).collect();
    let text: Arc<str> = Value::from(definitions).to_string().into();
    let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
    Arc::new(Source::read(SourceInfo::new(label, kind, origin), &text, entries.iter().map(|e| e.get())).0)
}

fn definition(tool: &str) -> Value {
    let (tool, parameters) =
        tool.split_once(" (").map_or((tool, ""), |(tool, rest)| (tool, rest.trim_end_matches(')')));
    let (name, description) = tool.split_once(": ").unwrap_or((tool, ""));
    let names: Vec<&str> = parameters.split(", ").filter(|name| !name.is_empty()).collect();
    let required: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix('!')).collect();
    let properties: BTreeMap<&str, Value> = names.iter().map(|name| (name.trim_end_matches('!'), json!({}))).collect();
    let mut definition =
        json!({"name": name, "inputSchema": {"type": "object", "properties": properties, "required": required}});
    if !description.is_empty() {
        definition["description"] = description.into();
    }
    definition
}

fn catalog_with(settings: ToolSearch, core: CoreSet, sources: Vec<Arc<Source>>) -> Catalog {
    Catalog::new(sources, Arc::new(Policy::new(settings, &core)))
}

fn catalog(sources: Vec<Arc<Source>>) -> Catalog {
    catalog_with(ToolSearch::default(), CoreSet::default(), sources)
}

/// Six servers' worth of tools, small enough to know by heart.
fn town() -> Vec<Arc<Source>> {
    vec![
        source(Kind::Core, "host", &["terminal: Runs a shell command (command!)", "read_file: Reads a file (path!)"]),
        source(
            Kind::Mcp,
            "tracker",
            &[
                "create_issue: Opens an issue in a project (title!, body)",
                "list_issues: Lists issues of a project (project)",
                "close_issue: Closes an issue (id!)",
                "add_label: Puts a label on an issue (id!, label!)",
            ],
        ),
        source(
            Kind::Mcp,
            "chat",
            &[
                "post_message: Posts a message to a channel (channel!, text!)",
                "list_channels: Lists channels",
                "search_messages: Finds messages by text (query!)",
            ],
        ),
        source(
            Kind::Mcp,
            "calendar",
            &["create_event: Creates an event (title!, start!)", "list_events: Lists events of a day (day)"],
        ),
        source(Kind::Plugin, "notes", &["note_add: Writes a note (text!)", "note_find: Finds notes"]),
    ]
}

fn found(catalog: &Catalog, query: &str) -> search::Group {
    search::run(catalog, &catalog.view(&Scope::all()), query, None)
}

fn matches(catalog: &Catalog, query: &str) -> Vec<String> {
    found(catalog, query).matches.iter().map(|id| catalog.tool(*id).name.to_string()).collect()
}

fn near(catalog: &Catalog, query: &str) -> Vec<String> {
    found(catalog, query).near.iter().map(|near| catalog.tool(near.id).name.to_string()).collect()
}

fn answer(catalog: &Catalog, scope: &Scope, queries: &[&str]) -> Value {
    let view = catalog.view(scope);
    let groups: Vec<_> = queries.iter().map(|query| search::run(catalog, &view, query, None)).collect();
    serde_json::from_str(&search::answer(catalog, &view, &groups, &[])).unwrap()
}

fn assemble(catalog: &Catalog) -> Arc<Assembly> {
    assembly::assemble(catalog, &Scope::all(), Some(200_000.0), Format::Mcp)
}

/// Names of the array but for `manage_connections`, which has tests of its own.
fn names_of(assembly: &Assembly) -> Vec<String> {
    let mut names = all_names_of(assembly);
    names.retain(|name| name != "manage_connections");
    names
}

fn all_names_of(assembly: &Assembly) -> Vec<String> {
    let tools: Vec<Value> = serde_json::from_str(assembly.tools.get()).unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The scope that holds everything but `manage_connections`.
fn without_connections() -> Scope {
    Scope::new(Grant { disabled: list(&["connections"]), ..Grant::default() })
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn enabled(toolsets: &[&str]) -> Scope {
    Scope::new(Grant { enabled: Some(list(toolsets)), ..Grant::default() })
}

const BRIDGE: [&str; 3] = ["tool_search", "tool_describe", "tool_call"];

fn with_bridge(names: &[&str]) -> Vec<String> {
    list(&[names, &BRIDGE].concat())
}

#[test]
fn core_rules() {
    let core = |replace: Option<&[&str]>, extend: &[&str]| CoreSet { replace: replace.map(list), extend: list(extend) };
    let plugin = || source(Kind::Plugin, "p", &["web_search: Finds pages", "browser_click", "frobnicate"]);
    for (rule, core, visible) in [
        ("CORE-1: the default set", core(None, &[]), &["web_search", "browser_click"][..]),
        ("CORE-1: extended by a glob", core(None, &["frob*"]), &["web_search", "browser_click", "frobnicate"]),
        ("CORE-1: replaced", core(Some(&["frobnicate"]), &[]), &["frobnicate"]),
        ("CORE-1: replaced by nothing", core(Some(&[]), &[]), &[]),
    ] {
        let catalog = catalog_with(ToolSearch::default(), core, vec![plugin()]);
        let all = names_of(&assemble(&catalog));
        let shown = if visible.len() == 3 { list(visible) } else { with_bridge(visible) };
        assert_eq!(all, shown, "{rule}");
    }
}

#[test]
fn core_1_nothing_displaces_a_core_tool() {
    let host = || source(Kind::Core, "host", &["terminal: The real one"]);
    let usurper = source(Kind::Plugin, "a", &["terminal: Another"]);
    let catalog = catalog(vec![usurper, host()]);
    assert_eq!(names_of(&assemble(&catalog)), ["terminal"]);
    assert!(assemble(&catalog).tools.get().contains("The real one"));
    assert_eq!(catalog.collisions.len(), 1);
    assert_eq!((catalog.collisions[0].source.as_str(), catalog.collisions[0].winner.as_str()), ("a", "host"));
    let inline =
        r#"[{"name":"terminal","description":"Inline","inputSchema":{},"source":{"name":"a","kind":"plugin"}}]"#;
    let derived = inline::with_inline(&catalog, inline).unwrap();
    assert!(assemble(&derived.catalog).tools.get().contains("The real one"));
    assert_eq!(derived.problems.len(), 1);
    assert!(derived.problems[0].refused);
}

#[test]
fn core_2_and_3_kinds() {
    for (rule, kind, deferred) in [
        ("CORE-2: mcp", Kind::Mcp, true),
        ("CORE-2: plugin", Kind::Plugin, true),
        ("CORE-1: core", Kind::Core, false),
        ("CORE-3: unknown", Kind::Unknown, false),
    ] {
        let catalog = catalog(vec![source(kind, "s", &["thing: Does it"])]);
        assert_eq!(assemble(&catalog).activated, deferred, "{rule}");
    }
    let derived = inline::with_inline(&catalog(vec![]), r#"[{"name":"mystery"},{"name":"mcp__x__y"}]"#).unwrap();
    assert_eq!(names_of(&assemble(&derived.catalog)), with_bridge(&["mystery"]), "CORE-3: inline without a source");
}

#[test]
fn core_4_assembling_twice_is_as_once() {
    let catalog = catalog(town());
    let once = assemble(&catalog);
    let derived = inline::with_inline(&catalog, once.tools.get()).unwrap();
    assert!(derived.problems.is_empty(), "{:?}", derived.problems);
    assert_eq!(assemble(&derived.catalog).tools.get(), once.tools.get());
}

#[test]
fn core_4_twice_is_as_once_with_kept_and_odd_names() {
    let settings = ToolSearch { keep: list(&["create_issue", "re.open"]), ..ToolSearch::default() };
    let sources = vec![source(Kind::Mcp, "my.srv", &["create_issue", "re.open", "other"])];
    let catalog = catalog_with(settings, CoreSet::default(), sources);
    let scope = enabled(&["my.srv"]);
    let of = |catalog: &Catalog| assembly::assemble(catalog, &scope, None, Format::Anthropic);
    let once = of(&catalog);
    assert_eq!(names_of(&once).len(), 5);
    let derived = inline::with_inline(&catalog, once.tools.get()).unwrap();
    assert_eq!(of(&derived.catalog).tools.get(), once.tools.get(), "CORE-4");
    let id = derived.catalog.find(&names_of(&once)[0]).unwrap();
    assert_eq!(&*derived.catalog.tool(id).tool, "create_issue", "CALL-6: the name its source gave it");
}

#[test]
fn core_1_an_inline_tool_of_the_host_replaces_its_core_tool() {
    let catalog = catalog(town());
    let derived = inline::with_inline(&catalog, r#"[{"name":"terminal","description":"Newer"}]"#).unwrap();
    let scope = enabled(&["host"]);
    let got = assembly::assemble(&derived.catalog, &scope, None, Format::Mcp);
    assert_eq!(names_of(&got), ["terminal", "read_file"]);
    assert!(got.tools.get().contains("Newer"));
    for source in [r#"{"name":"evil"}"#, r#"{"name":"evil","kind":"unknown"}"#, r#"{"name":"tracker"}"#] {
        let inline = format!(r#"[{{"name":"terminal","inputSchema":{{}},"source":{source}}}]"#);
        let derived = inline::with_inline(&catalog, &inline).unwrap();
        let got = assemble(&derived.catalog);
        assert!(got.tools.get().contains("Runs a shell command"), "CORE-1: {source}");
    }
}

#[test]
fn assemble_2_what_a_provider_runs_goes_through_untouched() {
    let inline = r#"[
        {"type":"web_search_20250305","name":"web_search","max_uses":5},
        {"type":"mcp","server_label":"a"}, {"type":"mcp","server_label":"b"},
        {"name":"fs.read","parameters":{}}
    ]"#;
    let derived = inline::with_inline(&catalog(vec![]), inline).unwrap();
    assert!(derived.problems.is_empty(), "{:?}", derived.problems);
    let got = assembly::assemble(&derived.catalog, &without_connections(), None, Format::OpenAiResponses);
    assert_eq!(
        got.tools.get(),
        r#"[{"type":"web_search_20250305","name":"web_search","max_uses":5},{"type":"mcp","server_label":"a"},{"type":"mcp","server_label":"b"},{"type":"function","name":"fs.read","parameters":{}}]"#,
        "ASSEMBLE-2"
    );
}

#[test]
fn assemble_1_and_5_nothing_is_kept_between_two_assemblies() {
    let of = |enabled| {
        let settings = ToolSearch { enabled, ..ToolSearch::default() };
        assemble(&catalog_with(settings, CoreSet::default(), town()))
    };
    assert_eq!(of(Enabled::Auto).tools.get(), of(Enabled::On).tools.get(), "ASSEMBLE-5: auto and on are one");
    let catalog = catalog(town());
    let before = assemble(&catalog);
    assembly::assemble(&catalog, &enabled(&["chat"]), Some(1000.0), Format::OpenAi);
    assert_eq!(assemble(&catalog).tools.get(), before.tools.get(), "ASSEMBLE-1: another request leaves no trace");
}

#[test]
fn core_5_keep() {
    for (rule, keep, kept) in [
        ("CORE-5: a visible name", "mcp__chat__post_message", &["mcp__chat__post_message"][..]),
        ("CORE-5: the tool's own name", "post_message", &["mcp__chat__post_message"]),
        ("CORE-5: a glob", "mcp__calendar__*", &["mcp__calendar__create_event", "mcp__calendar__list_events"]),
    ] {
        let settings = ToolSearch { keep: list(&[keep]), ..ToolSearch::default() };
        let catalog = catalog_with(settings, CoreSet::default(), town());
        let visible = [&["terminal", "read_file"][..], kept].concat();
        assert_eq!(names_of(&assemble(&catalog)), with_bridge(&visible), "{rule}");
    }
}

#[test]
fn assemble_2_pass_through() {
    let core_only = catalog(vec![source(Kind::Core, "host", &["terminal", "a"])]);
    let assembly = assemble(&core_only);
    assert_eq!((assembly.tier, assembly.activated, assembly.form), (0, false, Form::None));
    assert_eq!(names_of(&assembly), ["terminal", "a"]);
    assert_eq!(assembly.tokens_before, assembly.tokens_after);
    let off = ToolSearch { enabled: Enabled::Off, ..ToolSearch::default() };
    let off = catalog_with(off, CoreSet::default(), town());
    let assembly = assemble(&off);
    assert_eq!(assembly.tier, 0, "ASSEMBLE-2: enabled off");
    assert_eq!(names_of(&assembly).len(), 13, "ASSEMBLE-2: every definition passes");
    let nothing = assembly::assemble(&catalog(vec![]), &without_connections(), None, Format::OpenAi);
    assert_eq!(nothing.tools.get(), "[]");
}

#[test]
fn assemble_3_order_of_visible_tools() {
    let sources = vec![
        source(Kind::Unknown, "z", &["u"]),
        source(Kind::Mcp, "m", &["deferred"]),
        source(Kind::Plugin, "p", &["web_search"]),
        source(Kind::Core, "b", &["b2", "b1"]),
        source(Kind::Core, "a", &["a1"]),
    ];
    let catalog = catalog(sources);
    assert_eq!(names_of(&assemble(&catalog)), with_bridge(&["a1", "b2", "b1", "web_search", "u"]));
    let inline = r#"[{"name":"i2"},{"name":"b1"},{"name":"i1","source":{"name":"b","kind":"core"}}]"#;
    let derived = inline::with_inline(&catalog, inline).unwrap();
    let order = ["i2", "b1", "i1", "a1", "b2", "web_search", "u"];
    assert_eq!(names_of(&assemble(&derived.catalog)), with_bridge(&order), "ASSEMBLE-3: inline tools as given, first");
}

#[test]
fn assemble_4_a_listing_that_names_none() {
    let settings = ToolSearch { listing_max_tokens: 200, ..ToolSearch::default() };
    let tools: Vec<String> = (0..300).map(|n| format!("operation_number_{n}: Does a thing")).collect();
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let catalog = catalog_with(settings, CoreSet::default(), vec![source(Kind::Mcp, "cloud", &tools)]);
    let assembly = assemble(&catalog);
    assert_eq!((assembly.tier, assembly.form, assembly.deferred_count), (2, Form::Groups, 300));
    assert!(assembly.tools.get().contains("cloud (300 tools)\""));
}

#[test]
fn assemble_6_counts() {
    let catalog = catalog(town());
    let assembly = assemble(&catalog);
    let off = catalog_with(ToolSearch { enabled: Enabled::Off, ..ToolSearch::default() }, CoreSet::default(), town());
    assert_eq!(assembly.tokens_before, assemble(&off).tokens_after, "ASSEMBLE-6: before is all of it loaded");
    assert_eq!(assembly.tokens_after, super::tokens::estimate(assembly.tools.get()));
    assert_eq!((assembly.deferred_count, assembly.listing_budget, assembly.tier), (11, 4000, 1));
    let shown: Vec<Value> = serde_json::from_str(assembly.tools.get()).unwrap();
    let search = shown.iter().find(|tool| tool["name"] == "tool_search").unwrap();
    let description = search["description"].as_str().unwrap();
    let listing = &description[description.find("calendar (2 tools):").unwrap()..];
    assert_eq!(
        assembly.listing_tokens,
        super::tokens::estimate(listing),
        "LISTING-1: from the first heading to the end"
    );
    assert!(description.starts_with("11 more tools"), "ASSEMBLE-3: the count");
    assert_eq!(assembly.etag.len(), 32);
}

#[test]
fn assemble_7_order_of_registration_does_not_show() {
    let straight = catalog(town());
    let reversed = catalog(town().into_iter().rev().collect());
    for format in Format::ALL {
        let of = |catalog| assembly::assemble(catalog, &Scope::all(), None, format);
        assert_eq!(of(&straight).tools.get(), of(&reversed).tools.get());
        assert_eq!(of(&straight).etag, of(&reversed).etag);
    }
    for query in ["list", "issue", "create", "message channel", "nothing of that"] {
        let of = |catalog| answer(catalog, &Scope::all(), &[query]).to_string();
        assert_eq!(of(&straight), of(&reversed), "ASSEMBLE-7: {query}");
    }
}

#[test]
fn listing_1_and_6_budget() {
    let settings = |listing, max, pct| ToolSearch {
        listing,
        listing_max_tokens: max,
        threshold_pct: pct,
        ..ToolSearch::default()
    };
    for (rule, settings, length, want) in [
        ("LISTING-1: the percentage", settings(ListingMode::Auto, 4000, 5.0), Some(50_000.0), 2500),
        ("LISTING-1: rounded down", settings(ListingMode::Auto, 4000, 5.0), Some(999.0), 49),
        ("LISTING-1: the absolute bound", settings(ListingMode::Auto, 4000, 5.0), Some(1e6), 4000),
        ("LISTING-1: context unknown", settings(ListingMode::Auto, 20_000, 5.0), None, 10_000),
        ("LISTING-1: context zero", settings(ListingMode::Auto, 20_000, 5.0), Some(0.0), 10_000),
        ("LISTING-1: context negative", settings(ListingMode::Auto, 20_000, 5.0), Some(-3.0), 10_000),
        ("LISTING-1: unknown, but bounded", settings(ListingMode::Auto, 4000, 5.0), None, 4000),
        ("LISTING-6: on ignores the percentage", settings(ListingMode::On, 4000, 5.0), Some(1000.0), 4000),
        ("LISTING-6: off", settings(ListingMode::Off, 4000, 5.0), Some(1e6), 0),
        ("LISTING-1: no percent", settings(ListingMode::Auto, 4000, 0.0), Some(1e6), 0),
    ] {
        assert_eq!(assembly::budget(&settings, length), want, "{rule}");
    }
    let off = ToolSearch { listing: ListingMode::Off, ..ToolSearch::default() };
    let assembly = assemble(&catalog_with(off, CoreSet::default(), town()));
    assert_eq!((assembly.tier, assembly.form, assembly.listing_tokens), (2, Form::None, 0), "LISTING-6: off");
}

#[test]
fn search_gate_and_floor() {
    let catalog = catalog(town());
    for (rule, query, want) in [
        ("SEARCH-2: stems", "searching messages", &["mcp__chat__search_messages"][..]),
        ("SEARCH-1: the label is searchable", "tracker label", &["mcp__tracker__add_label"]),
        ("SEARCH-1: parameter names", "start", &["mcp__calendar__create_event"]),
        ("SEARCH-4: the rarest word decides", "create start", &["mcp__calendar__create_event"]),
        ("SEARCH-4: a word in no tool empties", "create gmail event", &[]),
        ("SEARCH-4: stop words are no query", "please show me how to post a message", &[]),
        ("SEARCH-4: stop words fall out", "please post a message for me", &["mcp__chat__post_message"]),
        ("SEARCH-4: nothing but stop words", "the", &[]),
        ("SEARCH-2: no words at all", "!?", &[]),
        (
            "SEARCH-1: the mcp marker is no word of a query either",
            "mcp__chat__channels",
            &["mcp__chat__list_channels", "mcp__chat__post_message"],
        ),
    ] {
        assert_eq!(matches(&catalog, query), want, "{rule}");
    }
    // "label" is the rarest; of the five answerable terms add_label holds label, issue, project's is not its.
    let query = "label channel day start event";
    assert!(matches(&catalog, query).is_empty(), "SEARCH-5: the floor");
    assert_eq!(matches(&catalog, "label issue id put day"), ["mcp__tracker__add_label"], "SEARCH-5: at least half");
}

#[test]
fn search_3_scores() {
    let catalog = catalog(town());
    let view = catalog.view(&Scope::all());
    let explained = explain::explain(&catalog, &view, "message channel", None);
    let documents = 11.0;
    let idf = |df: f64| libm::log(1.0 + (documents - df + 0.5) / (df + 0.5));
    assert_eq!((explained.terms[0].df, explained.terms[1].df), (2, 2));
    assert!((explained.terms[0].idf - idf(2.0)).abs() < 1e-12, "SEARCH-3: idf");
    // chat post message / posts a message to a channel / channel text; the mean by counting all documents.
    let length = 11.0;
    let mean = view.statistics(&catalog).mean_length;
    let part = |tf: f64| idf(2.0) * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * length / mean));
    let hit = &explained.hits[0];
    assert_eq!(hit.name, "mcp__chat__post_message");
    assert!((hit.score - part(2.0) - part(2.0)).abs() < 1e-9, "SEARCH-3: {} {}", hit.score, part(2.0) * 2.0);
    let twice = explain::explain(&catalog, &view, "message message channel", None);
    assert!((twice.hits[0].score - 3.0 * part(2.0)).abs() < 2e-9, "SEARCH-7: a word twice counts twice");
    let shares: f64 = twice.hits[0].parts.iter().map(|part| part.share).sum();
    assert!((shares - 1.0).abs() < 1e-6);
}

#[test]
fn search_7_a_name_that_is_said_ranks_first() {
    let tools = [
        "get_user_presence: Lists users and their presence: a list of users, or a list of lists of users",
        "list_users: Shows everybody",
        "list_groups: Shows everything",
    ];
    let catalog = catalog(vec![source(Kind::Mcp, "s", &tools)]);
    assert_eq!(matches(&catalog, "list users")[0], "mcp__s__list_users");
    let explained = explain::explain(&catalog, &catalog.view(&Scope::all()), "list users", None);
    let of = |name: &str| explained.hits.iter().find(|hit| hit.name == name).map(|hit| (hit.score, hit.rank)).unwrap();
    let (named, other) = (of("mcp__s__list_users"), of("mcp__s__get_user_presence"));
    assert!(named.0 < other.0 && named.1 > other.1, "{named:?} {other:?}");
}

#[test]
fn search_6_exact_names() {
    let catalog = catalog(town());
    for (rule, query, first) in [
        ("SEARCH-6: the whole name", "mcp__chat__post_message", "mcp__chat__post_message"),
        ("SEARCH-6: case folded and trimmed", "  MCP__Chat__Post_Message ", "mcp__chat__post_message"),
        ("SEARCH-6: without the server part", "post_message", "mcp__chat__post_message"),
        ("SEARCH-6: inside a query", "frobnicate with post_message, now", "mcp__chat__post_message"),
        ("SEARCH-6: with a full stop behind", "use note_add.", "note_add"),
    ] {
        assert_eq!(matches(&catalog, query).first().map(String::as_str), Some(first), "{rule}");
    }
    let six = "create_issue list_issues close_issue add_label post_message list_channels";
    assert_eq!(matches(&catalog, six).len(), 6, "SEARCH-6: past the limit");
    let settings = ToolSearch { max_search_limit: 4, search_default_limit: 2, ..ToolSearch::default() };
    let small = catalog_with(settings, CoreSet::default(), town());
    let group = found(&small, six);
    assert_eq!(group.matches.len(), 4, "SEARCH-6: up to max_search_limit");
    assert_eq!(group.cut, ["mcp__chat__post_message", "mcp__chat__list_channels"], "SEARCH-6: cut");
    let two = catalog_with(
        ToolSearch::default(),
        CoreSet::default(),
        vec![source(Kind::Mcp, "a", &["send_it: One"]), source(Kind::Mcp, "b", &["send_it: Two"])],
    );
    assert!(matches(&two, "frobnicate send_it").is_empty(), "SEARCH-6: only when unambiguous");
    let both = ["mcp__a__send_it", "mcp__b__send_it"];
    assert_eq!(matches(&two, " Send_It "), both, "a query that is the name of several finds them first");
    let three = catalog_with(
        ToolSearch::default(),
        CoreSet::default(),
        vec![
            source(Kind::Mcp, "a", &["send_it: One", "send_it_now: Send it, send it"]),
            source(Kind::Mcp, "b", &["send_it: A long description that says many other things than the first"]),
        ],
    );
    assert_eq!(matches(&three, "send_it")[..2], both);
    let limited = search::run(&three, &three.view(&Scope::all()), "send_it", Some(1));
    assert_eq!(limited.matches.len(), 1, "and no more than were asked for");
    let granted = two.view(&enabled(&["b"]));
    let found = search::run(&two, &granted, "frobnicate send_it", None);
    assert_eq!(found.matches.len(), 1, "SEARCH-11: unambiguous in scope");
}

#[test]
fn search_7_ties_and_limits() {
    let tools = ["zeta", "alpha", "mid"].map(|name| format!("{name}_x: Same words here"));
    let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
    let tied = catalog(vec![source(Kind::Mcp, "s", &tools)]);
    assert_eq!(
        matches(&tied, "same words"),
        ["mcp__s__alpha_x", "mcp__s__mid_x", "mcp__s__zeta_x"],
        "SEARCH-7: by name"
    );
    let view = tied.view(&Scope::all());
    for (rule, limit, want) in
        [("one", Some(1), 1), ("zero is one", Some(0), 1), ("many", Some(1000), 3), ("none", None, 3)]
    {
        assert_eq!(search::run(&tied, &view, "same", limit).matches.len(), want, "SEARCH-7: limit {rule}");
    }
}

#[test]
fn search_8_answer() {
    let catalog = catalog(town());
    let got = answer(&catalog, &Scope::all(), &["post message", "post message", "add label"]);
    let tool = json!({"source": "mcp", "source_name": "chat", "description": "Posts a message to a channel", "required": ["channel", "text"]});
    assert_eq!(got["results"][0], json!({"query": "post message", "matches": ["mcp__chat__post_message"]}));
    assert_eq!(got["tools"]["mcp__chat__post_message"], tool);
    assert_eq!(got["tools"].as_object().unwrap().len(), 2, "SEARCH-8: once each");
    assert_eq!(got["total_available"], 11);
    let long = format!("long: {}", "x".repeat(600));
    let one = self::catalog(vec![source(Kind::Mcp, "s", &[&long])]);
    let text =
        answer(&one, &Scope::all(), &["long"])["tools"]["mcp__s__long"]["description"].as_str().unwrap().to_owned();
    assert_eq!((text.chars().count(), text.chars().last()), (500, Some('…')), "SEARCH-8: cut at 500");
}

#[test]
fn search_9_empty_groups() {
    let catalog = catalog(town());
    let got = answer(&catalog, &Scope::all(), &["Frobnicate the issue"]);
    let group = &got["results"][0];
    assert_eq!(group["unanswered_terms"], json!(["frobnicate"]), "SEARCH-9");
    let sources = json!([
        {"name": "calendar", "tool_count": 2}, {"name": "chat", "tool_count": 3},
        {"name": "notes", "tool_count": 2}, {"name": "tracker", "tool_count": 4},
    ]);
    assert_eq!(group["available_sources"], sources, "SEARCH-9: deferrable only, by label");
    assert!(group["hint"].as_str().unwrap().contains("without the unanswered words"));
    assert!(answer(&catalog, &Scope::all(), &["post message"])["results"][0].get("hint").is_none());

    let many: Vec<Arc<Source>> = (0..800).map(|n| source(Kind::Mcp, &format!("server{n:03}"), &["a", "b"])).collect();
    let catalog = self::catalog(many);
    let got = answer(&catalog, &Scope::all(), &["zzz1", "zzz2", "zzz3", "zzz4", "zzz5", "zzz6", "zzz7"]);
    assert_eq!(got["results"][6]["available_sources"].as_array().unwrap().len(), 40);
    assert_eq!(got["results"][6]["more_sources"], 760);
    assert!(got.to_string().len() < 17_000, "SEARCH-9: 16 KB, not 200");
    let view = catalog.view(&Scope::all());
    let down = [("server000", "it crashed"), ("gone", "not started")];
    let groups = [search::run(&catalog, &view, "zzz", None)];
    let got: Value = serde_json::from_str(&search::answer(&catalog, &view, &groups, &down)).unwrap();
    let first = json!({"name": "server000", "tool_count": 2, "unavailable": "it crashed"});
    assert_eq!(got["results"][0]["available_sources"][0], first, "SEARCH-9: a server that is down");
}

#[test]
fn search_10_long_queries() {
    let catalog = catalog(town());
    let long = format!("message {}", "word ".repeat(300));
    assert!(found(&catalog, &long).truncated, "SEARCH-10: 1,000 characters");
    let many: String = (0..70).map(|n| format!("w{n} ")).collect();
    assert!(found(&catalog, &many).truncated, "SEARCH-10: 64 distinct tokens");
    assert!(!found(&catalog, &"message ".repeat(100)).truncated);
    let behind = format!("{}post_message", "x ".repeat(600));
    let group = found(&catalog, &behind);
    assert!(group.matches.is_empty(), "SEARCH-10: a name past the first 1,000 characters");
    assert_eq!(group.query.chars().count(), 1001, "SEARCH-10: nor is more than that repeated");
    assert_eq!(answer(&catalog, &Scope::all(), &[&long])["results"][0]["truncated"], true);
}

#[test]
fn search_11_scope_first() {
    let catalog = catalog(town());
    let scope = enabled(&["mcp-chat"]);
    let got = answer(&catalog, &scope, &["issue"]);
    assert_eq!(got["total_available"], 3);
    assert_eq!(got["results"][0]["unanswered_terms"], json!(["issue"]));
    assert_eq!(got["results"][0]["available_sources"], json!([{"name": "chat", "tool_count": 3}]));
    let alone = self::catalog(vec![town().remove(2)]);
    let explained = |catalog: &Catalog, scope: &Scope| {
        serde_json::to_value(explain::explain(catalog, &catalog.view(scope), "messages of a channel", None)).unwrap()
    };
    assert_eq!(explained(&catalog, &scope), explained(&alone, &Scope::all()), "SEARCH-11: no idf, no count");
    let denied = Scope::new(Grant { deny: list(&["mcp__chat__post_*"]), ..Grant::default() });
    assert_eq!(answer(&catalog, &denied, &["post message"])["total_available"], 10);
}

#[test]
fn search_12_near() {
    let catalog = catalog(town());
    for (rule, query, want) in [
        ("SEARCH-12: part of it", "gmail post message", &["mcp__chat__post_message"][..]),
        ("SEARCH-12: one shared word never suffices", "send gmail message", &[]),
        ("SEARCH-12: each holds one of the words", "run shell label channel day note", &[]),
        ("SEARCH-12: nothing is held", "frobnicate gmail", &[]),
    ] {
        assert_eq!(near(&catalog, query), want, "{rule}");
    }
    let got = answer(&catalog, &Scope::all(), &["gmail post message"]);
    let group = &got["results"][0];
    assert_eq!(group["near"][0]["missing"], json!(["gmail"]));
    assert_eq!(group["near"][0]["description"], "Posts a message to a channel");
    assert_eq!(group["matches"], json!([]), "SEARCH-12: never among matches");
    assert!(group["hint"].is_string() && group["near_note"].is_string() && group["available_sources"].is_array());
    assert!(got["tools"].as_object().unwrap().is_empty(), "SEARCH-8: exactly the names in matches");
    let off = ToolSearch { near: false, ..ToolSearch::default() };
    let off = catalog_with(off, CoreSet::default(), town());
    assert!(near(&off, "gmail post message").is_empty(), "SEARCH-12: off");
}

#[test]
fn search_12_a_number_is_what_a_tool_is_called_with() {
    let catalog = catalog(town());
    let filled = |with: &str| near(&catalog, &format!("post message {with}"));
    assert_eq!(filled("gmail 2026 11 30 5pm a41b"), filled("gmail"));
    assert_eq!(filled("gmail yesterday evening john about lunch"), [""; 0], "other words say what is wanted");
}

#[test]
fn search_12_what_a_name_says_tells_near_answers_apart() {
    let said = "order_drink: Brings a glass of water, with ice, to the table at the window of the room";
    let tools =
        [said, "serve_guest: Order a drink with ice, to the table at the window of the room", "x: one", "y: two"];
    let catalog = catalog(vec![source(Kind::Mcp, "s", &tools)]);
    assert_eq!(near(&catalog, "order drink somehow"), ["mcp__s__order_drink"]);
    let view = catalog.view(&Scope::all());
    let explained = explain::explain(&catalog, &view, "order drink somehow", None);
    let shares = |name: &str| {
        let miss = explained.near_misses.iter().find(|miss| miss.name == name).unwrap();
        let nearness = miss.nearness.clone().unwrap();
        (miss.reason, nearness.name, nearness.sum >= 0.98)
    };
    assert_eq!(shares("mcp__s__order_drink"), ("near", 1.0, true));
    assert_eq!(shares("mcp__s__serve_guest"), ("gate", 0.0, false));
}

#[test]
fn search_12_a_hunt_for_what_is_not_there_stays_empty() {
    let tools = [
        "run_report: Starts it",
        "shell_game: Plays it",
        "command_list: Shows it",
        "execute_order: Buys it",
        "code_lookup: Finds it",
    ];
    let catalog = catalog(vec![source(Kind::Mcp, "s", &tools)]);
    let group = found(&catalog, "run shell command execute code");
    assert!(group.matches.is_empty() && group.near.is_empty(), "{group:?}");
}

#[test]
fn describe_rules() {
    let catalog = catalog(town());
    let describe = |scope: &Scope, names: &[&str]| -> Value {
        serde_json::from_str(&describe::answer(&catalog, &catalog.view(scope), &list(names))).unwrap()
    };
    let got = describe(&Scope::all(), &["zzz", "note_add", "post_message", "yyy", "note_add", "terminal", "patch"]);
    assert_eq!(
        got["tools"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["note_add", "mcp__chat__post_message"],
        "DESCRIBE-1, DESCRIBE-2"
    );
    assert_eq!(got["not_found"], json!(["zzz", "yyy"]), "DESCRIBE-1");
    assert!(got["hint"].is_string());
    for core in ["terminal", "patch"] {
        assert!(got["errors"][core].as_str().unwrap().contains("directly"), "DESCRIBE-2: {core}");
    }
    assert_eq!(got["tools"]["note_add"]["parameters"]["required"], json!(["text"]));
    let two = self::catalog(vec![source(Kind::Mcp, "a", &["send_it"]), source(Kind::Mcp, "b", &["send_it"])]);
    let text = describe::answer(&two, &two.view(&Scope::all()), &list(&["send_it"]));
    let got: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(got["not_found"], json!(["send_it"]), "DESCRIBE-2: only an unambiguous one resolves");
    let hint = got["hint"].as_str().unwrap();
    assert!(hint.contains("2 tools: mcp__a__send_it, mcp__b__send_it."), "{hint}");
    let secret =
        self::catalog(vec![source(Kind::Core, "host", &["secret_core"]), source(Kind::Mcp, "chat", &["post"])]);
    let text = describe::answer(&secret, &secret.view(&enabled(&["chat"])), &list(&["secret_core"]));
    assert!(text.contains("not_found"), "DESCRIBE-4: a core tool out of scope whose name is not in the core set");
    let outside = enabled(&["chat"]);
    let mut hidden = describe(&outside, &["note_add"]).to_string();
    let unknown = describe(&outside, &["note_odd"]).to_string();
    hidden = hidden.replace("note_add", "note_odd");
    assert_eq!(hidden, unknown, "DESCRIBE-4: out of scope is as if it did not exist");
}

#[test]
fn describe_3_a_schema_keeps_its_order_and_numbers() {
    let text: Arc<str> =
        r#"{"name":"t","inputSchema":{"required":["z"],"properties":{"z":{"maximum":1.0e2},"a":{}},"type":"object"}}"#
            .into();
    let (one, _) = Source::read(SourceInfo::new("s", Kind::Mcp, Origin::Connection), &text, [&*text]);
    let catalog = catalog(vec![Arc::new(one)]);
    let got = describe::answer(&catalog, &catalog.view(&Scope::all()), &list(&["t"]));
    assert!(got.contains(r#"{"required":["z"],"properties":{"z":{"maximum":1.0e2},"a":{}},"type":"object"}"#), "{got}");
}

#[test]
fn names_collide_by_kind_naming_and_label() {
    let plugin = |label| source(Kind::Plugin, label, &["mcp__x__y: As it is"]);
    let mcp = source(Kind::Mcp, "x", &["y: Prefixed"]);
    let catalog = catalog(vec![plugin("b"), mcp.clone(), plugin("a")]);
    let id = catalog.find("mcp__x__y").unwrap();
    assert_eq!(catalog.source_of(id).info.name, "a", "kind decides, then label");
    assert_eq!(catalog.collisions.len(), 2);
    assert_eq!(assemble(&catalog).deferred_count, 1);
    let kept = source(Kind::Mcp, "a", &["mcp__x__y: Kept"]);
    let catalog = self::catalog(vec![kept, mcp]);
    let id = catalog.find("mcp__x__y").unwrap();
    assert_eq!(catalog.source_of(id).info.name, "x", "prefixed before as-is");
}

#[test]
fn bare_names_are_found_whatever_prefix_they_carry() {
    let kept = source(Kind::Mcp, "a_file", &["mcp__github__create_issue"]);
    let odd = source(Kind::Mcp, "gh", &["repo.get"]);
    let catalog = catalog(vec![kept, odd]);
    let view = catalog.view(&Scope::all());
    let shown = catalog.tool(catalog.base(1)).name.strip_prefix("mcp__gh__").unwrap().to_owned();
    for name in ["create_issue", "repo.get", &shown] {
        assert!(matches!(catalog.resolve(name, &view), super::Named::Deferred(_)), "DESCRIBE-2: {name}");
    }
}

#[test]
fn one_source_name_the_nearest_wins_whole() {
    let of = |origin, tool: &str| source_from(origin, Kind::Mcp, "s", &[tool]);
    let order = [Origin::Flag, Origin::Connection, Origin::User, Origin::Workspace, Origin::Server];
    let catalog = catalog(order.iter().map(|origin| of(*origin, &format!("{origin:?}"))).collect());
    assert_eq!(catalog.len(), 1);
    assert_eq!(&*catalog.tool(0).tool, "Connection");
}

#[test]
fn inline_tools_count_as_registered() {
    let catalog = catalog(town());
    let inline = r#"[
        {"name":"mcp__chat__post_message","description":"Inline instead","inputSchema":{}},
        {"name":"mcp__chat__pin","description":"Pins","inputSchema":{}},
        {"name":"x","source":{"name":"tracker"}},
        {"name":"  "}, 7
    ]"#;
    let derived = inline::with_inline(&catalog, inline).unwrap();
    let got = answer(&derived.catalog, &Scope::all(), &["mcp__chat__post_message", "pins"]);
    assert_eq!(got["total_available"], 13);
    assert_eq!(got["tools"]["mcp__chat__post_message"]["description"], "Inline instead");
    assert_eq!(got["tools"]["mcp__chat__pin"]["source_name"], "chat");
    assert!(derived.catalog.find("mcp__tracker__x").is_some(), "named as its registered source is");
    let refused: Vec<usize> = derived.problems.iter().filter(|p| p.refused).map(|p| p.index).collect();
    assert_eq!(refused, [3, 4]);
    assert!(inline::with_inline(&catalog, "{}").is_err());
}

/// What is known beforehand of real catalogs; said to be skipped where they are not there.
#[test]
fn real_catalogs() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/registries");
    let read = |name: &str, origin| {
        let path = folder.join(format!("{name}.json"));
        let bytes = std::fs::read(&path).ok()?;
        let read = crate::workspace::registry::read(&path.display().to_string(), name, &bytes, origin);
        Some(read.unwrap().sources)
    };
    let Some(real) = read("mcp-real", Origin::Flag) else {
        eprintln!("skipped: no real catalogs beside the project");
        return;
    };
    let linear: Vec<_> = real.iter().filter(|source| source.info.name == "linear").cloned().collect();
    let cloudflare = read("cloudflare-api", Origin::Flag).unwrap();
    let github = read("github-rest", Origin::Flag).unwrap();
    let both = [linear.clone(), cloudflare.clone()].concat();
    let wide = ToolSearch { listing_max_tokens: 20_000, ..ToolSearch::default() };
    let normal = ToolSearch::default;
    for (rule, sources, settings, length, tier, form) in [
        ("linear alone", linear, normal(), 200_000.0, 1, Form::Full),
        ("cloudflare alone", cloudflare, normal(), 200_000.0, 2, Form::Groups),
        ("both", both, normal(), 200_000.0, 1, Form::Mixed),
        ("github-rest", github, wide, 1_000_000.0, 1, Form::Names),
    ] {
        let catalog = catalog_with(settings, CoreSet::default(), sources);
        let made = assembly::assemble(&catalog, &Scope::all(), Some(length), Format::OpenAi);
        assert_eq!((made.tier, made.form), (tier, form), "LISTING: {rule}");
        assert!(made.listing_tokens <= made.listing_budget, "LISTING: {rule}");
        if form == Form::Mixed {
            assert!(made.tools.get().contains("- mcp__linear__create_issue: "), "LISTING: linear's lines whole");
            assert!(made.tools.get().contains("cloudflare (2747 tools)"));
        }
    }
}

mod remote {
    use super::*;
    use crate::catalog::remote::{RemoteTool, with_remote};

    const GMAIL: RemoteTool<'_> = RemoteTool {
        name: "connectors__gmail__SEND_EMAIL",
        slug: "GMAIL_SEND_EMAIL",
        description: "Sends an email with Gmail",
        parameters: r#"{"type": "object", "required": ["to"]}"#,
    };

    fn names(catalog: &Catalog, ids: &[u32]) -> Vec<String> {
        ids.iter().map(|id| catalog.tool(*id).name.to_string()).collect()
    }

    #[test]
    fn conn_2_hits_and_local_tools_are_ranked_in_one_pass() {
        let town = catalog(town());
        let derived = with_remote(&town, [GMAIL]);
        assert!(Arc::ptr_eq(&derived, &with_remote(&town, [GMAIL])), "kept by content");
        let (all, view) = (&derived.catalog, derived.catalog.view(&Scope::all()));
        let found = search::run(all, &view, "send gmail email", Some(5));
        assert_eq!(names(all, &found.matches), ["connectors__gmail__SEND_EMAIL"]);
        let answer: Value = serde_json::from_str(&search::answer(all, &view, &[found], &[])).unwrap();
        let told = json!({
            "source": "connectors", "source_name": "connectors", "description": GMAIL.description, "required": ["to"],
        });
        assert_eq!(answer["tools"]["connectors__gmail__SEND_EMAIL"], told);
        assert_eq!(answer["total_available"], town.view(&Scope::all()).deferred_count + 1, "SEARCH-8: hits count");
        let found = search::run(all, &view, "close issue", Some(5));
        assert_eq!(names(all, &found.matches), ["mcp__tracker__close_issue"], "the same gate for both");
        let found = search::run(all, &view, "connectors__gmail__send_email", Some(5));
        assert_eq!(names(all, &found.matches), ["connectors__gmail__SEND_EMAIL"], "SEARCH-6");
    }

    #[test]
    fn conn_2_a_hit_counts_for_its_own_query_alone() {
        let town = catalog(town());
        let all = with_remote(&town, [GMAIL]).catalog.clone();
        let view = all.view(&Scope::all());
        let without = view.hiding(&all, all.find(GMAIL.name));
        assert_eq!(without.deferred_count, town.view(&Scope::all()).deferred_count);
        assert!(search::run(&all, &without, "send gmail email", None).matches.is_empty());
        for query in ["create issue", "note", "send email", "list"] {
            let here = names(&all, &search::run(&all, &without, query, None).matches);
            assert_eq!(
                here,
                names(&town, &search::run(&town, &town.view(&Scope::all()), query, None).matches),
                "{query}"
            );
        }
    }

    #[test]
    fn conn_8_the_scope_was_applied_before() {
        let grant = Grant { enabled: Some(vec!["connectors-gmail".into()]), ..Grant::default() };
        let all = with_remote(&catalog(town()), [GMAIL]).catalog.clone();
        let view = all.view(&Scope::new(grant));
        assert_eq!((view.deferred_count, view.visible.len()), (1, 0));
    }

    #[test]
    fn a_tool_of_the_host_keeps_its_name() {
        let own = source(Kind::Plugin, "own", &["connectors__gmail__SEND_EMAIL: Mine"]);
        let all = with_remote(&catalog(vec![own]), [GMAIL]).catalog.clone();
        let id = all.find(GMAIL.name).unwrap();
        assert_eq!((&*all.source_of(id).info.name, all.view(&Scope::all()).deferred_count), ("own", 1));
    }

    #[test]
    fn conn_9_names_known_elsewhere_are_described_in_order() {
        let elsewhere = |name: &str| match name {
            "connectors__a__X" | "connectors__A__X" => Some(Box::leak(Box::new(describe::Elsewhere::Tool {
                name: "connectors__a__X".into(),
                description: "d".into(),
                parameters: serde_json::value::RawValue::from_string(r#"{"b": 1, "a": 2}"#.into()).unwrap(),
            })) as &_),
            "connectors__a__Y" => Some(Box::leak(Box::new(describe::Elsewhere::Error("later".into()))) as &_),
            _ => None,
        };
        let names = ["connectors__A__X", "connectors__a__X", "connectors__a__Y", "note_add", "connectors__a__Z"];
        let catalog = catalog(town());
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let answer = describe::answer_with(&catalog, &catalog.view(&Scope::all()), &names, elsewhere);
        assert!(
            answer.starts_with(
                r#"{"tools":{"connectors__a__X":{"description":"d","parameters":{"b":1,"a":2}},"note_add""#
            ),
            "{answer}"
        );
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            (&answer["errors"], &answer["not_found"]),
            (&json!({"connectors__a__Y": "later"}), &json!(["connectors__a__Z"]))
        );
    }
}

#[test]
fn conn_2_remote_tools_are_behind_the_bridge_even_where_no_others_are() {
    let with = |catalog: &Catalog, remote| {
        let scope = without_connections();
        let request = assembly::Request::new(catalog, &scope, None, Format::Mcp).with_remote(remote);
        assembly::assemble_for(catalog, &scope, request)
    };
    let core = catalog(vec![source(Kind::Core, "host", &["terminal"])]);
    let (off, on) = (with(&core, false), with(&core, true));
    assert_eq!((all_names_of(&off), off.tier), (list(&["terminal"]), 0), "ASSEMBLE-2");
    assert_eq!(all_names_of(&on), ["terminal", "tool_search", "tool_describe", "tool_call"]);
    assert_eq!((on.activated, on.tier, on.form, on.deferred_count), (true, 2, Form::None, 0));
    let town = catalog(town());
    let (off, on) = (with(&town, false), with(&town, true));
    assert_eq!((off.form, off.listing_tokens), (on.form, on.listing_tokens), "the listing has its whole budget");
    assert!(on.tools.get().contains("connected apps") && !off.tools.get().contains("connected apps"), "CONN-1");
}

#[test]
fn conn_6_manage_connections_stands_last_among_the_visible_tools() {
    let town = catalog(town());
    let all = all_names_of(&assemble(&town));
    assert_eq!(all, ["terminal", "read_file", "manage_connections", "tool_search", "tool_describe", "tool_call"]);
    let empty = assemble(&catalog(vec![]));
    assert_eq!(
        (all_names_of(&empty), empty.tier, empty.activated),
        (list(&["manage_connections"]), 0, false),
        "no tool for tiers"
    );
    assert_eq!(empty.tokens_before, empty.tokens_after);
    for scope in
        [without_connections(), enabled(&["host"]), Scope::new(Grant { deny: list(&["manage_*"]), ..Grant::default() })]
    {
        let assembly = assembly::assemble(&town, &scope, None, Format::Mcp);
        assert!(!all_names_of(&assembly).contains(&"manage_connections".to_owned()), "{:?}", scope.grant());
    }
    let off = Policy::new(ToolSearch::default(), &CoreSet { replace: Some(vec![]), extend: vec![] }).with_hosted(false);
    let off = Catalog::new([], Arc::new(off));
    assert!(!assemble(&off).tools.get().contains("\"connect\""), "with connectors off only MCP actions");
}

#[test]
fn conn_6_and_core_1_no_other_source_has_the_name_and_a_host_keeps_its_own() {
    for (kind, own) in [(Kind::Core, false), (Kind::Unknown, false), (Kind::Plugin, true), (Kind::Mcp, true)] {
        let info = SourceInfo { naming: super::names::Naming::AsIs, ..SourceInfo::new("s", kind, Origin::Connection) };
        let text: Arc<str> = r#"[{"name":"manage_connections","description":"Another","inputSchema":{}}]"#.into();
        let entries: Vec<&serde_json::value::RawValue> = serde_json::from_str(&text).unwrap();
        let source = Arc::new(Source::read(info, &text, entries.iter().map(|e| e.get())).0);
        let assembly = assemble(&catalog(vec![source]));
        assert_eq!(all_names_of(&assembly), ["manage_connections"], "{kind:?}");
        assert_eq!(!assembly.tools.get().contains("Another"), own, "{kind:?}");
    }
}
