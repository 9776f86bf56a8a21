//! The layers of configuration: where a setting can come from, later ones before earlier ones.

use serde::Serialize;

use super::node::{Entry, Node, Place, Value};

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
}

impl ConfigLayer {
    /// The layer of a host: `settings` and `core` of `initialize`, the latter winning over a `core` in the former.
    pub fn of_initialize(settings: Option<&serde_json::Value>, core: Option<&serde_json::Value>) -> Vec<Self> {
        let core = core.map(|core| {
            let entry = Entry { key: "core".into(), key_place: Place::UNKNOWN, value: Node::from_json(core) };
            Node { place: Place::UNKNOWN, value: Value::Map([entry].into()) }
        });
        let layer = |root| Self { layer: Layer::Initialize, file: String::new(), root };
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
