//! `gridmark backup`, and what is restored from it.

use super::{grade, interleaved};
use crate::kit::cases::{classic, hexudoku};
use crate::kit::crashes::files;
use crate::kit::{Sandbox, Told};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

#[track_caller]
fn backup(sandbox: &Sandbox, args: &[&str], code: i32) -> String {
    let Told { code: ended, stdout, stderr, .. } = sandbox.run("backup", args);
    assert_eq!(ended, Some(code), "{stdout}{stderr}");
    stdout + &stderr
}

/// Puts a backup in the place of what there was.
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
fn a_backup_that_is_made_while_the_service_works_is_whole() {
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
        let told = verify.arg("verify").arg("--root").arg(&into).output().unwrap();
        assert_eq!(told.status.code(), Some(0), "{}", String::from_utf8_lossy(&told.stdout));
    }
    sandbox.wait_for(42 + 4 * 21);
    sandbox.stop();
    sandbox.agrees();
    // Each of them can be served, and ends with what was taken by then.
    for round in 0..4 {
        let mut restored = interleaved();
        restore(&restored, &elsewhere.path().join(format!("{round}")));
        grade(&mut restored);
        restored.agrees();
    }
}

#[test]
fn after_a_loss_the_backup_brings_back_all_that_it_held_and_goes_on_from_there() {
    let mut sandbox = interleaved();
    let (elsewhere, into) = elsewhere();
    grade(&mut sandbox);
    let at_backup = sandbox.report_bytes();
    let told = backup(&sandbox, &[&into], 0);
    assert_eq!(told, format!("copied the ledger, 42 files and 4 reports into {into}\n"));
    // What is handed in now is in no backup.
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
    let told = |name: &str| -> Vec<String> {
        let of_name = rows.iter().filter(|row| row.get("submission") == name);
        of_name.map(|row| row.columns(&["attempt", "archived_as", "status"])).collect()
    };
    assert_eq!(told("team/small 0").len(), 2);
    assert_eq!(told("team/small 0")[1], "2|team/small 0~2|graded");
    assert_eq!(told("team/new"), ["1|team/new|graded"]);
    // What was there at the time of the backup stands there still.
    for (report, text) in at_backup {
        assert!(sandbox.text(Path::new("reports").join(&report)).starts_with(&text), "{report}");
    }
    drop(elsewhere);
}

#[test]
fn if_only_the_ledger_is_restored_files_that_it_does_not_know_are_told_and_kept() {
    let mut sandbox = interleaved();
    let (_elsewhere, into) = elsewhere();
    grade(&mut sandbox);
    backup(&sandbox, &[&into], 0);
    sandbox.rename_in("team/new", hexudoku(6));
    sandbox.rename_in("newcomers/p", hexudoku(7));
    grade(&mut sandbox);
    let whole = sandbox.report_bytes();
    fs::copy(Path::new(&into).join("state/ledger.db"), sandbox.path("state/ledger.db")).unwrap();
    let told = sandbox.run("verify", &[] as &[&str]);
    assert_eq!(told.code, Some(1), "{}", told.stdout);
    for stray in ["archive/team/new", "archive/newcomers/p"] {
        let what =
            format!("{stray}: it lies in the archive, but the ledger has no submission there");
        assert!(told.stdout.contains(&what), "{}", told.stdout);
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
fn a_backup_is_made_into_a_new_folder_outside_alone() {
    let mut sandbox = Sandbox::new();
    let (elsewhere, into) = elsewhere();
    let told = backup(&sandbox, &[&into], 2);
    assert!(told.contains("no service has run here"), "{told}");
    sandbox.rename_in("p", hexudoku(6));
    sandbox.rename_in("team/p", hexudoku(7));
    grade(&mut sandbox);
    backup(&sandbox, &[&into], 0);
    let before = files(elsewhere.path());
    let told = backup(&sandbox, &[&into], 2);
    assert!(told.contains("is there already; a backup is made into a new folder"), "{told}");
    assert_eq!(files(elsewhere.path()), before);
    let told = backup(&sandbox, &["archive/backup"], 2);
    assert!(told.contains("which belongs to the service; take another folder"), "{told}");
    assert!(!sandbox.has("archive/backup"));
    // A disk that is not mounted.
    let away = elsewhere.path().join("not mounted/monday");
    let told = backup(&sandbox, &[away.to_str().unwrap()], 2);
    let missing = away.parent().unwrap();
    assert!(told.contains(&format!("there is no folder {}, ", missing.display())), "{told}");
    assert!(!missing.exists());
}

#[test]
fn a_backup_may_give_files_a_second_name_and_tells_what_is_gone() {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("p", hexudoku(6));
    sandbox.rename_in("team/p", hexudoku(7));
    sandbox.rename_in("failed", hexudoku(1));
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "failed").set("grade.tries_max", 1);
    sandbox.once();
    assert!(sandbox.has("quarantine/failed"));
    fs::remove_file(sandbox.path("archive/p")).unwrap();
    fs::remove_file(sandbox.path("reports/loose.csv")).unwrap();
    let told = backup(&sandbox, &["--link", "copy"], 1);
    assert!(told.contains("archive/p: it is gone, and not in the backup"), "{told}");
    assert!(told.contains("loose.csv: rows are missing; a start from the backup writes it anew"));
    let inode = |path: &str| fs::metadata(sandbox.path(path)).unwrap().ino();
    assert_eq!(inode("copy/archive/team/p"), inode("archive/team/p"));
    assert_eq!(sandbox.text("copy/quarantine/failed"), hexudoku(1));
    assert!(sandbox.has("copy/quarantine/failed.reason.txt"));
}
