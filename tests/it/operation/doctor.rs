//! `gridmark doctor`: it finds each fault and says what to do, reports what is well, and changes nothing.

use crate::kit::cases::{classic, some};
use crate::kit::needs::{self, need};
use crate::kit::{Outcome, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Child;

/// An address that is always free.
const ANY_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// A sandbox on the disk of the build folder: a root in memory is a finding of its own.
fn on_disk() -> Sandbox {
    Sandbox::within(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn examine(sandbox: &Sandbox) -> Outcome {
    sandbox.run("doctor", &ANY_PORT)
}

/// The findings of this check, each as `LEVEL FOUND | REMEDY`.
fn findings(output: &Outcome, check: &str) -> Vec<String> {
    let mut findings: Vec<String> = Vec::new();
    let mut is_it = false;
    for line in output.stdout.lines() {
        if let Some(remedy) = line.trim_start().strip_prefix("to do: ") {
            if is_it {
                findings.last_mut().unwrap().push_str(&format!(" | {remedy}"));
            }
            continue;
        }
        let mut words = line.split_ascii_whitespace();
        let level = words.next().unwrap();
        is_it = words.next() == Some(check);
        if is_it {
            findings.push(format!("{level} {}", words.collect::<Vec<_>>().join(" ")));
        }
    }
    findings
}

/// Asserts that a finding of this check has the level and contains all of the words.
#[track_caller]
fn has(output: &Outcome, check: &str, level: &str, words: &[&str]) {
    let found = findings(output, check);
    let is_it = |finding: &&String| {
        finding.starts_with(level) && words.iter().all(|word| finding.contains(word))
    };
    assert!(found.iter().any(|it| is_it(&it)), "{check} {level} {words:?}:\n{}", output.stdout);
}

#[track_caller]
fn fails(output: &Outcome, check: &str, words: &[&str]) {
    has(output, check, "FAIL ", words);
    assert_eq!(output.code, Some(1), "{}", output.stdout);
    assert!(output.stdout.ends_with(": this machine is not ready\n"), "{}", output.stdout);
    // Every failure says what to do.
    let lines = output.stdout.lines().collect::<Vec<_>>();
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with("FAIL ")) {
        assert!(pair[1].trim_start().starts_with("to do: "), "{}", output.stdout);
    }
}

/// The path of everything below the root, with the bytes of files.
fn contents(sandbox: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    fn add(folder: &Path, all: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_folder = path.is_dir();
            let bytes = if is_folder { Vec::new() } else { fs::read(&path).unwrap() };
            all.insert(path.display().to_string(), bytes);
            if is_folder {
                add(&path, all);
            }
        }
    }
    let mut all = BTreeMap::new();
    add(&sandbox.path(""), &mut all);
    all
}

#[track_caller]
fn is_well(output: &Outcome) {
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    for check in [
        "settings",
        "inbox",
        "archive",
        "quarantine",
        "reports",
        "state",
        "room",
        "moves",
        "names",
        "lock",
        "processor",
        "address",
        "trial",
    ] {
        let found = findings(output, check);
        let all_well = found.iter().all(|finding| finding.starts_with("ok "));
        assert!(!found.is_empty() && all_well, "{check}:\n{}", output.stdout);
    }
    has(output, "trial", "ok ", &["4 submissions", "found by events", "all marks right"]);
    assert!(output.stdout.lines().last().unwrap().contains("0 failures: this machine is ready"));
}

#[test]
fn on_a_good_machine_all_is_well_and_nothing_is_changed() {
    let sandbox = on_disk();
    let found = (!sandbox.is_in_memory()).then_some(()).ok_or("target is on a tmpfs".into());
    if need("a disk to build on", found, "set CARGO_TARGET_DIR to a folder on one").is_none() {
        return;
    }
    let output = examine(&sandbox);
    is_well(&output);
    has(&output, "root", "note", &["none of the folders yet"]);
    assert_eq!(contents(&sandbox), BTreeMap::new());
    is_well(&examine(&sandbox));
}

#[test]
fn a_root_with_submissions_is_not_changed() {
    let mut sandbox = on_disk();
    for i in 0..10 {
        sandbox.write(format!("inbox/{}/{i}", i % 3), some(i));
    }
    let ended = sandbox.once();
    assert!(ended.status.success());
    sandbox.write("inbox/late/1", some(1));
    let before = contents(&sandbox);
    let output = examine(&sandbox);
    has(&output, "ledger", "ok ", &["is sound: 10 submissions, 0 of them unfinished"]);
    has(&output, "contents", "ok ", &["1 file in "]);
    has(&output, "trial", "ok ", &[]);
    assert_eq!(contents(&sandbox), before);
}

#[test]
fn it_reports_the_running_service_and_does_not_disturb_it() {
    let mut sandbox = on_disk();
    sandbox.start();
    sandbox.rename_in("team/1", classic(1, "YN"));
    sandbox.wait_for(1);
    let process = format!("process {} works on this root", sandbox.service().process());
    let address = sandbox.service().address().to_string();
    let output = sandbox.run("doctor", &["--listen", &address]);
    has(&output, "service", "ok ", &[&process, "is ready"]);
    has(&output, "address", "ok ", &["is used by the service of this root"]);
    has(&output, "trial", "ok ", &[]);
    has(&output, "ledger", "ok ", &["is sound: 1 submission,"]);
    sandbox.rename_in("team/2", classic(2, "Y"));
    sandbox.wait_for(2);
    let log = sandbox.service().log();
    assert!(!log.contains(" WARN ") && !log.contains(" ERROR "), "{log}");
    // The reasons that the service gives are reported.
    sandbox.write("reports/.keep", "");
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    sandbox.write("reports", "no folder");
    sandbox.rename_in("team/3", classic(3, "Y"));
    sandbox.wait_until("it is not ready", |sandbox| {
        sandbox.service().get("/readyz").starts_with("HTTP/1.1 503 ")
    });
    let output = examine(&sandbox);
    fails(&output, "service", &[&process, "is not ready: ", "cannot rebuild the report"]);
    fails(&output, "reports", &["is not a folder", "paths.reports"]);
}

#[test]
fn a_service_that_does_not_answer_is_a_failure() {
    let mut sandbox = Sandbox::started();
    let process = format!("process {} works on this root", sandbox.service().process());
    sandbox.service().pause();
    let output = examine(&sandbox);
    sandbox.service().resume();
    fails(&output, "service", &[&process, "does not answer"]);
    sandbox.stop();
    has(&examine(&sandbox), "service", "ok ", &["no service runs on this root"]);
}

#[test]
fn files_and_dangling_links_in_place_of_folders_are_failures() {
    let sandbox = Sandbox::new();
    sandbox.write("archive", "a file");
    symlink("nowhere", sandbox.path("state")).unwrap();
    let output = examine(&sandbox);
    fails(&output, "archive", &["is not a folder", "paths.archive"]);
    fails(&output, "state", &["is a link to something that does not exist", "paths.state"]);
    assert_eq!(findings(&output, "trial"), Vec::<String>::new());
    assert_eq!(sandbox.text("archive"), "a file");
}

#[test]
fn links_to_folders_are_followed() {
    let sandbox = on_disk();
    fs::create_dir(sandbox.path("elsewhere")).unwrap();
    symlink("elsewhere", sandbox.path("archive")).unwrap();
    let output = examine(&sandbox);
    has(&output, "archive", "ok ", &["a link to ", "elsewhere"]);
    has(&output, "trial", "ok ", &[]);
    assert_eq!(fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 0);
}

fn permit(sandbox: &Sandbox, path: &str, mode: u32) {
    fs::set_permissions(sandbox.path(path), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn missing_permissions_are_failures() {
    let mut sandbox = Sandbox::new();
    sandbox.write("inbox/closed/1", some(1));
    sandbox.write("inbox/open/secret", some(2));
    sandbox.write("state/grading", "");
    sandbox.write("reports/folders/team.csv", "");
    if !sandbox.run_as_nobody() {
        return;
    }
    permit(&sandbox, "inbox/closed", 0o555);
    permit(&sandbox, "inbox/open/secret", 0o000);
    permit(&sandbox, "reports/folders/team.csv", 0o444);
    permit(&sandbox, "state", 0o555);
    let output = examine(&sandbox);
    permit(&sandbox, "state", 0o755);
    fails(&output, "state", &["cannot be written", "Permission denied", "chown"]);
    fails(
        &output,
        "contents",
        &["this user cannot take files out of ", "inbox/closed", "chgrp", "chmod"],
    );
    fails(&output, "contents", &["this user cannot read ", "inbox/open/secret", "chgrp", "chmod"]);
    fails(&output, "contents", &["this user cannot write ", "team.csv", "chown"]);
}

#[test]
fn folders_of_another_user_are_failures() {
    let mut sandbox = Sandbox::new();
    if !needs::root() || !sandbox.run_as_nobody() {
        return;
    }
    fs::create_dir(sandbox.path("archive")).unwrap();
    permit(&sandbox, "archive", 0o755);
    fails(&examine(&sandbox), "archive", &["cannot be written", "belongs to user 0", "chown"]);
    fs::remove_dir(sandbox.path("archive")).unwrap();
    fs::create_dir(sandbox.path("inbox")).unwrap();
    permit(&sandbox, "inbox", 0o1777);
    fails(&examine(&sandbox), "inbox", &["is sticky", "chmod -t"]);
    // Root's permissions say nothing about those of the service.
    let output = sandbox.run_as(None, "doctor", &ANY_PORT);
    has(&output, "user", "note", &["this is root"]);
    std::os::unix::fs::chown(sandbox.path("inbox"), Some(65_534), None).unwrap();
    let output = sandbox.run_as(None, "doctor", &ANY_PORT);
    has(&output, "user", "warn", &["root", "inbox belongs to user 65534", "sudo -u '#65534'"]);
}

#[test]
fn a_folder_that_everybody_can_write_is_a_warning_and_with_strict_a_failure() {
    let sandbox = on_disk();
    fs::create_dir(sandbox.path("reports")).unwrap();
    permit(&sandbox, "reports", 0o777);
    let output = examine(&sandbox);
    has(&output, "reports", "warn", &["by everybody", "chmod o-w"]);
    if !sandbox.is_in_memory() {
        assert_eq!(output.code, Some(0), "{}", output.stdout);
    }
    let output = sandbox.run("doctor", &["--strict", ANY_PORT[0], ANY_PORT[1]]);
    assert_eq!(output.code, Some(1), "{}", output.stdout);
}

/// A sandbox in which this folder is a file system of its own, in memory; `None` if that is not possible.
fn with_own(folder: &str, options: &str) -> Option<Sandbox> {
    let sandbox = Sandbox::on_island()?;
    fs::create_dir_all(sandbox.path(folder)).unwrap();
    sandbox.on_shore(&format!("mount -t tmpfs -o {options} none {folder}"));
    Some(sandbox)
}

#[test]
fn a_read_only_file_system_is_a_failure() {
    let Some(sandbox) = with_own("archive", "size=16m") else { return };
    let output = examine(&sandbox);
    fails(&output, "disk", &["archive on tmpfs", "lost with the power", "paths.archive"]);
    has(&output, "moves", "warn", &["two file systems", "one volume"]);
    has(&output, "trial", "ok ", &[]);
    sandbox.on_shore("mount -o remount,ro archive");
    let output = examine(&sandbox);
    fails(&output, "archive", &["cannot be written", "Read-only file system", "remount,rw"]);
    fails(&output, "room", &["read-only"]);
}

#[test]
fn a_full_file_system_is_a_failure() {
    let Some(mut sandbox) = with_own("state", "size=1m") else { return };
    sandbox.set("publish.disk_free_bytes_min", 1 << 20);
    fs::write(sandbox.path("state/.ballast"), vec![0; 2 << 20]).unwrap_err();
    let output = examine(&sandbox);
    fails(&output, "state", &["cannot be written", "No space left", "df -h"]);
    fails(&output, "room", &["0 bytes free", "fewer than publish.disk_free_bytes_min = 1048576"]);
}

#[test]
fn a_file_system_without_free_inodes_is_a_failure() {
    let Some(sandbox) = with_own("archive", "size=16m,nr_inodes=20") else { return };
    let mut made = 0;
    while fs::write(sandbox.path("archive").join(made.to_string()), "").is_ok() {
        made += 1;
    }
    let output = examine(&sandbox);
    fails(&output, "archive", &["cannot be written", "No space left", "df -i"]);
    fails(&output, "room", &["no inodes are free", "df -i"]);
}

#[test]
fn little_free_space_is_a_warning() {
    let Some(mut sandbox) = with_own("reports", "size=16m,nr_inodes=100") else { return };
    let output = examine(&sandbox);
    has(&output, "room", "warn", &["MiB free", "reports", "submissions", "make room"]);
    has(&output, "room", "warn", &["inodes free"]);
    // The service would take nothing. That is a failure, and the trial still tests everything else.
    sandbox.set("publish.disk_free_bytes_min", 32 << 20);
    let output = examine(&sandbox);
    let lower = "make room, or lower publish.disk_free_bytes_min: df -h";
    fails(&output, "room", &["the service takes no files", lower]);
    let without = "the trial ignores publish.disk_free_bytes_min";
    has(&output, "trial", "ok ", &["all marks right", without]);
}

#[test]
fn an_inbox_on_another_file_system_is_a_warning_and_the_trial_works() {
    let mut sandbox = on_disk();
    let Some(far) = needs::second_file_system(&sandbox.path("")) else { return };
    sandbox.set("paths.inbox", far.path().display());
    let output = examine(&sandbox);
    has(&output, "moves", "warn", &["copied and synced", "two file systems", "for a MiB"]);
    has(&output, "disk", "warn", &["inbox on tmpfs", "lost with the power"]);
    has(&output, "trial", "ok ", &["all marks right"]);
    assert_eq!(fs::read_dir(far.path()).unwrap().count(), 0);
}

#[test]
fn low_limits_on_open_files_are_found() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.threads_max", 2).bound_descriptors(256);
    let output = examine(&sandbox);
    has(&output, "limits", "warn", &["256 files may be open", "with fewer than 2", "LimitNOFILE="]);
    has(&output, "trial", "ok ", &[]);
    sandbox.bound_descriptors(40);
    fails(&examine(&sandbox), "trial", &["40 files may be open", "LimitNOFILE"]);
}

#[test]
fn low_limits_on_watches_are_warnings() {
    let Some(sandbox) = Sandbox::on_island() else { return };
    fs::create_dir_all(sandbox.path("inbox/a/b/c")).unwrap();
    sandbox.on_shore("echo 100 > /proc/sys/user/max_inotify_watches");
    let output = examine(&sandbox);
    let remedy = "sysctl -w fs.inotify.max_user_watches=";
    has(&output, "watch", "warn", &["folders to watch: 4;", "of 100 watches", remedy]);
    has(&output, "watch", "ok ", &["an event reported"]);
    sandbox.on_shore("echo 0 > /proc/sys/user/max_inotify_watches");
    let output = examine(&sandbox);
    has(&output, "watch", "warn", &["the system grants no more watches", remedy]);
    has(&output, "trial", "ok ", &["found by scans"]);
    sandbox.on_shore("echo 0 > /proc/sys/user/max_inotify_instances");
    let output = examine(&sandbox);
    has(
        &output,
        "watch",
        "warn",
        &["cannot be watched", "sysctl -w fs.inotify.max_user_instances="],
    );
}

#[test]
fn without_watching_scans_find_the_trial() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.watch", "off");
    let output = examine(&sandbox);
    has(&output, "watch", "ok ", &["off by intake.watch"]);
    has(&output, "trial", "ok ", &["found by scans"]);
}

#[test]
fn an_address_in_use_or_of_another_machine_is_a_failure() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = sandbox.run("doctor", &["--listen", &address]);
    fails(&output, "address", &[&address, "Address already in use", "ss -ltnp", "http.listen"]);
    // An address of a network that is reserved for documentation.
    let output = sandbox.run("doctor", &["--listen", "192.0.2.1:9464"]);
    fails(&output, "address", &["cannot listen on 192.0.2.1:9464", "ip -brief address"]);
    let output = sandbox.run("doctor", &["--listen", "0.0.0.0:0"]);
    has(&output, "address", "note", &["other machines can reach", "without a password"]);
}

