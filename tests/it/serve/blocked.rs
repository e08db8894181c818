//! Readers that have stopped reading: of the log, of standard output, of notifications. Nothing waits for them.

use crate::kit::Sandbox;
use crate::kit::cases::{hexudoku, some};
use crate::kit::outputs::{full_pipe, stopped_terminal};
use rustix::fs::{CWD, FileType, Mode};
use rustix::process::Signal;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixDatagram;
use std::sync::{Arc, Mutex};

/// Standard errors that take nothing, each with what keeps it open.
fn blocked() -> Vec<(&'static str, Box<dyn Send>, File)> {
    let ((reader, pipe), (outside, inside)) = (full_pipe(), stopped_terminal());
    let full = File::options().write(true).open("/dev/full").unwrap();
    vec![
        ("a full pipe", Box::new(reader), pipe),
        ("a terminal", Box::new(outside), inside),
        ("a full disk", Box::new(()), full),
    ]
}

/// A sandbox whose service has more to log than may wait.
fn talkative() -> Sandbox {
    let mut sandbox = Sandbox::new();
    sandbox.set("log.level", "trace").set("log.pending_bytes_max", 1_000);
    sandbox
}

fn dropped(sandbox: &Sandbox) -> f64 {
    sandbox.service().metrics().of("gridmark_log_lines_dropped_total")
}

/// Promise P6.
#[test]
fn a_reader_of_the_log_that_stops_delays_neither_grading_nor_health_nor_the_end() {
    for (what, reader, log) in blocked() {
        let mut sandbox = talkative();
        sandbox.set("grade.tries_max", 2).set_variable("TEST_GRIDMARK_PANIC_ON", "team/bad");
        sandbox.start_on(log);
        for i in 0..50 {
            sandbox.rename_in(format!("team/{i}"), some(i));
        }
        // Each try to grade this one panics.
        sandbox.rename_in("team/bad", hexudoku(1));
        let rows = sandbox.wait_for(51);
        let failed = rows.iter().filter(|row| row.get("status") == "failed").count();
        assert_eq!(failed, 1, "{what}");
        assert!(dropped(&sandbox) > 0.0, "{what}");
        assert_eq!(sandbox.service().metrics().of("gridmark_panics_total"), 2.0, "{what}");
        assert!(sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n"), "{what}");
        assert_eq!(sandbox.terminate().status.code(), Some(0), "{what}");
        drop(reader);
    }
}

#[test]
fn a_second_signal_ends_a_service_whose_log_is_not_read() {
    for (what, reader, log) in blocked() {
        let mut sandbox = talkative();
        // Marks that cannot be written hold up the drain.
        sandbox.write("reports/folders", "no folder");
        sandbox.start_on(log);
        sandbox.rename_in("team/p", hexudoku(1));
        sandbox.wait_until("it is unwell", |sandbox| {
            sandbox.service().get("/readyz").contains("folders/team.csv")
        });
        sandbox.service().send(Signal::TERM);
        sandbox.wait_until("it drains", |sandbox| {
            sandbox.service().get("/readyz").contains("is stopping")
        });
        assert_eq!(sandbox.terminate().status.code(), Some(130), "{what}");
        drop(reader);
    }
}

#[test]
fn a_panic_of_a_stage_ends_a_service_whose_log_is_not_read() {
    for (what, reader, log) in blocked() {
        let mut sandbox = talkative();
        sandbox.set_variable("PANIC_POINT", "committed");
        sandbox.start_on(log);
        sandbox.rename_in("team/p", hexudoku(1));
        assert_eq!(sandbox.wait_for_end().status.code(), Some(70), "{what}");
        drop(reader);
    }
}

#[test]
fn a_panic_of_a_stage_is_logged_with_its_place_before_the_end() {
    let mut sandbox = Sandbox::new();
    sandbox.set_variable("PANIC_POINT", "committed");
    sandbox.start();
    sandbox.rename_in("team/p", hexudoku(1));
    let ended = sandbox.wait_for_end();
    assert_eq!(ended.status.code(), Some(70), "{}", ended.log);
    let panic = "a thread of gridmark panicked; this is a bug thread=\"publish\" place=\"src/";
    assert!(ended.log.contains(panic), "{}", ended.log);
    assert!(ended.log.contains("a test has asked for this"), "{}", ended.log);
}

#[test]
fn a_start_that_fails_ends_though_its_message_is_not_read() {
    for (what, reader, log) in blocked() {
        let mut sandbox = talkative();
        sandbox.write("state", "no folder");
        sandbox.spawn_on(&["--listen", "127.0.0.1:0"], None, Some(log));
        assert_eq!(sandbox.wait_for_end().status.code(), Some(1), "{what}");
        drop(reader);
    }
}

#[test]
fn log_lines_that_were_dropped_are_reported_once_somebody_reads_again() {
    let mut sandbox = talkative();
    let (mut reader, log) = full_pipe();
    sandbox.start_on(log);
    for i in 0..50 {
        sandbox.rename_in(format!("team/{i}"), some(i));
    }
    sandbox.wait_for(50);
    sandbox.wait_until("lines are dropped", |sandbox| dropped(sandbox) > 0.0);
    let read = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&read);
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = reader.read(&mut bytes) {
            kept.lock().unwrap().extend_from_slice(&bytes[..length]);
        }
    });
    let text = || String::from_utf8(read.lock().unwrap().clone()).unwrap();
    sandbox.wait_until("it says so", |_| text().contains("log lines are missing here"));
    sandbox.rename_in("team/last", hexudoku(1));
    sandbox.wait_for(51);
    sandbox.stop();
    reading.join().unwrap();
    let text = text();
    let (before, after) = text.split_once("log lines are missing here").unwrap();
    assert!(before.contains("gridmark grades what is dropped"), "{text}");
    assert!(after.contains("stopped: all that was taken"), "{text}");
    let lines = after.split("lines=").nth(1).and_then(|rest| rest.split('\n').next()).unwrap();
    assert!(lines.parse::<u64>().unwrap() > 0, "{text}");
}

