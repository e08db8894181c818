//! One service for each folder that a service writes.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use crate::kit::needs;
use gridmark::store::lock::LOCK_NAME;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Tries a run of `other`, which has to be refused and to name the service of `sandbox`.
#[track_caller]
fn is_refused(other: &mut Sandbox, sandbox: &Sandbox, words: &str) {
    let output = other.once();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let process =
        format!("another gridmark works here already: process {}", sandbox.service().process());
    let process = if words.is_empty() { process } else { words.to_owned() };
    let root = format!(", root {} (it holds ", sandbox.as_given().display());
    assert!(errors.contains(&process) && errors.contains(&root), "{errors}");
}

/// Promise P2.
#[test]
fn two_services_never_share_a_folder() {
    for folder in ["inbox", "archive", "quarantine", "reports", "state"] {
        let (mut sandbox, mut other) = (Sandbox::started(), Sandbox::new());
        other.set(&format!("paths.{folder}"), sandbox.path(folder).display());
        is_refused(&mut other, &sandbox, "");
        // The first one continues alone, and nothing was set aside.
        sandbox.rename_in("team/p", hexudoku(1));
        sandbox.wait_for(1);
        assert_eq!(sandbox.names("reports").len(), 2, "{folder}");
        sandbox.stop();
        // What the first one has written there belongs to its ledger.
        if !["reports", "state"].contains(&folder) {
            assert_eq!(other.once().status.code(), Some(0), "{folder}");
        }
    }
}

#[test]
fn a_service_in_a_folder_of_another_one_is_refused() {
    let (sandbox, mut other) = (Sandbox::started(), Sandbox::new());
    fs::create_dir(sandbox.path("inbox/team")).unwrap();
    other.set("paths.reports", sandbox.path("inbox/team/reports").display());
    is_refused(&mut other, &sandbox, "lies in a folder of another gridmark: process ");
}

#[test]
fn reports_that_another_service_writes_are_not_repaired() {
    let (sandbox, mut other) = (Sandbox::started(), Sandbox::new());
    assert_eq!(other.once().status.code(), Some(0));
    let shared = format!("[paths]\nreports = \"{}\"\n", sandbox.path("reports").display());
    other.write("shared.toml", shared);
    let outcome = other.run("verify", &["--repair", "--config", "shared.toml"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("another gridmark works here already"), "{outcome:?}");
}

#[test]
fn a_lock_is_no_submission_no_report_and_no_part_of_a_backup() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.wait_for_scans(2);
    for folder in ["inbox", "archive", "quarantine", "reports"] {
        assert!(sandbox.path(folder).join(LOCK_NAME).is_file(), "{folder}");
    }
    let metrics = sandbox.service().metrics();
    for gauge in ["inbox", "ignored", "quarantined"] {
        assert_eq!(metrics.of(&format!("gridmark_{gauge}_files")), 0.0);
    }
    assert_eq!(metrics.of("gridmark_unlocked_folders"), 0.0);
    assert!(!sandbox.service().log().contains(LOCK_NAME), "{}", sandbox.service().log());
    sandbox.stop();
    let outcome = sandbox.run("verify", &[""; 0]);
    let agrees = "reports: 2, submissions: 1, cases: 1: everything agrees\n";
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), agrees));
    assert_eq!(sandbox.run("backup", &["copy"]).code, Some(0));
    for folder in ["inbox", "archive", "quarantine", "reports", "state"] {
        assert!(!sandbox.has(Path::new("copy").join(folder).join(LOCK_NAME)), "{folder}");
    }
    assert!(!sandbox.has("copy/state/lock"));
    let mut grade = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let graded = grade.arg("grade").arg(sandbox.path("inbox")).output().unwrap();
    assert_eq!(graded.stderr, b"gridmark: there is no file to grade\n");
}

#[test]
fn a_lock_that_is_removed_while_it_runs_is_taken_again() {
    let (mut sandbox, mut other) = (Sandbox::started(), Sandbox::new());
    other.set("paths.inbox", sandbox.path("inbox").display());
    let lock = sandbox.path("inbox").join(LOCK_NAME);
    fs::remove_file(&lock).unwrap();
    sandbox.wait_until("it is there again", |_| {
        fs::read_to_string(&lock).is_ok_and(|text| text.ends_with('\n'))
    });
    is_refused(&mut other, &sandbox, "");
    assert!(sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"));
}

/// Promise P6.
#[test]
fn whatever_is_put_in_the_place_of_the_inbox_lock_the_service_starts_and_goes_on() {
    let mut sandbox = Sandbox::new();
    let lock = Path::new("inbox").join(LOCK_NAME);
    sandbox.write(lock.join("deep"), "");
    sandbox.start();
    let log = sandbox.service().log();
    assert_eq!(log.matches("not all folders can be locked").count(), 1, "{log}");
    assert_eq!(sandbox.service().metrics().of("gridmark_unlocked_folders"), 1.0);
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_for(1);
    fs::remove_dir_all(sandbox.path(&lock)).unwrap();
    sandbox.wait_until("all are locked", |sandbox| {
        sandbox.service().metrics().of("gridmark_unlocked_folders") == 0.0
    });
    fs::remove_file(sandbox.path(&lock)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", sandbox.path(&lock)).unwrap();
    sandbox.wait_until("it is noticed", |sandbox| {
        sandbox.service().metrics().of("gridmark_unlocked_folders") == 1.0
    });
    sandbox.rename_in("team/q", hexudoku(1));
    sandbox.wait_for(2);
    assert!(sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn without_locks_in_the_file_system_it_starts_with_a_warning_and_doctor_says_so() {
    if !needs::strace() {
        return;
    }
    let mut sandbox = Sandbox::new();
    sandbox.refuse_locks();
    sandbox.start();
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_for(1);
    let log = sandbox.service().log();
    assert_eq!(log.matches("not all folders can be locked").count(), 1, "{log}");
    assert!(log.contains("No locks available"), "{log}");
    assert_eq!(sandbox.service().metrics().of("gridmark_unlocked_folders"), 5.0);
    sandbox.stop();
    let outcome = sandbox.run("doctor", &["--listen", "127.0.0.1:0"]);
    let warnings = outcome.stdout.lines().filter(|line| line.starts_with("warn  lock "));
    assert_eq!(warnings.clone().count(), 5, "{outcome:?}");
    assert!(warnings.clone().all(|line| line.contains("nothing keeps a second service out")));
    let outcome = sandbox.run("verify", &["--repair"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("see to it that no service uses").count(), 5, "{outcome:?}");
}

#[test]
fn doctor_finds_a_folder_that_another_service_uses() {
    let (sandbox, mut other) = (Sandbox::started(), Sandbox::new());
    other.set("paths.reports", sandbox.path("reports").display());
    let outcome = other.run("doctor", &["--listen", "127.0.0.1:0"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let process =
        format!("is used by a service on another root: process {}", sandbox.service().process());
    let failure = outcome.stdout.lines().find(|line| line.starts_with("FAIL  lock "));
    assert!(failure.is_some_and(|line| line.contains(&process)), "{outcome:?}");
    // Of its own service it says nothing.
    let outcome = sandbox.run("doctor", &["--listen", "127.0.0.1:0"]);
    assert!(outcome.stdout.contains("ok    lock "), "{outcome:?}");
}
