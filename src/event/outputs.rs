//! The files of an event: one row per entrant, entry, held submission or ruling. They are written whole, so each
//! is a function of the standings and of nothing else.
//!
//! Names and reasons are text from outside: what a spreadsheet takes for a formula is neutralised, and control
//! characters and those that change the direction of text are escaped.

use super::definition::{Entrant, Event};
use super::standings::{Row, Standings, Table, TryWords};
use crate::model::escape;
use crate::model::rows::{name_cell, neutralised, rfc_3339};
use crate::model::ruling::Ruling;
use crate::model::submission::{Marked, verdict};
use gridmark_core::scoring::{Points, TryMark};
use std::collections::HashMap;
use std::ops::Range;

/// The files for staff that every event has, beside those in `rounds`.
pub const FILES: [&str; 5] =
    ["standings.csv", "held.csv", "missing.csv", "identical.csv", "rulings.csv"];

/// The columns of `standings.csv`, before a `round:ID` for each round, and of the file of a round, before a
/// `puzzle:ID` for each puzzle. There an empty cell is nothing handed in, and `0` is nothing earned.
pub const STANDINGS: [&str; 11] = [
    "rank",
    "group_rank",
    "entrant",
    "name",
    "group",
    "status",
    "total",
    "bonus",
    "penalty",
    "last_gain_at",
    "state",
];

/// The columns of `rounds/ID-entries.csv`.
pub const ENTRIES: [&str; 18] = [
    "entrant",
    "puzzle",
    "try",
    "submission",
    "attempt",
    "handed_in_at",
    "in_doubt",
    "in_time",
    "verdict",
    "wrong_cells",
    "blank_cells",
    "fault",
    "at",
    "faults",
    "detail",
    "counts",
    "points",
    "why",
];

/// The columns of `held.csv`.
pub const HELD: [&str; 5] = ["submission", "attempt", "handed_in_at", "why", "nearest"];

/// The columns of `missing.csv`.
pub const MISSING: [&str; 5] = ["round", "puzzle", "entrant", "name", "status"];

/// The columns of `identical.csv`.
pub const IDENTICAL: [&str; 8] =
    ["round", "puzzle", "blake3", "entrant", "submission", "attempt", "handed_in_at", "verdict"];

/// The columns of `rulings.csv`.
pub const RULINGS: [&str; 16] = [
    "number",
    "at",
    "by",
    "role",
    "via",
    "action",
    "entrant",
    "round",
    "puzzle",
    "submission",
    "attempt",
    "case",
    "value",
    "reason",
    "undoes",
    "hash",
];

/// A file of rows.
struct Rows(csv::Writer<Vec<u8>>);

impl Rows {
    fn new<'a>(columns: impl IntoIterator<Item = &'a str>) -> Rows {
        let mut rows = Rows::without_header();
        rows.add(&columns.into_iter().map(str::to_owned).collect::<Vec<_>>());
        rows
    }

    fn without_header() -> Rows {
        Rows(csv::WriterBuilder::new().from_writer(Vec::new()))
    }

    fn add(&mut self, cells: &[String]) {
        // Writing to memory cannot fail, and all rows are as long as the header.
        let written = self.0.write_record(cells);
        debug_assert!(written.is_ok(), "a row that csv cannot write: {written:?}");
    }

    fn finish(self) -> Vec<u8> {
        self.0.into_inner().unwrap_or_default()
    }
}

