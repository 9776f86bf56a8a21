//! Flags and subcommands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::server::session::Options;
use crate::workspace::snapshot::Places;

/// Tool search for LLM agents: what a model sees of a large tool catalog.
#[derive(Debug, Parser)]
#[command(name = "toolscout", version, about)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Where configuration and registries are.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// Configuration file, over those of user and workspace
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Registry file, or folder of such; may be repeated
    #[arg(long, global = true, value_name = "PATH")]
    pub registry: Vec<PathBuf>,
    /// Folder whose .toolscout is read [default: what the host says, else the working directory]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub workspace: Option<PathBuf>,
    /// Let the workspace's own settings name servers, gateway and core tools
    #[arg(long, global = true)]
    pub trust_workspace: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a host over standard input and output (the default)
    Serve,
}

impl Common {
    /// The flags, made absolute where the working directory matters.
    pub fn options(&self) -> Options {
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let user = home("XDG_CONFIG_HOME").or_else(|| home("HOME").map(|home| home.join(".config")));
        Options {
            places: Places {
                user: user.map(|folder| folder.join("toolscout")),
                workspace: self.workspace.as_ref().map(absolute),
                config: self.config.as_ref().map(absolute),
                registry: self.registry.iter().map(absolute).collect(),
            },
            working_directory: std::env::current_dir().ok(),
            trust_workspace: self.trust_workspace,
        }
    }
}