#[test]
fn once_grades_and_ends_on_a_terminal_that_is_stopped() {
    let mut sandbox = Sandbox::new();
    for i in 0..20 {
        sandbox.write(format!("inbox/team/{i}"), hexudoku(i % 17));
    }
    let (_outside, inside) = stopped_terminal();
    sandbox.spawn_on(&["--once"], None, Some(inside));
    let ended = sandbox.wait_for_end();
    assert_eq!(ended.stdout, "20 submissions graded, 20 cases\n");
    assert_eq!(ended.status.code(), Some(0));
}

#[test]
fn once_ends_though_nobody_reads_what_it_has_done() {
    let mut sandbox = Sandbox::new();
    sandbox.write("inbox/p", hexudoku(1));
    let (_reader, stdout) = full_pipe();
    sandbox.spawn_on(&["--once"], Some(stdout), None);
    let ended = sandbox.wait_for_end();
    assert_eq!(ended.status.code(), Some(0));
    assert!(ended.log.contains("nobody reads standard output"), "{}", ended.log);
    sandbox.verifies();
}

#[test]
fn a_service_manager_that_reads_nothing_delays_nothing() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.path("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    let full = loop {
        if let Err(error) = filler.send_to(b"STATUS=full\n", &path) {
            break error.kind();
        }
    };
    assert_eq!(full, ErrorKind::WouldBlock);
    sandbox.set_variable("NOTIFY_SOCKET", &path);
    sandbox.start();
    sandbox.rename_in("p", hexudoku(1));
    sandbox.wait_for(1);
    // What must not be lost comes as soon as the manager reads.
    manager.set_nonblocking(true).unwrap();
    let mut bytes = [0; 4096];
    sandbox.wait_until("the manager knows that it is ready", |_| {
        manager.recv(&mut bytes).is_ok_and(|length| bytes[..length].starts_with(b"READY=1\n"))
    });
    sandbox.stop();
}

#[test]
fn a_settings_file_that_is_a_pipe_is_read_at_the_start_if_it_is_open_already_and_never_again() {
    let mut sandbox = Sandbox::new();
    let path = sandbox.path("gridmark.toml");
    rustix::fs::mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    sandbox.use_file(path.clone());
    sandbox.spawn();
    let ended = sandbox.wait_for_end();
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.log.contains("gridmark.toml: it is a FIFO, not a regular file"), "{}", ended.log);
    sandbox.use_file("/dev/stdin".into());
    sandbox.start();
    sandbox.service().send(Signal::HUP);
    sandbox.wait_until("the reload is refused", |sandbox| {
        sandbox.service().log().contains("is no regular file and can only be read at a start")
    });
    sandbox.stop();
}