#[test]
fn an_unknown_tier_is_a_wrong_setting() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.tier", "abacus");
    let output = examine(&sandbox);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(
        output.stderr.contains("`grade.tier`: there is no kernel tier `abacus`"),
        "{}",
        output.stderr
    );
}

#[test]
fn a_tier_slower_than_the_best_is_a_warning() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.tier", "portable");
    let output = examine(&sandbox);
    let best = gridmark_core::judge::Tier::best().name();
    let level = if best == "portable" { "note" } else { "warn" };
    has(&output, "processor", level, &["portable"]);
    has(&output, "trial", "ok ", &[]);
}

#[test]
fn a_ledger_that_cannot_be_used_is_a_failure() {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("p", some(1));
    assert!(sandbox.once().status.success());
    let format = |sandbox: &Sandbox| -> i64 {
        sandbox.ledger().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
    };
    let change = |sandbox: &Sandbox, format: i64| {
        sandbox.ledger().pragma_update(None, "user_version", format).unwrap();
    };
    let known = format(&sandbox);
    change(&sandbox, 99);
    fails(&examine(&sandbox), "ledger", &["has format 99", "use the newest gridmark"]);
    change(&sandbox, 0);
    fails(&examine(&sandbox), "ledger", &["is not a ledger of a released gridmark"]);
    change(&sandbox, known);
    has(&examine(&sandbox), "ledger", "ok ", &["is sound: 1 submission,"]);
    let whole = fs::read(sandbox.path("state/ledger.db")).unwrap();
    let mut damaged = whole.clone();
    damaged[4096..8192].fill(0x55);
    sandbox.write("state/ledger.db", &damaged);
    fails(&examine(&sandbox), "ledger", &["ledger.db", "backup"]);
    sandbox.write("state/ledger.db", &whole[..whole.len() - 100]);
    fails(&examine(&sandbox), "ledger", &["ends inside a page", "backup"]);
    sandbox.write("state/ledger.db", "this is no database, but something that a person wrote\n");
    fails(&examine(&sandbox), "ledger", &["not a database", "backup"]);
    fs::remove_file(sandbox.path("state/ledger.db")).unwrap();
    fails(&examine(&sandbox), "ledger", &["is missing, but there are marks in", "backup"]);
}

