//! Folders on mounts of their own. Between two mounts every rename is refused (`EXDEV`), though both may show
//! one file system, which has one device number: containers have such volumes, and systemd makes them for
//! `ReadWritePaths=`.

use crate::kit::Sandbox;
use crate::kit::cases::hexudoku;
use crate::kit::needs;
use crate::kit::reports::Row;
use gridmark::store::fail_point::Point;
use gridmark::store::lock::LOCK_NAME;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// A sandbox on whose island these lines of shell have run.
fn with(scripts: &[&str]) -> Option<Sandbox> {
    let sandbox = Sandbox::on_island()?;
    scripts.iter().for_each(|script| sandbox.on_shore(script));
    Some(sandbox)
}

/// Inbox or archive is mounted from another folder of the same disk.
const BOUND: [&str; 2] = [
    "mkdir -p inbox disk && mount --bind disk inbox",
    "mkdir -p archive disk && mount --bind disk archive",
];

const BELOW: &str = "mkdir -p inbox/team-07 && mount -t tmpfs none inbox/team-07";

fn outcome(row: &Row) -> String {
    row.columns(&["submission", "attempt", "filled", "status", "archived_as"])
}

/// The files in the inbox; folders do not count.
fn left(sandbox: &Sandbox) -> Vec<String> {
    fn list(folder: &Path, files: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => list(&entry.path(), files),
                false if entry.file_name() == LOCK_NAME => {}
                false => files.push(entry.file_name().into_string().unwrap()),
            }
        }
    }
    let mut files = Vec::new();
    list(&sandbox.path("inbox"), &mut files);
    files
}

