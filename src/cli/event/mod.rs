//! `gridmark event`: tournaments.

mod cards;
mod check;
pub(super) mod desk;
mod export;
mod init;
mod regrade;
mod rule;
mod standings;

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
    /// Print the standings, computed from scratch
    Standings(standings::StandingsArgs),
    /// Show every try of an entrant, which counts and why
    Show(standings::ShowArgs),
    /// Record a decision of staff: points, times, protests, whose entry a file is
    Rule(Box<rule::Args>),
    /// Judge again: what a changed event folder changes, and putting it in force
    Regrade(regrade::Args),
    /// Make cards with codes for entrants, to be printed
    Cards(cards::Args),
    /// Write the standings into a workbook
    Export(export::Args),
    /// Verify that no ruling was changed or removed
    Audit(standings::AuditArgs),
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
        Command::Standings(args) => standings::standings(&args),
        Command::Show(args) => standings::show(&args),
        Command::Rule(args) => rule::run(*args),
        Command::Regrade(args) => regrade::run(args),
        Command::Cards(args) => cards::run(args),
        Command::Export(args) => export::run(&args),
        Command::Audit(args) => standings::audit(&args),
    }
}
