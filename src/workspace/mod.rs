//! What the files of a user and a workspace say: text with places, configuration in layers.

pub mod address;
pub mod config;
pub mod effective;
pub mod files;
pub mod found_by;
pub mod idle_names;
pub mod json;
pub mod keys;
pub mod layers;
pub mod loader;
pub mod lookups;
pub mod network;
pub mod node;
pub mod noted;
pub mod problem;
pub mod registry;
pub mod regular;
pub mod seen;
pub mod setting;
pub mod settle;
pub mod snapshot;
pub mod source_text;
pub mod stamp;
pub mod trust;
pub mod watcher;
pub mod yaml;
