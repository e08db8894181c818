//! `gridmark event export`: the standings as a workbook.
//!
//! Cells have types: ranks and points are numbers, times are times of the event's zone, and everything that
//! somebody chose is text, so that `007`, `1/2` and `=SUM(A1)` stay what they are.

use super::super::target::ServiceArgs;
use super::super::{Error, print_error};
use super::standings::with_standings;
use crate::event::{Row, Standings, Table, outputs};
use crate::model::escape;
use crate::store::ledger::Ledger;
use gridmark_core::scoring::Points;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_xlsxwriter::{ExcelDateTime, Format, Workbook, Worksheet, XlsxError};
use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The longest name of a sheet.
const SHEET_NAME_CHARS: usize = 31;

/// The longest text of a cell.
const CELL_CHARS: usize = 32_767;

/// The exit code if there is nothing to export, or it cannot be written.
const NOT_WRITTEN: u8 = 1;

/// The arguments of `gridmark event export`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The workbook has a sheet with the standings of the event and one for each round, as far as the public may
see them. With --all it has everything, for staff alone: all entries, too, what is held and the rulings.
It is computed from scratch, from the ledger.

Exit code: 0 if it is written, 1 if not, 2 for a usage error.")]
pub struct Args {
    /// The workbook to write
    #[arg(long, value_name = "FILE")]
    xlsx: PathBuf,
    /// Everything, for staff alone
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Writes a workbook.
///
/// # Errors
///
/// The settings are wrong, or the ledger cannot be read.
pub(super) fn run(args: &Args) -> Result<ExitCode, Error> {
    let now_ms = Timestamp::now().as_millisecond();
    with_standings(&args.service, |standings, ledger| {
        let written = workbook(standings, ledger, args.all, now_ms).and_then(|mut workbook| {
            workbook.save(&args.xlsx).map_err(|error| match error {
                XlsxError::IoError(error) => Error::io("write", &args.xlsx)(error),
                other => Error::io("write", &args.xlsx)(io::Error::other(other)),
            })
        });
        match written {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => {
                print_error(&error.with_causes());
                Ok(ExitCode::from(NOT_WRITTEN))
            }
        }
    })
}

/// A sheet that is filled row by row.
struct Sheet<'a> {
    sheet: &'a mut Worksheet,
    row: u32,
    time: Format,
    zone: TimeZone,
}

/// What is in a cell.
enum Cell {
    Text(String),
    Number(f64),
    Time(i64),
    Empty,
}

impl Sheet<'_> {
    fn add(&mut self, cells: Vec<Cell>) -> Result<(), XlsxError> {
        for (column, cell) in (0u16..).zip(cells) {
            match cell {
                Cell::Text(text) => {
                    let text: String = escape::line(&text).chars().take(CELL_CHARS).collect();
                    self.sheet.write_string(self.row, column, text)?;
                }
                Cell::Number(number) => _ = self.sheet.write_number(self.row, column, number)?,
                Cell::Time(ms) => {
                    let moment = Timestamp::from_millisecond(ms).unwrap_or_default();
                    let local = self.zone.to_datetime(moment);
                    let (year, month, day) = (local.year(), local.month(), local.day());
                    let date = ExcelDateTime::from_ymd(
                        year.unsigned_abs(),
                        month.unsigned_abs(),
                        day.unsigned_abs(),
                    )?;
                    let [hour, minute] = [local.hour(), local.minute()].map(i8::unsigned_abs);
                    let time = date.and_hms(hour.into(), minute, f64::from(local.second()))?;
                    self.sheet.write_datetime_with_format(self.row, column, &time, &self.time)?;
                }
                Cell::Empty => {}
            }
        }
        self.row += 1;
        Ok(())
    }
}

fn workbook(
    standings: &Standings,
    ledger: &Ledger,
    all: bool,
    now_ms: i64,
) -> Result<Workbook, Error> {
    let failed = |error: XlsxError| {
        Error::io("fill", std::path::Path::new("the workbook"))(io::Error::other(error))
    };
    let mut book = Workbook::new();
    let mut names = HashSet::new();
    let event = standings.event();
    let overall = if all { standings.overall(now_ms) } else { standings.public_overall(now_ms) };
    let rounds = event.rounds.iter().map(|round| round.id.as_str());
    tabular(&mut book, &mut names, standings, ("Standings", &overall), rounds).map_err(failed)?;
    for (number, round) in event.rounds.iter().enumerate() {
        let table = match all {
            true => Some(standings.round(number, now_ms)),
            false => standings.public_round(number, now_ms),
        };
        if let Some(table) = table {
            let puzzles = round.puzzles.iter().map(|puzzle| puzzle.id.as_str());
            tabular(&mut book, &mut names, standings, (&round.id, &table), puzzles)
                .map_err(failed)?;
        }
    }
    if all {
        entries(&mut book, &mut names, standings, ledger)?.map_err(failed)?;
        for (name, file) in [
            ("Held", outputs::held(standings)),
            ("Missing", outputs::missing(standings, now_ms)),
            ("Rulings", outputs::rulings(standings.rulings())),
        ] {
            let mut sheet = sheet(&mut book, &mut names, standings, name).map_err(failed)?;
            let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(&file[..]);
            for row in rows.records().filter_map(Result::ok) {
                let cells = row.iter().map(|cell| Cell::Text(cell.to_owned())).collect();
                sheet.add(cells).map_err(failed)?;
            }
        }
    }
    Ok(book)
}

