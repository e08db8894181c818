//! `gridmark why` says why a file has not been graded, or how it was, whether the service runs or
//! not.

use crate::kit::cases::{classic, hexudoku, killer};
use crate::kit::{Outcome, Sandbox};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const NOBODY: u32 = 65_534;

fn why(sandbox: &Sandbox, path: impl AsRef<OsStr>) -> Outcome {
    sandbox.run("why", &[path])
}

/// Waits until this attempt is graded in the ledger, which is a moment after its rows are written.
#[track_caller]
fn wait_until_graded(sandbox: &mut Sandbox, name: &str, attempt: usize) {
    let wanted = format!("{name}: graded as attempt {attempt}: ");
    sandbox.wait_until(&wanted, |sandbox| why(sandbox, name).first().starts_with(&wanted));
}

#[track_caller]
fn assert_outcome(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(outcome.code, Some(code), "{outcome:?}");
    for word in words {
        assert!(outcome.stdout.contains(word), "{word} in {outcome:?}");
    }
}

#[test]
fn a_graded_file_is_found_by_each_of_its_names_running_or_stopped() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("team/p.txt", classic(1, "YYN"));
    wait_until_graded(&mut sandbox, "team/p.txt", 1);
    for stopped in [false, true] {
        if stopped {
            sandbox.stop();
        }
        let whole = sandbox.path("inbox/team/p.txt");
        for path in [Path::new("team/p.txt"), Path::new("archive/team/p.txt"), &whole] {
            let outcome = why(&sandbox, path);
            let fault = "case 3: r1c1 given-changed, ";
            let first = format!("team/p.txt: graded as attempt 1: 2 correct, 1 wrong: {fault}");
            assert!(outcome.first().starts_with(&first), "{outcome:?}");
            let report = sandbox.path("reports/folders/team.csv").display().to_string();
            let file = sandbox.path("archive/team/p.txt").display().to_string();
            assert_outcome(&outcome, 0, &["  attempt 1: handed in 2", ", taken 2", &report, &file]);
        }
    }
    // Files of the asking user could keep the service from its ledger.
    assert!(!sandbox.has("state/ledger.db-wal") && !sandbox.has("state/ledger.db-shm"));
}

#[test]
fn each_attempt_is_listed_and_an_unreadable_one_counts_as_graded() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.rename_in("p", "no puzzle at all");
    wait_until_graded(&mut sandbox, "p", 2);
    let outcome = why(&sandbox, "p");
    let first = "p: graded as attempt 2: nothing could be read: unknown-format, line 1, column 1: ";
    assert!(outcome.first().starts_with(first), "{outcome:?}");
    assert_outcome(
        &outcome,
        0,
        &["attempt 1: handed in", "attempt 2: handed in", "1 counted", "1 unreadable"],
    );
    let outcome = why(&sandbox, "archive/p");
    assert_eq!(outcome.first(), "p: graded as attempt 1: 1 counted");
    sandbox.stop();
    sandbox.write("inbox/p", hexudoku(2));
    let outcome = why(&sandbox, "p");
    assert_eq!(outcome.first(), "p: waits in the inbox, because the service does not run");
    assert_outcome(&outcome, 1, &["attempt 1: handed in", "attempt 2: handed in"]);
}

