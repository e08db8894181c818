//! What a crash leaves, step by step: each state is made by hand, and the next start is to put it
//! right.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use crate::kit::needs::second_file_system;
use crate::kit::reports::Row;
use gridmark::model::rows::CASE_HEADER;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

/// A sandbox that has run once and holds a claim of `p`, with four filled cells in it, but neither
/// its file nor its rows.
struct Left {
    sandbox: Sandbox,
}

impl Left {
    fn new() -> Left {
        Left::with(Sandbox::new())
    }

    fn with(mut sandbox: Sandbox) -> Left {
        sandbox.start();
        sandbox.stop();
        Left { sandbox }
    }

    /// The claim, of a file that had this inode in the inbox.
    fn claim(&self, archived_as: &str, inode: u64) {
        self.sandbox.claim("p", archived_as, inode, hexudoku(4).len());
    }

    fn write(&self, path: &str, filled: usize) -> u64 {
        self.sandbox.write(path, hexudoku(filled));
        fs::metadata(self.sandbox.path(path)).unwrap().ino()
    }

    /// What the next start makes of it.
    fn rows(&mut self, submissions: usize) -> Vec<String> {
        self.sandbox.start();
        let mut rows = self.sandbox.wait_for(submissions);
        self.sandbox.wait_for_scans(1);
        assert_eq!(self.sandbox.submissions().len(), submissions);
        assert_eq!(self.sandbox.rows("loose.csv").len(), submissions);
        self.sandbox.stop();
        rows.sort_by_key(|row| row.get("attempt").to_owned());
        rows.iter().map(outcome).collect()
    }

    fn is_inbox_empty(&self) -> bool {
        self.sandbox.names("inbox").is_empty()
    }
}

fn outcome(row: &Row) -> String {
    row.columns(&["submission", "attempt", "filled", "archived_as"])
}

#[test]
fn a_claim_whose_file_was_not_moved_yet_is_made_again() {
    let mut left = Left::new();
    let inode = left.write("inbox/p", 4);
    left.claim("p", inode);
    assert_eq!(left.rows(1), ["p|1|4|p"]);
    assert!(left.is_inbox_empty());
}

#[test]
fn a_claim_whose_file_is_in_the_archive_is_graded() {
    let mut left = Left::new();
    let inode = left.write("archive/p", 4);
    left.claim("p", inode);
    assert_eq!(left.rows(1), ["p|1|4|p"]);
    let rows = left.sandbox.submissions();
    assert_eq!(rows[0].get("received_at"), "1970-01-01T00:00:01.234Z");
}

/// Promise P2.
#[test]
fn rows_without_their_marks_in_the_ledger_are_written_once() {
    let mut left = Left::new();
    let inode = left.write("archive/p", 4);
    left.claim("p", inode);
    let known =
        "INSERT INTO reports (path, length) VALUES ('loose.csv', 0), ('submissions.csv', 0)";
    left.sandbox.ledger().execute(known, []).unwrap();
    let rows = format!("{CASE_HEADER}p,1,1,hexudoku,counted,4,4");
    left.sandbox.write("reports/loose.csv", rows);
    left.sandbox.write("reports/submissions.csv", "submi");
    assert_eq!(left.rows(1), ["p|1|4|p"]);
}

#[test]
fn a_claim_whose_file_is_nowhere_is_released() {
    let mut left = Left::new();
    left.claim("p", 1);
    left.sandbox.start();
    left.sandbox.wait_for_scans(1);
    assert_eq!(left.sandbox.submissions(), []);
    left.sandbox.stop();
    left.write("inbox/p", 5);
    assert_eq!(left.rows(1), ["p|1|5|p"]);
}

/// Promise P1.
#[test]
fn a_file_in_the_archive_that_is_not_the_claimed_one_is_left_alone() {
    let mut left = Left::new();
    let inode = left.write("inbox/p", 4);
    left.write("archive/p", 9);
    left.claim("p", inode);
    assert_eq!(left.rows(1), ["p|1|4|p~1~1"]);
    assert_eq!(left.sandbox.text("archive/p"), hexudoku(9));
}

