//! `gridmark doctor`: what is well is told so, each trouble is found and told with what to do, and
//! nothing is changed.

use crate::kit::cases::{classic, some};
use crate::kit::needs::{self, need};
use crate::kit::{Sandbox, Told};
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

/// A sandbox on the disk on which this is built, since files in memory are a finding.
fn on_disk() -> Sandbox {
    Sandbox::within(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

fn examine(sandbox: &Sandbox) -> Told {
    sandbox.run("doctor", &ANY_PORT)
}

/// The findings of this check, each as its level, what was found and what to do.
fn findings(told: &Told, check: &str) -> Vec<String> {
    let mut findings: Vec<String> = Vec::new();
    let mut is_it = false;
    for line in told.stdout.lines() {
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

/// One finding of this check begins with the level and holds all of the words.
#[track_caller]
fn has(told: &Told, check: &str, level: &str, words: &[&str]) {
    let found = findings(told, check);
    let is_it = |finding: &&String| {
        finding.starts_with(level) && words.iter().all(|word| finding.contains(word))
    };
    assert!(found.iter().any(|it| is_it(&it)), "{check} {level} {words:?}:\n{}", told.stdout);
}

#[track_caller]
fn fails(told: &Told, check: &str, words: &[&str]) {
    has(told, check, "FAIL ", words);
    assert_eq!(told.code, Some(1), "{}", told.stdout);
    assert!(told.stdout.ends_with(": this machine is not ready\n"), "{}", told.stdout);
    // Whatever fails is told with what to do.
    let lines = told.stdout.lines().collect::<Vec<_>>();
    for pair in lines.windows(2).filter(|pair| pair[0].starts_with("FAIL ")) {
        assert!(pair[1].trim_start().starts_with("to do: "), "{}", told.stdout);
    }
}

/// Everything below the root, with what is in it.
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
fn is_well(told: &Told) {
    assert_eq!(told.code, Some(0), "{}{}", told.stdout, told.stderr);
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
        "ledger",
        "processor",
        "address",
        "trial",
    ] {
        let found = findings(told, check);
        let all_well = found.iter().all(|finding| finding.starts_with("ok "));
        assert!(!found.is_empty() && all_well, "{check}:\n{}", told.stdout);
    }
    has(told, "trial", "ok ", &["4 submissions", "found by events", "all marks right"]);
    assert!(told.stdout.lines().last().unwrap().contains("0 failures: this machine is ready"));
}

#[test]
fn a_machine_that_is_well_is_told_so_and_nothing_is_changed() {
    let sandbox = on_disk();
    let found = (!sandbox.is_in_memory()).then_some(()).ok_or("target is on a tmpfs".into());
    if need("a disk to build on", found, "set CARGO_TARGET_DIR to a folder on one").is_none() {
        return;
    }
    let told = examine(&sandbox);
    is_well(&told);
    has(&told, "root", "note", &["none of the folders yet"]);
    assert_eq!(contents(&sandbox), BTreeMap::new());
    is_well(&examine(&sandbox));
}

#[test]
fn a_root_with_submissions_is_left_as_it_is() {
    let mut sandbox = on_disk();
    for i in 0..10 {
        sandbox.write(format!("inbox/{}/{i}", i % 3), some(i));
    }
    let ended = sandbox.once();
    assert!(ended.status.success());
    sandbox.write("inbox/late/1", some(1));
    let before = contents(&sandbox);
    let told = examine(&sandbox);
    has(&told, "ledger", "ok ", &["is sound: 10 submissions, 0 of them not done"]);
    has(&told, "contents", "ok ", &["1 files in "]);
    has(&told, "trial", "ok ", &[]);
    assert_eq!(contents(&sandbox), before);
}

#[test]
fn it_tells_of_the_service_that_runs_and_does_not_disturb_it() {
    let mut sandbox = on_disk();
    sandbox.start();
    sandbox.rename_in("team/1", classic(1, "YN"));
    sandbox.wait_for(1);
    let process = format!("process {} works on this root", sandbox.process());
    let address = sandbox.address().to_string();
    let told = sandbox.run("doctor", &["--listen", &address]);
    has(&told, "service", "ok ", &[&process, "is ready"]);
    has(&told, "address", "ok ", &["is the service's that runs here"]);
    has(&told, "trial", "ok ", &[]);
    has(&told, "ledger", "ok ", &["is sound: 1 submissions"]);
    sandbox.rename_in("team/2", classic(2, "Y"));
    sandbox.wait_for(2);
    let log = sandbox.log();
    assert!(!log.contains(" WARN ") && !log.contains(" ERROR "), "{log}");
    // What the service says is told.
    sandbox.write("reports/.keep", "");
    fs::remove_dir_all(sandbox.path("reports")).unwrap();
    sandbox.write("reports", "no folder");
    sandbox.rename_in("team/3", classic(3, "Y"));
    sandbox.wait_until("it is not ready", |sandbox| {
        sandbox.get("/readyz").starts_with("HTTP/1.1 503 ")
    });
    let told = examine(&sandbox);
    fails(&told, "service", &[&process, "is not ready: ", "cannot write the report"]);
    fails(&told, "reports", &["is no folder", "paths.reports"]);
}

#[test]
fn a_service_that_does_not_answer_is_told() {
    let mut sandbox = Sandbox::started();
    let process = format!("process {} works on this root", sandbox.process());
    sandbox.pause();
    let told = examine(&sandbox);
    sandbox.go_on();
    fails(&told, "service", &[&process, "does not answer"]);
    sandbox.stop();
    has(&examine(&sandbox), "service", "ok ", &["none runs here"]);
}

#[test]
fn folders_that_are_none_are_told() {
    let sandbox = Sandbox::new();
    sandbox.write("archive", "a file");
    symlink("nowhere", sandbox.path("state")).unwrap();
    let told = examine(&sandbox);
    fails(&told, "archive", &["is no folder", "paths.archive"]);
    fails(&told, "state", &["is a link that leads nowhere", "paths.state"]);
    assert_eq!(findings(&told, "trial"), Vec::<String>::new());
    assert_eq!(sandbox.text("archive"), "a file");
}

#[test]
fn links_to_folders_are_followed() {
    let sandbox = on_disk();
    fs::create_dir(sandbox.path("elsewhere")).unwrap();
    symlink("elsewhere", sandbox.path("archive")).unwrap();
    let told = examine(&sandbox);
    has(&told, "archive", "ok ", &["a link to ", "elsewhere"]);
    has(&told, "trial", "ok ", &[]);
    assert_eq!(fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 0);
}

fn permit(sandbox: &Sandbox, path: &str, mode: u32) {
    fs::set_permissions(sandbox.path(path), Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_this_user_may_not_do_is_told() {
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
    let told = examine(&sandbox);
    permit(&sandbox, "state", 0o755);
    fails(&told, "state", &["cannot be written", "Permission denied", "chown"]);
    fails(&told, "contents", &["nothing can be taken out of ", "inbox/closed", "chgrp", "chmod"]);
    fails(&told, "contents", &["inbox/open/secret cannot be read", "chgrp", "chmod"]);
    fails(&told, "contents", &["team.csv cannot be written", "chown"]);
}

#[test]
fn folders_of_another_user_are_told() {
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
    // Root may do everything, which says nothing of the service.
    let told = sandbox.run_as(None, "doctor", &ANY_PORT);
    has(&told, "user", "note", &["this is root"]);
    std::os::unix::fs::chown(sandbox.path("inbox"), Some(65_534), None).unwrap();
    let told = sandbox.run_as(None, "doctor", &ANY_PORT);
    has(&told, "user", "warn", &["root", "inbox belongs to user 65534", "sudo -u '#65534'"]);
}

#[test]
fn a_folder_that_everybody_may_write_is_a_warning_and_with_strict_a_failure() {
    let sandbox = on_disk();
    fs::create_dir(sandbox.path("reports")).unwrap();
    permit(&sandbox, "reports", 0o777);
    let told = examine(&sandbox);
    has(&told, "reports", "warn", &["by everybody", "chmod o-w"]);
    if !sandbox.is_in_memory() {
        assert_eq!(told.code, Some(0), "{}", told.stdout);
    }
    let told = sandbox.run("doctor", &["--strict", ANY_PORT[0], ANY_PORT[1]]);
    assert_eq!(told.code, Some(1), "{}", told.stdout);
}

/// A sandbox in which this folder is a file system of its own, in memory.
fn with_own(folder: &str, options: &str) -> Option<Sandbox> {
    let sandbox = Sandbox::on_island()?;
    fs::create_dir_all(sandbox.path(folder)).unwrap();
    sandbox.on_shore(&format!("mount -t tmpfs -o {options} none {folder}"));
    Some(sandbox)
}

#[test]
fn a_read_only_file_system_is_told() {
    let Some(sandbox) = with_own("archive", "size=16m") else { return };
    let told = examine(&sandbox);
    fails(&told, "disk", &["archive on tmpfs", "gone with the power", "paths.archive"]);
    has(&told, "moves", "warn", &["two file systems", "paths.inbox"]);
    has(&told, "trial", "ok ", &[]);
    sandbox.on_shore("mount -o remount,ro archive");
    let told = examine(&sandbox);
    fails(&told, "archive", &["cannot be written", "Read-only file system", "remount,rw"]);
    fails(&told, "room", &["read-only"]);
}

#[test]
fn a_full_file_system_is_told() {
    let Some(mut sandbox) = with_own("state", "size=1m") else { return };
    sandbox.set("publish.disk_free_bytes_min", 1 << 20);
    fs::write(sandbox.path("state/.ballast"), vec![0; 2 << 20]).unwrap_err();
    let told = examine(&sandbox);
    fails(&told, "state", &["cannot be written", "No space left", "df -h"]);
    fails(&told, "room", &["0 bytes free", "fewer than publish.disk_free_bytes_min = 1048576"]);
}

#[test]
fn a_file_system_without_inodes_is_told() {
    let Some(sandbox) = with_own("archive", "size=16m,nr_inodes=20") else { return };
    let mut made = 0;
    while fs::write(sandbox.path("archive").join(made.to_string()), "").is_ok() {
        made += 1;
    }
    let told = examine(&sandbox);
    fails(&told, "archive", &["cannot be written", "No space left", "df -i"]);
    fails(&told, "room", &["no inodes are free", "df -i"]);
}

#[test]
fn little_room_is_a_warning() {
    let Some(mut sandbox) = with_own("reports", "size=16m,nr_inodes=100") else { return };
    let told = examine(&sandbox);
    has(&told, "room", "warn", &["MiB free", "reports", "submissions", "make room"]);
    has(&told, "room", "warn", &["inodes free"]);
    // Nothing would be taken; that is told, and the trial finds out about everything else.
    sandbox.set("publish.disk_free_bytes_min", 32 << 20);
    let told = examine(&sandbox);
    let lower = "make room, or lower publish.disk_free_bytes_min: df -h";
    fails(&told, "room", &["nothing is taken", lower]);
    let without = "without publish.disk_free_bytes_min, of which is told above";
    has(&told, "trial", "ok ", &["all marks right", without]);
}

#[test]
fn two_file_systems_are_told_and_tried() {
    let mut sandbox = on_disk();
    let Some(far) = needs::second_file_system(&sandbox.path("")) else { return };
    sandbox.set("paths.inbox", far.path().display());
    let told = examine(&sandbox);
    has(&told, "moves", "warn", &["copied and synced", "two file systems", "for a MiB"]);
    has(&told, "disk", "warn", &["inbox on tmpfs", "gone with the power"]);
    has(&told, "trial", "ok ", &["all marks right"]);
    assert_eq!(fs::read_dir(far.path()).unwrap().count(), 0);
}

#[test]
fn few_descriptors_are_told() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.threads_max", 2).bound_descriptors(256);
    let told = examine(&sandbox);
    has(&told, "limits", "warn", &["256 files may be open", "with fewer than 2", "LimitNOFILE="]);
    has(&told, "trial", "ok ", &[]);
    sandbox.bound_descriptors(40);
    fails(&examine(&sandbox), "limits", &["40 files may be open, too few", "LimitNOFILE="]);
}

#[test]
fn few_watches_are_told() {
    let Some(sandbox) = Sandbox::on_island() else { return };
    fs::create_dir_all(sandbox.path("inbox/a/b/c")).unwrap();
    sandbox.on_shore("echo 100 > /proc/sys/user/max_inotify_watches");
    let told = examine(&sandbox);
    let remedy = "sysctl -w fs.inotify.max_user_watches=";
    has(&told, "watch", "warn", &["folders in it are 4; of 100 watches", remedy]);
    has(&told, "watch", "ok ", &["an event told"]);
    sandbox.on_shore("echo 0 > /proc/sys/user/max_inotify_watches");
    let told = examine(&sandbox);
    has(&told, "watch", "warn", &["the system gives no more watches", remedy]);
    has(&told, "trial", "ok ", &["found by scans"]);
    sandbox.on_shore("echo 0 > /proc/sys/user/max_inotify_instances");
    let told = examine(&sandbox);
    has(&told, "watch", "warn", &["cannot be watched", "sysctl -w fs.inotify.max_user_instances="]);
}

#[test]
fn without_watching_the_trial_is_found_by_scans() {
    let mut sandbox = Sandbox::new();
    sandbox.set("intake.watch", "off");
    let told = examine(&sandbox);
    has(&told, "watch", "ok ", &["off by intake.watch"]);
    has(&told, "trial", "ok ", &["found by scans"]);
}

#[test]
fn an_address_that_is_taken_or_not_ours_is_told() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let told = sandbox.run("doctor", &["--listen", &address]);
    fails(&told, "address", &[&address, "taken by another program", "ss -ltnp", "http.listen"]);
    let other = Sandbox::started();
    let process = format!("another gridmark, process {}, listens there", other.process());
    let told = sandbox.run("doctor", &["--listen", &other.address().to_string()]);
    fails(&told, "address", &[&process, "http.listen"]);
    // A network that stands in books alone.
    let told = sandbox.run("doctor", &["--listen", "192.0.2.1:9464"]);
    fails(&told, "address", &["192.0.2.1:9464 is not to be had", "ip -brief address"]);
    let told = sandbox.run("doctor", &["--listen", "0.0.0.0:0"]);
    has(&told, "address", "note", &["more than this machine", "no password"]);
}

#[test]
fn a_tier_that_is_not_to_be_had_is_told() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.tier", "abacus");
    let told = examine(&sandbox);
    assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""));
    assert!(
        told.stderr.contains("`grade.tier`: there is no kernel tier `abacus`"),
        "{}",
        told.stderr
    );
}

