//! A sandbox for the program as a process: a root of its own, settings of its own, and nothing left
//! behind. Tests wait for conditions, never for time.
//!
//! [`Root`] is the folders, [`Service`] the process that runs on them. A [`Sandbox`] has one of each,
//! and the settings with which processes are started.

pub mod cases;
pub mod crashes;
pub mod island;
pub mod manager;
pub mod needs;
pub mod outputs;
pub mod random;
pub mod reports;
mod root;
mod service;

pub use root::{BOOT_ID, Root};
pub use service::{Ended, Service};

use island::Island;
use needs::NOBODY;
use reports::Row;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A condition that does not come true in this time is taken never to do so.
const DEADLINE: Duration = Duration::from_secs(60);

/// The pause between two checks of a condition.
const PAUSE: Duration = Duration::from_millis(3);

/// No check of a condition takes longer, unless the machine stands still meanwhile.
const CHECK_MAX: Duration = Duration::from_secs(5);

/// How long a test has waited for a condition. Time in which the whole machine stood still does not count.
pub struct Wait {
    waited: Duration,
    last: Instant,
}

impl Wait {
    /// Begins to wait.
    pub fn begin() -> Wait {
        Wait { waited: Duration::ZERO, last: Instant::now() }
    }

    /// Whether the condition has not come true for too long. Else pauses before the next check.
    pub fn is_over(&mut self) -> bool {
        self.waited += self.last.elapsed().min(CHECK_MAX);
        self.last = Instant::now();
        if self.waited >= DEADLINE {
            return true;
        }
        std::thread::sleep(PAUSE);
        false
    }
}

/// The flags for a port that the system chooses.
const ANY_PORT: [&str; 2] = ["--listen", "127.0.0.1:0"];

/// A root, the settings of processes on it, and the service, while one runs. It has the methods of
/// its [`Root`].
pub struct Sandbox {
    root: Root,
    service: Option<Service>,
    settings: BTreeMap<String, String>,
    /// The settings file, if there is one.
    file: Option<PathBuf>,
    /// Other variables of the environment.
    variables: BTreeMap<String, OsString>,
    /// The user of processes, if not the one of the tests.
    user: Option<u32>,
    /// The namespaces of processes, if not those of the tests.
    island: Option<Island>,
    /// The resource limits of processes, as a shell sets them.
    limits: Vec<String>,
    /// How strace runs processes, if it does.
    strace: Vec<OsString>,
    /// Whether processes see the boot id of the root instead of the system's.
    has_boot_id: bool,
}

/// The exit code and the output of a command that has ended.
#[derive(Debug)]
pub struct Outcome {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// The first line on standard output.
    pub fn first(&self) -> &str {
        self.stdout.lines().next().unwrap_or_default()
    }
}

impl std::ops::Deref for Sandbox {
    type Target = Root;

    fn deref(&self) -> &Root {
        &self.root
    }
}

impl Sandbox {
    /// A sandbox with settings that make tests quick. Nothing runs yet.
    pub fn new() -> Sandbox {
        Sandbox::within(&std::env::temp_dir())
    }

    /// The same with its root in this folder.
    pub fn within(folder: &Path) -> Sandbox {
        let settings = [
            ("intake.settle_ms", "50"),
            ("intake.scan_every_ms", "100"),
            ("publish.disk_free_bytes_min", "0"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned()));
        Sandbox {
            root: Root::within(folder),
            service: None,
            settings: settings.into(),
            file: None,
            variables: BTreeMap::new(),
            user: None,
            island: None,
            limits: Vec::new(),
            strace: Vec::new(),
            has_boot_id: false,
        }
    }

    /// A sandbox in which the service is ready.
    pub fn started() -> Sandbox {
        let mut sandbox = Sandbox::new();
        sandbox.start();
        sandbox
    }

    /// A sandbox whose processes run on an island; none where there can be no islands.
    pub fn on_island() -> Option<Sandbox> {
        let island = Island::new()?;
        let sandbox = Sandbox::new();
        Some(Sandbox { root: sandbox.root.on_island(&island), island: Some(island), ..sandbox })
    }

