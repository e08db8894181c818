//! Limits, and what cannot be used: neither stops anything else.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku, some};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn with_every_limit_at_its_least_everything_is_still_graded() {
    let mut sandbox = Sandbox::new();
    for key in [
        "intake.waiting_files_max",
        "intake.claim_files_max",
        "queue.files_max",
        "queue.bytes_max",
        "grade.threads_max",
        "grade.batch_files_max",
        "grade.batch_bytes_max",
        "grade.chunk_cases_max",
        "grade.chunks_ahead_max",
        "grade.streams_max",
        "grade.missing_cases_max",
        "publish.pending_bytes_max",
    ] {
        sandbox.set(key, 1);
    }
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox.set("intake.scan_every_ms", 20).start();
    for i in 0..60 {
        let text = if i % 10 == 0 { classic(i, &"YN".repeat(60)) } else { some(i) };
        sandbox.write(format!("inbox/{}/{i}", i % 3), text);
    }
    let rows = sandbox.wait_for(60);
    assert_eq!(rows.iter().filter(|row| row.get("cases") == "120").count(), 6);
    sandbox.stop();
}

#[test]
fn a_full_queue_leaves_files_in_the_inbox_where_they_are_safe() {
    let mut sandbox = Sandbox::new();
    // Nothing can be published, so that the budget for rows is used up and the queue fills.
    sandbox.write("reports/folders", "no folder");
    for key in ["queue.files_max", "grade.threads_max", "publish.pending_bytes_max"] {
        sandbox.set(key, 1);
    }
    sandbox.set("intake.claim_files_max", 1).set("grade.batch_files_max", 1).start();
    for i in 0..40 {
        sandbox.write(format!("inbox/team/{i}"), hexudoku(i % 17));
    }
    sandbox.wait_until("the queue is full", |sandbox| {
        let metrics = sandbox.service().metrics();
        metrics.of("gridmark_queue_files") >= 1.0
            && metrics.of("gridmark_oldest_waiting_seconds") > 1.0
    });
    let claimed = sandbox.service().metrics().of("gridmark_claimed_total");
    let left = fs::read_dir(sandbox.path("inbox/team")).unwrap().count();
    assert!(left > 20 && claimed as usize + left == 40, "{claimed} are taken, {left} are left");
    fs::remove_file(sandbox.path("reports/folders")).unwrap();
    sandbox.wait_for(40);
    assert_eq!(sandbox.rows("folders/team.csv").len(), 40);
    assert!(sandbox.service().metrics().of("gridmark_commit_errors_total") >= 1.0);
    assert!(sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"));
}

#[test]
fn once_grades_more_files_than_may_settle_at_a_time() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.waiting_files_max", 1).set("intake.settle_ms", 200);
    for i in 0..9 {
        sandbox.write(format!("inbox/{}/{i}", i % 2), some(i));
    }
    let output = sandbox.once();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(sandbox.submissions().len(), 9);
}

/// A sandbox whose processes may not read everything: if this is root, who may, they run as nobody.
fn restricted() -> Option<Sandbox> {
    let mut sandbox = Sandbox::new();
    for i in 0..5 {
        sandbox.write(format!("inbox/closed/{i}"), hexudoku(i));
        sandbox.write(format!("inbox/open/{i}"), hexudoku(i));
    }
    sandbox.run_as_nobody().then_some(sandbox)
}

fn permit(sandbox: &Sandbox, path: &str, mode: u32) {
    fs::set_permissions(sandbox.path(path), Permissions::from_mode(mode)).unwrap();
}

