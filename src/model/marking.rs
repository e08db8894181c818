//! Cases are marked and get their rows: grading and rebuilding do it by the same code, so that the rows of a
//! rebuilt report are the same bytes.

use crate::model::rows::CaseRows;
use crate::model::submission::{Name, Rules, Tally};
use gridmark_core::Kind;
use gridmark_core::board::Mark;
use gridmark_core::format::{Found, Limits, Reader, kind_by_name};
use gridmark_core::judge::Judge;

/// Cases that one thread marks at a time, so that few faults are in memory at once.
const CASES_A_TASK: usize = 512;

/// The reader's limits under these rules.
pub fn limits(rules: &Rules) -> Limits {
    Limits { case_bytes_max: rules.case_bytes_max, missing_cases_max: rules.missing_cases_max }
}

/// Marks cases and appends their rows.
pub struct Marker<'a> {
    /// Marks the cases.
    pub judge: Judge,
    /// Writes the rows.
    pub rows: &'a CaseRows,
    /// The kind of the cases, if it is known.
    pub kind: Option<Kind>,
}

impl Marker<'_> {
    /// Marks the cases `cases` of `found`, which index into `text`, and appends their rows to `rows`. The
    /// first of them has number `first_number` in the submission. `marks` is scratch memory.
    pub fn mark(
        &self,
        text: &[u8],
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
            self.judge.mark(text, task, &found.puzzles, marks);
            for mark in marks.iter() {
                tally.count(mark);
                self.rows.append(number, self.kind, mark, rows);
                number += 1;
            }
        }
        tally
    }
}

/// Marks whole submissions that are in memory, and reuses its own memory from one to the next.
#[derive(Default)]
pub struct Whole {
    /// The rows of the last submission.
    pub rows: Vec<u8>,
    found: Found,
    marks: Vec<Mark>,
}

impl Whole {
    /// Marks all cases in `text` and writes their rows, about `cases_max` cases at a time. Returns the
    /// kind, if it is known, and the tally; `None` if the rows have more than about `rows_bytes_max`
    /// bytes.
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
            let rest = &text[at..];
            at += reader.read(rest, true, found);
            let kind = reader.kind();
            let marker = Marker { judge, rows: &case_rows, kind };
            let first = tally.cases() + 1;
            tally.add(&marker.mark(rest, found, 0..found.cases.len(), first, marks, rows));
            if !found.capped {
                return Some((kind, tally));
            }
            if rows.len() > rows_bytes_max {
                return None;
            }
        }
    }
}
