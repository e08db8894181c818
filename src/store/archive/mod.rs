//! The folders through which a submission's file goes: taken from the inbox into the archive, read
//! there, put back, or moved into quarantine. Never over an existing file, never through a link.

mod attempt;
mod folder;
mod quarantine;
mod standing;
mod taking;
#[cfg(test)]
mod tests;
mod writers;

pub use attempt::{Guard, Moves, try_moves};
pub use quarantine::{Put, note_name};
pub use standing::{Inspector, Standing};
pub use taking::{Places, Reader, Taken, Taker};
pub use writers::is_written;

use crate::model::submission::{Claimed, Name, Signature};
use crate::store::owner::make_folders;
use folder::{Folder, copy, rename_no_replace};
use rustix::fs::{AtFlags, Mode, OFlags, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What names in the inbox begin with while gridmark moves them across file systems.
pub const HIDDEN_PREFIX: &str = ".gridmark-";

/// Up to so many folders are synced one by one; beyond it the whole file system is.
const FOLDER_SYNCS_MAX: usize = 8;

/// How much of a file is hashed before it is told that something gets on.
const HASHED_AT_ONCE_BYTES: u64 = 16 << 20;

/// Inbox, archive and quarantine.
pub struct Archive {
    inbox: PathBuf,
    archive: PathBuf,
    quarantine: PathBuf,
    /// Paths of folders in which something was renamed since the last [`Archive::sync`]; to compare
    /// them as paths takes longer.
    touched: Mutex<BTreeSet<OsString>>,
    /// What is known to lie in quarantine.
    quarantined: Mutex<BTreeSet<Name>>,
    /// How much was copied from one file system to another.
    copied_bytes: AtomicU64,
}

impl Archive {
    /// The store over these folders, which are made where they are missing.
    ///
    /// # Errors
    ///
    /// If a folder cannot be made.
    pub fn open(inbox: PathBuf, archive: PathBuf, quarantine: PathBuf) -> io::Result<Archive> {
        for folder in [&inbox, &archive, &quarantine] {
            make_folders(folder)?;
        }
        Ok(Archive::of(inbox, archive, quarantine))
    }

    /// The store over these folders as they are, for whoever only looks.
    pub fn of(inbox: PathBuf, archive: PathBuf, quarantine: PathBuf) -> Archive {
        let (touched, quarantined) = (Mutex::default(), Mutex::default());
        let copied_bytes = AtomicU64::new(0);
        Archive { inbox, archive, quarantine, touched, quarantined, copied_bytes }
    }

    /// The inbox.
    pub fn inbox(&self) -> &Path {
        &self.inbox
    }

    /// How many bytes were copied since the start, where folders lie on several file systems.
    pub fn copied_bytes(&self) -> u64 {
        self.copied_bytes.load(Ordering::Relaxed)
    }

    /// Begins to look for places in the archive.
    pub fn places(&self) -> Places<'_> {
        Places::new(self)
    }

    /// Begins to look at files in the inbox that have settled.
    pub fn inspector(&self) -> Inspector<'_> {
        Inspector::new(self)
    }

    /// Begins to take files from the inbox into the archive.
    pub fn taker(&self) -> Taker<'_> {
        Taker::new(self)
    }

    /// Begins to read files in the archive.
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(self)
    }

    /// Completes a move across file systems that had begun: copies the hidden file into the
    /// archive and removes it; `though_open` also if somebody has it open for writing. `Gone` if there
    /// is none.
    ///
    /// # Errors
    ///
    /// If it cannot be copied; then the hidden file is still there.
    pub fn complete(&self, id: i64, archived_as: &Name, though_open: bool) -> io::Result<Taken> {
        let inbox = Folder::open(&self.inbox, "".as_ref())?;
        let (folder, archived) = archived_as.split();
        let target = Folder::open_or_make(&self.archive, folder)?;
        let hidden = hidden(id);
        let (part, copied_bytes) = (part(id), &self.copied_bytes);
        match copy(&inbox, hidden.as_ref(), &target, archived, &part, copied_bytes, though_open) {
            Ok(()) => Ok(Taken::Yes),
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && !inbox.has(hidden.as_ref()) =>
            {
                Ok(Taken::Gone)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The copy was whole, and only the original was not removed any more?
                let copied = Signature::of(&target.open_file(archived)?.metadata()?);
                let original = Signature::of(&inbox.open_file(hidden.as_ref())?.metadata()?);
                if !copied.has_content_of(&original) {
                    return Ok(Taken::Occupied);
                }
                unlinkat(&inbox, hidden, AtFlags::empty())?;
                Ok(Taken::Yes)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the file of this claim is hidden in the inbox, on its way to another file system.
    pub fn is_hidden(&self, id: i64) -> bool {
        self.inbox.join(hidden(id)).symlink_metadata().is_ok()
    }

    /// Moves a submission's file from the archive back to where it was dropped. `false` if
    /// something else has been dropped there since.
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
        let source = Folder::open(from.0, folder)?;
        let (folder, new_file) = to.1.split();
        let target = Folder::open_or_make(to.0, folder)?;
        match rename_no_replace(&source, file, &target, new_file) {
            Ok(()) => self.touch([source.path(), target.path()]),
            Err(Errno::EXIST) => return Ok(false),
            Err(Errno::XDEV) => {
                match copy(&source, file, &target, new_file, &part(id), &self.copied_bytes, true) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
                    other => other?,
                }
            }
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Opens a submission's file for reading, whatever it is: never through a link, and without
    /// waiting at a FIFO.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn read(&self, archived_as: &Name) -> io::Result<File> {
        self.reader().open(archived_as)
    }

    /// What the archive holds under this name, if anything.
    pub fn signature(&self, archived_as: &Name) -> Option<Signature> {
        let path = self.archive.join(archived_as.as_path());
        path.symlink_metadata().ok().map(|found| Signature::of(&found))
    }

    /// Whether the archive holds a regular file under this name.
    pub fn holds_file(&self, archived_as: &Name) -> bool {
        let path = self.archive.join(archived_as.as_path());
        path.symlink_metadata().is_ok_and(|found| found.is_file())
    }

    /// What the inbox holds under this name, if anything.
    pub fn signature_in_inbox(&self, name: &Name) -> Option<Signature> {
        let path = self.inbox.join(name.as_path());
        path.symlink_metadata().ok().map(|found| Signature::of(&found))
    }

    /// Removes the name in the inbox of a file that the archive holds as well, the very same.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn drop_second_name(&self, name: &Name) -> io::Result<()> {
        let (folder, file) = name.split();
        let folder = Folder::open(&self.inbox, folder)?;
        Ok(unlinkat(&folder, file, AtFlags::empty())?)
    }

    /// Whether files can be moved into the archive at all, whatever may be wrong with one of them.
    ///
    /// # Errors
    ///
    /// Why not.
    pub fn probe(&self) -> io::Result<()> {
        let folder = Folder::open_or_make(&self.archive, "".as_ref())?;
        let name = format!("{HIDDEN_PREFIX}probe");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file =
            File::from(rustix::fs::openat(&folder, &name, flags, Mode::from_raw_mode(0o600))?);
        // A full disk still takes names.
        let written = file.write_all(&[0; 4096]);
        unlinkat(&folder, &name, AtFlags::empty())?;
        written
    }

    fn touch<const N: usize>(&self, folders: [&Path; N]) {
        let mut touched = self.touched.lock().unwrap_or_else(PoisonError::into_inner);
        for folder in folders {
            if !touched.contains(folder.as_os_str()) {
                touched.insert(folder.into());
            }
        }
    }

    /// Makes all moves so far durable.
    ///
    /// # Errors
    ///
    /// If the disk refuses; then the next call tries the same moves again.
    pub fn sync(&self) -> io::Result<()> {
        let touched =
            std::mem::take(&mut *self.touched.lock().unwrap_or_else(PoisonError::into_inner));
        let synced = if touched.len() > FOLDER_SYNCS_MAX {
            sync_file_systems(&[&self.archive, &self.inbox, &self.quarantine])
        } else {
            touched.iter().try_for_each(|folder| match File::open(folder) {
                Ok(folder) => folder.sync_all(),
                // What is gone cannot be made durable, nor need it be.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            })
        };
        if synced.is_err() {
            self.touched.lock().unwrap_or_else(PoisonError::into_inner).extend(touched);
        }
        synced
    }
}

/// Syncs the file systems that hold these folders, each once.
///
/// # Errors
///
/// If a folder cannot be opened or its file system refuses.
pub fn sync_file_systems(folders: &[&Path]) -> io::Result<()> {
    let mut devices = BTreeSet::new();
    for folder in folders {
        let folder = File::open(folder)?;
        if devices.insert(folder.metadata()?.dev()) {
            rustix::fs::syncfs(folder.as_fd())?;
        }
    }
    Ok(())
}

/// Hashes what comes next in `file`, up to the `offset` at which it is then, a part at a time;
/// `on_part` is called before each. Whether the file is that long.
///
/// # Errors
///
/// If it cannot be read, or whatever `on_part` fails with.
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

/// What the original of a submission is called while it is on its way to another file system.
fn hidden(id: i64) -> String {
    format!("{HIDDEN_PREFIX}{id}")
}

/// What a copy is called until it is whole.
fn part(id: i64) -> String {
    format!("{HIDDEN_PREFIX}part-{id}")
}
