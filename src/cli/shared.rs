//! `serve --shared` and the process behind it, and the shared sidecars that run: what `share` is told of environment,
//! working directory and flags.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::failure::Failure;
use super::flags::{Common, Serve};
use super::page::Page;
use super::report::Report;
use super::table::Column;
use crate::rpc::{Sink, Source};
use crate::share::{self, RuntimeHome, Shared};
use crate::signals::Input;

/// How long a shared sidecar stays without a connection, in seconds.
const IDLE_SECONDS: u32 = 60;

/// Variables that a daemon is started with, beside the folder of temporary files: where folders are, and how much is
/// logged.
const DAEMON_VARIABLES: [&str; 4] = ["HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TOOLSCOUT_LOG"];

const RUNNING: [Column; 5] = [
    Column::number("PID"),
    Column::name("WORKSPACE"),
    Column::word("VERSION"),
    Column::number("CONNECTIONS"),
    Column::number("UPTIME"),
];

fn runtime() -> RuntimeHome {
    let temporary = std::env::temp_dir();
    RuntimeHome {
        runtime: std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from),
        // The daemon has another working directory.
        temporary: std::path::absolute(&temporary).unwrap_or(temporary),
    }
}

fn shared(common: &Common, args: &Serve, workspace: Option<&Path>) -> Shared {
    let mut arguments = common.arguments(workspace);
    let idle = args.idle_exit.unwrap_or(IDLE_SECONDS);
    arguments.extend(["serve", "--daemon"].map(OsString::from));
    arguments.push(format!("--idle-exit={idle}").into());
    let runtime = runtime();
    let variables = DAEMON_VARIABLES.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let temporary = (OsString::from("TMPDIR"), runtime.temporary.clone().into_os_string());
    Shared {
        environment: variables.chain([temporary]).collect(),
        runtime,
        user: common.options().places.user,
        workspace: workspace.map(Path::to_owned),
        arguments,
    }
}

pub fn relay(common: &Common, args: &Serve, stdout: Sink) -> io::Result<ExitCode> {
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let well = relay_between(common, args, Source(Input::new(stdin)?), stdout)?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The same for a host that is elsewhere. Whether the connection ended as the protocol has it.
pub fn relay_between(
    common: &Common,
    args: &Serve,
    requests: impl Read + Send + 'static,
    answers: impl Write + Send + 'static,
) -> io::Result<bool> {
    let options = common.options();
    // What is no UTF-8 has no form in JSON.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let folder = options.working_directory.as_ref().and_then(|folder| folder.to_str());
    let relay = share::Relay {
        asking: share::Asking { working_directory: folder.map(str::to_owned), environment },
        workspace: options.places.workspace,
        working_directory: options.working_directory,
    };
    share::run_relay(&relay, |workspace| shared(common, args, workspace), requests, answers)
}

pub fn serve_daemon(common: &Common, args: &Serve) -> io::Result<ExitCode> {
    let mut options = common.options();
    // It has none of anybody's.
    options.working_directory = None;
    let idle = Duration::from_secs(args.idle_exit.unwrap_or(IDLE_SECONDS).into());
    let shared = shared(common, args, options.places.workspace.as_deref());
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    share::serve_daemon(options, &shared, stdin, stdout, idle)?;
    Ok(ExitCode::SUCCESS)
}

/// Shared sidecars that run.
pub struct Running {
    all: Vec<share::running::Running>,
    problems: Vec<io::Error>,
}

impl Running {
    pub fn all() -> Self {
        match share::running::list(&runtime()) {
            Ok((all, problems)) => Self { all, problems },
            Err(error) => Self { all: Vec::new(), problems: vec![error] },
        }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn keep_workspace(&mut self, workspace: Option<&Path>) {
        let workspace = workspace.map(|folder| folder.display().to_string());
        self.all.retain(|running| running.welcome.workspace == workspace);
    }

    pub fn stop(&self) -> Result<(), Failure> {
        self.all.iter().try_for_each(|running| running.stop()).map_err(|error| Failure::Other(error.to_string()))
    }

    pub fn json(&self) -> Value {
        self.all.iter().map(|running| json!(running.welcome)).collect()
    }

    pub fn show(&self, page: &mut Page) {
        let row = |running: &share::running::Running| {
            let share::Welcome { version, pid, workspace, connections, uptime_ms } = &running.welcome;
            let workspace = workspace.clone().unwrap_or_else(|| "(none)".to_owned());
            [pid.to_string(), workspace, version.clone(), connections.to_string(), uptime(*uptime_ms / 1000)]
        };
        page.table(0, &RUNNING, &self.all.iter().map(row).collect::<Vec<_>>());
    }

    pub fn noted(&self, report: Report) -> Report {
        self.problems.iter().fold(report, |report, problem| report.with_note(problem.to_string()))
    }
}

/// The two largest units of a time.
fn uptime(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_shortly() {
        for (seconds, expected) in
            [(0, "0 s"), (59, "59 s"), (60, "1 min 0 s"), (3725, "1 h 2 min"), (90_000, "1 d 1 h")]
        {
            assert_eq!(uptime(seconds), expected);
        }
    }
}
