//! A gridmark refuses a ledger that it does not know, and changes nothing.

use super::grade;
use crate::kit::Sandbox;
use crate::kit::cases::some;
use std::fs;

/// A sandbox with marks and the bytes of its ledger, changed by this statement.
fn with_ledger(change: &str) -> (Sandbox, Vec<u8>) {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("team/p", some(1));
    grade(&mut sandbox);
    sandbox.ledger().execute_batch(change).unwrap();
    let ledger = fs::read(sandbox.path("state/ledger.db")).unwrap();
    (sandbox, ledger)
}

#[track_caller]
fn refuses(change: &str, words: &[&str]) {
    let (mut sandbox, ledger) = with_ledger(change);
    let reports = sandbox.report_bytes();
    let ended = sandbox.once();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    let verified = sandbox.run("verify", &[] as &[&str]);
    assert_eq!(verified.code, Some(2), "{}", verified.stdout);
    for word in words {
        assert!(stderr.contains(word), "{word}: {stderr}");
        assert!(verified.stderr.contains(word), "{word}: {}", verified.stderr);
    }
    assert_eq!(sandbox.report_bytes(), reports);
    assert_eq!(fs::read(sandbox.path("state/ledger.db")).unwrap(), ledger);
}

#[test]
fn a_ledger_of_a_newer_gridmark_is_refused() {
    let words = ["has format 2, and this gridmark knows formats up to 1", "use the newer gridmark"];
    refuses("PRAGMA user_version = 2", &words);
}

#[test]
fn a_ledger_of_a_trial_version_is_refused_by_name() {
    let words = ["ledger.db is not a ledger of a released gridmark", "move it and the reports"];
    refuses("PRAGMA application_id = 0; PRAGMA user_version = 3", &words);
}
