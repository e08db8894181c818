//! One instance per root: a lock that goes with the process, however it ends.

use crate::model::escape;
use crate::store::owner;
use rustix::fs::OFlags;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why the lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another process has it.
    #[error("another gridmark works here already: {holder} (it holds {})", escape::path(path))]
    Held {
        /// The lock's file.
        path: PathBuf,
        /// Who has it, in its own words.
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

/// The lock; it is held for as long as this lives.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
    said: String,
    address: Option<SocketAddr>,
}

/// What the holder of a lock, or the last one, has said of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The number of its process.
    pub process: u32,
    /// Where it serves metrics and health, if it does.
    pub address: Option<SocketAddr>,
}

impl Lock {
    /// Takes the lock at `path`, and writes there who has it.
    ///
    /// # Errors
    ///
    /// If another process has it, or the file cannot be used.
    pub fn take(path: &Path) -> Result<Lock, Error> {
        let failed = |source| Error::Io { path: path.to_owned(), source };
        let mut file = open(path).map_err(failed)?;
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
        let said = format!("process {}, since {now:.0}", std::process::id());
        let lock = Lock { path: path.to_owned(), file, said, address: None };
        lock.say(&lock.said)?;
        Ok(lock)
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
        let address = self.address;
        *self = Lock::take(&self.path)?;
        if let Some(address) = address {
            self.tell_address(address)?;
        }
        Ok(true)
    }

    /// Writes beside who has it where metrics and health are served.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn tell_address(&mut self, address: SocketAddr) -> Result<(), Error> {
        self.address = Some(address);
        self.say(&format!("{}, at {address}", self.said))
    }

    fn say(&self, said: &str) -> Result<(), Error> {
        let failed = |source| Error::Io { path: self.path.clone(), source };
        let line = format!("{said}\n");
        self.file.write_all_at(line.as_bytes(), 0).map_err(failed)?;
        self.file.set_len(line.len() as u64).map_err(failed)
    }
}

/// Opens the file of a lock, or makes it. What root made is of use to the service.
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
        // Somebody else was quicker.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            options.create_new(false).open(path)
        }
        Err(error) => Err(error),
    }
}

impl Holder {
    /// What the file at `path` says; nothing if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn of(path: &Path) -> io::Result<Option<Holder>> {
        let said = match std::fs::read_to_string(path) {
            Err(error) if is_absence(&error) => return Ok(None),
            other => other?,
        };
        let mut words = said.trim().split(", ");
        let process = words.next().and_then(|word| word.strip_prefix("process ")?.parse().ok());
        let address = words.find_map(|word| word.strip_prefix("at ")?.parse().ok());
        Ok(process.map(|process| Holder { process, address }))
    }

    /// Who holds the lock at `path` now; where the system does not tell, who held it last.
    ///
    /// # Errors
    ///
    /// If its file cannot be read.
    pub fn now(path: &Path) -> io::Result<Option<Holder>> {
        let holder = Holder::of(path)?;
        Ok(holder.filter(|holder| is_held(path, holder.process) != Some(false)))
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether this process holds the lock at `path` now, without touching it; nothing if the system
/// does not tell.
pub fn is_held(path: &Path, process: u32) -> Option<bool> {
    let inode = format!(":{}", path.metadata().ok()?.ino());
    let process = process.to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    // Not all file systems tell the same device here as elsewhere.
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
        let mut lock = Lock::take(&path).expect("the lock");
        let error = Lock::take(&path).expect_err("a second lock");
        let process = format!("process {}", std::process::id());
        assert!(error.to_string().contains(&process), "{error}");
        let address = SocketAddr::from(([127, 0, 0, 1], 9464));
        lock.tell_address(address).expect("told");
        let holder = Holder { process: std::process::id(), address: Some(address) };
        assert_eq!(Holder::of(&path).expect("the file"), Some(holder));
        assert_ne!(is_held(&path, std::process::id()), Some(false));
        drop(lock);
        assert_ne!(is_held(&path, std::process::id()), Some(true));
        Lock::take(&path).expect("the lock again");
        assert_eq!(Holder::of(&folder.path().join("none")).expect("no file"), None);
    }
}
