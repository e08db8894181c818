//! Loss of power, at named moments and at random ones: what is committed is durable, no matter who wrote it,
//! and what was lost with the power is never an entrant's mark.
//!
//! `GRIDMARK_TEST_LONG=1` is for 200 random losses on each file system, and every moment on each;
//! `GRIDMARK_TEST_SEED` repeats the moments of an earlier run, as far as moments can be repeated.

mod disk;

use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};
use crate::kit::needs::loop_mounts;
use crate::kit::random::{Random, is_long};
use crate::kit::reports::Row;
use disk::{Disk, FileSystem};
use gridmark::store::fail_point::Point;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A sandbox on a disk of its own. The disk goes last.
struct Room {
    sandbox: Sandbox,
    disk: Disk,
    /// What was dropped, by name.
    dropped: BTreeMap<String, String>,
    /// What was in the inbox, and not taken, when the power went.
    lost: BTreeSet<String>,
}

impl Room {
    fn new(kind: FileSystem) -> Room {
        let disk = Disk::new(kind);
        let mut sandbox = Sandbox::within(&disk.path());
        sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
        sandbox.set("publish.commit_wait_ms_max", 5).set("publish.pending_bytes_max", 4096);
        sandbox.set("grade.batch_files_max", 3).set("intake.claim_files_max", 16);
        // A crash at every start is no fault of the files.
        sandbox.set("grade.tries_max", 1_000);
        sandbox.use_boot_ids();
        let once = sandbox.once();
        assert_eq!(once.status.code(), Some(0), "{}", String::from_utf8_lossy(&once.stderr));
        disk.sync();
        Room { sandbox, disk, dropped: BTreeMap::new(), lost: BTreeSet::new() }
    }

    /// Drops a file as people do: it is not made durable.
    fn drop_file(&mut self, name: String, text: String) {
        self.sandbox.rename_in(&name, &text);
        self.dropped.insert(name, text);
    }

    fn drop_some(&mut self, from: usize, files: usize) {
        for i in from..from + files {
            self.drop_file(format!("team {}/{i}", i % 3), some(i * 5 + i % 4));
        }
    }

    /// The names of files that are claimed and have no marks.
    fn claimed(&self) -> BTreeSet<String> {
        let ledger = self.sandbox.ledger();
        let claimed = "SELECT name FROM submissions WHERE state = 'claimed'";
        let mut query = ledger.prepare(claimed).unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(|row| row.unwrap()).collect()
    }

    /// The submissions whose marks are committed, with the hash of their bytes.
    fn committed(&self) -> BTreeMap<String, String> {
        let ledger = self.sandbox.ledger();
        let done = "SELECT name, lower(hex(blake3)) FROM submissions
             WHERE state IN ('graded', 'unreadable')";
        let mut query = ledger.prepare(done).unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.map(|row| row.unwrap()).collect()
    }

    /// Loses the power, and brings the room back to where everything that was dropped is graded. What
    /// was committed before is still there, and nothing that was taken gets marks of other bytes.
    #[track_caller]
    fn lose_power_and_recover(&mut self) {
        let (claimed, committed) = (self.claimed(), self.committed());
        self.disk.lose_power(&mut self.sandbox);
        // Of files that were not taken, nobody knows what they were: droppers see to those themselves.
        let taken = |name: &String| claimed.contains(name) || committed.contains_key(name);
        let lost: BTreeSet<String> =
            self.dropped.keys().filter(|name| !taken(name)).cloned().collect();
        self.lost.extend(lost);
        self.grade_all();
        for (name, blake3) in &committed {
            let rows = self.sandbox.submissions();
            let is_there = |row: &Row| row.get("submission") == name && row.get("blake3") == blake3;
            assert!(rows.iter().any(is_there), "{name} was committed and is lost: {rows:#?}");
        }
        self.check();
        // Staff hand in again what failed, and droppers what is gone.
        let failed = self.failed();
        for name in &failed {
            let outcome = self.sandbox.run("retry", &[name]);
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
        }
        let rows = self.sandbox.submissions();
        let is_graded = |name: &str, text: &str, rows: &[Row]| {
            rows.iter().any(|row| row.get("submission") == name && is_of(row, text))
        };
        for (name, text) in &self.dropped {
            if !is_graded(name, text, &rows) {
                let _ = fs::remove_file(self.sandbox.path("inbox").join(name));
                self.sandbox.rename_in(name, text);
            }
        }
        self.grade_all();
        self.check();
        let rows = self.sandbox.submissions();
        for (name, text) in &self.dropped {
            assert!(is_graded(name, text, &rows), "{name} is not graded: {rows:#?}");
        }
        self.sandbox.verifies();
    }

