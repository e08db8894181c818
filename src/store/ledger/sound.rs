//! Whether the ledger is sound, and copies of it.

use super::schema::{self, CopyError};
use super::{Error, Ledger};
use crate::model::submission::Name;
use crate::store::reports::aside::beside;
use rusqlite::{Connection, Row};
use std::path::Path;

/// What must find nothing in a sound ledger, and what it means if it does.
const CHECKS: [(&str, &str); 4] = [
    (
        "SELECT count(*) FROM chunks WHERE submission NOT IN (SELECT id FROM submissions)",
        "chunks of submissions that it does not know",
    ),
    (
        "SELECT count(*) FROM submissions WHERE correct + wrong + unreadable + counted <
         (SELECT coalesce(sum(cases), 0) FROM chunks WHERE submission = id)
         AND id IN (SELECT submission FROM chunks)",
        "submissions with more cases in chunks than in all",
    ),
    (
        "SELECT count(*) FROM submissions WHERE (state = 'claimed') = (step IS NOT NULL)",
        "submissions that are done and have no place in the order, or the other way round",
    ),
    (
        "SELECT count(*) FROM submissions WHERE state IN ('graded', 'unreadable')
         AND (graded_at IS NULL OR blake3 IS NULL OR correct IS NULL)",
        "submissions that are graded and have no marks, no hash or no time",
    ),
];

impl Ledger {
    /// From now on only what is committed by now is seen, whatever the service does meanwhile. Only
    /// for a ledger that was opened for reading.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn hold_still(&self) -> Result<(), Error> {
        self.read(|connection| connection.execute_batch("BEGIN; SELECT count(*) FROM reports;"))
    }

    /// What is wrong with the ledger itself, in words.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn faults(&self) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            let mut query = connection.prepare("PRAGMA integrity_check(20)")?;
            let told = query.query_map([], |row| row.get::<_, String>(0))?;
            let mut faults = told.collect::<rusqlite::Result<Vec<_>>>()?;
            faults.retain(|fault| fault != "ok");
            for (check, meaning) in CHECKS {
                let found: i64 = connection.query_row(check, [], |row| row.get(0))?;
                if found > 0 {
                    faults.push(format!("it has {found} {meaning}"));
                }
            }
            Ok(faults)
        })
    }

    /// The versions of gridmark, other than this one, by which submissions were graded.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn other_versions(&self) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            let others = "SELECT DISTINCT version FROM rules WHERE version <> ? ORDER BY version";
            let mut query = connection.prepare(others)?;
            let others = query.query_map([env!("CARGO_PKG_VERSION")], |row| row.get(0))?;
            others.collect::<rusqlite::Result<_>>()
        })
    }

    /// How many submissions there are.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn submissions(&self) -> Result<u64, Error> {
        let count = "SELECT count(*) FROM submissions";
        let count = |connection: &Connection| connection.query_row(count, [], |row| row.get(0));
        self.read(count).map(|count: i64| count as u64)
    }

    /// Shows the place of every submission in archive or quarantine, and whether it failed, to `each`.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or whatever `each` fails with.
    pub fn for_each_place<E: From<Error>>(
        &self,
        mut each: impl FnMut(&Name, bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let places = "SELECT archived_as, state = 'failed' FROM submissions";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.for_each_row(places, read, |(place, has_failed)| each(&place, has_failed))
    }

    /// Writes a copy of all that is committed into a new file at `copy`, also beside the service.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read, or the copy cannot be written.
    pub fn copy_to(&self, copy: &Path) -> Result<(), Error> {
        let part = beside(copy, ".part");
        schema::copy_into(&self.connection(), &part, copy, || Ok(())).map_err(|error| match error {
            CopyError::Sqlite(source) => self.sqlite(source),
            CopyError::Io(why) => {
                Error::Copy { path: self.path.clone(), copy: copy.to_owned(), why }
            }
        })
    }
}
