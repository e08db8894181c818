//! The service under systemd: its notifications, its watchdog, its journal and its exit codes.

use crate::kit::Sandbox;
use crate::kit::cases::{hexudoku, some};
use crate::kit::manager::Manager;
use rustix::process::Signal;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

const WATCHDOG: &str = "WATCHDOG=1";
const EXTENSION: &str = "EXTEND_TIMEOUT_USEC=60000000";

/// The shortest time after which something is taken to be stuck.
const STUCK_MS: u64 = 3_000;

/// A sandbox whose processes have a manager with a watchdog.
fn watched() -> (Sandbox, Manager) {
    let mut sandbox = Sandbox::new();
    sandbox.set("health.stuck_ms_max", STUCK_MS);
    let manager = Manager::of(&mut sandbox, Some(Duration::from_secs(2)));
    (sandbox, manager)
}

/// Waits until the watchdog was fed so many times more.
#[track_caller]
fn wait_for_food(sandbox: &mut Sandbox, manager: &Manager, times: usize) {
    let wanted = manager.count(WATCHDOG) + times;
    sandbox.wait_until("the watchdog is fed", |_| manager.count(WATCHDOG) >= wanted);
}

/// Waits until the manager receives that this is stuck, and so many times more that it still is;
/// meanwhile the watchdog must not be fed.
#[track_caller]
fn wait_for_hunger(sandbox: &mut Sandbox, manager: &Manager, stuck: &str) {
    let status = format!("STATUS=stuck: {stuck} ");
    let since = |printed: &[String]| printed.iter().position(|line| line.starts_with(&status));
    sandbox.wait_until("it is reported as stuck for a while", |_| {
        let printed = manager.received();
        printed.iter().filter(|line| line.starts_with(&status)).count() >= 4
    });
    let printed = manager.received();
    let fed = printed[since(&printed).unwrap()..].iter().any(|line| line == WATCHDOG);
    assert!(!fed, "{printed:#?}");
    // The service still runs.
    let live = sandbox.service().get("/livez");
    assert!(live.starts_with("HTTP/1.1 503") && live.contains(stuck), "{live}");
    assert_eq!(sandbox.service().metrics().of("gridmark_live"), 0.0);
    assert!(
        sandbox.service().log().contains("a part of the service is stuck"),
        "{}",
        sandbox.service().log()
    );
}

#[test]
fn systemd_is_notified_of_readiness_status_and_end() {
    let (mut sandbox, manager) = watched();
    sandbox.start();
    sandbox.wait_until("the status is received", |_| manager.received().len() >= 4);
    assert_eq!(manager.count("READY=1"), 1, "{:#?}", manager.received());
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
    let status = "STATUS=ready: 1 submission graded, 0 in flight";
    sandbox.wait_until("the status is new", |_| manager.count(status) == 1);
    sandbox.stop();
    let printed = manager.received();
    assert_eq!(printed.iter().filter(|line| line.starts_with("READY=")).count(), 1, "{printed:#?}");
    let ready = printed.iter().position(|line| line == "READY=1").unwrap();
    let stopping = printed.iter().position(|line| line == "STOPPING=1").unwrap();
    assert!(ready < stopping, "{printed:#?}");
}

#[test]
fn while_it_is_not_ready_the_start_is_extended_with_the_reason() {
    let (mut sandbox, manager) = watched();
    sandbox.set("publish.disk_free_bytes_min", i64::MAX).start_unready();
    sandbox.wait_until("the start is extended", |_| manager.count(EXTENSION) >= 3);
    let printed = manager.received();
    assert_eq!(manager.count("READY=1"), 0, "{printed:#?}");
    let is_reason = |line: &String| {
        line.starts_with("STATUS=not ready: ") && line.contains("publish.disk_free_bytes_min")
    };
    assert!(printed.iter().any(is_reason), "{printed:#?}");
}

#[test]
fn the_watchdog_is_fed_while_it_is_idle_and_while_it_has_work() {
    let (mut sandbox, manager) = watched();
    sandbox.start();
    wait_for_food(&mut sandbox, &manager, 3);
    for i in 0..600 {
        sandbox.rename_in(format!("team {}/p{i}", i % 5), some(i));
    }
    wait_for_food(&mut sandbox, &manager, 2);
    sandbox.wait_for(600);
    wait_for_food(&mut sandbox, &manager, 1);
    assert_eq!(sandbox.service().metrics().of("gridmark_live"), 1.0);
}

