//! `gridmark verify`: checks that archive, ledger and reports agree, and rebuilds reports.

use super::target::{ServiceArgs, below, open_existing_ledger};
use super::{Error, print_error};
use crate::audit::verify::{Checked, Finding, Observer, Verify};
use crate::config::{Paths, Settings};
use crate::model::escape;
use crate::model::rows::report_of;
use crate::model::submission::Name;
use crate::model::words::counted;
use crate::store::archive::Archive;
use crate::store::ledger::{Ledger, Report};
use crate::store::lock::{Holder, Locks};
use crate::store::path::beside;
use crate::store::reports::rebuild::{Rebuild, Rebuilt};
use gridmark_core::judge::Tier;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The exit code if something disagrees.
const DIFFERS: u8 = 1;
/// The exit code if the check could not be completed.
const NOT_CHECKED: u8 = 2;

/// The arguments of `gridmark verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every file in the archive is hashed and graded again, and every report is compared with the rows that
this gives, byte for byte. Nothing is changed. The service may run; what it commits after the check has
begun is not checked. Each disagreement is one line that says what to do; a line that begins with
`note:` is only worth knowing.

With --repair, reports that differ are rebuilt, and the previous file is kept beside them. Rows of
submissions whose file is gone or changed cannot be rebuilt: they are listed, and only the previous
file still has them. Stop the service first; while it runs, it rebuilds damaged reports by itself.

Exit code: 0 if everything agrees, or does after the repair; 1 if something disagrees; 2 if the check
could not be completed.")]
pub struct Args {
    /// Check only these reports: `team-07`, `loose`, `submissions`, or the path of a report, from here
    /// or from the root
    #[arg(value_name = "REPORT")]
    reports: Vec<PathBuf>,
    /// Rebuild the reports that differ
    #[arg(long, conflicts_with = "rebuild")]
    repair: bool,
    /// Rebuild these reports, whether they differ or not, with a byte-order mark if publish.csv_bom is true
    #[arg(long, requires = "reports")]
    rebuild: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Writes findings to standard output, with a progress bar if standard error is a terminal.
struct Terminal {
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    faults: u64,
    /// The reports that a rebuild would correct.
    differing: Vec<Name>,
    /// The first error of standard output.
    error: Option<io::Error>,
}

/// Checks, prints the findings, and rebuilds reports if asked to.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    match verify(&args, &settings) {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(error) if error.is_closed_pipe() => Err(error),
        Err(error) => {
            print_error(&error.with_causes());
            Ok(ExitCode::from(NOT_CHECKED))
        }
    }
}

fn verify(args: &Args, settings: &Settings) -> Result<u8, Error> {
    let paths = &settings.paths;
    let rebuilds = args.repair || args.rebuild;
    if rebuilds {
        // Without a ledger this fails before the lock's file is created.
        open_existing_ledger(paths)?;
    }
    let locks = rebuilds.then(|| Locks::take(paths)).transpose();
    let locks = locks.map_err(crate::service::Error::from)?;
    for unlocked in locks.iter().flat_map(Locks::unlocked) {
        print_error(&format!("{unlocked}; see to it that no service uses this folder"));
    }
    let is_running = !rebuilds && is_running(paths);
    let before = state_of_ledger(paths);
    let ledger = open_existing_ledger(paths)?;
    ledger.hold_still().map_err(crate::service::Error::from)?;
    let ledger = Arc::new(ledger);
    let archive = Arc::new(Archive::of(paths.inbox(), paths.archive(), paths.quarantine()));
    let tier = Tier::from_setting(&settings.grade.tier).map_err(crate::service::Error::from)?;
    let selected = selected(args, paths, &ledger)?;
    let total = match selected {
        // The number of submissions in single reports is not known in advance.
        Some(_) => 0,
        None => ledger.records().count().map_err(crate::service::Error::from)?,
    };
    let terminal = Terminal::new(total);
    let checked = {
        // This drops the ledger, which is then opened for writing.
        let archive = Arc::clone(&archive);
        let verify = Verify { settings, ledger, archive, tier, is_running, observer: &terminal };
        match &selected {
            Some(reports) => verify.reports(reports),
            None => verify.all(),
        }
    };
    let mut state = terminal.end()?;
    let checked = checked.map_err(Error::Verify)?;
    if !is_running && before != state_of_ledger(paths) {
        let why = io::Error::other("the service was started during the check; run it again");
        return Err(Error::io("rely on", &paths.ledger())(why));
    }
    let to_rebuild = match selected {
        Some(reports) if args.rebuild => reports.into_iter().map(|report| report.path).collect(),
        _ if args.repair => std::mem::take(&mut state.differing),
        _ => Vec::new(),
    };
    let agreed = |name: &&Name| args.rebuild && !state.differing.contains(name);
    let repaired = to_rebuild.len() - to_rebuild.iter().filter(agreed).count();
    let bom = args.rebuild.then_some(settings.publish.csv_bom);
    let rebuilt = rebuild(settings, tier, &archive, &to_rebuild, bom)?;
    let faults = state.faults - repaired as u64;
    summarise(&checked, faults, rebuilt)?;
    Ok(if faults > 0 { DIFFERS } else { 0 })
}

