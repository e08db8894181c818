//! What `verify` and `doctor` find of an event.

use super::kit::{Folder, SOLVED, relabelled, wait_for_judgements};
use crate::kit::Sandbox;
use std::os::unix::fs::PermissionsExt;

fn with_two_entries() -> Sandbox {
    let mut sandbox = Sandbox::new();
    Folder::new().write(&sandbox);
    sandbox.start();
    sandbox.rename_in("r1/p1/101.txt", SOLVED);
    sandbox.rename_in("r1/p1/102.txt", relabelled());
    sandbox.rename_in("r1/p1/110.txt", SOLVED);
    let expected = [
        "r1/p1/101.txt~1: 101 r1/p1 correct",
        "r1/p1/102.txt~1: 102 r1/p1 wrong",
        "r1/p1/110.txt~1: - held: there is no entrant `110`",
    ];
    wait_for_judgements(&mut sandbox, &expected);
    sandbox
}

#[test]
fn verify_finds_changed_judgements_rulings_and_files_of_an_event() {
    let mut sandbox = with_two_entries();
    let verify = |sandbox: &Sandbox| {
        let outcome = sandbox.run("verify", &["--"; 0]);
        (outcome.code, outcome.stdout)
    };
    let good = verify(&sandbox);
    assert_eq!(good.0, Some(0), "{good:?}");
    sandbox.stop();
    let good = verify(&sandbox);
    assert_eq!(good.0, Some(0), "{good:?}");
    let sql = |sandbox: &Sandbox, sql: &str| sandbox.ledger().execute_batch(sql).unwrap();
    sql(&sandbox, "UPDATE judgements SET outcome = 'correct' WHERE outcome = 'wrong'");
    let found = verify(&sandbox);
    assert_eq!(found.0, Some(1));
    let line = "a judgement is not what its file gives: r1/p1/102.txt, attempt 1: 102 r1/p1 correct \
                (given-changed) -> 102 r1/p1 wrong (given-changed)";
    assert!(found.1.contains(line), "{found:?}");
    sql(&sandbox, "UPDATE judgements SET outcome = 'wrong' WHERE entrant = '102'");
    sql(&sandbox, "UPDATE rulings SET reason = 'x'");
    let found = verify(&sandbox);
    assert!(found.1.contains("ruling 1 is not what was recorded"), "{found:?}");
    sql(&sandbox, "UPDATE rulings SET reason = 'the event folder was changed'");
    sandbox.write("public/standings.csv", "rank\n");
    let found = verify(&sandbox);
    assert!(found.1.contains("standings.csv: it is not what the ledger gives"), "{found:?}");
    sandbox.start();
    sandbox.wait_for_text("public/standings.csv", &sandbox.text("reports/standings.csv"));
    sandbox.stop();
    let good = verify(&sandbox);
    assert_eq!(good.0, Some(0), "{good:?}");
}

#[test]
fn a_backup_holds_all_that_standings_need() {
    let mut sandbox = with_two_entries();
    let copy = sandbox.path("copy");
    let outcome = sandbox.run("backup", &[&copy]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    sandbox.stop();
    for file in ["event.toml", "entrants.csv", "rounds/r1/round.toml", "rounds/r1/p1.sdm"] {
        let copied = std::fs::read_to_string(copy.join("event").join(file)).unwrap();
        assert_eq!(copied, sandbox.text(format!("event/{file}")));
    }
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gridmark"));
        command.args(arguments).arg("--root").arg(&copy).output().unwrap()
    };
    let restored = run(&["event", "standings", "--csv"]);
    assert_eq!(String::from_utf8(restored.stdout).unwrap(), sandbox.text("reports/standings.csv"));
    // The files of an event are no strangers among the reports.
    let own = sandbox.run("verify", &["--"; 0]);
    assert_eq!(own.code, Some(0), "{own:?}");
    assert!(!own.stdout.contains(".csv"), "{own:?}");
    // Its standings are not written yet, which is no disagreement.
    let verified = run(&["verify"]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");
}

#[test]
fn doctor_fails_if_others_can_read_the_puzzles_or_the_folder_is_wrong() {
    let sandbox = Sandbox::new();
    let folder = Folder::new();
    folder.write(&sandbox);
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(sandbox.path("event"), permissions).unwrap();
    };
    let doctor = || sandbox.run("doctor", &["--"; 0]).stdout;
    mode(0o755);
    assert!(
        doctor().contains("event can be read by everybody, and holds the puzzles"),
        "{}",
        doctor()
    );
    mode(0o750);
    let good = doctor();
    assert!(good.contains("event is good: Open with 3 entrants and 1 round"), "{good}");
    let mut wrong = folder;
    wrong.policies.clear();
    wrong.write(&sandbox);
    let found = doctor();
    assert!(found.contains("event is wrong: rounds/r1/round.toml:"), "{found}");
}
