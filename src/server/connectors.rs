//! Who is signed in, and which account at which gateway a request may use. Where nobody is, no request pays for it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::timeout;

use super::current::{Current, off_thread};
use super::session::{Opened, ServerAsking, Session};
use crate::catalog::scope::Scope;
use crate::connectors::sign_in::{Settings, VARIABLE};
use crate::connectors::{Account, Failure, SignIn};
use crate::diagnostic::Diagnostic;
use crate::protocol::errors::RpcError;
use crate::rpc::Call;
use crate::workspace::config::Config;
use crate::workspace::loader::Noting;

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
    if current.snapshot.without_layer {
        return None;
    }
    sign_in_settings(&current.config, &opened.asking, opened.places.user.as_deref())
}

/// The same of a configuration; `user` is the user's folder of configuration.
pub fn sign_in_settings(config: &Config, asking: &ServerAsking, user: Option<&Path>) -> Option<Settings> {
    let connectors = &config.settings.connectors;
    if !connectors.enabled {
        return None;
    }
    let file_of = |key: &str| config.origins.get(key).map(|origin| origin.file.clone()).unwrap_or_default();
    let token_file = connectors.token_file.as_deref().map(|path| {
        let home = || asking.environment.get("HOME").map(PathBuf::from);
        let beside = PathBuf::from(file_of("tools.connectors.token_file"));
        match path.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest))) {
            Some(path) => path,
            // A path is meant from where it is written; a host's, from the workspace.
            None => match (beside.parent(), &asking.folder) {
                (None, Some(workspace)) => workspace.join(path),
                (folder, _) => folder.unwrap_or(Path::new("")).join(path),
            },
        }
    });
    Some(Settings {
        gateway_url: connectors.gateway_url.clone(),
        url_file: file_of("tools.connectors.gateway_url"),
        token_file,
        environment: asking.environment.get(VARIABLE).filter(|token| !token.trim().is_empty()).cloned(),
        folder: user.map(Path::to_owned),
    })
}

/// Longest that a connection waits for the files of a sign-in.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who is signed in to the connector gateway, as the files say that a view was made with.
#[derive(Default)]
pub struct Signing {
    /// What it was made of; `None` where connectors are off.
    settings: Option<Settings>,
    sign_in: Option<SignIn>,
    /// What is wrong with it.
    pub findings: Vec<Diagnostic>,
    /// Set once somebody has asked; `None` where the gateway cannot be asked at all.
    account: OnceLock<Option<Arc<Account>>>,
    /// While this is held, a change of its files makes a new view.
    _noting: Option<Noting>,
}

impl Signing {
    /// Looks it up, unless it was made of the same and nothing has changed since.
    pub async fn look_up(opened: &Opened, current: &Current, before: Option<&Current>) -> Result<Arc<Self>, RpcError> {
        let settings = settings(opened, current);
        let same =
            |before: &&Current| before.signing.settings == settings && Arc::ptr_eq(&before.snapshot, &current.snapshot);
        let kept = before.filter(same).map(|before| before.signing.clone());
        let Some(asked) = settings.clone() else { return Ok(kept.unwrap_or_default()) };
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let loader = opened.loader.clone();
        // Noted first, so that what changes while it is read is seen.
        let reading = off_thread(move || (loader.note(asked.files()), asked.sign_in()));
        let Ok(read) = timeout(PATIENCE, reading).await else {
            tracing::warn!("the files of the sign-in to the gateway do not answer");
            // Made of nothing, so that the next view asks them again.
            return Ok(Arc::default());
        };
        let (noting, (sign_in, findings)) = read?;
        Ok(Arc::new(Self { settings, sign_in, findings, account: OnceLock::new(), _noting: Some(noting) }))
    }

    /// Whether somebody is signed in.
    pub fn is_signed_in(&self) -> bool {
        self.sign_in.is_some()
    }

    /// What a model is told of remote tools that could not be asked about.
    pub fn told(&self, failure: &Failure) -> (&'static str, String) {
        let advice = "Do not conclude that an app or a tool of it is missing";
        let asked = "The connected apps could not be asked";
        match failure {
            Failure::SignedOut => {
                let renewal = self.sign_in.as_ref().map(|sign_in| sign_in.kept.renewal()).unwrap_or_default();
                (
                    "signed_out",
                    format!("The gateway takes the sign-in to the connected apps no more: {renewal}. {advice}."),
                )
            }
            Failure::Unavailable(why) => ("unavailable", format!("{asked}: {why}. {advice}; try again later.")),
            Failure::Refused(refusal) => ("unavailable", format!("{asked}: {}. {advice}.", refusal.message)),
            Failure::Dark => ("unavailable", String::new()),
        }
    }

    /// Why there is no account.
    pub fn told_signed_out(&self) -> &'static str {
        match self.sign_in.is_some() || !self.findings.is_empty() {
            true => "The sign-in to connected apps cannot be used: `toolscout check` tells a person why.",
            false => "Nobody is signed in to connected apps: a person does it with `toolscout login`.",
        }
    }
}

impl Current {
    /// Whether a model that has this scope may find remote tools, so that it is to know of them: somebody is signed in,
    /// and the gateway has not said that it serves this account nothing.
    pub fn shows_remote(&self, scope: &Scope) -> bool {
        let served =
            || self.signing.account.get().is_none_or(|account| account.as_ref().is_some_and(|it| it.is_served()));
        self.signing.is_signed_in() && self.catalog.policy.defers_remote() && served() && scope.may_grant_remote()
    }
}

/// The hosted side for a request.
pub async fn access(call: &Call<Session>, current: &Current) -> Result<Access, RpcError> {
    let signing = &current.signing;
    if !current.config.settings.connectors.enabled || current.snapshot.without_layer {
        return Ok(Access::Disabled);
    }
    let Some(sign_in) = signing.sign_in.clone() else { return Ok(Access::SignedOut) };
    let account = match signing.account.get() {
        Some(known) => known.clone(),
        None => {
            let gateways = call.session.process.gateways.clone();
            // The system's certificates are read where the gateway is new.
            let made = off_thread(move || gateways.account(sign_in)).await?;
            let made = made.inspect_err(|error| tracing::warn!(%error, "the connector gateway cannot be asked"));
            signing.account.get_or_init(|| made.ok()).clone()
        }
    };
    Ok(account.map_or(Access::SignedOut, Access::Account))
}

/// The account that may be asked for remote tools in a scope: `None` where connectors are off, nobody is signed in, the
/// gateway serves none or refused the token, and where the scope grants none of them (CONN-1, CONN-8).
pub async fn account(call: &Call<Session>, current: &Current, scope: &Scope) -> Result<Option<Arc<Account>>, RpcError> {
    if !current.signing.is_signed_in() || !scope.may_grant_remote() {
        return Ok(None);
    }
    Ok(match access(call, current).await? {
        Access::Account(account) if account.resting().is_none() => Some(account),
        _ => None,
    })
}
