//! Crashes between any two steps from a claim to its commit, and during the recovery from an earlier
//! crash: the reports are those of an undisturbed run.
//!
//! With `GRIDMARK_TEST_LONG=1` the process crashes at each of the first forty times that it reaches a
//! point.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku, some};
use crate::kit::crashes::{Copies, files};
use crate::kit::needs::second_file_system;
use crate::kit::random::is_long;
use gridmark::store::fail_point::Point;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

/// What a process does when it crashes, and what is done afterwards.
struct Scenario {
    /// Prepares a sandbox for the process that crashes; none where that is impossible.
    prepare: fn() -> Option<Prepared>,
    /// What happens between the death and the next start.
    meanwhile: fn(&Sandbox),
    /// The points at which it dies.
    points: &'static [Point],
}

/// A sandbox, and folders elsewhere that it uses.
struct Prepared {
    sandbox: Sandbox,
    _elsewhere: Option<TempDir>,
}

/// Taken and graded: small files and one that is streamed, in batches of a few.
const GRADING: Scenario = Scenario {
    prepare: || {
        let sandbox = sandbox();
        drop_all(&sandbox, 0);
        Some(sandbox.into())
    },
    meanwhile: |sandbox| drop_all(sandbox, 1),
    points: &[
        Point::LedgerOpened,
        Point::Claimed,
        Point::FileMoved,
        Point::FilesMoved,
        Point::Queued,
        Point::GradingBegun,
        Point::Graded,
        Point::HandedOn,
        Point::ChunkMarked,
        Point::ChunkHandedOn,
    ],
};

/// The same, published.
const PUBLISHING: Scenario = Scenario {
    prepare: GRADING.prepare,
    meanwhile: GRADING.meanwhile,
    points: &[
        Point::ReportsIntroduced,
        Point::RowsHalfAppended,
        Point::RowsAppended,
        Point::ReportsSynced,
        Point::ArchiveSynced,
        Point::Committed,
    ],
};

/// The same with the archive on another file system, where files are copied.
const FAR: Scenario = Scenario {
    prepare: || {
        let mut sandbox = sandbox();
        let elsewhere = second_file_system(&sandbox.path(""))?;
        sandbox.set("paths.archive", elsewhere.path().display());
        drop_all(&sandbox, 0);
        Some(Prepared { sandbox, _elsewhere: Some(elsewhere) })
    },
    meanwhile: |sandbox| drop_all(sandbox, 1),
    points: &[Point::FileHidden, Point::FileHalfCopied, Point::FileCopied, Point::CopyNamed],
};

/// Files that may not be moved, so that their claims are released.
const RELEASING: Scenario = Scenario {
    prepare: || {
        let mut sandbox = sandbox();
        drop_all(&sandbox, 0);
        if !sandbox.run_as_nobody() {
            return None;
        }
        set_mode(&sandbox.path("inbox/team 1"), 0o555);
        // Another owner is another change of each file.
        for dropped in fs::read_dir(sandbox.path("dropped/0")).unwrap() {
            fs::write(dropped.unwrap().path(), "").unwrap();
        }
        Some(sandbox.into())
    },
    meanwhile: |sandbox| set_mode(&sandbox.path("inbox/team 1"), 0o755),
    points: &[Point::ReleasesDue],
};

/// What was taken has changed since, and is put back into the inbox.
const PUTTING_BACK: Scenario = Scenario {
    prepare: || {
        let mut sandbox = sandbox();
        sandbox.set("intake.open_settle_ms", 100);
        well(&sandbox.once());
        for n in 1..=3 {
            claim_in_archive(&sandbox, &format!("team/{n}"), 5);
        }
        Some(sandbox.into())
    },
    meanwhile: |_| {},
    points: &[Point::PutBack],
};

/// What was taken cannot be read.
const FAILING: Scenario = Scenario {
    prepare: || {
        let mut sandbox = sandbox();
        sandbox.set("grade.tries_max", 2);
        well(&sandbox.once());
        for n in 1..=3 {
            claim_in_archive(&sandbox, &format!("team/{n}"), 5);
            let path = sandbox.path(format!("archive/team/{n}"));
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink("/nowhere", path).unwrap();
        }
        drop_all(&sandbox, 0);
        Some(sandbox.into())
    },
    meanwhile: |sandbox| drop_all(sandbox, 1),
    points: &[Point::QuarantineDue, Point::Quarantined],
};

