//! The command line: `serve` for hosts, the rest for people.
//!
//! The people's commands talk to a sidecar as a host does, so what they show is what a host would get. Environment,
//! working directory and arguments are read here and nowhere else.

mod answers;
mod assemble;
mod authorize;
mod check;
mod client;
mod completions;
mod configured;
mod demo;
mod describe;
mod eval;
mod explain;
mod failure;
mod flags;
mod gateway;
mod login;
mod mcp;
mod mcp_list;
mod newcomer;
mod page;
mod printable;
mod report;
mod sample;
mod search;
mod serve;
mod servers;
#[cfg(unix)]
mod shared;
#[cfg(not(unix))]
#[path = "unshared.rs"]
mod shared;
mod sidecar;
mod status;
mod stop;
mod table;
mod terminal;
mod toolsets;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use failure::Failure;
use flags::{Cli, Command, Common, Serve};
use report::Report;
use terminal::Terminal;

use crate::servers::launch;

/// Runs the program. Exit codes: 0 done, 1 the work failed, 2 wrong usage.
pub fn main() -> ExitCode {
    let Cli { common, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => {
            // It repeats what was typed or pasted, which may hold a terminal's control characters.
            error.render().to_string().lines().for_each(|line| eprintln!("{}", printable::visible(line)));
            return ExitCode::from(2);
        }
    };
    let command = command.unwrap_or(Command::Serve(Serve::default()));
    if let Command::Serve(args) = &command {
        if args.idle_exit.is_some() && !args.is_for_many() {
            let message = "--idle-exit goes with --shared or --listen: this sidecar ends with its host";
            Cli::command().error(ErrorKind::ArgumentConflict, message).exit();
        }
        return serve::serve(&common, args);
    }
    if let Command::BecomeServer { sidecar, command } = &command {
        return launch::launch(*sidecar, command).unwrap_or_else(|(code, error)| {
            let program = command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
            eprintln!("{}", printable::visible(&format!("{program} cannot be started: {error}")));
            ExitCode::from(code)
        });
    }
    if let Command::Mcp(args) = &command {
        return mcp::serve(&common, args);
    }
    if matches!(command, Command::Demo(_)) && common.is_given() {
        let message = "the demo plays on its own sample: leave out --config, --registry, --workspace and the like";
        Cli::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    let json = command.is_json();
    match run(&common, command) {
        Ok(report) => report.print(),
        Err(failure) => failure.into_report(json).print(),
    }
}

fn run(common: &Common, command: Command) -> Result<Report, Failure> {
    let terminal = Terminal::of_stdout();
    match command {
        Command::Serve(_) | Command::Mcp(_) | Command::BecomeServer { .. } => Ok(Report::default()),
        Command::Search(args) => search::run(common, &args, terminal),
        Command::Assemble(args) => assemble::run(common, &args, terminal),
        Command::Describe(args) => describe::run(common, &args, terminal),
        Command::Explain(args) => explain::run(common, &args, terminal),
        Command::Eval(args) => eval::run(common, &args, terminal),
        Command::Check(args) => check::run(common, &args, terminal),
        Command::Status(args) => status::run(common, &args, terminal),
        Command::McpList(args) => mcp_list::run(common, &args, terminal),
        Command::Servers(command) => servers::run(common, &command, terminal),
        Command::Login(args) => login::login(common, &args, terminal),
        Command::Logout(args) => login::logout(common, &args, terminal),
        Command::Stop(args) => stop::run(common, &args, terminal),
        Command::Demo(args) => demo::run(common, &args, terminal),
        Command::Completions { shell } => Ok(completions::run(shell)),
    }
}
