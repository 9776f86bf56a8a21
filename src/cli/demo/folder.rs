//! A fresh folder for one demo, gone when it is dropped.

use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};

/// Names tried before it is said that there is no place.
const ATTEMPTS: u32 = 100;

/// The folder, with the registry file in it.
pub struct Folder {
    path: PathBuf,
    registry: PathBuf,
}

impl Folder {
    /// Makes one that only this user can enter and nobody made before.
    ///
    /// # Errors
    /// Where none can be made.
    pub fn new() -> io::Result<Self> {
        let mut last = io::ErrorKind::AlreadyExists.into();
        for attempt in 0..ATTEMPTS {
            let path = std::env::temp_dir().join(format!("toolscout-demo-{}-{attempt}", std::process::id()));
            match builder().create(&path) {
                Ok(()) => return Ok(Self { registry: path.join("sample.json"), path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn registry(&self) -> &Path {
        &self.registry
    }

    /// Puts a new registry file in place of the one before, at once, as editors do.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn write(&self, registry: &str) -> io::Result<()> {
        let written = self.path.join("sample.json.new");
        fs::write(&written, registry)?;
        fs::rename(&written, &self.registry)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind lies in a folder that is emptied anyway.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(unix)]
fn builder() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn builder() -> DirBuilder {
    DirBuilder::new()
}