#[test]
fn attempts_are_listed_in_their_order_and_found_by_their_names_in_the_archive() {
    let mut sandbox = Sandbox::started();
    for number in 1..=3 {
        sandbox.rename_in("team/p.classic", classic(number, "Y"));
        wait_until_graded(&mut sandbox, "team/p.classic", number);
    }
    sandbox.rename_in("team/p~3.classic", classic(4, "N"));
    wait_until_graded(&mut sandbox, "team/p~3.classic", 1);
    let attempts = |outcome: &Outcome| {
        let numbers = outcome.stdout.split("  attempt ").skip(1).map(|rest| rest.split(':').next());
        numbers.map(|number| number.unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (path, first) in [
        ("team/p.classic", "team/p.classic: graded as attempt 3: 1 correct"),
        ("team/p~2.classic", "team/p.classic: graded as attempt 2: 1 correct"),
        ("archive/team/p~2.classic", "team/p.classic: graded as attempt 2: 1 correct"),
        ("archive/team/p.classic", "team/p.classic: graded as attempt 1: 1 correct"),
    ] {
        let outcome = why(&sandbox, path);
        assert_eq!((outcome.code, outcome.first()), (Some(0), first));
        assert_eq!(attempts(&outcome), ["1", "2", "3"], "{path}: {outcome:?}");
    }
    // The name of a submission, and of another one's third attempt in the archive.
    let outcome = why(&sandbox, "team/p~3.classic");
    let lines = outcome.stdout.lines().filter(|line| !line.starts_with(' ')).collect::<Vec<_>>();
    assert!(lines[0].starts_with("team/p~3.classic: graded as attempt 1: 1 wrong: r1c1 given-"));
    assert_eq!(lines[1..], ["team/p.classic: graded as attempt 3: 1 correct"]);
}

#[test]
fn the_first_fault_is_shown_as_long_as_the_file_is_what_was_graded() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("p.killer", killer(1, false));
    sandbox.rename_in("q", hexudoku(1) + "x");
    wait_until_graded(&mut sandbox, "p.killer", 1);
    wait_until_graded(&mut sandbox, "q", 1);
    let graded = "p.killer: graded as attempt 1: 1 wrong";
    let fault = "r3c1 cage-sum, cage at r3c1 adds up to 45, not 44";
    assert_eq!(why(&sandbox, "p.killer").first(), format!("{graded}: {fault}"));
    let first = "q: graded as attempt 1: 1 unreadable, 1 counted: case 2: ";
    assert!(why(&sandbox, "q").first().starts_with(first), "{:?}", why(&sandbox, "q"));
    sandbox.stop();
    sandbox.write("archive/p.killer", killer(2, true));
    assert_eq!(why(&sandbox, "p.killer").first(), graded);
    fs::remove_file(sandbox.path("archive/p.killer")).unwrap();
    assert_eq!(why(&sandbox, "p.killer").first(), graded);
}

#[test]
fn names_that_may_be_meant_are_suggested() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("team-07/p1.txt", hexudoku(1));
    sandbox.rename_in("team-08/p1.txt", hexudoku(2));
    sandbox.wait_for(2);
    sandbox.write("inbox/team-07/p2.txt.part", hexudoku(3));
    for (typed, similar) in [
        ("team-7/p1.txt", "team-07/p1.txt, team-08/p1.txt"),
        ("TEAM-07/P1.TXT", "team-07/p1.txt, team-08/p1.txt"),
        ("inbox/team-07/p2.txt", "team-07/p2.txt.part, team-07/p1.txt, team-08/p1.txt"),
        ("archive/team-07/p1~2.txt", "team-07/p1.txt, team-08/p1.txt"),
    ] {
        let outcome = why(&sandbox, typed);
        assert_outcome(&outcome, 1, &[&format!("  similar names: {similar}\n")]);
    }
    let outcome = why(&sandbox, "nothing like it");
    assert!(!outcome.stdout.contains("similar names"), "{outcome:?}");
}

#[test]
fn a_damaged_ledger_is_reported_with_what_to_do() {
    let mut sandbox = Sandbox::started();
    for number in 1..200 {
        sandbox.rename_in(format!("team/{number}"), hexudoku(number % 17));
    }
    sandbox.wait_for(199);
    sandbox.stop();
    let sound = fs::read(sandbox.path("state/ledger.db")).unwrap();
    let pages = sound.len() / 4096;
    assert!(pages > 8, "{pages}");
    let zeros = |bytes: std::ops::Range<usize>| {
        let mut ledger = sound.clone();
        ledger[bytes].fill(0);
        ledger
    };
    let ways = [
        ("no header", zeros(0..100)),
        ("nothing but zeros", zeros(0..sound.len())),
        ("no schema", zeros(100..4096)),
        ("no tables", zeros(4096..sound.len())),
        ("another program's", b"not a ledger\n".repeat(4096)),
        ("of no known format", [&sound[..44], &[0xff; 4], &sound[48..]].concat()),
        ("cut at a page", sound[..pages / 2 * 4096].to_vec()),
        ("cut in a page", sound[..5000].to_vec()),
    ];
    for (way, bytes) in ways {
        sandbox.write("state/ledger.db", bytes);
        let outcome = why(&sandbox, "team/1");
        assert_eq!(outcome.code, Some(2), "{way}: {outcome:?}");
        for word in ["state/ledger.db", "from a backup"] {
            assert!(outcome.stderr.contains(word), "{way}: {outcome:?}");
        }
        assert_eq!(outcome.stderr.lines().count(), 1, "{way}: {outcome:?}");
    }
    for sql in [
        "UPDATE submissions SET attempt = 'x'",
        "UPDATE submissions SET received_at = NULL",
        "DROP TABLE rules",
    ] {
        sandbox.write("state/ledger.db", &sound);
        // A damaged page holds what the table does not allow.
        let schema = "PRAGMA writable_schema = 1;
            UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table';";
        sandbox.ledger().execute_batch(schema).unwrap();
        sandbox.ledger().execute_batch(sql).unwrap();
        let outcome = why(&sandbox, "team/1");
        assert_eq!(outcome.code, Some(2), "{sql}: {outcome:?}");
        assert!(outcome.stderr.contains("is damaged: "), "{sql}: {outcome:?}");
        assert!(outcome.stderr.contains("from a backup"), "{sql}: {outcome:?}");
    }
}

