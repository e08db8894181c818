//! Taking files from the inbox into the archive.

use super::folder::{Folder, rename_no_replace};
use super::{Archive, Errno, File, OsStr, Path, hidden, io};
use crate::model::submission::{Claimed, Name, Place};
use crate::store::fail_point::Point;
use crate::store::path::is_no_folder;
use std::ffi::OsString;

/// The result of taking a file.
#[derive(Debug)]
pub enum Taken {
    /// It is in the archive.
    Yes,
    /// It is not in the inbox any more.
    Gone,
    /// Another file has that name in the archive by now; a different name is needed.
    Occupied,
}

/// Finds places in the archive. Those in one folder mostly come one after the other, so the folder that was used
/// last is kept open.
pub struct Places<'a> {
    archive: &'a Archive,
    good: Option<Good>,
}

/// A folder in the archive; only folders lead to it.
struct Good {
    name: OsString,
    /// `None` if it does not exist yet, or cannot be opened.
    folder: Option<Folder>,
}

impl<'a> Places<'a> {
    pub(super) fn new(archive: &'a Archive) -> Places<'a> {
        Places { archive, good: None }
    }

    /// Whether a file can have this name in the archive.
    pub fn place(&mut self, archived_as: &Name) -> Place {
        let (folder, file) = archived_as.split();
        let good = match self.good.take().filter(|good| good.name == folder) {
            Some(good) => good,
            None => {
                if let Some(bytes) = self.blocked(folder) {
                    return Place::Blocked(bytes);
                }
                let opened = Folder::open(&self.archive.archive, folder).ok();
                Good { name: folder.to_owned(), folder: opened }
            }
        };
        let is_there = match &good.folder {
            Some(folder) => folder.has(file),
            None => self.archive.signature(archived_as).is_some(),
        };
        self.good = Some(good);
        // Anything else that is wrong there shows when the file is moved.
        if is_there { Place::Taken } else { Place::Free }
    }

    /// How many bytes of a folder's name lead to something that is no folder, if any do.
    fn blocked(&self, folder: &OsStr) -> Option<usize> {
        let mut path = self.archive.archive.clone();
        let mut bytes = 0;
        for part in Path::new(folder).components() {
            path.push(part);
            bytes += part.as_os_str().len();
            match path.symlink_metadata() {
                Ok(found) if found.is_dir() => bytes += 1,
                Ok(_) => return Some(bytes),
                Err(_) => return None,
            }
        }
        None
    }
}

/// Takes files from the inbox into the archive. Those of one folder mostly come one after the
/// other, so the folders that were used last are kept open.
pub struct Taker<'a> {
    archive: &'a Archive,
    source: Option<(OsString, Folder)>,
    target: Option<(OsString, Folder)>,
}

impl<'a> Taker<'a> {
    pub(super) fn new(archive: &'a Archive) -> Taker<'a> {
        Taker { archive, source: None, target: None }
    }

    /// Moves a submission's file from the inbox into the archive.
    ///
    /// # Errors
    ///
    /// If it cannot be moved; then it is where it was, or hidden ([`Archive::is_hidden`]) and a
    /// restart completes the move.
    pub fn take(&mut self, claimed: &Claimed) -> io::Result<Taken> {
        let Taker { archive, source, target } = self;
        let (folder, file) = claimed.name.split();
        let source = match kept(source, &archive.inbox, folder, Folder::open) {
            Err(error) if is_no_folder(&error) => return Ok(Taken::Gone),
            other => other?,
        };
        let (folder, archived) = claimed.archived_as.split();
        let target = kept(target, &archive.archive, folder, Folder::open_or_make)?;
        match rename_no_replace(source, file, target, archived) {
            Ok(()) => {
                archive.changed([source, target]);
                Ok(Taken::Yes)
            }
            Err(Errno::XDEV) => archive.take_across(claimed, source, file),
            // If it is there, the target folder is gone.
            Err(Errno::NOENT) if !source.has(file) => Ok(Taken::Gone),
            Err(Errno::EXIST) => Ok(Taken::Occupied),
            Err(error) => Err(error.into()),
        }
    }
}

/// The folder that is kept open, if it is this one; else this one from now on.
pub(super) fn kept<'a>(
    last: &'a mut Option<(OsString, Folder)>,
    root: &Path,
    folder: &OsStr,
    open: fn(&Path, &OsStr) -> io::Result<Folder>,
) -> io::Result<&'a mut Folder> {
    let known = last.take().filter(|(name, _)| name == folder);
    let opened = match known {
        Some(known) => known,
        None => (folder.to_owned(), open(root, folder)?),
    };
    Ok(&mut last.insert(opened).1)
}

impl Archive {
    /// Takes a file across file systems. It gets a hidden name first, so that the file that is removed is the one
    /// that was copied.
    fn take_across(
        &self,
        claimed: &Claimed,
        source: &mut Folder,
        file: &OsStr,
    ) -> io::Result<Taken> {
        let mut inbox = Folder::open(&self.inbox, "".as_ref())?;
        let hidden = hidden(claimed.id);
        match rename_no_replace(source, file, &inbox, hidden.as_ref()) {
            // Otherwise, after a loss of power, the original could be there beside its copy.
            Ok(()) => source.sync().and_then(|()| inbox.sync())?,
            Err(Errno::NOENT) => return Ok(Taken::Gone),
            Err(error) => return Err(error.into()),
        }
        Point::FileHidden.pass();
        let seen = claimed.seen.map_or((claimed.bytes, (0, 0)), |seen| (seen.bytes, seen.modified));
        let taken = self.complete(claimed.id, &claimed.archived_as, claimed.though_open, seen);
        // If this fails too, the file stays hidden and its claim stands for the next start.
        if !matches!(taken, Ok(Taken::Yes))
            && rename_no_replace(&inbox, hidden.as_ref(), source, file).is_ok()
        {
            self.changed([source, &mut inbox]);
        }
        taken
    }
}

/// Reads files in the archive; its folder is kept open between them.
pub struct Reader<'a> {
    archive: &'a Archive,
    root: Option<Folder>,
    quietly: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(archive: &'a Archive) -> Reader<'a> {
        Reader { archive, root: None, quietly: true }
    }

    /// Opens a submission's file for reading, never through a link and without waiting at a FIFO.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub fn open(&mut self, archived_as: &Name) -> io::Result<File> {
        let root = match self.root.take() {
            Some(root) => root,
            None => Folder::open(&self.archive.archive, "".as_ref())?,
        };
        self.root.insert(root).open_file_below(archived_as.as_path(), &mut self.quietly)
    }
}
