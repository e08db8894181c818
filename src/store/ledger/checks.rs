//! Checks of the ledger itself, and copies of it.

use super::schema::{self, CopyError};
use super::{Error, Ledger};
use crate::model::rows::ROWS_VERSION;
use crate::store::path::beside;
use std::path::Path;

/// Queries that find nothing in a sound ledger, and what a finding means.
const CHECKS: [(&str, &str); 5] = [
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
         AND (graded_at IS NULL OR blake3 IS NULL OR correct IS NULL OR rules IS NULL)",
        "submissions that are graded and have no marks, no hash, no time or no rules",
    ),
    (
        "SELECT (SELECT count(*) FROM judges
                 WHERE NOT EXISTS (SELECT 1 FROM rulings WHERE number = ruling AND action = 'judge-add')
                 OR revoked IS NOT NULL AND NOT EXISTS
                    (SELECT 1 FROM rulings WHERE number = revoked AND action = 'judge-revoke'))
              + (SELECT count(*) FROM cards
                 WHERE NOT EXISTS (SELECT 1 FROM rulings WHERE number = ruling AND action = 'cards'))
              + (SELECT count(*) FROM passphrase
                 WHERE NOT EXISTS (SELECT 1 FROM rulings WHERE number = ruling AND action = 'passphrase'))",
        "judges, cards or passphrases that no ruling has made",
    ),
];

impl Ledger {
    /// Lets all later queries see what is committed now, though the service commits more. Only for a ledger
    /// that was opened for reading.
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
            let found = query.query_map([], |row| row.get::<_, String>(0))?;
            let mut faults = found.collect::<rusqlite::Result<Vec<_>>>()?;
            faults.retain(|fault| fault != "ok");
            // SQLite puts the place on a line of its own.
            faults.iter_mut().for_each(|fault| *fault = fault.replace('\n', ": "));
            for (check, meaning) in CHECKS {
                let found: i64 = connection.query_row(check, [], |row| row.get(0))?;
                if found > 0 {
                    faults.push(format!("it has {found} {meaning}"));
                }
            }
            Ok(faults)
        })
    }

    /// What is wrong with the file, if something is. Every page is read, but no index is compared, so it takes a
    /// second for each few hundred megabytes. Other users of the ledger go on meanwhile.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn damage(path: &Path) -> Result<Option<String>, Error> {
        let Some(ledger) = Ledger::open_to_read(path)? else { return Ok(None) };
        let check = "PRAGMA quick_check(1)";
        let found = ledger.read(|connection| connection.query_row(check, [], |row| row.get(0)));
        found.map(|found: String| (found != "ok").then(|| found.replace('\n', ": ")))
    }

    /// The versions of rows, other than this program's, by which submissions were graded: they cannot be
    /// rebuilt byte for byte.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn other_rows_versions(&self) -> Result<Vec<i64>, Error> {
        self.read(|connection| {
            let others = "SELECT DISTINCT rows_version FROM rules WHERE rows_version <> ? ORDER BY rows_version";
            let mut query = connection.prepare(others)?;
            let others = query.query_map([ROWS_VERSION], |row| row.get(0))?;
            others.collect::<rusqlite::Result<_>>()
        })
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