    fn failed(&self) -> Vec<String> {
        let rows = self.sandbox.submissions();
        let failed = rows.iter().filter(|row| row.get("status") == "failed");
        failed
            .map(|row| row.get("submission").to_owned())
            .filter(|name| self.sandbox.has(Path::new("quarantine").join(name)))
            .collect()
    }

    #[track_caller]
    fn grade_all(&mut self) {
        let once = self.sandbox.once();
        let log = String::from_utf8_lossy(&once.stderr).into_owned();
        assert!(matches!(once.status.code(), Some(0 | 1)), "{:?}\n{log}", once.status);
    }

    /// Every mark is that of what was dropped, and each of its bytes is in the archive; a failure says
    /// that the power was lost.
    #[track_caller]
    fn check(&self) {
        self.sandbox.rows_agree();
        let reasons = self.reasons();
        for row in self.sandbox.submissions() {
            let (name, attempt) = (row.get("submission"), row.get("attempt"));
            let text = &self.dropped[name];
            if row.get("status") == "failed" {
                let reason = &reasons[&(name.to_owned(), attempt.to_owned())];
                assert!(reason.contains("power"), "{row:?}: {reason}");
                continue;
            }
            if self.lost.contains(name) && !is_of(&row, text) {
                continue;
            }
            assert!(is_of(&row, text), "{row:?}");
            let archived = fs::read(self.sandbox.archive().join(row.get("archived_as")));
            assert!(archived.is_ok_and(|archived| archived == text.as_bytes()), "{row:?}");
        }
    }

    fn reasons(&self) -> BTreeMap<(String, String), String> {
        let ledger = self.sandbox.ledger();
        let failed = "SELECT name, attempt, reason FROM submissions WHERE state = 'failed'";
        let mut query = ledger.prepare(failed).unwrap();
        let rows = query.query_map([], |row| {
            Ok(((row.get(0)?, row.get::<_, i64>(1)?.to_string()), row.get(2)?))
        });
        rows.unwrap().map(|row| row.unwrap()).collect()
    }
}

/// Whether a row is about these bytes.
fn is_of(row: &Row, text: &str) -> bool {
    row.get("blake3") == blake3::hash(text.as_bytes()).to_hex().as_str()
}

/// A moment at which the power goes: the process comes by this point for the n-th time.
fn lose_power_at(kind: FileSystem, point: Point, n: usize) {
    println!("{kind:?}: {point:?}, {n}");
    let mut room = Room::new(kind);
    room.drop_some(0, 24);
    room.drop_file("large".into(), (0..400).map(|i| classic(i, "YNY")).collect());
    if let Some(ended) = room.sandbox.once_dying_at(point, n) {
        let log = String::from_utf8_lossy(&ended.stderr).into_owned();
        panic!("it never came by {point:?}\n{log}");
    }
    room.lose_power_and_recover();
}

/// Moments in the way of a submission, each with the pass at which the power goes.
const MOMENTS: [(Point, usize); 14] = [
    (Point::Claimed, 2),
    (Point::FileMoved, 5),
    (Point::FilesMoved, 1),
    (Point::Queued, 2),
    (Point::GradingBegun, 2),
    (Point::Graded, 1),
    (Point::ChunkMarked, 2),
    (Point::ChunkHandedOn, 3),
    (Point::RowsHalfAppended, 3),
    (Point::RowsAppended, 2),
    (Point::ReportsSynced, 2),
    (Point::ArchiveSynced, 2),
    (Point::Committed, 1),
    (Point::Committed, 3),
];

fn lose_power_at_all_moments(kind: FileSystem) {
    if !loop_mounts() {
        return;
    }
    let moments = MOMENTS.iter().enumerate();
    // The short form has another third of the moments on each file system.
    let short = |(i, _): &(usize, _)| is_long() || i % 3 == kind as usize;
    for (_, (point, n)) in moments.filter(short) {
        lose_power_at(kind, *point, *n);
    }
}

/// Promise P4.
#[test]
fn after_a_loss_of_power_at_named_moments_on_ext4_marks_and_files_are_there() {
    lose_power_at_all_moments(FileSystem::Ext4);
}

/// Promise P4.
#[test]
fn after_a_loss_of_power_at_named_moments_on_xfs_marks_and_files_are_there() {
    lose_power_at_all_moments(FileSystem::Xfs);
}

/// Promise P4.
#[test]
fn after_a_loss_of_power_at_named_moments_on_btrfs_marks_and_files_are_there() {
    lose_power_at_all_moments(FileSystem::Btrfs);
}