/// How many lines of the log have all of these words.
fn lines(sandbox: &Sandbox, words: &[&str]) -> usize {
    let log = sandbox.service().log();
    log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

#[test]
fn an_unreadable_folder_harms_no_other_and_is_graded_once_readable() {
    let Some(mut sandbox) = restricted() else { return };
    permit(&sandbox, "inbox/closed", 0);
    sandbox.start();
    sandbox.wait_for(5);
    sandbox.wait_until("it was tried often", |sandbox| {
        sandbox.service().metrics().of("gridmark_scan_errors_total") >= 5.0
    });
    // That is logged, and not each time.
    assert_eq!(lines(&sandbox, &["inbox/closed"]), 1, "{}", sandbox.service().log());
    permit(&sandbox, "inbox/closed", 0o755);
    sandbox.wait_for(10);
}

#[test]
fn an_unreadable_file_stays_in_the_inbox_until_readable() {
    let Some(mut sandbox) = restricted() else { return };
    permit(&sandbox, "inbox/open/3", 0);
    sandbox.start();
    sandbox.wait_for(9);
    sandbox.wait_until("it says so", |sandbox| {
        sandbox.service().metrics().of("gridmark_claim_errors_total") >= 1.0
            && sandbox
                .service()
                .log()
                .contains("it may not be read by the user as whom the service runs")
    });
    assert!(sandbox.has("inbox/open/3"));
    let outcome = sandbox.run("why", &["open/3"]);
    assert!(outcome.stdout.contains("as whom the service runs, may not read"), "{outcome:?}");
    permit(&sandbox, "inbox/open/3", 0o400);
    let rows = sandbox.wait_for(10);
    assert!(rows.iter().all(|row| row.columns(&["attempt", "status"]) == "1|graded"));
}

#[test]
fn files_that_cannot_be_moved_stay_where_they_are_and_are_tried_again() {
    let Some(mut sandbox) = restricted() else { return };
    permit(&sandbox, "inbox/closed", 0o555);
    sandbox.start_unready();
    sandbox.wait_for(5);
    sandbox.wait_until("it says so", |sandbox| {
        sandbox.service().metrics().of("gridmark_claim_errors_total") >= 1.0
            && sandbox.service().log().contains("cannot take a file")
    });
    // What is wrong with one folder keeps nobody else from being graded.
    sandbox.wait_until("it is ready all the same", |sandbox| {
        sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n")
    });
    sandbox.wait_until("each was tried often", |sandbox| {
        sandbox.service().metrics().of("gridmark_claim_errors_total") >= 20.0
    });
    assert_eq!(lines(&sandbox, &["cannot take a file"]), 1, "{}", sandbox.service().log());
    permit(&sandbox, "inbox/closed", 0o755);
    for row in sandbox.wait_for(10) {
        assert_eq!(row.columns(&["attempt", "status"]), "1|graded");
        assert_eq!(row.get("archived_as"), row.get("submission"));
    }
}

#[test]
fn once_does_not_hang_on_unreadable_files_and_reports_them() {
    for (path, graded, left) in [("inbox/closed", 5, 1), ("inbox", 0, 1), ("inbox/open/3", 9, 1)] {
        let Some(mut sandbox) = restricted() else { return };
        permit(&sandbox, path, 0);
        let output = sandbox.once();
        let said = String::from_utf8(output.stdout).unwrap();
        permit(&sandbox, path, 0o755);
        assert_eq!(output.status.code(), Some(1), "{path}: {said}");
        let wanted = format!(
            "{graded} submissions graded, {graded} cases; could not be taken, and still in the \
             inbox: {left}\n"
        );
        assert!(said == wanted, "{path}: {said}");
        assert_eq!(sandbox.submissions().len(), graded);
    }
}

#[test]
fn a_file_that_is_no_ledger_is_refused_and_left_as_it_is() {
    let mut sandbox = Sandbox::new();
    sandbox.write("state/ledger.db", "not a ledger, and longer than the head of one".repeat(40));
    let before = sandbox.text("state/ledger.db");
    sandbox.write("inbox/p", hexudoku(1));
    let output = sandbox.once();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("state/ledger.db"), "{errors}");
    assert!(sandbox.has("inbox/p"));
    assert_eq!(sandbox.text("state/ledger.db"), before);
}

#[test]
fn a_taken_address_is_refused_with_the_flag_that_helps() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let sandbox = Sandbox::new();
    sandbox.write("inbox/p", hexudoku(1));
    let output = sandbox.start_at(&address);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let said = format!("cannot listen on {address}; --listen takes another address");
    assert!(errors.contains(&said), "{errors}");
    assert!(sandbox.has("inbox/p"), "nothing may be taken by a service that does not start");
}