#[test]
fn a_slower_tier_than_there_is_is_a_warning() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.tier", "portable");
    let told = examine(&sandbox);
    let best = gridmark_core::judge::Tier::best().name();
    let level = if best == "portable" { "note" } else { "warn" };
    has(&told, "processor", level, &["portable"]);
    has(&told, "trial", "ok ", &[]);
}

#[test]
fn a_ledger_that_cannot_be_used_is_told() {
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
    change(&sandbox, 1);
    has(&examine(&sandbox), "ledger", "warn", &["has format 1", "brings it forward", "backup"]);
    change(&sandbox, known);
    has(&examine(&sandbox), "ledger", "ok ", &["is sound: 1 submissions"]);
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
fn a_clock_that_is_behind_the_ledger_is_told() {
    let mut sandbox = Sandbox::new();
    sandbox.rename_in("p", some(1));
    assert!(sandbox.once().status.success());
    let later = "UPDATE submissions SET received_at = 4000000000000";
    sandbox.ledger().execute(later, []).unwrap();
    let told = examine(&sandbox);
    has(&told, "clock", "warn", &["is before 2096-10-02T07:06:40Z", "latest time in the ledger"]);
}

#[test]
fn wrong_settings_are_told_as_serve_tells_them() {
    let mut sandbox = Sandbox::new();
    sandbox.write("bad.toml", "[intake]\nsetle_ms = 5\n");
    let bad = sandbox.path("bad.toml");
    let bad = bad.to_str().unwrap();
    let told = sandbox.run("doctor", &["--config", bad]);
    assert_eq!((told.code, told.stdout.as_str()), (Some(2), ""));
    let serve = sandbox.run("serve", &["--config", bad]);
    assert!(told.stderr.contains("bad.toml:2:1: `intake.setle_ms` is no setting"), "{told:?}");
    assert_eq!(told.stderr, serve.stderr);
    let told = sandbox.run("doctor", &["--config", "nothing.toml"]);
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.contains("nothing.toml"), "{told:?}");
    sandbox.set("queue.files_max", 0);
    assert_eq!(examine(&sandbox).code, Some(2));
}