#[test]
fn a_watchdog_of_another_process_is_not_fed() {
    let (mut sandbox, manager) = watched();
    sandbox.set_variable("WATCHDOG_PID", "1").start();
    sandbox.rename_in("p", hexudoku(1));
    let status = "STATUS=ready: 1 submission graded, 0 in flight";
    sandbox.wait_until("the status is new", |_| manager.count(status) == 1);
    assert_eq!(manager.count(WATCHDOG), 0, "{:#?}", manager.received());
}

#[test]
fn the_watchdog_is_not_fed_when_grading_hangs_and_the_file_ends_in_quarantine() {
    let (mut sandbox, manager) = watched();
    sandbox.set_variable("TEST_GRIDMARK_HANG_ON", "team/bad");
    sandbox.write("inbox/team/bad", hexudoku(3));
    for i in 0..20 {
        sandbox.write(format!("inbox/team/p{i}"), some(i));
    }
    for _ in 0..3 {
        manager.forget();
        sandbox.start_unready();
        wait_for_hunger(&mut sandbox, &manager, "grading has not moved for");
        sandbox.service().send(Signal::ABORT);
        assert_eq!(sandbox.wait_for_end().status.signal(), Some(6));
    }
    sandbox.start();
    sandbox.wait_for(21);
    wait_for_food(&mut sandbox, &manager, 2);
    sandbox.stop();
    assert!(sandbox.has("quarantine/team/bad"));
}

#[test]
fn the_watchdog_is_not_fed_when_a_large_file_hangs() {
    let (mut sandbox, manager) = watched();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox.set_variable("HANG_POINT", "chunk-marked@2").start();
    sandbox.rename_in("large", hexudoku(3).repeat(400));
    wait_for_hunger(&mut sandbox, &manager, "grading has not moved for");
}

#[test]
fn the_watchdog_is_not_fed_when_intake_hangs() {
    let (mut sandbox, manager) = watched();
    sandbox.set_variable("HANG_POINT", "claimed").start();
    sandbox.rename_in("p", hexudoku(1));
    wait_for_hunger(&mut sandbox, &manager, "intake has not moved for");
}

#[test]
fn the_watchdog_is_not_fed_when_publishing_hangs() {
    let (mut sandbox, manager) = watched();
    sandbox.set_variable("HANG_POINT", "reports-synced").start();
    sandbox.rename_in("p", hexudoku(1));
    wait_for_hunger(&mut sandbox, &manager, "publish has not moved for");
}

#[test]
fn the_watchdog_is_not_fed_when_marks_do_not_reach_publishing() {
    let (mut sandbox, manager) = watched();
    sandbox.set_variable("HANG_POINT", "graded").start();
    sandbox.rename_in("p", hexudoku(1));
    wait_for_hunger(&mut sandbox, &manager, "nothing has been graded for");
}

#[test]
fn a_disk_that_takes_no_reports_is_reported_and_the_watchdog_still_fed() {
    let (mut sandbox, manager) = watched();
    sandbox.write("reports/folders", "no folder");
    sandbox.start();
    sandbox.rename_in("team/p", hexudoku(1));
    sandbox.wait_until("it is not ready", |sandbox| {
        sandbox.service().get("/readyz").contains(" 503 ")
    });
    // Longer than work may stand still.
    wait_for_food(&mut sandbox, &manager, 6);
    assert!(
        sandbox.service().get("/livez").starts_with("HTTP/1.1 200"),
        "{}",
        sandbox.service().log()
    );
    // The end takes a while now, since it is tried a few times more.
    manager.forget();
    sandbox.service().send(Signal::TERM);
    sandbox.wait_until("the end is extended", |_| manager.count(EXTENSION) >= 2);
    let printed = manager.received();
    assert!(printed.iter().any(|line| line == "STOPPING=1"), "{printed:#?}");
    let status = "STATUS=draining: 1 in flight";
    assert!(printed.iter().any(|line| line == status), "{printed:#?}");
    assert_eq!(sandbox.wait_for_end().status.code(), Some(1));
}

