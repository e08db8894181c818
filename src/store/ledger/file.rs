//! The ledger's file. If somebody removes, replaces or cuts it while it is open, it is written again from
//! what is still open here: a commit to a file without a name would be lost.

use super::schema::CopyError;
use super::{Connection, Error, Ledger, schema};
use crate::store::path::beside;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// The file that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    /// Device and inode.
    identity: (u64, u64),
    /// The length that it has had; it never becomes shorter by itself.
    bytes: u64,
}

/// The file at `path`, if there is one.
pub(super) fn opened(path: &Path) -> io::Result<Option<Opened>> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(Opened { identity: (found.dev(), found.ino()), bytes: found.len() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes sure that the ledger's file has no other name.
pub(super) fn has_one_name(path: &Path) -> Result<(), Error> {
    match path.metadata() {
        Ok(found) if found.is_file() && found.nlink() > 1 => {
            Err(Error::Linked { path: path.to_owned(), links: found.nlink() })
        }
        // Opening it says what else is wrong.
        _ => Ok(()),
    }
}

impl Ledger {
    /// Copies what is open here beside the ledger's place, since another file has its name; nothing is
    /// overwritten. Returns where it is.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn rescue(&self) -> Result<PathBuf, Error> {
        let free = (1..).map(|number| beside(&self.path, &format!(".rescued-{number}")));
        let copy = free.into_iter().find(|path| path.symlink_metadata().is_err());
        let copy = copy.unwrap_or_else(|| beside(&self.path, ".rescued"));
        self.copy_to(&copy)?;
        Ok(copy)
    }

    /// Makes sure that the ledger's file has its name and is whole; if not, it is written again from what is
    /// still open here. Returns whether that was so since the last call.
    ///
    /// # Errors
    ///
    /// If it cannot be written, another file has its name, or what was cut off is lost. What is still open
    /// here is kept as long as this process runs, and the next call tries again.
    pub fn check_file(&self) -> Result<bool, Error> {
        self.repair()?;
        Ok(self.was_rewritten.swap(false, Ordering::Relaxed))
    }

    /// The same, without an answer.
    pub(super) fn repair(&self) -> Result<(), Error> {
        let misplaced = |why| Error::Misplaced { path: self.path.clone(), why };
        let mut known = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let there = opened(&self.path).map_err(misplaced)?;
        if let (Some(known), Some(there)) = (&mut *known, there)
            && known.identity == there.identity
            && known.bytes <= there.bytes
        {
            known.bytes = there.bytes;
            return Ok(());
        }
        let mut connection = self.connection();
        match (*known, there) {
            (None, _) => {}
            (Some(_), None) => self.rewrite(&connection)?,
            (Some(known), Some(there)) if known.identity == there.identity => {
                self.complete(&connection, known.bytes, there.bytes)?;
            }
            (Some(_), Some(_)) => {
                let why = "another file has its name; move that one away";
                return Err(misplaced(io::Error::other(why)));
            }
        }
        if known.is_some() {
            // Closing a ledger may remove files that belong to it by name, so the one that was taken
            // away is closed before the new one is opened.
            *known = None;
            *connection = Connection::open_in_memory().map_err(|error| self.sqlite(error))?;
        }
        let mut reopened = Connection::open(&self.path).map_err(|error| self.sqlite(error))?;
        schema::prepare(&mut reopened, &self.path)?;
        *connection = reopened;
        *known = opened(&self.path).map_err(misplaced)?;
        if let Some(marker) = &self.marker {
            marker.follow(&self.path);
        }
        self.was_rewritten.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a ledger again that was cut, if all of it is in the log or in memory.
    fn complete(&self, connection: &Connection, before: u64, bytes: u64) -> Result<(), Error> {
        let cut = |found: String| Error::Cut { path: self.path.clone(), before, bytes, found };
        // A page that is cut off reads as zeros, which is found where one page refers to another.
        let check = "PRAGMA integrity_check(1)";
        let found = connection.query_row(check, [], |row| row.get::<_, String>(0));
        match found {
            Ok(found) if found == "ok" => {}
            Ok(found) => return Err(cut(found)),
            Err(error) => return Err(cut(error.to_string())),
        }
        self.rewrite(connection).map_err(|error| cut(error.to_string()))
    }

    fn rewrite(&self, connection: &Connection) -> Result<(), Error> {
        let part = beside(&self.path, ".part");
        schema::copy_into(connection, &part, &self.path, || self.drop_log()).map_err(|error| {
            match error {
                CopyError::Sqlite(why) => self.sqlite(why),
                CopyError::Io(why) => Error::Misplaced { path: self.path.clone(), why },
            }
        })
    }

    /// Removes the names of the log and its index, which stay open here: they do not belong to the file that
    /// is written again.
    fn drop_log(&self) -> io::Result<()> {
        for end in ["-wal", "-shm"] {
            match std::fs::remove_file(beside(&self.path, end)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}
