//! The entries of folders that decide what a path leads to: what has to be watched so that no change goes unseen.
//!
//! A path is followed as the system does it, entry by entry and link by link, to its end or to the first entry that is
//! missing, which is where it would appear. Entries above a target's base count only where they are links: watching
//! every folder up to the root would cost an event for every file that anybody touches there.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links followed on the way of one path, as many as Linux does.
const MAX_LINKS: usize = 40;

/// Something whose changes matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// An absolute path.
    pub path: PathBuf,
    /// Its first part, which is not expected to come or go.
    pub base: PathBuf,
    /// Whether everything in it matters, should it be a folder.
    pub folder: bool,
}

/// What matters in one folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interest {
    /// Whether all of its entries do.
    pub all: bool,
    /// Those that do.
    pub names: BTreeSet<OsString>,
}

/// What matters, by folder; no folder's path holds a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lookups(pub BTreeMap<PathBuf, Interest>);

impl Lookups {
    /// What matters to any of the targets, as the file system is now.
    pub fn of(targets: &[Target]) -> Self {
        let mut found = Self::default();
        targets.iter().for_each(|target| found.target(target));
        found
    }

    fn target(&mut self, target: &Target) {
        let mut at = PathBuf::new();
        let base = target.base.components().count();
        if self.follow(&mut at, &target.path, base, &mut 0) && target.folder && at.is_dir() {
            self.0.entry(at).or_default().all = true;
        }
    }

    /// Follows `path` from `at` and leaves that where it leads to; false where something is missing on the way.
    fn follow(&mut self, at: &mut PathBuf, path: &Path, base: usize, links: &mut usize) -> bool {
        let end = path.components().count();
        for (index, part) in path.components().enumerate() {
            let name = match part {
                Component::Normal(name) => name,
                Component::CurDir => continue,
                Component::ParentDir => {
                    at.pop();
                    continue;
                }
                Component::Prefix(_) | Component::RootDir => {
                    at.push(part);
                    continue;
                }
            };
            let entry = at.join(name);
            let link = std::fs::symlink_metadata(&entry).map(|found| found.is_symlink());
            if index >= base || index + 1 == end || !matches!(link, Ok(false)) {
                self.0.entry(at.clone()).or_default().names.insert(name.to_owned());
            }
            match link {
                Ok(false) => *at = entry,
                Ok(true) if *links < MAX_LINKS => {
                    *links += 1;
                    let to = std::fs::read_link(&entry);
                    if !to.is_ok_and(|to| self.follow(at, &to, usize::MAX, links)) {
                        return false;
                    }
                }
                _ => return false,
            }
        }
        true
    }

    /// Whether a change of `path` matters.
    pub fn matter(&self, path: &Path) -> bool {
        let entry = || {
            let interest = self.0.get(path.parent()?)?;
            Some(interest.all || interest.names.contains(path.file_name()?))
        };
        self.0.contains_key(path) || entry().unwrap_or(false)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn at(&self, path: &str) -> PathBuf {
            // What the folder itself lies behind is no part of the cases.
            self.0.path().canonicalize().unwrap().join(path)
        }

        /// What matters, one `folder: names` a line; `*` is all of them.
        fn lookups(&self, path: &str, folder: bool) -> Vec<String> {
            let target = Target { path: self.at(path), base: self.at("root"), folder };
            let root = self.at("");
            let line = |(folder, interest): (&PathBuf, &Interest)| {
                let mut names: Vec<_> = interest.names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
                names.extend(interest.all.then(|| "*".to_owned()));
                format!("{}: {}", folder.strip_prefix(&root).unwrap_or(folder).display(), names.join(" "))
            };
            Lookups::of(&[target]).0.iter().map(line).collect()
        }
    }

    #[test]
    fn a_path_is_followed_to_its_end_or_to_where_it_would_appear() {
        let folder = Folder::new();
        assert_eq!(folder.lookups("root/.toolscout/registry", true), [": root"], "not even its base is there");
        fs::create_dir(folder.at("root")).unwrap();
        assert_eq!(folder.lookups("root/.toolscout/registry", true), ["root: .toolscout"]);
        fs::create_dir_all(folder.at("root/.toolscout/registry")).unwrap();
        let all = ["root: .toolscout", "root/.toolscout: registry", "root/.toolscout/registry: *"];
        assert_eq!(folder.lookups("root/.toolscout/registry", true), all);
        assert_eq!(folder.lookups("root/config.yaml", false), ["root: config.yaml"]);
    }

    #[test]
    fn links_matter_wherever_they_are() {
        let folder = Folder::new();
        fs::create_dir_all(folder.at("root/reg")).unwrap();
        fs::create_dir_all(folder.at("far/v1")).unwrap();
        fs::write(folder.at("far/v1/a.json"), "[]").unwrap();
        symlink("../../far/..data/a.json", folder.at("root/reg/a.json")).unwrap();
        symlink("v1", folder.at("far/..data")).unwrap();
        let all = ["far: ..data v1", "far/v1: a.json", "root: reg", "root/reg: a.json"];
        assert_eq!(folder.lookups("root/reg/a.json", false), all, "as Kubernetes mounts a ConfigMap");
        fs::remove_file(folder.at("far/..data")).unwrap();
        assert_eq!(folder.lookups("root/reg/a.json", false), ["far: ..data", "root: reg", "root/reg: a.json"]);
        symlink(folder.at("far/..data"), folder.at("far/..data")).unwrap();
        assert_eq!(folder.lookups("root/reg/a.json", false).len(), 3, "a link to itself ends");
    }

    #[test]
    fn only_what_was_looked_up_matters() {
        let folder = Folder::new();
        fs::create_dir_all(folder.at("root/reg")).unwrap();
        let target = |path, folder_| Target { path: folder.at(path), base: folder.at("root"), folder: folder_ };
        let lookups = Lookups::of(&[target("root/reg", true), target("root/config.yaml", false)]);
        for (path, matters) in [
            ("root/config.yaml", true),
            ("root/other.yaml", false),
            ("root/reg", true),
            ("root/reg/new.json", true),
            ("root/reg/deeper/new.json", false),
            ("root", true),
        ] {
            assert_eq!(lookups.matter(&folder.at(path)), matters, "{path}");
        }
    }
}