#[test]
fn names_that_are_not_text_are_found_by_their_bytes_and_as_reports_show_them() {
    let mut sandbox = Sandbox::started();
    let name = OsStr::from_bytes(b"t\xffm/=p\n\\");
    sandbox.rename_in(name, hexudoku(1));
    sandbox.rename_in("=q", hexudoku(1));
    let rows = sandbox.wait_for(2);
    let shown = rows.iter().map(|row| row.get("submission"));
    let (mut shown, path) = (shown.collect::<Vec<_>>(), Path::new("inbox").join(name));
    shown.sort();
    assert_eq!(shown, ["'=q", r"t\xFFm/=p\x0A\\"]);
    wait_until_graded(&mut sandbox, shown[1], 1);
    wait_until_graded(&mut sandbox, "=q", 1);
    for path in [path.as_os_str(), name, OsStr::new(shown[1])] {
        let outcome = why(&sandbox, path);
        assert_eq!(outcome.first(), r"t\xFFm/=p\x0A\\: graded as attempt 1: 1 counted");
    }
    assert_eq!(why(&sandbox, shown[0]).first(), "=q: graded as attempt 1: 1 counted");
}

#[test]
fn a_name_that_may_mean_two_submissions_is_answered_for_both() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("=q", hexudoku(1));
    sandbox.rename_in("'=q", hexudoku(2));
    wait_until_graded(&mut sandbox, "=q", 1);
    wait_until_graded(&mut sandbox, "'=q", 1);
    let outcome = why(&sandbox, "'=q");
    assert_outcome(&outcome, 0, &["=q: graded as attempt 1: 1 counted"]);
    let graded = |outcome: &Outcome| {
        let lines = outcome.stdout.lines().filter(|line| !line.starts_with(' '));
        lines.map(|line| line.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(graded(&outcome), ["'=q", "=q"], "{outcome:?}");
    assert_eq!(graded(&why(&sandbox, "''=q")), ["'=q"]);
    assert_eq!(graded(&why(&sandbox, "=q")), ["=q"]);
}

#[test]
fn a_file_that_is_left_alone_is_reported_with_the_rule() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.depth_max", 2).set("intake.name_bytes_max", 100);
    for name in ["p.PART", "a/.hidden/p", "a/b/c/p", ".gridmark-7"] {
        sandbox.write(Path::new("inbox").join(name), hexudoku(1));
    }
    let long = "n".repeat(101);
    sandbox.write(Path::new("inbox").join(&long), hexudoku(1));
    let path = |name: &str| sandbox.path("inbox").join(name);
    std::os::unix::fs::symlink("p.PART", path("link")).unwrap();
    mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
    let ways = [
        ("p.PART", "p.PART fits the pattern `*.part` of intake.ignored"),
        ("a/.hidden/p", ".hidden fits the pattern `.*` of intake.ignored"),
        (".gridmark-7", ".gridmark-7 is a name that gridmark uses itself"),
        ("a/b/c/p", "the folder a/b/c is deeper than intake.depth_max = 2 allows"),
        (&long, "has 101 bytes, more than intake.name_bytes_max = 100"),
        ("link", "link is a symbolic link, and only files are graded"),
        ("fifo", "fifo is a FIFO, and only files are graded"),
        ("socket", "socket is a socket, and only files are graded"),
        ("a", "is a folder"),
    ];
    for running in [false, true] {
        if running {
            sandbox.start();
            sandbox.wait_for_scans(1);
        }
        for (name, reason) in ways {
            let outcome = why(&sandbox, Path::new("inbox").join(name));
            assert_outcome(&outcome, 1, &[reason]);
            assert!(outcome.first().contains(reason), "{outcome:?}");
        }
    }
}