#[test]
fn a_clock_behind_the_ledger_is_a_warning() {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("p", some(1));
    assert!(sandbox.once().status.success());
    let later = "UPDATE submissions SET received_at = 4000000000000";
    sandbox.ledger().execute(later, []).unwrap();
    let output = examine(&sandbox);
    has(&output, "clock", "warn", &["latest time in the ledger is 2096-10-02T07:06:40Z"]);
}

#[test]
fn wrong_settings_are_reported_as_by_serve() {
    let mut sandbox = Sandbox::new();
    sandbox.write("bad.toml", "[intake]\nsetle_ms = 5\n");
    let bad = sandbox.path("bad.toml");
    let bad = bad.to_str().unwrap();
    let output = sandbox.run("doctor", &["--config", bad]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    let serve = sandbox.run("serve", &["--config", bad]);
    assert!(output.stderr.contains("bad.toml:2:1: `intake.setle_ms` is no setting"), "{output:?}");
    assert_eq!(output.stderr, serve.stderr);
    let output = sandbox.run("doctor", &["--config", "nothing.toml"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("nothing.toml"), "{output:?}");
    sandbox.set("queue.files_max", 0);
    assert_eq!(examine(&sandbox).code, Some(2));
}

#[test]
fn findings_can_be_printed_as_json() {
    let sandbox = Sandbox::new();
    sandbox.write("archive", "a file");
    let output = sandbox.run("doctor", &[&ANY_PORT[..], &["--format", "json"]].concat());
    assert_eq!(output.code, Some(1));
    let lines = output.stdout.lines().map(|line| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let word = |key: &str| object[key].as_str().map(str::to_owned);
        (word("level").unwrap(), word("check").unwrap(), word("found").unwrap(), word("to_do"))
    });
    let lines = lines.collect::<Vec<_>>();
    let archive = lines.iter().find(|(_, check, ..)| check == "archive").unwrap();
    assert!(archive.0 == "FAIL" && archive.2.contains("is not a folder") && archive.3.is_some());
    assert!(lines.iter().any(|(level, check, ..)| level == "ok" && check == "settings"));
}

/// Starts a doctor whose trial takes long, and waits until the trial has begun.
fn busy(sandbox: &mut Sandbox) -> Child {
    // Without events, a file has to settle, and the trial waits for that.
    sandbox.set("intake.watch", "off").set("intake.settle_ms", 60_000);
    fs::create_dir_all(sandbox.path("inbox")).unwrap();
    let doctor = sandbox.spawn_command("doctor", &ANY_PORT);
    sandbox.wait_until("a trial is under way", |sandbox| {
        let scratch = fs::read_dir(sandbox.path("inbox")).unwrap().flatten().next();
        scratch.is_some_and(|scratch| scratch.path().join("trial/trial").exists())
    });
    doctor
}

/// Whether the command line of a process names this folder.
fn is_worked_in(folder: &Path) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|command| String::from_utf8_lossy(&command).contains(folder.to_str().unwrap()))
}