/// What the journal would get of a run with this name in its environment for its stream.
fn log_in_journal(name: impl FnOnce(&str) -> String) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("inbox")).unwrap();
    std::fs::write(folder.path().join("inbox/bad\nname"), hexudoku(1)).unwrap();
    std::fs::write(folder.path().join("inbox/good"), hexudoku(1)).unwrap();
    let (mut reader, writer) = std::io::pipe().unwrap();
    let found = rustix::fs::fstat(&writer).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
    command.args(["serve", "--once", "--root"]).arg(folder.path());
    command.env("JOURNAL_STREAM", name(&format!("{}:{}", found.st_dev, found.st_ino)));
    command.env("GRIDMARK_PUBLISH_DISK_FREE_BYTES_MIN", "0");
    command.env("GRIDMARK_LOG_LEVEL", "debug").env("GRIDMARK_GRADE_TRIES_MAX", "1");
    command.env("TEST_GRIDMARK_PANIC_ON", "bad\nname");
    let mut child = command.spawn().unwrap();
    // Our own end of the pipe goes with it.
    drop(command);
    let mut log = String::new();
    reader.read_to_string(&mut log).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{log}");
    log
}

#[test]
fn the_journal_gets_a_line_for_each_event_with_its_priority() {
    let log = log_in_journal(|stream| stream.to_owned());
    let printed =
        |line: &str| assert!(log.lines().any(|printed| printed.starts_with(line)), "{line}\n{log}");
    printed("<6>gridmark grades what is dropped into the inbox version=");
    printed("<7>taken into the archive files=");
    printed(r"<3>moved into quarantine name=bad\x0Aname reason=");
    assert!(!log.contains("gridmark::service") && !log.contains('\x1b'), "{log}");
    printed("<3>a thread of gridmark panicked; this is a bug thread=\"grade-");
    assert!(log.lines().all(|line| line.starts_with('<')), "{log}");

    let elsewhere = log_in_journal(|stream| format!("{stream}0"));
    assert!(elsewhere.contains("Z  INFO gridmark::service: ") && !elsewhere.contains("\n<"));
}

/// The unit does not start it again after a 2.
#[test]
fn a_refused_setting_exits_with_2_and_other_trouble_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gridmark.toml");
    let serve = |text: &str, variable: Option<(&str, &str)>| {
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
        command.env_clear().envs(variable).arg("serve").arg("--config").arg(&file);
        command.arg("--once").arg("--root").arg(folder.path().join("root"));
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (text, variable, printed) in [
        ("[intake]\nsetle_ms = 1\n", None, ":2:1: `intake.setle_ms` is no setting"),
        ("[intake]\nsettle_ms = -1\n", None, ":2:1: `intake.settle_ms` is -1"),
        ("[intake\n", None, ":1:8: "),
        ("[grade]\ntier = \"fast\"\n", None, ":2:1: `grade.tier`"),
        ("", Some(("GRIDMARK_GRADE_TIER", "fast")), "environment GRIDMARK_GRADE_TIER: "),
        ("", Some(("GRIDMARK_SETTLE", "1")), "`GRIDMARK_SETTLE` sets no setting"),
        ("", Some(("GRIDMARK_INTAKE_SETTLE_MS", "x")), "`intake.settle_ms` is x"),
    ] {
        let (code, said) = serve(text, variable);
        assert!(code == Some(2) && said.contains(printed), "{code:?} {said}");
    }
    assert!(!folder.path().join("root").exists());
    // What may be otherwise the next time.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    command.env_clear().arg("serve").arg("--root").arg(folder.path().join("root"));
    command.arg("--listen").arg(taken.local_addr().unwrap().to_string());
    assert_eq!(command.output().unwrap().status.code(), Some(1));
}

#[test]
fn a_start_that_fails_is_an_error_in_the_journal() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let found = rustix::fs::fstat(&writer).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer);
    command.env("JOURNAL_STREAM", format!("{}:{}", found.st_dev, found.st_ino));
    command.args(["serve", "--config", "/nonexistent"]);
    assert_eq!(command.status().unwrap().code(), Some(1));
    drop(command);
    let mut log = String::new();
    reader.read_to_string(&mut log).unwrap();
    assert!(log.starts_with("<3>gridmark: cannot read the settings file /nonexistent: "), "{log}");
}
