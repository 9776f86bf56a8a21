//! The same as `shared`, where there are no Unix domain sockets and so no shared sidecar.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

use super::failure::Failure;
use super::flags::{Common, Serve};
use super::page::Page;
use super::report::Report;
use crate::rpc::Sink;

fn unsupported<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "`--shared` needs Unix domain sockets: leave it out"))
}

pub fn relay(_: &Common, _: &Serve, _: Sink) -> io::Result<ExitCode> {
    unsupported()
}

pub fn relay_between(_: &Common, _: &Serve, _: impl Read, _: impl Write) -> io::Result<bool> {
    unsupported()
}

pub fn serve_daemon(_: &Common, _: &Serve) -> io::Result<ExitCode> {
    unsupported()
}

/// Shared sidecars that run: none.
pub struct Running;

impl Running {
    pub fn all() -> Self {
        Self
    }

    pub fn is_empty(&self) -> bool {
        true
    }

    pub fn keep_workspace(&mut self, _: Option<&Path>) {}

    pub fn stop(&self) -> Result<(), Failure> {
        Ok(())
    }

    pub fn json(&self) -> Value {
        Value::Array(Vec::new())
    }

    pub fn show(&self, _: &mut Page) {}

    pub fn noted(&self, report: Report) -> Report {
        report
    }
}