/// Rebuilds these reports, with a byte-order mark or without one, or as they were if `bom` does not say; returns
/// how many of them changed.
fn rebuild(
    settings: &Settings,
    tier: Tier,
    archive: &Arc<Archive>,
    reports: &[Name],
    bom: Option<bool>,
) -> Result<usize, Error> {
    if reports.is_empty() {
        return Ok(0);
    }
    let paths = &settings.paths;
    let ledger = Ledger::open(&paths.ledger());
    let ledger = Arc::new(ledger.map_err(crate::service::Error::from)?);
    let rebuild = Rebuild::new(settings, tier, ledger, Arc::clone(archive)).in_parallel();
    let mut rebuilt = 0;
    for report in reports {
        let result = rebuild.rebuild(report, bom).map_err(crate::service::Error::from)?;
        rebuilt += usize::from(!matches!(result, Rebuilt::Same));
        let what = match result {
            Rebuilt::Same => "it was right already, and is unchanged".to_owned(),
            Rebuilt::Written { aside: None } => "it was rebuilt".to_owned(),
            Rebuilt::Written { aside: Some(aside) } => {
                format!("it was rebuilt; the previous file is {}", escape::path(&aside))
            }
        };
        let path = paths.reports().join(report.as_path());
        print(&format!("{}: {what}", escape::path(&path)))?;
    }
    Ok(rebuilt)
}

fn summarise(checked: &Checked, faults: u64, rebuilt: usize) -> Result<(), Error> {
    let Checked { reports, submissions, cases } = checked;
    let agree = match faults {
        0 => "everything agrees".to_owned(),
        faults => counted(faults, "disagreement"),
    };
    let rebuilt = if rebuilt > 0 { format!("; reports rebuilt: {rebuilt}") } else { String::new() };
    print(&format!(
        "reports: {reports}, submissions: {submissions}, cases: {cases}: {agree}{rebuilt}"
    ))
}

/// The reports named by the arguments; `None` for all.
fn selected(args: &Args, paths: &Paths, ledger: &Ledger) -> Result<Option<Vec<Report>>, Error> {
    if args.reports.is_empty() {
        return Ok(None);
    }
    let known = ledger.reports().all().map_err(crate::service::Error::from)?;
    let mut selected: Vec<Report> = Vec::new();
    for typed in &args.reports {
        let found = matching(paths, typed, &known);
        let typed = escape::path(typed);
        match found[..] {
            [report] if selected.contains(report) => {}
            [report] => selected.push(report.clone()),
            [] => {
                let folder = escape::path(&paths.reports()).to_string();
                return Err(Error::Usage(format!("{typed}: there is no such report in {folder}")));
            }
            ref several => {
                let several = several.iter().map(|report| report.path.to_string());
                let several = several.collect::<Vec<_>>().join(", ");
                return Err(Error::Usage(format!(
                    "{typed}: this can be several reports; name one of them: {several}"
                )));
            }
        }
    }
    Ok(Some(selected))
}

/// The reports of `known` that `typed` can stand for: a path from here, from the root or from the folder `reports`;
/// else a file name, or the name of a folder of the inbox. It may lack `.csv`.
fn matching<'a>(paths: &Paths, typed: &Path, known: &'a [Report]) -> Vec<&'a Report> {
    let reports = paths.reports();
    let with_end = |path: &Path| beside(path, ".csv");
    let from = [PathBuf::new(), paths.root.clone(), reports.clone()].into_iter();
    let places = from.filter_map(|from| std::path::absolute(from.join(typed)).ok());
    let places: Vec<PathBuf> = places.filter_map(|place| below(&reports, &place)).collect();
    let is_path = typed.components().count() > 1;
    let folder = [typed.as_os_str().as_bytes(), b"/-"].concat();
    let of_folder = report_of(&Name::from_bytes(folder));
    let ways: [&dyn Fn(&Path) -> bool; 2] = [
        &|report| {
            let is_it = |place: &PathBuf| report == place || is_path && report == with_end(place);
            places.iter().any(is_it)
        },
        &|report| {
            let name = report.file_name().map(Path::new);
            name == Some(typed) || name == Some(&with_end(typed)) || report == of_folder.as_path()
        },
    ];
    let found = ways.map(|is_it| {
        known.iter().filter(|report| is_it(report.path.as_path())).collect::<Vec<_>>()
    });
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

/// Whether the service runs; if that cannot be determined, it is assumed to.
fn is_running(paths: &Paths) -> bool {
    !matches!(Holder::now(&paths.lock()), Ok(None))
}

/// Sizes and modification times of ledger and log: they change when the ledger is written.
fn state_of_ledger(paths: &Paths) -> [Option<(u64, SystemTime)>; 2] {
    let state = |path: &Path| {
        let found = path.metadata().ok()?;
        Some((found.len(), found.modified().ok()?))
    };
    let ledger = paths.ledger();
    [state(&ledger), state(&beside(&ledger, "-wal"))]
}

impl Terminal {
    fn new(submissions: u64) -> Terminal {
        let style =
            ProgressStyle::with_template("{wide_bar} submissions: {pos} of {len} [{elapsed}]");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = io::stderr().is_terminal().then(|| match submissions {
            0 => ProgressBar::new_spinner(),
            submissions => ProgressBar::new(submissions).with_style(style),
        });
        Terminal { bar, state: Mutex::default() }
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

impl Observer for Terminal {
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

fn print(text: &str) -> Result<(), Error> {
    writeln!(io::stdout(), "{text}").map_err(Error::Output)
}
