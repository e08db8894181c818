//! The service where people start it: in the root folder, with no path given.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A line that does not come in this time is taken never to come.
const DEADLINE: Duration = Duration::from_secs(60);

/// The process, which ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(lines: &Receiver<String>, word: &str) -> String {
    let mut seen = String::new();
    loop {
        match lines.recv_timeout(DEADLINE) {
            Ok(line) if line.contains(word) => return line,
            Ok(line) => seen += &format!("{line}\n"),
            Err(error) => panic!("`{word}` did not come ({error}):\n{seen}"),
        }
    }
}

#[test]
fn started_in_its_root_it_finds_files_and_moved_in_folders_without_a_scan() {
    let root = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_gridmark"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .current_dir(root.path())
        .env_clear()
        .env("GRIDMARK_LOG_LEVEL", "debug")
        .env("GRIDMARK_INTAKE_SCAN_EVERY_MS", "3600000")
        .env("GRIDMARK_PUBLISH_DISK_FREE_BYTES_MIN", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let _running = Running(child);
    let (tell, lines) = channel();
    std::thread::spawn(move || log.lines().map_while(Result::ok).try_for_each(|l| tell.send(l)));

    let started = wait_for(&lines, "root=");
    let whole = root.path().canonicalize().unwrap();
    assert!(started.contains(&format!("root={}", whole.display())), "{started}");
    wait_for(&lines, " ready");

    fs::create_dir(root.path().join("team-1")).unwrap();
    fs::write(root.path().join("team-1/p1.txt"), "one\n").unwrap();
    fs::rename(root.path().join("team-1"), root.path().join("inbox/team-1")).unwrap();
    wait_for(&lines, "name=team-1/p1.txt attempt=1");
    fs::write(root.path().join("inbox/p2.txt"), "two\n").unwrap();
    wait_for(&lines, "name=p2.txt attempt=1");
}