    /// Runs a line of shell on the sandbox's island, in its root.
    #[track_caller]
    pub fn on_shore(&self, script: &str) {
        let root = self.root.as_given().display();
        self.island.as_ref().unwrap().run(&format!("cd {root} && {script}"));
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

    /// Makes processes that are started later read this settings file.
    pub fn use_file(&mut self, file: PathBuf) -> &mut Sandbox {
        self.file = Some(file);
        self
    }

    /// Sets a variable of the environment, for processes that are started later.
    pub fn set_variable(&mut self, name: &str, value: impl Into<OsString>) -> &mut Sandbox {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    /// Makes strace write the system calls of processes that are started later to this file.
    pub fn trace_calls(&mut self, into: PathBuf) -> &mut Sandbox {
        self.strace = vec!["-A".into(), "-o".into(), into.into()];
        self
    }

    /// Makes file locks fail in processes that are started later, as on a file system that has none.
    pub fn refuse_locks(&mut self) -> &mut Sandbox {
        let args = ["-o", "/dev/null", "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK"];
        self.strace = args.map(OsString::from).into();
        self
    }

    /// Lets processes that are started later have at most so many descriptors.
    pub fn bound_descriptors(&mut self, most: u64) -> &mut Sandbox {
        self.limits.push(format!("ulimit -n {most}"));
        self
    }

    /// Limits files that are written by processes that are started later to so many blocks of 512
    /// bytes.
    pub fn bound_files(&mut self, blocks_max: u64) -> &mut Sandbox {
        self.limits.push(format!("ulimit -f {blocks_max}"));
        self
    }

    /// Lifts the limits for processes that are started later.
    pub fn lift_bounds(&mut self) -> &mut Sandbox {
        self.limits.clear();
        self
    }

    /// Gives everything under the root to nobody and runs processes as nobody, if this is root, who
    /// may read everything. Whether that is possible here.
    pub fn run_as_nobody(&mut self) -> bool {
        if rustix::process::geteuid().is_root() {
            self.user = Some(NOBODY);
            self.root.give_to(NOBODY);
        }
        needs::unprivileged_user()
    }

    /// The program with the settings of the sandbox, run in its namespaces and as its user.
    fn program(&self, user: Option<u32>) -> Command {
        let program = env!("CARGO_BIN_EXE_gridmark");
        let command = match &self.island {
            Some(island) => island.command(program),
            None if !self.strace.is_empty() => {
                let mut strace = Command::new("strace");
                // The program is the process that is started, and strace comes beside it.
                strace.args(["-D", "-f", "-qq"]).args(&self.strace).arg(program);
                strace
            }
            None if self.has_boot_id => {
                let mut unshare = Command::new("unshare");
                let bind = format!("mount --bind \"$0\" {BOOT_ID} && exec \"$@\"");
                unshare.args(["--mount", "--propagation", "private", "sh", "-c", &bind]);
                unshare.arg(self.root.boot_id_file()).arg(program);
                unshare
            }
            None if self.limits.is_empty() => Command::new(program),
            None => {
                let mut shell = Command::new("/bin/sh");
                let limits = self.limits.join(" && ");
                shell.arg("-c").arg(format!("{limits} && exec \"$0\" \"$@\"")).arg(program);
                shell
            }
        };
        let mut command = with_default_signals(&command);
        command.env_clear().stdin(Stdio::null());
        for (key, value) in &self.settings {
            command.env(format!("GRIDMARK_{}", key.replace('.', "_").to_uppercase()), value);
        }
        if let Some(user) = user {
            command.uid(user);
        }
        command
    }

    /// `gridmark serve` on this root, with its output piped.
    fn serve(&self, args: &[&str]) -> Command {
        let mut command = self.program(self.user);
        command.arg("serve").arg("--root").arg(self.root.as_given());
        if let Some(file) = &self.file {
            command.arg("--config").arg(file);
        }
        command.envs(&self.variables).args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Another command on this root, of one word or two, with the root as its working directory.
    fn command(&self, user: Option<u32>, command: &str, args: &[impl AsRef<OsStr>]) -> Command {
        let mut process = self.program(user);
        process.args(command.split(' ')).arg("--root").arg(self.root.as_given()).args(args);
        process.current_dir(self.root.as_given());
        process
    }

    /// Starts another command on this root.
    pub fn spawn_command(&self, command: &str, args: &[&str]) -> Child {
        let mut process = self.command(self.user, command, args);
        process.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs another command on this root to its end.
    pub fn run(&self, command: &str, args: &[impl AsRef<OsStr>]) -> Outcome {
        self.run_as(self.user, command, args)
    }

    /// The same as this user.
    pub fn run_as(&self, user: Option<u32>, command: &str, args: &[impl AsRef<OsStr>]) -> Outcome {
        let Output { status, stdout, stderr } = self.command(user, command, args).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Outcome { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Starts the service and waits until it is ready.
    pub fn start(&mut self) {
        self.start_unready();
        self.wait_until_ready();
    }

    /// Starts the service and waits until it serves HTTP.
    pub fn start_unready(&mut self) {
        self.spawn();
        self.wait_for_address(|sandbox| sandbox.service().address_in_log());
    }

    /// Starts the service and waits for nothing.
    pub fn spawn(&mut self) {
        self.spawn_as(&mut self.serve(&ANY_PORT));
    }

    /// Starts `gridmark serve --once` and waits for nothing.
    pub fn spawn_once(&mut self) {
        self.spawn_as(&mut self.serve(&["--once"]));
    }

    /// Starts the service, with its log on this terminal or pipe, and waits until it is ready.
    pub fn start_on(&mut self, log: File) {
        self.spawn_on(&ANY_PORT, None, Some(log));
        // The log is not read, but the lock holds the address too.
        self.wait_for_address(|sandbox| {
            let lock = fs::read_to_string(sandbox.path("state/lock")).unwrap_or_default();
            lock.lines().next()?.rsplit_once(", at ")?.1.parse().ok()
        });
        self.wait_until_ready();
    }

    /// Starts the service with these flags and these outputs instead of pipes, and waits for nothing.
    pub fn spawn_on(&mut self, args: &[&str], stdout: Option<File>, stderr: Option<File>) {
        let mut command = self.serve(args);
        if let Some(stdout) = stdout {
            command.stdout(stdout);
        }
        if let Some(stderr) = stderr {
            command.stderr(stderr);
        }
        self.spawn_as(&mut command);
    }

    fn spawn_as(&mut self, command: &mut Command) {
        assert!(self.service.is_none(), "it runs already");
        self.service = Some(Service::spawn(command));
    }

    fn wait_for_address(&mut self, find: fn(&Sandbox) -> Option<std::net::SocketAddr>) {
        self.wait_until("it serves HTTP", |sandbox| find(sandbox).is_some());
        let address = find(self);
        self.service.as_mut().unwrap().address = address;
    }

    fn wait_until_ready(&mut self) {
        self.wait_until("it is ready", |sandbox| {
            sandbox.service().get("/readyz").starts_with("HTTP/1.1 200 OK\r\n")
        });
        // From then on every folder of the inbox is watched.
        self.wait_until("it has scanned the inbox", |sandbox| {
            sandbox.service().metrics().of("gridmark_scan_seconds_count") >= 1.0
        });
    }

    /// Runs `gridmark serve --once` to its end.
    pub fn once(&mut self) -> Output {
        self.spawn_once();
        let Ended { status, stdout, log } = self.wait_for_end();
        Output { status, stdout: stdout.into(), stderr: log.into() }
    }

    /// Tries to start a second service on the same root, which has to fail.
    pub fn start_second(&self) -> Output {
        self.serve(&ANY_PORT).output().unwrap()
    }

    /// Tries to start the service at an address, which has to fail.
    pub fn start_at(&self, address: &str) -> Output {
        self.serve(&["--listen", address]).output().unwrap()
    }

    /// The service that runs.
    #[track_caller]
    pub fn service(&self) -> &Service {
        self.service.as_ref().expect("a service runs")
    }

    /// Sends SIGTERM and waits for the end.
    pub fn terminate(&mut self) -> Ended {
        self.service().send(Signal::TERM);
        self.wait_for_end()
    }

    /// SIGTERM, after which the service has to exit with 0.
    pub fn stop(&mut self) {
        let ended = self.terminate();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.log);
    }

    /// SIGKILL, as if the plug was pulled.
    pub fn kill(&mut self) {
        self.service.take().unwrap().kill();
    }

    /// Lets processes that are started later see a boot id of the root's own; the caller has to be root.
    pub fn use_boot_ids(&mut self) {
        self.has_boot_id = true;
        self.root.reboot();
    }

    /// Ends the service, if one runs, as a loss of power does.
    pub fn lose_service(&mut self) {
        drop(self.service.take());
    }

    /// Whether a service was started and not waited for.
    pub fn is_running(&self) -> bool {
        self.service.is_some()
    }

    /// Waits for the end of the service.
    pub fn wait_for_end(&mut self) -> Ended {
        self.service.take().unwrap().wait_for_end()
    }

    /// How the service ended, if it has ended.
    pub fn ended_by_itself(&mut self) -> Option<Ended> {
        std::thread::sleep(PAUSE);
        let status = self.service.as_mut().unwrap().status();
        status.map(|_| self.wait_for_end())
    }

    /// Waits for a condition. Fails if the service ends before.
    #[track_caller]
    pub fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&Sandbox) -> bool) {
        let mut wait = Wait::begin();
        while !holds(self) {
            let ended = self.service.as_mut().and_then(Service::status);
            let log = || self.service.as_ref().map(Service::log).unwrap_or_default();
            assert!(ended.is_none(), "ended with {ended:?} before {what}\n{}", log());
            assert!(!wait.is_over(), "not in time: {what}\n{}\n{}", log(), self.listing());
        }
    }

    /// Waits for as long as something holds, however long that takes, as long as this metric rises.
    #[track_caller]
    pub fn wait_while_more(
        &mut self,
        what: &str,
        metric: &str,
        mut holds: impl FnMut(&Sandbox) -> bool,
    ) {
        while holds(self) {
            let before = self.service().metrics().sum(metric);
            let what = format!("more {what}");
            self.wait_until(&what, |sandbox| {
                sandbox.service().metrics().sum(metric) > before || !holds(sandbox)
            });
        }
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

    /// Waits until a file under the root has this text.
    #[track_caller]
    pub fn wait_for_text(&mut self, path: impl AsRef<Path>, text: &str) {
        let path = self.path(path);
        let what = format!("{} holds {text:?}", path.display());
        self.wait_until(&what, |_| std::fs::read(&path).is_ok_and(|it| it == text.as_bytes()));
    }

    /// Waits until no report is to be rebuilt, as far as the service has noticed.
    #[track_caller]
    pub fn wait_until_rebuilt(&mut self) {
        self.wait_until("all reports are rebuilt", |sandbox| {
            let damaged = "SELECT count(*) FROM reports WHERE NOT whole";
            sandbox.ledger().query_row(damaged, [], |row| row.get::<_, i64>(0)).unwrap() == 0
        });
    }

    /// Waits until the inbox has been scanned from end to end, `times` times from now.
    #[track_caller]
    pub fn wait_for_scans(&mut self, times: usize) {
        let scans =
            |sandbox: &Sandbox| sandbox.service().metrics().of("gridmark_scan_seconds_count");
        // A scan that has begun already does not count.
        let wanted = scans(self) + times as f64 + 1.0;
        self.wait_until("the inbox is scanned", |sandbox| scans(sandbox) >= wanted);
    }
}

/// The same command with the default action for every signal. Without it the program would inherit
/// which signals the test run ignores: under `nohup`, SIGHUP.
fn with_default_signals(command: &Command) -> Command {
    let mut env = Command::new("/usr/bin/env");
    env.arg("--default-signal").arg(command.get_program()).args(command.get_args());
    env
}