fn lose_power_at_random(kind: FileSystem) {
    let losses = if is_long() { 200 } else { 4 };
    let mut random = Random::new();
    let mut room = Room::new(kind);
    let mut dropped = 0;
    for loss in 0..losses {
        println!("{kind:?}: loss {loss}");
        if loss % 20 == 19 {
            room = Room::new(kind);
        }
        room.sandbox.start_unready();
        for _ in 0..random.below(4) {
            let files = 1 + random.below(30) as usize;
            room.drop_some(dropped, files);
            dropped += files;
            std::thread::sleep(Duration::from_millis(random.below(60)));
        }
        if random.below(3) == 0 {
            dropped += 1;
            let text: String = (0..300).map(|i| classic(i + dropped, "YN")).collect();
            room.drop_file(format!("large {dropped}"), text);
            std::thread::sleep(Duration::from_millis(random.below(60)));
        }
        room.lose_power_and_recover();
    }
}

/// Promise P7.
#[test]
fn after_losses_of_power_at_random_moments_no_committed_mark_is_lost_and_none_is_of_other_bytes() {
    if !loop_mounts() {
        return;
    }
    for kind in FileSystem::ALL {
        lose_power_at_random(kind);
    }
}

/// Promise P2. An earlier process has moved files and died; its renames are made durable before marks rest
/// on them.
#[test]
fn after_a_crash_between_rename_and_commit_a_loss_of_power_grades_nothing_twice() {
    if !loop_mounts() {
        return;
    }
    for kind in FileSystem::ALL {
        let mut room = Room::new(kind);
        room.drop_some(0, 20);
        assert!(room.sandbox.once_dying_at(Point::Queued, 1).is_none());
        // The next process grades what the first has moved.
        assert!(room.sandbox.once_dying_at(Point::Committed, 1).is_none());
        let committed = room.committed();
        assert!(!committed.is_empty());
        room.lose_power_and_recover();
        for row in room.sandbox.submissions() {
            let name = row.get("submission");
            assert!(!committed.contains_key(name) || row.get("attempt") == "1", "{row:?}");
        }
    }
}

/// Promise P1. A file that is put back is in the inbox, durably, before its claim is released.
#[test]
fn a_file_that_was_put_back_is_there_after_a_loss_of_power() {
    if !loop_mounts() {
        return;
    }
    for kind in FileSystem::ALL {
        let mut room = Room::new(kind);
        for name in ["a", "b", "c"] {
            // The claim says another size, so that the file has changed since it was taken.
            let text = classic(7, "YNY");
            room.sandbox.write(format!("archive/{name}"), &text);
            room.sandbox.claim(name, name, 1, 1);
            room.dropped.insert(name.into(), text);
        }
        room.disk.sync();
        room.sandbox.set("intake.open_settle_ms", 3_600_000);
        room.sandbox.start_unready();
        room.sandbox.wait_until("all are released", |sandbox| {
            let open = "SELECT count(*) FROM submissions";
            sandbox.ledger().query_row(open, [], |row| row.get::<_, i64>(0)).unwrap() == 0
        });
        room.disk.lose_power(&mut room.sandbox);
        for name in ["a", "b", "c"] {
            assert!(room.sandbox.has(Path::new("inbox").join(name)), "{kind:?}: {name} is lost");
        }
    }
}

/// A disk on which nothing moves, for longer than a stage may stand still, is no reason for a restart.
#[test]
fn while_the_disk_stands_still_the_service_is_not_ready_and_not_stuck() {
    if !loop_mounts() {
        return;
    }
    let disk = Disk::new(FileSystem::Ext4);
    let mut sandbox = Sandbox::new();
    let reports = disk.path().join("reports");
    sandbox.set("paths.reports", reports.display()).set("health.stuck_ms_max", 3_000);
    sandbox.start();
    let frozen = disk.freeze();
    sandbox.rename_in("p", some(1));
    let waited = |sandbox: &Sandbox| {
        let answer = sandbox.service().get("/readyz");
        let (_, rest) = answer.split_once("publish has waited for the disk for ")?;
        rest.split(' ').next()?.parse::<u64>().ok()
    };
    sandbox.wait_until("it waits for longer", |sandbox| waited(sandbox) > Some(5));
    let live = sandbox.service().get("/livez");
    assert!(live.starts_with("HTTP/1.1 200 "), "{live}");
    drop(frozen);
    sandbox.wait_until("it is graded", |sandbox| {
        let text = fs::read_to_string(reports.join("submissions.csv")).unwrap_or_default();
        text.lines().count() == 2 && sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 ")
    });
}
