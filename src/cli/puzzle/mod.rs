//! `gridmark puzzle`: puzzles in every format of the field.

mod certify;
mod convert;
mod show;
mod source;

pub(super) use source::Reading;

use super::Error;
use std::process::ExitCode;

/// The arguments of `gridmark puzzle`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Say whether puzzles have exactly one solution
    Certify(certify::Args),
    /// Write puzzles in another format
    Convert(convert::Args),
    /// Draw puzzles
    Show(show::Args),
}

/// Runs the command.
///
/// # Errors
///
/// A file cannot be read or written, or a puzzle does not fit the format.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    match args.command {
        Command::Certify(args) => certify::run(args),
        Command::Convert(args) => convert::run(args),
        Command::Show(args) => show::run(args),
    }
}
