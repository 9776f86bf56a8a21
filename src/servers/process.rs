//! The process of a server that speaks over its standard streams: its start, and its end with all that it started.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::spec::Reach;

/// How long a server has to end, from when that is wanted: a client of the sidecar gives it 2 s in all.
pub const GRACE: Duration = Duration::from_millis(1500);

/// Starts processes on one thread that lives as long as this: the kernel ends a server that asked for it when the
/// *thread* that started it does, not the process.
pub struct Starter {
    orders: mpsc::Sender<Order>,
}

struct Order {
    command: Command,
    answer: oneshot::Sender<io::Result<Child>>,
}

impl Starter {
    /// Starts the thread.
    ///
    /// # Errors
    /// Where the system gives none.
    pub fn new(runtime: Handle) -> io::Result<Self> {
        let (orders, received) = mpsc::channel::<Order>();
        std::thread::Builder::new().name("toolscout-start".to_owned()).spawn(move || {
            let _entered = runtime.enter();
            while let Ok(Order { mut command, answer }) = received.recv() {
                // Who no longer waits drops the child, which kills it.
                let _ = answer.send(command.spawn());
            }
        })?;
        Ok(Self { orders })
    }

    async fn spawn(&self, command: Command) -> io::Result<Child> {
        let (answer, waiting) = oneshot::channel();
        let gone = || io::Error::other("the sidecar is ending");
        self.orders.send(Order { command, answer }).map_err(|_| gone())?;
        waiting.await.map_err(|_| gone())?
    }
}

/// A running server.
pub struct Process {
    child: Child,
    /// The group that it leads, as long as it is not known to be gone.
    group: Option<u32>,
}

/// Its standard streams.
pub struct Streams {
    /// Messages to it.
    pub input: ChildStdin,
    /// Messages from it.
    pub output: ChildStdout,
    /// What it says beside.
    pub errors: ChildStderr,
}

/// Set for every server: a Toolscout that is started so would read the same configuration and start itself without end.
pub const MARK: &str = "TOOLSCOUT_SERVER";

/// Whether it would be this program's own MCP server (`toolscout mcp`): this very file, or one of its name.
pub fn is_this_program(reach: &Reach, this: Option<&PathBuf>) -> bool {
    let Reach::Stdio { command, args, env, inherited, cwd } = reach else { return false };
    if !args.iter().any(|arg| arg == "mcp") {
        return false;
    }
    let command = Path::new(command);
    if command.file_stem().is_some_and(|name| name == env!("CARGO_PKG_NAME")) {
        return true;
    }
    let Some(this) = this.and_then(|this| this.canonicalize().ok()) else { return false };
    let is_this = |path: PathBuf| path.canonicalize().is_ok_and(|path| path == this);
    if command.components().count() > 1 {
        return is_this(cwd.as_ref().map_or_else(|| command.to_owned(), |cwd| cwd.join(command)));
    }
    let separator = if cfg!(windows) { ';' } else { ':' };
    let folders = env.get("PATH").or_else(|| inherited.get("PATH"));
    folders.is_some_and(|folders| folders.split(separator).any(|folder| is_this(Path::new(folder).join(command))))
}

/// Starts the process of a server. `launcher` is this program, through which it is started so that it ends with the
/// sidecar however that ends.
///
/// # Errors
/// What a person is to be told.
pub async fn start(starter: &Starter, reach: &Reach, launcher: Option<&PathBuf>) -> Result<(Process, Streams), String> {
    let Reach::Stdio { command, args, env, inherited, cwd } = reach else {
        return Err("it is reached over HTTP".to_owned());
    };
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        return Err(format!("its working directory {} does not exist", cwd.display()));
    }
    let mut starting = match launcher.filter(|_| cfg!(target_os = "linux")) {
        Some(launcher) => {
            let mut starting = Command::new(launcher);
            starting.arg(super::launch::SUBCOMMAND).arg(std::process::id().to_string()).arg("--").arg(command);
            starting
        }
        None => Command::new(command),
    };
    starting.args(args).env_clear().envs(inherited).envs(env).env(MARK, "1").kill_on_drop(true);
    starting.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(cwd) = cwd {
        starting.current_dir(cwd);
    }
    #[cfg(unix)]
    starting.process_group(0);
    let mut child = starter.spawn(starting).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "its program was not found".to_owned(),
        io::ErrorKind::PermissionDenied => "its program may not be run".to_owned(),
        _ => format!("its program cannot be started: {error}"),
    })?;
    let group = child.id();
    match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
        (Some(input), Some(output), Some(errors)) => Ok((Process { child, group }, Streams { input, output, errors })),
        _ => Err("its program has no standard streams".to_owned()),
    }
}

impl Process {
    /// Waits until it has ended, and says how.
    pub async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => ending(status),
            Err(error) => format!("it cannot be watched: {error}"),
        }
    }

    /// Ends it and all of its group: asks first if there is a `grace`, and kills what is left after that. Its standard
    /// input should be closed by then.
    pub async fn end(mut self, grace: Option<Duration>) {
        if let Some(grace) = grace {
            self.signal(Ask::End);
            let _ = tokio::time::timeout(grace, self.child.wait()).await;
        }
        // Even if it has ended itself: what it started may not have.
        self.signal(Ask::Die);
        let _ = self.child.kill().await;
        self.group = None;
    }

    #[cfg(unix)]
    fn signal(&self, ask: Ask) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let signal = match ask {
            Ask::End => Signal::TERM,
            Ask::Die => Signal::KILL,
        };
        let group = self.group.and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(group) = group {
            // It may be gone, which is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }

    #[cfg(not(unix))]
    fn signal(&self, _: Ask) {}
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that was not ended in order is left by a task that was dropped: nobody can wait any more.
        if self.group.is_some() {
            self.signal(Ask::Die);
        }
    }
}

#[derive(Clone, Copy)]
enum Ask {
    End,
    Die,
}

fn ending(status: ExitStatus) -> String {
    match status.code() {
        Some(127) => "its program was not found (code 127)".to_owned(),
        Some(126) => "its program may not be run (code 126)".to_owned(),
        Some(code) => format!("it ended with code {code}"),
        None => format!("it was ended by a {status}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn this_program_is_known_by_file_or_name() {
        let folder = tempfile::tempdir().unwrap();
        let this = folder.path().join("this");
        std::fs::write(&this, "").unwrap();
        std::os::unix::fs::symlink(&this, folder.path().join("scout")).unwrap();
        std::fs::write(folder.path().join("other"), "").unwrap();
        let path = format!("/nowhere:{}", folder.path().display());
        for (command, args, expected) in [
            ("toolscout", &["--config", "c", "mcp"][..], true),
            ("/elsewhere/toolscout", &["mcp"], true),
            ("toolscout", &["serve"], false),
            ("scout", &["mcp"], true),
            ("./scout", &["mcp"], true),
            ("scout", &["-y", "server"], false),
            ("other", &["mcp"], false),
            ("missing", &["mcp"], false),
        ] {
            let reach = Reach::Stdio {
                command: command.to_owned(),
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                env: Default::default(),
                inherited: [("PATH".to_owned(), path.clone())].into(),
                cwd: Some(folder.path().to_owned()),
            };
            assert_eq!(is_this_program(&reach, Some(&this)), expected, "{command} {args:?}");
        }
    }
}
