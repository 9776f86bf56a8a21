//! Folders that are the user's alone: those in which locks and sockets lie.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::RuntimeHome;

/// Bits of a mode that let others in.
const OTHERS: u32 = 0o077;

impl RuntimeHome {
    /// The folder of shared sidecars, whether it is there or not: `toolscout` in `$XDG_RUNTIME_DIR`, else
    /// `toolscout-<uid>` in the folder of temporary files. A runtime folder that is not there or is another user's
    /// (`sudo` may keep the variable) counts as none.
    pub fn folder(&self) -> PathBuf {
        let own = |path: &&PathBuf| {
            path.is_absolute() && fs::metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == user())
        };
        match self.runtime.as_ref().filter(own) {
            Some(runtime) => runtime.join("toolscout"),
            None => self.temporary.join(format!("toolscout-{}", user())),
        }
    }
}

/// The user this process acts for.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Makes the folder if it is not there, and checks that nobody else can get at what is in it.
///
/// # Errors
/// A folder of another user, one that others may enter, a link, or anything else that is no folder.
pub fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(io::Error::new(error.kind(), format!("the folder {} cannot be made: {error}", folder.display())))
        }
        _ => check_private(folder),
    }
}

/// Checks that nobody else can get at what is in the folder.
///
/// # Errors
/// As of [`make_private`], and a folder that is not there.
pub fn check_private(folder: &Path) -> io::Result<()> {
    // Not through links: whoever made one could turn it elsewhere after the check.
    let found = fs::symlink_metadata(folder)?;
    let (mode, shown) = (found.mode() & 0o777, folder.display());
    let problem = if !found.is_dir() {
        format!("{shown} is no folder: remove it")
    } else if found.uid() != user() {
        format!(
            "the folder {shown} belongs to user {}: remove it, or set XDG_RUNTIME_DIR to one of your own",
            found.uid()
        )
    } else if mode & OTHERS != 0 {
        format!("others may enter the folder {shown} (mode {mode:04o}): `chmod 700 {shown}`")
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, problem))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_a_folder_of_ones_own_will_do() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("toolscout");
        make_private(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        make_private(&folder).unwrap();
        for mode in [0o701, 0o710, 0o750, 0o777] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            let error = make_private(&folder).unwrap_err().to_string();
            assert!(error.contains("chmod 700") && error.contains(&format!("{mode:04o}")), "{error}");
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let link = outer.path().join("link");
        symlink(&folder, &link).unwrap();
        assert!(make_private(&link).unwrap_err().to_string().contains("is no folder"));
        let file = outer.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(make_private(&file).unwrap_err().to_string().contains("is no folder"));
        if user() != 0 {
            assert!(check_private(Path::new("/")).unwrap_err().to_string().contains("belongs to user 0"));
        }
    }

    #[test]
    fn a_runtime_folder_that_is_not_there_counts_as_none() {
        let outer = tempfile::tempdir().unwrap();
        let home =
            |runtime: &Path| RuntimeHome { runtime: Some(runtime.to_owned()), temporary: "/tmp".into() }.folder();
        assert_eq!(home(outer.path()), outer.path().join("toolscout"));
        let otherwise = PathBuf::from(format!("/tmp/toolscout-{}", user()));
        for none in [outer.path().join("no"), PathBuf::new(), PathBuf::from("tests")] {
            assert_eq!(home(&none), otherwise, "{none:?}");
        }
    }
}
