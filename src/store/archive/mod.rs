//! The folders of a submission's file: it is taken from the inbox into the archive, read there, put back, or
//! moved into quarantine. Never over an existing file, never through a link.
//!
//! Files move by rename. Where that is refused, the file first gets a hidden name in its own folder, so that
//! nobody changes it by its name, then is copied, and only then removed. Whether a rename will do is found by
//! trying it: two mounts of one file system look like one by their device number, and renames between them
//! are refused all the same.

mod folder;
mod hand_in;
mod obstacle;
mod probe;
mod quarantine;
mod taking;
#[cfg(test)]
mod tests;
mod writers;

pub use hand_in::{HandIn, HandInError, Receipt};
pub use obstacle::{Inspector, Obstacle};
pub use probe::{Guard, Moves, probe_moves};
pub use quarantine::{Put, note_name};
pub use taking::{Places, Reader, Taken, Taker};
pub use writers::is_written;

use crate::model::submission::{Claimed, Name, Signature};
use crate::store::disk::explained;
use crate::store::durable::{Changes, FileSystems};
use crate::store::owner::make_folders;
use folder::{Copying, Folder, copy, has_same_bytes, rename_no_replace};
use rustix::fs::{AtFlags, Mode, OFlags, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What names begin with that gridmark gives to files while it moves them.
pub const HIDDEN_PREFIX: &str = ".gridmark-";

/// How much of a file is hashed between two reports of progress.
const HASHED_AT_ONCE_BYTES: u64 = 16 << 20;

/// Inbox, archive and quarantine.
pub struct Archive {
    inbox: PathBuf,
    archive: PathBuf,
    quarantine: PathBuf,
    /// What was renamed since the last [`Archive::sync`].
    changes: Mutex<Changes>,
    /// Held during a sync: its caller relies on all moves so far, also on those that another thread is
    /// syncing. Holds when a sync has failed last.
    syncing: Mutex<Option<Instant>>,
    file_systems: FileSystems,
    /// Files that are known to be in quarantine.
    quarantined: Mutex<BTreeSet<Name>>,
    /// How much was copied from one file system to another.
    copied_bytes: AtomicU64,
}

impl Archive {
    /// The archive with these folders, which are created where they are missing.
    ///
    /// # Errors
    ///
    /// If a folder cannot be created or opened.
    pub fn open(inbox: PathBuf, archive: PathBuf, quarantine: PathBuf) -> io::Result<Archive> {
        for folder in [&inbox, &archive, &quarantine] {
            make_folders(folder)?;
        }
        let opened = Archive::of(inbox, archive, quarantine);
        let Archive { inbox, archive, quarantine, .. } = &opened;
        opened.file_systems.hold(&[inbox, archive, quarantine])?;
        Ok(opened)
    }

    /// The archive with these folders as they are, for reading.
    pub fn of(inbox: PathBuf, archive: PathBuf, quarantine: PathBuf) -> Archive {
        Archive {
            inbox,
            archive,
            quarantine,
            changes: Mutex::default(),
            syncing: Mutex::default(),
            file_systems: FileSystems::default(),
            quarantined: Mutex::default(),
            copied_bytes: AtomicU64::new(0),
        }
    }

    /// The inbox.
    pub fn inbox(&self) -> &Path {
        &self.inbox
    }

    /// How many bytes were copied since the start, where folders lie on several file systems.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes.load(Ordering::Relaxed)
    }

    /// Finds places in the archive.
    pub fn places(&self) -> Places<'_> {
        Places::new(self)
    }

    /// Inspects settled files in the inbox.
    pub fn inspector(&self) -> Inspector<'_> {
        Inspector::new(self)
    }

    /// Takes files from the inbox into the archive.
    pub fn taker(&self) -> Taker<'_> {
        Taker::new(self)
    }

    /// Reads files in the archive.
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(self)
    }

    /// Moves a submission's file from the archive back to where it was dropped. `false` if another file
    /// has its name by now.
    ///
    /// # Errors
    ///
    /// If it cannot be moved; then it is still in the archive.
    pub fn put_back(&self, claimed: &Claimed) -> io::Result<bool> {
        self.transfer(
            claimed.id,
            (&self.archive, &claimed.archived_as),
            (&self.inbox, &claimed.name),
        )
    }

    fn transfer(&self, id: i64, from: (&Path, &Name), to: (&Path, &Name)) -> io::Result<bool> {
        let (folder, file) = from.1.split();
        let mut source = Folder::open(from.0, folder)?;
        let (folder, new_file) = to.1.split();
        let mut target = Folder::open_or_make(to.0, folder)?;
        match rename_no_replace(&source, file, &target, new_file) {
            Ok(()) => self.changed([&mut source, &mut target]),
            Err(Errno::EXIST) => return Ok(false),
            Err(Errno::XDEV) => {
                let copying = Copying {
                    part: &part(id),
                    copied_bytes: &self.copied_bytes,
                    expected: None,
                    though_open: true,
                };
                match copy(&source, file, &mut target, new_file, copying) {
                    // The copy may be complete, and only the original was not removed.
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        let (original, there) =
                            (source.open_file(file)?, target.open_file(new_file)?);
                        if !has_same_bytes(&original, &there)? {
                            return Ok(false);
                        }
                        there.sync_all()?;
                        target.sync()?;
                        unlinkat(&source, file, AtFlags::empty())?;
                    }
                    other => drop(other?),
                }
                self.changed([&mut source]);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Opens a submission's file for reading, never through a link and without waiting at a FIFO.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn read(&self, archived_as: &Name) -> io::Result<File> {
        self.reader().open(archived_as)
    }

    /// The signature of the file with this name in the archive, if there is one.
    pub fn signature(&self, archived_as: &Name) -> Option<Signature> {
        let path = self.archive.join(archived_as.as_path());
        path.symlink_metadata().ok().map(|found| Signature::of(&found))
    }

    /// Whether the archive holds a regular file under this name.
    pub fn holds_file(&self, archived_as: &Name) -> bool {
        let path = self.archive.join(archived_as.as_path());
        path.symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// The signature of the file with this name in the inbox, if there is one.
    pub fn signature_in_inbox(&self, name: &Name) -> Option<Signature> {
        let path = self.inbox.join(name.as_path());
        path.symlink_metadata().ok().map(|found| Signature::of(&found))
    }

    /// The inode of the file with this name in the inbox, and when that changed last, in seconds and nanoseconds
    /// since 1970; zeros if there is none.
    pub fn inode_in_inbox(&self, name: &Name) -> (u64, (i64, i64)) {
        let found = self.inbox.join(name.as_path()).symlink_metadata();
        found.map_or_else(|_| (0, (0, 0)), |it| (it.ino(), (it.ctime(), it.ctime_nsec())))
    }

    /// Removes the name in the inbox of a file that is in the archive too.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn drop_second_name(&self, name: &Name) -> io::Result<()> {
        let (folder, file) = name.split();
        let folder = Folder::open(&self.inbox, folder)?;
        Ok(unlinkat(&folder, file, AtFlags::empty())?)
    }

    /// Whether files can be moved into the archive at all.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn probe(&self) -> io::Result<()> {
        self.write_probe().map_err(|error| explained(error, &self.archive))
    }

    fn write_probe(&self) -> io::Result<()> {
        let folder = Folder::open_or_make(&self.archive, "".as_ref())?;
        let name = format!("{HIDDEN_PREFIX}probe");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file =
            File::from(rustix::fs::openat(&folder, &name, flags, Mode::from_raw_mode(0o600))?);
        // A full disk still accepts names.
        let written = file.write_all(&[0; 4096]);
        unlinkat(&folder, &name, AtFlags::empty())?;
        written
    }

    fn changed<const N: usize>(&self, folders: [&mut Folder; N]) {
        let mut changes = self.changes();
        for folder in folders {
            folder.add_to(&mut changes);
        }
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all moves so far durable, and the bytes of these files, which were moved into the archive by
    /// this process. A copy is durable already.
    ///
    /// # Errors
    ///
    /// If the system refuses, or could not write something: then these files have to be
    /// [written again](Archive::rewrite), and the next call syncs the same moves.
    pub fn sync<'a>(&self, moved: impl IntoIterator<Item = &'a Claimed>) -> io::Result<()> {
        let mut failed = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = std::mem::take(&mut *self.changes());
        for claimed in moved {
            if let Some(seen) = claimed.seen {
                let (device, _) = seen.identity;
                changes.add_file(device, self.archive.join(claimed.archived_as.as_path()));
            }
        }
        self.sync_changes(changes, &mut failed)
    }

    /// Whether a sync has failed since this file was ready: then the system may have dropped what it could not
    /// write of it, and a further sync does not report that again.
    pub fn may_have_lost_bytes(&self, claimed: &Claimed) -> bool {
        let failed = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        failed.is_some_and(|failed| claimed.ready <= failed)
    }

    /// Makes durable what an earlier process has moved into the archive and had no time to sync.
    ///
    /// # Errors
    ///
    /// The same as of [`Archive::sync`].
    pub fn sync_found<'a>(&self, found: impl IntoIterator<Item = &'a Claimed>) -> io::Result<()> {
        let mut failed = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changes = std::mem::take(&mut *self.changes());
        for claimed in found {
            let places = [(&self.archive, &claimed.archived_as), (&self.inbox, &claimed.name)];
            for (root, name) in places {
                let folder = root.join(name.split().0);
                if let Ok(metadata) = folder.metadata() {
                    changes.add_folder(metadata.dev(), folder.as_os_str());
                }
            }
            let file = self.archive.join(claimed.archived_as.as_path());
            if let Ok(metadata) = file.symlink_metadata() {
                changes.add_file(metadata.dev(), file);
            }
        }
        self.sync_changes(changes, &mut failed)
    }

    fn sync_changes(&self, changes: Changes, failed: &mut Option<Instant>) -> io::Result<()> {
        let synced = self.file_systems.sync(&changes);
        if synced.is_err() {
            self.changes().append(changes);
            *failed = Some(Instant::now());
        }
        synced
    }

    /// Writes the file of a submission again, after an error of [`Archive::sync`]. One that is gone or may not
    /// be read is passed over.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn rewrite(&self, claimed: &Claimed) -> io::Result<()> {
        let (folder, file) = claimed.archived_as.split();
        let rewritten = Folder::open(&self.archive, folder)
            .and_then(|mut folder| folder::rewrite(&mut folder, file, &part(claimed.id)));
        match rewritten {
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound
                        | io::ErrorKind::PermissionDenied
                        | io::ErrorKind::WouldBlock
                ) =>
            {
                Ok(())
            }
            other => other,
        }
    }
}

/// Hashes `file` from where it is up to `offset`, a part at a time; `on_part` is called before each part.
/// Returns whether the file is that long.
///
/// # Errors
///
/// If it cannot be read, or `on_part` fails.
pub fn hash_up_to<E: From<io::Error>>(
    offset: u64,
    file: &File,
    hasher: &mut blake3::Hasher,
    mut on_part: impl FnMut() -> Result<(), E>,
) -> Result<bool, E> {
    while hasher.count() < offset {
        on_part()?;
        let before = hasher.count();
        hasher.update_reader(file.take((offset - before).min(HASHED_AT_ONCE_BYTES)))?;
        if hasher.count() == before {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The name of the original while it is copied.
fn hidden(id: i64) -> String {
    format!("{HIDDEN_PREFIX}{id}")
}

/// The name of a copy until it is complete.
fn part(id: i64) -> String {
    format!("{HIDDEN_PREFIX}part-{id}")
}
