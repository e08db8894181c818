//! The ledger: what has been claimed and marked. One SQLite file that anyone can query.
//!
//! Every change is one transaction and durable when the call returns (WAL, synchronous FULL). The
//! ledger never touches submissions or reports; it says what is true of them.

mod attempt;
mod commit;
mod error;
mod names;
mod order;
mod place;
mod reading;
mod schema;
mod sound;
#[cfg(test)]
mod tests;

pub use attempt::Look;
pub use commit::{Commit, Outcome};
pub use error::Error;
use names::free_archive_name;
pub use names::name_of_archived;
pub use order::Piece;
pub use reading::quarantine_note;

use crate::model::submission::{Claimed, Finished, Name, Place, Prefix, Rules, Signature};
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Transaction, params};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A file that is about to be taken.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its name.
    pub name: Name,
    /// What it looked like; by its inode a restart tells whether it was moved.
    pub signature: Signature,
    /// When it was ready.
    pub ready: Instant,
    /// Whether it is taken though somebody has it open for writing.
    pub though_open: bool,
}

/// A claim that an earlier run left without marks.
#[derive(Debug)]
pub struct OpenClaim {
    /// The submission.
    pub claimed: Claimed,
    /// The inode that the file had in the inbox.
    pub inode: u64,
}

/// All that the ledger knows of a submission.
#[derive(Debug)]
pub struct Record {
    /// What is known since it was taken.
    pub claimed: Claimed,
    /// How it ended, if it has.
    pub finished: Option<Finished>,
    /// By which rules it was graded, if that was noted.
    pub rules: Option<Rules>,
    /// The bytes that were graded chunk by chunk, if it is a large one and that was noted.
    pub graded: Option<Prefix>,
}

/// What the ledger knows of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its path under the reports.
    pub path: Name,
    /// How many bytes of it are committed.
    pub length: u64,
    /// Whether these are all of its rows.
    pub whole: bool,
}

/// The ledger, shared by the stages.
pub struct Ledger {
    path: PathBuf,
    /// Which file is open; none if it is still to be opened.
    opened: Mutex<Option<place::Opened>>,
    connection: Mutex<Connection>,
    /// Whether it was written anew, which is still to be told.
    is_anew: AtomicBool,
    /// The number of the rules in force; 0 if nobody has said by which ones is graded.
    rules: AtomicI64,
}

/// Names are text where they are UTF-8, so that queries read well, and blobs where they are not.
impl ToSql for Name {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match std::str::from_utf8(self.as_bytes()) {
            Ok(text) => ValueRef::Text(text.as_bytes()),
            Err(_) => ValueRef::Blob(self.as_bytes()),
        }))
    }
}

impl FromSql for Name {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_bytes().map(Name::from_bytes)
    }
}

impl Ledger {
    /// Opens the ledger at `path`, or makes a new one.
    ///
    /// # Errors
    ///
    /// If SQLite cannot open it, a part of it is lost, or a newer gridmark wrote it.
    pub fn open(path: &Path) -> Result<Ledger, Error> {
        let sqlite = |why| Error::sqlite(path, why);
        schema::ends_with_a_page(path)?;
        let mut connection = Connection::open(path).map_err(sqlite)?;
        schema::prepare(&mut connection, path)?;
        let opened =
            place::opened(path).map_err(|why| Error::Misplaced { path: path.to_owned(), why })?;
        Ok(Ledger::new(path, opened, connection))
    }

    /// Opens the ledger at `path` for reading alone, also beside the service, and as somebody who
    /// may not write to it. `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it may not be read, SQLite cannot open it, or another version of gridmark wrote it.
    pub fn open_to_read(path: &Path) -> Result<Option<Ledger>, Error> {
        if !schema::is_there(path)? {
            return Ok(None);
        }
        let connection = schema::open_to_read(path)?;
        // A look through does not watch over the file.
        Ok(Some(Ledger::new(path, None, connection)))
    }

