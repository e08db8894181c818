//! `gridmark event cards`: codes for entrants, on cards to be printed.

use super::super::Error;
use super::super::target::ServiceArgs;
use super::desk::{self, Signature};
use crate::access::sheet;
use crate::jury::{Answer, Request};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The arguments of `gridmark event cards`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each entrant gets a new code, by which they hand in and see their results; the one before is not valid any
more. Codes are stored nowhere else: open the file in a browser, print it on A4, and delete it.

Without --by the user who runs this is recorded, and without --reason that cards were printed.

Exit code: 0 if the cards are made, 1 if they are refused, 2 for a usage error.")]
pub struct Args {
    /// Only for this entrant; may be given several times [default: all]
    #[arg(long, value_name = "ID")]
    entrant: Vec<String>,
    /// The HTML file, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Makes cards.
///
/// # Errors
///
/// The settings are wrong, the ledger cannot be used, or the file or standard output cannot be written.
pub(super) fn run(args: Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    // Before old codes are replaced.
    let out = match args.out.as_deref() {
        Some(path) => Some((path, create(path)?)),
        None => None,
    };
    let draft = args.signature.draft_for("cards were printed");
    let request = Request::PrintCards(args.entrant, Box::new(draft));
    let mut is_written = false;
    let asked = desk::ask_for(&settings, request, |answer| {
        let Answer::Cards(cards) = answer else { return Ok(()) };
        let page = sheet(&cards.event, &cards.cards);
        match &out {
            Some((path, file)) => {
                let mut file = file;
                file.write_all(page.as_bytes()).map_err(Error::io("write", path))?;
            }
            None => io::stdout().write_all(page.as_bytes()).map_err(Error::Output)?,
        }
        is_written = true;
        Ok(())
    });
    if let Some((path, _)) = out
        && !is_written
    {
        let _ = std::fs::remove_file(path);
    }
    asked
}

/// A new file that others may not read, since it holds codes.
fn create(path: &Path) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path).map_err(Error::io("create", path))
}
