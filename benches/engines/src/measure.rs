//! A program under measurement, and the conversation with `side-by-side`: a request a line on standard input
//! (`{"op", "milliseconds", "most"}`), an answer a line on standard output (`{"ns": [...]}`, `{"bytes", "base"}`,
//! `{"cannot"}` or `{"error"}`).

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Fallible;

/// How long and how often to measure.
#[derive(Clone, Copy)]
pub struct Bounds {
    pub time: Duration,
    pub most: usize,
}

/// What a program answers to one operation.
pub enum Outcome {
    /// Nanoseconds, one a round.
    Times(Vec<u64>),
    /// Anything else that can be said in JSON.
    Other(Value),
    /// Why the program cannot do it.
    Cannot(&'static str),
}

/// A program that is measured. The first operation is `load`.
pub trait Program {
    fn run(&mut self, op: &str, bounds: Bounds) -> Fallible<Outcome>;
}

/// Times rounds until the bounds are reached, one at least. What `round` returns is dropped outside the time.
pub fn times<T>(bounds: Bounds, round: impl FnMut(usize) -> Fallible<T>) -> Fallible<Outcome> {
    times_with(bounds, Ok, round)
}

/// The same, with something to prepare for each round outside the time.
pub fn times_with<P, T>(
    bounds: Bounds,
    mut prepare: impl FnMut(usize) -> Fallible<P>,
    mut round: impl FnMut(P) -> Fallible<T>,
) -> Fallible<Outcome> {
    let begin = Instant::now();
    let mut out = Vec::new();
    while out.is_empty() || (out.len() < bounds.most && begin.elapsed() < bounds.time) {
        let prepared = prepare(out.len())?;
        let start = Instant::now();
        let made = std::hint::black_box(round(prepared)?);
        out.push(start.elapsed().as_nanos() as u64);
        drop(made);
    }
    Ok(Outcome::Times(out))
}

/// Resident memory of a process in bytes.
pub fn resident(process: &str) -> Fallible<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<u64>()? * 1024)
}

/// Serves requests until standard input ends.
pub fn serve(mut program: impl Program) -> Fallible<()> {
    #[derive(Deserialize)]
    struct Request {
        op: String,
        milliseconds: u64,
        most: usize,
    }
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let bounds = Bounds { time: Duration::from_millis(request.milliseconds), most: request.most };
        let answer = match program.run(&request.op, bounds) {
            Ok(Outcome::Times(times)) => json!({"ns": times}),
            Ok(Outcome::Other(value)) => value,
            Ok(Outcome::Cannot(why)) => json!({"cannot": why}),
            Err(error) => json!({"error": error.to_string()}),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
