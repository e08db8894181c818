//! `gridmark backup`, and restoring a root from it.

use super::{grade, interleaved};
use crate::kit::cases::{classic, hexudoku};
use crate::kit::crashes::files;
use crate::kit::{Outcome, Sandbox};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

#[track_caller]
fn backup(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let Outcome { code: ended, stdout, stderr, .. } = sandbox.run("backup", args);
    assert_eq!(ended, Some(code), "{stdout}{stderr}");
    stdout + &stderr
}

/// Replaces the sandbox's folders by those of the backup.
fn restore(sandbox: &Sandbox, backup: &Path) {
    for folder in ["inbox", "archive", "quarantine", "reports", "state"] {
        let _ = fs::remove_dir_all(sandbox.path(folder));
        let copied = Command::new("cp")
            .arg("-a")
            .args([backup.join(folder), sandbox.path(folder)])
            .status()
            .unwrap();
        assert!(copied.success());
    }
}

fn elsewhere() -> (TempDir, String) {
    let elsewhere = tempfile::tempdir().unwrap();
    let into = elsewhere.path().join("first").to_str().unwrap().to_owned();
    (elsewhere, into)
}

#[test]
fn a_backup_made_while_the_service_works_is_complete() {
    let mut sandbox = interleaved();
    let (elsewhere, _) = elsewhere();
    sandbox.start();
    for round in 0..4 {
        for i in 0..20 {
            sandbox.rename_in(format!("team/{round} {i}"), classic(i, "YNY"));
        }
        sandbox.rename_in(format!("other/large {round}"), classic(round, "YN").repeat(300));
        let into = elsewhere.path().join(format!("{round}"));
        backup(&sandbox, &[into.to_str().unwrap()], 0);
        let mut verify = Command::new(env!("CARGO_BIN_EXE_gridmark"));
        let output = verify.arg("verify").arg("--root").arg(&into).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    }
    sandbox.wait_for(42 + 4 * 21);
    sandbox.stop();
    sandbox.agrees();
    // A service can run on each of them, and finishes what was taken by then.
    for round in 0..4 {
        let mut restored = interleaved();
        restore(&restored, &elsewhere.path().join(format!("{round}")));
        grade(&mut restored);
        restored.agrees();
    }
}

#[test]
fn a_restored_backup_has_everything_it_held_and_grading_continues_from_there() {
    let mut sandbox = interleaved();
    let (elsewhere, into) = elsewhere();
    grade(&mut sandbox);
    let at_backup = sandbox.report_bytes();
    let output = backup(&sandbox, &[&into], 0);
    assert_eq!(output, format!("copied the ledger, 42 files and 4 reports into {into}\n"));
    // These are handed in after the backup.
    sandbox.rename_in("team/small 0", hexudoku(5));
    sandbox.rename_in("team/new", hexudoku(6));
    grade(&mut sandbox);
    let [again, new] =
        ["archive/team/small 0~2", "archive/team/new"].map(|path| sandbox.text(path));

    restore(&sandbox, Path::new(&into));
    assert_eq!(sandbox.report_bytes(), at_backup);
    sandbox.agrees();
    for (name, text) in [("team/small 0", again), ("team/new", new)] {
        sandbox.rename_in(name, text);
    }
    grade(&mut sandbox);
    sandbox.agrees();
    let rows = sandbox.submissions();
    let attempts = |name: &str| -> Vec<String> {
        let of_name = rows.iter().filter(|row| row.get("submission") == name);
        of_name.map(|row| row.columns(&["attempt", "archived_as", "status"])).collect()
    };
    assert_eq!(attempts("team/small 0").len(), 2);
    assert_eq!(attempts("team/small 0")[1], "2|team/small 0~2|graded");
    assert_eq!(attempts("team/new"), ["1|team/new|graded"]);
    // The reports still begin with the rows that the backup had.
    for (report, text) in at_backup {
        assert!(sandbox.text(Path::new("reports").join(&report)).starts_with(&text), "{report}");
    }
    drop(elsewhere);
}

