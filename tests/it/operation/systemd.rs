//! The files for systemd, as far as they can be tested without systemd as the init process.

use crate::kit::Sandbox;
use crate::kit::cases::{hexudoku, some};
use crate::kit::needs::{self, find_program};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The greatest exposure of the service, of ten, by `systemd-analyze security`.
const EXPOSURE_MAX: f64 = 2.0;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/systemd").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(file(name)).unwrap()
}

/// All values of a setting of the unit.
fn values(unit: &str, key: &str) -> Vec<String> {
    let values = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    values.map(str::to_owned).collect()
}

fn output(program: &str, args: &[&str]) -> Output {
    Command::new(find_program(program).unwrap()).args(args).output().unwrap()
}

#[test]
fn the_unit_is_right_and_little_exposed() {
    if !needs::programs(&["systemd-analyze"]) {
        return;
    }
    // What it starts has to be there, so it is the program as it is built now.
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("gridmark.service");
    let program = format!("={} ", env!("CARGO_BIN_EXE_gridmark"));
    fs::write(&unit, text("gridmark.service").replace("=gridmark ", &program)).unwrap();
    let unit = unit.to_str().unwrap();

    let verified = output("systemd-analyze", &["verify", "--man=no", unit]);
    let said = String::from_utf8(verified.stderr).unwrap();
    // The system's own units are not ours to judge.
    let ours = said.lines().filter(|line| line.contains("gridmark")).collect::<Vec<_>>();
    assert!(verified.status.success() && ours.is_empty(), "{said}");

    let printed = output("systemd-analyze", &["security", "--offline=true", "--no-pager", unit]);
    let printed = String::from_utf8(printed.stdout).unwrap();
    let level = printed.lines().find_map(|line| line.split("Overall exposure level for ").nth(1));
    let level = level.and_then(|level| level.split_whitespace().nth(1)?.parse::<f64>().ok());
    assert!(level.expect("a level") <= EXPOSURE_MAX, "{printed}");
}

#[test]
fn every_command_of_the_unit_is_one_of_ours() {
    let unit = text("gridmark.service");
    for key in ["ExecStart", "ExecReload"] {
        let [command] = &values(&unit, key)[..] else { panic!("{key}") };
        let words = command.split(' ').skip(1).collect::<Vec<_>>();
        // A word too many is the first thing that is wrong, if the rest is right.
        let ran = Command::new(env!("CARGO_BIN_EXE_gridmark")).args(&words).arg("x").output();
        let said = String::from_utf8(ran.unwrap().stderr).unwrap();
        assert!(said.starts_with("error: unexpected argument 'x' found"), "{command}: {said}");
    }
}

#[test]
fn its_user_is_made() {
    if !needs::programs(&["systemd-sysusers"]) {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("etc")).unwrap();
    let at = format!("--root={}", root.path().display());
    let users = output("systemd-sysusers", &[&at, file("gridmark.sysusers").to_str().unwrap()]);
    assert!(users.status.success(), "{users:?}");
    let passwd = fs::read_to_string(root.path().join("etc/passwd")).unwrap();
    let user = passwd.lines().find(|line| line.starts_with("gridmark:")).expect("a user");
    assert!(user.ends_with(":/var/lib/gridmark:/usr/sbin/nologin"), "{user}");
}

/// The groups of system calls that systemd knows, each with all that is in it.
fn groups() -> BTreeMap<String, BTreeSet<String>> {
    let printed = output("systemd-analyze", &["syscall-filter", "--no-pager"]).stdout;
    let printed = String::from_utf8(printed).unwrap();
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut group = String::new();
    for line in printed.lines() {
        match line.trim() {
            "" => {}
            name if !line.starts_with(' ') => group = name.to_owned(),
            member if !member.starts_with('#') => {
                groups.entry(group.clone()).or_default().insert(member.to_owned());
            }
            _ => {}
        }
    }
    groups
}

