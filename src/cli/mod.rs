//! The command line: `serve` for hosts, the rest for people.

mod flags;
mod serve;

use std::process::ExitCode;

use clap::Parser;
use flags::{Cli, Command};

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command.unwrap_or(Command::Serve) {
        Command::Serve => serve::serve(&cli.common),
    }
}
