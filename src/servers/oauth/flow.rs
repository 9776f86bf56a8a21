//! One sign-in: from the server's metadata to a link, and from the browser that comes back to a token that is kept.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata, OAuthClientConfig};

use super::Client;
use super::redirect::{Page, Redirect, Said};
use super::session::why;
use super::store::Entry;
use super::web::Web;

/// How long a person has to sign in.
pub const PATIENT: Duration = Duration::from_secs(300);
/// How long it may take to make a link.
const PREPARING: Duration = Duration::from_secs(60);
/// The name that a person sees where they are asked for consent.
const NAME: &str = "Toolscout";

/// How a sign-in ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// What was granted is kept.
    Authorized,
    /// The person, or the authorization server for them, said no; why, if it said so.
    Denied(Option<&'static str>),
    /// It came to nothing; why.
    Failed(String),
    /// Nobody came back in time.
    TimedOut,
}

/// A sign-in that waits for its person.
pub struct Flow {
    link: String,
    state: String,
    manager: AuthorizationManager,
    web: Arc<Web>,
    redirect: Redirect,
}

impl Flow {
    /// Finds the server's authorization server, registers a client there unless the entry names one, and makes the link.
    ///
    /// # Errors
    /// Why there is none, for a person.
    pub async fn begin(entry: &Entry, client: &Client) -> Result<Self, String> {
        let taken = |error| match client.port {
            Some(port) => format!("the port {port} of this machine cannot be listened on: {error}"),
            None => format!("no port of this machine can be listened on: {error}"),
        };
        let redirect = Redirect::bind(client.port).await.map_err(taken)?;
        let web = Arc::new(Web::new(entry.resource().clone())?);
        let prepared = tokio::time::timeout(PREPARING, prepare(entry, client, &redirect.uri(), web.clone())).await;
        let (manager, link) = match prepared {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(Refusal::Sdk(error))) => return Err(why(&error, &web)),
            Ok(Err(Refusal::Told(reason))) => return Err(reason.to_owned()),
            Err(_) => return Err("its authorization server does not answer in time".to_owned()),
        };
        let url = Url::parse(&link).ok();
        // What the SDK appends: the server's address may have had one of its own.
        let state = |url: Url| url.query_pairs().filter(|(key, _)| key == "state").last().map(|it| it.1.into_owned());
        let state = url.and_then(state).ok_or("the authorization server's address cannot be made a link of")?;
        Ok(Self { link, state, manager, web, redirect })
    }

    /// Where the person signs in. It is worth nothing to who cannot answer at this machine's port.
    pub fn link(&self) -> &str {
        &self.link
    }

    /// Waits for the person, `limit` at most.
    pub async fn wait(mut self, limit: Duration) -> Ending {
        let visit = tokio::time::timeout(limit, self.redirect.visit(&self.state)).await;
        let Ok(visit) = visit else { return Ending::TimedOut };
        let (ending, page) = match visit.said {
            Said::Denied(code) => (Ending::Denied(code), Page::Denied),
            Said::Granted { code, issuer } => {
                let exchanged = self.manager.exchange_code_for_token_with_issuer(&code, &self.state, issuer.as_deref());
                match exchanged.await {
                    Ok(_) => (Ending::Authorized, Page::Done),
                    Err(error) => (Ending::Failed(why(&error, &self.web)), Page::Failed),
                }
            }
        };
        // A browser that is gone needs no page.
        let _ = visit.page.send(page);
        self.redirect.close().await;
        ending
    }
}