#[test]
fn a_file_that_has_both_names_is_graded_once() {
    let mut left = Left::new();
    let inode = left.write("inbox/p", 4);
    fs::hard_link(left.sandbox.path("inbox/p"), left.sandbox.path("archive/p")).unwrap();
    left.claim("p", inode);
    assert_eq!(left.rows(1), ["p|1|4|p"]);
    assert!(left.is_inbox_empty());
}

#[test]
fn a_newer_file_of_the_same_name_is_the_next_attempt() {
    let mut left = Left::new();
    let inode = left.write("archive/p", 4);
    left.write("inbox/p", 5);
    left.claim("p", inode);
    assert_eq!(left.rows(2), ["p|1|4|p", "p|2|5|p~2"]);
}

#[test]
fn a_failed_submission_is_moved_into_quarantine_later() {
    let mut left = Left::new();
    let failed = "INSERT INTO rules VALUES (1, 1, 4096, 16, 1, NULL);
        INSERT INTO submissions (name, attempt, archived_as, report, handed_in_at, received_at,
            graded_at, bytes, state, step, rules, inode, modified_s, modified_ns)
        VALUES ('p', 2, 'p~2', 'loose.csv', 1, 1, 1, 1, 'failed', 1, 1, 1, 0, 0)";
    left.sandbox.ledger().execute_batch(failed).unwrap();
    left.write("archive/p~2", 4);
    left.sandbox.start();
    assert!(left.sandbox.has("quarantine/p~2") && !left.sandbox.has("archive/p~2"));
    assert_eq!(left.sandbox.service().metrics().of("gridmark_quarantined_files"), 1.0);

    // It is removed, and another file of the same name is handed in: that one stays.
    fs::remove_file(left.sandbox.path("quarantine/p~2")).unwrap();
    left.sandbox.rename_in("p~2", hexudoku(5));
    left.sandbox.wait_for(1);
    left.sandbox.stop();
    left.sandbox.start();
    assert!(left.sandbox.has("archive/p~2") && !left.sandbox.has("quarantine/p~2"));
}

/// The same with the archive on another file system, where files are copied.
fn far() -> Option<(Left, TempDir)> {
    let mut sandbox = Sandbox::new();
    let far = second_file_system(&sandbox.path(""))?;
    sandbox.set("paths.archive", far.path().display());
    Some((Left::with(sandbox), far))
}

const HIDDEN: &str = "inbox/.gridmark-1";

#[test]
fn a_file_that_was_hidden_to_be_copied_is_copied_and_graded() {
    let Some((mut left, far)) = far() else { return };
    let inode = left.write(HIDDEN, 4);
    left.claim("team/p", inode);
    fs::create_dir(far.path().join("team")).unwrap();
    fs::write(far.path().join("team/.gridmark-part-1"), "half a co").unwrap();
    assert_eq!(left.rows(1), ["p|1|4|team/p"]);
    assert!(left.is_inbox_empty());
    assert_eq!(fs::read_dir(far.path().join("team")).unwrap().count(), 1);
}

/// Promise P2.
#[test]
fn a_file_that_was_copied_and_not_removed_is_graded_once() {
    let Some((mut left, far)) = far() else { return };
    let inode = left.write(HIDDEN, 4);
    left.claim("p", inode);
    let mut copy = File::create(far.path().join("p")).unwrap();
    copy.write_all(hexudoku(4).as_bytes()).unwrap();
    copy.set_modified(UNIX_EPOCH).unwrap();
    assert_eq!(left.rows(1), ["p|1|4|p"]);
    assert!(left.is_inbox_empty());
}

#[test]
fn a_copied_file_is_graded_even_if_a_newer_one_has_its_inode() {
    let Some((mut left, far)) = far() else { return };
    let inode = left.write("inbox/p", 5);
    let copy = far.path().join("p");
    fs::write(&copy, hexudoku(4)).unwrap();
    left.claim("p", inode);
    // It was claimed as the copy is, whose time is that of the original in whole steps of two seconds.
    let time = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::options().write(true).open(copy).unwrap().set_modified(time).unwrap();
    let claimed = "UPDATE submissions SET modified_s = 1000000001, modified_ns = 5";
    left.sandbox.ledger().execute(claimed, []).unwrap();
    assert_eq!(left.rows(2), ["p|1|4|p", "p|2|5|p~2"]);
}
