//! CONN-4: the entries of a call at the gateway, one after the other: each is checked, approved and sent by itself.

use std::sync::Arc;

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::{grants, unknown};
use crate::connectors::gateway::NOT_FOUND;
use crate::connectors::{Account, Failure, Remote};
use crate::protocol::errors::RpcError;
use crate::protocol::host::ApproveParams;
use crate::protocol::work::BridgeResult;
use crate::server::approval::approval;
use crate::server::bridge::results::{EntryError, Outcome, Results, Slot};
use crate::server::bridge::{Call, Checker, Content, Current, Entry, Session, Sight, compact};
use crate::server::connectors::Signing;

/// Runs them. `None` where the gateway turned out to serve nothing to this account, before
/// anything was done.
pub async fn run(
    call: &Call<Session>,
    sight: &Sight,
    account: &Account,
    current: &Current,
    entries: &[Entry],
    call_id: &Option<String>,
) -> Result<Option<BridgeResult>, RpcError> {
    let mut batch =
        Batch { call, sight, account, signing: &current.signing, call_id, sent: false, coerced: Vec::new() };
    let mut results = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let outcome = match batch.entry(index, entry, entries.len() > 1).await? {
            Ok(data) => Outcome::Response(data),
            Err(Stopped::Dark) if !batch.sent => return Ok(None),
            Err(Stopped::Dark) => Outcome::Error(unknown(&entry.name)),
            Err(Stopped::Error(error)) => Outcome::Error(*error),
        };
        results.push(Slot { index, name: entry.name.clone(), outcome, cut: None });
    }
    if call.cancel.is_cancelled() && !batch.sent {
        // Nothing was done, so there is nothing to tell.
        return Err(RpcError::cancelled());
    }
    let limit = current.config.settings.max_result_bytes as usize;
    let cut = Results::new(results).within(limit, call.session.process.servers.cache_folder().cloned()).await;
    let (results, whole) = cut.ok_or_else(|| RpcError::internal("the answer of the gateway cannot be cut"))?;
    let content = to_raw_value(&results).map_err(|error| RpcError::internal(error.to_string()))?;
    Ok(Some(BridgeResult::Content(Content {
        is_error: results.is_error(),
        output_file: whole.map(|path| path.display().to_string()),
        coerced: batch.coerced,
        ..Content::of(content)
    })))
}

/// Why an entry has no response.
enum Stopped {
    /// The gateway serves nothing to this account.
    Dark,
    Error(Box<EntryError>),
}

impl From<EntryError> for Stopped {
    fn from(error: EntryError) -> Self {
        Self::Error(Box::new(error))
    }
}

impl From<Box<EntryError>> for Stopped {
    fn from(error: Box<EntryError>) -> Self {
        Self::Error(error)
    }
}

/// A call on its way.
struct Batch<'a> {
    call: &'a Call<Session>,
    sight: &'a Sight,
    account: &'a Account,
    signing: &'a Signing,
    call_id: &'a Option<String>,
    /// Whether the gateway took an entry, whatever became of it.
    sent: bool,
    coerced: Vec<String>,
}

