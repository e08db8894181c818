//! Settings that change while the service runs.

use crate::kit::cases::hexudoku;
use crate::kit::manager::Manager;
use crate::kit::outputs::terminal;
use crate::kit::{Outcome, Sandbox};
use rustix::process::Signal;
use std::path::PathBuf;

/// What the sandbox's settings file is called.
const FILE: &str = "gridmark.toml";

/// Settings that make tests quick, as every file here begins with them.
const QUICK: &str = "[publish]\ndisk_free_bytes_min = 0\n";

/// A sandbox whose settings are in a file, with these beside the quick ones.
fn with_file(settings: &str) -> Sandbox {
    let mut sandbox = Sandbox::new();
    for key in ["intake.settle_ms", "intake.scan_every_ms", "publish.disk_free_bytes_min"] {
        sandbox.unset(key);
    }
    write(&sandbox, settings);
    let file = sandbox.path(FILE);
    sandbox.use_file(file);
    sandbox
}

fn write(sandbox: &Sandbox, settings: &str) {
    sandbox.write(FILE, format!("{settings}{QUICK}"));
}

fn file(sandbox: &Sandbox) -> PathBuf {
    sandbox.path(FILE)
}

/// Runs `gridmark reload`.
fn reload(sandbox: &Sandbox) -> Outcome {
    sandbox.run("reload", &["--config".as_ref(), file(sandbox).as_os_str()])
}

/// Changes the file, has it read, and expects this answer.
#[track_caller]
fn change(sandbox: &Sandbox, settings: &str, answer: &str) {
    write(sandbox, settings);
    let outcome = reload(sandbox);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str(), outcome.stderr.as_str()),
        (Some(0), answer, "")
    );
}

const APPLIED: &str = r#"gridmark_reloads_total{result="applied"}"#;
const REFUSED: &str = r#"gridmark_reloads_total{result="refused"}"#;
const SUCCESSFUL: &str = "gridmark_config_last_reload_successful";
const TIMESTAMP: &str = "gridmark_config_last_reload_success_timestamp_seconds";

#[test]
fn changed_settings_are_applied_and_those_that_need_a_restart_are_named() {
    let mut sandbox = with_file("");
    sandbox.start();
    let before = sandbox.service().metrics();
    assert_eq!((before.of(SUCCESSFUL), before.of(APPLIED), before.of(REFUSED)), (1.0, 0.0, 0.0));
    change(&sandbox, "", "no setting has changed\n");
    let settings = "[intake]\nsettle_ms = 70\n[grade]\nstreams_max = 3\ntries_max = 5\n";
    let answer = "intake.settle_ms = 70 (was 200)\ngrade.tries_max = 5 (was 3)\n\
                  grade.streams_max = 3 needs a restart (is 2)\n";
    change(&sandbox, settings, answer);
    // What is in force is no change any more, and what is not in force still is.
    change(&sandbox, settings, "grade.streams_max = 3 needs a restart (is 2)\n");
    let metrics = sandbox.service().metrics();
    assert_eq!((metrics.of(APPLIED), metrics.of(REFUSED), metrics.of(SUCCESSFUL)), (3.0, 0.0, 1.0));
    assert!(metrics.of(TIMESTAMP) >= before.of(TIMESTAMP) && before.of(TIMESTAMP) > 1.7e9);
    let log = sandbox.service().log();
    for outcome in [
        r#"a setting has changed setting="intake.settle_ms" before="200" after="70""#,
        r#"needs a restart; until then the old value stays in force setting="grade.streams_max" before="2" after="3""#,
    ] {
        assert!(log.contains(outcome), "{outcome} in {log}");
    }
    sandbox.stop();
    sandbox.start();
    change(&sandbox, settings, "no setting has changed\n");
}

