//! Where one shared sidecar is met: its lock, its socket and its log, named by what it serves.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Shared, folder};

/// Bytes of a socket's path, without the zero behind it: `sun_path` of `unix(7)`; other systems have 104.
const MAX_PATH_BYTES: usize = if cfg!(target_os = "linux") { 107 } else { 103 };
/// Digits of the name: 80 bits of the hash, so that no two are ever alike, in a short path.
const NAME_DIGITS: usize = 20;

/// The files of one shared sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Whoever has locked it may bind and remove the socket.
    pub lock: PathBuf,
    /// Where it listens.
    pub socket: PathBuf,
    /// What it writes to standard error.
    pub log: PathBuf,
}

impl Endpoint {
    /// The endpoint of a daemon, in a folder that is made if need be.
    ///
    /// # Errors
    /// A folder that is not the user's alone, or a path too long for a socket.
    pub fn of(shared: &Shared) -> io::Result<Self> {
        let folder = shared.runtime.folder();
        folder::make_private(&folder)?;
        let name = name(shared);
        let socket = folder.join(format!("{name}.sock"));
        check_length(&socket)?;
        Ok(Self { lock: folder.join(format!("{name}.lock")), log: folder.join(format!("{name}.log")), socket })
    }
}

/// Refuses a path that no socket can have.
///
/// # Errors
/// A path that is too long, with the length it may have.
pub fn check_length(socket: &Path) -> io::Result<()> {
    let length = socket.as_os_str().len();
    if length <= MAX_PATH_BYTES {
        return Ok(());
    }
    let problem = format!(
        "the path of the socket {} has {length} bytes, and the system takes {MAX_PATH_BYTES}: choose a shorter folder \
         (XDG_RUNTIME_DIR, or TMPDIR)",
        socket.display()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, problem))
}

/// Everything that makes two daemons different ones, as a name.
fn name(shared: &Shared) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &OsStr| {
        // With its length before it, so that no two lists of parts run together to one.
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    };
    part(OsStr::new(env!("CARGO_PKG_VERSION")));
    part(OsStr::new(&folder::user().to_string()));
    part(shared.user.as_deref().map_or(OsStr::new(""), Path::as_os_str));
    shared.arguments.iter().for_each(|argument| part(argument));
    let mut name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    name.truncate(NAME_DIGITS);
    name
}

#[cfg(test)]
mod tests {
    use super::super::RuntimeHome;
    use super::*;

    fn shared(user: &str, arguments: &[&str]) -> Shared {
        Shared {
            runtime: RuntimeHome { runtime: None, temporary: "/tmp".into() },
            user: Some(user.into()),
            workspace: None,
            arguments: arguments.iter().map(Into::into).collect(),
            environment: Vec::new(),
        }
    }

    #[test]
    fn a_name_is_of_everything_that_differs() {
        let all = [
            shared("/a", &["--workspace=/b"]),
            shared("/c", &["--workspace=/b"]),
            shared("/a", &["--workspace=/c"]),
            shared("/a", &["--workspace=/b", ""]),
            shared("/a", &["--workspace=", "/b"]),
            shared("/a", &[]),
        ];
        let mut names: Vec<String> = all.iter().map(name).collect();
        assert_eq!(names, all.iter().map(name).collect::<Vec<_>>());
        assert!(names.iter().all(|name| name.len() == NAME_DIGITS));
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn a_path_too_long_for_a_socket_is_refused() {
        let path = |length: usize| PathBuf::from(format!("/{}", "x".repeat(length - 1)));
        assert!(check_length(&path(MAX_PATH_BYTES)).is_ok());
        let error = check_length(&path(MAX_PATH_BYTES + 1)).unwrap_err().to_string();
        assert!(error.contains("XDG_RUNTIME_DIR"), "{error}");
    }
}
