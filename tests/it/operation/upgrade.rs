//! A newer gridmark takes over what an older one has written, and an older one refuses what is newer.

use super::{grade, interleaved};
use crate::kit::cases::classic;
use std::fs;

/// Promise P2.
#[test]
fn a_root_of_the_first_format_is_upgraded_and_its_reports_can_be_rebuilt() {
    let mut sandbox = interleaved();
    sandbox.start();
    sandbox.wait_for(42);
    sandbox.stop();
    let before = sandbox.report_bytes();
    sandbox.make_ledger_old();
    let outcome = sandbox.run("verify", &[] as &[&str]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stdout);
    assert!(
        outcome.stderr.contains("has the older format 1; start the service once"),
        "{}",
        outcome.stderr
    );
    grade(&mut sandbox);
    assert!(sandbox.has("state/ledger.db.format-1"));
    assert_eq!(sandbox.report_bytes(), before);
    sandbox.agrees();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    grade(&mut sandbox);
    assert_eq!(sandbox.report_bytes(), before);
    sandbox.rename_in("team/later", classic(3, "YN"));
    grade(&mut sandbox);
    sandbox.agrees();
}

#[test]
fn a_large_file_begun_by_an_older_gridmark_is_finished() {
    let mut sandbox = interleaved();
    sandbox.start_unready();
    sandbox.wait_until("a large file is begun", |sandbox| {
        sandbox.rows("folders/team.csv").iter().any(|row| row.get("submission").contains("large"))
    });
    sandbox.kill();
    sandbox.make_ledger_old();
    grade(&mut sandbox);
    assert_eq!(sandbox.submissions().len(), 42);
    sandbox.agrees();
    let before = sandbox.report_bytes();
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    grade(&mut sandbox);
    assert_eq!(sandbox.report_bytes(), before);
}

#[test]
fn if_reports_do_not_show_their_order_it_is_guessed_and_reported() {
    let mut sandbox = interleaved();
    grade(&mut sandbox);
    let team = sandbox.path("reports/folders/team.csv");
    let edited = fs::read_to_string(&team).unwrap().replace("team/small 0,", "team/smell 0,");
    fs::write(&team, edited).unwrap();
    sandbox.make_ledger_old();
    let ended = sandbox.once();
    let log = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{log}");
    assert!(log.contains("the order of its rows is not known"), "{log}");
    assert_eq!(sandbox.run("verify", &[] as &[&str]).code, Some(1));
    assert_eq!(sandbox.run("verify", &["--repair"]).code, Some(0));
    sandbox.agrees();
}

#[test]
fn a_newer_ledger_is_refused_and_the_copy_from_before_works() {
    let mut sandbox = interleaved();
    grade(&mut sandbox);
    sandbox.make_ledger_old();
    grade(&mut sandbox);
    sandbox.ledger().pragma_update(None, "user_version", 4).unwrap();
    let reports = sandbox.report_bytes();
    let ended = sandbox.once();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("has format 4, and this gridmark knows formats up to 3"), "{stderr}");
    assert!(stderr.contains("use the newer gridmark that wrote it"), "{stderr}");
    assert_eq!(sandbox.report_bytes(), reports);
    fs::rename(sandbox.path("state/ledger.db.format-1"), sandbox.path("state/ledger.db")).unwrap();
    grade(&mut sandbox);
    sandbox.agrees();
}
