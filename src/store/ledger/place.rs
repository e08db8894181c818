//! The ledger's file is where it belongs and whole, also after somebody has taken it away or cut it.

use super::schema::CopyError;
use super::{Connection, Error, Ledger, schema};
use crate::store::reports::aside::beside;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// What is known of the file that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    /// What tells files apart: device and inode.
    identity: (u64, u64),
    /// How long it has been: it never becomes shorter by itself.
    bytes: u64,
}

/// What lies at `path`, if anything does.
pub(super) fn opened(path: &Path) -> io::Result<Option<Opened>> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(Opened { identity: (found.dev(), found.ino()), bytes: found.len() })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Ledger {
    /// Makes sure that the ledger's file is where it belongs. If somebody has removed it, moved it
    /// away or cut it, it is written anew from what is still open here; whether that was so since the
    /// last call.
    ///
    /// # Errors
    ///
    /// If it cannot be written, something else lies there by now, or what was cut off is not to be
    /// had any more. What is still open here is kept as long as this process runs, and the next
    /// call tries again.
    pub fn look_after(&self) -> Result<bool, Error> {
        self.put_right()?;
        Ok(self.is_anew.swap(false, Ordering::Relaxed))
    }

    /// The same, and it is still to be told.
    pub(super) fn put_right(&self) -> Result<(), Error> {
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
            (Some(_), None) => self.write_anew(&connection)?,
            (Some(known), Some(there)) if known.identity == there.identity => {
                self.make_whole(&connection, known.bytes, there.bytes)?;
            }
            (Some(_), Some(_)) => {
                let why = "another file lies in its place by now; move that away";
                return Err(misplaced(io::Error::other(why)));
            }
        }
        if known.is_some() {
            // Whoever closes a ledger may remove what belongs to it by name, so the one that was
            // taken away has to be closed before the new one is opened.
            *known = None;
            *connection = Connection::open_in_memory().map_err(|error| self.sqlite(error))?;
        }
        let mut anew = Connection::open(&self.path).map_err(|error| self.sqlite(error))?;
        schema::prepare(&mut anew, &self.path)?;
        *connection = anew;
        *known = opened(&self.path).map_err(misplaced)?;
        self.is_anew.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Writes a ledger anew that was cut, if all of it is in the log or in memory.
    fn make_whole(&self, connection: &Connection, before: u64, bytes: u64) -> Result<(), Error> {
        let cut = |found: String| Error::Cut { path: self.path.clone(), before, bytes, found };
        // A page that is cut off reads as zeros, which is found where one page refers to another.
        let check = "PRAGMA integrity_check(1)";
        let found = connection.query_row(check, [], |row| row.get::<_, String>(0));
        match found {
            Ok(found) if found == "ok" => {}
            Ok(found) => return Err(cut(found)),
            Err(error) => return Err(cut(error.to_string())),
        }
        self.write_anew(connection).map_err(|error| cut(error.to_string()))
    }

    fn write_anew(&self, connection: &Connection) -> Result<(), Error> {
        let part = beside(&self.path, ".part");
        schema::copy_into(connection, &part, &self.path, || self.drop_log()).map_err(|error| {
            match error {
                CopyError::Sqlite(why) => self.sqlite(why),
                CopyError::Io(why) => Error::Misplaced { path: self.path.clone(), why },
            }
        })
    }

    /// Removes the names of the log and its index, which stay open here: together with a file that is
    /// written anew they would not be what was in them.
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
