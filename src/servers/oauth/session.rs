//! Speaking to a server with what was granted for it.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, AuthorizationManager, OAuthClientConfig};

use super::Client;
use super::store::Entry;
use super::web::Web;

/// What shows the server's token and refreshes it; nothing where none was granted, or not by the authorization server that
/// speaks for the server today.
///
/// # Errors
/// Why that cannot be said now, for a person.
pub async fn manager(entry: &Entry, client: &Client) -> Result<Option<AuthorizationManager>, String> {
    let (reading, id) = (entry.clone(), client.id.clone());
    let kept = tokio::task::spawn_blocking(move || reading.take_up()).await;
    let kept = kept.map_err(|_| "what was granted for it was not read")??;
    let is_same = |granted: &String| id.as_ref().is_none_or(|id| id == granted);
    let kept = kept.filter(|kept| kept.credentials.token_response.is_some() && is_same(&kept.credentials.client_id));
    let Some(kept) = kept else { return Ok(None) };
    let web = Arc::new(Web::new(entry.resource().clone())?);
    let failed = |error: &AuthError| format!("its authorization cannot be used: {}", why(error, &web));
    let resource = entry.resource().url().clone();
    let manager = AuthorizationManager::new_with_oauth_http_client(resource, web.clone()).await;
    let mut manager = manager.map_err(|error| failed(&error))?;
    manager.set_credential_store(entry.clone());
    let found = manager.resolve_metadata().await.map_err(|error| failed(&error))?;
    // Without metadata the SDK would take addresses of the server itself, and refresh tokens are none of its business.
    if !found.source.is_discovered() {
        return Err("its authorization cannot be used: it publishes nothing of OAuth any more".to_owned());
    }
    manager.set_metadata(found.metadata);
    if !manager.initialize_from_store().await.map_err(|error| failed(&error))? {
        return Ok(None);
    }
    // The SDK knows of no secret of a client that it finds in a store.
    let secret = if client.id.is_some() { client.secret.clone() } else { kept.client_secret };
    if let Some(secret) = secret {
        let config = OAuthClientConfig::new(kept.credentials.client_id, entry.resource().to_string());
        manager.configure_client(config.with_client_secret(secret)).map_err(|error| failed(&error))?;
    }
    Ok(Some(manager))
}

/// Why OAuth came to nothing, in words of our own: the SDK's repeat what servers answer.
pub(super) fn why(error: &AuthError, web: &Web) -> String {
    let refused = web.refused().map(|why| format!(" ({why})")).unwrap_or_default();
    match error {
        AuthError::CredentialStoreError(why) => why.clone(),
        AuthError::TokenExchangeFailed(_) => format!("the authorization server gave no token for the code{refused}"),
        AuthError::TokenRefreshFailed(_) => format!("the token could not be refreshed{refused}"),
        AuthError::RegistrationFailed(_) if refused.is_empty() => {
            "the authorization server registers no clients by itself: register one there by hand, and name it in the \
             server's entry as `oauth: {client_id: …}`"
                .to_owned()
        }
        AuthError::RegistrationFailed(_) => format!("the authorization server registered no client{refused}"),
        AuthError::PkceUnsupported => "the authorization server knows no PKCE with S256".to_owned(),
        AuthError::AuthorizationServerMismatch { .. } | AuthError::AuthorizationServerMissingIssuer { .. } => {
            "the authorization server does not say that it is the one that was asked for".to_owned()
        }
        AuthError::ProtectedResourceMetadataInvalid { .. } => {
            "what the server publishes of its authorization is about another server".to_owned()
        }
        AuthError::AuthorizationServersUnavailable { .. } => {
            format!("no authorization server that it names can be used{refused}")
        }
        _ => format!("its authorization server cannot be found{refused}"),
    }
}
