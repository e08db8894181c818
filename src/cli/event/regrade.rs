//! `gridmark event regrade`: judges again, and puts a staged folder in force.

use super::super::target::ServiceArgs;
use super::super::{Error, print_error};
use super::desk;
use crate::jury::{Answer, Preview, Request, What};
use crate::model::escape;
use crate::model::ruling::Draft;
use crate::model::words::counted;
use std::io::{self, Write};
use std::process::ExitCode;

/// The exit code if it is refused.
const REFUSED: u8 = 1;

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
    /// Who decides
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// As what
    #[arg(long, value_name = "ROLE", default_value = "director")]
    role: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
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
        let draft = Draft {
            by: args.by.unwrap_or_default(),
            role: args.role,
            via: "command".into(),
            reason: args.reason.unwrap_or_default(),
            ..Draft::default()
        };
        Request::Regrade(what, Box::new(draft))
    } else {
        Request::Preview(what)
    };
    let mut out = io::stdout().lock();
    match desk::ask(&settings, request)? {
        Ok(Answer::Preview(preview)) => {
            print(&mut out, &preview).map_err(Error::Output)?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Answer::Regraded(number, preview)) => {
            print(&mut out, &preview).map_err(Error::Output)?;
            writeln!(out, "ruling {number} is recorded").map_err(Error::Output)?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Answer::Refused(why)) | Err(why) => {
            why.lines().for_each(print_error);
            Ok(ExitCode::from(REFUSED))
        }
        Ok(Answer::Ruled(_)) => {
            print_error("the service gave an answer to another question");
            Ok(ExitCode::from(REFUSED))
        }
    }
}

fn print(out: &mut impl Write, preview: &Preview) -> io::Result<()> {
    for line in preview.judgements.iter().chain(&preview.standings) {
        writeln!(out, "{}", escape::line(line))?;
    }
    let folder = if preview.staged { "the staged event folder" } else { "judging again" };
    writeln!(
        out,
        "{folder} changes {} and {}",
        counted(preview.judgements.len() as u64, "judgement"),
        counted(preview.standings.len() as u64, "line") + " of the standings"
    )
}
