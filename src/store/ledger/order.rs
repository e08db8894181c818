//! In which order the rows of reports were appended.

use super::{Error, Ledger, Record, reading};
use crate::model::submission::Name;
use rusqlite::params;
use std::collections::HashMap;

const ORDER_IS_KNOWN: &str = "UPDATE reports SET order_known = 1 WHERE path = ?";

/// Rows of one submission that were appended in one go: those of its next cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the submission in the ledger.
    pub submission: i64,
    /// Pieces are ordered by this.
    pub step: i64,
    /// How many cases.
    pub cases: u64,
}

impl Ledger {
    /// Shows all pieces to `each`, with the name of their submission; not in their order.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn for_each_piece(&self, mut each: impl FnMut(&Name, Piece)) -> Result<(), Error> {
        self.read(|connection| {
            let mut in_chunks: HashMap<i64, u64> = HashMap::new();
            let mut query = connection.prepare(
                "SELECT chunks.step, submission, cases, name FROM chunks
                 JOIN submissions ON submissions.id = chunks.submission",
            )?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let (step, submission) = (row.get(0)?, row.get(1)?);
                let cases = row.get::<_, i64>(2)? as u64;
                *in_chunks.entry(submission).or_default() += cases;
                each(&row.get(3)?, Piece { submission, step, cases });
            }
            let mut query = connection.prepare(
                "SELECT step, id, coalesce(correct, 0) + coalesce(wrong, 0) +
                 coalesce(unreadable, 0) + coalesce(counted, 0), name FROM submissions
                 WHERE step IS NOT NULL",
            )?;
            let mut rows = query.query([])?;
            while let Some(row) = rows.next()? {
                let (step, submission) = (row.get(0)?, row.get(1)?);
                let before = in_chunks.get(&submission).copied().unwrap_or(0);
                let cases = (row.get::<_, i64>(2)? as u64).saturating_sub(before);
                if cases > 0 {
                    each(&row.get(3)?, Piece { submission, step, cases });
                }
            }
            Ok(())
        })
    }

    /// What is known of these submissions, in this order.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or one of them is not in it.
    pub fn records_of(&self, submissions: &[i64]) -> Result<Vec<Record>, Error> {
        self.read(|connection| {
            let mut query = connection.prepare_cached(&reading::all_where("submissions.id = ?"))?;
            let one = |id| query.query_row([id], reading::record);
            submissions.iter().map(one).collect::<rusqlite::Result<_>>()
        })
    }

    /// The reports whose order of rows was not noted, as they are known from older formats.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn reports_of_unknown_order(&self) -> Result<Vec<Name>, Error> {
        self.read(|connection| {
            let unknown = "SELECT path FROM reports WHERE NOT order_known ORDER BY path";
            let mut query = connection.prepare(unknown)?;
            query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()
        })
    }

    /// Records in which order a report holds the cases of submissions: so many of one, then so many
    /// of another. Without an order the one that is guessed stays.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn report_has_order(
        &self,
        report: &Name,
        order: Option<&[(i64, u64)]>,
    ) -> Result<(), Error> {
        self.transaction(|transaction| {
            let mut forget = transaction.prepare("DELETE FROM chunks WHERE submission = ?")?;
            for (submission, _) in order.unwrap_or_default() {
                forget.execute([submission])?;
            }
            let mut insert = transaction.prepare(
                "INSERT INTO chunks (step, submission, cases)
                 VALUES ((SELECT coalesce(max(step), 0) + 1 FROM chunks), ?, ?)",
            )?;
            for (submission, cases) in order.unwrap_or_default() {
                insert.execute(params![submission, *cases as i64])?;
            }
            transaction.execute(ORDER_IS_KNOWN, [report]).map(drop)
        })
    }

    /// Records the order in which submissions were done, all that are, as the report of submissions
    /// has it. Without one, the order that is guessed stays.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn submissions_have_order(
        &self,
        report: &Name,
        order: Option<&[i64]>,
    ) -> Result<(), Error> {
        self.transaction(|transaction| {
            let mut update = transaction.prepare("UPDATE submissions SET step = ? WHERE id = ?")?;
            for (submission, step) in order.unwrap_or_default().iter().zip(1i64..) {
                update.execute([step, *submission])?;
            }
            transaction.execute(ORDER_IS_KNOWN, [report]).map(drop)
        })
    }
}