#[test]
fn findings_are_told_as_json_too() {
    let sandbox = Sandbox::new();
    sandbox.write("archive", "a file");
    let told = sandbox.run("doctor", &[&ANY_PORT[..], &["--format", "json"]].concat());
    assert_eq!(told.code, Some(1));
    let lines = told.stdout.lines().map(|line| {
        let object: serde_json::Value = serde_json::from_str(line).unwrap();
        let word = |key: &str| object[key].as_str().map(str::to_owned);
        (word("level").unwrap(), word("check").unwrap(), word("found").unwrap(), word("to_do"))
    });
    let lines = lines.collect::<Vec<_>>();
    let archive = lines.iter().find(|(_, check, ..)| check == "archive").unwrap();
    assert!(archive.0 == "FAIL" && archive.2.contains("is no folder") && archive.3.is_some());
    assert!(lines.iter().any(|(level, check, ..)| level == "ok" && check == "settings"));
}

/// Starts a doctor that takes a second at least, and waits until it tries something out.
fn busy(sandbox: &mut Sandbox) -> Child {
    // Without events a file that was renamed has to settle, and a trial takes that long.
    sandbox.set("intake.watch", "off").set("intake.settle_ms", 60_000);
    fs::create_dir_all(sandbox.path("inbox")).unwrap();
    let doctor = sandbox.spawn_command("doctor", &ANY_PORT);
    sandbox.wait_until("a trial is under way", |sandbox| {
        let scratch = fs::read_dir(sandbox.path("inbox")).unwrap().flatten().next();
        scratch.is_some_and(|scratch| scratch.path().join("trial/trial").exists())
    });
    doctor
}

