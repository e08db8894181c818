//! `gridmark serve`: runs the service until a signal, or once over what is in the inbox.

use super::Error;
use super::config::SettingArgs;
use crate::audit::doctor::TRIAL_OF_PROCESS;
use crate::config::Settings;
use crate::service::{self, Mode, Outcome, Progress, Source};
use crate::telemetry::log;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// The arguments of `gridmark serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Submissions go into ROOT/inbox and, once taken, into ROOT/archive. The marks are in ROOT/reports:
submissions.csv, folders/FOLDER.csv, loose.csv.

SIGHUP, or `gridmark reload`, makes the service read its settings file again.

SIGTERM or SIGINT (Ctrl-C) drains the service: what was taken is graded, then it exits; large files
stop at a checkpoint, and the next start continues them. A second signal ends it at once, and the
next start recovers.

Settings come from the defaults, the settings file, GRIDMARK_ variables and flags; a later one
wins. `gridmark config` shows them all.

Exit code: 0 if everything taken is graded and durable; 1 if not, or if the service could not
start (with --once also if files that should have been taken are still in the inbox, or if files
went to quarantine); 2 for a usage error or a refused setting, so that trying again does not help;
70 if a bug in gridmark ended it: restart it; 130 after a second signal.")]
pub struct Args {
    #[command(flatten)]
    settings: SettingArgs,
    /// Grade what is in the inbox, then exit
    #[arg(long)]
    pub once: bool,
}

impl Args {
    /// Starts the log as the settings say; returns the settings and the control of the log.
    ///
    /// # Errors
    ///
    /// The settings are wrong, or the log was started before.
    pub fn settings(&self) -> Result<(Settings, log::Control), Error> {
        let settings = self.settings.load()?.settings;
        let control = log::start(&settings.log)?;
        Ok((settings, control))
    }
}

/// Runs the service.
///
/// # Errors
///
/// If the settings are wrong or the service cannot start.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let (settings, control) = args.settings().map_err(Error::into_usage_error)?;
    if let Some(doctor) = std::env::var_os(TRIAL_OF_PROCESS) {
        // If the system cannot do that, the doctor has to end it itself.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
        let parent = getppid().map(|parent| parent.as_raw_pid().to_string());
        if parent.is_none_or(|parent| doctor != *parent) {
            return Ok(ExitCode::FAILURE);
        }
    }
    let bar = (args.once && std::io::stderr().is_terminal()).then(progress_bar);
    let shown = bar.clone();
    let on_progress = shown
        .map(|bar| -> Box<dyn FnMut(Progress)> { Box::new(move |progress| show(&bar, progress)) });
    let once = args.once;
    // A run with --once ends by itself and is not reloaded.
    let reload = (!once).then(|| reload_source(args.settings, control));
    let outcome = service::run(&settings, Mode { once, on_progress, reload })?;
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    if once {
        print_summary(&outcome)?;
    }
    let all_done = outcome.failed == 0 && outcome.unfinished == 0;
    let all_well = outcome.committed && outcome.left == 0 && (!once || all_done);
    Ok(if all_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where the service reads its settings on a reload: the same file, variables and flags.
fn reload_source(args: SettingArgs, control: log::Control) -> Source {
    // `gridmark reload` may run in another working directory.
    let file =
        args.file().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
    Source {
        file,
        read: Box::new(move || match args.load() {
            Ok(loaded) => Ok(loaded.settings),
            Err(error) => Err(error.with_causes()),
        }),
        set_log_level: Box::new(move |level| {
            control.set_level(level).map_err(|error| error.to_string())
        }),
    }
}

fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]");
    ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

fn show(bar: &ProgressBar, progress: Progress) {
    let Progress { submissions, cases, waiting } = progress;
    bar.set_message(format!(
        "{submissions} submissions graded, {cases} cases; {waiting} in flight"
    ));
    bar.tick();
}

fn print_summary(outcome: &Outcome) -> Result<(), Error> {
    let Outcome { submissions, cases, failed, left, unfinished, .. } = outcome;
    let mut out = std::io::stdout().lock();
    write!(out, "{submissions} submissions graded, {cases} cases").map_err(Error::Output)?;
    if *failed > 0 {
        write!(out, "; {failed} in quarantine").map_err(Error::Output)?;
    }
    if *left > 0 {
        write!(out, "; {left} could not be taken and are still in the inbox")
            .map_err(Error::Output)?;
    }
    if *unfinished > 0 {
        write!(out, "; {unfinished} large files are left to the next start")
            .map_err(Error::Output)?;
    }
    writeln!(out).map_err(Error::Output)
}
