//! Submissions of each kind through the whole service, as it would run with these settings, in
//! scratch folders on the very file systems of the real ones.

use super::disks::is_short;
use super::file_system::milliseconds;
use super::finding::Finding;
use super::folders::{Folder, Folders};
use super::scratch::Mess;
use super::work::{self, Work};
use crate::config::{Loaded, Paths, Watch};
use crate::service::http;
use crate::store::lock::Holder;
use gridmark_core::Kind;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The variable by which a service knows that it is the trial of a doctor, whose process number it is:
/// it ends when that process does.
pub const TRIAL_OF_PROCESS: &str = "TRIAL_OF_GRIDMARK_DOCTOR";

/// The folder of the inbox in which the trial's submissions lie.
const TEAM: &str = "trial";
/// The pause between two looks at the reports.
const PAUSE: Duration = Duration::from_millis(5);
/// The longest settle time and time between scans in a trial, in milliseconds.
const WAIT_MS_MAX: u64 = 1_000;
/// How much of the log is told if it fails.
const LOG_LINES: usize = 3;

const REMEDY: &str = "see what is told above; if all of that is well, it is a bug in gridmark: \
                      report it with this line";

/// Runs it; `None` if there are no folders to run it in, which is told already.
pub(super) fn trial(
    folders: &Folders,
    loaded: &Loaded,
    mess: &Mess,
    time_max: Duration,
) -> Option<Finding> {
    let paths = match trial_paths(folders)? {
        Ok(paths) => paths,
        Err(error) => {
            let what = format!("a trial has no folders: {error}");
            return Some(Finding::fail("trial", what, REMEDY));
        }
    };
    if paths_are_no_text(&paths) {
        let what = "left out: the path of a folder is not UTF-8 text";
        return Some(Finding::note("trial", what));
    }
    let is_short = is_short(folders, &loaded.settings);
    let trial = Trial { paths, mess, until: Instant::now() + time_max, time_max, is_short };
    let tried = trial.run(loaded);
    mess.kill_child();
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
        Ok(Paths { root, inbox, archive, quarantine: quarantine?, reports: reports?, state })
    })())
}

fn paths_are_no_text(paths: &Paths) -> bool {
    let all = [&paths.root, &paths.inbox, &paths.archive, &paths.quarantine, &paths.reports];
    all.iter().any(|path| path.to_str().is_none())
}

struct Trial<'a> {
    paths: Paths,
    mess: &'a Mess,
    until: Instant,
    time_max: Duration,
    /// Whether less is free than is to be; that is told already, and would keep all else from being
    /// tried.
    is_short: bool,
}

