//! `gridmark serve`: runs the service until a signal, or once over what is in the inbox.

use super::config::SettingArgs;
use super::{Error, print_error};
use crate::audit::doctor::TRIAL_OF_PROCESS;
use crate::config::Settings;
use crate::model::escape;
use crate::model::words::counted;
use crate::service::{self, Mode, Outcome, Progress, Source};
use crate::telemetry::log;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// How long the end waits until the progress bar is removed from the terminal, and how long for the reader of standard
/// output.
const END_MAX: Duration = Duration::from_secs(1);

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
    let bar = (args.once && std::io::stderr().is_terminal()).then(Bar::start).flatten();
    let (on_progress, bar) = bar.map(Bar::split).unzip();
    let once = args.once;
    // A run with --once ends by itself and is not reloaded.
    let reload = (!once).then(|| reload_source(args.settings, control));
    let outcome = service::run(&settings, Mode { once, on_progress, reload })?;
    if let Some(bar) = bar {
        let _ = bar.recv_timeout(END_MAX);
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
        read: Box::new(move || {
            // Nobody may write into a pipe again, and the service would wait for that.
            let is_other = |file: &Path| file.metadata().is_ok_and(|found| !found.is_file());
            if let Some(file) = args.file().filter(|file| is_other(file)) {
                let file = escape::path(file);
                return Err(format!("{file} is no regular file and can only be read at a start"));
            }
            match args.load() {
                Ok(loaded) => Ok(loaded.settings),
                Err(error) => Err(error.with_causes()),
            }
        }),
        set_log_level: Box::new(move |level| {
            control.set_level(level).map_err(|error| error.to_string())
        }),
    }
}

/// A progress bar on a thread of its own: the terminal may be stopped, and nothing waits for it.
struct Bar {
    progress: SyncSender<Progress>,
    /// Disconnected once the bar is removed.
    ended: Receiver<()>,
}

impl Bar {
    /// Starts the thread; `None` if the system gives none.
    fn start() -> Option<Bar> {
        let (progress, shown) = sync_channel(1);
        let (end, ended) = sync_channel(1);
        let show = move || {
            let _end: SyncSender<()> = end;
            let style = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]");
            let bar = ProgressBar::new_spinner()
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            for Progress { submissions, cases, waiting } in shown {
                let submissions = counted(submissions, "submission");
                let cases = counted(cases, "case");
                bar.set_message(format!("{submissions} graded, {cases}; {waiting} in flight"));
                bar.tick();
            }
            bar.finish_and_clear();
        };
        Builder::new().name("bar".into()).spawn(show).ok()?;
        Some(Bar { progress, ended })
    }

    /// What shows the progress, unless an earlier one is still to be shown, and what waits for the end of the bar. It
    /// ends when the first is dropped.
    fn split(self) -> (Box<dyn FnMut(Progress)>, Receiver<()>) {
        let show = move |progress| {
            let _ = self.progress.try_send(progress);
        };
        (Box::new(show), self.ended)
    }
}

/// Prints what was done. Everything is done, so that a reader who does not read is not waited for.
fn print_summary(outcome: &Outcome) -> Result<(), Error> {
    let text = summary(outcome);
    let (end, ended) = sync_channel(1);
    let print = move || {
        let _ = end.send(std::io::stdout().write_all(text.as_bytes()));
    };
    if Builder::new().name("summary".into()).spawn(print).is_err() {
        return Ok(());
    }
    match ended.recv_timeout(END_MAX) {
        Ok(printed) => printed.map_err(Error::Output),
        Err(_) => {
            print_error("nobody reads standard output, so that what was done is not shown there");
            Ok(())
        }
    }
}

/// What was done, on a line.
fn summary(outcome: &Outcome) -> String {
    let Outcome { submissions, cases, failed, left, unfinished, .. } = outcome;
    let (submissions, cases) = (counted(*submissions, "submission"), counted(*cases, "case"));
    let mut text = format!("{submissions} graded, {cases}");
    if *failed > 0 {
        text.push_str(&format!("; {failed} in quarantine"));
    }
    if *left > 0 {
        text.push_str(&format!("; could not be taken, and still in the inbox: {left}"));
    }
    if *unfinished > 0 {
        let large = counted(*unfinished, "large file");
        text.push_str(&format!("; {large} left to the next start"));
    }
    text.push('\n');
    text
}
