//! Toolsets that a scope names and nobody has registered. Most are typed wrong, and a model would be shown nothing
//! without a word; but a host may register one later, so that it is a warning.

use serde_json::{Value, json};

use super::answers::{Listed, Status, read};
use super::failure::Failure;
use super::flags::Scope;
use super::report::Report;
use super::sidecar::Sidecar;
use crate::catalog::connections;
use crate::catalog::pattern::Patterns;
use crate::connectors::name::TOOLSET as REMOTE;
use crate::workspace::found_by::nearest;

/// The report with a note for each toolset that is not there.
///
/// # Errors
/// As of a request.
pub fn noting_unknown(sidecar: &mut Sidecar, scope: &Scope, report: Report) -> Result<Report, Failure> {
    let scope = scope.wire();
    if named(&scope).next().is_none() {
        return Ok(report);
    }
    let status: Status = read(&sidecar.request("status", json!({}))?)?;
    let listed: Listed = read(&sidecar.request("registry/list", json!({}))?)?;
    Ok(unknown(&scope, &status, &listed).into_iter().fold(report, Report::with_note))
}

/// What a person is told of each toolset of a scope (on the wire) that is not there.
pub fn unknown(scope: &Value, status: &Status, listed: &Listed) -> Vec<String> {
    // A server that does not run now is no slip of the finger.
    let servers = status.sources.iter().map(|source| source.name.as_str());
    let sources = listed.sources.iter().flat_map(|source| [source.name.as_str(), source.toolset.as_str()]);
    let known: Vec<&str> = servers.chain(sources).chain([connections::TOOLSET, REMOTE]).collect();
    let is_known = |name: &str| {
        let pattern = Patterns::new([name]);
        let of_app = name.strip_prefix(REMOTE).is_some_and(|app| app.starts_with('-'));
        of_app || known.iter().any(|known| pattern.matches(known) || name.strip_prefix("mcp-") == Some(known))
    };
    let tell = |name: &str| match nearest(name, known.iter().copied()) {
        Some(nearest) => format!("no toolset {name} is registered; nearest: {nearest}"),
        None => format!("no toolset {name} is registered; `toolscout status` lists those that are"),
    };
    named(scope).filter(|name| !is_known(name)).map(tell).collect()
}

fn named(scope: &Value) -> impl Iterator<Item = &str> {
    let lists = ["/toolsets/enabled", "/toolsets/disabled"].into_iter().filter_map(|at| scope.pointer(at)?.as_array());
    lists.flatten().filter_map(Value::as_str)
}
