//! What the last look at a workspace found where, so that the next one may cost a few `stat` calls.
//!
//! Promises: as long as [`Seen::is_same`], a whole look would find nothing new. Folders are compared by their stamps,
//! which move with every entry that comes, goes or is replaced, and by the rule of [`Stamp::is_settled`] as files are.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use super::files::Files;
use super::node::Node;
use super::registry::Registry;
use super::stamp::Stamp;

/// See the module.
pub struct Seen {
    /// What was not there: of each path that leads nowhere, its first part that is missing.
    absent: BTreeSet<PathBuf>,
    /// Folders whose entries are files of the workspace, with their stamps from before they were listed.
    folders: Vec<(PathBuf, Stamp)>,
    /// When those stamps were taken.
    at: SystemTime,
    /// The files that were looked at.
    configs: Vec<PathBuf>,
    /// The same of registries, by where they come from.
    registries: [Vec<PathBuf>; 3],
}

impl Seen {
    /// Takes the stamps of folders that are about to be listed.
    pub fn before(folders: impl Iterator<Item = PathBuf>) -> Self {
        let mut seen = Self {
            absent: BTreeSet::new(),
            folders: Vec::new(),
            at: SystemTime::now(),
            configs: Vec::new(),
            registries: Default::default(),
        };
        for folder in folders {
            match Stamp::of(&folder) {
                Some(stamp) => seen.folders.push((folder, stamp)),
                None => drop(seen.absent.insert(missing_part(folder))),
            }
        }
        seen
    }

    /// Adds files that are about to be looked at.
    pub fn files(&mut self, configs: &[PathBuf], registries: &[Vec<PathBuf>; 3]) {
        self.configs = self.present(configs);
        self.registries = std::array::from_fn(|at| self.present(&registries[at]));
    }

    fn present(&mut self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let (present, missing): (Vec<PathBuf>, Vec<PathBuf>) = paths.iter().cloned().partition(|path| path.exists());
        self.absent.extend(missing.into_iter().map(missing_part));
        present
    }

    /// Whether files and folders are as they were.
    pub fn is_same(&self, configs: &Files<Node>, registries: &[Files<Registry>; 3]) -> bool {
        let now = SystemTime::now();
        let same = |(folder, before): &(PathBuf, Stamp)| {
            Stamp::of(folder).is_some_and(|stamp| stamp == *before && stamp.is_settled(self.at, now))
        };
        !self.absent.iter().any(|path| path.exists())
            && self.folders.iter().all(same)
            && configs.are_same(&self.configs, now)
            && registries.iter().zip(&self.registries).all(|(files, paths)| files.are_same(paths, now))
    }
}

/// The first part of a path that is missing: nothing below can be there without it.
fn missing_part(mut path: PathBuf) -> PathBuf {
    while let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists()) {
        path = parent.to_owned();
    }
    path
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use super::super::snapshot::{Places, Workspace};

    /// Looks until a glance is enough, which it is once stamps have settled.
    fn settle(workspace: &Workspace) {
        let since = Instant::now();
        loop {
            let looked = workspace.refresh();
            if let Some(seen) = workspace.glance() {
                assert!(Arc::ptr_eq(&looked, &seen), "a glance shows what the last look did");
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(30), "nothing changes, and a glance is not enough");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_glance_is_enough_until_anything_changes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        fs::create_dir_all(at("named")).unwrap();
        fs::write(at("flag.json"), "[]").unwrap();
        fs::write(at("flag.yaml"), "{}").unwrap();
        let places = Places {
            user: Some(at("user")),
            workspace: Some(at("root")),
            config: Some(at("flag.yaml")),
            registry: vec![at("flag.json"), at("named")],
            mcp_config: vec![],
        };
        let workspace = Workspace::new(places);
        assert!(workspace.glance().is_none(), "nobody has looked yet");
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let edits: &[(&str, Option<&str>)] = &[
            ("flag.json", Some("[ ]")),
            ("flag.yaml", Some("{ }")),
            ("named/new.json", Some("[]")),
            ("user/config.yaml", Some("{}")),
            ("user/registry/new.json", Some("[]")),
            ("user/servers.d/new.yaml", Some("command: none")),
            ("user/approved/0123.json", Some("{}")),
            ("root/.mcp.json", Some("{}")),
            ("root/.toolscout/config.yaml", Some("{}")),
            ("root/.toolscout/registry/new.json", Some("[]")),
            ("root/.toolscout/registry/new.json", Some("[ ]")),
            ("user/approved/0123.json", None),
            ("named/new.json", None),
            ("flag.json", None),
            ("flag.json", Some("[]")),
        ];
        for (path, text) in edits {
            settle(&workspace);
            match text {
                Some(text) => write(&at(path), text),
                None => fs::remove_file(at(path)).unwrap(),
            }
            assert!(workspace.glance().is_none(), "{path} changed to {text:?}");
        }
    }
}
