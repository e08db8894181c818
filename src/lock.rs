//! One instance per root: a lock that goes with the process, however it ends.

use crate::printable;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
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
    file: File,
    path: PathBuf,
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
        Ok(Lock { file, path: path.to_owned() })
    }

    /// Takes the lock once more if somebody has removed or replaced its file; whether that was so.
    ///
    /// # Errors
    ///
    /// If another process has it by now, or the file cannot be used.
    pub fn look_after(&mut self) -> Result<bool, Error> {
        let failed = |source| Error::Io { path: self.path.clone(), source };
        let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
        let ours = self.file.metadata().map(identity).map_err(failed)?;
        if self.path.metadata().map(identity).ok() == Some(ours) {
            return Ok(false);
        }
        *self = Lock::take(&self.path)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_taken_again_where_its_file_was_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let mut lock = Lock::take(&path).expect("the lock");
        assert!(!lock.look_after().expect("the lock"));
        std::fs::remove_file(&path).expect("a file to remove");
        assert!(lock.look_after().expect("the lock anew"));
        Lock::take(&path).expect_err("a second lock");
        std::fs::remove_file(&path).expect("a file to remove");
        let _second = Lock::take(&path).expect("a lock of somebody else");
        lock.look_after().expect_err("a lock that somebody else has");
    }

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
