//! `gridmark event regrade`: judges again, and puts a staged folder in force.

use super::super::Error;
use super::super::target::ServiceArgs;
use super::desk::{self, Signature};
use crate::jury::{Request, What};
use std::process::ExitCode;

/// The arguments of `gridmark event regrade`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A changed event folder that would change judgements is staged: --preview lists the verdicts, points and
ranks that it changes, and --apply puts it in force and judges again, from the archive. Without a staged
folder the entries are judged once more by what is in force. Earlier judgements stay in the ledger.

Exit code: 0 if it is done or nothing would change, 1 if it is refused, 2 for a usage error.",
    group = clap::ArgGroup::new("which").required(true))]
pub struct Args {
    /// Only this round
    #[arg(long, value_name = "ID")]
    round: Option<String>,
    /// Only this puzzle of it
    #[arg(long, value_name = "ID", requires = "round")]
    puzzle: Option<String>,
    /// Say what would change
    #[arg(long, group = "which")]
    preview: bool,
    /// Do it
    #[arg(long, group = "which", requires = "by", requires = "reason")]
    apply: bool,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Judges again.
///
/// # Errors
///
/// The settings are wrong, the ledger cannot be used, or standard output cannot be written.
pub(super) fn run(args: Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    let what = What { round: args.round, puzzle: args.puzzle };
    let request = if args.apply {
        Request::Regrade(what, Box::new(args.signature.draft()))
    } else {
        Request::Preview(what)
    };
    desk::ask(&settings, request)
}
