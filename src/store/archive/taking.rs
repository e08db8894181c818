//! Taking files from the inbox into the archive.

use super::folder::{Copying, Folder, copy, is_mount, rename_no_replace};
use super::{Archive, AtFlags, Errno, File, OsStr, Path, Signature, hidden, io, part, unlinkat};
use crate::model::submission::{Claimed, Name, Place};
use crate::store::disk::explained;
use crate::store::fail_point::Point;
use crate::store::path::is_no_folder;
use std::ffi::OsString;

/// The result of taking a file.
#[derive(Debug)]
pub enum Taken {
    /// It was renamed into the archive.
    Moved,
    /// A rename was refused, so it was copied. The copy is durable and has this signature; nothing of the
    /// original counts any more.
    Copied(Signature),
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
    /// If it cannot be moved; then it is where it was, or hidden ([`Archive::is_hidden`]), and
    /// [`Archive::complete`] tries again.
    pub fn take(&mut self, claimed: &Claimed) -> io::Result<Taken> {
        let root = &self.archive.archive;
        self.try_to_take(claimed).map_err(|error| explained(error, root))
    }

    fn try_to_take(&mut self, claimed: &Claimed) -> io::Result<Taken> {
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
                Ok(Taken::Moved)
            }
            Err(Errno::XDEV) => archive.take_by_copy(claimed, source, target),
            // If it is there, the target folder is gone.
            Err(Errno::NOENT) if !source.has(file) => Ok(Taken::Gone),
            Err(Errno::EXIST) => Ok(Taken::Occupied),
            Err(error) => Err(not_released(source, file, error)),
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

/// Why a file cannot be renamed, if that is not about the archive.
fn not_released(folder: &Folder, file: &OsStr, error: Errno) -> io::Error {
    if error == Errno::BUSY && is_mount(folder, file) {
        let what = "it is a mount point itself: unmount it, and put the file that is mounted there into the \
                    inbox instead";
        return io::Error::other(what);
    }
    match error {
        Errno::ACCESS | Errno::PERM if !folder.may_be_changed() => {
            let what = "the user as whom the service runs may not move files out of its folder";
            io::Error::other(what)
        }
        Errno::PERM => {
            let what = "the system does not let the service move it: it or its folder is immutable or \
                        append-only (lsattr), or the folder is sticky and others own both";
            io::Error::other(what)
        }
        error => error.into(),
    }
}

impl Archive {
    /// Takes a file by copying it. It gets a hidden name first, so that the file that is removed is the one
    /// that was copied. That name is in the file's own folder: each other one may be on another mount.
    fn take_by_copy(
        &self,
        claimed: &Claimed,
        source: &mut Folder,
        target: &mut Folder,
    ) -> io::Result<Taken> {
        let (file, archived) = (claimed.name.split().1, claimed.archived_as.split().1);
        let hidden = hidden(claimed.id);
        match rename_no_replace(source, file, source, hidden.as_ref()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Taken::Gone),
            // This is no fault of the archive's disk.
            Err(error @ (Errno::ROFS | Errno::NOSPC | Errno::DQUOT)) => {
                let what = format!("its folder in the inbox cannot be changed: {error}");
                return Err(io::Error::other(what));
            }
            Err(error) => return Err(not_released(source, file, error)),
        }
        Point::FileHidden.pass();
        // Otherwise, after a loss of power, the original could be there beside its copy.
        let synced = source.sync();
        let modified = claimed.seen.map_or((0, 0), |seen| seen.modified);
        let expected = (modified, claimed.seen);
        let taken = synced.and_then(|()| {
            self.copy_hidden(claimed, expected, source, target, claimed.though_open)
        });
        // A copy that could not be removed is completed later.
        if taken.is_err() && !target.has(archived) {
            self.unhide(claimed, source);
        }
        taken
    }

    /// Completes what [`Taker::take`] has begun: copies the hidden file into the archive, and removes it.
    /// A copy that has the size of the claim and its time, which is `modified`, is complete already.
    /// `though_open` allows that a process has the file open for writing. `Gone` if there is no hidden file.
    /// If it is `Occupied`, the file has its name in the inbox again, unless another one has that.
    ///
    /// # Errors
    ///
    /// If it cannot be copied; then the hidden file is still there.
    pub fn complete(
        &self,
        claimed: &Claimed,
        modified: (i64, i64),
        though_open: bool,
    ) -> io::Result<Taken> {
        let (folder, _) = claimed.name.split();
        let mut source = match Folder::open(&self.inbox, folder) {
            Err(error) if is_no_folder(&error) => return Ok(Taken::Gone),
            other => other?,
        };
        if !source.has(hidden(claimed.id).as_ref()) {
            return Ok(Taken::Gone);
        }
        let (folder, _) = claimed.archived_as.split();
        let mut target = Folder::open_or_make(&self.archive, folder)?;
        self.copy_hidden(claimed, (modified, None), &mut source, &mut target, though_open)
    }

    fn copy_hidden(
        &self,
        claimed: &Claimed,
        (modified, expected): ((i64, i64), Option<Signature>),
        source: &mut Folder,
        target: &mut Folder,
        though_open: bool,
    ) -> io::Result<Taken> {
        let archived = claimed.archived_as.split().1;
        let (hidden, part) = (hidden(claimed.id), part(claimed.id));
        let file = hidden.as_ref();
        let copying =
            Copying { part: &part, copied_bytes: &self.copied_bytes, expected, though_open };
        let copied = match copy(source, file, target, archived, copying) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The copy may be complete, and only the original was not removed.
                let found = Signature::of(&target.open_file(archived)?.metadata()?);
                if !found.is_like(claimed.bytes, modified) {
                    self.unhide(claimed, source);
                    return Ok(Taken::Occupied);
                }
                target.sync()?;
                unlinkat(&*source, file, AtFlags::empty())?;
                found
            }
            other => other?,
        };
        self.changed([source]);
        Ok(Taken::Copied(copied))
    }

    /// Gives a hidden file its name back, if that is free.
    fn unhide(&self, claimed: &Claimed, folder: &mut Folder) {
        let (hidden, file) = (hidden(claimed.id), claimed.name.split().1);
        if rename_no_replace(folder, hidden.as_ref(), folder, file).is_ok() {
            self.changed([folder]);
        }
    }

    /// Whether the file of this claim has its hidden name in its folder, to be copied into the archive.
    pub fn is_hidden(&self, claimed: &Claimed) -> bool {
        self.hidden_signature(claimed).is_some()
    }

    /// The signature of the hidden file of this claim, if there is one.
    pub fn hidden_signature(&self, claimed: &Claimed) -> Option<Signature> {
        let folder = self.inbox.join(claimed.name.split().0);
        let found = folder.join(hidden(claimed.id)).symlink_metadata();
        found.ok().map(|found| Signature::of(&found))
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