#[test]
fn an_interrupted_doctor_leaves_nothing_behind() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut sandbox = Sandbox::new();
        let mut doctor = busy(&mut sandbox);
        kill_process(Pid::from_child(&doctor), signal).unwrap();
        assert_eq!(doctor.wait().unwrap().code(), Some(130));
        assert_eq!(contents(&sandbox).into_keys().collect::<Vec<_>>().len(), 1);
        assert!(!is_worked_in(&sandbox.path("")));
    }
}

#[test]
fn the_next_doctor_removes_what_a_killed_one_left() {
    let mut sandbox = Sandbox::new();
    let mut doctor = busy(&mut sandbox);
    doctor.kill().unwrap();
    doctor.wait().unwrap();
    let root = sandbox.path("");
    sandbox.wait_until("its service has ended with it", |_| !is_worked_in(&root));
    assert!(contents(&sandbox).len() > 5);
    // A killed process disappears from the list of processes before it releases its locks.
    let mut output = examine(&sandbox);
    sandbox.wait_until("what it left is removed", |sandbox| {
        let is_removed = output.stdout.contains("a killed doctor had left");
        if !is_removed {
            output = examine(sandbox);
        }
        is_removed
    });
    has(&output, "inbox", "note", &["removed ", ".gridmark-doctor-", "a killed doctor had left"]);
    assert_eq!(contents(&sandbox).len(), 1, "{:?}", contents(&sandbox).keys());
}

#[test]
fn it_ends_when_its_output_is_closed_and_leaves_nothing_behind() {
    let mut sandbox = Sandbox::new();
    let mut doctor = busy(&mut sandbox);
    drop(doctor.stdout.take());
    let mut errors = String::new();
    doctor.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((doctor.wait().unwrap().code(), errors.as_str()), (Some(0), ""));
    assert_eq!(contents(&sandbox).len(), 1);
}
