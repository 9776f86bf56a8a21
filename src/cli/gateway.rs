//! How a sign-in to a connector gateway stands, asked of the gateway itself: a token that nobody tried may be any.

use super::configured::Configured;
use super::failure::Failure;
use crate::connectors::sign_in::Settings;
use crate::connectors::{Failure as Asked, Gateways, SignIn};
use crate::server::session::{Options, ServerAsking};
use crate::server::sign_in_settings;

/// What became of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The gateway takes the token.
    SignedIn,
    /// It takes it, or does not say that it does not, and serves no apps to this account.
    NoApps,
    /// It does not take the token.
    Refused,
    /// It did not answer, or not as it should; why.
    Unknown(String),
    /// There is no token.
    SignedOut,
}

impl Standing {
    /// As JSON spells it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::NoApps => "no_apps",
            Self::Refused => "refused",
            Self::Unknown(_) => "unavailable",
            Self::SignedOut => "signed_out",
        }
    }

    /// What a person is told of it.
    pub fn told(&self) -> String {
        match self {
            Self::SignedIn => "signed in".to_owned(),
            Self::NoApps => "signed in, but it serves no connected apps to this account".to_owned(),
            Self::Refused => "it refuses the token; sign in anew: toolscout login".to_owned(),
            Self::Unknown(why) => format!("it cannot be asked whether it takes the token: {why}"),
            Self::SignedOut => "nobody is signed in; sign in: toolscout login".to_owned(),
        }
    }
}

/// Asks a gateway once whether it takes a token.
///
/// # Errors
/// Where the system gives no thread.
pub fn ask(sign_in: SignIn) -> Result<Standing, Failure> {
    let gateways = Gateways::default();
    let account = match gateways.account(sign_in) {
        Ok(account) => account,
        Err(error) => return Ok(Standing::Unknown(error.to_string())),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(match runtime.block_on(account.greet()) {
        Ok(()) => Standing::SignedIn,
        Err(Asked::Dark) => Standing::NoApps,
        Err(Asked::SignedOut) => Standing::Refused,
        Err(Asked::Unavailable(why)) => Standing::Unknown(why),
        Err(Asked::Refused(refusal)) => Standing::Unknown(refusal.message),
    })
}

/// The gateway in effect and how the sign-in to it stands; `None` where there is none, or connectors are off.
///
/// # Errors
/// As of [`ask`].
pub fn standing(options: &Options) -> Result<Option<(String, Standing)>, Failure> {
    let Some(settings) = settings(options) else { return Ok(None) };
    let named = settings.gateway_url.clone();
    Ok(match settings.sign_in() {
        (Some(sign_in), _) => Some((sign_in.origin.to_string(), ask(sign_in)?)),
        // What is wrong with it is told of where diagnostics are.
        (None, found) => named.map(|url| match found.into_iter().next() {
            Some(finding) => (url, Standing::Unknown(finding.message)),
            None => (url, Standing::SignedOut),
        }),
    })
}

/// Whether a search asks a gateway. None is asked here.
pub fn is_signed_in(options: &Options) -> bool {
    settings(options).is_some_and(|settings| settings.sign_in().0.is_some())
}

fn settings(options: &Options) -> Option<Settings> {
    let Configured { config, places, .. } = Configured::read(options);
    let asking = ServerAsking { environment: options.environment.clone(), folder: places.workspace };
    sign_in_settings(&config, &asking, options.places.user.as_deref())
}
