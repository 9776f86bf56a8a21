//! What was granted for each server: a file a server in `oauth/` among the user's configuration, for its owner alone.
//!
//! No two servers share a file, so that none's tokens are lost when two processes write. A file is taken for the server
//! whose URL stands in it and no other.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::resource::Resource;
use crate::private_file::{self, Unread};
use crate::servers::secrets::Learned;

/// How often a file is looked at while somebody waits for another process to write it, and a lock for it to be free.
const LOOK: Duration = Duration::from_secs(2);
const LOCK: Duration = Duration::from_millis(50);
/// How long another process may hold a lock: longer than its requests may take.
const LOCKED: Duration = Duration::from_secs(40);

/// All that was granted.
#[derive(Debug, Clone, Default)]
pub struct Store {
    folder: Option<PathBuf>,
}

impl Store {
    /// In the user's folder of configuration, if there is one.
    pub fn new(user: Option<&Path>) -> Self {
        Self { folder: user.map(|user| user.join("oauth")) }
    }

    /// What was granted for one server. What is read of it is never shown in texts that `learned` masks.
    pub fn entry(&self, resource: &Resource, learned: Learned) -> Entry {
        let path = self.folder.as_ref().map(|folder| folder.join(format!("{}.json", resource.file_stem())));
        Entry { path, resource: resource.clone(), learned, registered: Arc::default(), seen: Arc::default() }
    }
}

/// A file as it was found.
type Stamp = Option<(SystemTime, u64)>;

/// What was granted for one server; clones are the same.
#[derive(Clone)]
pub struct Entry {
    path: Option<PathBuf>,
    resource: Resource,
    learned: Learned,
    /// A client that has just been registered, and its secret.
    registered: Arc<Mutex<Option<(String, String)>>>,
    /// The file as it was when it was last taken up or written here.
    seen: Arc<Mutex<Stamp>>,
}

/// What stands in a file.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    resource: String,
    /// That of a client that the authorization server registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret: Option<String>,
    pub credentials: StoredCredentials,
}

impl Entry {
    /// The server it is for.
    pub fn resource(&self) -> &Resource {
        &self.resource
    }

    /// What is kept, to be used from now on; see [`Self::granted_elsewhere`].
    ///
    /// # Errors
    /// As of [`Self::read`].
    pub(super) fn take_up(&self) -> Result<Option<Kept>, String> {
        self.see(self.path.as_deref().and_then(stamp));
        self.read()
    }

    /// What is kept; nothing where there is none.
    ///
    /// # Errors
    /// Why the file is not taken, for a person.
    fn read(&self) -> Result<Option<Kept>, String> {
        let Some(path) = &self.path else { return Ok(None) };
        let told = |why: &Unread| why.told().map(|why| format!("{}: {why}", path.display()));
        let text = match private_file::read(path) {
            Ok(text) => text,
            Err(why) => return told(&why).map_or(Ok(None), Err),
        };
        // The parser's own message could show a part of a token.
        let kept = serde_json::from_str::<Kept>(&text).ok().filter(|kept| kept.resource == self.resource.to_string());
        let Some(kept) = kept else {
            return Err(
                told(&Unread::Malformed("it does not hold what was granted for this server")).unwrap_or_default()
            );
        };
        self.learn(&kept);
        Ok(Some(kept))
    }

    /// Whether there is a grant.
    ///
    /// # Errors
    /// As of reading it.
    pub fn is_granted(&self) -> Result<bool, String> {
        Ok(self.read()?.is_some_and(|kept| kept.credentials.token_response.is_some()))
    }

    /// Keeps the secret of a client that has just been registered with what it will be granted.
    pub(super) fn keep_secret(&self, client: String, secret: String) {
        self.learned.add(&secret);
        *self.registered.lock().unwrap_or_else(PoisonError::into_inner) = Some((client, secret));
    }

