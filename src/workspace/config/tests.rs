use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::super::effective::effective;
use super::super::source_text::read_node;
use super::*;
use crate::catalog::settings::DEFAULT_CORE;

fn layer(layer: Layer, yaml: &str) -> ConfigLayer {
    let file = format!("{layer:?}.yaml").to_lowercase();
    let root = read_node(&file, yaml.as_bytes()).unwrap_or_else(|problem| panic!("{yaml}: {}", problem.message));
    ConfigLayer::of_file(layer, file, root)
}

fn one(yaml: &str) -> Config {
    merge(&[layer(Layer::User, yaml)], &Trust::whole())
}

fn setting(config: &Config, key: &str) -> serde_json::Value {
    let pointer = format!("/settings/{}", key.replace('.', "/"));
    effective(config).pointer(&pointer).unwrap_or_else(|| panic!("{key} is shown")).clone()
}

/// `line:column code pointer`, one a line.
fn findings(config: &Config) -> String {
    let line = |found: &Diagnostic| format!("{}:{} {} {}", found.line, found.column, found.code, found.pointer);
    config.diagnostics.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_form_of_a_value_means_what_it_says() {
    for (label, key, yaml, expected) in [
        ("CONFIG-1: true is auto", "enabled", "tool_search: true", json!("auto")),
        ("CONFIG-1: false is off", "enabled", "tool_search: false", json!("off")),
        ("CONFIG-1: Yes is auto", "enabled", "tool_search: Yes", json!("auto")),
        ("CONFIG-1: 0 is off", "enabled", "tool_search: 0", json!("off")),
        ("CONFIG-1: \"OFF\" is off", "enabled", "tool_search: \"OFF\"", json!("off")),
        ("CONFIG-1: auto by itself", "enabled", "tool_search: auto", json!("auto")),
        ("CONFIG-1: enabled: true", "enabled", "tool_search: {enabled: true}", json!("on")),
        ("CONFIG-1: enabled: \"TRUE\"", "enabled", "tool_search: {enabled: \"TRUE\"}", json!("on")),
        ("CONFIG-1: enabled: AUTO", "enabled", "tool_search: {enabled: AUTO}", json!("auto")),
        ("CONFIG-1: enabled: no", "enabled", "tool_search: {enabled: no}", json!("off")),
        ("CONFIG-1: listing: false", "listing", "tool_search: {listing: false}", json!("off")),
        ("CONFIG-1: listing: 1", "listing", "tool_search: {listing: 1}", json!("on")),
        ("CONFIG-1: listing: \"1\"", "listing", "tool_search: {listing: \"1\"}", json!("on")),
        ("CONFIG-1: listing: ' yes '", "listing", "tool_search: {listing: ' yes '}", json!("on")),
        ("CONFIG-1: listing: Auto", "listing", "tool_search: {listing: Auto}", json!("auto")),
        ("CONFIG-1: near: \"no\"", "near", "tool_search: {near: \"no\"}", json!("off")),
        ("CONFIG-1: near: ON", "near", "tool_search: {near: ON}", json!("on")),
        ("CONFIG-1: near: 0", "near", "tool_search: {near: 0}", json!("off")),
        ("CONFIG-1: number as text", "max_search_limit", "tool_search: {max_search_limit: \"30\"}", json!(30)),
        ("CONFIG-1: number as text", "threshold_pct", "tool_search: {threshold_pct: ' 2.5 '}", json!(2.5)),
        ("CONFIG-1: 30.0 is whole", "max_search_limit", "tool_search: {max_search_limit: 30.0}", json!(30)),
        ("CONFIG-1: 4e3 is whole", "listing_max_tokens", "tool_search: {listing_max_tokens: 4e3}", json!(4000)),
        ("-0 is 0", "threshold_pct", "tool_search: {threshold_pct: -0.0}", json!(0)),
        ("CORE-5: names and globs", "keep", "tool_search: {keep: [a, 'b_*']}", json!(["a", "b_*"])),
        ("CORE-5: a single name", "keep", "tool_search: {keep: a}", json!(["a"])),
        ("null is as if absent", "listing", "tool_search: {listing: null}", json!("auto")),
        ("null is as if absent", "enabled", "tool_search: ~", json!("auto")),
    ] {
        let config = one(&format!("tools:\n  {yaml}"));
        assert_eq!(setting(&config, &format!("tools.tool_search.{key}")), expected, "{label} ({yaml})");
        assert_eq!(findings(&config), "", "{label} ({yaml})");
    }
    for (label, key, yaml, expected) in [
        ("CONFIG-1: connectors: false", "tools.connectors.enabled", "tools: {connectors: false}", json!(false)),
        (
            "CONFIG-1: connectors: {enabled: 'off'}",
            "tools.connectors.enabled",
            "tools: {connectors: {enabled: 'off'}}",
            json!(false),
        ),
        (
            "a URL",
            "tools.connectors.gateway_url",
            "tools: {connectors: {gateway_url: 'https://x'}}",
            json!("https://x"),
        ),
        ("blank is null", "tools.connectors.token_file", "tools: {connectors: {token_file: ' '}}", json!(null)),
        ("watch in any case", "watch", "watch: POLL", json!("poll")),
        ("bytes", "max_message_bytes", "max_message_bytes: 4096", json!(4096)),
        ("CORE-1: a list extends", "core", "core: [a, 'b*']", json!({"replace": null, "extend": ["a", "b*"]})),
        ("CORE-1: replaced", "core", "core: {replace: [x], extend: [y]}", json!({"replace": ["x"], "extend": ["y"]})),
        ("CORE-1: replaced by nothing", "core.replace", "core: {replace: []}", json!([])),
        ("paths", "trusted_workspaces", "trusted_workspaces: [/a, /b]", json!(["/a", "/b"])),
        ("nothing", "watch", "# nothing here\n", json!("auto")),
    ] {
        let config = one(yaml);
        assert_eq!(setting(&config, key), expected, "{label}");
        assert_eq!(findings(&config), "", "{label}");
    }
}

#[test]
fn config_2_what_is_out_of_range_or_unreadable_is_said_and_harmless() {
    for (key, yaml, expected, finding) in [
        ("threshold_pct", "threshold_pct: 120", json!(100), "3:20 config-clamped"),
        ("threshold_pct", "threshold_pct: -1", json!(0), "3:20 config-clamped"),
        ("threshold_pct", "threshold_pct: 1e999", json!(100), "3:20 config-clamped"),
        ("threshold_pct", "threshold_pct: -1e999", json!(0), "3:20 config-clamped"),
        ("threshold_pct", "threshold_pct: .nan", json!(5), "3:20 config-unreadable"),
        ("threshold_pct", "threshold_pct: .inf", json!(5), "3:20 config-unreadable"),
        ("threshold_pct", "threshold_pct: infinity", json!(5), "3:20 config-unreadable"),
        ("threshold_pct", "threshold_pct: 5%", json!(5), "3:20 config-unreadable"),
        ("threshold_pct", "threshold_pct: true", json!(5), "3:20 config-unreadable"),
        ("max_search_limit", "max_search_limit: 51", json!(50), "3:23 config-clamped"),
        ("max_search_limit", "max_search_limit: 5.5", json!(25), "3:23 config-unreadable"),
        ("max_search_limit", "max_search_limit: 99999999999999999999999", json!(50), "3:23 config-clamped"),
        ("listing_max_tokens", "listing_max_tokens: 10", json!(200), "3:25 config-clamped"),
        ("listing_max_tokens", "listing_max_tokens: 60001", json!(60000), "3:25 config-clamped"),
        ("listing_max_tokens", "listing_max_tokens: []", json!(4000), "3:25 config-unreadable"),
        ("search_default_limit", "search_default_limit: 0", json!(1), "3:27 config-clamped"),
        ("search_default_limit", "search_default_limit: 26", json!(25), "3:27 config-clamped"),
        ("search_default_limit", "search_default_limit: 1e30", json!(25), "3:27 config-clamped"),
        ("enabled", "enabled: maybe", json!("auto"), "3:14 config-unreadable"),
        ("enabled", "enabled: 2", json!("auto"), "3:14 config-unreadable"),
        ("enabled", "enabled: {}", json!("auto"), "3:14 config-unreadable"),
        ("listing", "listing: [on]", json!("auto"), "3:14 config-unreadable"),
        ("near", "near: auto", json!("on"), "3:11 config-unreadable"),
        ("keep", "keep: {a: 1}", json!([]), "3:11 config-unreadable"),
    ] {
        let config = one(&format!("tools:\n  tool_search:\n    {yaml}\n"));
        assert_eq!(setting(&config, &format!("tools.tool_search.{key}")), expected, "{yaml}");
        assert_eq!(findings(&config), format!("{finding} /tools/tool_search/{key}"), "{yaml}");
        let [found] = config.diagnostics.as_slice() else { panic!("one finding") };
        assert!(found.message.contains(&format!("`tools.tool_search.{key}`")), "the key: {}", found.message);
        assert_eq!(found.file, "user.yaml");
    }
    for (label, yaml, finding) in [
        ("a list for all", "[1]", "1:1 config-unreadable "),
        ("text for all", "hello", "1:1 config-unreadable "),
        ("a list for a section", "tools: [1]", "1:8 config-unreadable /tools"),
        ("text for a section", "tools: {tool_search: sometimes}", "1:22 config-unreadable /tools/tool_search"),
        ("a list for a section", "tools: {connectors: []}", "1:21 config-unreadable /tools/connectors"),
        ("a number for core", "core: 3", "1:7 config-unreadable /core"),
        ("null in a list", "core: [a, null]", "1:11 config-unreadable /core/1"),
        ("a broken glob", "core: {replace: ['[a']}", "1:18 config-unreadable /core/replace/0"),
        (
            "a number for a URL",
            "tools: {connectors: {gateway_url: 1}}",
            "1:35 config-unreadable /tools/connectors/gateway_url",
        ),
        ("watch by magic", "watch: magic", "1:8 config-unreadable /watch"),
        ("few bytes", "max_message_bytes: 1", "1:20 config-clamped /max_message_bytes"),
        ("many bytes", "max_message_bytes: 1e15", "1:20 config-clamped /max_message_bytes"),
        ("a list of servers", "mcpServers: [a]", "1:13 config-unreadable /mcpServers"),
        ("text for a server", "mcpServers: {a/b: x}", "1:19 config-unreadable /mcpServers/a~1b"),
    ] {
        assert_eq!(findings(&one(yaml)), finding, "{label}");
    }
}

#[test]
fn config_2_a_bad_item_leaves_the_others() {
    let config = one("tools: {tool_search: {keep: [a, 1, '', [b], c]}}");
    assert_eq!(config.settings.tool_search.keep, ["a", "c"]);
    assert_eq!(config.diagnostics.len(), 3);
    let braces = "{".repeat(5000) + &"}".repeat(5000);
    assert_eq!(one(&format!("core: ['{braces}', x]")).settings.core.extend, ["x"], "a glob that nests too deep");
}

#[test]
fn config_2_an_unknown_key_is_a_warning_with_the_nearest() {
    for (yaml, place, advice) in [
        ("tools: {tool_search: {treshold_pct: 3}}", "1:23", "nearest known key is `threshold_pct`"),
        ("tools:\n  tool_search:\n    searchDefaultLimit: 3\n", "3:5", "nearest known key is `search_default_limit`"),
        ("tools: {toolsearch: {}}", "1:9", "nearest known key is `tool_search`"),
        ("mcp_servers: {}", "1:1", "nearest known key is `mcpServers`"),
        ("core: {replaces: []}", "1:8", "nearest known key is `replace`"),
        ("listing: off", "1:1", "it belongs under `tools.tool_search`"),
        ("tool_search: off", "1:1", "it belongs under `tools`"),
        ("tools: {watch: poll}", "1:9", "it belongs at the top level"),
        ("tools: {connectors: {keep: []}}", "1:22", "it belongs under `tools.tool_search`"),
    ] {
        let config = one(yaml);
        let [found] = config.diagnostics.as_slice() else { panic!("{yaml}: {:?}", config.diagnostics) };
        assert_eq!((found.code, found.severity), ("config-unknown-key", Severity::Warning), "{yaml}");
        assert_eq!(format!("{}:{}", found.line, found.column), place, "{yaml}");
        assert!(found.message.contains(advice), "{yaml}: {}", found.message);
        assert_eq!(config.settings, Settings::default(), "{yaml}");
    }
}

#[test]
fn later_layers_win_key_by_key() {
    let layers = [
        layer(
            Layer::User,
            "tools: {tool_search: {enabled: off, keep: [a, b], listing: on}}\ncore: {extend: [u], replace: [r]}\nmcpServers: {one: {command: u}, two: {command: u}}\n",
        ),
        layer(
            Layer::Workspace,
            "tools: {tool_search: {keep: [c], listing: nonsense}}\nmcpServers: {two: {url: w}, one: null}\n",
        ),
        layer(Layer::File, "core: {replace: null}\nwatch: null\n"),
    ];
    let config = merge(&layers, &Trust::whole());
    let search = &config.settings.tool_search;
    assert_eq!(search.enabled, Enabled::Off, "what nobody overrides stays");
    assert_eq!(search.keep, ["c"], "a list is taken whole");
    assert_eq!(search.listing, ListingMode::On, "what cannot be read hides nothing");
    assert_eq!(config.settings.core, CoreSet { replace: None, extend: vec!["u".into()] }, "null resets replace");
    let servers: Vec<_> =
        config.settings.mcp_servers.iter().map(|(name, server)| (name.as_str(), server.origin.layer)).collect();
    assert_eq!(servers, [("one", Layer::User), ("two", Layer::Workspace)], "servers merge by name");
    assert_eq!(findings(&config), "1:43 config-unreadable /tools/tool_search/listing");
    for (key, expected) in [
        ("tools.tool_search.enabled", Layer::User),
        ("tools.tool_search.keep", Layer::Workspace),
        ("tools.tool_search.listing", Layer::User),
        ("tools.tool_search.near", Layer::BuiltIn),
        ("core.replace", Layer::File),
        ("watch", Layer::BuiltIn),
        ("mcpServers.one", Layer::User),
        ("mcpServers.two", Layer::Workspace),
    ] {
        assert_eq!(config.origins.get(key).map(|origin| origin.layer), Some(expected), "{key}");
    }
}

#[test]
fn config_2_the_default_limit_is_bounded_by_what_all_layers_say() {
    let layers = [
        layer(Layer::User, "tools:\n  tool_search:\n    search_default_limit: 30\n"),
        layer(Layer::Workspace, "tools: {tool_search: {max_search_limit: 40}}"),
    ];
    assert_eq!(merge(&layers, &Trust::default()).settings.tool_search.search_default_limit, 30);
    let config = merge(&layers[..1], &Trust::default());
    assert_eq!(config.settings.tool_search.search_default_limit, 25);
    assert_eq!(findings(&config), "3:27 config-clamped /tools/tool_search/search_default_limit");
    let low = one("tools: {tool_search: {max_search_limit: 3}}");
    assert_eq!((low.settings.tool_search.search_default_limit, findings(&low).as_str()), (3, ""), "nobody wrote 5");
}

#[test]
fn an_untrusted_workspace_runs_and_sends_nothing() {
    let yaml = "tools: {tool_search: {listing: off}, connectors: {gateway_url: 'https://evil', token_file: /etc/shadow}}\ncore: {replace: []}\nwatch: poll\nmcpServers: {x: {command: rm}}\n";
    let workspace = [layer(Layer::Workspace, yaml)];
    let config = merge(&workspace, &Trust::default());
    let plain = Settings::default();
    let expected =
        Settings { tool_search: ToolSearch { listing: ListingMode::Off, ..plain.tool_search.clone() }, ..plain };
    assert_eq!(config.settings, expected, "only what is harmless");
    let waits: Vec<&str> = config.untrusted.iter().map(|waiting| &*waiting.key).collect();
    assert_eq!(waits, ["core", "mcpServers.x", "tools.connectors.gateway_url", "tools.connectors.token_file", "watch"]);
    assert_eq!(findings(&config), "");
    let trusted = merge(&workspace, &Trust::whole());
    assert_eq!(trusted.settings.connectors.gateway_url.as_deref(), Some("https://evil"));
    assert_eq!((trusted.settings.mcp_servers.len(), trusted.untrusted.len()), (1, 0));
    let user = merge(&[layer(Layer::User, yaml)], &Trust::default());
    assert_eq!((user.settings.watch, user.untrusted.len()), (Watch::Poll, 0), "a user's own file needs no trust");
}

#[test]
fn an_untrusted_workspace_may_switch_connectors_off_but_not_on() {
    let enabled = |user: &str, workspace: &str| {
        let layers = [layer(Layer::User, user), layer(Layer::Workspace, workspace)];
        let config = merge(&layers, &Trust::default());
        let waits = config.untrusted.into_iter().map(|waiting| waiting.key);
        (config.settings.connectors.enabled, waits.collect::<Vec<_>>())
    };
    let waits = vec!["tools.connectors.enabled".to_owned()];
    assert_eq!(enabled("{}", "tools: {connectors: off}"), (false, Vec::new()));
    assert_eq!(enabled("tools: {connectors: off}", "tools: {connectors: on}"), (false, waits.clone()));
    assert_eq!(enabled("tools: {connectors: off}", "tools: {connectors: {enabled: 1}}"), (false, waits));
}

#[test]
fn what_a_person_approved_takes_effect_as_long_as_it_says_the_same() {
    let says = |yaml: &str, approved: &[&str]| {
        let workspace = [layer(Layer::Workspace, yaml)];
        let waiting = merge(&workspace, &Trust::default()).untrusted;
        let approved = waiting.iter().filter(|waiting| approved.contains(&&*waiting.key));
        (workspace, Trust { whole: false, approved: Arc::new(approved.map(Waiting::fingerprint).collect()) })
    };
    let yaml = "core: [a]\nwatch: poll\nmcpServers: {x: {command: run}, y: {command: rm}}\n";
    let (workspace, trust) = says(yaml, &["core", "mcpServers.x"]);
    let config = merge(&workspace, &trust);
    let waits: Vec<&str> = config.untrusted.iter().map(|waiting| &*waiting.key).collect();
    assert_eq!(waits, ["mcpServers.y", "watch"]);
    assert_eq!((config.settings.core.extend, config.settings.mcp_servers.len()), (vec!["a".to_owned()], 1));
    let (changed, _) = says(&yaml.replace("run", "rm"), &[]);
    let config = merge(&changed, &trust);
    assert_eq!((config.settings.mcp_servers.len(), config.untrusted.len()), (0, 3), "the command is another now");
}

#[test]
fn only_the_user_names_trusted_workspaces() {
    for other in [Layer::Workspace, Layer::File, Layer::Initialize] {
        let config = merge(&[layer(other, "trusted_workspaces: [/]")], &Trust::whole());
        assert!(config.settings.trusted_workspaces.is_empty(), "{other:?}");
        assert_eq!(findings(&config), "1:21 config-misplaced /trusted_workspaces", "{other:?}");
    }
}

#[test]
fn what_a_host_sends_is_the_top_layer() {
    let settings = json!({"tools": {"tool_search": {"listing": "never", "near": false}}, "core": ["a"]});
    let host = ConfigLayer::of_initialize(Some(&settings), Some(&json!(["b", "c_*"])));
    let config = merge(&host, &Trust::default());
    assert!(!config.settings.tool_search.near);
    assert_eq!(config.settings.core.extend, ["a", "b", "c_*"], "a bare array extends what the settings say");
    let [found] = config.diagnostics.as_slice() else { panic!("one finding") };
    assert_eq!((found.file.as_str(), found.line, found.column), ("", 0, 0));
    assert_eq!(found.pointer, "/tools/tool_search/listing");
    assert_eq!(effective(&config)["origins"]["core.extend"], json!({"layer": "initialize"}));
    assert!(ConfigLayer::of_initialize(None, None).is_empty());
}

#[test]
fn core_1_the_default_set_is_replaced_and_extended() {
    let patterns = |yaml: &str| one(yaml).settings.core.patterns().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(patterns("{}"), DEFAULT_CORE);
    assert_eq!(patterns("core: [x]").len(), DEFAULT_CORE.len() + 1);
    assert_eq!(patterns("core: {replace: [a], extend: [b]}"), ["a", "b"]);
    assert_eq!(patterns("core: {replace: []}"), [""; 0]);
}

#[test]
fn config_get_shows_every_setting_its_layer_and_no_secret() {
    let user = layer(
        Layer::User,
        "tools: {tool_search: {threshold_pct: 2.5}}\nmcpServers:\n  x: {command: run, args: [-v], env: {TOKEN: s3cret, PORT: 80}, headers: [s3cret], url: 'http://h/p?k=s3cret'}\n",
    );
    let config = merge(&[user], &Trust::default());
    let expected = r#"{"settings":{"tools":{"tool_search":{"enabled":"auto","threshold_pct":2.5,"search_default_limit":5,"max_search_limit":25,"listing":"auto","listing_max_tokens":4000,"keep":[],"near":"on"},"connectors":{"enabled":true,"gateway_url":null,"token_file":null},"sources":{}},"core":{"replace":null,"extend":[]},"watch":"auto","max_message_bytes":67108864,"max_result_bytes":262144,"mcpServers":{"x":{"command":"run","args":["-v"],"env":{"TOKEN":"***","PORT":"***"},"headers":["***"],"url":"http://h/p?***"}},"mcp_cache":"on","trusted_workspaces":[]},"origins":{"core.extend":{"layer":"built-in"},"core.replace":{"layer":"built-in"},"max_message_bytes":{"layer":"built-in"},"max_result_bytes":{"layer":"built-in"},"mcpServers":{"layer":"user","file":"user.yaml"},"mcpServers.x":{"layer":"user","file":"user.yaml"},"mcp_cache":{"layer":"built-in"},"tools.connectors.enabled":{"layer":"built-in"},"tools.connectors.gateway_url":{"layer":"built-in"},"tools.connectors.token_file":{"layer":"built-in"},"tools.sources":{"layer":"built-in"},"tools.tool_search.enabled":{"layer":"built-in"},"tools.tool_search.keep":{"layer":"built-in"},"tools.tool_search.listing":{"layer":"built-in"},"tools.tool_search.listing_max_tokens":{"layer":"built-in"},"tools.tool_search.max_search_limit":{"layer":"built-in"},"tools.tool_search.near":{"layer":"built-in"},"tools.tool_search.search_default_limit":{"layer":"built-in"},"tools.tool_search.threshold_pct":{"layer":"user","file":"user.yaml"},"trusted_workspaces":{"layer":"built-in"},"watch":{"layer":"built-in"}}}"#;
    assert_eq!(effective(&config).to_string(), expected);
}

#[test]
fn what_config_get_shows_reads_back_as_the_same_settings() {
    let config = one(
        "tools: {tool_search: {enabled: on, near: off, threshold_pct: 7, keep: [k]}, connectors: {enabled: off, token_file: t}, sources: {s: {aliases: [a], keywords: {k: [b]}}}}\ncore: {replace: [a]}\nwatch: poll\nmax_message_bytes: 5000\nmax_result_bytes: 6000\nmcp_cache: off\n",
    );
    let shown = effective(&config)["settings"].to_string();
    let again = one(&shown);
    assert_eq!((effective(&again)["settings"].to_string(), findings(&again)), (shown, String::new()));
}

#[test]
fn no_message_repeats_what_may_be_secret() {
    let config = one("mcpServers: {a: s3cret}\n");
    assert!(config.diagnostics.iter().all(|found| !found.message.contains("s3cret")));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_give_settings_in_range(
        key in prop::sample::select(keys::settings().collect::<Vec<_>>()),
        value in "[-0-9.e+a-z \\[\\]{}:,'\"~*&!|\\\\]{0,24}",
    ) {
        let indent = key.split('.').enumerate().map(|(at, part)| format!("\n{}{part}:", "  ".repeat(at))).collect::<String>();
        if let Ok(root) = read_node("c.yaml", format!("{indent} {value}").as_bytes()) {
            let config = merge(&[ConfigLayer::of_file(Layer::User, "c.yaml".into(), root)], &Trust::whole());
            let search = &config.settings.tool_search;
            prop_assert!((0.0..=100.0).contains(&search.threshold_pct));
            prop_assert!((1..=50).contains(&search.max_search_limit));
            prop_assert!((1..=search.max_search_limit).contains(&search.search_default_limit));
            prop_assert!((200..=60_000).contains(&search.listing_max_tokens));
            prop_assert!(config.diagnostics.iter().all(|found| found.line > 0 && found.column > 0));
        }
    }

    #[test]
    fn raw_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = read_node("c.yaml", &bytes);
        let _ = read_node("c.json", &bytes);
    }
}

