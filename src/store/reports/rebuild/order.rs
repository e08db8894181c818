//! The order of rows, told by the reports themselves where an older gridmark did not note it.

use super::{Error, Rebuild};
use crate::model::rows::{SUBMISSIONS, name_cell, report_of};
use crate::model::submission::Name;
use crate::store::ledger::Ledger;
use crate::telemetry::emit;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};

/// What a row belongs to.
struct Known {
    id: i64,
    cases: u64,
    is_done: bool,
    report: Name,
}

/// Submissions by what their rows begin with: name and attempt.
type ByRow = HashMap<(String, u64), Known>;

impl Rebuild {
    /// Takes over from the reports in which order rows were appended, where that was not noted, so
    /// that the same bytes can be had again.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be used; the next start tries again.
    pub fn learn_order(&self) -> Result<(), Error> {
        let unknown = self.ledger.reports_of_unknown_order()?;
        if unknown.is_empty() {
            return Ok(());
        }
        let known = self.by_row(&self.ledger)?;
        let lengths: HashMap<Name, u64> =
            self.ledger.reports()?.into_iter().map(|report| (report.path, report.length)).collect();
        for report in unknown {
            let length = lengths.get(&report).copied().unwrap_or(0);
            let runs = self.runs(&report, length, &known);
            emit::row_order_adopted(&report, runs.is_some());
            if report.as_bytes() == SUBMISSIONS {
                let order = runs.map(|runs| runs.iter().map(|(id, _)| *id).collect::<Vec<_>>());
                self.ledger.submissions_have_order(&report, order.as_deref())?;
            } else {
                self.ledger.report_has_order(&report, runs.as_deref())?;
            }
        }
        Ok(())
    }

    fn by_row(&self, ledger: &Ledger) -> Result<ByRow, Error> {
        let mut known = ByRow::new();
        ledger.for_each_record(|record| {
            let claimed = &record.claimed;
            let progress = claimed.progress.as_ref().map(|progress| progress.tally);
            let tally = record.finished.as_ref().map(|done| done.tally).or(progress);
            let row = (
                name_cell(&claimed.name, self.rules.neutralise_formulas),
                u64::from(claimed.attempt),
            );
            known.insert(
                row,
                Known {
                    id: claimed.id,
                    cases: tally.unwrap_or_default().cases(),
                    is_done: record.finished.is_some(),
                    report: report_of(&claimed.name),
                },
            );
            Ok::<(), Error>(())
        })?;
        Ok(known)
    }

    /// The runs of rows of the same submission in a report, each with how many rows; none if they
    /// are not just those that should be there.
    fn runs(&self, report: &Name, length: u64, known: &ByRow) -> Option<Vec<(i64, u64)>> {
        let file = File::open(self.path_of(report)).ok()?;
        let mut rows = csv::Reader::from_reader(BufReader::new(file.take(length)));
        let mut row = csv::StringRecord::new();
        let mut runs: Vec<(i64, u64)> = Vec::new();
        let mut found: HashMap<i64, u64> = HashMap::new();
        while rows.read_record(&mut row).ok()? {
            let key = (row.get(0)?.to_owned(), row.get(1)?.parse().ok()?);
            let id = known.get(&key)?.id;
            *found.entry(id).or_default() += 1;
            match runs.last_mut() {
                Some((last, rows)) if *last == id => *rows += 1,
                _ => runs.push((id, 1)),
            }
        }
        let is_about_submissions = report.as_bytes() == SUBMISSIONS;
        let wanted = known.values().filter_map(|known| match is_about_submissions {
            true => known.is_done.then_some((known.id, 1)),
            false => {
                (known.report == *report && known.cases > 0).then_some((known.id, known.cases))
            }
        });
        let wanted: HashMap<i64, u64> = wanted.collect();
        (wanted == found).then_some(runs)
    }
}