impl Trial<'_> {
    /// What came of it, or why nothing came of it.
    fn run(&self, loaded: &Loaded) -> Result<Finding, String> {
        let works = work::all();
        self.start(loaded).map_err(|error| format!("the service cannot be started: {error}"))?;
        let address = self.wait("it is not ready", || self.ready())?;
        let start = Instant::now();
        self.hand_in(&works).map_err(|error| format!("nothing can be handed in: {error}"))?;
        let submissions = self.paths.reports().join("submissions.csv");
        self.wait("not all is graded", || match rows(&submissions)?.len() {
            found if found >= works.len() => Ok(()),
            found => Err(format!("{found} of {} submissions", works.len())),
        })?;
        let took = start.elapsed();
        self.check(&works, &submissions)?;
        let via_events = via_events(address);
        self.mess.terminate_child();
        let status = self.wait("it does not end", || {
            let ended = self.mess.child_ended().map_err(|error| error.to_string())?;
            ended.ok_or_else(|| "it runs still".to_owned())
        })?;
        if !status.success() {
            return Err(format!("the service ended with {status}"));
        }
        let cases = works.iter().map(|work| work.answers.len()).sum::<usize>();
        let via = if via_events { "found by events" } else { "found by scans" };
        let without = if self.is_short {
            "; tried without publish.disk_free_bytes_min, of which is told above"
        } else {
            ""
        };
        Ok(Finding::ok(
            "trial",
            format!(
                "{} submissions, {cases} cases of every kind and verdict: {via}, all marks right \
                 and durable after {}{without}",
                works.len(),
                milliseconds(took)
            ),
        ))
    }

    /// Starts the service with these settings, but for folders, address and what makes it slow.
    fn start(&self, loaded: &Loaded) -> io::Result<()> {
        let mut trial = loaded.clone();
        let settings = &mut trial.settings;
        settings.paths = self.paths.clone();
        settings.http.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        settings.log = crate::config::Log::default();
        if self.is_short {
            settings.publish.disk_free_bytes_min = 0;
        }
        let intake = &mut settings.intake;
        intake.settle_ms = intake.settle_ms.min(WAIT_MS_MAX);
        intake.scan_every_ms = intake.scan_every_ms.min(WAIT_MS_MAX);
        if intake.watch == Watch::Auto {
            // What events find is found before any scan does.
            intake.scan_every_ms = WAIT_MS_MAX;
        }
        // A folder that comes later is found by a scan.
        fs::create_dir(self.paths.inbox().join(TEAM))?;
        let file = self.paths.root.join("settings.toml");
        fs::write(&file, trial.to_toml())?;
        let log = File::create(self.log())?;
        let mut command = Command::new(program()?);
        for (name, _) in std::env::vars_os() {
            // A service manager is told of the real service alone.
            let is_setting = name.as_encoded_bytes().starts_with(b"GRIDMARK_");
            if is_setting || name == "NOTIFY_SOCKET" || name == "WATCHDOG_USEC" {
                command.env_remove(name);
            }
        }
        let us = std::process::id().to_string();
        command.args(["serve", "--config"]).arg(file).env(TRIAL_OF_PROCESS, us);
        command.current_dir(&self.paths.root);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.mess.spawn(&mut command)
    }

    fn log(&self) -> PathBuf {
        self.paths.root.join("log")
    }

    /// The last lines of the log, if they tell of trouble.
    fn last_of_log(&self) -> String {
        let log = fs::read(self.log()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines = log.lines().filter(|line| {
            [" WARN ", " ERROR ", "gridmark: "].iter().any(|word| line.contains(word))
        });
        let lines = lines.collect::<Vec<_>>();
        let last = lines[lines.len().saturating_sub(LOG_LINES)..].join(" | ");
        if last.is_empty() { last } else { format!("; it says: {last}") }
    }

    /// Waits until something is so; what is not so if it never is.
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
            if let Ok(Some(status)) = self.mess.child_ended() {
                return Err(format!("the service ended by itself, with {status}"));
            }
            if Instant::now() > self.until {
                let seconds = self.time_max.as_secs();
                return Err(format!("{what} within {seconds} s: {why}"));
            }
            sleep(PAUSE);
        }
    }

    fn ready(&self) -> Result<SocketAddr, String> {
        let lock = self.paths.lock();
        let holder = Holder::of(&lock).map_err(|error| error.to_string())?;
        let address = holder.and_then(|holder| holder.address).ok_or("it has not come up")?;
        let answer = http::ask(address, "/readyz").map_err(|error| error.to_string())?;
        match answer.status {
            200 => Ok(address),
            _ => Err(answer.body.lines().collect::<Vec<_>>().join("; ")),
        }
    }

    /// Each file is written under a temporary name and renamed.
    fn hand_in(&self, works: &[Work]) -> io::Result<()> {
        let team = self.paths.inbox().join(TEAM);
        for work in works {
            let part = team.join(format!(".{}", work.name));
            fs::write(&part, &work.text)?;
            fs::rename(part, team.join(&work.name))?;
        }
        Ok(())
    }

    /// Holds every row to what is known.
    fn check(&self, works: &[Work], submissions: &Path) -> Result<(), String> {
        let cases = rows(&self.paths.reports().join("folders").join(format!("{TEAM}.csv")))?;
        let submissions = rows(submissions)?;
        for work in works {
            let name = format!("{TEAM}/{}", work.name);
            let of_name = |row: &&csv::StringRecord| row.get(0) == Some(&name);
            // The columns are those of the reports: kind is the fourth, the answer the sixth.
            let rows = cases.iter().filter(of_name);
            let found = rows.map(|row| [row.get(3), row.get(5)].map(Option::unwrap_or_default));
            let found = found.collect::<Vec<_>>();
            let kind = work.kind.map_or("", Kind::word);
            let wanted = work.answers.iter().map(|answer| [kind, answer.as_deref().unwrap_or("")]);
            let wanted = wanted.collect::<Vec<_>>();
            if found.len() != wanted.len() {
                let (found, wanted) = (found.len(), wanted.len());
                return Err(format!("{name} has {found} rows of cases, not {wanted}"));
            }
            if let Some(case) = (0..wanted.len()).find(|&case| found[case] != wanted[case]) {
                let [found, wanted] = [found[case], wanted[case]].map(|words| words.join(" "));
                let case = case + 1;
                return Err(format!("{name}, case {case} is marked `{found}`, not `{wanted}`"));
            }
            if submissions.iter().filter(of_name).count() != 1 {
                return Err(format!("{name} has not one row in submissions.csv"));
            }
            let archived = fs::read(self.paths.archive().join(&name));
            if archived.map_err(|error| format!("{name} in the archive: {error}"))? != work.text {
                return Err(format!("{name} is another one in the archive"));
            }
        }
        Ok(())
    }
}

/// This program, also where its file has been replaced since.
fn program() -> io::Result<PathBuf> {
    let ours = PathBuf::from("/proc/self/exe");
    if ours.exists() { Ok(ours) } else { std::env::current_exe() }
}

/// The rows of a report, without its header; none if it is not there.
fn rows(report: &Path) -> Result<Vec<csv::StringRecord>, String> {
    let bytes = match fs::read(report) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    };
    // A row that is being written has no end yet.
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let mut reader = csv::Reader::from_reader(&bytes[..whole]);
    reader.records().collect::<Result<_, _>>().map_err(|error| error.to_string())
}

/// Whether events found what was handed in.
fn via_events(address: SocketAddr) -> bool {
    let metrics = http::ask(address, "/metrics").map(|answer| answer.body).unwrap_or_default();
    let found = |via: &str| {
        let series = format!("gridmark_found_total{{via=\"{via}\"}} ");
        metrics.lines().find_map(|line| line.strip_prefix(&series)?.parse::<f64>().ok())
    };
    found("event") > found("scan")
}
