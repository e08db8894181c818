//! How far the ledger has come, noted beside it: the number of the last claim, and the place of the last mark.
//!
//! What was committed last lies in the ledger's log. If the process is killed and somebody removes the log then, the
//! ledger is sound, and as it was some time ago. The note says so. It is written after each commit and never
//! synced: after a loss of power it says nothing, so it holds for one run of the system. It belongs to one file, as it
//! was then: a copy that is put into the ledger's place from a backup is not measured by it, nor a ledger that
//! another program has written to.

use super::{Error, schema};
use crate::store::path::beside;
use crate::store::recovery::boot_id;
use rusqlite::{Connection, OptionalExtension};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// The note beside a ledger.
#[derive(Debug)]
pub(super) struct Marker {
    /// Nothing if it cannot be written: then nothing is noticed, as without it.
    file: Option<File>,
}

/// Where the parts of the note are.
const FILE_AT: u64 = 0;
const CLAIM_AT: u64 = 8;
const STEP_AT: u64 = 16;
const BOOT_AT: u64 = 24;

impl Marker {
    /// Makes sure that the ledger at `path` is as far as its note says. It is only read: to open it for writing
    /// would change it already.
    ///
    /// # Errors
    ///
    /// It is not.
    pub(super) fn check(path: &Path) -> Result<(), Error> {
        let note = beside(path, ".last");
        let marker = Marker { file: File::open(&note).ok() };
        if !marker.is_of(path) {
            return Ok(());
        }
        let [claim, step] = match schema::open_to_read(path) {
            Ok(read) => come_to(&read).map_err(|error| Error::sqlite(path, error))?,
            // Even its tables were in the log.
            Err(Error::Foreign { .. }) => [0, 0],
            Err(error) => return Err(error),
        };
        if marker.read(CLAIM_AT) > Some(claim) || marker.read(STEP_AT) > Some(step) {
            return Err(Error::LogLost { path: path.to_owned(), log: beside(path, "-wal"), note });
        }
        Ok(())
    }

    /// Opens the note of the ledger at `path`, and notes how far it has come.
    ///
    /// # Errors
    ///
    /// The ledger cannot be read.
    pub(super) fn open(path: &Path, connection: &Connection) -> Result<Marker, Error> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let marker = Marker { file: options.open(beside(path, ".last")).ok() };
        let [claim, step] = come_to(connection).map_err(|error| Error::sqlite(path, error))?;
        marker.begin(path, claim, step);
        Ok(marker)
    }

    /// Notes that the ledger's file is this one, and how far it has come.
    fn begin(&self, path: &Path, claim: i64, step: i64) {
        let inode = inode_of(path).unwrap_or_default();
        self.write(CLAIM_AT, claim);
        self.write(STEP_AT, step);
        self.write(FILE_AT, inode);
        self.write(BOOT_AT, boot());
    }

    /// Whether it was written in this run of the system, about this file, after anybody wrote to the file.
    fn is_of(&self, path: &Path) -> bool {
        let noted = self.file.as_ref().and_then(|file| file.metadata().ok()?.modified().ok());
        let written = path.metadata().ok().and_then(|found| found.modified().ok());
        noted.is_some()
            && noted >= written
            && self.read(FILE_AT) == inode_of(path)
            && self.read(BOOT_AT) == Some(boot())
    }

    /// The ledger was written again, and its file is another one.
    pub(super) fn follow(&self, path: &Path) {
        self.write(FILE_AT, inode_of(path).unwrap_or_default());
    }

    /// A claim with this number is committed.
    pub(super) fn claimed(&self, claim: i64) {
        self.write(CLAIM_AT, claim);
    }

    /// Marks up to this place are committed.
    pub(super) fn marked(&self, step: i64) {
        self.write(STEP_AT, step);
    }

    fn write(&self, at: u64, value: i64) {
        if let Some(file) = &self.file {
            // What is not noted is not noticed.
            let _ = file.write_all_at(&value.to_le_bytes(), at);
        }
    }

    fn read(&self, at: u64) -> Option<i64> {
        let mut bytes = [0; 8];
        self.file.as_ref()?.read_exact_at(&mut bytes, at).ok()?;
        Some(i64::from_le_bytes(bytes))
    }
}

/// The run of the system, as a number.
fn boot() -> i64 {
    let id = boot_id();
    let hash = blake3::hash(id.as_bytes());
    let (first, _) = hash.as_bytes().split_at(8);
    i64::from_le_bytes(first.try_into().unwrap_or_default())
}

fn inode_of(path: &Path) -> Option<i64> {
    path.metadata().ok().map(|found| found.ino().cast_signed())
}

/// The number of the last claim, whether it stands or not, and the place of the last mark.
fn come_to(connection: &Connection) -> rusqlite::Result<[i64; 2]> {
    let number = |query| {
        let found = connection.query_row(query, [], |row| row.get::<_, Option<i64>>(0));
        found.optional().map(|found| found.flatten().unwrap_or(0))
    };
    let claim = number("SELECT seq FROM sqlite_sequence WHERE name = 'submissions'")?;
    let of_whole = number("SELECT max(step) FROM submissions WHERE step IS NOT NULL")?;
    let of_chunks = number("SELECT max(step) FROM chunks")?;
    Ok([claim, of_whole.max(of_chunks)])
}