fn log_lines(log: &str, words: &[&str]) -> usize {
    log.lines().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// Every file is graded once, moved whole, and nothing is said in the log over and over.
#[track_caller]
fn all_graded(sandbox: &mut Sandbox, names: &[&str]) {
    let mut rows = sandbox.wait_for(names.len());
    rows.sort_by_key(|row| row.get("submission").to_owned());
    for (row, name) in rows.iter().zip(names) {
        assert_eq!(outcome(row), format!("{name}|1|3|graded|{name}"));
        assert_eq!(fs::read(sandbox.archive().join(name)).unwrap(), hexudoku(3).as_bytes());
    }
    sandbox.wait_until("the inbox is empty", |sandbox| left(sandbox).is_empty());
}

/// Promise P1.
#[test]
fn files_are_graded_where_inbox_or_archive_is_a_mount_of_the_same_disk() {
    for script in BOUND {
        let Some(mut sandbox) = with(&[script]) else { return };
        sandbox.start();
        for name in ["a", "team/b", "team/c"] {
            sandbox.write(Path::new("inbox").join(name), hexudoku(3));
        }
        all_graded(&mut sandbox, &["a", "team/b", "team/c"]);
        sandbox.write("inbox/a", hexudoku(5));
        assert_eq!(outcome(&sandbox.wait_for(4)[3]), "a|2|5|graded|a~2");
        let ended = sandbox.terminate();
        assert_eq!(log_lines(&ended.log, &["WARN"]) + log_lines(&ended.log, &["ERROR"]), 0);
        sandbox.agrees();
    }
}

#[test]
fn once_ends_where_the_inbox_is_a_mount() {
    for script in [BOUND[0], BELOW] {
        let Some(mut sandbox) = with(&[script]) else { return };
        sandbox.write("inbox/team-07/p", hexudoku(3));
        let output = sandbox.once();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        all_graded(&mut sandbox, &["team-07/p"]);
    }
}

/// Promise P1.
#[test]
fn files_are_graded_from_a_mount_in_the_inbox_and_into_one_in_the_archive() {
    let Some(mut sandbox) =
        with(&[BELOW, "mkdir -p archive/team-08 && mount -t tmpfs none archive/team-08"])
    else {
        return;
    };
    sandbox.start();
    let names = ["p", "team-07/deep/p", "team-07/p", "team-08/p"];
    for name in names {
        sandbox.write(Path::new("inbox").join(name), hexudoku(3));
    }
    all_graded(&mut sandbox, &names);
    sandbox.stop();
    sandbox.agrees();
}

/// Promise P4.
///
/// A crash at each step of a copy, in an inbox that is a mount and in a folder of it that is one.
#[test]
fn a_crash_while_a_file_is_copied_from_a_mount_loses_and_doubles_nothing() {
    let points = [Point::FileHidden, Point::FileHalfCopied, Point::FileCopied, Point::CopyNamed];
    for script in [BOUND[0], BELOW] {
        for point in points {
            let Some(mut sandbox) = with(&[script]) else { return };
            sandbox.write("inbox/team-07/p", hexudoku(3));
            let ended = sandbox.once_dying_at(point, 1);
            assert!(ended.is_none(), "it passes {point:?}: {ended:?}");
            assert_eq!(left(&sandbox), [".gridmark-1"]);
            let outcome = sandbox.run("verify", &[] as &[&str]);
            assert!(outcome.stdout.contains("is not finished"), "{outcome:?}");
            assert!(!outcome.stdout.contains("gone"), "{outcome:?}");
            assert!(outcome.stdout.contains("the next start grades it"), "{outcome:?}");
            sandbox.start();
            all_graded(&mut sandbox, &["team-07/p"]);
            sandbox.stop();
            sandbox.agrees();
        }
    }
}

#[test]
fn a_file_that_is_a_mount_is_left_with_that_reason_and_harms_no_other() {
    for script in [None, Some(BOUND[0])] {
        let Some(mut sandbox) = with(script.as_slice()) else { return };
        sandbox.write("inbox/team/mounted", hexudoku(1));
        sandbox.write("real", hexudoku(3));
        sandbox.on_shore("mount --bind real inbox/team/mounted");
        sandbox.set("health.stuck_ms_max", 3000).start();
        sandbox.write("inbox/team/other", hexudoku(3));
        sandbox.wait_for(1);
        // Once that has lasted, it is reported.
        let words = ["team/mounted", "it is a mount point itself"];
        sandbox.wait_until("it is not ready", |sandbox| {
            let ready = sandbox.service().get("/readyz");
            ready.starts_with("HTTP/1.1 503") && words.iter().all(|word| ready.contains(word))
        });
        assert!(sandbox.service().metrics().of("gridmark_oldest_waiting_seconds") >= 1.5);
        let outcome = sandbox.run("why", &["team/mounted"]);
        assert!(outcome.first().contains("could not be taken"), "{outcome:?}");
        assert!(outcome.first().contains("it is a mount point itself"), "{outcome:?}");
        sandbox.on_shore("umount inbox/team/mounted");
        let rows = sandbox.wait_for(2);
        assert_eq!(outcome_of(&rows, "team/mounted"), "team/mounted|1|1|graded|team/mounted");
        sandbox.wait_until("it is ready again", |sandbox| {
            sandbox.service().get("/readyz").starts_with("HTTP/1.1 200")
                && sandbox.service().metrics().of("gridmark_oldest_waiting_seconds") == 0.0
        });
    }
}

fn outcome_of(rows: &[Row], name: &str) -> String {
    rows.iter().find(|row| row.get("submission") == name).map(outcome).unwrap_or_default()
}

/// Promise P1.
#[test]
fn a_read_only_inbox_is_reported_and_its_files_are_graded_once_it_is_writable() {
    let Some(mut sandbox) = with(&[]) else { return };
    let names: Vec<String> = (10..40).map(|i| format!("team/{i}")).collect();
    for name in &names {
        sandbox.write(Path::new("inbox").join(name), hexudoku(3));
    }
    sandbox.on_shore("mount --bind inbox inbox && mount -o remount,bind,ro inbox");
    sandbox.set("health.stuck_ms_max", 3000).start_unready();
    sandbox.wait_until("it is not ready", |sandbox| {
        let ready = sandbox.service().get("/readyz");
        let words = ["cannot be taken: 30", "the inbox", "Read-only file system"];
        ready.starts_with("HTTP/1.1 503") && words.iter().all(|word| ready.contains(word))
    });
    let metrics = sandbox.service().metrics();
    assert!(metrics.of("gridmark_oldest_waiting_seconds") >= 1.5);
    assert_eq!(metrics.of("gridmark_ready"), 0.0);
    let outcome = sandbox.run("why", &["team/10"]);
    assert!(outcome.first().contains("Read-only file system"), "{outcome:?}");
    sandbox.wait_until("each was tried often", |sandbox| {
        sandbox.service().metrics().of("gridmark_claim_errors_total") >= 90.0
    });
    let log = sandbox.service().log();
    assert_eq!(log_lines(&log, &["cannot take"]), 1, "{log}");
    sandbox.on_shore("mount -o remount,bind,rw inbox");
    all_graded(&mut sandbox, &names.iter().map(String::as_str).collect::<Vec<_>>());
    sandbox.wait_until("it is ready again", |sandbox| {
        sandbox.service().get("/readyz").starts_with("HTTP/1.1 200")
    });
}

/// The way back and the way into quarantine are copies too.
#[test]
fn files_go_into_quarantine_and_back_across_mounts() {
    let Some(mut sandbox) =
        with(&[BOUND[1], "mkdir quarantine && mount -t tmpfs none quarantine", BELOW])
    else {
        return;
    };
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "team-07/p").start();
    sandbox.write("inbox/team-07/p", hexudoku(3));
    sandbox.wait_until("it is in quarantine", |sandbox| sandbox.has("quarantine/team-07/p"));
    sandbox.wait_until("it has left the archive", |sandbox| !sandbox.has("archive/team-07/p"));
    sandbox.stop();
    sandbox.set_variable("TEST_GRIDMARK_PANIC_ON", "").start();
    let outcome = sandbox.run("retry", &["team-07/p"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let rows = sandbox.wait_for(2);
    assert_eq!(rows[1].columns(&["submission", "attempt", "status"]), "team-07/p|2|graded");
    assert!(!sandbox.has("quarantine/team-07/p") && sandbox.has("archive/team-07/p~2"));
    sandbox.stop();
    sandbox.verifies();
}

/// A file system that keeps whole seconds alone, as ext4 does with small inodes; FAT keeps every other one.
struct Rounding(TempDir);

impl Rounding {
    fn new() -> Rounding {
        let rounding = Rounding(tempfile::tempdir().unwrap());
        let image = rounding.0.path().join("image");
        File::create(&image).unwrap().set_len(32 << 20).unwrap();
        fs::create_dir(rounding.path()).unwrap();
        for command in [
            Command::new("mkfs.ext4").args(["-q", "-F", "-I", "128"]).arg(&image),
            Command::new("mount").args(["-o", "loop"]).arg(&image).arg(rounding.path()),
        ] {
            let output = command.output().unwrap();
            assert!(output.status.success(), "{output:?}");
        }
        rounding
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("disk")
    }
}

impl Drop for Rounding {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.path()).output();
    }
}

