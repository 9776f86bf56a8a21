//! What a command leaves behind: text on standard output, a note on standard error, an exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use super::failure::complain;
use super::page::Page;
use super::printable;

/// The end of a command.
#[derive(Debug, Default)]
pub struct Report {
    text: String,
    notes: Vec<String>,
    failed: bool,
}

impl Report {
    /// Text for a person.
    pub fn page(page: Page) -> Self {
        Self { text: page.into_text(), ..Self::default() }
    }

    /// Text as it is.
    pub fn text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// A value of the wire, for a program.
    pub fn json(raw: &str) -> Self {
        Self::text(printable::json(raw) + "\n")
    }

    /// One more line on standard error.
    #[must_use]
    pub fn with_note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// The same with exit code 1.
    #[must_use]
    pub fn failed(self) -> Self {
        self.failed_if(true)
    }

    /// The same with exit code 1 where `failed`.
    #[must_use]
    pub fn failed_if(self, failed: bool) -> Self {
        Self { failed: self.failed || failed, ..self }
    }

    /// Writes it out. A reader that has seen enough is no error.
    pub fn print(mut self) -> ExitCode {
        let mut stdout = io::stdout().lock();
        match stdout.write_all(self.text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            Err(error) => self = self.with_note(format!("the output cannot be written: {error}")).failed(),
            Ok(()) => {}
        }
        self.notes.iter().for_each(|note| complain(note));
        if self.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
