//! `gridmark puzzle certify`: whether puzzles have exactly one solution.

use super::super::config::milliseconds;
use super::super::{Error, draw, print_error};
use super::source::{Reading, Source};
use crate::model::escape;
use crate::puzzle::certify::{Certificate, certify};
use gridmark_core::board::Cell;
use gridmark_core::puzzle::text::ReadError;
use gridmark_core::puzzle::{Alphabet, Finding, Puzzle, Solutions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The arguments of `gridmark puzzle certify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each puzzle gets a line: FILE:N:, where N counts the puzzles of a file, and one of these.
  one solution    as it should be
  many solutions  two or more
  no solution
  not proven      TIME was too short
  invalid: why    nothing can solve it, for this reason
Warnings (cages of one cell, cages in several parts) go to standard error. A puzzle is always taken
as one to be completed, also where the task is to count what Lazy Larry fills.

Exit code: 0 if each puzzle has exactly one solution; 1 if one has not, or that is not proven; 2 if a
file cannot be read or the command line is wrong.")]
pub struct Args {
    /// The puzzles, in any format; FILE#3 is the third of a file, - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Spend at most this time on a puzzle: 500ms, 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = milliseconds)]
    time_limit: u64,
    /// Print a JSON object a puzzle
    #[arg(long)]
    json: bool,
    /// Add the solution, or two with a star where they differ
    #[arg(long)]
    show: bool,
    #[command(flatten)]
    reading: Reading,
}

/// The exit code if a puzzle has not exactly one solution, as far as is known.
const NOT_CERTIFIED: u8 = 1;
/// The exit code if a file cannot be read.
const NOT_READ: u8 = 2;

/// Certifies puzzles.
///
/// # Errors
///
/// Standard output cannot be written.
pub(super) fn run(args: Args) -> Result<ExitCode, Error> {
    let (mut all_certified, mut all_read) = (true, true);
    for file in &args.files {
        match args.reading.open(file) {
            Ok(sources) => {
                for source in &sources {
                    all_certified &= args.certify(source)?;
                }
            }
            Err(Error::Puzzle { path, source }) if source.is_invalid => {
                all_certified = false;
                args.print(&Entry::invalid(&path, &source))?;
            }
            // An error in one file does not keep the others from being certified.
            Err(error) => {
                all_read = false;
                print_error(&error.with_causes());
            }
        }
    }
    Ok(match (all_read, all_certified) {
        (false, _) => ExitCode::from(NOT_READ),
        (true, false) => ExitCode::from(NOT_CERTIFIED),
        (true, true) => ExitCode::SUCCESS,
    })
}

impl Args {
    /// Certifies a puzzle and prints the result; true if it has exactly one solution.
    fn certify(&self, source: &Source) -> Result<bool, Error> {
        let puzzle = &source.listed.puzzle;
        let certificate = certify(puzzle, Duration::from_millis(self.time_limit));
        let Certificate { findings, solutions } = certificate.unwrap_or_else(|error| {
            print_error(&format!("{}: {error}", source.name()));
            let solutions = Some(Solutions::Unproven(None));
            Certificate { findings: Vec::new(), solutions }
        });
        let (result, boards) = match &solutions {
            None => ("invalid", &[][..]),
            Some(Solutions::None) => ("no solution", &[][..]),
            Some(Solutions::One(only)) => ("one solution", std::slice::from_ref(only)),
            Some(Solutions::Many(two)) => ("many solutions", &two[..]),
            Some(Solutions::Unproven(_)) => ("not proven", &[][..]),
        };
        self.print(&Entry {
            path: &source.path,
            number: source.number,
            result,
            reasons: findings.iter().map(Reason::from).collect(),
            boards: Some((puzzle, boards)).filter(|_| self.show),
        })?;
        Ok(matches!(solutions, Some(Solutions::One(_))))
    }

    fn print(&self, entry: &Entry<'_>) -> Result<(), Error> {
        let mut out = io::stdout().lock();
        if self.json {
            return writeln!(out, "{}", entry.json()).map_err(Error::Output);
        }
        let name = format!("{}:{}", escape::path(entry.path), entry.number);
        out.write_all(entry.text(&name).as_bytes()).map_err(Error::Output)?;
        for warning in entry.reasons.iter().filter(|reason| !reason.is_error) {
            // If standard error is closed, nobody wants to know.
            let _ = writeln!(io::stderr(), "warning: {name}: {}", warning.message);
        }
        Ok(())
    }
}

/// What is printed of a puzzle.
struct Entry<'a> {
    path: &'a Path,
    /// Which puzzle of the file it is, from 1.
    number: usize,
    result: &'static str,
    reasons: Vec<Reason>,
    /// Its solutions, if they are to be shown.
    boards: Option<(&'a Puzzle, &'a [Vec<u8>])>,
}

/// An error or a warning.
struct Reason {
    is_error: bool,
    code: &'static str,
    cells: Vec<String>,
    message: String,
}

impl From<&Finding> for Reason {
    fn from(finding: &Finding) -> Reason {
        Reason {
            is_error: finding.flaw.is_error(),
            code: finding.flaw.code(),
            cells: finding.cells.iter().map(Cell::to_string).collect(),
            message: finding.message.clone(),
        }
    }
}

impl Entry<'_> {
    /// A puzzle that is understood, and says something that no puzzle can be.
    fn invalid<'a>(path: &'a Path, error: &ReadError) -> Entry<'a> {
        let reason = Reason {
            is_error: true,
            code: "no-puzzle",
            cells: Vec::new(),
            message: escape::line(&error).to_string(),
        };
        let number = error.number;
        Entry { path, number, result: "invalid", reasons: vec![reason], boards: None }
    }

    fn text(&self, name: &str) -> String {
        let errors = self.reasons.iter().filter(|reason| reason.is_error);
        let why = errors.map(|reason| reason.message.as_str()).collect::<Vec<_>>().join("; ");
        let colon = if why.is_empty() { "" } else { ": " };
        let mut text = format!("{name}: {}{colon}{why}\n", self.result);
        if let Some((puzzle, boards)) = self.boards {
            let differs = |i: usize| boards.iter().any(|board| board[i] != boards[0][i]);
            let starred = (0..puzzle.size().cells()).map(differs).collect::<Vec<_>>();
            for board in boards {
                text.push_str(&draw::board(puzzle, board, &starred));
            }
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let reasons = self.reasons.iter().map(|reason| {
            serde_json::json!({
                "level": if reason.is_error { "error" } else { "warning" },
                "code": reason.code,
                "cells": reason.cells,
                "message": reason.message,
            })
        });
        let mut json = serde_json::json!({
            "file": escape::path(self.path).to_string(),
            "number": self.number,
            "result": self.result,
            "findings": reasons.collect::<Vec<_>>(),
        });
        if let Some((puzzle, boards)) = self.boards {
            let boards = boards.iter().map(|board| line(puzzle.alphabet(), board));
            json["solutions"] = boards.collect();
        }
        json
    }
}

/// All digits of a board in a line.
fn line(alphabet: Alphabet, board: &[u8]) -> String {
    let between = if alphabet == Alphabet::OneToSixteen { " " } else { "" };
    board.iter().map(|digit| alphabet.name(*digit)).collect::<Vec<_>>().join(between)
}
