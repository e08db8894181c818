//! Report files: how much of each is committed, and in which order its rows stand.

use super::{Error, Ledger};
use crate::model::submission::Name;
use rusqlite::{OptionalExtension, Row, params};

/// The reports of a ledger.
#[derive(Clone, Copy)]
pub struct Reports<'a>(pub(super) &'a Ledger);

/// A report file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its path under the reports.
    pub path: Name,
    /// How many bytes of it are committed.
    pub length: u64,
    /// Whether these are all of its rows. If not, it has to be rebuilt.
    pub whole: bool,
    /// Whether it begins with a byte-order mark.
    pub bom: bool,
}

/// Rows of one submission that were appended together: those of its next cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The number of the submission.
    pub submission: i64,
    /// Pieces of a report are ordered by this.
    pub step: i64,
    /// How many cases.
    pub cases: u64,
}

impl Reports<'_> {
    /// All reports, by path.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn all(&self) -> Result<Vec<Report>, Error> {
        self.0.read(|connection| {
            connection
                .prepare("SELECT path, length, whole, bom FROM reports ORDER BY path")?
                .query_map([], report)?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// The report with this path, if the ledger knows it.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn get(&self, path: &Name) -> Result<Option<Report>, Error> {
        self.0.read(|connection| {
            connection
                .prepare_cached("SELECT path, length, whole, bom FROM reports WHERE path = ?")?
                .query_row([path], report)
                .optional()
        })
    }

    /// The reports that have to be rebuilt.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn damaged(&self) -> Result<Vec<Name>, Error> {
        self.0.read(|connection| {
            connection
                .prepare("SELECT path FROM reports WHERE NOT whole ORDER BY path")?
                .query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// Records new reports, none of whose bytes are committed; `bom` says whether they begin with a byte-order
    /// mark.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn introduce(&self, paths: &[Name], bom: bool) -> Result<(), Error> {
        self.0.transaction(|transaction| {
            let insert = "INSERT OR IGNORE INTO reports (path, length, bom) VALUES (?, 0, ?)";
            let mut insert = transaction.prepare_cached(insert)?;
            paths.iter().try_for_each(|path| insert.execute(params![path, bom]).map(drop))
        })
    }

    /// Records that a report has to be rebuilt.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn mark_damaged(&self, path: &Name) -> Result<(), Error> {
        self.0.transaction(|transaction| {
            transaction.execute("UPDATE reports SET whole = 0 WHERE path = ?", [path]).map(drop)
        })
    }

    /// Records that a report has to be rebuilt, with a byte-order mark or without one.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn set_bom(&self, path: &Name, bom: bool) -> Result<(), Error> {
        self.0.transaction(|transaction| {
            let set = "UPDATE reports SET whole = 0, bom = ?2 WHERE path = ?1";
            transaction.execute(set, params![path, bom]).map(drop)
        })
    }

    /// Records that a report was rebuilt and has this length in bytes.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn mark_whole(&self, path: &Name, length: u64) -> Result<(), Error> {
        self.0.transaction(|transaction| {
            let whole = "UPDATE reports SET whole = 1, length = ?2 WHERE path = ?1";
            transaction.execute(whole, params![path, length as i64]).map(drop)
        })
    }

    /// The next pieces of a report, in order: at most `pieces_max` of those behind the step `after`.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn pieces(
        &self,
        report: &Name,
        after: i64,
        pieces_max: usize,
    ) -> Result<Vec<Piece>, Error> {
        let pieces = "
            SELECT * FROM (
                SELECT step, id, correct + wrong + unreadable + counted -
                    (SELECT coalesce(sum(cases), 0) FROM chunks WHERE submission = id) AS cases
                FROM submissions WHERE report = ?1 AND step > ?2 ORDER BY step LIMIT ?3
            ) UNION ALL SELECT * FROM (
                SELECT step, submission, cases FROM chunks
                WHERE report = ?1 AND step > ?2 ORDER BY step LIMIT ?3
            ) ORDER BY step LIMIT ?3";
        let piece = |row: &Row<'_>| {
            let (step, submission) = (row.get(0)?, row.get(1)?);
            Ok(Piece { step, submission, cases: row.get::<_, i64>(2)? as u64 })
        };
        self.0.read(|connection| {
            connection
                .prepare_cached(pieces)?
                .query_map(params![report, after, pieces_max as i64], piece)?
                .collect::<rusqlite::Result<_>>()
        })
    }
}

fn report(row: &Row<'_>) -> rusqlite::Result<Report> {
    let length = row.get::<_, i64>(1)? as u64;
    Ok(Report { path: row.get(0)?, length, whole: row.get(2)?, bom: row.get(3)? })
}
