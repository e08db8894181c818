//! A sandbox for the program as a process: a root of its own, settings of its own, and nothing left
//! behind. Tests wait for conditions, never for time.

pub mod cases;
pub mod crashes;
pub mod island;
pub mod manager;
pub mod needs;
pub mod random;
pub mod reports;
mod stream;

use island::Island;
use needs::NOBODY;
use reports::{Metrics, Row, rows};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use stream::Stream;
use tempfile::TempDir;

/// What does not come true in this time never does.
const DEADLINE: Duration = Duration::from_secs(60);

/// The pause between two looks at a condition.
const PAUSE: Duration = Duration::from_millis(3);

/// No look at a condition takes longer, if it is not kept from being one.
const LOOK_MAX: Duration = Duration::from_secs(5);

/// The flags for a port that the system chooses.
const ANY_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// A root folder, the settings, and the process that works on it, if one runs.
pub struct Sandbox {
    root: TempDir,
    settings: BTreeMap<String, String>,
    /// The settings file, if there is one.
    file: Option<PathBuf>,
    /// Other variables of the environment.
    variables: BTreeMap<String, OsString>,
    /// Whose processes are started, if not our own.
    user: Option<u32>,
    /// Where processes run, if not among all others.
    island: Option<Island>,
    /// The limits of the system that they have, if not the same as we, as a shell sets them.
    limits: Vec<String>,
    /// Where it is written which system calls they make, if it is.
    calls: Option<PathBuf>,
    daemon: Option<Daemon>,
}

/// A running `gridmark serve`.
struct Daemon {
    child: Child,
    address: Option<SocketAddr>,
    stdout: Stream,
    stderr: Stream,
}

/// What a command that ended by itself has told.
#[derive(Debug)]
pub struct Told {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Told {
    /// The first line on standard output.
    pub fn first(&self) -> &str {
        self.stdout.lines().next().unwrap_or_default()
    }
}

/// How a process ended, and what it had written.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub log: String,
}

