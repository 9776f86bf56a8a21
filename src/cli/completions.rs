//! `toolscout completions`: a script for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::flags::Cli;
use super::report::Report;

/// The script.
pub fn run(shell: Shell) -> Report {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "toolscout", &mut script);
    Report::text(String::from_utf8_lossy(&script).into_owned())
}