#[test]
fn if_only_the_ledger_is_restored_unknown_files_are_found_and_kept() {
    let mut sandbox = interleaved();
    let (_elsewhere, into) = elsewhere();
    grade(&mut sandbox);
    backup(&sandbox, &[&into], 0);
    sandbox.rename_in("team/new", hexudoku(6));
    sandbox.rename_in("newcomers/p", hexudoku(7));
    grade(&mut sandbox);
    let whole = sandbox.report_bytes();
    fs::copy(Path::new(&into).join("state/ledger.db"), sandbox.path("state/ledger.db")).unwrap();
    let output = sandbox.run("verify", &[] as &[&str]);
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    for stray in ["archive/team/new", "archive/newcomers/p"] {
        let what =
            format!("{stray}: it lies in the archive, but the ledger has no submission there");
        assert!(output.stdout.contains(&what), "{}", output.stdout);
    }
    for name in ["team/new", "newcomers/p"] {
        let inbox = sandbox.path(Path::new("inbox").join(name));
        fs::create_dir_all(inbox.parent().unwrap()).unwrap();
        fs::rename(sandbox.path(Path::new("archive").join(name)), inbox).unwrap();
    }
    grade(&mut sandbox);
    sandbox.agrees();
    assert_eq!(sandbox.report_bytes()["folders/team.csv"], whole["folders/team.csv"]);
    assert!(sandbox.has("reports/folders/newcomers.csv.aside-1"));
}

#[test]
fn a_backup_goes_only_into_a_new_folder_outside_the_service() {
    let mut sandbox = Sandbox::new();
    let (elsewhere, into) = elsewhere();
    let output = backup(&sandbox, &[&into], 2);
    assert!(output.contains("no service has run here"), "{output}");
    sandbox.rename_in("p", hexudoku(6));
    sandbox.rename_in("team/p", hexudoku(7));
    grade(&mut sandbox);
    backup(&sandbox, &[&into], 0);
    let before = files(elsewhere.path());
    let output = backup(&sandbox, &[&into], 2);
    assert!(output.contains("exists already; name a new folder for the backup"), "{output}");
    assert_eq!(files(elsewhere.path()), before);
    let output = backup(&sandbox, &["archive/backup"], 2);
    assert!(output.contains("which is a folder of the service; name another one"), "{output}");
    assert!(!sandbox.has("archive/backup"));
    // The folder above it does not exist, as if a disk were not mounted.
    let away = elsewhere.path().join("not mounted/monday");
    let output = backup(&sandbox, &[away.to_str().unwrap()], 2);
    let missing = away.parent().unwrap();
    assert!(
        output
            .contains(&format!("the folder {} does not exist; mount its disk", missing.display())),
        "{output}"
    );
    assert!(!missing.exists());
}

#[test]
fn a_backup_can_link_files_and_lists_missing_ones() {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("p", hexudoku(6));
    sandbox.rename_in("team/p", hexudoku(7));
    sandbox.rename_in("failed", hexudoku(1));
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "failed").set("grade.tries_max", 1);
    sandbox.once();
    assert!(sandbox.has("quarantine/failed"));
    fs::remove_file(sandbox.path("archive/p")).unwrap();
    fs::remove_file(sandbox.path("reports/loose.csv")).unwrap();
    let output = backup(&sandbox, &["--link", "copy"], 1);
    assert!(output.contains("archive/p: the file is missing, here and in the backup"), "{output}");
    assert!(output.contains(
        "loose.csv: rows are missing; a service started on the backup rebuilds the report"
    ));
    let inode = |path: &str| fs::metadata(sandbox.path(path)).unwrap().ino();
    assert_eq!(inode("copy/archive/team/p"), inode("archive/team/p"));
    assert_eq!(sandbox.text("copy/quarantine/failed"), hexudoku(1));
    assert!(sandbox.has("copy/quarantine/failed.reason.txt"));
}
