//! Commands run by another user than the service: root, who may do everything, and somebody who may
//! not read what the service keeps.

use super::grade;
use crate::kit::Sandbox;
use crate::kit::cases::{classic, hexudoku};
use crate::kit::crashes::skip;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const NOBODY: u32 = 65_534;
/// A group that is nobody's.
const GROUP: u32 = 54_321;

/// Whether commands can be run by root and by nobody.
fn has_users() -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let has_users = rustix::process::geteuid().is_root()
        && command.arg("--version").uid(NOBODY).output().is_ok_and(|told| told.status.success());
    if !has_users {
        skip("EXPECTED_NOBODY", "only root can run commands as root and as nobody");
    }
    has_users
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

/// Whatever there is below this folder.
fn below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(below(&path));
        }
        all.push(path);
    }
    all.sort();
    all
}

#[track_caller]
fn all_is_nobodys(sandbox: &Sandbox) {
    for path in below(&sandbox.path("")) {
        assert_eq!(path.symlink_metadata().unwrap().uid(), NOBODY, "{}", path.display());
    }
}

/// Hands in a file as nobody.
fn hand_in(sandbox: &Sandbox, name: &str) {
    let (part, path) = (sandbox.path("part"), sandbox.path("inbox").join(name));
    fs::write(&part, hexudoku(9)).unwrap();
    chown(&part, Some(NOBODY), Some(NOBODY)).unwrap();
    fs::rename(part, path).unwrap();
}

#[test]
fn what_root_writes_anew_belongs_to_the_service_which_goes_on() {
    if !has_users() {
        return;
    }
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("p", hexudoku(1));
    sandbox.rename_in("team/p", classic(1, "YN"));
    sandbox.run_as_nobody();
    grade(&mut sandbox);
    let before = sandbox.report_bytes();
    let reports = sandbox.path("reports");
    chown(&reports, None, Some(GROUP)).unwrap();
    permit(&reports, 0o750);
    permit(&sandbox.path("reports/submissions.csv"), 0o600);
    sandbox.write("reports/submissions.csv", "changed\n");
    fs::remove_file(sandbox.path("reports/loose.csv")).unwrap();
    fs::remove_dir_all(sandbox.path("reports/folders")).unwrap();
    fs::remove_file(sandbox.path("state/lock")).unwrap();
    // Somebody lies in wait for root.
    let victim = tempfile::NamedTempFile::new().unwrap();
    symlink(victim.path(), sandbox.path("reports/loose.csv.part")).unwrap();
    chown_link(&sandbox.path("reports/loose.csv.part"));

    let told = sandbox.run_as(None, "verify", &["--repair"]);
    assert_eq!(told.code, Some(0), "{told:?}");
    fs::remove_file(sandbox.path("reports/submissions.csv.aside-1")).unwrap();
    assert_eq!(sandbox.report_bytes(), before);
    all_is_nobodys(&sandbox);
    for path in below(&reports) {
        assert_eq!(path.metadata().unwrap().gid(), GROUP, "{}", path.display());
    }
    assert_eq!(mode(&sandbox.path("reports/submissions.csv")), 0o600);
    assert_eq!(mode(&sandbox.path("reports/loose.csv")) & 0o007, 0);
    assert_eq!(mode(&sandbox.path("reports/folders")), 0o750);
    let found = victim.path().metadata().unwrap();
    assert_eq!((found.len(), found.uid()), (0, 0));

    sandbox.start();
    hand_in(&sandbox, "q");
    sandbox.wait_for(3);
    sandbox.stop();
}

fn chown_link(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

#[test]
fn what_root_hands_in_again_can_be_taken_by_the_service() {
    if !has_users() {
        return;
    }
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("team/failed", hexudoku(1));
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "team/failed").set("grade.tries_max", 1);
    sandbox.run_as_nobody();
    sandbox.once();
    assert!(sandbox.has("quarantine/team/failed"));
    for gone in ["inbox/team", "inbox"] {
        let _ = fs::remove_dir_all(sandbox.path(gone));
        let told = sandbox.run_as(None, "retry", &["--all"]);
        assert_eq!(told.code, Some(0), "{told:?}");
        all_is_nobodys(&sandbox);
        sandbox.once();
        assert!(sandbox.has("quarantine"), "{told:?}");
        assert!(!sandbox.has("inbox/team/failed"), "it was not taken");
    }
}
