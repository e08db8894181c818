//! The trial: a whole service, run with these settings in scratch folders on the file systems of the real
//! ones, grades submissions of each kind.
//!
//! The trial finds what no single check can: whether all parts work together here. It is a process of its
//! own, the same program started as `serve`, because settings, signals and limits of a service apply to a
//! process.

mod samples;

use super::disks::is_short;
use super::finding::{Finding, milliseconds};
use super::folders::{Folder, Folders};
use super::scratch::ScratchGuard;
use crate::config::{Loaded, Log, Paths, Watch};
use crate::model::words::counted;
use crate::service::http;
use crate::store::lock::Holder;
use gridmark_core::Kind;
use samples::Sample;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The environment variable of a trial's service. Its value is the process number of the doctor, with
/// which the service ends.
pub const TRIAL_OF_PROCESS: &str = "TRIAL_OF_GRIDMARK_DOCTOR";

/// The folder of the trial's submissions in the inbox.
const TEAM: &str = "trial";
/// The pause between two checks of a condition that is waited for.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest settle time and time between scans in a trial, in milliseconds.
const WAIT_MS_MAX: u64 = 1_000;
/// How many lines of the log a failure quotes.
const LOG_LINES: usize = 3;

const REMEDY: &str = "see the findings above; if none explains this, it is a bug in gridmark: report \
                      it with this line";

/// Runs the trial; `None` if a folder cannot be written, which the checks of folders have reported.
pub(super) fn trial(
    folders: &Folders,
    loaded: &Loaded,
    guard: &ScratchGuard,
    time_max: Duration,
) -> Option<Finding> {
    let paths = match trial_paths(folders)? {
        Ok(paths) => paths,
        Err(error) => {
            let what = format!("cannot create folders for the trial: {error}");
            return Some(Finding::fail("trial", what, REMEDY));
        }
    };
    if has_non_utf8_path(&paths) {
        let what = "not run: settings files are UTF-8, and the path of a folder is not";
        return Some(Finding::note("trial", what));
    }
    let is_short = is_short(folders, &loaded.settings);
    let trial = Trial { paths, guard, until: Instant::now() + time_max, time_max, is_short };
    let tried = trial.run(loaded);
    guard.kill_child();
    Some(tried.unwrap_or_else(|why| {
        let what = format!("{why}{}", trial.last_of_log());
        Finding::fail("trial", what, REMEDY)
    }))
}

fn trial_paths(folders: &Folders) -> Option<io::Result<Paths>> {
    let within = |folder: &Folder| Some(folder.scratch.as_ref()?.folder("trial"));
    let root = within(&folders.state)?;
    let five = [
        within(&folders.inbox)?,
        within(&folders.archive)?,
        within(&folders.quarantine)?,
        within(&folders.reports)?,
    ];
    Some((|| {
        let root = root?;
        let [inbox, archive, quarantine, reports] = five;
        let state = root.join("state");
        let (inbox, archive) = (inbox?, archive?);
        let (quarantine, reports) = (quarantine?, reports?);
        let (event, public) = (root.join("event"), root.join("public"));
        Ok(Paths { root, inbox, archive, quarantine, reports, state, event, public })
    })())
}

fn has_non_utf8_path(paths: &Paths) -> bool {
    let all = [&paths.root, &paths.inbox, &paths.archive, &paths.quarantine, &paths.reports];
    all.iter().any(|path| path.to_str().is_none())
}

struct Trial<'a> {
    paths: Paths,
    guard: &'a ScratchGuard,
    until: Instant,
    time_max: Duration,
    /// Whether less space is free than `publish.disk_free_bytes_min`. A check of its own reports that; the
    /// trial ignores the setting, so that it can test everything else.
    is_short: bool,
}