#[test]
fn a_wrong_file_is_refused_with_its_place_and_the_old_settings_stay() {
    let mut sandbox = with_file("[intake]\nsettle_ms = 70\n");
    sandbox.start();
    let place = format!("file {}:2:1", file(&sandbox).display());
    for (settings, wrong) in [
        ("[intake]\nsetle_ms = 80\n", "`intake.setle_ms` is no setting; did you mean"),
        ("[intake]\nsettle_ms = -1\n", "`intake.settle_ms` is -1; expected milliseconds"),
    ] {
        write(&sandbox, settings);
        let outcome = reload(&sandbox);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""));
        assert!(outcome.stderr.starts_with(&format!("gridmark: {place}: {wrong}")), "{outcome:?}");
        assert!(
            sandbox.service().log().contains(&format!("{place}: {wrong}")),
            "{}",
            sandbox.service().log()
        );
    }
    let metrics = sandbox.service().metrics();
    assert_eq!((metrics.of(APPLIED), metrics.of(REFUSED), metrics.of(SUCCESSFUL)), (0.0, 2.0, 0.0));
    std::fs::remove_file(file(&sandbox)).unwrap();
    let outcome = reload(&sandbox);
    assert!(outcome.code == Some(1) && outcome.stderr.contains("cannot read the settings file"));
    // The settle time is still the first one, and grading goes on.
    change(&sandbox, "[intake]\nsettle_ms = 80\n", "intake.settle_ms = 80 (was 70)\n");
    assert_eq!(sandbox.service().metrics().of(SUCCESSFUL), 1.0);
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
}

#[test]
fn variables_and_flags_still_override_the_file() {
    let mut sandbox = with_file("");
    sandbox.set("intake.settle_ms", 60).start();
    change(
        &sandbox,
        "[intake]\nsettle_ms = 70\ndepth_max = 9\n",
        "intake.depth_max = 9 (was 64)\n",
    );
}

#[test]
fn a_file_that_waits_is_taken_when_the_settle_time_becomes_shorter() {
    const LONG: &str = "[intake]\nsettle_ms = 86400000\nopen_settle_ms = 86400000\n";
    let mut sandbox = with_file(LONG);
    sandbox.start();
    sandbox.write("inbox/p", hexudoku(1));
    sandbox.wait_for_scans(1);
    assert_eq!(sandbox.submissions().len(), 0);
    let answer = "intake.settle_ms = 0 (was 86400000)\nintake.open_settle_ms = 0 (was 86400000)\n";
    change(&sandbox, "[intake]\nsettle_ms = 0\nopen_settle_ms = 0\n", answer);
    sandbox.wait_for(1);
}

#[test]
fn names_that_are_no_longer_ignored_are_taken() {
    let mut sandbox = with_file("[intake]\nscan_every_ms = 86400000\n");
    sandbox.start();
    sandbox.rename_in("p.part", hexudoku(1));
    sandbox.rename_in("q", hexudoku(2));
    sandbox.wait_for(1);
    write(&sandbox, "[intake]\nscan_every_ms = 86400000\nignored = [\".*\"]\n");
    let outcome = reload(&sandbox);
    assert!(outcome.stdout.starts_with("intake.ignored = [\".*\"] (was ["), "{outcome:?}");
    sandbox.wait_for(2);
}