#[test]
fn never_seen_and_cannot_answer_differ() {
    let mut sandbox = Sandbox::new();
    let outcome = why(&sandbox, "inbox/p");
    assert_eq!(outcome.first(), "p: never seen");
    assert_outcome(&outcome, 1, &["no service has run here"]);
    sandbox.start();
    let outcome = why(&sandbox, "p");
    assert_eq!(outcome.first(), "p: never seen");
    assert_outcome(&outcome, 1, &["no submission of that name is in the ledger"]);
    assert_outcome(&why(&sandbox, "archive/p"), 1, &["p: not known"]);
    for path in ["/etc/passwd", "inbox"] {
        let outcome = why(&sandbox, path);
        assert!(outcome.code == Some(2) && outcome.stderr.starts_with("gridmark: "), "{outcome:?}");
    }
    sandbox.stop();
    sandbox.ledger().pragma_update(None, "user_version", 99).unwrap();
    let outcome = why(&sandbox, "p");
    assert!(outcome.code == Some(2) && outcome.stderr.contains("has format 99"), "{outcome:?}");
    sandbox.ledger().pragma_update(None, "user_version", 0).unwrap();
    let outcome = why(&sandbox, "p");
    assert!(
        outcome.code == Some(2)
            && outcome.stderr.contains("is not a ledger of a released gridmark"),
        "{outcome:?}"
    );
}

#[test]
fn a_file_that_has_not_settled_is_reported_with_the_time_left() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.settle_ms", 600_000).set("intake.open_settle_ms", 1_200_000).start();
    sandbox.write("inbox/closed", hexudoku(1));
    let _open = fs::File::create(sandbox.path("inbox/open")).unwrap();
    for (name, setting) in
        [("closed", "intake.settle_ms is 600000"), ("open", "intake.open_settle_ms is 1200000")]
    {
        sandbox.wait_until("it is seen", |sandbox| {
            let outcome = why(sandbox, name);
            outcome.first().starts_with(&format!("{name}: not settled yet, for another "))
                && outcome.first().ends_with(setting)
        });
        assert_outcome(&why(&sandbox, name), 1, &["changed "]);
    }
}

#[test]
fn the_reason_why_files_are_not_taken_is_reported() {
    let mut sandbox = Sandbox::new();
    sandbox.set("publish.disk_free_bytes_min", i64::MAX);
    sandbox.write("inbox/p", hexudoku(1));
    sandbox.start_unready();
    sandbox.wait_for_scans(1);
    sandbox.wait_until("the reason is given", |sandbox| {
        let outcome = why(sandbox, "p");
        outcome.first() == "p: waits in the inbox, because the service is not ready"
            && outcome.stdout.contains("publish.disk_free_bytes_min = 9223372036854775807")
    });
    assert_eq!(why(&sandbox, "p").code, Some(1));
}

#[test]
fn submissions_in_flight_and_waiting_for_room_are_reported() {
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "bad");
    // Each pause is four times as long as the last one, so that it soon waits for ever.
    sandbox.set("grade.tries_max", 100).set("queue.files_max", 1).start();
    sandbox.rename_in("bad", hexudoku(1));
    sandbox.wait_until("it is tried again", |sandbox| {
        let outcome = why(sandbox, "bad");
        outcome
            .first()
            .starts_with("bad: taken as attempt 1; it could not be graded yet; the next try is in")
            && sandbox.service().metrics().of("gridmark_grade_errors_total") >= 3.0
    });
    sandbox.rename_in("waits", hexudoku(1));
    sandbox.wait_until("the queue is full", |sandbox| {
        let outcome = why(sandbox, "waits");
        outcome.first() == "waits: waits in the inbox, until there is room in the queue"
    });
    sandbox.kill();
    let outcome = why(&sandbox, "bad");
    let stopped =
        "bad: taken as attempt 1; the service does not run, and will grade it when it starts";
    assert_eq!((outcome.code, outcome.first()), (Some(1), stopped));

    // Marks that cannot be written.
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "nobody");
    sandbox.start();
    sandbox.wait_for(2);
    sandbox.stop();
    sandbox.set("publish.disk_free_bytes_min", i64::MAX);
    sandbox.write("archive/r", hexudoku(1));
    sandbox.claim("r", "r", 1, hexudoku(1).len());
    sandbox.start_unready();
    sandbox.wait_until("it is in flight", |sandbox| {
        let outcome = why(sandbox, "r");
        let first = "r: taken as attempt 1; it is being graded, or its marks are being written";
        outcome.first() == first && outcome.stdout.contains("the service is not ready: the disk")
    });
}

