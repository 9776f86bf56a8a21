//! Files that hold a secret: read only if they are their owner's alone, and written so, whole or not at all.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the largest file that is read.
pub const LARGEST: u64 = 256 << 10;

/// Why a file with a token in it is not taken.
#[derive(Debug)]
pub enum Unread {
    /// There is none.
    Missing,
    /// Others than its owner may read or write it.
    Exposed,
    /// It is no regular file of a sensible size, or the system refused.
    Failed(String),
    /// It does not say what it should.
    Malformed(&'static str),
}

impl Unread {
    /// For a person: what is wrong and what to do. `None` where nothing is.
    pub fn told(&self) -> Option<String> {
        match self {
            Self::Missing => None,
            Self::Exposed => Some(
                "others than its owner may read it, so the token in it is not used: take their rights away (chmod 600)"
                    .into(),
            ),
            Self::Failed(why) => Some(format!("it cannot be read: {why}")),
            Self::Malformed(why) => Some(format!("it is of no use: {why}")),
        }
    }
}

/// The text of a file that is its owner's alone.
///
/// # Errors
/// See [`Unread`].
pub fn read(path: &Path) -> Result<String, Unread> {
    let (text, found) = read_exposed(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if found.permissions().mode() & 0o077 != 0 {
            return Err(Unread::Exposed);
        }
    }
    #[cfg(not(unix))]
    let _ = found;
    Ok(text)
}

/// The text of a regular file, whoever may read it, and what that very file is. A pipe is not waited for, nor a device opened.
///
/// # Errors
/// See [`Unread`].
pub fn read_exposed(path: &Path) -> Result<(String, fs::Metadata), Unread> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Unread::Missing,
        _ => Unread::Failed(error.to_string()),
    };
    let regular = |found: &fs::Metadata| match found.is_file() {
        true => Ok(()),
        false => Err(Unread::Failed("it is no regular file".into())),
    };
    regular(&fs::metadata(path).map_err(failed)?)?;
    let mut options = fs::OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Another may stand there by now.
        options.custom_flags((rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits().cast_signed());
    }
    let file = options.read(true).open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    regular(&found)?;
    let mut text = String::new();
    file.take(LARGEST + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > LARGEST {
        return Err(Unread::Failed(format!("it has more than {LARGEST} bytes")));
    }
    Ok((text, found))
}

/// Writes it, and its folder if that is not there. Where a link stands, what it leads to is written.
///
/// # Errors
/// Those of the file system.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    /// Counts writes, so that two threads do not write beside one file under one name.
    static WRITES: AtomicU64 = AtomicU64::new(0);
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    make_folder(folder)?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let count = WRITES.fetch_add(1, Ordering::Relaxed);
    let beside = folder.join(format!(".{name}.{}.{count}", std::process::id()));
    // One that another of this number left behind.
    let _ = fs::remove_file(&beside);
    let written = options.open(&beside).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    let written = written.and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Makes a folder that is its owner's alone, if there is none.
///
/// # Errors
/// Those of the file system.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}