#[test]
fn watching_can_be_turned_off_and_on() {
    const NEVER: &str = "scan_every_ms = 86400000\nsettle_ms = 0\n";
    let mut sandbox = with_file(&format!("[intake]\n{NEVER}"));
    sandbox.start();
    for (watch, before, mode) in [("off", "auto", "scan"), ("auto", "off", "events")] {
        let answer = format!("intake.watch = \"{watch}\" (was \"{before}\")\n");
        change(&sandbox, &format!("[intake]\n{NEVER}watch = \"{watch}\"\n"), &answer);
        let series = format!(r#"gridmark_watch_mode{{mode="{mode}"}}"#);
        sandbox.wait_until("the mode changes", |sandbox| {
            sandbox.service().metrics().of(&series) == 1.0
        });
    }
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
}

#[test]
fn room_on_the_disk_room_in_the_queue_and_the_level_of_the_log_can_be_changed() {
    let mut sandbox = with_file("");
    sandbox.start();
    let full = "[publish]\ndisk_free_bytes_min = 9223372036854775807\n";
    sandbox.write(FILE, full);
    assert_eq!(reload(&sandbox).code, Some(0));
    sandbox.wait_until("it is not ready", |sandbox| {
        sandbox.service().get("/readyz").contains(" 503 ")
    });
    sandbox.rename_in("p", hexudoku(1));
    let settings = "[queue]\nfiles_max = 2\n[log]\nlevel = \"debug\"\n";
    let answer = "queue.files_max = 2 (was 4096)\n\
                  publish.disk_free_bytes_min = 0 (was 9223372036854775807)\n\
                  log.level = \"debug\" (was \"info\")\n";
    change(&sandbox, settings, answer);
    sandbox.wait_for(1);
    sandbox.wait_until("each file is logged", |sandbox| sandbox.service().log().contains("DEBUG"));
    for i in 0..20 {
        sandbox.rename_in(format!("team/p{i}"), hexudoku(i));
    }
    sandbox.wait_for(21);
}

#[test]
fn systemd_is_notified_of_a_reload_and_its_end() {
    let mut sandbox = with_file("");
    let manager = Manager::of(&mut sandbox, None);
    sandbox.start();
    sandbox.wait_until("systemd is notified", |_| manager.count("READY=1") == 1);
    manager.forget();
    sandbox.service().send(Signal::HUP);
    sandbox.wait_until("the reload is over", |_| manager.count("READY=1") == 1);
    let outcome = manager.received();
    let at = outcome.iter().position(|line| line == "RELOADING=1").unwrap();
    assert!(outcome[at + 1].starts_with("MONOTONIC_USEC="), "{outcome:#?}");
    assert!(at < outcome.iter().position(|line| line == "READY=1").unwrap(), "{outcome:#?}");
}

#[test]
fn a_file_that_the_service_does_not_read_is_refused_with_a_message() {
    let mut sandbox = with_file("");
    sandbox.start();
    let process = sandbox.service().process();
    sandbox.write("other.toml", "[intake]\nsettle_ms = 70\n");
    let other = sandbox.path("other.toml");
    let with = |file: &PathBuf| sandbox.run("reload", &["--config".as_ref(), file.as_os_str()]);
    let outcome = with(&other);
    let wanted = format!(
        "gridmark: process {process} reads its settings from {}, not from {}; nothing was reloaded: \
         change that file, or start the service with --config {}\n",
        file(&sandbox).display(),
        other.display(),
        other.display()
    );
    assert_eq!((outcome.code, outcome.stdout.as_str(), outcome.stderr), (Some(1), "", wanted));
    assert_eq!(sandbox.service().metrics().of(APPLIED), 0.0);
    // The same file under another name, and no file at all.
    std::os::unix::fs::symlink(FILE, sandbox.path("link.toml")).unwrap();
    for outcome in [with(&sandbox.path("link.toml")), sandbox.run("reload", &[] as &[&str])] {
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "no setting has changed\n"));
    }

    let sandbox = Sandbox::started();
    sandbox.write("other.toml", "[intake]\nsettle_ms = 70\n");
    let outcome = sandbox.run("reload", &["--config", "other.toml"]);
    let process = sandbox.service().process();
    let words = format!("process {process} was started without a settings file, and reads none");
    assert!(outcome.code == Some(1) && outcome.stderr.contains(&words), "{outcome:?}");
}

#[test]
fn where_no_service_runs_nothing_can_be_reloaded() {
    let mut sandbox = with_file("");
    let nobody = format!("gridmark: no service runs at {}\n", sandbox.path("").display());
    let nobody = nobody.replace("/\n", "\n");
    let outcome = reload(&sandbox);
    assert_eq!((outcome.code, outcome.stderr), (Some(1), nobody.clone()));
    sandbox.start();
    sandbox.kill();
    // The lock still names the process that held it.
    let outcome = reload(&sandbox);
    assert_eq!((outcome.code, outcome.stderr), (Some(1), nobody));
}

#[test]
fn a_signal_ends_a_run_that_ends_by_itself() {
    use std::os::unix::process::ExitStatusExt;
    let mut sandbox = Sandbox::new();
    // It never comes to its end: the file never settles.
    sandbox.set("intake.settle_ms", 86_400_000).set("intake.open_settle_ms", 86_400_000);
    sandbox.write("inbox/p", hexudoku(1));
    sandbox.spawn_once();
    sandbox.wait_until("it grades", |sandbox| sandbox.service().log().contains("gridmark grades"));
    sandbox.service().send(Signal::HUP);
    assert_eq!(sandbox.wait_for_end().status.signal(), Some(1));
}

#[test]
fn it_ends_when_the_terminal_is_closed_in_which_it_was_started() {
    let mut sandbox = Sandbox::new();
    let (terminal, inside) = terminal();
    sandbox.start_on(inside);
    // While it is open that signal means what it means elsewhere.
    sandbox.service().send(Signal::HUP);
    sandbox.wait_until("it has read its settings", |sandbox| {
        sandbox.service().metrics().of(APPLIED) == 1.0
    });
    drop(terminal);
    sandbox.service().send(Signal::HUP);
    assert_eq!(sandbox.wait_for_end().status.code(), Some(0));
}
