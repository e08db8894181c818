//! Clients of the HTTP address, and descriptors that are few: grading goes on all the same.

use crate::kit::Sandbox;
use crate::kit::cases::{classic, some};
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn hand_in(sandbox: &Sandbox, files: std::ops::Range<usize>) {
    for i in files {
        sandbox.rename_in(format!("team {}/p{i}", i % 9), some(i));
    }
}

/// Promise P6.
#[test]
fn many_slow_silent_or_loud_clients_disturb_nothing() {
    let mut sandbox = Sandbox::new();
    // Silent clients are cut off for waiting ones, not by the clock.
    for limit in ["http.header_read_ms_max", "http.connection_ms_max"] {
        sandbox.set(limit, 3_600_000);
    }
    sandbox.set("http.connections_max", 16).set("http.silent_ms_max", 20).start();
    let address = sandbox.service().address();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let oversized = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n", "x".repeat(100_000));
            let mut clients = Vec::new();
            while !over.load(Ordering::Acquire) {
                if clients.len() >= 60 {
                    clients.drain(..30);
                }
                for said in ["", "GET /livez HT", oversized.as_str(), "\0\0\0\r\n\r\n"] {
                    let Ok(mut client) = TcpStream::connect(address) else { continue };
                    let _ = client.set_write_timeout(Some(Duration::from_millis(10)));
                    let _ = client.write_all(said.as_bytes());
                    clients.push(client);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        hand_in(&sandbox, 0..300);
        sandbox.wait_for(300);
        for _ in 0..5 {
            let begun = Instant::now();
            assert!(sandbox.service().get("/livez").starts_with("HTTP/1.1 200 OK\r\n"));
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        }
        over.store(true, Ordering::Release);
    });
    assert!(sandbox.submissions().iter().all(|row| row.get("status") != "failed"));
}

#[test]
fn livez_answers_while_silent_clients_hold_all_connections() {
    let mut sandbox = Sandbox::new();
    for limit in ["http.header_read_ms_max", "http.connection_ms_max"] {
        sandbox.set(limit, 3_600_000);
    }
    sandbox.start();
    let silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(sandbox.service().address()).unwrap()).collect();
    let begun = Instant::now();
    for path in ["/livez", "/readyz", "/metrics"] {
        assert!(sandbox.service().get(path).starts_with("HTTP/1.1 200 OK\r\n"), "{path}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(silent);
}

/// How many descriptors are needed, as a start says that has fewer.
fn descriptors_needed(sandbox: &mut Sandbox) -> u64 {
    sandbox.bound_descriptors(20);
    let output = sandbox.start_second();
    sandbox.lift_bounds();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("20 files may be open") && errors.contains("LimitNOFILE"), "{errors}");
    let (_, needed) = errors.split_once("needs at least ").unwrap();
    needed.split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_start_with_too_few_descriptors_is_refused_with_a_message() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.threads_max", 2);
    let needed = descriptors_needed(&mut sandbox);
    let output = sandbox.bound_descriptors(needed - 1).start_second();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    sandbox.lift_bounds().set("grade.threads_max", 4);
    assert!(descriptors_needed(&mut sandbox) > needed);
}

/// Promise P6.
///
///
/// Deep folders, many reports, large files and many clients, each of which could use up all of them.
#[test]
fn with_few_descriptors_everything_is_still_graded() {
    let mut sandbox = Sandbox::new();
    sandbox.set("grade.case_bytes_max", 4096).set("grade.chunk_bytes_max", 8192);
    sandbox.set("grade.threads_max", 2);
    let needed = descriptors_needed(&mut sandbox);
    sandbox.bound_descriptors(needed).start();
    assert!(
        sandbox.service().log().contains("http.connections_max"),
        "{}",
        sandbox.service().log()
    );
    let silent: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(sandbox.service().address()).unwrap()).collect();
    for i in 0..30 {
        sandbox.write(format!("inbox/{i}/{}p", "d/".repeat(40)), some(i));
        sandbox.rename_in(format!("{i}/large"), classic(i, &"YN".repeat(100)));
    }
    let rows = sandbox.wait_for(60);
    assert!(rows.iter().all(|row| row.get("status") != "failed"), "{rows:#?}");
    assert!(sandbox.service().get("/livez").starts_with("HTTP/1.1 200 OK\r\n"));
    let metrics = sandbox.service().metrics();
    assert!(metrics.of("process_open_fds") <= needed as f64);
    for errors in ["scan", "grade", "claim", "commit"] {
        let errors = format!("gridmark_{errors}_errors_total");
        assert_eq!(metrics.of(&errors), 0.0, "{errors}\n{}", sandbox.service().log());
    }
    // They are still there when it is to end.
    sandbox.stop();
    drop(silent);
}
