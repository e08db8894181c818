//! `gridmark event standings`, `show`, `audit`: what the ledger says of an event, computed from scratch.

use super::super::target::{ServiceArgs, open_existing_ledger};
use super::super::{Error, print_error};
use crate::event::{Owner, Standings, Table, outputs};
use crate::model::escape;
use crate::model::rows::rfc_3339;
use crate::model::ruling::{CHAIN_START, broken_at, in_force};
use crate::model::words::counted;
use crate::pipeline::standings::LiveStandings;
use crate::store::ledger::Ledger;
use jiff::Timestamp;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// The exit code if there is no event, or nobody with this id.
const NOTHING: u8 = 1;

/// The arguments of `gridmark event standings`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
They are computed from scratch, from the ledger alone, and are what the service keeps up to date in
reports/standings.csv and reports/rounds.

Exit code: 0 if they are printed, 1 if there is no event or no such round, 2 for a usage error.")]
pub struct StandingsArgs {
    /// Those of one round [default: the event]
    #[arg(long, value_name = "ID")]
    round: Option<String>,
    /// As far as the public may see them
    #[arg(long)]
    public: bool,
    /// As CSV, the bytes of the file that the service writes
    #[arg(long)]
    csv: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The arguments of `gridmark event show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every try is listed, with its time, its mark, whether it counts and why, and the rulings about it.

Exit code: 0 if it is printed, 1 if there is no event or nobody with this id, 2 for a usage error.")]
pub struct ShowArgs {
    /// The entrant's id
    #[arg(value_name = "ENTRANT")]
    entrant: String,
    /// Only this round
    #[arg(long, value_name = "ID")]
    round: Option<String>,
    /// Only this puzzle of it
    #[arg(long, value_name = "ID", requires = "round")]
    puzzle: Option<String>,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The arguments of `gridmark event audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each ruling has a hash of its row and of the hash before it. The last one, the head, is printed: if it is
the same as on the signed results, no ruling was changed, removed or put in since.

Exit code: 0 if the chain is whole, 1 if not, 2 for a usage error.")]
pub struct AuditArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

/// Prints standings.
///
/// # Errors
///
/// The settings are wrong, the ledger cannot be read, or standard output cannot be written.
pub(super) fn standings(args: &StandingsArgs) -> Result<ExitCode, Error> {
    let now_ms = Timestamp::now().as_millisecond();
    with_standings(&args.service, |standings, _| {
        let round = match &args.round {
            Some(id) => match standings.event().names.round(id) {
                Some(round) => Some(round),
                None => {
                    print_error(&format!("the event has no round `{id}`"));
                    return Ok(ExitCode::from(NOTHING));
                }
            },
            None => None,
        };
        let table = match (round, args.public) {
            (None, false) => Some(standings.overall(now_ms)),
            (None, true) => Some(standings.public_overall(now_ms)),
            (Some(round), false) => Some(standings.round(round, now_ms)),
            (Some(round), true) => standings.public_round(round, now_ms),
        };
        let Some(table) = table else {
            print_error("the public may not see anything of this round yet");
            return Ok(ExitCode::from(NOTHING));
        };
        let mut out = io::stdout().lock();
        let text = if args.csv {
            match round {
                Some(round) => outputs::round(standings, round, &table),
                None => outputs::standings(standings, &table),
            }
        } else {
            text_of(standings, &table).into_bytes()
        };
        out.write_all(&text).map_err(Error::Output)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// A table for a terminal.
fn text_of(standings: &Standings, table: &Table) -> String {
    let mut text = format!("{}\n", table.state.word());
    for row in &table.rows {
        let entrant = &standings.event().entrants[row.entrant];
        let rank = row.rank.map_or_else(|| "-".into(), |rank| rank.to_string());
        let name = escape::line(&entrant.name);
        let total = row.total.to_string();
        text.push_str(&format!("{rank:>5}  {total:>8}  {:<12}  {name}", entrant.id));
        if row.rank.is_none() {
            text.push_str(&format!("  ({})", row.status));
        }
        text.push('\n');
    }
    text
}

/// Prints all that is known of an entrant.
///
/// # Errors
///
/// As [`standings`].
pub(super) fn show(args: &ShowArgs) -> Result<ExitCode, Error> {
    with_standings(&args.service, |standings, ledger| {
        let event = standings.event();
        let names = &event.names;
        let round = args.round.as_ref().map(|id| names.round(id).ok_or(id));
        let entrant = names.entrant(&args.entrant).ok_or(&args.entrant);
        let (round, entrant) = match (round.transpose(), entrant) {
            (Ok(round), Ok(entrant)) => (round, entrant),
            (Err(id), _) | (_, Err(id)) => {
                print_error(&format!("the event has no `{id}`"));
                return Ok(ExitCode::from(NOTHING));
            }
        };
        let mut out = io::stdout().lock();
        let one = &event.entrants[entrant];
        let mut text = format!("{}: {}\n", one.id, escape::line(&one.name));
        for number in 0..event.rounds.len() {
            if round.is_some_and(|round| round != number) {
                continue;
            }
            let definition = &event.rounds[number];
            let ids = standings.submissions_of(number, entrant..entrant + 1);
            let marks = ledger.changes().marks_of(&ids).map_err(crate::service::Error::from)?;
            let tries = standings.tries(number, entrant);
            for (puzzle, known) in definition.puzzles.iter().enumerate() {
                if args.puzzle.as_ref().is_some_and(|id| names.puzzle(number, id) != Some(puzzle)) {
                    continue;
                }
                text.push_str(&format!("{}/{}:\n", definition.id, known.id));
                for one in tries.iter().filter(|one| one.owner.puzzle == puzzle) {
                    let at = one.at_ms.map_or_else(|| "unknown".into(), rfc_3339);
                    let doubt = match one.doubt() {
                        "" => String::new(),
                        doubt => format!(" (in doubt: {doubt})"),
                    };
                    let points =
                        one.points.map_or_else(String::new, |points| format!(", {points} points"));
                    text.push_str(&format!(
                        "  try {}: {}, attempt {}: {at}{doubt}, in time: {}: {}{points}: {}\n",
                        one.number,
                        one.name,
                        one.attempt,
                        one.in_time,
                        one.verdict(),
                        escape::line(&one.why)
                    ));
                    let detail = marks.get(&one.submission).map(|marked| &marked.detail);
                    if let Some(detail) = detail.filter(|detail| !detail.is_empty()) {
                        text.push_str(&format!("    {}\n", escape::line(detail)));
                    }
                }
                let owner = Owner { entrant, round: number, puzzle };
                for ruling in standings.rulings_about(owner, None) {
                    let draft = &ruling.draft;
                    text.push_str(&format!(
                        "  ruling {}: {} {}, by {}, {}: {}\n",
                        ruling.number,
                        draft.action,
                        escape::line(&draft.value.as_deref().unwrap_or_default()),
                        escape::line(&draft.by),
                        rfc_3339(ruling.at_ms),
                        escape::line(&draft.reason)
                    ));
                }
            }
        }
        out.write_all(text.as_bytes()).map_err(Error::Output)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Verifies the chain of rulings.
///
/// # Errors
///
/// As [`standings`].
pub(super) fn audit(args: &AuditArgs) -> Result<ExitCode, Error> {
    let settings = args.service.settings()?;
    let ledger = open_existing_ledger(&settings.paths)?;
    let rulings = ledger.changes().rulings().map_err(crate::service::Error::from)?;
    if let Some(number) = broken_at(&rulings) {
        print_error(&format!(
            "the chain is broken at ruling {number}: it is not what was recorded, or one was put in or \
             removed before it; compare with an earlier backup"
        ));
        return Ok(ExitCode::from(NOTHING));
    }
    let standing = in_force(&rulings).len();
    let head = rulings.last().map_or(CHAIN_START, |last| last.hash);
    let head = blake3::Hash::from_bytes(head).to_hex();
    let count = counted(rulings.len(), "ruling");
    writeln!(io::stdout(), "{count}, {standing} of them in force; head {head}")
        .map_err(Error::Output)?;
    Ok(ExitCode::SUCCESS)
}

/// Calls `read` with the standings, computed from scratch.
pub(super) fn with_standings(
    service: &ServiceArgs,
    read: impl FnOnce(&Standings, &Ledger) -> Result<ExitCode, Error>,
) -> Result<ExitCode, Error> {
    let settings = service.settings()?;
    let ledger = Arc::new(open_existing_ledger(&settings.paths)?);
    let live = LiveStandings::new(Arc::clone(&ledger));
    match live.read(|standings| read(standings, &ledger)) {
        Ok(Some(result)) => result,
        Ok(None) => {
            print_error("there is no event: put its folder into its place, and start the service");
            Ok(ExitCode::from(NOTHING))
        }
        Err(error) => {
            print_error(&escape::with_causes(&error));
            Ok(ExitCode::from(NOTHING))
        }
    }
}