    fn see(&self, stamp: Stamp) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = stamp;
    }

    fn write(&self, credentials: StoredCredentials) -> Result<(), String> {
        let path = self.path.as_ref().ok_or("there is no folder for the user's configuration: set XDG_CONFIG_HOME")?;
        let before = self.read().ok().flatten().filter(|kept| kept.credentials.client_id == credentials.client_id);
        let registered = self.registered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let registered = registered.filter(|(client, _)| *client == credentials.client_id).map(|(_, secret)| secret);
        let client_secret = registered.or_else(|| before.and_then(|kept| kept.client_secret));
        let kept = Kept { resource: self.resource.to_string(), client_secret, credentials };
        self.learn(&kept);
        usable(&kept.credentials)?;
        let text = serde_json::to_string_pretty(&kept).map_err(|_| "what was granted is no JSON")?;
        let failed = |error: io::Error| format!("{} cannot be written: {error}", path.display());
        private_file::write(path, &format!("{text}\n")).map_err(failed)?;
        self.see(stamp(path));
        Ok(())
    }

    /// Forgets what was granted. Whether there was anything.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn forget(&self) -> io::Result<bool> {
        let Some(path) = &self.path else { return Ok(false) };
        let removed = match std::fs::remove_file(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        let _ = std::fs::remove_file(lock_of(path));
        self.see(None);
        Ok(removed)
    }

    /// Waits until another process has written what was granted, since it was last taken up or written here.
    pub async fn granted_elsewhere(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let (path, seen) = (self.path.clone(), self.seen.clone());
            let look = tokio::task::spawn_blocking(move || {
                let now = stamp(&path?);
                let seen = *seen.lock().unwrap_or_else(PoisonError::into_inner);
                (now.is_some() && now != seen).then_some(())
            });
            if let Ok(Some(())) = look.await {
                return;
            }
        }
    }

    fn learn(&self, kept: &Kept) {
        kept.client_secret.iter().for_each(|secret| self.learned.add(secret));
        let tokens = serde_json::to_value(&kept.credentials.token_response).unwrap_or_default();
        for name in ["access_token", "refresh_token", "id_token"] {
            tokens.get(name).and_then(Value::as_str).into_iter().for_each(|token| self.learned.add(token));
        }
    }

    /// Does something with the file where it holds up nobody.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let entry = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&entry)).await;
        let done = done.unwrap_or_else(|_| Err("the file was not looked at".to_owned()));
        done.map_err(AuthError::CredentialStoreError)
    }
}

/// Characters of the longest token that is taken: a few times what servers take for all headers.
const LONGEST_TOKEN: usize = 64 << 10;

/// Whether a token can be sent to anybody (RFC 6750, section 2.1), so that a sign-in that is told to be done is.
fn usable(credentials: &StoredCredentials) -> Result<(), &'static str> {
    let Some(response) = &credentials.token_response else { return Ok(()) };
    let response = serde_json::to_value(response).unwrap_or_default();
    let text = |name: &str| response.get(name).and_then(Value::as_str).unwrap_or_default();
    // A client must not use a token of a type that it does not know (RFC 6749, section 7.1).
    if !text("token_type").eq_ignore_ascii_case("bearer") {
        return Err("the authorization server gave a token of another type than `Bearer`");
    }
    let is_sent = |token: &str| token.bytes().all(|byte| byte.is_ascii_graphic()) && token.len() <= LONGEST_TOKEN;
    let (access, refresh) = (text("access_token"), text("refresh_token"));
    match !access.is_empty() && is_sent(access) && is_sent(refresh) {
        true => Ok(()),
        false => Err("the authorization server gave a token that cannot be sent to anybody"),
    }
}

