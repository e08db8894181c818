//! `gridmark event`: tournaments.

mod check;
mod init;

use super::Error;
use std::process::ExitCode;

/// The arguments of `gridmark event`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Create an event folder to begin with: a working example with comments
    Init(init::Args),
    /// Check an event folder, and whose entry which name is
    Check(check::Args),
}

/// Runs the command.
///
/// # Errors
///
/// A file or folder cannot be read, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    match args.command {
        Command::Init(args) => init::run(&args),
        Command::Check(args) => check::run(&args),
    }
}
