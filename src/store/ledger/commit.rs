//! What a group of results makes true of submissions and reports.

use super::{Error, Ledger};
use crate::model::submission::{Finished, Name, Prefix, Progress, Rules, Tally};
use gridmark_core::Kind;
use gridmark_core::board::Verdict;
use rusqlite::{OptionalExtension, Transaction, params};
use std::sync::atomic::Ordering;

/// What one group commit makes true, all of it or nothing.
#[derive(Debug, Default)]
pub struct Commit {
    /// What has become of submissions, in the order in which their rows were appended.
    pub results: Vec<Outcome>,
    /// Reports and the length in bytes that they now have.
    pub report_lengths: Vec<(Name, u64)>,
}

/// What has become of a submission.
#[derive(Debug)]
pub enum Outcome {
    /// A large one has come further.
    Progressed {
        /// Its number in the ledger.
        id: i64,
        /// Its kind, if that could be told.
        kind: Option<Kind>,
        /// How many more of its cases have their rows.
        cases: u64,
        /// How far it has come with them.
        progress: Progress,
    },
    /// It is done.
    Finished(Finished),
}

impl Ledger {
    /// From now on submissions are graded by these rules, unless they were begun by others.
    ///
    /// # Errors
    ///
    /// If they cannot be recorded.
    pub fn grade_by(&self, rules: &Rules) -> Result<(), Error> {
        let values = params![
            env!("CARGO_PKG_VERSION"),
            rules.case_bytes_max as i64,
            rules.missing_cases_max as i64,
            rules.neutralise_formulas
        ];
        let number = self.transaction(|transaction| {
            let find = "SELECT number FROM rules WHERE version = ? AND case_bytes_max = ?
                 AND missing_cases_max = ? AND neutralise_formulas = ?";
            if let Some(number) =
                transaction.query_row(find, values, |row| row.get(0)).optional()?
            {
                return Ok(number);
            }
            let insert = "INSERT INTO rules
                (version, case_bytes_max, missing_cases_max, neutralise_formulas)
                VALUES (?, ?, ?, ?)";
            transaction.execute(insert, values)?;
            Ok(transaction.last_insert_rowid())
        })?;
        self.rules.store(number, Ordering::Relaxed);
        Ok(())
    }

    /// Records a group of results and the lengths that the reports have with them.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn commit(&self, commit: &Commit) -> Result<(), Error> {
        let rules = match self.rules.load(Ordering::Relaxed) {
            0 => None,
            number => Some(number),
        };
        self.transaction(|transaction| {
            record(transaction, &commit.results, rules)?;
            let mut lengths = transaction.prepare_cached(
                "INSERT INTO reports (path, length) VALUES (?1, ?2)
                 ON CONFLICT (path) DO UPDATE SET length = excluded.length",
            )?;
            commit.report_lengths.iter().try_for_each(|(path, length)| {
                lengths.execute(params![path, *length as i64]).map(drop)
            })
        })
    }
}

fn record(
    transaction: &Transaction<'_>,
    results: &[Outcome],
    rules: Option<i64>,
) -> rusqlite::Result<()> {
    if results.is_empty() {
        return Ok(());
    }
    let last = "SELECT max(
        (SELECT coalesce(max(step), 0) FROM submissions WHERE step IS NOT NULL),
        (SELECT coalesce(max(step), 0) FROM chunks))";
    let mut step: i64 = transaction.prepare_cached(last)?.query_row([], |row| row.get(0))?;
    for result in results {
        step += 1;
        match result {
            Outcome::Progressed { id, kind, cases, progress } => {
                progressed(transaction, *id, *kind, progress, rules)?;
                let insert = "INSERT INTO chunks (step, submission, cases) VALUES (?, ?, ?)";
                transaction.prepare_cached(insert)?.execute(params![step, id, *cases as i64])?;
            }
            Outcome::Finished(done) => finished(transaction, done, step, rules)?,
        }
    }
    Ok(())
}

fn progressed(
    transaction: &Transaction<'_>,
    id: i64,
    kind: Option<Kind>,
    Progress { checkpoint, tally, graded, .. }: &Progress,
    rules: Option<i64>,
) -> rusqlite::Result<()> {
    let [correct, wrong, unreadable, counted] = counts(tally);
    let update = "UPDATE submissions SET kind = ?2, checkpoint = ?3, correct = ?4, wrong = ?5,
         unreadable = ?6, counted = ?7, filled = ?8, tries = 0, graded_bytes = ?9,
         graded_blake3 = ?10, rules = CASE WHEN checkpoint IS NULL THEN ?11 ELSE rules END
         WHERE id = ?1";
    transaction.prepare_cached(update)?.execute(params![
        id,
        kind.map(Kind::word),
        checkpoint,
        correct,
        wrong,
        unreadable,
        counted,
        tally.filled as i64,
        graded.map(|Prefix { bytes, .. }| bytes as i64),
        graded.map(|Prefix { blake3, .. }| blake3),
        rules
    ])?;
    Ok(())
}

fn finished(
    transaction: &Transaction<'_>,
    done: &Finished,
    step: i64,
    rules: Option<i64>,
) -> rusqlite::Result<()> {
    let [correct, wrong, unreadable, counted] = counts(&done.tally);
    let update = "UPDATE submissions SET state = ?2, graded_at = ?3, bytes = ?4, blake3 = ?5,
         kind = ?6, correct = ?7, wrong = ?8, unreadable = ?9, counted = ?10, filled = ?11,
         reason = ?12, tries = ?13, step = ?14,
         rules = CASE WHEN checkpoint IS NULL THEN ?15 ELSE rules END, checkpoint = NULL
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