impl Sandbox {
    /// A sandbox with settings that make tests quick. Nothing runs yet.
    pub fn new() -> Sandbox {
        let settings = [
            ("intake.settle_ms", "50"),
            ("intake.scan_every_ms", "100"),
            ("publish.disk_free_bytes_min", "0"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let root = tempfile::Builder::new().prefix("gridmark-test-").tempdir().unwrap();
        Sandbox {
            root,
            settings: settings.into(),
            file: None,
            variables: BTreeMap::new(),
            user: None,
            island: None,
            limits: Vec::new(),
            calls: None,
            daemon: None,
        }
    }

    /// Sets a setting, by its name in the settings file, for processes that are started later.
    pub fn set(&mut self, key: &str, value: impl ToString) -> &mut Sandbox {
        self.settings.insert(key.to_owned(), value.to_string());
        self
    }

    /// Leaves a setting as it is by default, or in the settings file.
    pub fn unset(&mut self, key: &str) -> &mut Sandbox {
        self.settings.remove(key);
        self
    }

    /// Has processes that are started later read this settings file.
    pub fn use_file(&mut self, file: PathBuf) -> &mut Sandbox {
        self.file = Some(file);
        self
    }

    /// Sets a variable of the environment, for processes that are started later.
    pub fn set_variable(&mut self, name: &str, value: impl Into<OsString>) -> &mut Sandbox {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// The same with its root in this folder.
    pub fn within(folder: &Path) -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.root =
            tempfile::Builder::new().prefix("gridmark-test-").tempdir_in(folder).unwrap();
        sandbox
    }

    /// Whether the root is gone with the power.
    pub fn is_in_memory(&self) -> bool {
        const TMPFS: u64 = 0x0102_1994;
        rustix::fs::statfs(self.root.path()).is_ok_and(|found| found.f_type as u64 == TMPFS)
    }

    /// Starts another command on this root, with the root as its working directory.
    pub fn spawn_command(&self, command: &str, args: &[&str]) -> Child {
        let mut process = self.program(self.user);
        process.arg(command).arg("--root").arg(self.root.path()).args(args);
        process.current_dir(self.root.path());
        process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A path under the root.
    pub fn path(&self, below: impl AsRef<Path>) -> PathBuf {
        let path = self.root.path().join(below);
        self.island.as_ref().map_or(path.clone(), |island| island.path(&path))
    }

    /// Gives everything under the root to nobody and runs processes as nobody, if this is root, who
    /// may read everything. Whether that is possible here.
    pub fn run_as_nobody(&mut self) -> bool {
        fn give(path: &Path) {
            std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                give(&entry.path());
            }
        }
        if rustix::process::geteuid().is_root() {
            self.user = Some(NOBODY);
            give(self.root.path());
        }
        needs::unprivileged_user()
    }

    /// The program, run where and as whom the sandbox says, with its settings.
    fn program(&self, user: Option<u32>) -> Command {
        let program = env!("CARGO_BIN_EXE_gridmark");
        let command = match &self.island {
            Some(island) => island.command(program),
            None if self.calls.is_some() => self.traced(program),
            None if self.limits.is_empty() => Command::new(program),
            None => {
                let mut shell = Command::new("/bin/sh");
                let limits = self.limits.join(" && ");
                shell.arg("-c").arg(format!("{limits} && exec \"$0\" \"$@\"")).arg(program);
                shell
            }
        };
        let mut command = with_default_signals(&command);
        command.env_clear().stdin(Stdio::null()).envs(self.variables_of_settings());
        if let Some(user) = user {
            command.uid(user);
        }
        command
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.program(self.user);
        command.arg("serve").arg("--root").arg(self.root.path());
        if let Some(file) = &self.file {
            command.arg("--config").arg(file);
        }
        command.envs(&self.variables).args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Starts the service and waits until it is ready.
    pub fn start(&mut self) {
        self.start_unready();
        self.wait_until("it is ready", |sandbox| {
            sandbox.get("/readyz").starts_with("HTTP/1.1 200 OK\r\n")
        });
    }

    /// Starts the service and waits until it serves HTTP.
    pub fn start_unready(&mut self) {
        self.spawn();
        self.wait_until("it serves HTTP", |sandbox| address_in(&sandbox.log()).is_some());
        let address = address_in(&self.log());
        self.daemon.as_mut().unwrap().address = address;
    }

    /// Starts the service and waits for nothing.
    pub fn spawn(&mut self) {
        self.spawn_with(&ANY_PORT);
    }

    /// Starts `gridmark serve --once` and waits for nothing.
    pub fn spawn_once(&mut self) {
        self.spawn_with(&["--once"]);
    }

    /// Starts the service, with its log on this terminal, and waits until it is ready.
    pub fn start_on(&mut self, terminal: File) {
        assert!(self.daemon.is_none(), "it runs already");
        let mut child = self.command(&ANY_PORT).stderr(terminal).spawn().unwrap();
        let stdout = Stream::of(child.stdout.take().unwrap());
        let stderr = Stream::of(std::io::empty());
        self.daemon = Some(Daemon { child, address: None, stdout, stderr });
        // What it says on the terminal is not read, so its lock has to tell where it listens.
        let address = |sandbox: &Sandbox| {
            let said = fs::read_to_string(sandbox.path("state/lock")).unwrap_or_default();
            said.trim().rsplit_once(", at ")?.1.parse().ok()
        };
        self.wait_until("it serves HTTP", |sandbox| address(sandbox).is_some());
        let address = address(self);
        self.daemon.as_mut().unwrap().address = address;
        self.wait_until("it is ready", |sandbox| sandbox.get("/readyz").contains(" 200 "));
    }

    fn spawn_with(&mut self, args: &[&str]) {
        assert!(self.daemon.is_none(), "it runs already");
        let mut child = self.command(args).spawn().unwrap();
        let stdout = Stream::of(child.stdout.take().unwrap());
        let stderr = Stream::of(child.stderr.take().unwrap());
        self.daemon = Some(Daemon { child, address: None, stdout, stderr });
    }

    /// Runs `gridmark serve --once` to its end.
    pub fn once(&mut self) -> Output {
        assert!(self.daemon.is_none(), "it runs already");
        let mut child = self.command(&["--once"]).spawn().unwrap();
        let stdout = Stream::of(child.stdout.take().unwrap());
        let stderr = Stream::of(child.stderr.take().unwrap());
        let status = wait_for_end(&mut child, &stderr);
        Output { status, stdout: stdout.all().into(), stderr: stderr.all().into() }
    }

    /// Runs another command on this root, in this root.
    pub fn run(&self, command: &str, args: &[impl AsRef<OsStr>]) -> Told {
        self.run_as(self.user, command, args)
    }

    /// The same as this user.
    pub fn run_as(&self, user: Option<u32>, command: &str, args: &[impl AsRef<OsStr>]) -> Told {
        let mut process = self.program(user);
        process.current_dir(self.root.path());
        process.arg(command).arg("--root").arg(self.root.path()).args(args);
        let Output { status, stdout, stderr } = process.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Told { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    fn variables_of_settings(&self) -> impl Iterator<Item = (String, &String)> {
        let variable = |key: &str| format!("GRIDMARK_{}", key.replace('.', "_").to_uppercase());
        self.settings.iter().map(move |(key, value)| (variable(key), value))
    }

    /// Tries to start a second service on the same root, which is to fail.
    pub fn start_second(&self) -> Output {
        self.command(&ANY_PORT).output().unwrap()
    }

    /// Tries to start the service at an address, which is to fail.
    pub fn start_at(&self, address: &str) -> Output {
        self.command(&["--listen", address]).output().unwrap()
    }

    /// What the service has logged so far.
    pub fn log(&self) -> String {
        self.daemon.as_ref().map_or(String::new(), |daemon| daemon.stderr.text())
    }

    /// Where the service that runs serves HTTP.
    pub fn address(&self) -> SocketAddr {
        self.daemon.as_ref().and_then(|daemon| daemon.address).unwrap()
    }

    /// The number of the process that runs.
    pub fn process(&self) -> u32 {
        self.daemon.as_ref().unwrap().child.id()
    }

    fn send(&self, signal: Signal) {
        let pid = Pid::from_child(&self.daemon.as_ref().unwrap().child);
        kill_process(pid, signal).unwrap();
    }

    /// Sends SIGTERM.
    pub fn send_terminate(&self) {
        self.send(Signal::TERM);
    }

    /// Sends SIGHUP.
    pub fn send_hang_up(&self) {
        self.send(Signal::HUP);
    }

    /// Sends SIGABRT, as a watchdog does that was not fed.
    pub fn send_abort(&self) {
        self.send(Signal::ABORT);
    }

    /// Keeps the process from doing anything, until it is to go on.
    pub fn pause(&self) {
        self.send(Signal::STOP);
    }

    /// Lets a paused process go on.
    pub fn go_on(&self) {
        self.send(Signal::CONT);
    }

    /// Sends SIGTERM and waits for the end.
    pub fn terminate(&mut self) -> Ended {
        self.send_terminate();
        self.wait_for_end()
    }

    /// Waits for the end of the process.
    pub fn wait_for_end(&mut self) -> Ended {
        let Daemon { mut child, stdout, stderr, .. } = self.daemon.take().unwrap();
        let status = wait_for_end(&mut child, &stderr);
        Ended { status, stdout: stdout.all(), log: stderr.all() }
    }

    /// How the process ended, if it has ended.
    pub fn ended_by_itself(&mut self) -> Option<Ended> {
        std::thread::sleep(PAUSE);
        let status = self.daemon.as_mut().unwrap().child.try_wait().unwrap();
        status.map(|_| self.wait_for_end())
    }

    /// SIGTERM, after which all must have gone well.
    pub fn stop(&mut self) {
        let ended = self.terminate();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    }

    /// SIGKILL, as if the plug was pulled.
    pub fn kill(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.child.kill().unwrap();
        let status = daemon.child.wait().unwrap();
        assert_eq!(status.signal(), Some(9), "{}", daemon.stderr.text());
    }

    /// Waits for a condition.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Sandbox) -> bool) {
        let (mut waited, mut last) = (Duration::ZERO, Instant::now());
        while !holds(self) {
            let ended = self.daemon.as_mut().and_then(|daemon| daemon.child.try_wait().unwrap());
            // Time in which the whole machine stood still is not waited.
            waited += last.elapsed().min(LOOK_MAX);
            last = Instant::now();
            let in_time = waited < DEADLINE;
            assert!(ended.is_none(), "ended with {ended:?} before {what}\n{}", self.log());
            assert!(in_time, "in vain: {what}\n{}\n{}", self.log(), self.listing());
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for as long as something holds, however long that takes, if only this metric goes on
    /// rising.
    #[track_caller]
    pub fn wait_while_more(
        &mut self,
        what: &str,
        metric: &str,
        mut holds: impl FnMut(&Sandbox) -> bool,
    ) {
        while holds(self) {
            let before = self.metrics().sum(metric);
            let what = format!("more {what}");
            self.wait_until(&what, |sandbox| {
                sandbox.metrics().sum(metric) > before || !holds(sandbox)
            });
        }
    }

    /// The most memory that the process has had so far.
    pub fn peak_memory_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    /// Waits until so many submissions are in the reports, and no more.
    #[track_caller]
    pub fn wait_for(&mut self, submissions: usize) -> Vec<Row> {
        let what = format!("{submissions} submissions are graded");
        self.wait_until(&what, |sandbox| sandbox.submissions().len() >= submissions);
        let rows = self.submissions();
        assert_eq!(rows.len(), submissions, "{rows:#?}");
        rows
    }

    /// Waits until the inbox has been looked through from end to end, `times` times from now.
    #[track_caller]
    pub fn wait_for_scans(&mut self, times: usize) {
        // A scan that is under way now does not count.
        let wanted = self.metrics().of("gridmark_scan_seconds_count") + times as f64 + 1.0;
        self.wait_until("the inbox is scanned", |sandbox| {
            sandbox.metrics().of("gridmark_scan_seconds_count") >= wanted
        });
    }

    /// What is under the root, if it is not too much, for the message of a test that fails.
    fn listing(&self) -> String {
        const LINES_MAX: usize = 1_000;
        fn list(folder: &Path, lines: &mut Vec<String>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if lines.len() < LINES_MAX {
                    lines.push(format!("{}\n", entry.path().display()));
                }
                if lines.len() < LINES_MAX && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    list(&entry.path(), lines);
                }
            }
        }
        let mut lines = Vec::new();
        list(self.root.path(), &mut lines);
        lines.concat()
    }

    /// Writes a file under the root, and the folders that it needs.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Drops a file into the inbox as programs do that finish it elsewhere and rename it.
    pub fn rename_in(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let outside = Path::new("outside").join(number.to_string());
        self.write(&outside, text);
        let path = self.path("inbox").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::rename(self.path(outside), path).unwrap();
    }

    /// Whether there is something at this path under the root.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        self.path(path).symlink_metadata().is_ok()
    }

    /// The text of a file under the root.
    #[track_caller]
    pub fn text(&self, path: impl AsRef<Path>) -> String {
        String::from_utf8(fs::read(self.path(path)).unwrap()).unwrap()
    }

    /// The rows of a report, by its path under `reports/`; none if it is not there.
    pub fn rows(&self, report: impl AsRef<Path>) -> Vec<Row> {
        rows(&self.path("reports").join(report))
    }

    /// The rows of `submissions.csv`.
    pub fn submissions(&self) -> Vec<Row> {
        self.rows("submissions.csv")
    }

    /// The ledger, for a look at it or, while nothing runs, for making it what a crash leaves.
    pub fn ledger(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path("state/ledger.db")).unwrap()
    }

    /// Makes the ledger, while nothing runs, what a crash leaves that has taken a file as the first
    /// attempt of its name, or was about to; the file had this inode in the inbox.
    pub fn claim(&self, name: &str, archived_as: &str, inode: u64, bytes: usize) {
        let claim = "INSERT INTO submissions
            (name, attempt, archived_as, inode, received_at, bytes, state)
            VALUES (?1, 1, ?2, ?3, 1234, ?4, 'claimed')";
        let values = rusqlite::params![name, archived_as, inode as i64, bytes as i64];
        self.ledger().execute(claim, values).unwrap();
    }

    /// The metrics as they are now.
    pub fn metrics(&self) -> Metrics {
        let answer = self.get("/metrics");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}\n{}", self.log());
        Metrics::parse(body)
    }

    /// The answer to a request, head and body; empty if there is none.
    pub fn get(&self, path: &str) -> String {
        let address = self.daemon.as_ref().and_then(|daemon| daemon.address);
        let ask = |address: SocketAddr| {
            let mut stream = TcpStream::connect(address)?;
            stream.set_read_timeout(Some(DEADLINE))?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            std::io::Result::Ok(answer)
        };
        address.and_then(|address| ask(address).ok()).unwrap_or_default()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.child.kill();
            let _ = daemon.child.wait();
        }
    }
}

/// The same command with the default action for every signal. Without it the program would inherit
/// which signals the test run ignores: under `nohup`, SIGHUP.
fn with_default_signals(command: &Command) -> Command {
    let mut env = Command::new("/usr/bin/env");
    env.arg("--default-signal").arg(command.get_program()).args(command.get_args());
    env
}

fn wait_for_end(child: &mut Child, stderr: &Stream) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > DEADLINE {
            let _ = child.kill();
            let _ = child.wait();
            panic!("it does not end\n{}", stderr.text());
        }
        std::thread::sleep(PAUSE);
    }
}

/// The address in the log line that tells it.
fn address_in(log: &str) -> Option<SocketAddr> {
    let line = log.lines().find(|line| line.contains("metrics and health are served"))?;
    let start = line.find("127.0.0.1:")?;
    let length = line[start..].find(['"', ' ', ',']).unwrap_or(line.len() - start);
    line[start..][..length].parse().ok()
}
