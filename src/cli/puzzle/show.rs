//! `gridmark puzzle show`: puzzles drawn.

use super::super::{Error, draw};
use super::source::{Reading, Source};
use crate::model::escape;
use gridmark_core::Kind;
use gridmark_core::board::{Cell, Size};
use gridmark_core::puzzle::Cage;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `gridmark puzzle show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The total of a cage stands in the wall above its first cell. Below the drawing are the cages that it
cannot show fully: those without a total, and those in several parts.

Exit code: 0 if all was read; 1 if a file cannot be read; 2 if the command line is wrong.")]
pub struct Args {
    /// The puzzles, in any format; FILE#3 is the third of a file, - is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

/// Draws puzzles.
///
/// # Errors
///
/// A file cannot be read, or standard output cannot be written.
pub(super) fn run(args: Args) -> Result<ExitCode, Error> {
    let mut output = io::stdout().lock();
    let mut between = "";
    for file in &args.files {
        for source in args.reading.open(file)? {
            let text = format!("{between}{}", describe(&source));
            output.write_all(text.as_bytes()).map_err(Error::Output)?;
            between = "\n";
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A puzzle in words and as a drawing.
fn describe(source: &Source) -> String {
    let (name, listed) = (source.name(), &source.listed);
    let puzzle = &listed.puzzle;
    let count = |number: usize, noun: &str| {
        format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
    };
    let mut facts = Vec::new();
    if puzzle.kind() == Kind::Killer {
        facts.push(count(puzzle.cages().len(), "cage"));
    }
    facts.push(count(puzzle.givens().iter().filter(|given| **given > 0).count(), "given"));
    if !puzzle.keys().is_empty() {
        facts.push("with its solution".into());
    }
    let board = match (puzzle.kind(), puzzle.size()) {
        (Kind::Killer, _) => "killer".into(),
        (_, Size::Nine) => "9x9".into(),
        (_, Size::Sixteen) => format!("16x16 in {}", puzzle.alphabet()),
    };
    let mut text = format!("{name}: {board}, {}\n", facts.join(", "));
    let words = [("title", &listed.title), ("author", &listed.author), ("rules", &listed.rules)];
    for (what, value) in words {
        if let Some(value) = value {
            let words = value.split_whitespace().collect::<Vec<_>>().join(" ");
            text.push_str(&format!("{what}: {}\n", escape::line(&words)));
        }
    }
    text.push_str(&draw::puzzle(puzzle));
    for cage in puzzle.cages() {
        if cage.total().is_none() || !cage.is_connected() {
            text.push_str(&cage_in_words(cage));
        }
    }
    text
}

fn cage_in_words(cage: &Cage) -> String {
    let total = cage.total().map_or("no total".to_owned(), |total| format!("total {total}"));
    let cells = cage.cells().iter().map(|cell| Cell::of_9(usize::from(*cell)).to_string());
    format!("cage with {total}: {}\n", cells.collect::<Vec<_>>().join(" "))
}
