//! The tool array of one turn: what the model sees of a scope, and what it costs.

use std::sync::{Arc, PoisonError};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::bridge::Behind;
use super::definition::Format;
use super::listing::{self, Form, Listing};
use super::scope::{Grant, Scope};
use super::settings::{ListingMode, ToolSearch};
use super::tokens::Quarters;
use super::view::View;
use super::{Catalog, bridge, connections, keep, render};

/// LISTING-1: the listing's budget where the context length is not known, in tokens.
const UNKNOWN_CONTEXT_BUDGET: u64 = 10_000;

/// What an assembly depends on beside catalog and configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    grant: Grant,
    budget: u64,
    format: Format,
    remote: bool,
}

impl Request {
    /// For a scope, with no remote tools in it.
    pub fn new(catalog: &Catalog, scope: &Scope, context_length: Option<f64>, format: Format) -> Self {
        let budget = budget(&catalog.policy.settings, context_length);
        Self { grant: scope.grant().clone(), budget, format, remote: false }
    }

    /// The same where the scope may hold remote tools, which nobody can count: the bridge leads to them too.
    #[must_use]
    pub fn with_remote(self, remote: bool) -> Self {
        Self { remote, ..self }
    }
}

/// The tool array and what is said about it.
#[derive(Debug)]
pub struct Assembly {
    /// The array as JSON.
    pub tools: Box<RawValue>,
    /// Whether the bridge stands in.
    pub activated: bool,
    /// 0 pass-through, 1 tools named in the listing, 2 none named.
    pub tier: u8,
    /// How the listing names them.
    pub form: Form,
    /// Number of deferred tools.
    pub deferred_count: usize,
    /// Tokens of the deferred definitions in the array's format.
    pub deferred_tokens: u64,
    /// The listing's budget in tokens.
    pub listing_budget: u64,
    /// Tokens of the listing's text.
    pub listing_tokens: u64,
    /// Tokens of the array if every tool in scope were loaded.
    pub tokens_before: u64,
    /// Tokens of the array.
    pub tokens_after: u64,
    /// SHA-256 of the array's bytes, the first 32 hex digits.
    pub etag: String,
}

/// LISTING-1, LISTING-6: the listing's budget in tokens.
pub fn budget(settings: &ToolSearch, context_length: Option<f64>) -> u64 {
    let most = u64::from(settings.listing_max_tokens);
    match settings.listing {
        ListingMode::Off => 0,
        ListingMode::On => most,
        ListingMode::Auto => match context_length.filter(|length| *length > 0.0) {
            Some(length) => ((length * settings.threshold_pct / 100.0).floor() as u64).min(most),
            None => UNKNOWN_CONTEXT_BUDGET.min(most),
        },
    }
}

/// ASSEMBLE: the array for a scope without remote tools. Kept by what it depends on.
pub fn assemble(catalog: &Catalog, scope: &Scope, context_length: Option<f64>, format: Format) -> Arc<Assembly> {
    assemble_for(catalog, scope, Request::new(catalog, scope, context_length, format))
}

/// The same for a request that was made for this scope.
pub fn assemble_for(catalog: &Catalog, scope: &Scope, request: Request) -> Arc<Assembly> {
    kept(catalog, &request).unwrap_or_else(|| {
        let made = Arc::new(make(catalog, &catalog.view(scope), &request));
        keep(&catalog.assemblies, request, made.clone());
        made
    })
}

/// The same if it was made before; then it costs the same whatever the number of tools.
pub fn kept(catalog: &Catalog, request: &Request) -> Option<Arc<Assembly>> {
    catalog.assemblies.lock().unwrap_or_else(PoisonError::into_inner).get(request).cloned()
}

fn make(catalog: &Catalog, view: &View, request: &Request) -> Assembly {
    let Request { budget, format, remote, .. } = *request;
    let activated = view.deferred_count > 0 || remote;
    let listing = if activated && catalog.policy.settings.listing != ListingMode::Off {
        listing::fit(view.blocks(catalog).iter().map(|block| &**block), budget)
    } else {
        Listing::default()
    };
    let mut tools = String::from("[");
    for (at, id) in view.visible.iter().enumerate() {
        if at > 0 {
            tools.push(',');
        }
        render::push_tool(catalog.tool(*id), format, &mut tools);
    }
    let mut own = String::new();
    if view.manages {
        connections::push(catalog.policy.hosted, format, &mut own);
        if !view.visible.is_empty() {
            tools.push(',');
        }
        tools.push_str(&own);
    }
    if activated {
        if !view.visible.is_empty() || view.manages {
            tools.push(',');
        }
        let down = view.unavailable(catalog);
        bridge::push_all(&Behind { deferred: view.deferred_count, remote, down: &down }, &listing, format, &mut tools);
    }
    tools.push(']');

    let deferred: Quarters = (0..catalog.sources.len())
        .filter(|source| view.counts[*source] > 0)
        .map(|source| {
            if view.is_whole(catalog, source) {
                return catalog.sources[source].quarters(format);
            }
            view.deferred_of(catalog, source).map(|(_, tool)| tool.quarters(format)).sum()
        })
        .sum();
    let visible: Quarters = view.visible.iter().map(|id| catalog.tool(*id).quarters(format)).sum();
    let visible = visible + Quarters::of(&own);
    let all = view.visible.len() + usize::from(view.manages) + view.deferred_count;
    // Two brackets and the commas between.
    let around = Quarters(2 + all.saturating_sub(1) as u64);
    Assembly {
        activated,
        tier: match (activated, listing.form) {
            (false, _) => 0,
            (true, Form::Full | Form::Names | Form::Mixed) => 1,
            (true, Form::Groups | Form::None) => 2,
        },
        form: listing.form,
        deferred_count: view.deferred_count,
        deferred_tokens: deferred.tokens(),
        listing_budget: budget,
        listing_tokens: listing.size.tokens(),
        tokens_before: (visible + deferred + around).tokens(),
        tokens_after: Quarters::of(&tools).tokens(),
        etag: etag(&tools),
        // It is made of JSON that was read, and of JSON that was written here.
        tools: RawValue::from_string(tools).unwrap_or_default(),
    }
}

fn etag(tools: &str) -> String {
    Sha256::digest(tools)[..16].iter().map(|byte| format!("{byte:02x}")).collect()
}