/// Promise P7.
///
/// Neither a service nor a start after a loss of power takes a rounded time for damage.
#[test]
fn an_archive_that_rounds_times_changes_nothing() {
    if !needs::loop_mounts() {
        return;
    }
    let disk = Rounding::new();
    let mut sandbox = Sandbox::new();
    sandbox.set("paths.archive", disk.path().join("archive").display());
    sandbox.use_boot_ids();
    for name in ["a", "team/b"] {
        sandbox.write(Path::new("inbox").join(name), hexudoku(3));
    }
    assert!(sandbox.once_dying_at(Point::FileMoved, 2).is_none());
    sandbox.reboot();
    sandbox.start();
    all_graded(&mut sandbox, &["a", "team/b"]);
    sandbox.write("inbox/team/c", hexudoku(3));
    all_graded(&mut sandbox, &["a", "team/b", "team/c"]);
    assert_eq!(sandbox.service().metrics().of("gridmark_put_back_total"), 0.0);
    sandbox.stop();
    sandbox.agrees();
}

/// What was taken would be taken again for ever.
#[test]
fn folders_that_lie_in_each_other_through_a_mount_are_refused() {
    for script in [
        "mkdir -p archive/in inbox && mount --bind archive/in inbox",
        "mkdir -p inbox/team archive && mount --bind inbox archive",
        "mkdir -p inbox/reports reports && mount --bind inbox/reports reports",
    ] {
        let Some(mut sandbox) = with(&[script]) else { return };
        sandbox.write("inbox/p", hexudoku(3));
        let output = sandbox.once();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{script}: {errors}");
        assert!(errors.contains("through a link or a mount"), "{script}: {errors}");
        assert!(sandbox.has("inbox/p"));
        let outcome = sandbox.run("doctor", &["--listen", "127.0.0.1:0"]);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stdout.contains("through a link or a mount"), "{outcome:?}");
    }
}

#[test]
fn doctor_says_where_files_are_copied_or_stay() {
    let doctor = |sandbox: &Sandbox, words: &[&str]| {
        let outcome = sandbox.run("doctor", &["--listen", "127.0.0.1:0"]);
        let is_it = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(outcome.stdout.lines().any(is_it), "{words:?}: {}", outcome.stdout);
    };
    let Some(sandbox) = with(&[BOUND[0]]) else { return };
    doctor(&sandbox, &["moves", "copied and synced", "or two mounts of one"]);
    let Some(sandbox) = with(&[
        BELOW,
        "mkdir -p inbox/ro && mount -t tmpfs -o ro none inbox/ro",
        "mkdir -p archive/deep && mount -t tmpfs none archive/deep",
        "touch real inbox/p && mount --bind real inbox/p",
    ]) else {
        return;
    };
    doctor(&sandbox, &["moves", "inbox/team-07 is mounted in the inbox", "copied from there"]);
    doctor(&sandbox, &["moves", "archive/deep is mounted in the archive", "copied into it"]);
    doctor(&sandbox, &["warn", "moves", "cannot take files out of", "inbox/ro", "read-only"]);
    doctor(&sandbox, &["warn", "moves", "inbox/p out of the inbox", "is a mount point"]);
}

#[test]
fn an_archive_without_inodes_is_said_to_be_without_inodes() {
    let inodes = "mkdir -p archive && mount -t tmpfs -o size=16m,nr_inodes=20 none archive";
    let Some(mut sandbox) = with(&[inodes]) else { return };
    let ballast: Vec<_> = (0..).map(|i| sandbox.path(format!("archive/.{i}"))).take(40).collect();
    let made = ballast.iter().take_while(|path| fs::write(path, "").is_ok()).count();
    assert!((10..25).contains(&made), "{made}");
    sandbox.start_unready();
    sandbox.write("inbox/p", hexudoku(3));
    sandbox.wait_until("it says so", |sandbox| {
        sandbox.service().get("/readyz").contains("its inodes have run out")
    });
    ballast[..made].iter().for_each(|path| fs::remove_file(path).unwrap());
    all_graded(&mut sandbox, &["p"]);
}
