//! Disks that are full, read-only or gone while the service runs: nothing is lost, `/readyz` says
//! what is wrong, and all goes on by itself once the cause is gone.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku};
use crate::kit::reports::Row;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;

/// A sandbox in which this folder is a small file system of its own.
fn with_small(folder: &str) -> Option<Sandbox> {
    let sandbox = Sandbox::on_island()?;
    fs::create_dir_all(sandbox.path(folder)).unwrap();
    // More than the log of a ledger takes before it is worked in.
    sandbox.on_shore(&format!("mount -t tmpfs -o size=16m none {folder}"));
    let device = |path| fs::metadata(sandbox.path(path)).unwrap().dev();
    assert_ne!(device(folder), device(""), "it is no file system of its own");
    Some(sandbox)
}

/// Leaves no room in a folder. What is returned is to be removed to make some.
fn fill(sandbox: &Sandbox, folder: &str) -> std::path::PathBuf {
    let path = sandbox.path(folder).join(".ballast");
    let mut ballast = File::create(&path).unwrap();
    for size in [4096, 1] {
        while ballast.write_all(&vec![0; size]).is_ok() {}
    }
    path
}

fn is_ready(sandbox: &Sandbox) -> bool {
    sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n")
}

#[track_caller]
fn wait_for_words(sandbox: &mut Sandbox, words: &[&str]) {
    let what = format!("{words:?} in /readyz");
    sandbox.wait_until(&what, |sandbox| {
        let answer = sandbox.service().get("/readyz");
        answer.starts_with("HTTP/1.1 503 ") && words.iter().all(|word| answer.contains(word))
    });
}

/// Hands in so many files of `team`, with 20 cases each, from number `first`.
fn hand_in(sandbox: &Sandbox, first: usize, files: usize) {
    for i in first..first + files {
        sandbox.rename_in(format!("team/{i}"), classic(i, &"YN".repeat(10)));
    }
}

/// Every submission is graded, has all its rows once, and lies in the archive as it was.
#[track_caller]
fn check(sandbox: &mut Sandbox, files: usize) {
    let rows = sandbox.wait_for(files);
    for row in rows {
        assert_eq!(row.columns(&["cases", "correct", "status", "attempt"]), "20|10|graded|1");
        let archived = fs::read(sandbox.path("archive").join(row.get("archived_as"))).unwrap();
        assert_eq!(row.get("blake3"), blake3::hash(&archived).to_hex().as_str());
    }
    check_cases(&sandbox.rows("folders/team.csv"), files);
    sandbox.wait_until("it is ready again", is_ready);
}

