//! `gridmark backup`: copies ledger, archive and reports, also while the service runs.

use super::target::ServiceArgs;
use super::{Error, print_error};
use crate::audit::backup::{Copied, backup};
use crate::model::escape::{self, with_causes};
use crate::model::words::counted;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The exit code if a submission's file is missing.
const NOT_ALL: u8 = 1;
/// The exit code if the backup failed.
const FAILED: u8 = 2;

/// The arguments of `gridmark backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The copy shows one moment: what the service takes or grades later is not in it, nor are files that
wait in the inbox. It is a root of its own, and can be checked with
  gridmark verify --root INTO
To restore it, stop the service, replace the lost folders by those of the copy, and start the service.

Exit code: 0 if everything is copied, 1 if the file of a submission is missing, 2 if the backup
failed.")]
pub struct Args {
    /// The new folder for the copy; the folder above it must exist
    into: PathBuf,
    /// Make hard links to submissions' files instead of copies: quick and small, but only on the same
    /// file system, and a change to one of the two files changes both
    #[arg(long)]
    link: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Makes a backup, and says what was copied and what is missing.
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
            return Ok(ExitCode::from(FAILED));
        }
    };
    for path in &missing {
        let path = escape::path(path);
        print_error(&format!("{path}: the file is missing, here and in the backup"));
    }
    for path in &damaged {
        let path = escape::path(path);
        print_error(&format!(
            "{path}: rows are missing; a service started on the backup rebuilds the report"
        ));
    }
    let into = escape::path(&args.into);
    let (files, reports) = (counted(files, "file"), counted(reports, "report"));
    writeln!(io::stdout(), "copied the ledger, {files} and {reports} into {into}")
        .map_err(Error::Output)?;
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(NOT_ALL) })
}

fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} files copied: {pos} [{elapsed}]");
    let bar = ProgressBar::new_spinner()
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}
