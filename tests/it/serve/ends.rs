//! How the service begins and ends.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku, some};
use rustix::process::Signal;
use std::fs;
use std::process::Output;

/// Exit code, standard output and standard error.
fn outcome(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn sigterm_drains_what_was_taken_and_takes_no_more() {
    let mut sandbox = Sandbox::new();
    // So many cases that they cannot all be done when the signal comes.
    sandbox.set("queue.files_max", 8).set("intake.claim_files_max", 4);
    for i in 0..100 {
        sandbox.write(format!("inbox/{i}"), classic(i, &"YN".repeat(400)));
    }
    sandbox.start();
    sandbox.wait_until("some are taken", |sandbox| !sandbox.submissions().is_empty());
    let ended = sandbox.terminate();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), ""), "{}", ended.log);
    assert!(ended.log.contains("all that was taken is graded and committed"), "{}", ended.log);
    let left = sandbox.names("inbox").len();
    let taken = sandbox.names("archive").len();
    assert_eq!(left + taken, 100);
    assert_eq!(sandbox.submissions().len(), taken);
    assert_eq!(sandbox.rows("loose.csv").len(), taken * 800);
    let open: u32 = sandbox.ledger().query_row(OPEN_CLAIMS, [], |row| row.get(0)).unwrap();
    assert_eq!(open, 0);
    sandbox.start();
    sandbox.wait_for(100);
}

const OPEN_CLAIMS: &str = "SELECT count(*) FROM submissions WHERE state = 'claimed'";

/// A service that was asked to end and cannot do so at once, since it cannot write its report.
fn held_up() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.write("reports/folders", "no folder");
    sandbox.start();
    sandbox.write("inbox/team/p", hexudoku(1));
    sandbox.wait_until("it is unwell", |sandbox| {
        sandbox.service().get("/readyz").contains("folders/team.csv")
    });
    sandbox.service().send(Signal::TERM);
    sandbox.wait_until("it says so", |sandbox| {
        sandbox.service().get("/readyz").contains("is stopping")
    });
    sandbox
}

#[test]
fn while_it_drains_it_is_alive_and_not_ready() {
    let mut sandbox = held_up();
    assert!(sandbox.service().get("/livez").starts_with("HTTP/1.1 200 OK\r\n"));
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    let ended = sandbox.wait_for_end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    assert_eq!(sandbox.rows("folders/team.csv").len(), 1);
    assert_eq!(sandbox.submissions().len(), 1);
}

#[test]
fn a_second_signal_ends_it_at_once_and_the_next_start_recovers() {
    let mut sandbox = held_up();
    let ended = sandbox.terminate();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.log);
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    sandbox.start();
    sandbox.wait_for(1);
    assert_eq!(sandbox.rows("folders/team.csv").len(), 1);
}

#[test]
fn marks_that_cannot_be_written_at_the_end_are_reported_and_written_later() {
    let mut sandbox = Sandbox::new();
    sandbox.set("publish.retry_ms_max", 1);
    sandbox.write("reports/folders", "no folder");
    sandbox.start();
    sandbox.write("inbox/team/p", hexudoku(1));
    sandbox.wait_until("it is unwell", |sandbox| {
        sandbox.service().get("/readyz").contains("folders/team.csv")
    });
    let ended = sandbox.terminate();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(!ended.log.contains("all that was taken is graded"), "{}", ended.log);
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    sandbox.start();
    sandbox.wait_for(1);
}

#[test]
fn work_behind_marks_that_cannot_be_written_does_not_delay_the_end() {
    let mut sandbox = Sandbox::new();
    sandbox.write("reports/folders", "no folder");
    sandbox.set("publish.retry_ms_max", 1);
    for key in ["grade.threads_max", "grade.batch_files_max", "publish.pending_bytes_max"] {
        sandbox.set(key, 1);
    }
    sandbox.start();
    for i in 0..40 {
        sandbox.write(format!("inbox/team/{i}"), hexudoku(i % 17));
    }
    sandbox.wait_until("some wait to be graded", |sandbox| {
        sandbox.service().metrics().of("gridmark_queue_files") >= 10.0
    });
    let ended = sandbox.terminate();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(ended.log.contains("not all that was taken"), "{}", ended.log);
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    sandbox.start();
    sandbox.wait_for(40);
    assert_eq!(sandbox.rows("folders/team.csv").len(), 40);
}