    fn new(path: &Path, opened: Option<place::Opened>, connection: Connection) -> Ledger {
        Ledger {
            path: path.to_owned(),
            opened: Mutex::new(opened),
            connection: Mutex::new(connection),
            is_anew: AtomicBool::new(false),
            rules: AtomicI64::new(0),
        }
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic while a transaction is open rolls it back, so the connection stays sound.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sqlite(&self, why: rusqlite::Error) -> Error {
        Error::sqlite(&self.path, why)
    }

    /// Reads something.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        read(&self.connection()).map_err(|error| self.sqlite(error))
    }

    fn transaction<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        // What is committed to a file that nobody finds any more is lost.
        self.put_right()?;
        let mut connection = self.connection();
        let done = (|| {
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })();
        done.map_err(|error| self.sqlite(error))
    }

    /// Records, in one transaction, that these files are about to be taken now, and under which
    /// names they are going to lie in the archive. `place` tells what a name there is good for.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn claim(
        &self,
        candidates: &[Candidate],
        received_at_ms: i64,
        mut place: impl FnMut(&Name) -> Place,
    ) -> Result<Vec<Claimed>, Error> {
        let mut promised = HashSet::new();
        self.transaction(|transaction| {
            let mut attempts = transaction
                .prepare_cached("SELECT coalesce(max(attempt), 0) FROM submissions WHERE name = ?")?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO submissions (name, attempt, archived_as, inode, received_at, bytes, state)
                 VALUES (?, ?, ?, ?, ?, ?, 'claimed')",
            )?;
            candidates
                .iter()
                .map(|file| {
                    let earlier: u32 = attempts.query_row([&file.name], |row| row.get(0))?;
                    let attempt = earlier.saturating_add(1);
                    let archived_as = free_archive_name(&file.name, attempt, |name| {
                        if promised.contains(name) { Place::Taken } else { place(name) }
                    });
                    promised.insert(archived_as.clone());
                    insert.execute(params![
                        file.name,
                        attempt,
                        archived_as,
                        file.signature.identity.1 as i64,
                        received_at_ms,
                        file.signature.bytes as i64
                    ])?;
                    Ok(Claimed {
                        id: transaction.last_insert_rowid(),
                        name: file.name.clone(),
                        attempt,
                        archived_as,
                        received_at_ms,
                        bytes: file.signature.bytes,
                        ready: file.ready,
                        seen: Some(file.signature),
                        though_open: file.though_open,
                        tries: 0,
                        crashes: 0,
                        progress: None,
                    })
                })
                .collect::<rusqlite::Result<_>>()
        })
    }

    /// Takes back claims of files that could not be taken after all.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then all of them stand.
    pub fn release(&self, ids: &[i64]) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        self.transaction(|transaction| {
            let mut delete = transaction
                .prepare_cached("DELETE FROM submissions WHERE id = ? AND state = 'claimed'")?;
            ids.iter().try_for_each(|id| delete.execute([id]).map(drop))
        })
    }

    /// Records that the process died while these were graded; what is done by now is left as it is.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn count_deaths(&self, ids: &[i64]) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        self.transaction(|transaction| {
            let mut count = transaction.prepare_cached(
                "UPDATE submissions SET tries = tries + 1 WHERE id = ? AND state = 'claimed'",
            )?;
            ids.iter().try_for_each(|id| count.execute([id]).map(drop))
        })
    }

    /// Records that rows are missing from a report, until [`Ledger::report_is_whole`] is told.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn report_is_damaged(&self, report: &Name) -> Result<(), Error> {
        self.transaction(|transaction| {
            transaction.execute("UPDATE reports SET whole = 0 WHERE path = ?", [report]).map(drop)
        })
    }

    /// Records that a report was written anew and has this length in bytes.
    ///
    /// # Errors
    ///
    /// If the transaction fails; then nothing is recorded.
    pub fn report_is_whole(&self, report: &Name, length: u64) -> Result<(), Error> {
        self.transaction(|transaction| {
            let whole = "UPDATE reports SET whole = 1, length = ?2 WHERE path = ?1";
            transaction.execute(whole, params![report, length as i64]).map(drop)
        })
    }
}