fn stamp(path: &Path) -> Stamp {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

fn lock_of(path: &Path) -> PathBuf {
    path.with_extension("lock")
}

/// Opens the lock of a file and takes it, if nobody has it.
fn try_lock(path: &Path) -> Result<Option<File>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{} cannot be locked: {error}", path.display());
    private_file::make_folder(path.parent().unwrap_or(path)).map_err(|error| failed(&error))?;
    let file = File::options().create(true).truncate(false).write(true).open(lock_of(path));
    let file = file.map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

#[async_trait]
impl CredentialStore for Entry {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.off_thread(|entry| Ok(entry.read()?.map(|kept| kept.credentials))).await
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.off_thread(|entry| entry.write(credentials)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.off_thread(|entry| entry.forget().map(|_| ()).map_err(|error| error.to_string())).await
    }

    /// A grant that is not taken any more is forgotten, unless another has come in its place.
    async fn on_refresh_token_rejected(&self, credentials: &StoredCredentials) -> Result<(), AuthError> {
        let rejected = serde_json::to_value(credentials).unwrap_or_default();
        self.off_thread(move |entry| {
            let kept = entry.read()?.and_then(|kept| serde_json::to_value(kept.credentials).ok());
            if kept.is_some_and(|kept| kept == rejected) {
                entry.forget().map_err(|error| error.to_string())?;
            }
            Ok(())
        })
        .await
    }

    /// One process at a time refreshes: a refresh token is often good for one use.
    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let Some(path) = self.path.clone() else { return Ok(None) };
        let locked = tokio::time::timeout(LOCKED, async {
            loop {
                let path = path.clone();
                if let Some(file) = self.off_thread(move |_| try_lock(&path)).await? {
                    return Ok(CredentialRefreshGuard::new(file));
                }
                // No system tells when a lock becomes free without a thread that waits for it.
                tokio::time::sleep(LOCK).await;
            }
        });
        let late = || AuthError::CredentialStoreError(format!("another process holds {}", lock_of(&path).display()));
        locked.await.unwrap_or_else(|_| Err(late())).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(token: &str) -> StoredCredentials {
        let response = serde_json::json!({ "access_token": token, "token_type": "bearer", "refresh_token": "r3fresh" });
        StoredCredentials::new("client".to_owned(), serde_json::from_value(response).ok(), Vec::new(), Some(1))
    }

    fn entry(store: &Store, url: &str) -> Entry {
        store.entry(&Resource::read(url).unwrap(), Learned::default())
    }

    fn token(entry: &Entry) -> Option<String> {
        let kept = serde_json::to_value(entry.read().unwrap()?.credentials).unwrap();
        kept["token_response"]["access_token"].as_str().map(str::to_owned)
    }

    #[tokio::test]
    async fn what_was_granted_is_for_its_server_alone() {
        let user = tempfile::tempdir().unwrap();
        let store = Store::new(Some(user.path()));
        let (a, b) = (entry(&store, "https://x.example/a"), entry(&store, "https://x.example/b"));
        a.save(credentials("token-a")).await.unwrap();
        assert_eq!((token(&a), token(&b)), (Some("token-a".to_owned()), None));
        b.save(credentials("token-b")).await.unwrap();
        assert_eq!(token(&a).as_deref(), Some("token-a"));
        std::fs::copy(a.path.as_ref().unwrap(), b.path.as_ref().unwrap()).unwrap();
        assert!(b.read().is_err_and(|why| !why.contains("token-a")), "it says whose it is");
        assert!(a.forget().unwrap() && !a.forget().unwrap());
        assert_eq!(token(&a), None);
        assert!(entry(&Store::new(None), "https://x.example").save(credentials("t")).await.is_err());
    }

    #[tokio::test]
    async fn a_refused_grant_is_forgotten_unless_another_came() {
        let user = tempfile::tempdir().unwrap();
        let a = entry(&Store::new(Some(user.path())), "https://x.example/a");
        a.save(credentials("newer")).await.unwrap();
        a.on_refresh_token_rejected(&credentials("older")).await.unwrap();
        assert_eq!(token(&a).as_deref(), Some("newer"));
        a.on_refresh_token_rejected(&credentials("newer")).await.unwrap();
        assert_eq!(token(&a), None);
    }

    #[tokio::test]
    async fn a_secret_of_a_client_stays_with_it() {
        let user = tempfile::tempdir().unwrap();
        let store = Store::new(Some(user.path()));
        let registered = entry(&store, "https://x.example/a");
        registered.keep_secret("other".to_owned(), "0ther-secret".to_owned());
        registered.keep_secret("client".to_owned(), "cl1ent-secret".to_owned());
        registered.save(credentials("first")).await.unwrap();
        let later = entry(&store, "https://x.example/a");
        later.save(credentials("second")).await.unwrap();
        assert_eq!(later.read().unwrap().unwrap().client_secret.as_deref(), Some("cl1ent-secret"));
        later.keep_secret("other".to_owned(), "0ther-secret".to_owned());
        later.save(credentials("third")).await.unwrap();
        assert_eq!(later.read().unwrap().unwrap().client_secret.as_deref(), Some("cl1ent-secret"), "that is another's");
    }

    #[tokio::test]
    async fn one_at_a_time_refreshes() {
        let user = tempfile::tempdir().unwrap();
        let store = Store::new(Some(user.path()));
        let (a, same) = (entry(&store, "https://x.example/a"), entry(&store, "https://x.example/a"));
        let guard = a.acquire_refresh_guard().await.unwrap();
        let path = same.path.clone().unwrap();
        assert!(try_lock(&path).unwrap().is_none(), "somebody has it");
        assert!(entry(&store, "https://x.example/b").acquire_refresh_guard().await.is_ok(), "another server's is free");
        drop(guard);
        assert!(same.acquire_refresh_guard().await.is_ok());
    }

    #[tokio::test]
    async fn two_processes_lose_nothing() {
        let user = tempfile::tempdir().unwrap();
        let entries: Vec<Entry> =
            (0..8).map(|n| entry(&Store::new(Some(user.path())), &format!("https://x.example/{}", n % 4))).collect();
        std::thread::scope(|scope| {
            for (n, entry) in entries.iter().enumerate() {
                scope.spawn(move || entry.write(credentials(&format!("token-{}", n % 4))).unwrap());
            }
        });
        for (n, entry) in entries.iter().enumerate() {
            assert_eq!(token(entry), Some(format!("token-{}", n % 4)));
        }
    }
}
