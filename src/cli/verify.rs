//! `gridmark verify`: whether archive, ledger and reports agree; and reports written anew.

use super::target::{ServiceArgs, open_ledger};
use super::{Error, print_error};
use crate::audit::verify::{Audience, Finding, Seen, Verify, meant};
use crate::config::{Paths, Settings};
use crate::model::escape;
use crate::model::submission::Name;
use crate::store::archive::Archive;
use crate::store::ledger::{Ledger, Report};
use crate::store::lock::{Holder, Lock};
use crate::store::reports::aside::beside;
use crate::store::reports::rebuild::{Anew, Rebuild};
use gridmark_core::judge::Tier;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The exit code if something does not agree.
const DIFFERS: u8 = 1;
/// The exit code if it could not be looked.
const TROUBLE: u8 = 2;

/// The arguments of `gridmark verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every file in the archive is hashed and graded once more, and every report is compared with what that
gives, byte for byte. Nothing is changed, and the service may run: then what was committed at the
beginning is looked at. What does not agree is told, a line each, with what to do about it; what is
only worth knowing begins with `note:`.

With --repair, reports that differ are written anew. What stood there is kept aside. Rows of
submissions whose file is gone or changed cannot be written anew; they are told, and are in what was
kept aside. The service must not run; while it does, it repairs by itself what is damaged.

Exit code: 0 if all agrees, or does now; 1 if something does not; 2 if it could not be looked.")]
pub struct Args {
    /// Look at these reports alone: `team-07`, `loose`, `submissions`, or the path of a report
    #[arg(value_name = "REPORT")]
    reports: Vec<PathBuf>,
    /// Write reports anew that differ
    #[arg(long, conflicts_with = "rebuild")]
    repair: bool,
    /// Write these reports anew, whether they differ or not
    #[arg(long, requires = "reports")]
    rebuild: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Whom to tell: standard output, and a bar on a terminal.
struct Told {
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    faults: u64,
    /// The reports that would be right if they were written anew.
    differing: Vec<Name>,
    /// What went wrong with standard output.
    error: Option<io::Error>,
}

/// Looks, and says what was found.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    match look(&args, &settings) {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(error) if error.is_closed_pipe() => Err(error),
        Err(error) => {
            print_error(&error.with_causes());
            Ok(ExitCode::from(TROUBLE))
        }
    }
}

fn look(args: &Args, settings: &Settings) -> Result<u8, Error> {
    let paths = &settings.paths;
    let writes = args.repair || args.rebuild;
    if writes {
        // Where there is nothing to be written anew, nothing is made.
        open_or_tell(paths)?;
    }
    // Whoever writes is alone.
    let lock = writes.then(|| Lock::take(&paths.lock())).transpose();
    let _lock = lock.map_err(crate::service::Error::from)?;
    let is_running = !writes && is_running(paths);
    let before = state_of_ledger(paths);
    let ledger = open_or_tell(paths)?;
    ledger.hold_still().map_err(crate::service::Error::from)?;
    let ledger = Arc::new(ledger);
    let archive = Arc::new(Archive::of(paths.inbox(), paths.archive(), paths.quarantine()));
    let tier = Tier::wanted(&settings.grade.tier).map_err(crate::service::Error::from)?;
    let asked = asked(args, paths, &ledger)?;
    let total = match asked {
        // How many are in some of the reports is not known before.
        Some(_) => 0,
        None => ledger.submissions().map_err(crate::service::Error::from)?,
    };
    let told = Told::new(total);
    let seen = {
        // The ledger goes with this: whoever writes opens it anew.
        let archive = Arc::clone(&archive);
        let verify = Verify { settings, ledger, archive, tier, is_running, audience: &told };
        match &asked {
            Some(reports) => verify.reports(reports),
            None => verify.all(),
        }
    };
    let mut state = told.end()?;
    let seen = seen.map_err(Error::Verify)?;
    if !is_running && before != state_of_ledger(paths) {
        let why = io::Error::other("the service was started meanwhile; look once more");
        return Err(Error::io("rely on", &paths.ledger())(why));
    }
    let wanted = match asked {
        Some(reports) if args.rebuild => reports.into_iter().map(|report| report.path).collect(),
        _ if args.repair => std::mem::take(&mut state.differing),
        _ => Vec::new(),
    };
    let is_right = |name: &Name| !state.differing.contains(name);
    let were_right = wanted.iter().filter(|name| args.rebuild && is_right(name)).count();
    let written = write_anew(settings, tier, &archive, &wanted)?;
    let faults = state.faults - (wanted.len() - were_right) as u64;
    summarise(&seen, faults, written)?;
    Ok(if faults > 0 { DIFFERS } else { 0 })
}