#[test]
fn a_lack_of_descriptors_does_not_delay_the_end() {
    for once in [false, true] {
        let mut sandbox = Sandbox::new();
        sandbox.set_variable("TEST_GRIDMARK_STARVE_ON", "team/p");
        sandbox.write("inbox/team/p", hexudoku(1));
        sandbox.write("inbox/team/q", hexudoku(2));
        let ended = if once {
            sandbox.spawn_once();
            sandbox.wait_for_end()
        } else {
            sandbox.start();
            sandbox.wait_for(1);
            sandbox.wait_until("the other one is tried", |sandbox| {
                sandbox.service().metrics().of("gridmark_grade_errors_total") >= 1.0
            });
            sandbox.terminate()
        };
        assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
        assert!(ended.log.contains("not all that was taken"), "{}", ended.log);
        assert_eq!(sandbox.submissions().len(), 1);
        sandbox.set_variable("TEST_GRIDMARK_STARVE_ON", "");
        sandbox.start();
        sandbox.wait_for(2);
    }
}

#[test]
fn a_second_instance_on_the_same_root_is_refused_and_the_first_is_named() {
    let mut sandbox = Sandbox::started();
    let (code, stdout, stderr) = outcome(sandbox.start_second());
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    let holder =
        format!("another gridmark works here already: process {}", sandbox.service().process());
    assert!(stderr.contains(&holder), "{stderr}");
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.kill();
    // However the first one ended, its root is free.
    sandbox.start();
}

#[test]
fn once_grades_the_inbox_and_exits() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.settle_ms", 300);
    for i in 0..200 {
        sandbox.write(format!("inbox/{}/{i}", i % 7), some(i));
    }
    // This one has not settled by the first look.
    sandbox.write("inbox/late", hexudoku(7));
    let (code, stdout, stderr) = outcome(sandbox.once());
    let rows = sandbox.submissions();
    let cases: u64 = rows.iter().map(|row| row.number("cases")).sum();
    assert_eq!((code, rows.len()), (Some(0), 201), "{stderr}");
    assert_eq!(stdout, format!("201 submissions graded, {cases} cases\n"));
    assert!(!sandbox.has("inbox/late") && !sandbox.has("inbox/0/0"));
}

#[test]
fn once_with_nothing_to_do_exits_at_once() {
    let mut sandbox = Sandbox::new();
    for _ in 0..2 {
        let (code, stdout, stderr) = outcome(sandbox.once());
        let nothing = "0 submissions graded, 0 cases\n";
        assert_eq!((code, stdout.as_str()), (Some(0), nothing), "{stderr}");
    }
}

#[test]
fn once_recovers_from_a_run_that_was_killed() {
    let mut sandbox = Sandbox::new();
    sandbox.write("reports/folders", "no folder");
    sandbox.start();
    sandbox.write("inbox/team/p", hexudoku(3));
    sandbox.wait_until("it is taken", |sandbox| sandbox.has("archive/team/p"));
    sandbox.kill();
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    let (code, _, stderr) = outcome(sandbox.once());
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(sandbox.submissions().len(), 1);
}

/// Promise P1.
#[test]
fn once_leaves_and_reports_what_cannot_be_taken() {
    let mut sandbox = Sandbox::new();
    // Nobody, not even root, makes files there.
    sandbox.set("paths.archive", "/proc");
    sandbox.write("inbox/p", hexudoku(1));
    let (code, stdout, stderr) = outcome(sandbox.once());
    assert_eq!(code, Some(1), "{stderr}");
    let said = "0 submissions graded, 0 cases; could not be taken, and still in the inbox: 1\n";
    assert_eq!(stdout, said);
    assert_eq!(sandbox.text("inbox/p"), hexudoku(1));
}

