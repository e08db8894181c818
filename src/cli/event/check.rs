//! `gridmark event check`: everything that is wrong with an event folder.

use super::super::config::milliseconds;
use super::super::{Error, print_error};
use crate::event::{Event, Folder, Problem, prove, read, warnings};
use crate::model::escape::{self, Printable};
use crate::model::named;
use crate::model::submission::Name;
use crate::model::words::counted;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The arguments of `gridmark event check`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Everything that is wrong is printed at once, a line each: FILE:LINE: what is wrong, and what to do.
Puzzles that are promised to have one solution (unique = true) are certified. What is possible and most
often a mistake is printed as a warning.

With --names each name, a path below the inbox, gets a line: whose entry it is, or why it is held for
staff. For example:
  (cd inbox && find . -type f) | gridmark event check --names -

Exit code: 0 if the folder is good and each name is somebody's entry; 1 if not; 2 if something cannot
be read or the command line is wrong.")]
pub struct Args {
    /// The event folder
    #[arg(default_value = "event", value_name = "DIR")]
    folder: PathBuf,
    /// Say whose entries these names are: a file with a name a line, - is standard input
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Spend at most this time on the proof of a puzzle: 500ms, 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = milliseconds)]
    time_limit: u64,
}

/// The exit code if something is wrong.
const WRONG: u8 = 1;
/// The exit code if something cannot be read.
const NOT_READ: u8 = 2;

/// The longest name, in bytes; the system has no longer path.
const NAME_BYTES_MAX: u64 = 4096;

/// Checks a folder.
///
/// # Errors
///
/// Standard output cannot be written.
pub(super) fn run(args: &Args) -> Result<ExitCode, Error> {
    let folder = match Folder::read(&args.folder) {
        Ok(folder) => folder,
        Err(error) => {
            print_error(&escape::with_causes(&error));
            return Ok(ExitCode::from(NOT_READ));
        }
    };
    let (event, problems) = match read(&folder) {
        Ok(mut event) => {
            let problems = prove(&mut event, Duration::from_millis(args.time_limit));
            (Some(event), problems)
        }
        Err(problems) => (None, problems),
    };
    print_problems(&problems)?;
    let Some(event) = event else {
        if args.names.is_some() {
            print_error("the names are not looked up, since the folder is not good");
        }
        return Ok(ExitCode::from(WRONG));
    };
    for warning in warnings(&event) {
        writeln!(io::stdout(), "warning: {warning}").map_err(Error::Output)?;
    }
    let all_named = match &args.names {
        Some(names) => print_owners(&event, names)?,
        None => Some(true),
    };
    if problems.is_empty() && args.names.is_none() {
        print_summary(&args.folder, &event)?;
    }
    Ok(match all_named {
        None => ExitCode::from(NOT_READ),
        Some(true) if problems.is_empty() => ExitCode::SUCCESS,
        Some(_) => ExitCode::from(WRONG),
    })
}

fn print_problems(problems: &[Problem]) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    problems.iter().try_for_each(|problem| writeln!(out, "{problem}")).map_err(Error::Output)
}

fn print_summary(path: &Path, event: &Event) -> Result<(), Error> {
    let puzzles = || event.rounds.iter().flat_map(|round| &round.puzzles);
    writeln!(
        io::stdout(),
        "{}: good: {} with {}, {}, {} of them proved to have one solution",
        escape::path(path),
        escape::line(&event.name),
        counted(event.entrants.len(), "entrant"),
        counted(event.rounds.len(), "round") + " and " + &counted(puzzles().count(), "puzzle"),
        puzzles().filter(|puzzle| puzzle.unique.is_some()).count(),
    )
    .map_err(Error::Output)
}

/// Prints whose entry each name is. Returns whether all are somebody's; `None` if the names cannot be read.
fn print_owners(event: &Event, names: &Path) -> Result<Option<bool>, Error> {
    let mut reader: Box<dyn BufRead> = if names == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        match named::open(names) {
            Ok(file) => Box::new(BufReader::new(file)),
            Err(error) => {
                print_error(&Error::io("read", names)(error).with_causes());
                return Ok(None);
            }
        }
    };
    let mut out = io::stdout().lock();
    let mut all_named = true;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut reader, NAME_BYTES_MAX).read_until(b'\n', &mut line);
        match read {
            Ok(0) => return Ok(Some(all_named)),
            Ok(_) => {}
            Err(error) => {
                print_error(&Error::io("read", names)(error).with_causes());
                return Ok(None);
            }
        }
        let name = line.strip_suffix(b"\n").unwrap_or(&line);
        let name = name.strip_suffix(b"\r").unwrap_or(name);
        let name = name.strip_prefix(b"./").unwrap_or(name);
        if name.is_empty() {
            continue;
        }
        let shown = Printable(name);
        let printed = match event.names.owner(&Name::from_bytes(name.to_vec())) {
            Ok(owner) => {
                let round = &event.rounds[owner.round];
                writeln!(
                    out,
                    "{shown}: entrant {}, round {}, puzzle {}",
                    event.entrants[owner.entrant].id, round.id, round.puzzles[owner.puzzle].id
                )
            }
            Err(why) => {
                all_named = false;
                let nearest =
                    event.names.nearest(&why).map(|nearest| format!(" (nearest: {nearest})"));
                let why = escape::line(&why);
                writeln!(out, "{shown}: held: {why}{}", nearest.unwrap_or_default())
            }
        };
        printed.map_err(Error::Output)?;
    }
}