fn expand(groups: &BTreeMap<String, BTreeSet<String>>, name: &str) -> BTreeSet<String> {
    match groups.get(name) {
        Some(members) => members.iter().flat_map(|member| expand(groups, member)).collect(),
        None => BTreeSet::from([name.to_owned()]),
    }
}

/// The system calls that the unit allows.
fn allowed(unit: &str) -> BTreeSet<String> {
    let groups = groups();
    // What systemd always allows, so that a program can begin and end at all.
    let mut allowed = expand(&groups, "@default");
    for filter in values(unit, "SystemCallFilter") {
        let (is_taken_away, names) =
            filter.strip_prefix('~').map_or((false, filter.as_str()), |names| (true, names));
        for call in names.split(' ').flat_map(|name| expand(&groups, name)) {
            if is_taken_away {
                allowed.remove(&call);
            } else {
                allowed.insert(call);
            }
        }
    }
    allowed
}

#[test]
fn the_program_makes_no_system_call_that_the_unit_takes_away() {
    if !needs::programs(&["systemd-analyze"]) || !needs::strace() {
        return;
    }
    let unit = text("gridmark.service");
    let mut sandbox = Sandbox::new();
    let trace = sandbox.path("trace");
    sandbox.trace_calls(trace.clone());
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox.write("inbox/before", hexudoku(1));
    sandbox.start();
    for i in 0..30 {
        sandbox.rename_in(format!("team {}/p{i}", i % 3), some(i));
    }
    sandbox.rename_in("large", hexudoku(3).repeat(200));
    sandbox.wait_for(32);
    assert_eq!(sandbox.run("reload", &[""; 0]).code, Some(0));
    assert!(sandbox.service().get("/metrics").contains("gridmark_"));
    std::fs::remove_file(sandbox.path("reports/loose.csv")).unwrap();
    sandbox.wait_until("the report is there again", |sandbox| sandbox.rows("loose.csv").len() > 9);
    sandbox.kill();
    sandbox.start();
    sandbox.rename_in("after", hexudoku(1));
    sandbox.wait_for(33);
    sandbox.stop();

    let allowed = allowed(&unit);
    assert!(allowed.contains("read") && !allowed.contains("chown") && !allowed.contains("mount"));
    let families = values(&unit, "RestrictAddressFamilies").remove(0);
    let mut calls = BTreeSet::new();
    for line in fs::read_to_string(trace).unwrap().lines() {
        // The end of a call may stand on a line of its own.
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        let call = line.split_once(' ').filter(|(process, _)| is_number(process));
        let call = call.map_or("", |(_, call)| call.trim_start());
        let Some((name, args)) = call.split_once('(') else { continue };
        let is_refused = |word: &str| panic!("{word} is refused by the unit: {line}");
        if !allowed.contains(name) && !call.contains(" resumed>") {
            // Where root owns the ledger, SQLite gives it all files that belong to it.
            let is_sqlite_as_root = name == "fchown" && args.contains(", 0, 0)");
            assert!(is_sqlite_as_root && rustix::process::geteuid().is_root(), "{line}");
        }
        match name {
            "socket" | "socketpair" => {
                let family = args.split(',').next().unwrap();
                assert!(families.split(' ').any(|it| it == family), "{line}");
            }
            "mmap" | "mprotect" if args.contains("PROT_WRITE|PROT_EXEC") => is_refused("W^X"),
            "mprotect" if args.contains("PROT_EXEC") => is_refused("PROT_EXEC"),
            "open" | "openat" | "openat2" | "mkdir" | "mkdirat" | "chmod" | "fchmod"
            | "fchmodat" => {
                let has_bits = |mode: &str| {
                    let mode = mode.trim_start();
                    mode.len() == 5 && mode.starts_with('0') && mode.as_bytes()[1] > b'1'
                };
                if args.split([',', ')']).any(has_bits) {
                    is_refused("a set-id bit");
                }
            }
            _ => {}
        }
        calls.insert(name.to_owned());
    }
    for used in ["openat", "fdatasync", "socket", "inotify_add_watch", "renameat2", "execve"] {
        assert!(calls.contains(used), "{used} is not in {calls:?}");
    }
}
