//! `gridmark retry`: what lies in quarantine goes back into the inbox.

use super::asked::{Asked, Whose, asked, open_ledger};
use super::{Error, complain};
use crate::model::escape;
use crate::store::archive::{Archive, Put};
use crate::store::ledger::{Ledger, Record};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code if something was not put back.
const NOT_ALL: u8 = 1;
/// The exit code if nothing can be done at all.
const TROUBLE: u8 = 2;

/// The arguments of `gridmark retry`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file goes back into the inbox under its own name, never over another one, and is graded as the
next attempt by the service that runs, or by the next one. The reason that lay beside it goes.

Exit code: 0 if all of them are back in the inbox, 1 if not, 2 if nothing could be done.",
    group = clap::ArgGroup::new("which").required(true))]
pub struct Args {
    /// Submissions by name, as reports show it, or paths of files in quarantine
    #[arg(value_name = "NAME", group = "which")]
    names: Vec<PathBuf>,
    /// All submissions that lie in quarantine
    #[arg(long, group = "which")]
    all: bool,
    #[command(flatten)]
    whose: Whose,
}

/// Puts submissions back, and says for each what was done.
///
/// # Errors
///
/// The settings are wrong, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let paths = args.whose.settings()?.paths;
    let prepared = (|| {
        let Some(ledger) = open_ledger(&paths)? else {
            let state = paths.state();
            let missing = io::Error::new(io::ErrorKind::NotFound, "no service has run here");
            return Err(Error::io("read the ledger in", &state)(missing));
        };
        let inbox = paths.inbox();
        let archive = Archive::open(inbox.clone(), paths.archive(), paths.quarantine())
            .map_err(Error::io("use", &inbox))?;
        let quarantined = quarantined(&ledger, &archive)?;
        Ok((archive, quarantined))
    })();
    let (archive, quarantined) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            complain(&error.with_causes());
            return Ok(ExitCode::from(TROUBLE));
        }
    };
    let mut all_done = true;
    if args.all {
        for record in &quarantined {
            all_done &= retry(&archive, record)?;
        }
        if quarantined.is_empty() {
            tell("nothing lies in quarantine")?;
        }
    }
    for typed in &args.names {
        let meant = meant(asked(&paths, typed), &quarantined);
        let typed = escape::path(typed);
        match meant[..] {
            [record] => all_done &= retry(&archive, record)?,
            [] => {
                complain(&format!("{typed}: no such submission lies in quarantine"));
                all_done = false;
            }
            _ => {
                let places = meant.iter().map(|record| {
                    let place = paths.quarantine().join(record.claimed.archived_as.as_path());
                    escape::path(&place).to_string()
                });
                let places = places.collect::<Vec<_>>().join(", ");
                complain(&format!("{typed}: several lie in quarantine, say which: {places}"));
                all_done = false;
            }
        }
    }
    Ok(if all_done { ExitCode::SUCCESS } else { ExitCode::from(NOT_ALL) })
}

/// The submissions that failed and lie in quarantine.
fn quarantined(ledger: &Ledger, archive: &Archive) -> Result<Vec<Record>, Error> {
    let mut failed = ledger.failed().map_err(crate::service::Error::from)?;
    failed.retain(|record| archive.is_in_quarantine(&record.claimed.archived_as));
    Ok(failed)
}

fn meant(asked: Asked, quarantined: &[Record]) -> Vec<&Record> {
    let of_name = |name| quarantined.iter().filter(move |record| record.claimed.name == name);
    match asked {
        Asked::Quarantine(place) => {
            quarantined.iter().filter(|record| record.claimed.archived_as == place).collect()
        }
        Asked::Inbox(name) => of_name(name).collect(),
        Asked::Named(names) => {
            let found = names.into_iter().map(|name| of_name(name).collect::<Vec<_>>());
            found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
        }
        Asked::Archive(_) | Asked::WholeFolder | Asked::Elsewhere => Vec::new(),
    }
}

/// Puts one submission back; whether that could be done.
fn retry(archive: &Archive, record: &Record) -> Result<bool, Error> {
    let claimed = &record.claimed;
    let (name, place) = (&claimed.name, shown(&archive.inbox().join(claimed.name.as_path())));
    match archive.retry(claimed.id, &claimed.archived_as, name, &record.note()) {
        Ok(Put::There) => {
            tell(&format!("{name}: attempt {} is back in the inbox: {place}", claimed.attempt))?;
            Ok(true)
        }
        Ok(Put::Occupied) => {
            complain(&format!("{name}: it stays in quarantine, since {place} is there already"));
            Ok(false)
        }
        Err(error) => {
            complain(&format!("{name}: it cannot be moved to {place}: {error}"));
            Ok(false)
        }
    }
}

fn shown(path: &Path) -> String {
    escape::path(path).to_string()
}

fn tell(text: &str) -> Result<(), Error> {
    writeln!(io::stdout(), "{text}").map_err(Error::Output)
}
