//! Quarantine: files that gridmark failed to grade, each with a note that says why.

use super::{Archive, AtFlags, Folder, Mode, Name, OFlags, PoisonError, io, unlinkat};
use crate::model::submission::FILE_NAME_BYTES_MAX;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The end of a note's name.
const NOTE_END: &[u8] = b".reason.txt";

/// The result of moving a file out of quarantine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is there.
    There,
    /// Another file has its place; it is still in quarantine.
    Occupied,
}

impl Archive {
    /// Moves a submission's file from the archive into quarantine, under the same name, and writes
    /// the note beside it. `false` if another file has its place.
    ///
    /// # Errors
    ///
    /// If it cannot be moved; then it is still in the archive.
    pub fn quarantine(&self, id: i64, archived_as: &Name, note: &str) -> io::Result<bool> {
        let moved =
            self.transfer(id, (&self.archive, archived_as), (&self.quarantine, archived_as))?;
        self.note_quarantined(archived_as, note);
        Ok(moved)
    }

    /// Counts a file in quarantine, and makes sure that its note exists.
    pub fn note_quarantined(&self, archived_as: &Name, note: &str) {
        if !self.is_in_quarantine(archived_as) {
            return;
        }
        // The note is for people; the ledger has the reason too.
        let _ = self.write_note(archived_as, note);
        let mut known = self.quarantined.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(archived_as.clone());
    }

    /// Whether a submission that lay under this name in the archive lies in quarantine.
    pub fn is_in_quarantine(&self, archived_as: &Name) -> bool {
        self.quarantine.join(archived_as.as_path()).symlink_metadata().is_ok()
    }

    /// Opens a file in quarantine for reading, never through a link and without waiting at a FIFO.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn read_quarantined(&self, archived_as: &Name) -> io::Result<File> {
        let (folder, file) = archived_as.split();
        Folder::open(&self.quarantine, folder)?.open_file(file)
    }

    /// How many files lie in quarantine, of those that are known to have been moved there.
    pub fn quarantined_files(&self) -> u64 {
        let mut known = self.quarantined.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|archived_as| self.is_in_quarantine(archived_as));
        known.len() as u64
    }

    /// Moves a submission's file from quarantine to where it was dropped, and removes the note, if
    /// that is what lies beside it.
    ///
    /// # Errors
    ///
    /// If it cannot be moved; then it is still in quarantine.
    pub fn retry(&self, id: i64, archived_as: &Name, name: &Name, note: &str) -> io::Result<Put> {
        if !self.transfer(id, (&self.quarantine, archived_as), (&self.inbox, name))? {
            return Ok(Put::Occupied);
        }
        self.sync([])?;
        // A note that stays says nothing wrong: this was the reason.
        let _ = self.remove_note(archived_as, note);
        Ok(Put::There)
    }

    fn write_note(&self, archived_as: &Name, note: &str) -> io::Result<()> {
        let (folder, name) = self.note_place(archived_as)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &name, flags, Mode::from_raw_mode(0o666))?;
        File::from(file).write_all(note.as_bytes())
    }

    fn remove_note(&self, archived_as: &Name, note: &str) -> io::Result<()> {
        let (folder, name) = self.note_place(archived_as)?;
        let mut there = Vec::new();
        folder.open_file(&name)?.take(note.len() as u64 + 1).read_to_end(&mut there)?;
        if there == note.as_bytes() {
            unlinkat(&folder, &name, AtFlags::empty())?;
        }
        Ok(())
    }

    fn note_place(&self, archived_as: &Name) -> io::Result<(Folder, OsString)> {
        let (folder, file) = archived_as.split();
        Ok((Folder::open(&self.quarantine, folder)?, note_file(file)))
    }
}

/// The name in quarantine of the note for this file.
pub fn note_name(archived_as: &Name) -> Name {
    let (folder, file) = archived_as.split();
    Name::from_bytes(folder.as_bytes()).join(&note_file(file))
}

fn note_file(file: &OsStr) -> OsString {
    let mut name = file.as_bytes().to_vec();
    name.truncate(FILE_NAME_BYTES_MAX - NOTE_END.len());
    name.extend_from_slice(NOTE_END);
    OsString::from_vec(name)
}
