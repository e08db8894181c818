//! `gridmark judge`: the answers of the source problems, byte for byte.

use super::{Error, chunks, tier};
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::judge::Judge;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `gridmark judge`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The answers, on standard output:
  killer    OK or NotOK, a line per diagram
  classic   Y or N per solution, a line per block
  hexudoku  how many blanks Lazy Larry fills, a line per board

An unreadable case answers NotOK, N or 0 and is reported on standard error as
FILE:LINE:COLUMN: MESSAGE, once for several in a row that are alike.

Exit code: 0 if everything was readable, right or wrong; else 1.")]
pub struct Args {
    /// The kind of puzzle in the input
    #[arg(value_parser = super::kinds())]
    kind: Kind,
    /// The input [default: standard input]
    file: Option<PathBuf>,
}

/// Prints an answer per case on standard output and reports unreadable cases on standard error.
///
/// An unreadable case answers like a wrong one; an input without any case has no answer.
///
/// # Errors
///
/// The input cannot be read, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let judge = Judge::new(tier()?);
    let mut chunks = chunks::open(args.file.as_deref(), args.kind)?;
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut marks = Vec::new();
    let mut complaints = chunks::Complaints::default();
    let mut code = ExitCode::SUCCESS;
    while let Some(chunk) = chunks.next()? {
        chunk.mark(judge, &mut marks);
        for (case, mark) in chunk.cases().iter().zip(&marks) {
            if let Mark::Unreadable(why) = mark {
                complaints.add(&chunk, why);
                code = ExitCode::FAILURE;
                if chunk.is_empty_input {
                    continue;
                }
            }
            let answer = mark.answer(args.kind);
            let line_end: &[u8] = if case.block_end { b"\n" } else { b"" };
            let written = output.write_all(answer.as_bytes());
            written.and_then(|()| output.write_all(line_end)).map_err(Error::Output)?;
        }
    }
    output.flush().map_err(Error::Output)?;
    Ok(code)
}
