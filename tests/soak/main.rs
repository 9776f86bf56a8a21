//! The soak: hosts ask one shared sidecar through relays while editors write its files and processes are killed.
//!
//! It lasts `SOAK_SECONDS` (5). The seed of its random choices is printed and can be given as `SOAK_SEED`; what the
//! machine makes of them is another matter.
//!
//! It holds that
//! - every request of a client that was not killed is answered, and none twice;
//! - every answer is of one version of each file, no connection sees an older one than before, and none older than what
//!   was there when the request was sent;
//! - who loses the daemon is told, and the next one who comes is served;
//! - the last daemon's memory stays flat, where it lives long enough to be judged;
//! - nothing is left running.

#![cfg(target_os = "linux")]

mod answer;
mod client;
mod editor;
mod history;
mod random;
mod site;

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use client::Tally;
use random::Random;
use site::Site;

const CLIENTS: u64 = 8;

/// How often memory is looked at.
const SAMPLING: Duration = Duration::from_millis(250);

fn from_environment(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => default,
    }
}

#[test]
fn soak() {
    let seconds = from_environment("SOAK_SECONDS", 5);
    let seed = from_environment("SOAK_SEED", RandomState::new().hash_one(0));
    println!("soak: SOAK_SECONDS={seconds} SOAK_SEED={seed}");
    let lasting = Duration::from_secs(seconds);
    let site = &Site::new(lasting);
    let (tallies, writes, kills, memory) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| scope.spawn(move || client::run(site, client, &mut Random::new(seed, client))))
            .collect();
        let editors = [&[0][..], &[1, 2]]
            .map(|files| scope.spawn(move || edit(site, files, &mut Random::new(seed, CLIENTS + files.len() as u64))));
        let killer =
            scope.spawn(move || kill_daemons(site, site.until - lasting / 2, &mut Random::new(seed, CLIENTS + 3)));
        let sampler = scope.spawn(move || sample(site));
        let tallies: Vec<Tally> = clients.into_iter().map(|thread| thread.join().expect("a client")).collect();
        let writes: u64 = editors.into_iter().map(|thread| thread.join().expect("an editor")).sum();
        (tallies, writes, killer.join().expect("the killer"), sampler.join().expect("the sampler"))
    });
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let slowest = tallies.iter().map(|tally| tally.slowest).max().unwrap_or_default();
    println!(
        "soak: {seconds} s, {} requests, {writes} writes, {} relays and {kills} daemons killed ({} daemons, {} relays \
         lost theirs), peak RSS {} KiB, slowest answer {} ms, {} late; SOAK_SEED={seed}",
        sum(|tally| tally.requests),
        sum(|tally| tally.kills),
        site.daemon_count(),
        sum(|tally| tally.lost),
        memory.iter().map(|(_, resident)| resident).max().unwrap_or(&0),
        slowest.as_millis(),
        sum(|tally| tally.late),
    );
    site.check_nothing_is_left();
    assert!(tallies.iter().all(|tally| tally.requests > 0), "a client was never answered: {tallies:?}");
    if seconds >= 60 {
        check_is_flat(&memory);
    }
}

/// Edits these files in turn; gives back how often.
fn edit(site: &Site, files: &[usize], random: &mut Random) -> u64 {
    let (mut versions, mut writes) = ([1; 3], 0);
    while !site.is_over() {
        let file = files[random.within(0..files.len() as u64) as usize];
        versions[file] = site.files[file].edit(random, versions[file]);
        writes += 1;
        site.pause(random.millis(5..80));
    }
    writes
}

/// Kills daemons until `end`, well before the soak's: the last one lives on, so that its memory can be judged.
fn kill_daemons(site: &Site, end: Instant, random: &mut Random) -> u64 {
    let mut kills = 0;
    loop {
        site.pause(random.millis(700..2500));
        if Instant::now() >= end {
            return kills;
        }
        kills += u64::from(site.kill_daemon());
    }
}

/// Resident memory in KiB of whatever daemon serves, with its process.
fn sample(site: &Site) -> Vec<(i32, u64)> {
    let mut samples = Vec::new();
    while !site.is_over() {
        let pid = site.serving();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok());
        samples.extend(resident.map(|resident| (pid, resident)));
        site.pause(SAMPLING);
    }
    samples
}

/// Compares the first and the last quarter of the last daemon's life, once it has warmed up.
fn check_is_flat(samples: &[(i32, u64)]) {
    let (last, _) = samples.last().expect("a daemon");
    let life: Vec<u64> = samples.iter().filter(|(pid, _)| pid == last).map(|(_, resident)| *resident).collect();
    let life = &life[life.len() / 5..];
    let median = |samples: &[u64]| {
        let mut samples = samples.to_vec();
        samples.sort_unstable();
        samples[samples.len() / 2]
    };
    let quarter = life.len() / 4;
    assert!(quarter >= 10, "the last daemon lived too short to be judged: {} samples", life.len());
    let (first, last) = (median(&life[..quarter]), median(&life[life.len() - quarter..]));
    println!("soak: the last daemon's memory was {first} KiB, then {last} KiB");
    assert!(last <= first + first / 4 + 8 * 1024, "memory grows: {first} KiB, then {last} KiB");
}