#[track_caller]
fn check_cases(rows: &[Row], files: usize) {
    let mut cases: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in rows {
        cases.entry(row.get("submission")).or_default().push(row.number("case"));
    }
    assert_eq!(cases.len(), files);
    for (name, numbers) in cases {
        assert_eq!(numbers, (1..=20).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn full_reports_are_written_once_there_is_room() {
    let Some(mut sandbox) = with_small("reports") else { return };
    sandbox.start();
    hand_in(&sandbox, 0, 1);
    sandbox.wait_for(1);
    let ballast = fill(&sandbox, "reports");
    hand_in(&sandbox, 1, 60);
    wait_for_words(&mut sandbox, &["cannot write the report ", "No space left"]);
    // A copy of a report made now has no row twice, and at most the last one in part.
    check_cases(&sandbox.rows("folders/team.csv")[..20], 1);
    fs::remove_file(ballast).unwrap();
    check(&mut sandbox, 61);
}

/// Promise P1.
#[test]
fn a_full_archive_leaves_files_in_the_inbox_until_there_is_room() {
    let Some(mut sandbox) = with_small("archive") else { return };
    sandbox.start();
    hand_in(&sandbox, 0, 1);
    sandbox.wait_for(1);
    let ballast = fill(&sandbox, "archive");
    hand_in(&sandbox, 1, 20);
    wait_for_words(&mut sandbox, &["cannot move files into the archive", "No space left"]);
    assert_eq!(sandbox.submissions().len(), 1);
    fs::remove_file(ballast).unwrap();
    check(&mut sandbox, 21);
}

#[test]
fn a_full_ledger_leaves_files_in_the_inbox_until_there_is_room() {
    let Some(mut sandbox) = with_small("state") else { return };
    sandbox.start();
    hand_in(&sandbox, 0, 1);
    sandbox.wait_for(1);
    let ballast = fill(&sandbox, "state");
    hand_in(&sandbox, 1, 300);
    wait_for_words(&mut sandbox, &["ledger", "full"]);
    // Trouble with the disk is not logged once more for each file.
    let log = sandbox.service().log();
    assert!(log.lines().filter(|line| line.contains("cannot take")).count() < 5, "{log}");
    fs::remove_file(ballast).unwrap();
    check(&mut sandbox, 301);
}

fn leave_little_room(folder: &str) {
    let Some(mut sandbox) = with_small(folder) else { return };
    sandbox.set("publish.disk_free_bytes_min", 1 << 20).start();
    hand_in(&sandbox, 0, 1);
    sandbox.wait_for(1);
    let ballast = sandbox.path(folder).join(".ballast");
    fs::write(&ballast, vec![0; 15 << 20]).unwrap();
    wait_for_words(&mut sandbox, &[folder, "fewer than publish.disk_free_bytes_min = 1048576"]);
    hand_in(&sandbox, 1, 10);
    sandbox.wait_for_scans(2);
    assert!(sandbox.has("inbox/team/10"));
    let metrics = sandbox.service().metrics();
    assert_eq!(metrics.of("gridmark_ready"), 0.0);
    assert_eq!(metrics.of("gridmark_inbox_files"), 10.0);
    assert_eq!(metrics.of("gridmark_disk_free_min_bytes"), f64::from(1 << 20));
    assert!(metrics.of("gridmark_disk_free_bytes") < f64::from(1 << 20));
    fs::remove_file(ballast).unwrap();
    check(&mut sandbox, 11);
    sandbox.wait_until("the metrics say so too", |sandbox| {
        let metrics = sandbox.service().metrics();
        metrics.of("gridmark_ready") == 1.0 && metrics.of("gridmark_inbox_files") == 0.0
    });
}

#[test]
fn with_little_room_for_reports_taking_pauses() {
    leave_little_room("reports");
}

#[test]
fn with_little_room_in_the_archive_taking_pauses() {
    leave_little_room("archive");
}

#[test]
fn with_little_room_for_the_ledger_taking_pauses() {
    leave_little_room("state");
}

#[test]
fn a_read_only_archive_leaves_files_in_the_inbox_until_it_can_be_written() {
    let Some(mut sandbox) = with_small("archive") else { return };
    sandbox.start();
    hand_in(&sandbox, 0, 1);
    sandbox.wait_for(1);
    sandbox.on_shore("mount -o remount,ro archive");
    wait_for_words(&mut sandbox, &["archive", "read-only"]);
    hand_in(&sandbox, 1, 10);
    sandbox.wait_for_scans(2);
    assert!(sandbox.has("inbox/team/10"));
    sandbox.on_shore("mount -o remount,rw archive");
    check(&mut sandbox, 11);
}

/// The system makes nothing read-only that is open for writing; so another, read-only view is put
/// over it, in which everything is opened from now on.
#[test]
fn read_only_reports_are_written_once_they_can_be() {
    let Some(mut sandbox) = with_small("reports") else { return };
    sandbox.start();
    sandbox.rename_in("loose", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.on_shore("mount --bind reports reports && mount -o remount,bind,ro reports");
    sandbox.rename_in("team/1", hexudoku(2));
    wait_for_words(&mut sandbox, &["reports", "read-only"]);
    sandbox.on_shore("umount reports");
    sandbox.wait_for(2);
    sandbox.wait_until("it is ready again", is_ready);
    assert_eq!(sandbox.rows("folders/team.csv").len(), 1);
}

#[test]
fn a_start_on_read_only_state_or_reports_is_refused_and_takes_nothing() {
    for folder in ["state", "reports"] {
        let Some(mut sandbox) = with_small(folder) else { return };
        sandbox.start();
        hand_in(&sandbox, 0, 1);
        sandbox.wait_for(1);
        sandbox.stop();
        sandbox.on_shore(&format!("mount -o remount,ro {folder}"));
        hand_in(&sandbox, 1, 1);
        let output = sandbox.once();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert!(log.contains(folder) && log.to_lowercase().contains("read"), "{log}");
        assert!(sandbox.has("inbox/team/1"), "{log}");
        sandbox.on_shore(&format!("mount -o remount,rw {folder}"));
        sandbox.start();
        check(&mut sandbox, 2);
    }
}

/// A deleted folder is created again, and the next start knows what was committed.
fn delete_while_it_runs(folder: &str) {
    let mut sandbox = Sandbox::started();
    hand_in(&sandbox, 0, 2);
    sandbox.wait_for(2);
    fs::remove_dir_all(sandbox.path(folder)).unwrap();
    hand_in(&sandbox, 2, 2);
    sandbox.wait_until("all are graded", |sandbox| sandbox.submissions().len() == 4);
    sandbox.wait_until("it is there again", |sandbox| sandbox.has(folder));
    sandbox.wait_until("it is ready", is_ready);
    sandbox.wait_until_rebuilt();
    check_cases(&sandbox.rows("folders/team.csv"), 4);
    sandbox.stop();
    sandbox.start();
    hand_in(&sandbox, 4, 1);
    let rows = sandbox.wait_for(5);
    assert!(rows.iter().all(|row| row.columns(&["status", "attempt"]) == "graded|1"));
    check_cases(&sandbox.rows("folders/team.csv"), 5);
}

#[test]
fn reports_that_are_deleted_while_it_runs_are_rebuilt() {
    delete_while_it_runs("reports");
}

#[test]
fn an_archive_that_is_deleted_while_it_runs_is_created_again() {
    delete_while_it_runs("archive");
}

/// Promise P1.
#[test]
fn a_ledger_that_is_deleted_while_it_runs_is_rewritten_whole() {
    delete_while_it_runs("state");
}

/// Promise P1.
#[test]
fn a_ledger_that_is_cut_or_removed_without_its_log_is_rewritten_whole() {
    for length in [Some(0), Some(4_096), Some(5_000), None] {
        let mut sandbox = Sandbox::started();
        hand_in(&sandbox, 0, 19);
        sandbox.wait_for(19);
        // What is in the log alone cannot be cut off.
        let checkpoint = "SELECT count(*) FROM submissions; PRAGMA wal_checkpoint";
        sandbox.ledger().execute_batch(checkpoint).unwrap();
        hand_in(&sandbox, 19, 1);
        sandbox.wait_for(20);
        let ledger = sandbox.path("state/ledger.db");
        assert!(ledger.metadata().unwrap().len() > 5_000);
        match length {
            Some(length) => {
                File::options().write(true).open(&ledger).unwrap().set_len(length).unwrap();
            }
            None => fs::remove_file(&ledger).unwrap(),
        }
        sandbox.wait_until("it is logged", |sandbox| {
            sandbox.service().log().contains("what=\"ledger\"")
        });
        hand_in(&sandbox, 20, 20);
        sandbox.wait_for(40);
        sandbox.stop();
        fs::remove_dir_all(sandbox.path("reports")).unwrap();
        sandbox.start();
        check(&mut sandbox, 40);
    }
}

#[test]
fn a_cut_ledger_that_cannot_be_rewritten_is_reported_now_and_at_the_next_start() {
    let mut sandbox = Sandbox::started();
    hand_in(&sandbox, 0, 200);
    sandbox.wait_for(200);
    sandbox.stop();
    // What this start has not read is in no memory.
    sandbox.start();
    let ledger = sandbox.path("state/ledger.db");
    let pages = fs::read(&ledger).unwrap();
    File::options().write(true).open(&ledger).unwrap().set_len(8_192).unwrap();
    sandbox.wait_until("it is logged", |sandbox| {
        let ready = sandbox.service().get("/readyz");
        ready.starts_with("HTTP/1.1 503") && ready.contains("was cut") && ready.contains("backup")
    });
    sandbox.write("inbox/team/late", hexudoku(1));
    sandbox.terminate();
    for command in ["verify", "why"] {
        let args: &[&str] = if command == "why" { &["team/late"] } else { &[] };
        let outcome = sandbox.run(command, args);
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.stderr.contains("put a whole copy of it in its place"), "{outcome:?}");
    }
    let output = sandbox.once();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("put a whole copy of it in its place"), "{errors}");
    fs::write(&ledger, pages).unwrap();
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.path(format!("state/ledger.db{end}")));
    }
    sandbox.start();
    sandbox.wait_for(201);
}

#[test]
fn a_deleted_inbox_or_quarantine_is_created_again() {
    for folder in ["inbox", "quarantine"] {
        delete_while_it_runs(folder);
    }
}

#[test]
fn a_state_folder_that_is_moved_away_while_it_runs_is_rewritten() {
    let mut sandbox = Sandbox::started();
    hand_in(&sandbox, 0, 20);
    sandbox.wait_for(20);
    for i in 1..=3 {
        fs::rename(sandbox.path("state"), sandbox.path(format!("old {i}"))).unwrap();
        hand_in(&sandbox, 20 * i, 20);
        sandbox.wait_for(20 * i + 20);
        sandbox.wait_until("it is there again", |sandbox| sandbox.has("state/lock"));
    }
    sandbox.stop();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    sandbox.start();
    check(&mut sandbox, 80);
}

#[test]
fn a_deleted_state_keeps_a_second_instance_out() {
    let mut sandbox = Sandbox::started();
    fs::remove_dir_all(sandbox.path("state")).unwrap();
    sandbox.wait_until("it is made again", |sandbox| sandbox.has("state/lock"));
    let output = sandbox.start_second();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("another gridmark works here already"), "{errors}");
}