#[test]
fn words_of_sources_are_laid_over_one_another_key_by_key() {
    let layers = [
        layer(
            Layer::User,
            "tools:\n  sources:\n    hub: {aliases: [gh], keywords: {a: x, 'b*': [y]}}\n    other: {aliases: o}",
        ),
        layer(Layer::File, "tools: {sources: {hub: {aliases: null, keywords: {a: [z, pull request]}}, other: null}}"),
    ];
    let config = merge(&layers, &Trust::default());
    assert_eq!(findings(&config), "");
    let expected = json!({
        "hub": {"aliases": ["gh"], "keywords": {"a": ["z", "pull request"], "b*": ["y"]}},
        "other": {"aliases": ["o"], "keywords": {}},
    });
    assert_eq!(setting(&config, "tools.sources"), expected);
    assert_eq!(config.origins["tools.sources.hub.aliases"].layer, Layer::User);
    assert_eq!(config.origins["tools.sources.hub.keywords.a"].layer, Layer::File);
}

#[test]
fn config_2_words_of_sources_that_cannot_be_read_are_told_where_they_are() {
    for (label, yaml, expected) in [
        ("no map", "tools: {sources: [a]}", "1:18 config-unreadable /tools/sources"),
        ("no entry", "tools: {sources: {a: gh}}", "1:22 config-unreadable /tools/sources/a"),
        ("an unknown key", "tools: {sources: {a: {alias: [b]}}}", "1:23 config-unknown-key /tools/sources/a/alias"),
        ("no list", "tools: {sources: {a: {aliases: 7}}}", "1:32 config-unreadable /tools/sources/a/aliases"),
        (
            "no word",
            "tools: {sources: {a: {aliases: [b, '?!', 7]}}}",
            "1:36 config-unreadable /tools/sources/a/aliases/1\n1:42 config-unreadable /tools/sources/a/aliases/2",
        ),
        (
            "no map of keywords",
            "tools: {sources: {a: {keywords: [b]}}}",
            "1:33 config-unreadable /tools/sources/a/keywords",
        ),
        (
            "no glob",
            "tools: {sources: {a: {keywords: {'x[': b}}}}",
            "1:34 config-unreadable /tools/sources/a/keywords/x[",
        ),
    ] {
        assert_eq!(findings(&one(yaml)), expected, "{label}");
    }
    let config = one("tools: {sources: {a: {alias: [b]}}}");
    assert!(config.diagnostics[0].message.ends_with("the nearest known key is `aliases`"), "{:?}", config.diagnostics);
    let many: String = (0..300).map(|n| format!("p{n}: w, ")).collect();
    let config = one(&format!("tools: {{sources: {{a: {{keywords: {{{many}}}}}}}}}"));
    assert_eq!((config.settings.sources["a"].found_by.keywords.len(), config.diagnostics.len()), (256, 1));
}

#[test]
fn words_that_a_workspace_gives_wait_for_trust_source_by_source() {
    let yaml = "tools: {sources: {a: {aliases: [weather]}, b: {aliases: [c]}}}";
    let layers = [layer(Layer::User, "tools: {sources: {a: {aliases: [mine]}}}"), layer(Layer::Workspace, yaml)];
    let config = merge(&layers, &Trust::default());
    assert_eq!(setting(&config, "tools.sources"), json!({"a": {"aliases": ["mine"], "keywords": {}}}));
    let waiting: Vec<&str> = config.untrusted.iter().map(|waiting| waiting.key.as_str()).collect();
    assert_eq!(waiting, ["tools.sources.a", "tools.sources.b"]);
    let approved = [config.untrusted[1].fingerprint()].into();
    let config = merge(&layers, &Trust::default().and(approved));
    assert_eq!(setting(&config, "tools.sources.b.aliases"), json!(["c"]));
    assert_eq!(setting(&config, "tools.sources.a.aliases"), json!(["mine"]));
}