impl Batch<'_> {
    async fn entry(
        &mut self,
        index: usize,
        entry: &Entry,
        several: bool,
    ) -> Result<Result<Box<RawValue>, Stopped>, RpcError> {
        if self.call.cancel.is_cancelled() {
            return Ok(Err(interrupted().into()));
        }
        let Some(remote) = Remote::parse(&entry.name).filter(|remote| grants(self.sight, remote)) else {
            return Ok(Err(unknown(&entry.name).into()));
        };
        match self.account.resting() {
            None => {}
            Some(Failure::Dark) => return Ok(Err(Stopped::Dark)),
            Some(failure) => return Ok(Err(error_of(failure, &remote, self.signing).into())),
        }
        let (mut entry, mut repairs) = (entry.clone(), Vec::new());
        if let Err(error) = self.probe(&remote, &mut entry, &mut repairs).await {
            return Ok(Err(error.into()));
        }
        if self.call.session.opened().await?.host.approve {
            let asked = tokio::select! {
                asked = self.approved(index, &remote, &entry.arguments) => asked,
                () = self.call.cancel.cancelled() => Err(Box::new(interrupted())),
            };
            match asked {
                Err(error) => return Ok(Err(error.into())),
                Ok(None) => {}
                Ok(Some(arguments)) => {
                    entry.arguments = arguments;
                    if let Err(error) = self.probe(&remote, &mut entry, &mut repairs).await {
                        return Ok(Err(error.into()));
                    }
                }
            }
        }
        let whose = |repair: String| if several { format!("calls[{index}]: {repair}") } else { repair };
        self.coerced.extend(entry.repairs.iter().cloned().chain(repairs).map(whose));
        // Not dropped when the call is cancelled: what is sent is answered.
        let answer = self.account.execute(&remote, &entry.arguments).await;
        self.sent |= !matches!(answer, Err(Failure::Dark | Failure::SignedOut));
        Ok(match answer {
            Ok(data) => Ok(data),
            Err(Failure::Dark) => Err(Stopped::Dark),
            Err(failure) => Err(error_of(failure, &remote, self.signing).into()),
        })
    }

    /// CALL-7, CALL-8 and CALL-12, where the schema is known already. What else it may not fit is the gateway's to say.
    async fn probe(
        &self,
        remote: &Remote,
        entry: &mut Entry,
        repairs: &mut Vec<String>,
    ) -> Result<(), Box<EntryError>> {
        let name = remote.to_string();
        let Some(schema) = self.account.known_schema(&name) else { return Ok(()) };
        let checker: Arc<Checker> = self.call.session.process.checkers.of(&schema).await;
        entry.unflatten(|member| checker.declares(member));
        let checked = checker.check(std::mem::take(&mut entry.arguments));
        entry.arguments = checked.arguments;
        repairs.extend(checked.coerced);
        let parameters = compact(&schema);
        match checked.verdict.refusal(&name, parameters.as_deref()) {
            Some(refusal) if !refusal.missing.is_empty() => {
                let missing = refusal.missing.to_vec();
                let error = EntryError::new("INVALID_ARGUMENTS", refusal.error);
                Err(Box::new(EntryError { missing, parameters, ..error }))
            }
            _ => Ok(()),
        }
    }

    /// Asks the host, if it is to be asked; arguments that it wants instead.
    async fn approved(
        &self,
        index: usize,
        remote: &Remote,
        arguments: &Map<String, Value>,
    ) -> Result<Option<Map<String, Value>>, Box<EntryError>> {
        let asked = ApproveParams {
            name: remote.to_string(),
            arguments: Value::Object(arguments.clone()),
            toolset: Some(remote.toolset()),
            call_id: self.call_id.clone(),
            index: Some(index),
            read_only: None,
            destructive: None,
        };
        let denied = |why| Box::new(EntryError::new("DENIED", format!("`{remote}` was not invoked: {why}")));
        approval(&self.call.peer, asked).await.map_err(denied)
    }
}

fn error_of(failure: Failure, remote: &Remote, signing: &Signing) -> EntryError {
    match failure {
        Failure::Dark => unknown(&remote.to_string()),
        Failure::Refused(refusal) if refusal.code == NOT_FOUND => unknown(&remote.to_string()),
        Failure::Refused(mut refusal) => {
            if refusal.code.starts_with("CONNECTION_") {
                refusal.connector.get_or_insert_with(|| remote.connector.clone());
                refusal.hint.get_or_insert_with(|| {
                    let action = if refusal.code == "CONNECTION_EXPIRED" { "reconnect" } else { "connect" };
                    format!(
                        "manage_connections {{\"action\": \"{action}\", \"connectors\": [\"{}\"]}}",
                        remote.connector
                    )
                });
            }
            refusal.into()
        }
        Failure::SignedOut => EntryError::new("SIGNED_OUT", signing.told(&failure).1),
        Failure::Unavailable(_) => EntryError::new("GATEWAY_ERROR", signing.told(&failure).1),
    }
}

fn interrupted() -> EntryError {
    EntryError::new("INTERRUPTED", "It was not sent: the call was interrupted before.")
}
