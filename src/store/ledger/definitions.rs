//! The definitions of the event: every folder that was ever in force, with the keys that its files do not give.
//! Judgements name them by their number, so they stay for ever.

use super::{Error, Ledger};
use crate::event::{Folder, Key, Source};
use rusqlite::{OptionalExtension, Row, Transaction, params};

/// The definitions of a ledger.
#[derive(Clone, Copy)]
pub struct StoredDefinitions<'a>(pub(super) &'a Ledger);

impl StoredDefinitions<'_> {
    /// The number of those that are in force, if there is an event.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn in_force(&self) -> Result<Option<i64>, Error> {
        self.0
            .read(|connection| connection.prepare_cached(IN_FORCE)?.query_row([], |row| row.get(0)))
    }

    /// The number of those that are in force, if there is an event, of the ruling that put them in force, and of
    /// the change that this was.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn in_force_by(&self) -> Result<Option<(i64, i64, i64)>, Error> {
        let newest = "SELECT definitions.number, ruling, change FROM definitions
             JOIN rulings ON rulings.number = ruling ORDER BY ruling DESC LIMIT 1";
        self.0.read(|connection| {
            let all = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            connection.prepare_cached(newest)?.query_row([], all).optional()
        })
    }

    /// The number of those that wait to be put in force, if there are any.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn staged(&self) -> Result<Option<i64>, Error> {
        let staged = "SELECT max(number) FROM definitions WHERE ruling IS NULL";
        self.0.read(|connection| connection.query_row(staged, [], |row| row.get(0)))
    }

    /// The number that definitions have, or will have once they are recorded.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn number_of(&self, source: &Source) -> Result<i64, Error> {
        let number = "SELECT coalesce((SELECT number FROM definitions WHERE hash = ?),
             coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'definitions'), 0) + 1)";
        let hash = *source.hash().as_bytes();
        self.0.read(|connection| connection.query_row(number, [hash], |row| row.get(0)))
    }

    /// Records definitions that wait to be put in force, in place of others that wait. Returns their number.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn stage(&self, source: &Source) -> Result<i64, Error> {
        self.0.transaction(|transaction| {
            unstage(transaction)?;
            insert(transaction, source)
        })
    }

    /// Forgets definitions that wait to be put in force.
    ///
    /// # Errors
    ///
    /// If the transaction fails.
    pub fn unstage(&self) -> Result<(), Error> {
        self.0.transaction(unstage)
    }

    /// Definitions by their number, if the ledger knows them.
    ///
    /// # Errors
    ///
    /// If the ledger cannot be read.
    pub fn get(&self, number: i64) -> Result<Option<Source>, Error> {
        self.0.read(|connection| {
            let known = "SELECT 1 FROM definitions WHERE number = ?";
            let known = connection.query_row(known, [number], |_| Ok(())).optional()?;
            if known.is_none() {
                return Ok(None);
            }
            let files: Vec<(String, Vec<u8>)> = connection
                .prepare(
                    "SELECT path, bytes FROM definition_files
                     JOIN contents ON contents.number = content
                     WHERE definitions = ? ORDER BY path",
                )?
                .query_map([number], |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            let keys = connection
                .prepare(
                    "SELECT round, puzzle, key, accepted FROM definition_keys
                     WHERE definitions = ? ORDER BY round, puzzle, key",
                )?
                .query_map([number], |row| {
                    Ok(Key {
                        round: row.get(0)?,
                        puzzle: row.get(1)?,
                        digits: row.get(2)?,
                        accepted: row.get(3)?,
                    })
                })?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Some(Source { folder: Folder::of(files), keys }))
        })
    }
}

/// Those that were put in force last. A row of the largest ruling is found by the index.
const IN_FORCE: &str =
    "SELECT (SELECT number FROM definitions WHERE ruling IS NOT NULL ORDER BY ruling DESC LIMIT 1)";

/// The number of the definitions that are in force.
pub(super) fn in_force(transaction: &Transaction<'_>) -> rusqlite::Result<Option<i64>> {
    transaction.prepare_cached(IN_FORCE)?.query_row([], |row| row.get(0))
}

/// Puts definitions in force by this ruling; they are recorded if they are new. Returns their number.
pub(super) fn put_in_force(
    transaction: &Transaction<'_>,
    source: &Source,
    ruling: i64,
) -> rusqlite::Result<i64> {
    let number = insert(transaction, source)?;
    // What is being graded meanwhile is judged by them, too, if it has to be graded again.
    let pin =
        "UPDATE submissions SET definitions = ? WHERE state = 'claimed' AND definitions IS NULL";
    transaction.execute(pin, [number])?;
    // The same may be put in force again, after others.
    let update = "UPDATE definitions SET ruling = ?2 WHERE number = ?1";
    transaction.execute(update, params![number, ruling])?;
    unstage(transaction)?;
    Ok(number)
}

fn insert(transaction: &Transaction<'_>, source: &Source) -> rusqlite::Result<i64> {
    let hash = *source.hash().as_bytes();
    let find = "SELECT number FROM definitions WHERE hash = ?";
    let known = transaction.query_row(find, [hash], |row| row.get(0)).optional()?;
    if let Some(number) = known {
        return Ok(number);
    }
    transaction.execute("INSERT INTO definitions (hash) VALUES (?)", [hash])?;
    let number = transaction.last_insert_rowid();
    for (path, bytes) in source.folder.files() {
        let blake3 = *blake3::hash(bytes).as_bytes();
        let keep = "INSERT OR IGNORE INTO contents (blake3, bytes) VALUES (?, ?)";
        transaction.prepare_cached(keep)?.execute(params![blake3, bytes])?;
        let refer = "INSERT INTO definition_files (definitions, path, content)
             SELECT ?1, ?2, number FROM contents WHERE blake3 = ?3";
        transaction.prepare_cached(refer)?.execute(params![number, path, blake3])?;
    }
    for key in &source.keys {
        let keep = "INSERT OR REPLACE INTO definition_keys VALUES (?, ?, ?, ?, ?)";
        let values = params![number, key.round, key.puzzle, key.digits, key.accepted];
        transaction.prepare_cached(keep)?.execute(values)?;
    }
    Ok(number)
}

/// Removes definitions that were never in force.
fn unstage(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "DELETE FROM definition_files WHERE definitions IN
             (SELECT number FROM definitions WHERE ruling IS NULL);
         DELETE FROM definition_keys WHERE definitions IN
             (SELECT number FROM definitions WHERE ruling IS NULL);
         DELETE FROM definitions WHERE ruling IS NULL;
         DELETE FROM contents WHERE number NOT IN (SELECT content FROM definition_files);",
    )
}