/// Reports were edited and removed.
const REBUILDING: Scenario = Scenario {
    prepare: || {
        let mut sandbox = sandbox();
        drop_all(&sandbox, 0);
        well(&sandbox.once());
        for report in ["folders/team 1.csv", "submissions.csv"] {
            fs::write(sandbox.path("reports").join(report), "theirs\n").unwrap();
        }
        fs::remove_file(sandbox.path("reports/folders/large.csv")).unwrap();
        Some(sandbox.into())
    },
    meanwhile: |sandbox| drop_all(sandbox, 1),
    points: &[
        Point::ReportDamaged,
        Point::ReportSetAside,
        Point::ReportHalfWritten,
        Point::ReportWritten,
        Point::ReportNamed,
    ],
};

/// An earlier run has died already.
const RECOVERING: Scenario = Scenario {
    prepare: || {
        let mut sandbox = sandbox();
        drop_all(&sandbox, 0);
        assert!(sandbox.once_dying_at(Point::ArchiveSynced, 2).is_none());
        Some(sandbox.into())
    },
    meanwhile: |sandbox| drop_all(sandbox, 1),
    points: &[Point::ReportCut, Point::ClaimFound, Point::Recovered],
};

impl From<Sandbox> for Prepared {
    fn from(sandbox: Sandbox) -> Prepared {
        Prepared { sandbox, _elsewhere: None }
    }
}

/// Batches of a few files, commits of a few rows, chunks of a few cases.
fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox.set("grade.batch_files_max", 3).set("intake.claim_files_max", 4);
    sandbox.set("publish.commit_wait_ms_max", 5).set("publish.pending_bytes_max", 4096);
    sandbox.set("intake.settle_ms", 0).set("intake.scan_every_ms", 20);
    sandbox
}

/// The files of this round; those whose names are still in the inbox wait for another time.
fn drop_all(sandbox: &Sandbox, round: usize) {
    let large: String = (0..60).map(|i| classic(i + round, "YNY")).collect();
    let small = (0..8).map(|i| {
        let name = if i % 4 == 0 { format!("loose {i}") } else { format!("team {}/{i}", i % 3) };
        (name, some(i + 100 * round))
    });
    for (name, text) in small.chain([("large/p".to_owned(), large)]) {
        // In later rounds some names come again.
        let is_of_round = round == 0 || name.bytes().map(usize::from).sum::<usize>() % 2 == 0;
        let path = Path::new("inbox").join(&name);
        if is_of_round && !sandbox.has(path) && !sandbox.has(marker(round, &name)) {
            sandbox.rename_in(&name, text);
            // When it was dropped.
            let found = fs::metadata(sandbox.path("inbox").join(&name)).unwrap();
            let dropped_ms = found.ctime() * 1_000 + found.ctime_nsec() / 1_000_000;
            sandbox.write(marker(round, &name), dropped_ms.to_string());
        }
    }
}

/// Every file was handed in when it was dropped in one of the rounds, as far as that was noted.
#[track_caller]
fn assert_handed_in(sandbox: &Sandbox) {
    for row in sandbox.submissions() {
        let dropped: Vec<i64> = (0..2)
            .filter_map(|round| {
                fs::read_to_string(sandbox.path(marker(round, row.get("submission")))).ok()
            })
            .filter_map(|dropped_ms| dropped_ms.parse().ok())
            .collect();
        let handed_in = row.get("handed_in_at").parse::<jiff::Timestamp>().unwrap();
        let is_one = dropped.contains(&handed_in.as_millisecond());
        assert!(dropped.is_empty() || is_one, "{row:?}: {dropped:?}");
    }
}

/// The mark that a name was dropped in a round.
fn marker(round: usize, name: &str) -> String {
    format!("dropped/{round}/{}", name.replace('/', " "))
}