/// A further sheet, under a name that no other one has.
fn sheet<'a>(
    book: &'a mut Workbook,
    names: &mut HashSet<String>,
    standings: &Standings,
    name: &str,
) -> Result<Sheet<'a>, XlsxError> {
    let candidates = (1..).map(|number| match number {
        1 => name.chars().take(SHEET_NAME_CHARS).collect::<String>(),
        number => {
            let end = format!("-{number}");
            let start: String = name.chars().take(SHEET_NAME_CHARS - end.len()).collect();
            format!("{start}{end}")
        }
    });
    // Names that differ only in case are the same.
    let free = candidates.into_iter().find(|name: &String| names.insert(name.to_lowercase()));
    let sheet = book.add_worksheet();
    sheet.set_name(free.unwrap_or_default())?;
    sheet.set_freeze_panes(1, 0)?;
    let time = Format::new().set_num_format("yyyy-mm-dd hh:mm:ss");
    Ok(Sheet { sheet, row: 0, time, zone: standings.event().time_zone.clone() })
}

fn tabular<'a>(
    book: &mut Workbook,
    names: &mut HashSet<String>,
    standings: &Standings,
    (name, table): (&str, &Table),
    parts: impl Iterator<Item = &'a str>,
) -> Result<(), XlsxError> {
    let mut sheet = sheet(book, names, standings, name)?;
    let header = outputs::STANDINGS.into_iter().chain(parts);
    sheet.add(header.map(|title| Cell::Text(title.to_owned())).collect())?;
    for row in &table.rows {
        let entrant = &standings.event().entrants[row.entrant];
        let Row { rank, group_rank, total, bonus, penalty, .. } = row;
        let number =
            |number: &Option<u32>| number.map_or(Cell::Empty, |rank| Cell::Number(rank.into()));
        let mut cells = vec![
            number(rank),
            number(group_rank),
            Cell::Text(entrant.id.clone()),
            Cell::Text(entrant.name.clone()),
            Cell::Text(entrant.group.clone()),
            Cell::Text(row.status.word().into()),
            points(*total),
            points(*bonus),
            points(*penalty),
            row.last_gain_at_ms.map_or(Cell::Empty, Cell::Time),
            Cell::Text(table.state.word().into()),
        ];
        cells.extend(row.parts.iter().map(|part| part.map_or(Cell::Empty, points)));
        sheet.add(cells)?;
    }
    Ok(())
}

fn entries(
    book: &mut Workbook,
    names: &mut HashSet<String>,
    standings: &Standings,
    ledger: &Ledger,
) -> Result<Result<(), XlsxError>, Error> {
    let mut sheet = match sheet(book, names, standings, "Entries") {
        Ok(sheet) => sheet,
        Err(error) => return Ok(Err(error)),
    };
    let event = standings.event();
    let header = ["round"].into_iter().chain(outputs::ENTRIES);
    let mut added = sheet.add(header.map(|title| Cell::Text(title.to_owned())).collect());
    for (round, definition) in event.rounds.iter().enumerate() {
        for entrant in 0..event.entrants.len() {
            let ids = standings.submissions_of(round, entrant..entrant + 1);
            let marks = ledger.changes().marks_of(&ids).map_err(crate::service::Error::from)?;
            for one in standings.tries(round, entrant) {
                let cells = outputs::entry_cells(event, &one, marks.get(&one.submission));
                let typed =
                    cells.into_iter().zip(outputs::ENTRIES).map(|(cell, title)| match title {
                        "handed_in_at" => Cell::Time(one.handed_in.at_ms),
                        "points" => one.points.map_or(Cell::Empty, points),
                        "try" | "attempt" | "wrong_cells" | "blank_cells" | "faults" => {
                            cell.parse().map_or(Cell::Empty, Cell::Number)
                        }
                        _ => Cell::Text(cell),
                    });
                let round = [Cell::Text(definition.id.clone())];
                added = added.and_then(|()| sheet.add(round.into_iter().chain(typed).collect()));
            }
        }
    }
    Ok(added)
}

fn points(points: Points) -> Cell {
    Cell::Number(points.as_milli() as f64 / 1_000.0)
}
