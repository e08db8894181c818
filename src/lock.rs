//! One instance per root: a lock that goes with the process, however it ends.

use crate::printable;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has it.
    #[error("another gridmark works here already: {holder} (it holds {})", printable::path(path))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// Who has it, in its own words.
        holder: String,
    },
    /// The file cannot be used.
    #[error("cannot lock {}", printable::path(path))]
    Io {
        /// The lock's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The lock; it is held for as long as this lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock at `path`, and writes there who has it.
    ///
    /// # Errors
    ///
    /// If another process has it, or the file cannot be used.
    pub fn take(path: &Path) -> Result<Lock, Error> {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let mut options = File::options();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "a process that has not said which".to_owned(),
                    said => said.to_owned(),
                };
                return Err(Error::Held { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let now = jiff::Timestamp::now();
        file.set_len(0).map_err(failed)?;
        writeln!(file, "process {}, since {now:.0}", std::process::id()).map_err(failed)?;
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_one_is_told_who_has_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let lock = Lock::take(&path).expect("the lock");
        let error = Lock::take(&path).expect_err("a second lock");
        let process = format!("process {}", std::process::id());
        assert!(error.to_string().contains(&process), "{error}");
        drop(lock);
        Lock::take(&path).expect("the lock again");
    }
}
