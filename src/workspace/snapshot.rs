//! Configuration and registries of one workspace, as files say now: one immutable snapshot, made anew when a file
//! changed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::config;
use super::files::{Files, Look, in_folder};
use super::layers::{ConfigLayer, Layer};
use super::lookups::Target;
use super::node::{Node, Value};
use super::noted::NotedFiles;
use super::registry::{self, Registry};
use super::seen::Seen;
use super::source_text::read_node;
use super::trust::{self, Trust, Waiting, approved_in};
use crate::catalog::source::{Origin, Source};
use crate::diagnostic::{Diagnostic, Severity};

/// Where configuration and registries are looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's folder, `$XDG_CONFIG_HOME/toolscout`.
    pub user: Option<PathBuf>,
    /// The workspace's root.
    pub workspace: Option<PathBuf>,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--registry`: files and folders.
    pub registry: Vec<PathBuf>,
    /// `--mcp-config`: files of servers in the shape of editors.
    pub mcp_config: Vec<PathBuf>,
}

impl Places {
    /// Keeps that a person approved what the workspace asks for. The next look takes it up.
    ///
    /// # Errors
    /// Those of writing the file; where there is no folder of the user's, that it is not found.
    pub fn approve(&self, waiting: &Waiting, shown: &serde_json::Value) -> io::Result<()> {
        let folder = self.approvals().ok_or(io::ErrorKind::NotFound)?;
        trust::approve(&folder, &waiting.fingerprint(), shown)
    }

    /// Where approvals are kept.
    fn approvals(&self) -> Option<PathBuf> {
        Some(self.user.as_ref()?.join("approved"))
    }
}

/// What the files say.
pub struct Snapshot {
    /// Counts changes, from 1.
    pub revision: u64,
    /// Layers of configuration, lowest first.
    pub layers: Vec<ConfigLayer>,
    /// Sources of all files; of two with one name the catalog takes the nearer.
    pub sources: Vec<Arc<Source>>,
    /// The file of each source that is served, by the source's name.
    pub homes: BTreeMap<String, String>,
    /// What is wrong, by file. That of configuration's values is found when layers are merged.
    pub diagnostics: BTreeMap<String, Vec<Diagnostic>>,
    /// Whether a file could not be read and no good version of it is known.
    pub degraded: bool,
    /// Whether a layer of configuration is such a file: what it switched off must not be on.
    pub without_layer: bool,
    /// What of the workspace's own configuration the user trusts: all, if the user's configuration says so, else what
    /// was approved.
    pub trust: Trust,
    /// Files and folders that were looked at.
    pub paths: Vec<PathBuf>,
}

/// The files of one workspace.
pub struct Workspace {
    places: Places,
    noted: NotedFiles,
    state: Mutex<State>,
}

struct State {
    configs: Files<Node>,
    registries: [Files<Registry>; 3],
    approved: Arc<BTreeSet<String>>,
    current: Option<Arc<Snapshot>>,
    /// What `current` was made of.
    seen: Option<Seen>,
}

/// A workspace's servers as editors write them.
const EDITORS: &str = ".mcp.json";
/// The user's folder of servers.
const SERVERS: &str = "servers.d";

/// A file of configuration.
struct ConfigFile {
    layer: Layer,
    shape: Shape,
    path: PathBuf,
}

#[derive(Clone, Copy)]
enum Shape {
    /// Settings.
    Config,
    /// One server, named by the file's stem, or `{name: server}`.
    Server,
    /// `{"mcpServers": {name: server}}`, or `servers`.
    Editors,
}

impl ConfigFile {
    fn layer(&self, root: Node) -> ConfigLayer {
        let (layer, file) = (self.layer, self.path.display().to_string());
        match self.shape {
            Shape::Config => ConfigLayer::of_file(layer, file, root),
            Shape::Server if is_server(&root) => {
                let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
                ConfigLayer::of_server(layer, file, &stem, root)
            }
            Shape::Server => ConfigLayer::of_servers(layer, file, root, ""),
            Shape::Editors => {
                // What else editors keep in it is theirs.
                let key = if root.get("mcpServers").is_some() { "mcpServers" } else { "servers" };
                let servers = root.get(key).cloned().unwrap_or(Node { place: root.place, value: Value::Null });
                ConfigLayer::of_servers(layer, file, servers, &format!("/{key}"))
            }
        }
    }
}

/// Whether a map describes a server, rather than naming some.
fn is_server(root: &Node) -> bool {
    ["command", "url", "disabled"].iter().any(|key| root.get(key).is_some_and(|it| !matches!(it.value, Value::Map(_))))
}

/// Origins of registry files, the nearest first.
const ORIGINS: [Origin; 3] = [Origin::Workspace, Origin::User, Origin::Flag];

const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// Bytes of the largest configuration that is read; it becomes a tree of some ten times that.
const MAX_CONFIG: u64 = 8 << 20;
/// Bytes of the largest registry that is read: room for some 300,000 tools.
const MAX_REGISTRY: u64 = 256 << 20;

/// Looks at a file that seems torn, and the time between two. Together they are longer than twice the settle time, after
/// which only a file that is written without a pause still seems so; the event of its last change brings the next look.
const LOOKS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(25);

impl Workspace {
    /// Nothing is read yet.
    pub fn new(places: Places) -> Self {
        let registries = ORIGINS.map(|origin| {
            let read = move |path: &Path, bytes: &[u8], last: Option<&Registry>| {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                registry::reread(&path.display().to_string(), &stem, bytes, origin, last)
            };
            Files::new(MAX_REGISTRY, Registry::is_sound, Box::new(read))
        });
        let read = |path: &Path, bytes: &[u8], _: Option<&Node>| read_node(&path.display().to_string(), bytes);
        let configs = Files::new(MAX_CONFIG, |_| true, Box::new(read));
        let state = State { configs, registries, approved: Arc::default(), current: None, seen: None };
        Self { places, noted: NotedFiles::default(), state: Mutex::new(state) }
    }

    /// Files whose changes are news too.
    pub fn noted(&self) -> NotedFiles {
        self.noted.clone()
    }

    /// What the files say, if a few `stat` calls show that it is what they said last; `None` where somebody has to look,
    /// or is looking. Reads nothing and waits for nobody but the file system.
    pub fn glance(&self) -> Option<Arc<Snapshot>> {
        let state = self.state.try_lock().ok()?;
        let same = state.seen.as_ref()?.is_same(&state.configs, &state.registries) && self.noted.are_same();
        same.then(|| state.current.clone())?
    }

    /// Compares the files with what was read, reads what changed, and gives what they say now. Blocks on files, and
    /// for at most a fifth of a second on one that is just being written.
    pub fn refresh(&self) -> Arc<Snapshot> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let named: Vec<PathBuf> = self.places.config.iter().chain(&self.places.mcp_config).cloned().collect();
        let (mut changed, mut looks) = (false, 0);
        let (configs, registries, seen) = loop {
            looks += 1;
            let patience = looks < LOOKS;
            // Before they are listed and looked at: what comes meanwhile is seen the next time.
            let folders: Vec<PathBuf> = self.listed().collect();
            let mut seen = Seen::before(folders.iter().cloned());
            let configs = self.config_files();
            let paths: Vec<PathBuf> = configs.iter().map(|file| file.path.clone()).collect();
            let registries = self.registry_files(&folders);
            seen.files(&paths, &registries);
            let mut look: Look = state.configs.refresh(&paths, &named, patience);
            for (files, paths) in state.registries.iter_mut().zip(&registries) {
                look |= files.refresh(paths, &self.places.registry, patience);
            }
            changed |= look.changed;
            let approved = self.places.approvals().map(|folder| approved_in(&folder)).unwrap_or_default();
            if *state.approved != approved {
                (state.approved, changed) = (Arc::new(approved), true);
            }
            if !look.torn || !patience {
                break (configs, registries, seen);
            }
            std::thread::sleep(PAUSE);
        };
        state.seen = Some(seen);
        changed |= self.noted.look();
        match &state.current {
            Some(current) if !changed => current.clone(),
            current => {
                let revision = current.as_ref().map_or(0, |current| current.revision) + 1;
                let made = Arc::new(self.make(&state, &configs, &registries, revision));
                state.current = Some(made.clone());
                made
            }
        }
    }

    /// What the answer of [`Self::refresh`] depends on: the files there are and the places where one may appear.
    pub fn targets(&self) -> Vec<Target> {
        let Places { user, workspace, config, registry, mcp_config } = &self.places;
        let target = |base: &Path, path: PathBuf, folder| Target { path, base: base.to_owned(), folder };
        let parent = |path: &Path| path.parent().unwrap_or(path).to_owned();
        let mut targets = Vec::new();
        for (base, folder) in workspace
            .iter()
            .map(|root| (root.clone(), root.join(".toolscout")))
            .chain(user.iter().map(|folder| (parent(folder), folder.clone())))
        {
            targets.push(target(&base, folder.join("config.yaml"), false));
            targets.push(target(&base, folder.join("registry"), true));
        }
        targets.extend(self.places.approvals().map(|folder| target(&parent(&parent(&folder)), folder, true)));
        targets.extend(workspace.iter().map(|root| target(root, root.join(EDITORS), false)));
        targets.extend(user.iter().map(|folder| target(&parent(folder), folder.join(SERVERS), true)));
        targets.extend(config.iter().chain(mcp_config).map(|path| target(&parent(path), path.clone(), false)));
        targets.extend(registry.iter().map(|path| target(&parent(path), path.clone(), true)));
        // Of the files in those folders, those that are links to elsewhere.
        let listed: Vec<PathBuf> = self.listed().collect();
        targets
            .extend(self.registry_files(&listed).into_iter().flatten().map(|path| target(&parent(&path), path, false)));
        targets.extend(self.server_files().into_iter().map(|path| target(&parent(&path), path, false)));
        targets.extend(self.noted.paths().iter().map(|path| target(&parent(path), path.clone(), false)));
        targets
    }

    fn make(&self, state: &State, configs: &[ConfigFile], registries: &[Vec<PathBuf>; 3], revision: u64) -> Snapshot {
        let layer = |file: &ConfigFile| Some(file.layer(state.configs.get(&file.path)?.clone()));
        let layers: Vec<ConfigLayer> = configs.iter().filter_map(layer).collect();
        let mut all: Vec<Diagnostic> = state.configs.problems().cloned().collect();
        let mut sources: Vec<Arc<Source>> = Vec::new();
        let mut homes = BTreeMap::new();
        let mut paths: Vec<PathBuf> = configs.iter().map(|file| file.path.clone()).collect();
        for (files, list) in state.registries.iter().zip(registries) {
            all.extend(files.problems().cloned());
            let mut names: BTreeSet<String> = BTreeSet::new();
            // In the order of the paths: of two files with one source the first is served.
            for (path, registry) in list.iter().filter_map(|path| Some((path, files.get(path)?))) {
                all.extend(registry.diagnostics.iter().cloned());
                for source in &registry.sources {
                    if !names.insert(source.info.name.clone()) {
                        all.push(shadowed(path, &source.info.name));
                    } else {
                        sources.push(source.clone());
                        let home = homes.entry(source.info.name.clone());
                        home.or_insert_with(|| path.display().to_string());
                    }
                }
            }
            paths.extend(list.iter().cloned());
        }
        paths.extend(self.folders());
        let mut diagnostics: BTreeMap<String, Vec<Diagnostic>> = BTreeMap::new();
        for diagnostic in all {
            diagnostics.entry(diagnostic.file.clone()).or_default().push(diagnostic);
        }
        diagnostics.values_mut().for_each(|list| list.sort());
        Snapshot {
            revision,
            trust: Trust { whole: self.trusted(&layers), approved: state.approved.clone() },
            layers,
            sources,
            homes,
            diagnostics,
            without_layer: state.configs.degraded(),
            degraded: state.configs.degraded() || state.registries.iter().any(Files::degraded),
            paths,
        }
    }

    /// Configuration files by layer, whether they exist or not.
    fn config_files(&self) -> Vec<ConfigFile> {
        let file = |layer, shape, path| ConfigFile { layer, shape, path };
        let Places { user, workspace, config, mcp_config, .. } = &self.places;
        let mut files = Vec::new();
        files.extend(user.iter().map(|folder| file(Layer::User, Shape::Config, folder.join("config.yaml"))));
        files.extend(self.server_files().into_iter().map(|path| file(Layer::User, Shape::Server, path)));
        files.extend(workspace.iter().map(|root| file(Layer::Workspace, Shape::Editors, root.join(EDITORS))));
        let own = |root: &PathBuf| file(Layer::Workspace, Shape::Config, root.join(".toolscout").join("config.yaml"));
        files.extend(workspace.iter().map(own));
        files.extend(config.iter().map(|path| file(Layer::File, Shape::Config, path.clone())));
        files.extend(mcp_config.iter().map(|path| file(Layer::File, Shape::Editors, path.clone())));
        files
    }

    /// The user's files of one server each.
    fn server_files(&self) -> Vec<PathBuf> {
        let folder = self.places.user.as_ref().map(|folder| folder.join(SERVERS));
        folder.map(|folder| in_folder(&folder, &EXTENSIONS)).unwrap_or_default()
    }

    /// Folders in which registry files may appear, in the order of [`ORIGINS`].
    fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let workspace = self.places.workspace.as_ref().map(|root| root.join(".toolscout").join("registry"));
        let user = self.places.user.as_ref().map(|folder| folder.join("registry"));
        let servers = self.places.user.as_ref().map(|folder| folder.join(SERVERS));
        workspace.into_iter().chain(user).chain(servers)
    }

    /// Folders whose entries are files of the workspace.
    fn listed(&self) -> impl Iterator<Item = PathBuf> {
        let named = self.places.registry.iter().filter(|path| path.is_dir()).cloned();
        self.folders().chain(self.places.approvals()).chain(named)
    }

    /// The files of registries, those `listed` being folders: what a person named may become one at any time.
    fn registry_files(&self, listed: &[PathBuf]) -> [Vec<PathBuf>; 3] {
        let folder = |path: Option<PathBuf>| path.map(|path| in_folder(&path, &EXTENSIONS)).unwrap_or_default();
        let workspace = self.places.workspace.as_ref().map(|root| root.join(".toolscout").join("registry"));
        let user = self.places.user.as_ref().map(|folder| folder.join("registry"));
        let (mut named, mut known): (Vec<PathBuf>, BTreeSet<PathBuf>) = Default::default();
        for path in &self.places.registry {
            let files = if listed.contains(path) { in_folder(path, &EXTENSIONS) } else { vec![path.clone()] };
            named.extend(files.into_iter().filter(|file| known.insert(file.clone())));
        }
        [folder(workspace), folder(user), named]
    }

    /// Whether the user's configuration names this workspace among those it trusts.
    fn trusted(&self, layers: &[ConfigLayer]) -> bool {
        let Some(root) = &self.places.workspace else { return false };
        let same = |path: &str| {
            let path = Path::new(path);
            path == root || matches!((path.canonicalize(), root.canonicalize()), (Ok(a), Ok(b)) if a == b)
        };
        let user: Vec<ConfigLayer> = layers.iter().filter(|layer| layer.layer == Layer::User).cloned().collect();
        config::merge(&user, &Trust::default()).settings.trusted_workspaces.iter().any(|path| same(path))
    }
}

fn shadowed(path: &Path, source: &str) -> Diagnostic {
    let message =
        format!("the source `{source}` stands in a file before this one, which is served: rename one of them");
    Diagnostic::whole(path.display().to_string(), Severity::Warning, "source-shadowed", message)
}