/// The ledger, which must be there.
fn open_or_tell(paths: &Paths) -> Result<Ledger, Error> {
    open_ledger(paths)?.ok_or_else(|| {
        let missing = io::Error::new(io::ErrorKind::NotFound, "no service has run here");
        Error::io("read the ledger in", &paths.state())(missing)
    })
}

/// Writes these reports anew; how many of them were not the same already.
fn write_anew(
    settings: &Settings,
    tier: Tier,
    archive: &Arc<Archive>,
    reports: &[Name],
) -> Result<usize, Error> {
    if reports.is_empty() {
        return Ok(0);
    }
    let paths = &settings.paths;
    let ledger = Ledger::open(&paths.ledger());
    let ledger = Arc::new(ledger.map_err(crate::service::Error::from)?);
    let rebuild = Rebuild::new(settings, tier, ledger, Arc::clone(archive)).in_parallel();
    let mut written = 0;
    for report in reports {
        let anew = rebuild.write_anew(report).map_err(crate::service::Error::from)?;
        written += usize::from(!matches!(anew, Anew::Same));
        let told = match anew {
            Anew::Same => "it was as it is written anew, and is left".to_owned(),
            Anew::Written { aside: None } => "written anew".to_owned(),
            Anew::Written { aside: Some(aside) } => {
                format!("written anew; what stood there is {}", escape::path(&aside))
            }
        };
        let path = paths.reports().join(report.as_path());
        tell(&format!("{}: {told}", escape::path(&path)))?;
    }
    Ok(written)
}

fn summarise(seen: &Seen, faults: u64, anew: usize) -> Result<(), Error> {
    let Seen { reports, submissions, cases } = seen;
    let agree = match faults {
        0 => "all agrees".to_owned(),
        1 => "1 thing does not agree".to_owned(),
        faults => format!("{faults} things do not agree"),
    };
    let anew = if anew > 0 { format!("; reports written anew: {anew}") } else { String::new() };
    tell(&format!("reports: {reports}, submissions: {submissions}, cases: {cases}: {agree}{anew}"))
}

/// The reports that are asked for, if not all are.
fn asked(args: &Args, paths: &Paths, ledger: &Ledger) -> Result<Option<Vec<Report>>, Error> {
    if args.reports.is_empty() {
        return Ok(None);
    }
    let known = ledger.reports().map_err(crate::service::Error::from)?;
    let mut asked: Vec<Report> = Vec::new();
    for typed in &args.reports {
        let shown = escape::path(typed);
        match meant(&paths.reports(), typed, &known)[..] {
            [report] if asked.contains(report) => {}
            [report] => asked.push(report.clone()),
            [] => {
                let folder = escape::path(&paths.reports()).to_string();
                return Err(Error::Usage(format!("{shown}: no such report in {folder}")));
            }
            ref several => {
                let several = several.iter().map(|report| report.path.to_string());
                let several = several.collect::<Vec<_>>().join(", ");
                return Err(Error::Usage(format!("{shown}: say which report: {several}")));
            }
        }
    }
    Ok(Some(asked))
}

/// Whether the service runs, as far as that can be told.
fn is_running(paths: &Paths) -> bool {
    !matches!(Holder::now(&paths.lock()), Ok(None))
}

/// What shows whether somebody has written to the ledger.
fn state_of_ledger(paths: &Paths) -> [Option<(u64, SystemTime)>; 2] {
    let look = |path: &Path| {
        let found = path.metadata().ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    let ledger = paths.ledger();
    [look(&ledger), look(&beside(&ledger, "-wal"))]
}

impl Told {
    fn new(submissions: u64) -> Told {
        let style =
            ProgressStyle::with_template("{wide_bar} {pos} of {len} submissions [{elapsed}]");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = io::stderr().is_terminal().then(|| match submissions {
            0 => ProgressBar::new_spinner(),
            submissions => ProgressBar::new(submissions).with_style(style),
        });
        Told { bar, state: Mutex::default() }
    }

    fn end(self) -> Result<State, Error> {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        let mut state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.error.take() {
            Some(error) => Err(Error::Output(error)),
            None => Ok(state),
        }
    }
}

impl Audience for Told {
    fn found(&self, finding: Finding) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.faults += u64::from(finding.is_fault);
        let written = match &self.bar {
            Some(bar) => bar.suspend(|| writeln!(io::stdout(), "{finding}")),
            None => writeln!(io::stdout(), "{finding}"),
        };
        state.error = state.error.take().or(written.err());
        state.differing.extend(finding.report);
    }

    fn graded(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

fn tell(text: &str) -> Result<(), Error> {
    writeln!(io::stdout(), "{text}").map_err(Error::Output)
}
