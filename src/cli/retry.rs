//! `gridmark retry`: returns quarantined submissions to the inbox.

use super::target::{ServiceArgs, Target, open_existing_ledger};
use super::{Error, print_error};
use crate::config::Paths;
use crate::model::escape;
use crate::store::archive::{Archive, Put};
use crate::store::ledger::{Ledger, Record};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code if a submission was not returned.
const NOT_ALL: u8 = 1;
/// The exit code if nothing could be done.
const NOTHING_DONE: u8 = 2;

/// The arguments of `gridmark retry`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file returns to the inbox under its own name, never over another file, and is graded as the next
attempt, now or when the service starts. The file with the reason is removed.

Exit code: 0 if all of them are back in the inbox, 1 if not, 2 if nothing could be done.",
    group = clap::ArgGroup::new("which").required(true))]
pub struct Args {
    /// Submissions by name as reports show it, or paths of files in quarantine
    #[arg(value_name = "NAME", group = "which")]
    names: Vec<PathBuf>,
    /// All submissions in quarantine
    #[arg(long, group = "which")]
    all: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Returns submissions to the inbox and reports what was done for each.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let paths = args.service.settings()?.paths;
    let (archive, quarantined) = match prepare(&paths) {
        Ok(prepared) => prepared,
        Err(error) => {
            print_error(&error.with_causes());
            return Ok(ExitCode::from(NOTHING_DONE));
        }
    };
    let mut all_done = true;
    if args.all {
        for record in &quarantined {
            all_done &= retry(&archive, record)?;
        }
        if quarantined.is_empty() {
            print("quarantine is empty")?;
        }
    }
    for typed in &args.names {
        let matches = matching(Target::resolve(&paths, typed), &quarantined);
        let typed = escape::path(typed);
        match matches[..] {
            [record] => all_done &= retry(&archive, record)?,
            [] => {
                print_error(&format!("{typed}: no such submission is in quarantine"));
                all_done = false;
            }
            _ => {
                let places = matches.iter().map(|record| {
                    let place = paths.quarantine().join(record.claimed.archived_as.as_path());
                    escape::path(&place).to_string()
                });
                let places = places.collect::<Vec<_>>().join(", ");
                print_error(&format!(
                    "{typed}: several submissions of this name are in quarantine; give one of these paths: {places}"
                ));
                all_done = false;
            }
        }
    }
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::from(NOT_ALL) })
}

/// The folders, and the submissions that can be returned.
fn prepare(paths: &Paths) -> Result<(Archive, Vec<Record>), Error> {
    let ledger = open_existing_ledger(paths)?;
    let inbox = paths.inbox();
    let archive = Archive::open(inbox.clone(), paths.archive(), paths.quarantine())
        .map_err(Error::io("use", &inbox))?;
    let quarantined = quarantined(&ledger, &archive)?;
    Ok((archive, quarantined))
}

/// The failed submissions whose file is in quarantine.
fn quarantined(ledger: &Ledger, archive: &Archive) -> Result<Vec<Record>, Error> {
    let mut failed = ledger.records().failed().map_err(crate::service::Error::from)?;
    failed.retain(|record| archive.is_in_quarantine(&record.claimed.archived_as));
    Ok(failed)
}

fn matching(target: Target, quarantined: &[Record]) -> Vec<&Record> {
    let of_name = |name| quarantined.iter().filter(move |record| record.claimed.name == name);
    match target {
        Target::Quarantine(place) => {
            quarantined.iter().filter(|record| record.claimed.archived_as == place).collect()
        }
        Target::Inbox(name) => of_name(name).collect(),
        Target::Named(names) => {
            let found = names.into_iter().map(|name| of_name(name).collect::<Vec<_>>());
            found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
        }
        Target::Archive(_) | Target::WholeFolder | Target::Elsewhere => Vec::new(),
    }
}

/// Returns one submission to the inbox; false if that failed.
fn retry(archive: &Archive, record: &Record) -> Result<bool, Error> {
    let claimed = &record.claimed;
    let (name, place) = (&claimed.name, shown(&archive.inbox().join(claimed.name.as_path())));
    match archive.retry(claimed.id, &claimed.archived_as, name, &record.note()) {
        Ok(Put::There) => {
            print(&format!("{name}: attempt {} is back in the inbox: {place}", claimed.attempt))?;
            Ok(true)
        }
        Ok(Put::Occupied) => {
            print_error(&format!("{name}: stays in quarantine, because {place} exists already"));
            Ok(false)
        }
        Err(error) => {
            print_error(&format!("{name}: cannot be moved to {place}: {error}"));
            Ok(false)
        }
    }
}

fn shown(path: &Path) -> String {
    escape::path(path).to_string()
}

fn print(text: &str) -> Result<(), Error> {
    writeln!(io::stdout(), "{text}").map_err(Error::Output)
}
