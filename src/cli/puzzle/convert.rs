//! `gridmark puzzle convert`: puzzles in another format.

use super::super::Error;
use super::source::Reading;
use crate::model::escape;
use crate::puzzle::{Format, UnknownFormat, write};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `gridmark puzzle convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Formats:
  line       all cells of a puzzle on a line, . for an open one
  block      a row a line
  sdk        one 9x9 puzzle, with author and title
  sdm        9x9 puzzles, all cells of each on a line, 0 for an open one
  killer     a drawing with cages, and a line with the total of each
  f-puzzles  a link to f-puzzles; SudokuPad opens it, too

What is read back from FORMAT is the same puzzle; of 16x16 the alphabet may have to be declared. A
puzzle with something that FORMAT has no place for, such as cages, is refused.

Exit code: 0 if all was written; 1 if a file cannot be read or written, or a puzzle is refused; 2 if
the command line is wrong.")]
pub struct Args {
    /// The puzzles, in any format; FILE#3 is the third of a file, - is standard input
    file: PathBuf,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    to: Format,
    /// Write to this file, which must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

fn format(word: &str) -> Result<Format, UnknownFormat> {
    word.parse()
}

/// Converts puzzles.
///
/// # Errors
///
/// The file cannot be read, a puzzle does not fit the format, or the output cannot be written.
pub(super) fn run(args: Args) -> Result<ExitCode, Error> {
    let sources = args.reading.open(&args.file)?;
    let (names, listed): (Vec<_>, Vec<_>) =
        sources.into_iter().map(|source| (source.name(), source.listed)).unzip();
    let text = write(args.to, &listed).map_err(|error| {
        let name = names.get(error.number - 1).map_or("", String::as_str);
        Error::Convert { name: name.to_owned(), source: error }
    })?;
    if let Format::Text(format) = args.to {
        let with_keys =
            names.iter().zip(&listed).filter(|(_, item)| !item.puzzle.keys().is_empty());
        for (name, _) in with_keys {
            let message =
                format!("{name}: the solution is left out: {} has no place for it", format.word());
            // If standard error is closed, nobody wants to know.
            let _ = writeln!(io::stderr(), "note: {}", escape::line(&message));
        }
    }
    match &args.out {
        Some(path) => File::create_new(path)
            .map_err(Error::io("create", path))?
            .write_all(text.as_bytes())
            .map_err(Error::io("write to", path))?,
        None => io::stdout().write_all(text.as_bytes()).map_err(Error::Output)?,
    }
    Ok(ExitCode::SUCCESS)
}
