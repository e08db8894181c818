//! Roots that are not what they seem: a ledger without its log, copies that share a file, folders of another service.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use std::fs;

/// A root whose service was killed with marks that are in the ledger's log alone.
fn killed() -> Sandbox {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_for(1);
    sandbox.wait_until("it is committed", |sandbox| {
        sandbox.service().metrics().of("gridmark_submissions_total{status=\"graded\"}") == 1.0
    });
    sandbox.kill();
    sandbox
}

#[track_caller]
fn is_refused(sandbox: &mut Sandbox, words: &str) {
    let output = sandbox.once();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(words), "{words} in {errors}");
}

/// Promise P1.
#[test]
fn a_ledger_whose_log_was_taken_away_after_a_crash_is_refused_until_somebody_decides() {
    let mut sandbox = killed();
    let log = sandbox.path("state/ledger.db-wal");
    let aside = sandbox.path("outside/log");
    fs::rename(&log, &aside).unwrap();
    fs::remove_file(sandbox.path("state/ledger.db-shm")).unwrap();
    let words = "ledger.db is not as far as it had come";
    is_refused(&mut sandbox, words);
    is_refused(&mut sandbox, words);
    fs::rename(&aside, &log).unwrap();
    sandbox.start();
    assert_eq!(sandbox.submissions().len(), 1);
    // After an end as it should be there is no log, and none is missed.
    sandbox.stop();
    assert!(!log.exists());
    sandbox.start();
    sandbox.rename_in("team/q", hexudoku(1));
    sandbox.wait_for(2);
    sandbox.kill();
    // Somebody who looks at the ledger with another program puts the log into it, which is as good.
    let count = "SELECT count(*) FROM submissions";
    let count: i64 = sandbox.ledger().query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 2);
    assert!(!log.exists());
    sandbox.start();
    sandbox.rename_in("team/r", hexudoku(1));
    sandbox.wait_for(3);
    sandbox.kill();
    fs::remove_file(&log).unwrap();
    is_refused(&mut sandbox, words);
    fs::remove_file(sandbox.path("state/ledger.db.last")).unwrap();
    sandbox.start();
}

/// Promise P2.
#[test]
fn a_ledger_that_two_roots_share_by_a_hard_link_is_refused() {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    fs::hard_link(sandbox.path("state/ledger.db"), sandbox.path("other")).unwrap();
    is_refused(&mut sandbox, "it has 2 names");
    let doctor = sandbox.run("doctor", &["--"; 0]).stdout;
    assert!(doctor.contains("it has 2 names"), "{doctor}");
    fs::remove_file(sandbox.path("other")).unwrap();
    sandbox.start();
}

#[test]
fn a_lock_with_another_name_is_found_by_doctor_as_by_a_start() {
    let mut sandbox = Sandbox::started();
    sandbox.stop();
    fs::hard_link(sandbox.path("state/lock"), sandbox.path("other")).unwrap();
    is_refused(&mut sandbox, "the file has another name too");
    let doctor = sandbox.run("doctor", &["--"; 0]).stdout;
    assert!(doctor.contains("the file has another name too"), "{doctor}");
}

/// Promise P1.
#[test]
fn a_damaged_ledger_is_refused_before_a_file_is_taken() {
    let mut sandbox = Sandbox::started();
    for number in 0..200 {
        sandbox.write(format!("inbox/team/{number}"), hexudoku(1));
    }
    sandbox.wait_for(200);
    sandbox.stop();
    let path = sandbox.path("state/ledger.db");
    let mut bytes = fs::read(&path).unwrap();
    let page = bytes.len() / 4096 / 2 * 4096;
    bytes[page..page + 4096].fill(0x5a);
    fs::write(&path, bytes).unwrap();
    sandbox.write("inbox/late", hexudoku(1));
    is_refused(&mut sandbox, "is damaged");
    assert!(sandbox.has("inbox/late"));
}

/// Promise P1.
#[test]
fn an_inbox_that_holds_the_folders_of_another_service_is_refused() {
    let (mut sandbox, mut other) = (Sandbox::started(), Sandbox::new());
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_for(1);
    for inbox in [
        sandbox.as_given().to_owned(),
        sandbox.as_given().join("..").join(sandbox.as_given().file_name().unwrap()),
    ] {
        other.set("paths.inbox", inbox.display());
        is_refused(&mut other, "holds a folder of another gridmark, whose files would be taken");
        assert!(sandbox.has("archive/team/p") && sandbox.has("state/ledger.db"));
    }
}

/// Promise P1.
#[test]
fn a_start_that_is_refused_creates_nothing_in_the_inbox_of_another_service() {
    let sandbox = Sandbox::started();
    fs::create_dir(sandbox.path("inbox/sub")).unwrap();
    let mut other = Sandbox::within(&sandbox.path("inbox/sub"));
    is_refused(&mut other, "lies in a folder of another gridmark");
    for folder in ["archive", "quarantine", "reports", "state"] {
        assert!(!other.has(folder), "{folder}");
    }
}

/// Promise P1.
#[test]
fn a_ledger_that_is_not_in_its_place_at_the_end_is_saved_beside_it() {
    let mut sandbox = Sandbox::started();
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_for(1);
    let path = sandbox.path("state/ledger.db");
    // Somebody moves it away, gridmark writes it again, and then the old one comes back.
    let aside = sandbox.path("outside/ledger.db");
    fs::rename(&path, &aside).unwrap();
    sandbox.wait_until("it is written again", |_| path.exists());
    sandbox.rename_in("team/q", hexudoku(1));
    sandbox.wait_for(2);
    fs::rename(&aside, &path).unwrap();
    let ended = sandbox.terminate();
    assert_eq!(ended.status.code(), Some(1), "{}", ended.log);
    assert!(ended.log.contains("what is committed is in the copy"), "{}", ended.log);
    fs::rename(sandbox.path("state/ledger.db.rescued-1"), &path).unwrap();
    sandbox.start();
    sandbox.stop();
    let verified = sandbox.run("verify", &["--"; 0]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
    assert_eq!(sandbox.submissions().len(), 2);
}
