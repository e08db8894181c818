//! `gridmark health`: what it says and how it exits, since other programs go by that.

use crate::kit::Sandbox;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

fn health(args: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gridmark"));
    let output = command.arg("health").args(args).env_clear().output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_service_that_takes_files_is_ready_and_alive() {
    let sandbox = Sandbox::started();
    let root = sandbox.path("");
    let root = root.to_str().unwrap();
    let address = sandbox.service().address().to_string();
    for whose in [["--root", root], ["--at", &address]] {
        assert_eq!(health(&whose), (Some(0), "ready\n".into()));
        assert_eq!(health(&[&["--live"], &whose[..]].concat()), (Some(0), "alive\n".into()));
    }
}

#[test]
fn a_service_that_takes_no_files_is_alive_and_says_why_it_is_not_ready() {
    let mut sandbox = Sandbox::new();
    sandbox.set("publish.disk_free_bytes_min", i64::MAX);
    sandbox.start_unready();
    let root = sandbox.path("");
    let root = ["--root", root.to_str().unwrap()];
    sandbox.wait_until("it says why", |_| health(&root).1.contains("disk"));
    let (code, printed) = health(&root);
    assert_eq!(code, Some(1));
    let lines = printed.lines().collect::<Vec<_>>();
    assert_eq!(lines[0], "not ready");
    assert!(lines.len() > 1 && lines[1..].iter().all(|line| line.starts_with("  ")), "{printed}");
    assert_eq!(health(&["--live", root[0], root[1]]), (Some(0), "alive\n".into()));
}

#[test]
fn without_a_service_there_is_no_answer() {
    let mut sandbox = Sandbox::new();
    let root = sandbox.path("");
    let root = ["--root", root.to_str().unwrap()];
    let none = (Some(1), format!("no answer\n  no service runs at {}\n", root[1]));
    assert_eq!(health(&root), none);
    sandbox.start();
    let address = sandbox.service().address().to_string();
    sandbox.kill();
    assert_eq!(health(&root), none);
    let (code, printed) = health(&["--at", &address]);
    assert_eq!(code, Some(1));
    assert!(printed.starts_with(&format!("no answer\n  {address}: ")), "{printed}");
}

#[test]
fn others_that_answer_are_not_taken_for_gridmark() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        for answer in ["SSH-2.0-x\r\n", "HTTP/1.1 404 Not Found\r\n\r\n"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            let _ = stream.read(&mut head).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    for why in [
        "it does not answer as gridmark does",
        "the answer has status 404, which gridmark does not give",
    ] {
        let printed = format!("no answer\n  {address}: {why}\n");
        assert_eq!(health(&["--at", &address]), (Some(1), printed));
    }
    answering.join().unwrap();
}

#[test]
fn a_user_who_may_not_read_the_state_asks_at_the_configured_address() {
    use std::os::unix::fs::PermissionsExt;
    let mut sandbox = Sandbox::started();
    let address = sandbox.service().address();
    sandbox.set("http.listen", format!("{address}"));
    let lock = sandbox.path("state/lock");
    std::fs::set_permissions(lock, PermissionsExt::from_mode(0o000)).unwrap();
    std::fs::set_permissions(sandbox.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    // Root may read everything, so nobody asks if this is root.
    let user = rustix::process::geteuid().is_root().then_some(65_534);
    let printed = sandbox.run_as(user, "health", &[] as &[&str]);
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(0), "ready\n"), "{printed:?}");
}
