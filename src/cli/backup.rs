//! `gridmark backup`: a copy of ledger, archive and reports, also while the service runs.

use super::target::ServiceArgs;
use super::{Error, print_error};
use crate::audit::backup::{Copied, backup};
use crate::model::escape::{self, with_causes};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The exit code if a file was not there.
const NOT_ALL: u8 = 1;
/// The exit code if there is no backup.
const TROUBLE: u8 = 2;

/// The arguments of `gridmark backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The copy is of one moment: what is taken, graded or reported later is not in it, and what waits in
the inbox is not either. It is a root of its own, which can be looked at with
  gridmark verify --root INTO
To restore it, stop the service, put its folders in the place of the lost ones, and start.

Exit code: 0 if all is copied, 1 if the file of a submission was not there to be copied, 2 if there
is no backup.")]
pub struct Args {
    /// The new folder for the copy; the folder around it has to be there
    into: PathBuf,
    /// Give the files of submissions a second name instead of copying them: quick and small, but only
    /// on the same file system, and whoever changes one file changes both
    #[arg(long)]
    link: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Makes a backup and says what is in it.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    let bar = io::stderr().is_terminal().then(progress_bar);
    let on_file = || {
        if let Some(bar) = &bar {
            bar.inc(1);
        }
    };
    let copied = backup(&settings, &args.into, args.link, on_file);
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let Copied { files, reports, missing, damaged } = match copied {
        Ok(copied) => copied,
        Err(error) => {
            print_error(&with_causes(&error));
            return Ok(ExitCode::from(TROUBLE));
        }
    };
    for path in &missing {
        print_error(&format!("{}: it is gone, and not in the backup", escape::path(path)));
    }
    for path in &damaged {
        let path = escape::path(path);
        print_error(&format!("{path}: rows are missing; a start from the backup writes it anew"));
    }
    let into = escape::path(&args.into);
    writeln!(io::stdout(), "copied the ledger, {files} files and {reports} reports into {into}")
        .map_err(Error::Output)?;
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOT_ALL) })
}

fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {pos} files copied [{elapsed}]");
    let bar = ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
