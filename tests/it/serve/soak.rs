//! Mixed load for a while: everything is graded once, and memory, descriptors and latency stay flat.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the load lasts, in seconds, unless `GRIDMARK_SOAK_SECONDS` says so:
/// `GRIDMARK_SOAK_SECONDS=3600 cargo test --test it soak -- --nocapture` is the long form.
const SECONDS: u64 = 3;

/// Looks that are taken in all.
const LOOKS: u32 = 12;

/// Files that are dropped together, ten times a second.
const FILES: usize = 10;

/// What a look sees.
#[derive(Clone, Copy, Debug)]
struct Reading {
    resident_bytes: f64,
    open_files: f64,
    /// Submissions since the look before, and how many of 100 were durable within half a second.
    submissions: f64,
    soon_percent: f64,
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reading { submissions, soon_percent, open_files, .. } = self;
        let mib = self.resident_bytes / 1024.0 / 1024.0;
        write!(
            f,
            "{submissions} submissions, {soon_percent:.1} % of them durable within 0.5 s, \
             {mib:.1} MiB resident, {open_files} open files"
        )
    }
}

/// Promise P6.
#[test]
fn under_mixed_load_all_is_graded_once_and_memory_descriptors_and_latency_stay_flat() {
    let seconds =
        std::env::var("GRIDMARK_SOAK_SECONDS").map_or(SECONDS, |set| set.parse().unwrap());
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.scan_every_ms", 500).start();
    let large: String = (0..4_000).map(|i| classic(i, "YNY")).collect();
    let start = Instant::now();
    let every = Duration::from_secs(seconds) / LOOKS;
    let (mut dropped, mut ticks, mut readings) = (0, 0, Vec::new());
    let mut before = (0.0, 0.0);
    while readings.len() < LOOKS as usize {
        let due = Duration::from_millis(100) * ticks;
        std::thread::sleep(due.saturating_sub(start.elapsed()));
        dropped += drop_some(&sandbox, ticks as usize, &large);
        ticks += 1;
        if start.elapsed() >= every * (readings.len() as u32 + 1) {
            readings.push(look(&sandbox, &mut before));
            readings
                .iter()
                .last()
                .inspect(|look| println!("{:>5} s: {look}", start.elapsed().as_secs()));
        }
    }
    sandbox.wait_until("everything is graded", |sandbox| {
        sandbox.service().metrics().of("gridmark_latency_seconds_count") >= f64::from(dropped)
    });
    let rows = sandbox.wait_for(dropped as usize);
    let distinct = rows.iter().map(|row| row.columns(&["submission", "attempt"]));
    assert_eq!(distinct.collect::<BTreeSet<_>>().len(), rows.len());
    assert!(rows.iter().all(|row| row.get("status") != "failed"));
    sandbox.stop();
    assert_flat(&readings);
}

/// Drops some small files, now and then a large one, and names that are graded later or never.
fn drop_some(sandbox: &Sandbox, tick: usize, large: &str) -> u32 {
    let mut dropped = 0;
    for i in 0..FILES {
        let number = tick * FILES + i;
        // Names come again after a while.
        let name = format!("team-{:02}/{}/p{}.txt", number % 20, number % 3, number % 1_009);
        if !sandbox.has(Path::new("inbox").join(&name)) {
            sandbox.rename_in(name, some(number));
            dropped += 1;
        }
    }
    if tick.is_multiple_of(10) {
        sandbox.rename_in(format!("large/{tick}.txt"), large);
        dropped += 1;
    }
    sandbox.write(format!("inbox/team-00/{}.part", tick % 7), "not yet");
    dropped
}

fn look(sandbox: &Sandbox, before: &mut (f64, f64)) -> Reading {
    let metrics = sandbox.service().metrics();
    let all = metrics.of("gridmark_latency_seconds_count");
    let soon = metrics.of("gridmark_latency_seconds_bucket{le=\"0.5\"}");
    let submissions = all - before.0;
    let soon_percent = 100.0 * (soon - before.1) / submissions.max(1.0);
    *before = (all, soon);
    Reading {
        resident_bytes: metrics.of("process_resident_memory_bytes"),
        open_files: metrics.of("process_open_fds"),
        submissions,
        soon_percent,
    }
}

/// The last third is as the second one; in the first, memory is only being filled.
fn assert_flat(readings: &[Reading]) {
    const SLACK_BYTES: f64 = 32.0 * 1024.0 * 1024.0;
    const SLACK_FILES: f64 = 16.0;
    let [_, second, third] =
        [0, 1, 2].map(|part| &readings[part * readings.len() / 3..][..readings.len() / 3]);
    let most = |part: &[Reading], of: fn(&Reading) -> f64| part.iter().map(of).fold(0.0, f64::max);
    let resident = [second, third].map(|part| most(part, |look| look.resident_bytes));
    let open = [second, third].map(|part| most(part, |look| look.open_files));
    assert!(resident[1] <= resident[0] + SLACK_BYTES, "memory grows: {readings:#?}");
    assert!(open[1] <= open[0] + SLACK_FILES, "descriptors are lost: {readings:#?}");
}
