//! `gridmark fill`: hexudoku boards as Lazy Larry leaves them.

use super::{Error, chunks};
use gridmark_core::Kind;
use gridmark_core::format::CaseText;
use gridmark_core::format::hexudoku::{self, Board};
use gridmark_core::judge::hexudoku::fill;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `gridmark fill`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The filled boards go to standard output with a blank line between them; a cell that no digit fits
stays -. An unreadable board is skipped and reported on standard error.

Exit code: 0 if every board was readable, else 1.")]
pub struct Args {
    /// The boards [default: standard input]
    file: Option<PathBuf>,
}

/// Writes each board as Lazy Larry leaves it, with a blank line between boards; reports unreadable ones
/// on standard error.
///
/// # Errors
///
/// The input cannot be read, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    let mut chunks = chunks::open(args.file.as_deref(), Kind::Hexudoku)?;
    let mut output = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut complaints = chunks::Complaints::default();
    let mut code = ExitCode::SUCCESS;
    let mut between = "";
    while let Some(chunk) = chunks.next()? {
        for case in chunk.cases() {
            let board = match &case.text {
                CaseText::Unreadable(why) => Err(why.as_ref().clone()),
                _ => hexudoku::board(chunk.text(case), case.line),
            };
            match board {
                Ok(mut board) => {
                    fill(&mut board);
                    output.write_all(between.as_bytes()).map_err(Error::Output)?;
                    output.write_all(&text(&board)).map_err(Error::Output)?;
                    between = "\n";
                }
                Err(why) => {
                    complaints.add(&chunk, &why);
                    code = ExitCode::FAILURE;
                }
            }
        }
    }
    output.flush().map_err(Error::Output)?;
    Ok(code)
}

fn text(board: &Board) -> Vec<u8> {
    let mut text = Vec::with_capacity(16 * 17);
    for row in board.chunks_exact(16) {
        // 16 and above is a blank cell.
        text.extend(row.iter().map(|&cell| b"0123456789ABCDEF-"[usize::from(cell.min(16))]));
        text.push(b'\n');
    }
    text
}
