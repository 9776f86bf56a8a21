//! The whole of a result that was cut for a model: kept in a file for a week, and told of.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::cache;

/// How long it is kept.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What a model is told in place of what was cut.
#[derive(Debug)]
pub struct Whole {
    /// That it was, how large the result is, and where all of it is.
    pub note: String,
    /// Its file, if it could be kept in one.
    pub path: Option<PathBuf>,
}

impl Whole {
    /// Keeps it below `folder`. `bytes` are those of the result as a model counts them. Blocks on the file system.
    pub fn keep(folder: Option<&Path>, text: &str, extension: &str, bytes: usize) -> Self {
        match folder.map(|folder| save(folder, text, extension)) {
            Some(Ok(path)) => Self {
                note: format!("[Cut: the result has {bytes} bytes. All of it is in {}]", path.display()),
                path: Some(path),
            },
            Some(Err(error)) => Self {
                note: format!("[Cut: the result has {bytes} bytes, and could not be kept in a file: {error}]"),
                path: None,
            },
            None => Self { note: format!("[Cut: the result has {bytes} bytes.]"), path: None },
        }
    }
}

/// The longest beginning of a text that has at most so many bytes and ends with a whole character.
pub fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn save(folder: &Path, text: &str, extension: &str) -> std::io::Result<PathBuf> {
    let folder = folder.join("results");
    forget_old(&folder);
    let name: String = Sha256::digest(text)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let path = folder.join(format!("{name}.{extension}"));
    cache::write(&path, text.as_bytes())?;
    Ok(path)
}

/// Removes results that nobody will ask for any more.
fn forget_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let written = entry.metadata().and_then(|found| found.modified());
        let is_old = written.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > KEPT));
        if is_old {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
