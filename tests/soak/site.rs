//! A user's folders, the processes that work in them, and who was killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde_json::Value;
use tempfile::TempDir;

use crate::editor::{Edited, alpha, beta, config};

/// No honest answer takes so long, even on a machine that is busy with other things.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Everything that threads share.
pub struct Site {
    folder: TempDir,
    /// The registries `alpha` and `beta`, and the workspace's configuration.
    pub files: [Edited; 3],
    pub until: Instant,
    daemons: Mutex<Daemons>,
    /// The daemon that answered last.
    serving: AtomicI32,
    /// Begun and ended kills of daemons: odd while one is being killed.
    deaths: AtomicU64,
}

#[derive(Default)]
struct Daemons {
    /// All that ever answered, so that their ends can be awaited.
    seen: BTreeMap<i32, OwnedFd>,
    killed: BTreeSet<i32>,
}

impl Site {
    pub fn new(lasting: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        ["run", "targets"].iter().for_each(|name| fs::create_dir(path(name)).unwrap());
        let edited = |name: &str, text| Edited::new(path(name), &path("targets"), text);
        let files = [
            edited("workspace/.toolscout/registry/alpha.json", alpha as fn(u64) -> Value),
            edited("config/toolscout/registry/beta.json", beta),
            edited("workspace/.toolscout/config.yaml", config),
        ];
        let (serving, deaths) = (AtomicI32::new(0), AtomicU64::new(0));
        Self { files, folder, until: Instant::now() + lasting, daemons: Mutex::default(), serving, deaths }
    }

    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Lets time pass, but none after the end.
    pub fn pause(&self, time: Duration) {
        std::thread::sleep(time.min(self.until.saturating_duration_since(Instant::now())));
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolscout"));
        command.args(args).current_dir(self.path("workspace")).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.path("run")).env("XDG_CONFIG_HOME", self.path("config"));
        command.env("HOME", self.folder.path()).env("TMPDIR", self.folder.path()).env_remove("TOOLSCOUT_LOG");
        command
    }

    fn daemons<T>(&self, with: impl FnOnce(&mut Daemons) -> T) -> T {
        with(&mut self.daemons.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that this daemon answered.
    pub fn serves(&self, pid: i32) {
        self.daemons(|daemons| {
            if daemons.killed.contains(&pid) {
                return;
            }
            let open = || pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
            daemons.seen.entry(pid).or_insert_with(open);
            self.serving.store(pid, Ordering::SeqCst);
        });
    }

    /// The daemon that answered last.
    pub fn serving(&self) -> i32 {
        self.serving.load(Ordering::SeqCst)
    }

    pub fn daemon_count(&self) -> usize {
        self.daemons(|daemons| daemons.seen.len())
    }

    /// Kills the daemon that answered last, once.
    pub fn kill_daemon(&self) -> bool {
        let pid = self.serving();
        let process = self.daemons(|daemons| {
            let process = daemons.seen.get(&pid).map(|process| process.try_clone().unwrap());
            process.filter(|_| daemons.killed.insert(pid))
        });
        let Some(process) = process else { return false };
        self.deaths.fetch_add(1, Ordering::SeqCst);
        pidfd_send_signal(&process, Signal::KILL).expect("a daemon with connections does not end by itself");
        await_end(&process, pid);
        self.deaths.fetch_add(1, Ordering::SeqCst);
        true
    }

    pub fn deaths(&self) -> u64 {
        self.deaths.load(Ordering::SeqCst)
    }

    /// Whether a connection may have ended for a daemon's death: that of its own, or where it does not know its own,
    /// any since there were so many deaths.
    pub fn is_excused(&self, pid: Option<i32>, deaths: u64) -> bool {
        match pid {
            Some(pid) => self.daemons(|daemons| daemons.killed.contains(&pid)),
            None => deaths % 2 == 1 || self.deaths() != deaths,
        }
    }

    /// Waits for the ends of all daemons and looks for anything that they left.
    pub fn check_nothing_is_left(&self) {
        self.daemons(|daemons| daemons.seen.iter().for_each(|(pid, process)| await_end(process, *pid)));
        let output = self.command(&["status", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(status["shared"], Value::Array(Vec::new()), "they go on");
        let ours = self.path("run").into_os_string().into_encoded_bytes();
        for process in fs::read_dir("/proc").unwrap().flatten() {
            // Other users' are not ours, and some end meanwhile.
            let Ok(environment) = fs::read(process.path().join("environ")) else { continue };
            let is_ours = environment.windows(ours.len()).any(|window| window == ours);
            assert!(!is_ours, "{} goes on", process.path().display());
        }
        for file in fs::read_dir(self.path("run/toolscout")).unwrap() {
            let path = file.unwrap().path();
            assert!(path.extension().is_none_or(|extension| extension != "sock"), "{} is left", path.display());
            let text = fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
            assert!(!text.contains("panicked"), "{}: {text}", path.display());
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // After a failure.
        let _ = self.command(&["stop", "--all"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn await_end(process: &OwnedFd, pid: i32) {
    let timeout = Timespec { tv_sec: DEADLINE.as_secs() as i64, tv_nsec: 0 };
    assert_eq!(poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout)), Ok(1), "process {pid} goes on");
}
