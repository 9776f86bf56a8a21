//! The lock that decides who may bind a socket, and remove it.
//!
//! The lock is of the open file, not of the process: a daemon is born with it as its standard input, so that between
//! the relay that took it and the daemon that keeps it there is no moment without.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// A lock that is held.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock. `None` where somebody has it.
    ///
    /// # Errors
    /// A file that cannot be made or locked.
    pub fn try_take(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Whoever had it may have removed the file meanwhile; then this lock is of nothing.
            if is_at(&file, path)? {
                return Ok(Some(Self { file, path: path.to_owned() }));
            }
        }
    }

    /// The lock that this process was started with.
    ///
    /// # Errors
    /// A file that is not the one at `path`, or that somebody else has locked.
    pub fn inherited(file: File, path: &Path) -> io::Result<Self> {
        if !is_at(&file, path)? || file.try_lock().is_err() {
            let problem = format!("this process was not given the lock {}", path.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    /// Binds a socket that only the user can connect to. What is left there of a socket is removed first.
    ///
    /// # Errors
    /// Something at the path that is no socket, or a path that the system refuses.
    pub fn bind(&self, socket: &Path) -> io::Result<UnixListener> {
        match fs::symlink_metadata(socket) {
            Ok(found) if !found.file_type().is_socket() => {
                let problem = format!("{} is there and is no socket", socket.display());
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
            }
            Ok(_) => fs::remove_file(socket)?,
            Err(_) => {}
        }
        let listener = UnixListener::bind(socket)?;
        // Nobody else gets into the folder, so it does not matter that this comes second.
        fs::set_permissions(socket, fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// The open file, for a process to be born with.
    pub fn into_file(self) -> File {
        self.file
    }

    /// Removes the files and gives the lock up, in an order that leaves nobody with a socket that is not theirs.
    pub fn remove_and_release(self, files: &[&Path]) {
        for file in files.iter().copied().chain([self.path.as_path()]) {
            if let Err(error) = fs::remove_file(file)
                && error.kind() != io::ErrorKind::NotFound
            {
                tracing::warn!(file = %file.display(), %error, "a file is left behind");
            }
        }
        // Another descriptor of the process may have the same open file. The end of the process does it in any case.
        let _ = self.file.unlock();
    }
}

/// Whether the open file is the one that the path leads to.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    Ok(fs::symlink_metadata(path).is_ok_and(|found| (found.dev(), found.ino()) == (open.dev(), open.ino())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn one_holds_it_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = Lock::try_take(&path).unwrap().unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        held.remove_and_release(&[]);
        assert!(!path.exists());
        assert!(Lock::try_take(&path).unwrap().is_some());
    }

    #[test]
    fn a_lock_is_handed_over_with_its_open_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = Lock::try_take(&path).unwrap().unwrap().into_file();
        let held = Lock::inherited(file, &path).unwrap();
        assert!(Lock::try_take(&path).unwrap().is_none());
        assert!(Lock::inherited(File::open(&path).unwrap(), &path).is_err(), "an open file without the lock");
        let other = folder.path().join("other");
        fs::write(&other, "").unwrap();
        assert!(Lock::inherited(File::open(&other).unwrap(), &path).is_err(), "another file");
        drop(held);
    }

    #[test]
    fn a_stale_socket_is_replaced_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::try_take(&folder.path().join("lock")).unwrap().unwrap();
        let socket = folder.path().join("socket");
        drop(lock.bind(&socket).unwrap());
        assert!(UnixStream::connect(&socket).is_err());
        let listener = lock.bind(&socket).unwrap();
        assert!(UnixStream::connect(&socket).is_ok());
        assert_eq!(fs::metadata(&socket).unwrap().mode() & 0o777, 0o600);
        drop(listener);
        let file = folder.path().join("file");
        fs::write(&file, "kept").unwrap();
        assert_eq!(lock.bind(&file).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    }
}