/// A claim of some bytes whose file lies in the archive and has others.
fn claim_in_archive(sandbox: &Sandbox, name: &str, bytes: usize) {
    let path = Path::new("archive").join(name);
    sandbox.write(&path, hexudoku(name.len()));
    let inode = fs::metadata(sandbox.path(path)).unwrap().ino();
    sandbox.claim(name, name, inode, bytes);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[track_caller]
fn well(ended: &Output) {
    let stderr = String::from_utf8_lossy(&ended.stderr);
    // What is in quarantine makes for a code of its own.
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}\n{stderr}", ended.status);
    assert!(!stderr.contains("panicked"), "{stderr}");
}

/// Goes on after a death, or without one, until all is dropped and graded.
fn finish(scenario: &Scenario, sandbox: &mut Sandbox) {
    (scenario.meanwhile)(sandbox);
    well(&sandbox.once());
    // What could not be dropped before, since something of its name was still in the inbox.
    (scenario.meanwhile)(sandbox);
    if files(&sandbox.path("inbox")) > 0 {
        well(&sandbox.once());
    }
    assert_handed_in(sandbox);
}

/// Crashes at every point of a scenario, a few times each.
fn crash_everywhere(scenario: &Scenario) {
    let Some(mut undisturbed) = (scenario.prepare)() else { return };
    well(&undisturbed.sandbox.once());
    finish(scenario, &mut undisturbed.sandbox);
    undisturbed.sandbox.agrees();
    let wanted = undisturbed.sandbox.report_lines();
    let times: &[usize] = if is_long() { &LONG } else { &[1, 4] };
    for point in scenario.points {
        for n in times {
            let Some(mut disturbed) = (scenario.prepare)() else { return };
            let sandbox = &mut disturbed.sandbox;
            let copies = Copies::of(sandbox);
            let ended = sandbox.once_dying_at(*point, *n);
            if let Some(ended) = &ended {
                let stderr = String::from_utf8_lossy(&ended.stderr);
                assert_ne!(*n, 1, "it does not reach {point:?}\n{stderr}");
            }
            finish(scenario, sandbox);
            assert_eq!(sandbox.report_lines(), wanted, "{point:?}, {n}");
            println!("{point:?}, {n}: {} copies", copies.end());
            sandbox.agrees();
            if ended.is_some() {
                break;
            }
        }
    }
}

const LONG: [usize; 40] = {
    let mut numbers = [0; 40];
    let mut at = 0;
    while at < numbers.len() {
        numbers[at] = at + 1;
        at += 1;
    }
    numbers
};

/// Promise P4.
#[test]
fn a_crash_at_any_step_of_taking_and_grading_changes_no_report() {
    crash_everywhere(&GRADING);
}

/// Promise P4.
#[test]
fn a_crash_at_any_step_of_publishing_changes_no_report() {
    crash_everywhere(&PUBLISHING);
}

#[test]
fn a_crash_while_files_are_copied_to_another_file_system_changes_no_report() {
    crash_everywhere(&FAR);
}

#[test]
fn a_crash_before_claims_are_released_or_files_quarantined_changes_no_report() {
    crash_everywhere(&RELEASING);
    crash_everywhere(&PUTTING_BACK);
    crash_everywhere(&FAILING);
}

#[test]
fn a_crash_while_reports_are_rebuilt_changes_no_report() {
    crash_everywhere(&REBUILDING);
}

/// Promise P4.
#[test]
fn a_crash_during_recovery_changes_no_report() {
    crash_everywhere(&RECOVERING);
}

#[test]
fn every_fail_point_is_tested() {
    let scenarios =
        [GRADING, PUBLISHING, FAR, RELEASING, PUTTING_BACK, FAILING, REBUILDING, RECOVERING];
    let died_at: Vec<Point> =
        scenarios.iter().flat_map(|scenario| scenario.points).copied().collect();
    let names = |points: &[Point]| points.iter().map(|point| point.name()).collect::<BTreeSet<_>>();
    assert_eq!(names(&died_at), names(&Point::ALL));
    assert_eq!(died_at.len(), Point::ALL.len());
    assert_eq!(Point::RowsHalfAppended.name(), "rows-half-appended");
}
