//! Durability: what a commit rests on is still there after a loss of power.
//!
//! People who drop files do not sync them, and neither does a rename. So before marks are committed, the
//! bytes of each file, its entry in the archive, its absence from the inbox and its rows are made durable
//! here. A few changes are synced one by one. Many are synced by one `syncfs` for each file system, but
//! only where its result can be trusted: since Linux 5.8 it reports errors of writing, and only to
//! descriptors that were open before the error, so one is held for each file system from the start.
//! Elsewhere files are synced one by one, several at a time.

use rustix::fs::{FsWord, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Up to this many changes of a file system are synced one by one.
const ONE_BY_ONE_MAX: usize = 8;

/// How many threads sync files of a file system whose `syncfs` cannot be trusted.
const THREADS_MAX: usize = 8;

/// Magic numbers of file systems whose `syncfs` makes everything durable: ext4, xfs, btrfs, f2fs.
const TRUSTED: [FsWord; 4] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010];

/// The first Linux whose `syncfs` reports errors of writing.
const FIRST_LINUX: (u32, u32) = (5, 8);

/// Changes that are to be made durable, by device.
#[derive(Debug, Default)]
pub struct Changes {
    devices: HashMap<u64, Changed>,
}

/// Changes of one file system.
#[derive(Debug, Default)]
struct Changed {
    /// Folders whose entries have changed; to compare them as paths takes longer.
    folders: BTreeSet<OsString>,
    files: Vec<PathBuf>,
}

impl Changes {
    /// Entries of this folder, which is on this device, have changed.
    pub fn add_folder(&mut self, device: u64, folder: &OsStr) {
        let folders = &mut self.devices.entry(device).or_default().folders;
        if !folders.contains(folder) {
            folders.insert(folder.to_owned());
        }
    }

    /// This file, which is on this device, was written.
    pub fn add_file(&mut self, device: u64, file: PathBuf) {
        self.devices.entry(device).or_default().files.push(file);
    }

    /// Adds all changes of another set.
    pub fn append(&mut self, other: Changes) {
        for (device, changed) in other.devices {
            let known = self.devices.entry(device).or_default();
            known.folders.extend(changed.folders);
            known.files.extend(changed.files);
        }
    }

    /// Whether there is nothing to sync.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }
}

/// A descriptor that is held so that no error of writing is missed.
struct Held {
    folder: File,
    is_trusted: bool,
}

/// The file systems on which the service writes.
#[derive(Default)]
pub struct FileSystems {
    held: Mutex<HashMap<u64, Held>>,
}

impl FileSystems {
    /// Holds a descriptor of each file system that one of these folders is on. A folder that may not be read
    /// is passed over.
    ///
    /// # Errors
    ///
    /// If a folder cannot be opened.
    pub fn hold(&self, folders: &[&Path]) -> io::Result<()> {
        let mut held = self.held();
        for folder in folders {
            let folder = match File::open(folder) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                opened => opened?,
            };
            let device = folder.metadata()?.dev();
            let is_trusted = is_trusted(&folder);
            held.entry(device).or_insert(Held { folder, is_trusted });
        }
        Ok(())
    }

    /// Makes all these changes durable. Files and folders that are gone are passed over.
    ///
    /// # Errors
    ///
    /// If the system refuses, or reports that something could not be written. Then it is not enough to
    /// sync the same files again: the system may have dropped what it could not write.
    pub fn sync(&self, changes: &Changes) -> io::Result<()> {
        for (device, changed) in &changes.devices {
            let many = changed.folders.len() + changed.files.len() > ONE_BY_ONE_MAX;
            if !(many && self.sync_all(*device)?) {
                sync_each(&changed.files)?;
                changed.folders.iter().try_for_each(|folder| sync_folder(Path::new(folder)))?;
                self.hold_new(*device, changed);
            }
        }
        Ok(())
    }

    /// Syncs a whole file system; `false` if it is not known, or cannot be trusted.
    fn sync_all(&self, device: u64) -> io::Result<bool> {
        let folder = match self.held().get(&device) {
            Some(held) if held.is_trusted => held.folder.try_clone()?,
            _ => return Ok(false),
        };
        rustix::fs::syncfs(folder.as_fd())?;
        Ok(true)
    }

    /// Holds a descriptor of a file system that is mounted below one of the known folders.
    fn hold_new(&self, device: u64, changed: &Changed) {
        if self.held().contains_key(&device) {
            return;
        }
        if let Some(folder) = changed.folders.first() {
            let _ = self.hold(&[Path::new(folder)]);
        }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<u64, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_trusted(folder: &File) -> bool {
    static REPORTS_ERRORS: LazyLock<bool> = LazyLock::new(|| {
        let release = rustix::system::uname().release().to_string_lossy().into_owned();
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
        let mut next = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or(0);
        (next(), next()) >= FIRST_LINUX
    });
    *REPORTS_ERRORS
        && rustix::fs::fstatfs(folder).is_ok_and(|found| TRUSTED.contains(&found.f_type))
}

fn sync_each(files: &[PathBuf]) -> io::Result<()> {
    if files.len() <= ONE_BY_ONE_MAX {
        return files.iter().try_for_each(|file| sync_file(file));
    }
    std::thread::scope(|scope| {
        let share = files.len().div_ceil(THREADS_MAX);
        let threads: Vec<_> = files
            .chunks(share)
            .map(|files| scope.spawn(|| files.iter().try_for_each(|file| sync_file(file))))
            .collect();
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(synced) => synced,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Makes the bytes of a file durable. What is not a regular file has none.
fn sync_file(file: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(file, flags, rustix::fs::Mode::empty()) {
        Ok(opened) => File::from(opened),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        // A file that may not be opened must not stop all others.
        Err(Errno::ACCESS | Errno::PERM | Errno::AGAIN) => {
            let folder = File::open(file.parent().unwrap_or(Path::new(".")))?;
            return Ok(rustix::fs::syncfs(folder.as_fd())?);
        }
        Err(error) => return Err(error.into()),
    };
    // With its times, by which a start recognises it.
    if opened.metadata()?.is_file() { opened.sync_all() } else { Ok(()) }
}

/// Makes the entries of a folder durable. One that is gone is passed over.
///
/// # Errors
///
/// If the system refuses.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A file system that has nothing to sync for a folder.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(()),
        other => other,
    }
}

/// Makes durable what was written to an open file, and its entry in `folder`.
///
/// # Errors
///
/// If the system refuses.
pub fn sync_new_file(file: &File, folder: &Path) -> io::Result<()> {
    file.sync_all()?;
    sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_gone_or_are_none_are_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("file"), "text").expect("a file");
        std::os::unix::fs::symlink("nowhere", path("link")).expect("a link");
        let device = folder.path().metadata().expect("the folder").dev();
        let file_systems = FileSystems::default();
        let mut changes = Changes::default();
        for name in ["file", "link", "gone", "gone/deeper"] {
            changes.add_file(device, path(name));
        }
        changes.add_folder(device, folder.path().as_os_str());
        changes.add_folder(device, path("gone").as_os_str());
        file_systems.sync(&changes).expect("synced");
        // The same, many at a time, on a file system that is known by now.
        for i in 0..2 * ONE_BY_ONE_MAX {
            changes.add_file(device, path(&format!("gone {i}")));
        }
        assert!(file_systems.held().contains_key(&device));
        file_systems.sync(&changes).expect("synced");
    }
}
