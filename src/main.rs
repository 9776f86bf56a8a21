//! The `toolscout` program: flags to a sidecar or to one of the people's commands.

use std::process::ExitCode;

fn main() -> ExitCode {
    toolscout::cli::main()
}
