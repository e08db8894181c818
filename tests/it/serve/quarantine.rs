//! What lies in quarantine has its reason beside it, and `gridmark retry` hands it in again.

use crate::kit::cases::hexudoku;
use crate::kit::{Outcome, Sandbox};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A sandbox in which this submission has failed once for each of these contents, by a panic.
fn failed(name: &[u8], filled: &[usize]) -> Sandbox {
    let mut sandbox = Sandbox::new();
    let name = OsStr::from_bytes(name);
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", name).set("grade.tries_max", 1);
    for &filled in filled {
        sandbox.rename_in(name, hexudoku(filled));
        assert_eq!(sandbox.once().status.code(), Some(1));
    }
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "nobody");
    sandbox
}

fn retry(sandbox: &Sandbox, args: &[impl AsRef<OsStr>]) -> Outcome {
    sandbox.run("retry", args)
}

fn attempts(sandbox: &Sandbox) -> Vec<String> {
    let rows = sandbox.submissions();
    rows.iter().map(|row| row.columns(&["submission", "attempt", "filled", "status"])).collect()
}

#[test]
fn the_reason_is_written_beside_the_file_and_why_shows_it() {
    let mut sandbox = failed(b"team/p", &[3]);
    let note = sandbox.text("quarantine/team/p.reason.txt");
    for outcome in
        ["submission: team/p\n", "attempt: 1\n", "tries: 1\n", "a test has asked for this"]
    {
        assert!(note.contains(outcome), "{note}");
    }
    for path in ["team/p", "quarantine/team/p", "inbox/team/p"] {
        let outcome = sandbox.run("why", &[path]);
        let first = "team/p: gridmark failed to grade attempt 1: grading panicked: a test has \
                     asked for this";
        assert_eq!((outcome.code, outcome.first()), (Some(1), first));
        assert!(outcome.stdout.contains("its file is in quarantine, "), "{outcome:?}");
        assert!(outcome.stdout.contains("tried once"), "{outcome:?}");
    }
    // A reason that was removed is written again at the next start, and counts as no file.
    fs::remove_file(sandbox.path("quarantine/team/p.reason.txt")).unwrap();
    sandbox.start();
    assert_eq!(sandbox.text("quarantine/team/p.reason.txt"), note);
    assert_eq!(sandbox.service().metrics().of("gridmark_quarantined_files"), 1.0);
}

#[test]
fn retry_hands_a_file_in_again_while_the_service_runs() {
    let mut sandbox = failed(b"team/p", &[3]);
    sandbox.start();
    let outcome = retry(&sandbox, &["team/p"]);
    let place = sandbox.path("inbox/team/p");
    let said = format!("team/p: attempt 1 is back in the inbox: {}\n", place.display());
    assert_eq!((outcome.code, outcome.stdout), (Some(0), said), "{}", outcome.stderr);
    sandbox.wait_for(2);
    assert_eq!(attempts(&sandbox), ["team/p|1|0|failed", "team/p|2|3|graded"]);
    assert!(!sandbox.has("quarantine/team/p") && !sandbox.has("quarantine/team/p.reason.txt"));
    sandbox.wait_until("the gauge is back at zero", |sandbox| {
        sandbox.service().metrics().of("gridmark_quarantined_files") == 0.0
    });
    assert_eq!(sandbox.text("archive/team/p~2"), hexudoku(3));
    sandbox.wait_until("it is outcome", |sandbox| {
        let outcome = sandbox.run("why", &["team/p"]);
        outcome.first() == "team/p: graded as attempt 2: 1 counted"
    });
    let outcome = retry(&sandbox, &["team/p"]);
    assert_eq!(outcome.code, Some(1));
    assert_eq!(outcome.stderr, "gridmark: team/p: no such submission is in quarantine\n");
}

#[test]
fn retry_works_for_any_name_while_the_service_is_stopped() {
    let name = b"t\xffm/=p\n";
    let mut sandbox = failed(name, &[3]);
    let outcome = retry(&sandbox, &[r"t\xFFm/=p\x0A"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(sandbox.has(Path::new("inbox").join(OsStr::from_bytes(name))));
    assert_eq!(sandbox.once().status.code(), Some(0));
    let shown = r"t\xFFm/=p\x0A";
    assert_eq!(attempts(&sandbox), [format!("{shown}|1|0|failed"), format!("{shown}|2|3|graded")]);
}

/// Promise P1.
#[test]
fn retry_never_puts_one_file_over_another() {
    let sandbox = failed(b"p", &[3]);
    sandbox.write("inbox/p", hexudoku(5));
    let outcome = retry(&sandbox, &["--all"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
    assert!(outcome.stderr.contains("p: stays in quarantine, because"), "{outcome:?}");
    assert_eq!(sandbox.text("inbox/p"), hexudoku(5));
    assert_eq!(sandbox.text("quarantine/p"), hexudoku(3));
    assert!(sandbox.has("quarantine/p.reason.txt"));
}

#[test]
fn retry_hands_in_the_attempt_that_is_named() {
    let mut sandbox = failed(b"p", &[3, 4]);
    let outcome = retry(&sandbox, &["p"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains(
            "several submissions of this name are in quarantine; give one of these paths: "
        ),
        "{outcome:?}"
    );
    assert_eq!(retry(&sandbox, &["quarantine/p~2"]).code, Some(0));
    assert_eq!(sandbox.once().status.code(), Some(0));
    assert_eq!(retry(&sandbox, &["--all"]).code, Some(0));
    assert_eq!(sandbox.once().status.code(), Some(0));
    let wanted = ["p|1|0|failed", "p|2|0|failed", "p|3|4|graded", "p|4|3|graded"];
    assert_eq!(attempts(&sandbox), wanted);
    assert_eq!(sandbox.names("quarantine"), [""; 0]);
    let outcome = retry(&sandbox, &["--all"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "quarantine is empty\n"));
}

#[test]
fn retry_where_no_service_has_run_says_so() {
    let outcome = retry(&Sandbox::new(), &["p"]);
    assert!(
        outcome.code == Some(2) && outcome.stderr.contains("no service has run here"),
        "{outcome:?}"
    );
}
