//! Poison pills: submissions over which gridmark panics or the whole process crashes. Each is tried
//! three times and then moved to quarantine, and all others are graded.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku, some};
use gridmark::store::fail_point::Point;
use std::os::unix::process::ExitStatusExt;

const OTHERS: usize = 40;

/// A sandbox in which the process aborts when it grades this submission.
fn with_a_deadly(name: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("TEST_GRIDMARK_ABORT_ON", name);
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    for i in 0..OTHERS {
        sandbox.write(format!("inbox/team {}/p{i}", i % 3), some(i));
    }
    sandbox
}

/// Starts the service again after each crash until all submissions are graded; how often it crashed.
fn crashes(sandbox: &mut Sandbox, submissions: usize) -> usize {
    for crashes in 0..10 {
        sandbox.spawn();
        let mut ended = None;
        while ended.is_none() && sandbox.submissions().len() < submissions {
            ended = sandbox.ended_by_itself();
        }
        let Some(ended) = ended else {
            return crashes;
        };
        assert_eq!(ended.status.signal(), Some(6), "{}", ended.log);
    }
    panic!("it crashes at every start");
}

fn assert_all_but_one_graded(sandbox: &Sandbox, bad: &str, reason: &str) {
    let rows = sandbox.submissions();
    assert_eq!(rows.len(), OTHERS + 1);
    for row in &rows {
        let is_bad = row.get("submission") == bad;
        assert_eq!(row.get("status") == "failed", is_bad, "{row:?}");
        assert_eq!(row.get("attempt"), "1");
        let name = row.get("archived_as");
        assert!(sandbox.has(format!("{}/{name}", if is_bad { "quarantine" } else { "archive" })));
    }
    let query = "SELECT reason, tries FROM submissions WHERE state = 'failed'";
    let outcome = sandbox.ledger().query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(outcome, Ok((reason.to_owned(), 3)));
}

/// Promise P6.
#[test]
fn a_poison_pill_is_in_quarantine_after_three_crashes_and_the_rest_is_graded() {
    let mut sandbox = with_a_deadly("team 1/bad");
    sandbox.write("inbox/team 1/bad", hexudoku(3));
    assert_eq!(crashes(&mut sandbox, OTHERS + 1), 3);
    sandbox.stop();
    let reason = "the process died while it was graded, 3 times";
    assert_all_but_one_graded(&sandbox, "team 1/bad", reason);
    sandbox.start();
    assert_eq!(sandbox.service().metrics().of("gridmark_quarantined_files"), 1.0);
    assert_eq!(sandbox.service().metrics().of("gridmark_suspects_total"), 0.0);
}

#[test]
fn crashes_count_with_once_too() {
    let mut sandbox = with_a_deadly("bad");
    sandbox.write("inbox/bad", hexudoku(3));
    for _ in 0..3 {
        let ended = sandbox.once();
        assert_eq!(ended.status.signal(), Some(6), "{ended:?}");
    }
    let ended = sandbox.once();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stdout.ends_with(b"; 1 in quarantine\n"), "{ended:?}");
    assert_all_but_one_graded(&sandbox, "bad", "the process died while it was graded, 3 times");
    assert_eq!(sandbox.once().status.code(), Some(0));
}

#[test]
fn a_large_poison_pill_is_in_quarantine_after_three_crashes() {
    let mut sandbox = with_a_deadly("huge");
    sandbox.write("inbox/huge", (0..300).map(|i| classic(i, "YN")).collect::<String>());
    assert_eq!(crashes(&mut sandbox, OTHERS + 1), 3);
    sandbox.stop();
    let reason = "the process died while it was graded, 3 times";
    assert_all_but_one_graded(&sandbox, "huge", reason);
}

/// Promise P7.
///
///
/// It crashes once more just before it would report the failure: that does not count as a try.
#[test]
fn a_submission_that_crashed_three_times_fails_without_a_fourth_try() {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    for (name, text) in [("small", hexudoku(3)), ("large", hexudoku(3).repeat(100))] {
        sandbox.write(format!("archive/{name}"), &text);
        sandbox.claim(name, name, 1, text.len());
    }
    sandbox.ledger().execute("UPDATE submissions SET tries = 3", []).unwrap();
    let ended = sandbox.once_dying_at(Point::GradingBegun, 1);
    let ended = ended.expect("it runs to its end");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let log = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(log.matches("tries=3 tries_max=3").count(), 2, "{log}");
    assert!(sandbox.submissions().iter().all(|row| row.get("status") == "failed"));
}

#[test]
fn a_submission_over_which_grading_panics_is_in_quarantine_after_three_tries() {
    let mut sandbox = with_a_deadly("nobody");
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "team 2/bad");
    sandbox.write("inbox/team 2/bad", hexudoku(3));
    sandbox.start();
    sandbox.wait_for(OTHERS + 1);
    sandbox.wait_until("it is in quarantine", |sandbox| sandbox.has("quarantine/team 2/bad"));
    let metrics = sandbox.service().metrics();
    assert_eq!(metrics.of("gridmark_grade_errors_total"), 3.0);
    sandbox.stop();
    assert_all_but_one_graded(
        &sandbox,
        "team 2/bad",
        "grading panicked: a test has asked for this",
    );
}

/// Promise P7.
#[test]
fn a_suspect_is_graded_alone_after_a_crash_and_cleared() {
    let mut sandbox = with_a_deadly("team 0/bad");
    sandbox.write("inbox/team 0/bad", hexudoku(3));
    sandbox.spawn();
    let ended = sandbox.wait_for_end();
    assert_eq!(ended.status.signal(), Some(6), "{}", ended.log);
    // The next time it does not crash: the file was not the cause.
    sandbox.set_variable("TEST_GRIDMARK_ABORT_ON", "nobody");
    sandbox.start();
    let rows = sandbox.wait_for(OTHERS + 1);
    assert!(rows.iter().all(|row| row.get("status") != "failed"), "{rows:#?}");
    assert!(sandbox.service().metrics().of("gridmark_suspects_total") >= 1.0);
    sandbox.stop();
    sandbox.start();
    assert_eq!(sandbox.service().metrics().of("gridmark_suspects_total"), 0.0);
}

/// Promise P7.
#[test]
fn a_submission_that_waits_for_its_commit_is_no_suspect() {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    let board = hexudoku(3);
    for i in 0..5 {
        sandbox.write(format!("archive/p{i}"), &board);
        sandbox.claim(&format!("p{i}"), &format!("p{i}"), 1, board.len());
    }
    // Marks cannot be committed, and one crash would already fail a suspect.
    sandbox.set("publish.disk_free_bytes_min", i64::MAX).set("grade.tries_max", 1);
    for _ in 0..4 {
        sandbox.start_unready();
        sandbox.wait_until("all are graded", |sandbox| {
            sandbox.service().metrics().of("gridmark_read_bytes_total") == (board.len() * 5) as f64
        });
        assert_eq!(sandbox.service().metrics().of("gridmark_suspects_total"), 0.0);
        sandbox.kill();
    }
    sandbox.set("publish.disk_free_bytes_min", 0).start();
    let rows = sandbox.wait_for(5);
    assert!(rows.iter().all(|row| row.get("status") == "graded"), "{rows:#?}");
}
