//! The answer of `config/get`: the settings in effect in the shape of the file, and the layer each came from.
//!
//! Promises: the same configuration gives the same bytes; what may be secret in a server's entry is masked.

use serde_json::{Map, Value, json};

use super::address::{self, MASK};
use super::config::{Config, Settings, Watch};
use super::layers::{Layer, Origin};
use crate::catalog::found_by::FoundBy;

/// `{settings, origins: {key: {layer, file?}}}`.
pub fn effective(config: &Config) -> Value {
    let origins: Map<String, Value> = config.origins.iter().map(|(key, origin)| (key.clone(), shown(origin))).collect();
    json!({ "settings": settings(&config.settings), "origins": origins })
}

fn shown(origin: &Origin) -> Value {
    match (origin.layer, origin.file.as_str()) {
        (Layer::BuiltIn, _) | (_, "") => json!({ "layer": origin.layer }),
        (layer, file) => json!({ "layer": layer, "file": file }),
    }
}

fn settings(settings: &Settings) -> Value {
    let search = &settings.tool_search;
    let servers: Map<String, Value> =
        settings.mcp_servers.iter().map(|(name, server)| (name.clone(), masked(server.node.to_json()))).collect();
    let words = |words: &FoundBy| json!({ "aliases": words.aliases, "keywords": words.keywords });
    let sources: Map<String, Value> =
        settings.sources.iter().map(|(name, source)| (name.clone(), words(&source.found_by))).collect();
    json!({
        "tools": {
            "tool_search": {
                "enabled": search.enabled,
                "threshold_pct": plain(search.threshold_pct),
                "search_default_limit": search.search_default_limit,
                "max_search_limit": search.max_search_limit,
                "listing": search.listing,
                "listing_max_tokens": search.listing_max_tokens,
                "keep": search.keep,
                "near": if search.near { "on" } else { "off" },
            },
            "connectors": {
                "enabled": settings.connectors.enabled,
                "gateway_url": settings.connectors.gateway_url,
                "token_file": settings.connectors.token_file,
            },
            "sources": sources,
        },
        "core": settings.core,
        "watch": match settings.watch {
            Watch::Auto => "auto",
            Watch::Poll => "poll",
        },
        "max_message_bytes": settings.max_message_bytes,
        "max_result_bytes": settings.max_result_bytes,
        "mcpServers": servers,
        "mcp_cache": if settings.mcp_cache { "on" } else { "off" },
        "trusted_workspaces": settings.trusted_workspaces,
    })
}

/// A percentage as people write it: 5 rather than 5.0.
fn plain(percent: f64) -> Value {
    if percent.fract() == 0.0 { json!(percent as u32) } else { json!(percent) }
}

/// A server's entry without what its `env` and `headers` hold, and the keys in its address.
fn masked(mut server: Value) -> Value {
    for (key, value) in server.as_object_mut().into_iter().flatten() {
        if let Some(url) = value.as_str().filter(|_| key == "url") {
            *value = address::masked(url).into();
        }
        if key.eq_ignore_ascii_case("env") || key.eq_ignore_ascii_case("headers") {
            mask(value);
        }
    }
    server
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(mask),
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Null => {}
        _ => *value = MASK.into(),
    }
}
