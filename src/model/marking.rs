//! Cases are marked and get their rows, by the same rules whoever asks for them.

use crate::model::rows::CaseRows;
use crate::model::submission::{Name, Rules, Tally};
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Found, Limits, Reader, kind_by_name};
use gridmark_core::judge::Judge;

/// Cases that one thread marks at a time, so that few faults are in memory at once.
const CASES_A_TASK: usize = 512;

/// What a reader takes upon itself by these rules.
pub fn limits(rules: &Rules) -> Limits {
    Limits { case_bytes_max: rules.case_bytes_max, missing_cases_max: rules.missing_cases_max }
}

/// Marks cases and appends their rows.
pub struct Marker<'a> {
    /// Marks the cases.
    pub judge: Judge,
    /// Writes the rows.
    pub rows: &'a CaseRows,
    /// The kind of the cases, if it could be told.
    pub kind: Option<Kind>,
}

impl Marker<'_> {
    /// Marks the cases from `cases` in `found`, the first of which has this number in the
    /// submission. `marks` is memory to be used again.
    pub fn mark(
        &self,
        window: &[u8],
        found: &Found,
        cases: std::ops::Range<usize>,
        first_number: u64,
        marks: &mut Vec<Mark>,
        rows: &mut Vec<u8>,
    ) -> Tally {
        let mut tally = Tally::default();
        let mut number = first_number;
        for task in found.cases[cases].chunks(CASES_A_TASK) {
            marks.clear();
            self.judge.mark(window, task, &found.puzzles, marks);
            for mark in marks.iter() {
                tally.count(mark);
                self.rows.append(number, self.kind, mark, rows);
                number += 1;
            }
        }
        tally
    }
}

/// Marks whole submissions that are in memory. What it works in is used again from one to the next.
#[derive(Default)]
pub struct Whole {
    /// The rows of the last one.
    pub rows: Vec<u8>,
    found: Found,
    marks: Vec<Mark>,
}

impl Whole {
    /// Marks all cases in `text` and writes their rows, about `cases_max` cases at a time. `None` if
    /// there are more than about `rows_bytes_max` bytes of them.
    pub fn mark(
        &mut self,
        (name, attempt, text): (&Name, u32, &[u8]),
        (judge, rules): (Judge, &Rules),
        cases_max: usize,
        rows_bytes_max: usize,
    ) -> Option<(Option<Kind>, Tally)> {
        let Whole { rows, found, marks } = self;
        rows.clear();
        let case_rows = CaseRows::new(name, attempt, rules.neutralise_formulas);
        let mut reader = Reader::new(kind_by_name(name.as_bytes()), limits(rules));
        let mut tally = Tally::default();
        let mut at = 0;
        found.cases_max = cases_max;
        loop {
            found.clear();
            let window = &text[at..];
            at += reader.read(window, true, found);
            let kind = reader.kind();
            let marker = Marker { judge, rows: &case_rows, kind };
            let first = tally.cases() + 1;
            tally.add(&marker.mark(window, found, 0..found.cases.len(), first, marks, rows));
            if !found.capped {
                return Some((kind, tally));
            }
            if rows.len() > rows_bytes_max {
                return None;
            }
        }
    }
}
