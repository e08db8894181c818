//! One instance per root: a file lock, which the kernel releases however the process ends.
//!
//! The file says who holds the lock and where it serves HTTP, so that a second instance can name the first and
//! commands can find the service. The lock is `flock(2)`, so what the file says is a hint and the lock decides.

use crate::model::escape;
use crate::store::owner;
use crate::store::path::is_missing;
use rustix::fs::OFlags;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process holds it.
    #[error("another gridmark works here already: {holder} (it holds {})", escape::path(path))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// What the file says of its holder.
        holder: String,
    },
    /// The file cannot be used.
    #[error("cannot lock {}", escape::path(path))]
    Io {
        /// The lock's file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The lock, held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
    /// What the file says of this process.
    text: String,
    address: Option<SocketAddr>,
}

/// What a lock's file says of its holder, or of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id.
    pub process: u32,
    /// The address at which it serves metrics and health, if it does.
    pub address: Option<SocketAddr>,
}

impl Lock {
    /// Takes the lock at `path`, and writes to its file who holds it.
    ///
    /// # Errors
    ///
    /// If another process holds it, or the file cannot be used.
    pub fn take(path: &Path) -> Result<Lock, Error> {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let mut file = open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                let _ = file.read_to_string(&mut holder);
                let holder = match holder.trim() {
                    "" => "a process whose id is not in the file".to_owned(),
                    said => said.to_owned(),
                };
                return Err(Error::Held { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let now = jiff::Timestamp::now();
        let text = format!("process {}, since {now:.0}", std::process::id());
        let lock = Lock { path: path.to_owned(), file, text, address: None };
        lock.write(&lock.text)?;
        Ok(lock)
    }

    /// Takes the lock again if its file was removed or replaced; returns whether it was.
    ///
    /// # Errors
    ///
    /// If another process holds it by now, or the file cannot be used.
    pub fn check_file(&mut self) -> Result<bool, Error> {
        let failed = |source| Error::Io { path: self.path.clone(), source };
        let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
        let ours = self.file.metadata().map(identity).map_err(failed)?;
        if self.path.metadata().map(identity).ok() == Some(ours) {
            return Ok(false);
        }
        let address = self.address;
        *self = Lock::take(&self.path)?;
        if let Some(address) = address {
            self.set_address(address)?;
        }
        Ok(true)
    }

    /// Adds to the file at which address metrics and health are served.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn set_address(&mut self, address: SocketAddr) -> Result<(), Error> {
        self.address = Some(address);
        self.write(&format!("{}, at {address}", self.text))
    }

    fn write(&self, text: &str) -> Result<(), Error> {
        let failed = |source| Error::Io { path: self.path.clone(), source };
        let line = format!("{text}\n");
        self.file.write_all_at(line.as_bytes(), 0).map_err(failed)?;
        self.file.set_len(line.len() as u64).map_err(failed)
    }
}

/// Opens the file of a lock, or creates it so that the service can use it, even if root runs this.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.create_new(true).open(path) {
        Ok(file) => {
            let folder = path.parent().unwrap_or(Path::new("/"));
            owner::give(&file, &rustix::fs::stat(folder)?)?;
            Ok(file)
        }
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            options.create_new(false).open(path)
        }
        Err(error) => Err(error),
    }
}

impl Holder {
    /// The holder that the file at `path` names; `None` if there is no file.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn of(path: &Path) -> io::Result<Option<Holder>> {
        let said = match std::fs::read_to_string(path) {
            Err(error) if is_missing(&error) => return Ok(None),
            other => other?,
        };
        let mut words = said.trim().split(", ");
        let process = words.next().and_then(|word| word.strip_prefix("process ")?.parse().ok());
        let address = words.find_map(|word| word.strip_prefix("at ")?.parse().ok());
        Ok(process.map(|process| Holder { process, address }))
    }

    /// The holder of the lock at `path`, if it is held now; where the system does not say, the last
    /// holder.
    ///
    /// # Errors
    ///
    /// If its file cannot be read.
    pub fn now(path: &Path) -> io::Result<Option<Holder>> {
        let holder = Holder::of(path)?;
        Ok(holder.filter(|holder| is_held(path, holder.process) != Some(false)))
    }
}

/// Whether this process holds the lock at `path` now, found out without touching the lock; `None` if the
/// system does not say.
pub fn is_held(path: &Path, process: u32) -> Option<bool> {
    let inode = format!(":{}", path.metadata().ok()?.ino());
    let process = process.to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // Only the inode is compared: on some file systems this file shows another device than `stat`.
    let is_ours = |line: &str| match line.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [_, "FLOCK", _, _, holder, file, ..] => holder == process && file.ends_with(&inode),
        _ => false,
    };
    Some(locks.lines().any(is_ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_taken_again_where_its_file_was_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let mut lock = Lock::take(&path).expect("the lock");
        assert!(!lock.check_file().expect("the lock"));
        std::fs::remove_file(&path).expect("a file to remove");
        assert!(lock.check_file().expect("the lock again"));
        Lock::take(&path).expect_err("a second lock");
        std::fs::remove_file(&path).expect("a file to remove");
        let _second = Lock::take(&path).expect("a lock of another process");
        lock.check_file().expect_err("a lock that another process holds");
    }

    #[test]
    fn a_second_instance_learns_who_holds_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("lock");
        let mut lock = Lock::take(&path).expect("the lock");
        let error = Lock::take(&path).expect_err("a second lock");
        let process = format!("process {}", std::process::id());
        assert!(error.to_string().contains(&process), "{error}");
        let address = SocketAddr::from(([127, 0, 0, 1], 9464));
        lock.set_address(address).expect("an address in the file");
        let holder = Holder { process: std::process::id(), address: Some(address) };
        assert_eq!(Holder::of(&path).expect("the file"), Some(holder));
        assert_ne!(is_held(&path, std::process::id()), Some(false));
        drop(lock);
        assert_ne!(is_held(&path, std::process::id()), Some(true));
        Lock::take(&path).expect("the lock again");
        assert_eq!(Holder::of(&folder.path().join("none")).expect("no file"), None);
    }
}
