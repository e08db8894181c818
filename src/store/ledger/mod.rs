//! The ledger: what has been claimed and marked. One SQLite file that anyone can query.
//!
//! Every change is one transaction and durable when the call returns (WAL, synchronous FULL). The ledger
//! never touches submissions or reports; it knows what is true of them.
//!
//! It has parts, each with a view of its own. [`Claims`] are files that intake takes: a claim is
//! recorded before its file moves. [`Records`] are all submissions, claimed or done. [`Reports`] are the
//! report files: how much of each is committed, and in which order its rows stand. Of an event there are its
//! [`StoredDefinitions`], and the [`Changes`]: judgements and rulings, in one order. Who may what is in
//! [`AccessRows`]. What connects them, the marks of a group of submissions together with the lengths of their reports, is one [`Commit`].

mod access;
mod checks;
mod claims;
mod clock;
mod contents;
mod definitions;
mod error;
mod file;
mod judgements;
mod marker;
mod marks;
mod names;
mod recent;
mod records;
mod reports;
mod schema;
#[cfg(test)]
mod tests;

pub use access::{AccessRows, Grant, Judge, JudgeState, Passphrase};
pub use claims::{Candidate, Claims, OpenClaim, Returned};
pub use clock::Reading;
pub use contents::Contents;
pub use definitions::StoredDefinitions;
pub use error::Error;
pub use judgements::{Change, Changes, Decision};
pub use marks::{Commit, Outcome};
pub use names::name_of_archived;
pub use recent::Which;
pub use records::{Record, Records, quarantine_note};
pub use reports::{Piece, Report, Reports};

use crate::model::rows::{BOM, SUBMISSIONS, header_of};
use crate::model::submission::{Name, Rules};
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The ledger, shared by the stages.
pub struct Ledger {
    path: PathBuf,
    /// Which file is open; `None` for a ledger that is only read.
    opened: Mutex<Option<file::Opened>>,
    connection: Mutex<Connection>,
    /// How far it has come, noted beside it; `None` for a ledger that is only read.
    marker: Option<marker::Marker>,
    /// Whether the file was written again since this was last asked.
    was_rewritten: AtomicBool,
    /// The numbers of the rules that the ledger knows.
    rules: Mutex<HashMap<Rules, i64>>,
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
    /// If SQLite cannot open it, a part of it is lost, or another program or a newer gridmark wrote it.
    pub fn open(path: &Path) -> Result<Ledger, Error> {
        let sqlite = |why| Error::sqlite(path, why);
        file::has_one_name(path)?;
        schema::ends_with_a_page(path)?;
        marker::Marker::check(path)?;
        let mut connection = Connection::open(path).map_err(sqlite)?;
        schema::prepare(&mut connection, path)?;
        let marker = marker::Marker::open(path, &connection)?;
        let opened =
            file::opened(path).map_err(|why| Error::Misplaced { path: path.to_owned(), why })?;
        Ok(Ledger { marker: Some(marker), ..Ledger::new(path, opened, connection) })
    }

    /// Opens the ledger at `path` for reading alone, also beside the service, and as a user who may not
    /// write to it. `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it may not be read, SQLite cannot open it, or another program or version of gridmark wrote it.
    pub fn open_to_read(path: &Path) -> Result<Option<Ledger>, Error> {
        if !schema::is_there(path)? {
            return Ok(None);
        }
        let connection = schema::open_to_read(path)?;
        Ok(Some(Ledger::new(path, None, connection)))
    }

    fn new(path: &Path, opened: Option<file::Opened>, connection: Connection) -> Ledger {
        Ledger {
            path: path.to_owned(),
            opened: Mutex::new(opened),
            connection: Mutex::new(connection),
            marker: None,
            was_rewritten: AtomicBool::new(false),
            rules: Mutex::default(),
        }
    }

    /// The files that are taken.
    pub fn claims(&self) -> Claims<'_> {
        Claims(self)
    }

    /// The submissions.
    pub fn records(&self) -> Records<'_> {
        Records(self)
    }

    /// The report files.
    pub fn reports(&self) -> Reports<'_> {
        Reports(self)
    }

    /// The definitions of the event.
    pub fn definitions(&self) -> StoredDefinitions<'_> {
        StoredDefinitions(self)
    }

    /// Judgements and rulings.
    pub fn changes(&self) -> Changes<'_> {
        Changes(self)
    }

    /// Who may what.
    pub fn access(&self) -> AccessRows<'_> {
        AccessRows(self)
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        // A panic while a transaction is open rolls it back, so the connection stays sound.
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sqlite(&self, why: rusqlite::Error) -> Error {
        Error::sqlite(&self.path, why)
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        read(&self.connection()).map_err(|error| self.sqlite(error))
    }

    fn transaction<T>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        // A commit to a file that was moved away would be lost.
        self.repair()?;
        let mut connection = self.connection();
        let done = (|| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        })();
        done.map_err(|error| self.sqlite(error))
    }
}

/// Makes sure that a ledger which is missing or empty has not been lost: if there are marks in the folder
/// `reports`, it has.
///
/// # Errors
///
/// If the ledger is lost.
pub fn check_not_lost(ledger: &Path, reports: &Path) -> Result<(), Error> {
    use io::ErrorKind::{NotADirectory, NotFound};
    let what = match ledger.metadata() {
        Ok(found) if found.len() > 0 => return Ok(()),
        Ok(_) => "empty",
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => "missing",
        // Opening it says that it may not be read.
        Err(_) => return Ok(()),
    };
    let reports = reports.join(OsStr::from_bytes(SUBMISSIONS));
    if !reports.is_file() {
        return Ok(());
    }
    let header = header_of(&Name::from_bytes(SUBMISSIONS), true);
    let mut start = Vec::new();
    let read = File::open(&reports)
        .and_then(|file| file.take(header.len() as u64 + 1).read_to_end(&mut start));
    let header = header.trim_start_matches(BOM).as_bytes();
    let start = start.strip_prefix(BOM.as_bytes()).unwrap_or(&start);
    if read.is_ok() && start.len() > header.len() && start.starts_with(header) {
        return Err(Error::Lost { path: ledger.to_owned(), what, reports });
    }
    Ok(())
}
