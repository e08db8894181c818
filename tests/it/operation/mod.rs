//! What operators set up around the service and what is shipped for it: systemd, packages, containers,
//! manuals, monitoring.

mod backup;
mod container;
mod dashboard;
mod doctor;
mod guest;
mod handbook;
mod handing_in;
mod health;
mod man;
mod package;
mod prometheus;
mod promql;
mod queries;
mod reload;
mod runbook;
mod systemd;
mod unit;
mod upgrade;
mod users;
mod verify;

use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};

/// A sandbox in which a team has handed in two large files and many small ones, whose rows are
/// interleaved; another team has some files, and some are in no folder.
fn interleaved() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox.set("grade.batch_files_max", 3).set("intake.claim_files_max", 8);
    sandbox.set("publish.commit_wait_ms_max", 0).set("publish.pending_bytes_max", 4096);
    sandbox.set("intake.settle_ms", 0).set("intake.scan_every_ms", 20);
    // The large ones take turns at each chunk.
    sandbox.set("grade.streams_max", 1).set("grade.turn_ms_max", 0);
    for n in 0..2 {
        let large: String = (0..150).map(|i| classic(i + n, "YNYN")).collect();
        sandbox.rename_in(format!("team/=large {n}"), large);
    }
    for i in 0..40 {
        let folder = ["team/", "other/", ""][i % 3];
        sandbox.rename_in(format!("{folder}small {i}"), some(i));
    }
    sandbox
}

/// Grades the inbox with `--once`, which has to succeed.
#[track_caller]
fn grade(sandbox: &mut Sandbox) {
    let ended = sandbox.once();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
}
