//! What standard output can show: how wide it is, and whether it takes colour.

use std::io::{self, IsTerminal};

/// Width of a terminal that does not say its own.
const USUAL_WIDTH: usize = 80;
/// A narrower one is written to as if it had this: nothing readable fits.
const LEAST_WIDTH: usize = 20;

/// Where text for a person goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Columns; none where the text goes into a file or a pipe, and is not cut.
    pub width: Option<usize>,
    /// Whether escape sequences for colour are understood and wanted.
    pub colour: bool,
}

impl Terminal {
    /// Standard output, and what the environment says of it (`NO_COLOR`, `TERM`).
    pub fn of_stdout() -> Self {
        let stdout = io::stdout();
        if !stdout.is_terminal() {
            return Self::default();
        }
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let able = cfg!(unix) && std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        Self { width: Some(width(&stdout).unwrap_or(USUAL_WIDTH).max(LEAST_WIDTH)), colour: able && !refused }
    }
}

#[cfg(unix)]
fn width(stdout: &io::Stdout) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

#[cfg(not(unix))]
fn width(_: &io::Stdout) -> Option<usize> {
    None
}
