//! What a workspace's own file may decide: nothing that could run, send or hide something, until a person trusts the
//! workspace, or what exactly it says.
//!
//! An approval holds for one setting of one file with one content: whoever changes it has to ask again. It is kept as
//! a file of the user's, named by the hash of what was approved, with what that was for people to read; taking the
//! file away takes the approval back.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::files::in_folder;
use super::node::Node;

/// What of a workspace's file is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// All of it, whatever it says.
    pub whole: bool,
    /// Fingerprints of the settings that a person approved.
    pub approved: Arc<BTreeSet<String>>,
}

/// A setting that waits for trust.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    /// Its dotted key.
    pub key: String,
    /// The file that sets it.
    pub file: String,
    /// What it says there.
    pub value: Node,
}

impl Trust {
    /// That of a workspace whose file may decide everything.
    pub fn whole() -> Self {
        Self { whole: true, ..Self::default() }
    }

    /// The same, with these fingerprints approved too.
    pub fn and(mut self, approved: BTreeSet<String>) -> Self {
        if !approved.is_empty() {
            Arc::make_mut(&mut self.approved).extend(approved);
        }
        self
    }

    /// Whether a setting may take effect.
    pub fn covers(&self, waiting: &Waiting) -> bool {
        self.whole || !self.approved.is_empty() && self.approved.contains(&waiting.fingerprint())
    }
}

impl Waiting {
    /// SHA-256 of file, key and value, in hexadecimal.
    pub fn fingerprint(&self) -> String {
        let parts = [self.file.as_str(), &self.key, &self.value.to_json().to_string()];
        let hash = parts
            .iter()
            .fold(Sha256::new(), |hash, part| hash.chain_update((part.len() as u64).to_le_bytes()).chain_update(part));
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The fingerprints of the approvals in a folder, as their file names say.
pub fn approved_in(folder: &Path) -> BTreeSet<String> {
    let names = in_folder(folder, &["json"]).into_iter();
    names.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
}

/// Keeps an approval in a folder that is made where it is missing. `shown` is what the person saw.
///
/// # Errors
/// Those of writing the file.
pub fn approve(folder: &Path, fingerprint: &str, shown: &Value) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
        builder.mode(0o700);
        options.mode(0o600);
    }
    builder.create(folder)?;
    // Its name alone counts, so half a file is an approval too.
    let mut file = options.open(folder.join(format!("{fingerprint}.json")))?;
    writeln!(file, "{shown:#}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn waiting(file: &str, key: &str, value: Value) -> Waiting {
        Waiting { key: key.to_owned(), file: file.to_owned(), value: Node::from_json(&value) }
    }

    #[test]
    fn an_approval_is_of_one_file_one_key_and_one_content() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("not/there/yet");
        let asked = waiting("/w/config.yaml", "core", json!(["a"]));
        assert_eq!(approved_in(&folder), BTreeSet::new());
        approve(&folder, &asked.fingerprint(), &json!({"core": ["a"]})).unwrap();
        let trust = Trust { whole: false, approved: Arc::new(approved_in(&folder)) };
        assert!(trust.covers(&asked));
        for other in [
            waiting("/other/config.yaml", "core", json!(["a"])),
            waiting("/w/config.yaml", "core", json!(["b"])),
            waiting("/w/config.yaml", "watch", json!(["a"])),
            waiting("/w/config.yamlc", "ore", json!(["a"])),
        ] {
            assert!(!trust.covers(&other), "{other:?}");
            assert!(Trust::whole().covers(&other));
        }
        std::fs::remove_file(folder.join(format!("{}.json", asked.fingerprint()))).unwrap();
        assert_eq!(approved_in(&folder), BTreeSet::new(), "taken back");
    }

    #[cfg(unix)]
    #[test]
    fn what_was_approved_is_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("approved");
        approve(&folder, "f", &json!({})).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&folder.join("f.json"))), (0o700, 0o600));
    }
}