impl Trial<'_> {
    /// Runs the trial; an error says why it failed.
    fn run(&self, loaded: &Loaded) -> Result<Finding, String> {
        let samples = samples::all();
        self.start(loaded).map_err(|error| format!("the service cannot be started: {error}"))?;
        let address = self.wait("the service is not ready", || self.ready())?;
        let start = Instant::now();
        self.hand_in(&samples)
            .map_err(|error| format!("submissions cannot be put into the inbox: {error}"))?;
        let submissions = self.paths.reports().join("submissions.csv");
        self.wait("not all submissions are graded", || match rows(&submissions)?.len() {
            found if found >= samples.len() => Ok(()),
            found => Err(format!("{found} of {} submissions", samples.len())),
        })?;
        let took = start.elapsed();
        self.check(&samples, &submissions)?;
        let via_events = via_events(address);
        self.guard.terminate_child();
        let status = self.wait_for_end()?;
        if !status.success() {
            return Err(format!("the service ended with {status}"));
        }
        let cases = samples.iter().map(|sample| sample.answers.len()).sum::<usize>();
        let via = if via_events { "found by events" } else { "found by scans" };
        let without = if self.is_short {
            "; the trial ignores publish.disk_free_bytes_min, see room above"
        } else {
            ""
        };
        Ok(Finding::ok(
            "trial",
            format!(
                "{} submissions with {cases} cases of every kind and verdict: {via}, all marks \
                 right and durable after {}{without}",
                samples.len(),
                milliseconds(took)
            ),
        ))
    }

    /// Starts the service with these settings, except for folders, address, log and long waits.
    fn start(&self, loaded: &Loaded) -> io::Result<()> {
        let mut trial = loaded.clone();
        let settings = &mut trial.settings;
        settings.paths = self.paths.clone();
        settings.http.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        settings.log = Log::default();
        if self.is_short {
            settings.publish.disk_free_bytes_min = 0;
        }
        let intake = &mut settings.intake;
        intake.settle_ms = intake.settle_ms.min(WAIT_MS_MAX);
        intake.scan_every_ms = intake.scan_every_ms.min(WAIT_MS_MAX);
        if intake.watch == Watch::Auto {
            // An event comes earlier than the next scan.
            intake.scan_every_ms = WAIT_MS_MAX;
        }
        // The folder exists before the start, so that it is watched when submissions come.
        fs::create_dir(self.paths.inbox().join(TEAM))?;
        let file = self.paths.root.join("settings.toml");
        fs::write(&file, trial.to_toml())?;
        let log = File::create(self.log())?;
        let mut command = Command::new(program()?);
        for (name, _) in std::env::vars_os() {
            // The service manager must not take the trial for the real service.
            let is_setting = name.as_encoded_bytes().starts_with(b"GRIDMARK_");
            if is_setting || name == "NOTIFY_SOCKET" || name == "WATCHDOG_USEC" {
                command.env_remove(name);
            }
        }
        let us = std::process::id().to_string();
        command.args(["serve", "--config"]).arg(file).env(TRIAL_OF_PROCESS, us);
        command.current_dir(&self.paths.root);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.guard.spawn(&mut command)
    }

    fn log(&self) -> PathBuf {
        self.paths.root.join("log")
    }

    /// The last warnings and errors in the log.
    fn last_of_log(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.lines().filter(|line| {
            [" WARN ", " ERROR ", "gridmark: "].iter().any(|word| line.contains(word))
        });
        let lines = lines.collect::<Vec<_>>();
        let last = lines[lines.len().saturating_sub(LOG_LINES)..].join(" | ");
        if last.is_empty() { last } else { format!("; its log says: {last}") }
    }

    /// Waits until `holds` returns a value, while the service runs. If the time is over first, the error begins
    /// with `what`.
    fn wait<T>(
        &self,
        what: &str,
        mut holds: impl FnMut() -> Result<T, String>,
    ) -> Result<T, String> {
        loop {
            let why = match holds() {
                Ok(value) => return Ok(value),
                Err(why) => why,
            };
            if let Ok(Some(status)) = self.guard.child_ended() {
                return Err(format!("the service ended by itself, with {status}"));
            }
            if Instant::now() > self.until {
                let seconds = self.time_max.as_secs();
                return Err(format!("{what} within {seconds} s: {why}"));
            }
            sleep(PAUSE);
        }
    }

    /// Waits for the end of the service, which was asked to end.
    fn wait_for_end(&self) -> Result<ExitStatus, String> {
        loop {
            if let Some(status) = self.guard.child_ended().map_err(|error| error.to_string())? {
                return Ok(status);
            }
            if Instant::now() > self.until {
                return Err(format!(
                    "the service does not end within {} s",
                    self.time_max.as_secs()
                ));
            }
            sleep(PAUSE);
        }
    }

    fn ready(&self) -> Result<SocketAddr, String> {
        let lock = self.paths.lock();
        let holder = Holder::of(&lock).map_err(|error| error.to_string())?;
        let address =
            holder.and_then(|holder| holder.address).ok_or("it has not opened its address")?;
        let answer = http::ask(address, "/readyz").map_err(|error| error.to_string())?;
        match answer.status {
            // Only after a scan every folder is watched.
            200 if value(address, "gridmark_scan_seconds_count") > Some(0.0) => Ok(address),
            200 => Err("it has not scanned the inbox".to_owned()),
            _ => Err(answer.body.lines().collect::<Vec<_>>().join("; ")),
        }
    }

    /// Puts the submissions into the inbox, each by a rename.
    fn hand_in(&self, samples: &[Sample]) -> io::Result<()> {
        let team = self.paths.inbox().join(TEAM);
        for sample in samples {
            let part = team.join(format!(".{}", sample.name));
            fs::write(&part, &sample.text)?;
            fs::rename(part, team.join(&sample.name))?;
        }
        Ok(())
    }

    /// Compares reports and archive with what they should contain.
    fn check(&self, samples: &[Sample], submissions: &Path) -> Result<(), String> {
        let cases = rows(&self.paths.reports().join("folders").join(format!("{TEAM}.csv")))?;
        let submissions = rows(submissions)?;
        for sample in samples {
            let name = format!("{TEAM}/{}", sample.name);
            let of_name = |row: &&csv::StringRecord| row.get(0) == Some(&name);
            // The columns are those of the reports: kind is the fourth, the answer the sixth.
            let rows = cases.iter().filter(of_name);
            let found = rows.map(|row| [row.get(3), row.get(5)].map(Option::unwrap_or_default));
            let found = found.collect::<Vec<_>>();
            let kind = sample.kind.map_or("", Kind::word);
            let wanted =
                sample.answers.iter().map(|answer| [kind, answer.as_deref().unwrap_or("")]);
            let wanted = wanted.collect::<Vec<_>>();
            if found.len() != wanted.len() {
                let (found, wanted) = (counted(found.len(), "case"), wanted.len());
                return Err(format!("{name} has {found} in its report, not {wanted}"));
            }
            if let Some(case) = (0..wanted.len()).find(|&case| found[case] != wanted[case]) {
                let [found, wanted] = [found[case], wanted[case]].map(|words| words.join(" "));
                let case = case + 1;
                return Err(format!("{name}, case {case} is marked `{found}`, not `{wanted}`"));
            }
            if submissions.iter().filter(of_name).count() != 1 {
                return Err(format!("{name} does not have exactly one row in submissions.csv"));
            }
            let archived = fs::read(self.paths.archive().join(&name));
            if archived.map_err(|error| format!("{name} cannot be read in the archive: {error}"))?
                != sample.text
            {
                return Err(format!("{name} has other bytes in the archive"));
            }
        }
        Ok(())
    }
}

/// This program, even if its file has been replaced since it started.
fn program() -> io::Result<PathBuf> {
    let ours = PathBuf::from("/proc/self/exe");
    if ours.exists() { Ok(ours) } else { std::env::current_exe() }
}

/// The complete rows of a report, without its header; none if there is no such report.
fn rows(report: &Path) -> Result<Vec<csv::StringRecord>, String> {
    let bytes = match fs::read(report) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    // A row that is being written does not end in a line feed yet.
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut reader = csv::Reader::from_reader(&bytes[..whole]);
    reader.records().collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Whether more submissions were found by events than by scans.
fn via_events(address: SocketAddr) -> bool {
    let found = |via: &str| value(address, &format!("gridmark_found_total{{via=\"{via}\"}}"));
    found("event") > found("scan")
}

/// The value of a series of metrics now.
fn value(address: SocketAddr, series: &str) -> Option<f64> {
    let metrics = http::ask(address, "/metrics").ok()?.body;
    metrics.lines().find_map(|line| line.strip_prefix(series)?.trim().parse::<f64>().ok())
}
