//! The marks of a group of submissions, recorded together with the lengths of the reports that hold them.

use super::judgements::judge;
use super::{Error, Ledger};
use crate::model::rows::{ROWS_VERSION, report_of};
use crate::model::submission::{Finished, Judgement, Name, Progress, Rules, Tally};
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use rusqlite::{OptionalExtension, Transaction, params};
use std::collections::HashMap;
use std::sync::PoisonError;

/// A group of results, which is recorded wholly or not at all.
#[derive(Debug, Default)]
pub struct Commit {
    /// What was graded, in the order in which the rows were appended.
    pub results: Vec<Outcome>,
    /// How submissions are judged at an event, by their numbers.
    pub judgements: Vec<(i64, Judgement)>,
    /// Reports and the length in bytes that they have now.
    pub report_lengths: Vec<(Name, u64)>,
}

/// What was graded of a submission.
#[derive(Debug)]
pub enum Outcome {
    /// The next cases of a large submission.
    Progressed {
        /// The number of the submission.
        id: i64,
        /// Its name.
        name: Name,
        /// Its kind, if it is known.
        kind: Option<Kind>,
        /// How many cases.
        cases: u64,
        /// How far the submission has come with them.
        progress: Progress,
    },
    /// All of it, or the rest.
    Finished(Finished),
}

impl Ledger {
    /// Records a group of results and the lengths that the reports have with them.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn commit(&self, commit: &Commit) -> Result<(), Error> {
        let mut known = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rules = known.clone();
        let step = self.transaction(|transaction| {
            let step = record(transaction, &commit.results, &mut rules)?;
            for (submission, judgement) in &commit.judgements {
                judge(transaction, *submission, None, judgement)?;
            }
            let mut lengths =
                transaction.prepare_cached("UPDATE reports SET length = ?2 WHERE path = ?1")?;
            commit.report_lengths.iter().try_for_each(|(path, length)| {
                lengths.execute(params![path, *length as i64]).map(drop)
            })?;
            Ok(step)
        })?;
        if let (Some(marker), Some(step)) = (&self.marker, step) {
            marker.marked(step);
        }
        *known = rules;
        Ok(())
    }
}

/// Records results; returns the place of the last one.
fn record(
    transaction: &Transaction<'_>,
    results: &[Outcome],
    rules: &mut HashMap<Rules, i64>,
) -> rusqlite::Result<Option<i64>> {
    if results.is_empty() {
        return Ok(None);
    }
    let last = "SELECT max(
        (SELECT coalesce(max(step), 0) FROM submissions WHERE step IS NOT NULL),
        (SELECT coalesce(max(step), 0) FROM chunks))";
    let mut step: i64 = transaction.prepare_cached(last)?.query_row([], |row| row.get(0))?;
    for result in results {
        step += 1;
        match result {
            Outcome::Progressed { id, name, kind, cases, progress } => {
                let number = number_of(transaction, progress.rules, rules)?;
                progressed(transaction, *id, *kind, progress, number)?;
                let insert =
                    "INSERT INTO chunks (step, submission, report, cases) VALUES (?, ?, ?, ?)";
                let values = params![step, id, report_of(name), *cases as i64];
                transaction.prepare_cached(insert)?.execute(values)?;
            }
            Outcome::Finished(done) => {
                let number = number_of(transaction, done.rules, rules)?;
                finished(transaction, done, step, number)?;
            }
        }
    }
    Ok(Some(step))
}

/// The number of these rules, which are recorded if they are new.
fn number_of(
    transaction: &Transaction<'_>,
    rules: Rules,
    known: &mut HashMap<Rules, i64>,
) -> rusqlite::Result<i64> {
    if let Some(number) = known.get(&rules) {
        return Ok(*number);
    }
    let values = params![
        ROWS_VERSION,
        rules.case_bytes_max as i64,
        rules.missing_cases_max as i64,
        rules.neutralise_formulas,
        rules.definitions
    ];
    let find = "SELECT number FROM rules WHERE rows_version = ? AND case_bytes_max = ?
         AND missing_cases_max = ? AND neutralise_formulas = ? AND definitions IS ?";
    let found = transaction.query_row(find, values, |row| row.get(0)).optional()?;
    let number = match found {
        Some(number) => number,
        None => {
            let insert = "INSERT INTO rules
                (rows_version, case_bytes_max, missing_cases_max, neutralise_formulas, definitions)
                VALUES (?, ?, ?, ?, ?)";
            transaction.execute(insert, values)?;
            transaction.last_insert_rowid()
        }
    };
    known.insert(rules, number);
    Ok(number)
}

fn progressed(
    transaction: &Transaction<'_>,
    id: i64,
    kind: Option<Kind>,
    Progress { checkpoint, tally, graded, .. }: &Progress,
    rules: i64,
) -> rusqlite::Result<()> {
    let [correct, wrong, unreadable, counted] = counts(tally);
    let update = "UPDATE submissions SET kind = ?2, checkpoint = ?3, correct = ?4, wrong = ?5,
         unreadable = ?6, counted = ?7, filled = ?8, tries = 0, graded_bytes = ?9,
         graded_blake3 = ?10, rules = ?11 WHERE id = ?1";
    transaction.prepare_cached(update)?.execute(params![
        id,
        kind.map(Kind::word),
        checkpoint,
        correct,
        wrong,
        unreadable,
        counted,
        tally.filled as i64,
        graded.bytes as i64,
        graded.blake3,
        rules
    ])?;
    Ok(())
}

fn finished(
    transaction: &Transaction<'_>,
    done: &Finished,
    step: i64,
    rules: i64,
) -> rusqlite::Result<()> {
    let [correct, wrong, unreadable, counted] = counts(&done.tally);
    let update = "UPDATE submissions SET state = ?2, graded_at = ?3, bytes = ?4, blake3 = ?5,
         kind = ?6, correct = ?7, wrong = ?8, unreadable = ?9, counted = ?10, filled = ?11,
         reason = ?12, tries = ?13, step = ?14, rules = ?15, checkpoint = NULL, boot_id = NULL
         WHERE id = ?1";
    transaction.prepare_cached(update)?.execute(params![
        done.id,
        done.status.word(),
        done.graded_at_ms,
        done.bytes as i64,
        done.blake3,
        done.kind.map(Kind::word),
        correct,
        wrong,
        unreadable,
        counted,
        done.tally.filled as i64,
        done.reason,
        done.tries,
        step,
        rules
    ])?;
    Ok(())
}

fn counts(tally: &Tally) -> [i64; Verdict::ALL.len()] {
    Verdict::ALL.map(|verdict| tally.of(verdict) as i64)
}
