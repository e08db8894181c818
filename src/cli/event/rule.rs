//! `gridmark event rule`: records decisions of staff.

use super::super::target::ServiceArgs;
use super::super::{Error, print_error};
use super::desk::{self, Signature};
use crate::event::{Action, delimiter_of};
use crate::jury::Request;
use crate::model::escape::{self, bytes_of};
use crate::model::named;
use crate::model::ruling::Draft;
use crate::model::submission::Name;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The exit code for a usage error.
const USAGE: u8 = 2;

/// The largest list of rulings, in bytes.
const LIST_BYTES_MAX: u64 = 8 << 20;

/// The arguments of `gridmark event rule`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Actions, and their values:
  points    add 10 | add -5 | set 62          --entrant --round [--puzzle]
  verdict   correct | wrong                   --submission
  time      when it was handed in             --submission
  late      accept | refuse                   --submission
  void      zero | full                       --round --puzzle
  accept    one more solution                 --round --puzzle
  assign                                      --submission [--case] --entrant --round --puzzle
  dismiss                                     --submission
  status    in | unofficial | dns | dq | withdrawn    --entrant
  exclude   FROM/TO, a time that does not count       --round
  protest   opens one; with --number closes it        [--entrant] [--round [--puzzle]]
  undo                                        --number
  publish   ends the freeze                   [--round]
  official                                    [--round]

Every ruling says who decides (--by) and why (--reason). None is ever changed or removed: an undo is a
further ruling. With --from, a CSV with a header of these names (action, entrant, round, puzzle,
submission, attempt, case, number, value, by, role, reason), all of its rulings are recorded or none.

Exit code: 0 if it is recorded, 1 if it is refused, 2 for a usage error.")]
pub struct Args {
    /// What is decided
    #[arg(required_unless_present = "from")]
    action: Option<String>,
    /// The entrant's id
    #[arg(long, value_name = "ID")]
    entrant: Option<String>,
    /// The round's id
    #[arg(long, value_name = "ID")]
    round: Option<String>,
    /// The puzzle's id
    #[arg(long, value_name = "ID")]
    puzzle: Option<String>,
    /// The submission, by its name as reports show it
    #[arg(long, value_name = "NAME")]
    submission: Option<String>,
    /// Which attempt of that name [default: the newest]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// Which grid of the file, if it holds several
    #[arg(long, value_name = "N")]
    case: Option<u64>,
    /// The ruling that is undone, or the protest that is closed
    #[arg(long, value_name = "N")]
    number: Option<i64>,
    /// The value of the action
    #[arg(long, value_name = "V", allow_hyphen_values = true)]
    value: Option<String>,
    #[command(flatten)]
    signature: Signature,
    /// Many rulings, from a CSV file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["action", "entrant", "round", "puzzle",
        "submission", "attempt", "case", "number", "value"])]
    from: Option<PathBuf>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Records rulings.
///
/// # Errors
///
/// The settings are wrong, the ledger cannot be used, or standard output cannot be written.
pub(super) fn run(args: Args) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    let drafts = match &args.from {
        Some(file) => listed(file, &args),
        None => single(&args).map(|draft| vec![draft]),
    };
    let drafts = match drafts {
        Ok(drafts) => drafts,
        Err(why) => {
            print_error(&why);
            return Ok(ExitCode::from(USAGE));
        }
    };
    let unknown = drafts.iter().find(|draft| Action::names().all(|name| name != draft.action));
    if let Some(unknown) = unknown {
        let known: Vec<&str> = Action::names().collect();
        let action = unknown.action.chars().take(60).collect::<String>();
        print_error(&format!("`{action}` is no action; known are {}", known.join(", ")));
        return Ok(ExitCode::from(USAGE));
    }
    desk::ask(&settings, Request::Rule(drafts))
}

fn single(args: &Args) -> Result<Draft, String> {
    Ok(Draft {
        action: args.action.clone().unwrap_or_default(),
        entrant: args.entrant.clone(),
        round: args.round.clone(),
        puzzle: args.puzzle.clone(),
        submission: args.submission.as_deref().map(name).transpose()?,
        attempt: args.attempt,
        case: args.case,
        value: args.value.clone(),
        undoes: args.number,
        ..args.signature.draft()
    })
}

/// A name as reports show it.
fn name(text: &str) -> Result<Name, String> {
    let name = bytes_of(text).filter(|bytes| !bytes.is_empty()).map(Name::from_bytes);
    name.ok_or_else(|| format!("`{text}` is no name as reports show it"))
}

/// The rulings of a CSV file. What `--by`, `--role` and `--reason` say holds where the file says nothing.
fn listed(file: &Path, args: &Args) -> Result<Vec<Draft>, String> {
    const COLUMNS: [&str; 12] = [
        "action",
        "entrant",
        "round",
        "puzzle",
        "submission",
        "attempt",
        "case",
        "number",
        "value",
        "by",
        "role",
        "reason",
    ];
    let shown = escape::path(file);
    let read = named::read(file, LIST_BYTES_MAX);
    let text = read.map_err(|error| format!("cannot read {shown}: {error}"))?;
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
    let delimiter = delimiter_of(&String::from_utf8_lossy(text));
    let mut builder = csv::ReaderBuilder::new();
    let mut reader = builder.delimiter(delimiter).trim(csv::Trim::All).from_reader(text);
    let headers = reader.headers().map_err(|error| format!("{shown}: {error}"))?.clone();
    if let Some(unknown) = headers.iter().find(|header| !COLUMNS.contains(header)) {
        return Err(format!(
            "{shown}:1: there is no column `{unknown}`; known are {}",
            COLUMNS.join(", ")
        ));
    }
    let mut drafts = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| format!("{shown}: {error}"))?;
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |column: &str| {
            let place = headers.iter().position(|header| header == column)?;
            record.get(place).filter(|cell| !cell.is_empty()).map(str::to_owned)
        };
        let wrong = |column: &str| format!("{shown}:{line}: the {column} is no number");
        let number = |column: &str| {
            cell(column).map(|cell| cell.parse::<u32>().map_err(|_| wrong(column))).transpose()
        };
        let submission = cell("submission").map(|cell| name(&cell));
        let signed = args.signature.draft();
        drafts.push(Draft {
            by: cell("by").unwrap_or(signed.by),
            role: cell("role").unwrap_or(signed.role),
            reason: cell("reason").unwrap_or(signed.reason),
            via: signed.via,
            action: cell("action").unwrap_or_default(),
            entrant: cell("entrant"),
            round: cell("round"),
            puzzle: cell("puzzle"),
            submission: submission.transpose().map_err(|why| format!("{shown}:{line}: {why}"))?,
            attempt: number("attempt")?,
            case: number("case")?.map(u64::from),
            value: cell("value"),
            undoes: number("number")?.map(i64::from),
        });
    }
    if drafts.is_empty() {
        return Err(format!("{shown} holds no rulings"));
    }
    Ok(drafts)
}
