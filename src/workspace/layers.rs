//! The layers of configuration: where a setting can come from, later ones before earlier ones.

use serde::Serialize;

use super::node::{Entry, Node, Place, Value, child_pointer};

/// The key under which configuration names servers.
const SERVERS: &str = "mcpServers";

/// A layer, in the order in which they are laid over one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// What holds where nobody says anything.
    BuiltIn,
    /// `toolscout/config.yaml` among the user's configuration.
    User,
    /// `.toolscout/config.yaml` of the workspace.
    Workspace,
    /// The file named by `--config`.
    File,
    /// What the host sent with `initialize`.
    Initialize,
}

/// What one layer says.
#[derive(Debug, Clone)]
pub struct ConfigLayer {
    /// Which layer it is.
    pub layer: Layer,
    /// Its file as it is named to people, empty for what came over the wire.
    pub file: String,
    /// Its content; null says nothing.
    pub root: Node,
    /// Where the content stands in the file, if that is no configuration as a whole: JSON pointers of a part of `root`, and
    /// of the same part in the file.
    pub moved: Option<(String, String)>,
}

impl ConfigLayer {
    /// A configuration file.
    pub fn of_file(layer: Layer, file: String, root: Node) -> Self {
        Self { layer, file, root, moved: None }
    }

    /// A file of nothing but servers, `{name: entry}` at `pointer` of the file.
    pub fn of_servers(layer: Layer, file: String, servers: Node, pointer: &str) -> Self {
        let entry = Entry { key: SERVERS.into(), key_place: servers.place, value: servers };
        let root = Node { place: entry.value.place, value: Value::Map([entry].into()) };
        Self { layer, file, root, moved: Some((format!("/{SERVERS}"), pointer.to_owned())) }
    }

    /// A file that is the entry of one server.
    pub fn of_server(layer: Layer, file: String, name: &str, server: Node) -> Self {
        let place = server.place;
        let entry = Entry { key: name.into(), key_place: place, value: server };
        let servers = Node { place, value: Value::Map([entry].into()) };
        let at = child_pointer(&format!("/{SERVERS}"), name);
        Self { moved: Some((at, String::new())), ..Self::of_servers(layer, file, servers, "") }
    }

    /// A pointer into `root` as one into the file.
    pub fn pointer_in_file(&self, pointer: &str) -> String {
        let inside = self.moved.as_ref().and_then(|(from, to)| Some((to, pointer.strip_prefix(from.as_str())?)));
        inside.map_or_else(|| pointer.to_owned(), |(to, rest)| format!("{to}{rest}"))
    }

    /// The layer of a host: `settings` and `core` of `initialize`, the latter winning over a `core` in the former.
    pub fn of_initialize(settings: Option<&serde_json::Value>, core: Option<&serde_json::Value>) -> Vec<Self> {
        let core = core.map(|core| {
            let entry = Entry { key: "core".into(), key_place: Place::UNKNOWN, value: Node::from_json(core) };
            Node { place: Place::UNKNOWN, value: Value::Map([entry].into()) }
        });
        let layer = |root| Self::of_file(Layer::Initialize, String::new(), root);
        settings.map(Node::from_json).into_iter().chain(core).map(layer).collect()
    }
}

/// Where a setting in effect comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The layer that set it.
    pub layer: Layer,
    /// That layer's file, empty where it has none.
    pub file: String,
    /// Where in it the value stands.
    pub place: Place,
}

impl Origin {
    /// Of a default.
    pub const BUILT_IN: Self = Self { layer: Layer::BuiltIn, file: String::new(), place: Place::UNKNOWN };
}