#[test]
fn once_ends_where_reports_cannot_be_written_and_the_next_run_writes_them() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.settle_ms", 0);
    sandbox.write("reports/folders", "in the way");
    for i in 1..=3 {
        sandbox.write(format!("inbox/team/{i}"), hexudoku(i));
    }
    let (code, _, log) = outcome(sandbox.once());
    assert_eq!(code, Some(1), "{log}");
    // The service does not report that it is ready again.
    let (_, since) = log.split_once("cannot make marks durable").unwrap();
    assert!(
        !since.contains("gridmark::service: ready") && since.contains("stopped: not all"),
        "{log}"
    );
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    assert_eq!(sandbox.once().status.code(), Some(0));
    assert_eq!(sandbox.rows("folders/team.csv").len(), 3);
    assert_eq!(sandbox.submissions().len(), 3);
}

#[test]
fn the_service_can_be_ended_where_reports_cannot_be_written() {
    let mut sandbox = Sandbox::new();
    sandbox.write("reports/folders", "in the way");
    sandbox.start();
    sandbox.rename_in("team/1", hexudoku(1));
    sandbox.wait_until("it says so", |sandbox| {
        sandbox.service().get("/readyz").contains("cannot write the report folders/team.csv")
    });
    assert_eq!(sandbox.terminate().status.code(), Some(1));
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    sandbox.start();
    sandbox.wait_for(1);
    assert_eq!(sandbox.rows("folders/team.csv").len(), 1);
}

#[test]
fn once_does_not_wait_for_room_on_the_disk() {
    let mut sandbox = Sandbox::new();
    sandbox.set("publish.disk_free_bytes_min", i64::MAX).set("intake.settle_ms", 0);
    sandbox.write("inbox/team/p", hexudoku(1));
    let (code, stdout, stderr) = outcome(sandbox.once());
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("; could not be taken, and still in the inbox: 1"), "{stdout}");
    assert!(stderr.contains("fewer than publish.disk_free_bytes_min"), "{stderr}");
    assert!(sandbox.has("inbox/team/p"));
}

#[test]
fn without_room_on_the_disk_nothing_is_taken_and_the_reason_is_logged() {
    let mut sandbox = Sandbox::new();
    sandbox.set("publish.disk_free_bytes_min", i64::MAX);
    sandbox.write("inbox/p", hexudoku(1));
    sandbox.start_unready();
    sandbox.wait_for_scans(3);
    let answer = sandbox.service().get("/readyz");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("publish.disk_free_bytes_min = 9223372036854775807"), "{answer}");
    assert!(sandbox.has("inbox/p"));
    assert!(sandbox.service().metrics().of("gridmark_disk_free_bytes") > 0.0);
    sandbox.wait_until("its age shows", |sandbox| {
        sandbox.service().metrics().of("gridmark_oldest_waiting_seconds") > 0.0
    });
}

/// Promise P7.
#[test]
fn a_submission_that_gridmark_fails_to_grade_is_failed_and_kept_in_quarantine() {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    // What was taken turned into something that cannot be read as a file.
    std::os::unix::fs::symlink("/nowhere", sandbox.path("archive/p")).unwrap();
    sandbox.claim("p", "p", 0, 5);
    sandbox.set("grade.tries_max", 2);
    sandbox.write("inbox/q", hexudoku(1));
    let (code, stdout, stderr) = outcome(sandbox.once());
    assert_eq!(code, Some(1), "{stderr}");
    assert_eq!(stdout, "2 submissions graded, 1 case; 1 in quarantine\n");
    let rows = sandbox.submissions();
    let failed = rows.iter().find(|row| row.get("submission") == "p").unwrap();
    assert_eq!(failed.columns(&["status", "cases", "blake3"]), "failed|0|");
    assert!(sandbox.has("quarantine/p") && !sandbox.has("archive/p"));
    assert_eq!(sandbox.rows("loose.csv").len(), 1);

    // It may be handed in again, and later starts leave it where it is.
    sandbox.start();
    assert_eq!(sandbox.service().metrics().of("gridmark_quarantined_files"), 1.0);
    sandbox.rename_in("p", hexudoku(2));
    let rows = sandbox.wait_for(3);
    assert_eq!(rows[2].columns(&["submission", "attempt", "status"]), "p|2|graded");
}
