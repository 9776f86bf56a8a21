//! What the files of a user and a workspace say: text with places, configuration in layers.

pub mod config;
pub mod effective;
pub mod json;
pub mod keys;
pub mod layers;
pub mod node;
pub mod problem;
pub mod setting;
pub mod source_text;
pub mod yaml;