/// Text from outside, as it stands in a cell.
fn text(text: &str) -> String {
    neutralised(&escape::line(&text)).into_owned()
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The standings of the event.
pub fn standings(standings: &Standings, table: &Table) -> Vec<u8> {
    let event = standings.event();
    let rounds = event.rounds.iter().map(|round| format!("round:{}", round.id));
    tabular(event, table, rounds)
}

/// The standings of a round.
pub fn round(standings: &Standings, round: usize, table: &Table) -> Vec<u8> {
    let event = standings.event();
    let puzzles = event.rounds[round].puzzles.iter();
    tabular(event, table, puzzles.map(|puzzle| format!("puzzle:{}", puzzle.id)))
}

fn tabular(event: &Event, table: &Table, parts: impl Iterator<Item = String>) -> Vec<u8> {
    let parts: Vec<String> = parts.collect();
    let mut rows = Rows::new(STANDINGS.into_iter().chain(parts.iter().map(String::as_str)));
    for row in &table.rows {
        let mut cells = row_cells(&event.entrants[row.entrant], row, table.state.word());
        cells.extend(row.parts.iter().map(|points| shown(*points)));
        rows.add(&cells);
    }
    rows.finish()
}

fn row_cells(entrant: &Entrant, row: &Row, state: &str) -> Vec<String> {
    vec![
        shown(row.rank),
        shown(row.group_rank),
        text(&entrant.id),
        text(&entrant.name),
        text(&entrant.group),
        row.status.word().into(),
        row.total.to_string(),
        row.bonus.to_string(),
        row.penalty.to_string(),
        row.last_gain_at_ms.map_or_else(String::new, rfc_3339),
        state.into(),
    ]
}

/// The header of a file with entries.
pub fn entries_header() -> Vec<u8> {
    Rows::new(ENTRIES).finish()
}

/// The tries of some entrants in a round, without a header. `marks` has the newest mark of each submission.
pub fn entries(
    standings: &Standings,
    round: usize,
    entrants: Range<usize>,
    marks: &HashMap<i64, Marked>,
) -> Vec<u8> {
    let mut rows = Rows::without_header();
    for entrant in entrants {
        for one in standings.tries(round, entrant) {
            rows.add(&entry_cells(standings.event(), &one, marks.get(&one.submission)));
        }
    }
    rows.finish()
}

/// The cells of a try, in the order of [`ENTRIES`].
pub fn entry_cells(event: &Event, one: &TryWords, marked: Option<&Marked>) -> Vec<String> {
    let (wrong_cells, blank_cells) = match one.mark {
        TryMark::Judged(judged) => (shown(judged.wrong_cells), judged.blank_cells.to_string()),
        _ => (String::new(), String::new()),
    };
    let round = &event.rounds[one.owner.round];
    let of_mark = |cell: fn(&Marked) -> String| marked.map_or_else(String::new, cell);
    vec![
        text(&event.entrants[one.owner.entrant].id),
        text(&round.puzzles[one.owner.puzzle].id),
        one.number.to_string(),
        name_cell(&one.name, true),
        one.attempt.to_string(),
        rfc_3339(one.handed_in.at_ms),
        one.doubt().into(),
        one.in_time.word().into(),
        one.verdict().into(),
        wrong_cells,
        blank_cells,
        of_mark(|marked| marked.fault.clone()),
        of_mark(|marked| marked.at.clone()),
        of_mark(|marked| marked.faults.to_string()),
        of_mark(|marked| text(&marked.detail)),
        if one.counts { "yes" } else { "no" }.into(),
        shown::<Points>(one.points),
        text(&one.why),
    ]
}

/// What waits for staff.
pub fn held(standings: &Standings) -> Vec<u8> {
    let mut rows = Rows::new(HELD);
    for held in standings.held().values() {
        rows.add(&[
            name_cell(&held.name, true),
            held.attempt.to_string(),
            rfc_3339(held.handed_in.at_ms),
            text(&held.why),
            held.nearest.as_deref().map_or_else(String::new, text),
        ]);
    }
    rows.finish()
}

/// What was not handed in.
pub fn missing(standings: &Standings, now_ms: i64) -> Vec<u8> {
    let event = standings.event();
    let mut rows = Rows::new(MISSING);
    for missing in standings.missing(now_ms) {
        let (round, entrant) =
            (&event.rounds[missing.owner.round], &event.entrants[missing.owner.entrant]);
        rows.add(&[
            text(&round.id),
            text(&round.puzzles[missing.owner.puzzle].id),
            text(&entrant.id),
            text(&entrant.name),
            missing.status.word().into(),
        ]);
    }
    rows.finish()
}

/// Entries of several entrants for one puzzle with the same bytes.
pub fn identical(standings: &Standings) -> Vec<u8> {
    let event = standings.event();
    let mut rows = Rows::new(IDENTICAL);
    for identical in standings.identical() {
        let round = &event.rounds[identical.round];
        for (entrant, name, attempt, handed_in, mark) in &identical.entries {
            rows.add(&[
                text(&round.id),
                text(&round.puzzles[identical.puzzle].id),
                blake3::Hash::from_bytes(identical.blake3).to_hex().to_string(),
                text(&event.entrants[*entrant].id),
                name_cell(name, true),
                attempt.to_string(),
                rfc_3339(handed_in.at_ms),
                verdict(*mark).into(),
            ]);
        }
    }
    rows.finish()
}

/// All rulings.
pub fn rulings(rulings: &[Ruling]) -> Vec<u8> {
    let mut rows = Rows::new(RULINGS);
    let said = |said: &Option<String>| said.as_deref().map_or_else(String::new, text);
    for Ruling { number, at_ms, draft, hash, .. } in rulings {
        rows.add(&[
            number.to_string(),
            rfc_3339(*at_ms),
            text(&draft.by),
            text(&draft.role),
            text(&draft.via),
            text(&draft.action),
            said(&draft.entrant),
            said(&draft.round),
            said(&draft.puzzle),
            draft.submission.as_ref().map_or_else(String::new, |name| name_cell(name, true)),
            shown(draft.attempt),
            shown(draft.case),
            said(&draft.value),
            text(&draft.reason),
            shown(draft.undoes),
            blake3::Hash::from_bytes(*hash).to_hex().to_string(),
        ]);
    }
    rows.finish()
}
