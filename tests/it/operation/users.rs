//! Commands run by another user than the service: root, who may do everything, and nobody, who may not
//! read the state.

use super::grade;
use crate::kit::cases::{classic, hexudoku};
use crate::kit::needs::{self, NOBODY};
use crate::kit::{Outcome, Sandbox};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// A group that is nobody's.
const GROUP: u32 = 54_321;
const NOTHING: [&str; 0] = [];

/// Whether commands can be run by root and by nobody.
fn has_users() -> bool {
    needs::root() && needs::unprivileged_user()
}

/// Runs the program as nobody.
fn as_nobody(args: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let outcome = command.args(args).env_clear().current_dir("/").uid(NOBODY).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome {
        code: outcome.status.code(),
        stdout: text(outcome.stdout),
        stderr: text(outcome.stderr),
    }
}

fn permit(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

/// All paths below this folder.
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

/// A service of root's that has graded `p`, if commands can be run as nobody.
fn with_one() -> Option<Sandbox> {
    if !has_users() {
        return None;
    }
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("p", hexudoku(1));
    sandbox.start();
    sandbox.wait_for(1);
    Some(sandbox)
}

#[test]
fn reports_that_root_rebuilds_belong_to_the_service() {
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
    for lock in ["state/lock", "reports/.gridmark-lock"] {
        fs::remove_file(sandbox.path(lock)).unwrap();
    }
    // An attacker has left a link for root to follow.
    let victim = tempfile::NamedTempFile::new().unwrap();
    symlink(victim.path(), sandbox.path("reports/loose.csv.part")).unwrap();
    chown_link(&sandbox.path("reports/loose.csv.part"));

    let outcome = sandbox.run_as(None, "verify", &["--repair"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    fs::remove_file(sandbox.path("reports/submissions.csv.aside-1")).unwrap();
    assert_eq!(sandbox.report_bytes(), before);
    all_is_nobodys(&sandbox);
    // A lock belongs to the service in every folder.
    for path in below(&reports).iter().filter(|path| !path.ends_with(".gridmark-lock")) {
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
fn a_retry_by_root_can_be_taken_by_the_service() {
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
        let outcome = sandbox.run_as(None, "retry", &["--all"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        all_is_nobodys(&sandbox);
        sandbox.once();
        assert!(sandbox.has("quarantine"), "{outcome:?}");
        assert!(!sandbox.has("inbox/team/failed"), "it was not taken");
    }
}

#[test]
fn a_user_who_may_not_read_the_state_is_shown_which_user_may() {
    let Some(sandbox) = with_one() else { return };
    let root = sandbox.path("");
    let root = root.to_str().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let into = elsewhere.path().join("copy");
    permit(&sandbox.path(""), 0o755);
    for (state, ledger) in [(0o755, 0o600), (0o700, 0o644)] {
        permit(&sandbox.path("state"), state);
        permit(&sandbox.path("state/ledger.db"), ledger);
        for args in [
            &["why", "p"][..],
            &["verify"],
            &["verify", "--repair"],
            &["backup", into.to_str().unwrap()],
            &["retry", "--all"],
        ] {
            let outcome = as_nobody(&[&args[..1], &["--root", root], &args[1..]].concat());
            assert_eq!(outcome.code, Some(2), "{args:?}: {outcome:?}");
            for words in [
                "ledger.db cannot be read by this user (uid 65534): permission denied; run ",
                "as the service's user (root, uid 0), e.g. `sudo gridmark ",
            ] {
                assert!(outcome.stderr.contains(words), "{args:?}: {outcome:?}");
            }
        }
    }
    let outcome = as_nobody(&["reload", "--root", root]);
    let words = "state/lock cannot be read by this user (uid 65534): permission denied; run it as ";
    assert!(outcome.code == Some(1) && outcome.stderr.contains(words), "{outcome:?}");
}

#[test]
fn doctor_reports_missing_rights_and_advises_nothing_destructive() {
    let Some(sandbox) = with_one() else { return };
    let (root, address) = (sandbox.path(""), sandbox.service().address().to_string());
    let root = root.to_str().unwrap();
    permit(&sandbox.path("state"), 0o700);
    for mode in [0o755, 0o700] {
        permit(&sandbox.path(""), mode);
        let outcome = as_nobody(&["doctor", "--root", root, "--listen", &address]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        for wrong in [
            "unable to open",
            "move the state folder",
            "move it away",
            "another program",
            "none of the folders yet",
            "chown",
            "chmod",
        ] {
            assert!(!outcome.stdout.contains(wrong), "{wrong}: {}", outcome.stdout);
        }
        for words in
            ["cannot be read by this user (uid 65534): permission denied", "sudo gridmark doctor"]
        {
            assert!(outcome.stdout.contains(words), "{words}: {}", outcome.stdout);
        }
    }
    let outcome = as_nobody(&["doctor", "--root", "/etc/passwd", "--listen", "127.0.0.1:0"]);
    assert!(
        outcome.stdout.contains("/etc/passwd/inbox cannot be used: Not a directory"),
        "{outcome:?}"
    );
    for wrong in ["unable to open", "move the state folder", "none of the folders yet", "chmod"] {
        assert!(!outcome.stdout.contains(wrong), "{wrong}: {}", outcome.stdout);
    }
}

#[test]
fn health_does_not_guess_the_service_of_an_unreadable_root() {
    if !has_users() {
        return;
    }
    let sandbox = Sandbox::started();
    permit(&sandbox.path(""), 0o755);
    permit(&sandbox.path("state"), 0o700);
    let outcome = as_nobody(&["health", "--root", sandbox.path("").to_str().unwrap()]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    for words in [
        "no answer\n",
        "the service of this root cannot be identified",
        "state/lock cannot be read by this user (uid 65534)",
        "--at 127.0.0.1:9464",
    ] {
        assert!(outcome.stdout.contains(words), "{words}: {outcome:?}");
    }
}

#[test]
fn a_backup_lets_nobody_read_more_than_the_root_does() {
    let mut sandbox = Sandbox::new();
    for name in ["p", "team/p", "team/failed"] {
        sandbox.rename_in(name, hexudoku(1));
    }
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "team/failed").set("grade.tries_max", 1);
    let is_root = rustix::process::geteuid().is_root() && sandbox.run_as_nobody();
    sandbox.once();
    for (path, mode) in [
        ("inbox", 0o2770),
        ("state", 0o700),
        ("state/ledger.db", 0o600),
        ("archive", 0o750),
        ("archive/team", 0o710),
        ("archive/p", 0o640),
        ("quarantine/team/failed", 0o600),
        ("reports", 0o751),
        ("reports/folders/team.csv", 0o440),
    ] {
        permit(&sandbox.path(path), mode);
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let into = elsewhere.path().join("first");
    // Root keeps owners, too.
    let outcome = sandbox.run_as(None, "backup", &[into.as_os_str()]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(mode(&into), 0o700);
    let copied = below(&into);
    assert!(copied.len() > 14, "{copied:?}");
    for copy in copied {
        let source = sandbox.path(copy.strip_prefix(&into).unwrap());
        assert_eq!(mode(&copy), mode(&source), "{}", copy.display());
        let owner = |path: &Path| path.metadata().map(|found| (found.uid(), found.gid())).unwrap();
        assert!(!is_root || owner(&copy) == owner(&source), "{}", copy.display());
    }
    let verified = sandbox.run_as(None, "verify", &NOTHING);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}
