//! The process half of a sandbox: a service that runs, its output, its signals and its HTTP.

use super::reports::Metrics;
use super::{DEADLINE, Wait};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A running `gridmark serve`, which is killed when this is dropped.
pub struct Service {
    child: Child,
    stdout: Stream,
    stderr: Stream,
    /// Where it serves HTTP, once that is known.
    pub(super) address: Option<SocketAddr>,
}

/// How a service ended, and what it had written.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub log: String,
}

impl Service {
    /// Starts a command. Output that the command does not pipe is not read.
    pub(super) fn spawn(command: &mut Command) -> Service {
        let mut child = command.spawn().unwrap();
        let stdout = Stream::of(child.stdout.take());
        let stderr = Stream::of(child.stderr.take());
        Service { child, stdout, stderr, address: None }
    }

    /// The log so far.
    pub fn log(&self) -> String {
        self.stderr.text()
    }

    /// The address in the log line that reports it.
    pub(super) fn address_in_log(&self) -> Option<SocketAddr> {
        let log = self.log();
        let line = log.lines().find(|line| line.contains("metrics and health are served"))?;
        let start = line.find("127.0.0.1:")?;
        let length = line[start..].find(['"', ' ', ',']).unwrap_or(line.len() - start);
        line[start..][..length].parse().ok()
    }

    /// The number of the process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The most memory that the process has had so far, in bytes.
    pub fn peak_memory_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Sends a signal.
    pub fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Stops the process from doing anything, until `resume`.
    pub fn pause(&self) {
        self.send(Signal::STOP);
        // The signal reaches one thread first, which stops the others.
        let mut wait = Wait::begin();
        while !self.is_paused() {
            assert!(!wait.is_over(), "it does not pause\n{}", self.log());
        }
    }

    /// Whether all its threads are stopped.
    fn is_paused(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.process())).unwrap();
        threads.flatten().all(|thread| {
            // A thread that has ended meanwhile does nothing either.
            std::fs::read_to_string(thread.path().join("stat")).map_or(true, |stat| {
                stat.rsplit_once(") ").is_some_and(|(_, it)| it.starts_with('T'))
            })
        })
    }

    /// Lets a paused process continue.
    pub fn resume(&self) {
        self.send(Signal::CONT);
    }

    /// Where it serves HTTP.
    pub fn address(&self) -> SocketAddr {
        self.address.unwrap()
    }

    /// The answer to a request, head and body; empty if there is none.
    pub fn get(&self, path: &str) -> String {
        let ask = |address: SocketAddr| {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(DEADLINE))?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        };
        self.address.and_then(|address| ask(address).ok()).unwrap_or_default()
    }

    /// The metrics as they are now.
    #[track_caller]
    pub fn metrics(&self) -> Metrics {
        let answer = self.get("/metrics");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}\n{}", self.log());
        Metrics::parse(body)
    }

    /// How the process ended, if it has ended.
    pub(super) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for the end of the process.
    pub(super) fn wait_for_end(mut self) -> Ended {
        let mut wait = Wait::begin();
        let status = loop {
            if let Some(status) = self.status() {
                break status;
            }
            assert!(!wait.is_over(), "it does not end\n{}", self.log());
        };
        Ended { status, stdout: self.stdout.all(), log: self.stderr.all() }
    }

    /// SIGKILL, as if the plug was pulled.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "{}", self.log());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a process writes to a pipe, read while it runs.
struct Stream {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

impl Stream {
    fn of(source: Option<impl Read + Send + 'static>) -> Stream {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bytes);
        let reader = source.map(|mut source| {
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(read @ 1..) = source.read(&mut buffer) {
                    kept.lock().unwrap().extend_from_slice(&buffer[..read]);
                }
            })
        });
        Stream { bytes, reader }
    }

    /// What was written so far.
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().unwrap()).into_owned()
    }

    /// All that was written until the pipe was closed.
    fn all(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        self.text()
    }
}
