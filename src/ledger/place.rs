//! The ledger's file is where it belongs, also after somebody has taken it away.

use super::schema::CopyError;
use super::{Connection, Error, Ledger, schema};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::PoisonError;

/// What tells files apart: device and inode.
pub(super) type Identity = (u64, u64);

/// What lies at `path`, if anything does.
pub(super) fn identity(path: &Path) -> io::Result<Option<Identity>> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some((found.dev(), found.ino()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl Ledger {
    /// Makes sure that the ledger's file is where it belongs. If somebody has removed it, or moved it
    /// away, it is written anew from what is still open here; whether that was so.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or something else lies there by now. Nothing is lost as long as
    /// this process runs, and the next call tries again.
    pub fn look_after(&self) -> Result<bool, Error> {
        let misplaced = |why| Error::Misplaced { path: self.path.clone(), why };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let there = identity(&self.path).map_err(misplaced)?;
        if opened.is_some() && there == *opened {
            return Ok(false);
        }
        let mut connection = self.connection();
        if opened.is_some() {
            if there.is_some() {
                let why = "another file lies in its place by now; move that away";
                return Err(misplaced(io::Error::other(why)));
            }
            self.write_anew(&connection)?;
            // Whoever closes a ledger removes what belongs to it by name, so the one that was
            // taken away has to be closed before the new one is opened.
            *opened = None;
            *connection = Connection::open_in_memory().map_err(|error| self.sqlite(error))?;
        }
        let mut anew = Connection::open(&self.path).map_err(|error| self.sqlite(error))?;
        schema::prepare(&mut anew, &self.path)?;
        *connection = anew;
        *opened = identity(&self.path).map_err(misplaced)?;
        Ok(true)
    }

    fn write_anew(&self, connection: &Connection) -> Result<(), Error> {
        let part = schema::beside(&self.path, ".part");
        schema::copy_into(connection, &part, &self.path).map_err(|error| match error {
            CopyError::Sqlite(why) => self.sqlite(why),
            CopyError::Io(why) => Error::Misplaced { path: self.path.clone(), why },
        })
    }
}
