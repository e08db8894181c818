//! `gridmark grade`: marks without the service, explained on the terminal.

use super::Error;
use super::draw::Ink;
use super::listing::{Listing, Output, Style};
use super::screen::Screen;
use super::tally::Tally;
use super::walk::{self, Submission};
use super::windows::Windows;
use crate::board::Verdict;
use crate::config::Intake;
use crate::format::{Limits, kind_by_name};
use crate::judge::{Judge, Tier};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `gridmark grade`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 0 if all is right, 1 if something is wrong or unreadable, \
                        2 if something could not be graded.")]
pub struct Args {
    /// Files, or folders of files
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Explain every case that is not right, however many there are in a file
    #[arg(long)]
    all: bool,
}

/// The exit code if something is wrong or unreadable.
const NOT_RIGHT: u8 = 1;
/// The exit code if something could not be graded at all.
const TROUBLE: u8 = 2;

/// Shows the mark of each case, and what is wrong with those that are not right.
///
/// The exit code is 0 if all are right, 1 if some are not, and 2 if a file could not be graded or
/// there was none.
///
/// # Errors
///
/// Standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let (submissions, troubles) = walk::submissions(&args.paths, &Intake::default());
    let mut trouble = !troubles.is_empty();
    troubles.into_iter().for_each(complain);
    if submissions.is_empty() {
        if !trouble {
            complain(Error::Usage("there is no file to grade".into()));
        }
        return Ok(ExitCode::from(TROUBLE));
    }

    let names = submissions.iter().map(|submission| submission.name.as_str());
    let style = Style::new(names, args.all, Ink::of_stdout());
    let mut screen = Screen::new(submissions.iter().map(|submission| submission.bytes).sum());
    screen.show(&style.head())?;
    let mut total = Tally::default();
    for submission in &submissions {
        match grade(submission, style, &mut screen) {
            Ok(tally) => total.add(&tally),
            Err(error @ Error::Io { .. }) => {
                trouble = true;
                screen.aside(|| complain(error))?;
            }
            Err(error) => return Err(error),
        }
    }
    if submissions.len() > 1 {
        screen.show(&format!("\n{} files, {total}\n", submissions.len()))?;
    }
    screen.end()?;
    let not_right = total.of(Verdict::Wrong) + total.of(Verdict::Unreadable) > 0;
    Ok(match (trouble, not_right) {
        (true, _) => ExitCode::from(TROUBLE),
        (false, true) => ExitCode::from(NOT_RIGHT),
        (false, false) => ExitCode::SUCCESS,
    })
}

fn grade(submission: &Submission, style: Style, screen: &mut Screen) -> Result<Tally, Error> {
    let mut listing = Listing::new(style, &submission.name);
    let path = &submission.path;
    let file = File::open(path).map_err(Error::io("read", path))?;
    let forced = kind_by_name(path.as_os_str().as_bytes());
    let mut windows = Windows::new(path, file, forced, Limits::default());
    let judge = Judge::new(Tier::best());
    let mut marks = Vec::new();
    let mut offset = 0;
    while let Some(window) = windows.next()? {
        window.mark(judge, &mut marks);
        for (case, mark) in window.cases().iter().zip(&marks) {
            listing.case(&window, case, mark, screen)?;
        }
        screen.advance(window.offset - offset);
        offset = window.offset;
    }
    listing.end(screen)
}

fn complain(error: Error) {
    // Where standard error is closed, the exit code is all that can be told.
    let _ = writeln!(io::stderr(), "gridmark: {}", error.with_causes());
}
