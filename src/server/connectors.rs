//! Which account at which gateway a request may use. Where connectors are off this looks nothing up.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::current::{Current, off_thread};
use super::session::{Opened, Session};
use crate::catalog::scope::Scope;
use crate::connectors::sign_in::{Settings, VARIABLE};
use crate::connectors::{Account, Failure};
use crate::diagnostic::Diagnostic;
use crate::protocol::errors::RpcError;
use crate::rpc::Call;

/// What the hosted side of connectors is for a request.
pub enum Access {
    /// `tools.connectors.enabled` is off, or a layer that might say so cannot be read.
    Disabled,
    /// Nobody is signed in.
    SignedOut,
    /// Somebody is.
    Account(Arc<Account>),
}

/// What settings and environment say of the sign-in; `None` where connectors are off.
fn settings(opened: &Opened, current: &Current) -> Option<Settings> {
    let connectors = &current.config.settings.connectors;
    let gateway_url = connectors.gateway_url.as_ref().filter(|_| connectors.enabled)?.clone();
    if current.snapshot.without_layer {
        return None;
    }
    let file_of = |key: &str| current.config.origins.get(key).map(|origin| origin.file.clone()).unwrap_or_default();
    let token_file = connectors.token_file.as_deref().map(|path| {
        let home = || opened.asking.environment.get("HOME").map(PathBuf::from);
        let beside = PathBuf::from(file_of("tools.connectors.token_file"));
        match path.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest))) {
            Some(path) => path,
            // A path is meant from where it is written; a host's, from the workspace.
            None => match (beside.parent(), &opened.asking.folder) {
                (None, Some(workspace)) => workspace.join(path),
                (folder, _) => folder.unwrap_or(Path::new("")).join(path),
            },
        }
    });
    Some(Settings {
        gateway_url,
        url_file: file_of("tools.connectors.gateway_url"),
        token_file,
        environment: opened.asking.environment.get(VARIABLE).filter(|token| !token.trim().is_empty()).cloned(),
        folder: opened.places.user.clone(),
    })
}

/// What is wrong with the sign-in. Where connectors are off nothing is.
pub async fn findings(opened: &Opened, current: &Current) -> Result<Vec<Diagnostic>, RpcError> {
    match settings(opened, current) {
        None => Ok(Vec::new()),
        Some(settings) => off_thread(move || settings.sign_in().1).await,
    }
}

/// The hosted side for a request. The sign-in is looked up anew, so that who signs in or out is noticed.
pub async fn access(call: &Call<Session>, current: &Current) -> Result<Access, RpcError> {
    let connectors = &current.config.settings.connectors;
    if !connectors.enabled || current.snapshot.without_layer {
        return Ok(Access::Disabled);
    }
    let Some(settings) = settings(call.session.opened().await?, current) else { return Ok(Access::SignedOut) };
    let gateways = call.session.process.gateways.clone();
    // Its files, and the system's certificates where the gateway is new.
    off_thread(move || {
        let Some(sign_in) = settings.sign_in().0 else { return Access::SignedOut };
        match gateways.account(sign_in) {
            Ok(account) => Access::Account(account),
            Err(error) => {
                tracing::warn!(%error, "the connector gateway cannot be asked");
                Access::SignedOut
            }
        }
    })
    .await
}

/// The account that may be asked for remote tools in a scope: `None` where connectors are off, nobody is signed in, the
/// gateway serves none or refused the token, and where the scope grants none of them (CONN-1, CONN-8).
pub async fn account(call: &Call<Session>, current: &Current, scope: &Scope) -> Result<Option<Arc<Account>>, RpcError> {
    if current.config.settings.connectors.gateway_url.is_none() || !scope.may_grant_remote() {
        return Ok(None);
    }
    Ok(match access(call, current).await? {
        Access::Account(account) if account.resting().is_none() => Some(account),
        _ => None,
    })
}

/// What a model is told of remote tools that could not be asked about.
pub fn told(failure: &Failure) -> (&'static str, String) {
    let advice = "Do not conclude that an app or a tool of it is missing";
    match failure {
        Failure::SignedOut => (
            "signed_out",
            format!(
                "The sign-in to the connected apps has run out: a person renews it with `toolscout login`. {advice}."
            ),
        ),
        Failure::Unavailable(why) => {
            ("unavailable", format!("The connected apps could not be asked: {why}. {advice}; try again later."))
        }
        Failure::Refused(refusal) => {
            ("unavailable", format!("The connected apps could not be asked: {}. {advice}.", refusal.message))
        }
        Failure::Dark => ("unavailable", String::new()),
    }
}