#[test]
fn a_service_without_an_address_is_reported_as_running_and_no_more() {
    let mut sandbox = Sandbox::started();
    sandbox.write("inbox/p.part", hexudoku(1));
    sandbox.stop();
    fs::rename(sandbox.path("inbox/p.part"), sandbox.path("inbox/p")).unwrap();
    // As `serve --once` holds it.
    let lock = fs::File::options().write(true).open(sandbox.path("state/lock")).unwrap();
    lock.try_lock().unwrap();
    lock.set_len(0).unwrap();
    writeln!(&lock, "process {}, since then", std::process::id()).unwrap();
    let outcome = why(&sandbox, "p");
    assert_outcome(&outcome, 1, &["p: ", "it serves no address"]);
}

#[test]
fn a_user_who_may_only_read_gets_the_same_answers() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("p", hexudoku(1));
    wait_until_graded(&mut sandbox, "p", 1);
    fs::set_permissions(sandbox.path(""), Permissions::from_mode(0o755)).unwrap();
    let user = if rustix::process::geteuid().is_root() {
        Some(NOBODY)
    } else {
        fs::set_permissions(sandbox.path("state"), Permissions::from_mode(0o555)).unwrap();
        None
    };
    let first = "p: graded as attempt 1: 1 counted";
    assert_eq!(sandbox.run_as(user, "why", &["p"]).first(), first);
    sandbox.kill();
    assert_eq!(sandbox.run_as(user, "why", &["p"]).first(), first);
    fs::set_permissions(sandbox.path("state"), Permissions::from_mode(0o755)).unwrap();
    sandbox.start();
    sandbox.stop();
    fs::set_permissions(sandbox.path("state"), Permissions::from_mode(0o555)).unwrap();
    let outcome = sandbox.run_as(user, "why", &["p"]);
    fs::set_permissions(sandbox.path("state"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(outcome.first(), first, "{outcome:?}");
}

#[test]
fn a_file_that_the_service_may_not_read_is_reported() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.settle_ms", 600_000);
    sandbox.write("inbox/closed/p", hexudoku(1));
    sandbox.write("inbox/q", hexudoku(1));
    if !sandbox.run_as_nobody() {
        return;
    }
    sandbox.start();
    for (path, mode) in [("inbox/closed", 0), ("inbox/q", 0)] {
        fs::set_permissions(sandbox.path(path), Permissions::from_mode(mode)).unwrap();
    }
    for (name, path) in [("closed/p", "inbox/closed"), ("q", "inbox/q")] {
        let outcome = why(&sandbox, name);
        let path = sandbox.path(path);
        assert_outcome(&outcome, 1, &["may not read", &path.display().to_string()]);
        assert!(
            outcome.first().starts_with(&format!("{name}: not taken, because user ")),
            "{outcome:?}"
        );
    }
    fs::set_permissions(sandbox.path("inbox/closed"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_path_outside_the_inbox_is_no_submission() {
    let mut sandbox = Sandbox::started();
    sandbox.write("beside", hexudoku(1));
    sandbox.stop();
    let up = "../".repeat(sandbox.path("").components().count());
    for path in [&format!("{up}etc/passwd"), "../beside", "./beside"] {
        let outcome = why(&sandbox, path);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{path}: {outcome:?}");
        assert!(outcome.stderr.contains(" is neither in "), "{path}: {outcome:?}");
        let outcome = sandbox.run("retry", &[path]);
        assert!(outcome.stderr.contains("no such submission is in quarantine"), "{outcome:?}");
    }
}

#[test]
fn a_file_that_was_deleted_from_the_archive_is_said_to_be_gone() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_until("it is committed", |sandbox| why(sandbox, "p").code == Some(0));
    let archived = format!("; file {}", sandbox.path("archive/p").display());
    assert_outcome(&why(&sandbox, "p"), 0, &[&format!("{archived}\n")]);
    fs::remove_file(sandbox.path("archive/p")).unwrap();
    assert_outcome(&why(&sandbox, "p"), 0, &[&format!("{archived}, which is gone\n")]);
}
