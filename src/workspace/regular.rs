//! Reading a file whole, once it is known to be a regular one.
//!
//! Promises: a pipe or a device under a registry's name is refused, not waited for; at most `limit` bytes are read;
//! whether somebody wrote meanwhile is told. It does not look into the bytes.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use super::stamp::Stamp;
use crate::diagnostic::{Diagnostic, Severity};

/// What a file held.
pub struct Content {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Its stamp from before the first byte was read.
    pub stamp: Stamp,
    /// Whether its stamp was another after the last byte: the bytes may be of two versions.
    pub moved: bool,
}

/// Why a file was not read.
#[derive(Debug)]
pub enum Unread {
    /// There is none.
    Missing,
    /// It is a pipe, a device, a socket or a folder.
    NotRegular,
    /// It has more bytes than this.
    TooLarge(u64),
    /// The system refused.
    Failed(io::Error),
}

/// Reads the file that `path` leads to, if it is a regular one of at most `limit` bytes.
///
/// # Errors
/// See [`Unread`].
pub fn read(path: &Path, limit: u64) -> Result<Content, Unread> {
    // Before it is opened, since opening alone can have an effect on a device; and after, since that was a while ago.
    regular(std::fs::metadata(path)?.is_file())?;
    let mut file = open(path)?;
    let found = file.metadata()?;
    regular(found.is_file())?;
    if found.len() > limit {
        return Err(Unread::TooLarge(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
    file.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(Unread::TooLarge(limit));
    }
    let (stamp, after) = (Stamp::new(&found), Stamp::new(&file.metadata()?));
    Ok(Content { bytes, moved: stamp != after, stamp })
}

fn regular(is: bool) -> Result<(), Unread> {
    if is { Ok(()) } else { Err(Unread::NotRegular) }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    // Should a pipe have taken the file's place just now, opening it waits for nobody.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

impl From<io::Error> for Unread {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Failed(error) }
    }
}

impl Unread {
    /// What a person is told about `file`.
    pub fn diagnostic(&self, file: &Path) -> Diagnostic {
        let (code, message) = match self {
            Self::Missing => {
                ("file-unreadable", "there is no such file: create it, or take it off the command line".to_owned())
            }
            Self::NotRegular => ("file-not-regular", "this is no regular file, so it is not read".to_owned()),
            Self::TooLarge(limit) => {
                ("file-too-large", format!("the file is larger than {} MiB; split it", limit.div_ceil(1 << 20)))
            }
            Self::Failed(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                ("file-unreadable", "the file may not be read: change its permissions".to_owned())
            }
            Self::Failed(error) => ("file-unreadable", format!("the file cannot be read: {error}")),
        };
        Diagnostic::whole(file.display().to_string(), Severity::Error, code, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_sane_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "1234").unwrap();
        let content = read(&at("file"), 4).unwrap();
        assert_eq!((&*content.bytes, content.moved), (&b"1234"[..], false));
        assert!(matches!(read(&at("file"), 3), Err(Unread::TooLarge(3))));
        assert!(matches!(read(&at("none"), 9), Err(Unread::Missing)));
        assert!(matches!(read(folder.path(), 9), Err(Unread::NotRegular)));
        #[cfg(target_os = "linux")]
        {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
            assert!(matches!(read(&at("pipe"), 9), Err(Unread::NotRegular)), "nobody writes into it");
            assert!(matches!(read(Path::new("/dev/zero"), 9), Err(Unread::NotRegular)));
        }
    }
}