/// Why a sign-in did not begin.
enum Refusal {
    Sdk(AuthError),
    Told(&'static str),
}

impl From<AuthError> for Refusal {
    fn from(error: AuthError) -> Self {
        Self::Sdk(error)
    }
}

async fn prepare(
    entry: &Entry,
    client: &Client,
    redirect: &str,
    web: Arc<Web>,
) -> Result<(AuthorizationManager, String), Refusal> {
    let resource = entry.resource();
    let mut manager = AuthorizationManager::new_with_oauth_http_client(resource.url().clone(), web).await?;
    manager.set_credential_store(entry.clone());
    let found = manager.resolve_metadata().await?;
    if !found.source.is_discovered() {
        return Err(Refusal::Told("it publishes nothing of OAuth: its authorization is none that can be asked for"));
    }
    let AuthorizationMetadata { authorization_endpoint, token_endpoint, registration_endpoint, .. } = &found.metadata;
    let endpoints = [authorization_endpoint, token_endpoint].into_iter().chain(registration_endpoint);
    if !endpoints.into_iter().all(|endpoint| resource.trusts_text(endpoint)) {
        return Err(Refusal::Told(
            "its authorization server is not at plain `https` addresses elsewhere than on this machine",
        ));
    }
    manager.set_metadata(found.metadata);
    let scopes = match client.scopes.is_empty() {
        true => manager.select_initial_scopes(&[]).await,
        false => client.scopes.clone(),
    };
    let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
    match &client.id {
        Some(id) => {
            let config = OAuthClientConfig::new(id, redirect);
            manager.configure_client(match &client.secret {
                Some(secret) => config.with_client_secret(secret),
                None => config,
            })?;
        }
        None => {
            let registered = manager.register_client(NAME, redirect, &scopes).await?;
            if let Some(secret) = registered.client_secret {
                entry.keep_secret(registered.client_id, secret);
            }
        }
    }
    let link = manager.get_authorization_url(&scopes).await?;
    Ok((manager, link))
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::super::resource::Resource;
    use super::*;
    use crate::servers::secrets::Learned;

    /// A sign-in that waits; nothing was asked of anybody.
    async fn waiting() -> (Flow, Url) {
        let resource = Resource::read("http://127.0.0.1:9/mcp").unwrap();
        let web = Arc::new(Web::new(resource.clone()).unwrap());
        let mut manager =
            AuthorizationManager::new_with_oauth_http_client(resource.url().clone(), web.clone()).await.unwrap();
        manager.set_credential_store(Store::new(None).entry(&resource, Learned::default()));
        let redirect = Redirect::bind(None).await.unwrap();
        let back = Url::parse(&redirect.uri()).unwrap();
        (Flow { link: String::new(), state: "s".to_owned(), manager, web, redirect }, back)
    }

    async fn visit(back: &Url, query: &str) -> u16 {
        let mut url = back.clone();
        url.set_query(Some(query));
        crate::servers::http::client().unwrap().get(url).send().await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn nobody_is_waited_for_without_end() {
        let (flow, _) = waiting().await;
        assert_eq!(flow.wait(Duration::from_millis(50)).await, Ending::TimedOut);
    }

    #[tokio::test]
    async fn a_stranger_ends_nothing_and_the_person_does() {
        let (flow, back) = waiting().await;
        let visits = async {
            assert_eq!(visit(&back, "error=access_denied&state=t").await, 400);
            visit(&back, "error=access_denied&state=s").await
        };
        let (ending, status) = tokio::join!(flow.wait(PATIENT), visits);
        assert_eq!((ending, status), (Ending::Denied(Some("access_denied")), 200));
        assert!(crate::servers::http::client().unwrap().get(back).send().await.is_err(), "nobody listens any more");
    }

    #[tokio::test]
    async fn who_comes_and_says_nothing_keeps_nobody_out() {
        let (flow, back) = waiting().await;
        let port = back.port().unwrap();
        let visits = async {
            let mut silent = Vec::new();
            for _ in 0..20 {
                silent.push(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap());
            }
            for mut stream in silent {
                // Whatever it is told, it is let go.
                let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            }
            visit(&back, "error=access_denied&state=s").await
        };
        let both = async { tokio::join!(flow.wait(PATIENT), visits) };
        let (ending, status) = tokio::time::timeout(Duration::from_secs(30), both).await.expect("the person in time");
        assert_eq!((ending, status), (Ending::Denied(Some("access_denied")), 200));
    }
}