#[test]
fn a_root_is_created_with_a_word_and_never_two_folders_deep() {
    let sandbox = Sandbox::new();
    let serve = |root: &str| {
        let root = sandbox.path(root);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gridmark"));
        let output = command.args(["serve", "--once", "--root"]).arg(root).env_clear().output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, log) = serve("new");
    assert_eq!(code, Some(0), "{log}");
    let line = log.lines().find(|line| line.contains("created folders that did not exist"));
    assert!(line.is_some_and(|line| line.contains("/new/inbox, ")), "{log}");
    assert!(sandbox.has("new/inbox"));
    let (_, log) = serve("new");
    assert!(!log.contains("created folders"), "{log}");
    let (code, log) = serve("mistyped/new");
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("/mistyped does not exist; if the path is right, create that"), "{log}");
    assert!(!sandbox.has("mistyped"));
}

/// As where a share is not mounted.
#[test]
fn a_folder_elsewhere_is_created_only_where_the_one_around_it_is() {
    let (mut sandbox, share) = (Sandbox::new(), tempfile::tempdir().unwrap());
    sandbox.set("paths.inbox", share.path().join("mounted/inbox").display());
    let output = sandbox.once();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("/mounted does not exist"), "{errors}");
    let outcome = sandbox.run("doctor", &["--listen", "127.0.0.1:0"]);
    assert!(outcome.stdout.contains("/mounted, in which it would be created"), "{outcome:?}");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    fs::create_dir(share.path().join("mounted")).unwrap();
    let output = sandbox.once();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn a_root_folder_that_is_a_link_to_nothing_or_into_another_is_refused() {
    for (link, target, words) in [
        ("inbox", "nowhere", "inbox is a link to nowhere, which does not exist"),
        ("archive", "inbox/archive", "through a link or a mount"),
        ("inbox", "archive", "through a link or a mount"),
    ] {
        let mut sandbox = Sandbox::new();
        if target != "nowhere" {
            fs::create_dir_all(sandbox.path(target)).unwrap();
        }
        std::os::unix::fs::symlink(target, sandbox.path(link)).unwrap();
        let output = sandbox.once();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{errors}");
        assert!(errors.contains(words), "{errors}");
        let outcome = sandbox.run("doctor", &["--listen", "127.0.0.1:0"]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stdout.contains("is a link to") || outcome.stdout.contains(words));
    }
}

#[test]
fn an_inbox_that_becomes_a_link_to_nothing_is_said_to_be_one() {
    let mut sandbox = Sandbox::new();
    sandbox.write("disk/inbox/p", hexudoku(1));
    std::os::unix::fs::symlink("disk/inbox", sandbox.path("inbox")).unwrap();
    sandbox.start();
    sandbox.wait_for(1);
    fs::rename(sandbox.path("disk"), sandbox.path("gone")).unwrap();
    sandbox.wait_until("it says so", |sandbox| {
        let ready = sandbox.service().get("/readyz");
        ready.contains("is a link to disk/inbox, which does not exist")
    });
    fs::rename(sandbox.path("gone"), sandbox.path("disk")).unwrap();
    sandbox.rename_in("q", hexudoku(2));
    sandbox.wait_for(2);
}

#[test]
fn an_unreadable_folder_makes_it_not_ready_once_that_lasts() {
    let Some(mut sandbox) = restricted() else { return };
    permit(&sandbox, "inbox/closed", 0);
    sandbox.set("health.stuck_ms_max", 3000).start();
    sandbox.wait_for(5);
    sandbox.wait_until("it says so", |sandbox| {
        let ready = sandbox.service().get("/readyz");
        ready.starts_with("HTTP/1.1 503") && ready.contains("inbox/closed: Permission denied")
    });
    permit(&sandbox, "inbox/closed", 0o755);
    sandbox.wait_for(10);
    sandbox.wait_until("it is ready again", |sandbox| {
        sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK")
    });
}
