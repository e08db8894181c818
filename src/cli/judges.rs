//! `gridmark judges`: who may judge on the page, and the director's passphrase.

use super::event::desk::{self, Signature};
use super::target::{ServiceArgs, open_existing_ledger};
use super::{Error, print_error};
use crate::access::{PASSPHRASE_BYTES_MAX, Typed};
use crate::jury::Request;
use crate::model::escape;
use crate::model::rows::rfc_3339;
use crate::store::ledger::Judge;
use jiff::Timestamp;
use rustix::termios::{LocalModes, OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::io::{self, BufRead, Read, Stdin, Write};
use std::process::ExitCode;

/// The exit code for a usage error.
const USAGE: u8 = 2;

/// The arguments of `gridmark judges`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Let somebody judge: print a code that is valid once and for ten minutes
    Add(AddArgs),
    /// Let somebody judge no more, at once
    Revoke(RevokeArgs),
    /// List the judges
    List(ListArgs),
    /// Set the director's passphrase
    Passphrase(PassphraseArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The judge types the code on the page. It is stored nowhere and cannot be shown again: if it is lost, revoke
the judge, and add them once more.

Without --by the user who runs this is recorded, and without --reason that a judge was added.

Exit code: 0 if it is recorded, 1 if it is refused, 2 for a usage error.")]
struct AddArgs {
    /// The name that stands in the judge's rulings
    #[arg(value_name = "NAME")]
    name: String,
    /// Until when they may judge: 18:00, 8h, or a date and time, in the zone of the event
    #[arg(long, value_name = "TIME")]
    until: String,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
What the judge has decided stays: see `gridmark event rule undo`.

Exit code: 0 if it is recorded, 1 if there is no such judge, 2 for a usage error.")]
struct RevokeArgs {
    /// The name of the judge
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A judge is `invited` while their code is valid, `active` once they have used it, `lapsed` if they have not
used it in time, `expired` once their time is over, or `revoked`. Ruling is the number of the one by which
they were added.

Exit code: 0 if they are listed, 1 if the ledger cannot be read.")]
struct ListArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
It is read from standard input, has at least 12 characters on one line, and replaces the one before:
  gridmark judges passphrase < file

Exit code: 0 if it is recorded, 1 if it is refused, 2 for a usage error.")]
struct PassphraseArgs {
    #[command(flatten)]
    signature: Signature,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Runs the command.
///
/// # Errors
///
/// The settings are wrong, the ledger cannot be used, or standard output cannot be written.
pub fn run(args: Args) -> Result<ExitCode, Error> {
    match args.command {
        Command::Add(args) => {
            let draft = args.signature.draft_for("a judge was added");
            let request = Request::AddJudge(args.name, args.until, Box::new(draft));
            desk::ask(&args.service.settings()?, request)
        }
        Command::Revoke(args) => {
            let draft = args.signature.draft_for("a judge was revoked");
            let request = Request::RevokeJudge(args.name, Box::new(draft));
            desk::ask(&args.service.settings()?, request)
        }
        Command::List(args) => list(&args),
        Command::Passphrase(args) => {
            let settings = args.service.settings()?;
            let passphrase = match read_passphrase() {
                Ok(passphrase) => passphrase,
                Err(error) => {
                    let why = escape::with_causes(&error);
                    print_error(&format!("cannot read the passphrase from standard input: {why}"));
                    return Ok(ExitCode::from(USAGE));
                }
            };
            let draft = args.signature.draft_for("the director's passphrase was set");
            desk::ask(&settings, Request::SetPassphrase(passphrase, Box::new(draft)))
        }
    }
}

fn list(args: &ListArgs) -> Result<ExitCode, Error> {
    let ledger = open_existing_ledger(&args.service.settings()?.paths)?;
    let judges = ledger.access().judges().map_err(crate::service::Error::from)?;
    let now_ms = Timestamp::now().as_millisecond();
    let mut out = io::stdout().lock();
    let mut line = |state: &str, until: &str, ruling: &str, name: &str| {
        writeln!(out, "{state:<8}  {until:<24}  {ruling:>6}  {name}").map_err(Error::Output)
    };
    if !judges.is_empty() {
        line("state", "until", "ruling", "name")?;
    }
    for judge in &judges {
        let Judge { ruling, name, until_ms, .. } = judge;
        let (ruling, name) = (ruling.to_string(), escape::line(name).to_string());
        line(judge.state(now_ms).word(), &rfc_3339(*until_ms), &ruling, &name)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The passphrase on standard input. On a terminal it is not shown while it is typed.
fn read_passphrase() -> io::Result<Typed> {
    let stdin = io::stdin();
    let mut text = String::new();
    if isatty(&stdin) {
        let _hidden = Hidden::new(&stdin)?;
        write!(io::stderr(), "passphrase: ")?;
        stdin.lock().take(PASSPHRASE_BYTES_MAX as u64 + 2).read_line(&mut text)?;
        writeln!(io::stderr())?;
    } else {
        // One byte more says that it is too long.
        stdin.lock().take(PASSPHRASE_BYTES_MAX as u64 + 2).read_to_string(&mut text)?;
    }
    Ok(Typed(text))
}

/// A terminal that does not show what is typed, until this is dropped.
struct Hidden<'a>(&'a Stdin, Termios);

impl<'a> Hidden<'a> {
    fn new(stdin: &'a Stdin) -> io::Result<Hidden<'a>> {
        let before = tcgetattr(stdin)?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin, OptionalActions::Flush, &quiet)?;
        Ok(Hidden(stdin, before))
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        let _ = tcsetattr(self.0, OptionalActions::Now, &self.1);
    }
}