/// Whether some process works in this folder.
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
fn what_a_killed_doctor_leaves_is_removed_by_the_next_one() {
    let mut sandbox = Sandbox::new();
    let mut doctor = busy(&mut sandbox);
    doctor.kill().unwrap();
    doctor.wait().unwrap();
    let root = sandbox.path("");
    sandbox.wait_until("its service has ended with it", |_| !is_worked_in(&root));
    assert!(contents(&sandbox).len() > 5);
    // What is killed is gone from the list of processes before it lets its files go.
    let mut told = examine(&sandbox);
    sandbox.wait_until("what it left is removed", |sandbox| {
        let is_removed = told.stdout.contains("an ended doctor left");
        if !is_removed {
            told = examine(sandbox);
        }
        is_removed
    });
    has(&told, "inbox", "note", &["removed ", ".gridmark-doctor-", "an ended doctor left"]);
    assert_eq!(contents(&sandbox).len(), 1, "{:?}", contents(&sandbox).keys());
}

#[test]
fn whoever_reads_no_further_ends_it_and_nothing_is_left() {
    let mut sandbox = Sandbox::new();
    let mut doctor = busy(&mut sandbox);
    drop(doctor.stdout.take());
    let mut errors = String::new();
    doctor.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!((doctor.wait().unwrap().code(), errors.as_str()), (Some(0), ""));
    assert_eq!(contents(&sandbox).len(), 1);
}
