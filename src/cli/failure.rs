//! Why a command could not do its work, said to a person or to a program.

use std::io;

use serde_json::json;
use serde_json::value::RawValue;

use super::printable;
use super::report::Report;

/// What went wrong.
#[derive(Debug)]
pub enum Failure {
    /// The sidecar answered with an error object.
    Refused {
        /// The object as it came.
        error: Box<RawValue>,
        /// Its message.
        message: String,
    },
    /// Anything else: what happened, and what to do.
    Other(String),
}

impl Failure {
    /// The system refused something.
    pub fn system(what: &str, error: &io::Error) -> Self {
        Self::Other(format!("{what}: {error}"))
    }

    /// As the program's end: the error object on standard output for a program, one line on standard error for a
    /// person; exit code 1.
    pub fn into_report(self, json: bool) -> Report {
        let (error, message) = match self {
            Self::Refused { error, message } => (error.get().to_owned(), message),
            Self::Other(message) => (json!({ "message": message }).to_string(), message),
        };
        if json { Report::json(&error).failed() } else { Report::default().with_note(message).failed() }
    }
}

/// Only where the system gives no pipe, no thread or no process.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::system("the sidecar cannot be started", &error)
    }
}

/// One line on standard error.
pub fn complain(message: &str) {
    use std::io::Write;
    // Without standard error there is nobody left to tell.
    let _ = writeln!(io::stderr(), "toolscout: {}", printable::folded(message));
}
