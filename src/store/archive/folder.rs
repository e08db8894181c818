//! Folders, opened step by step so that no link leads out of them, and moves between them.

use super::writers::is_written;
use super::{AtFlags, Errno, File, Mode, OFlags, Path, PathBuf, Signature, io, unlinkat};
use crate::model::submission::copied_time;
use crate::store::durable::{Changes, sync_folder};
use crate::store::fail_point::Point;
use crate::store::owner;
use rustix::fs::{Access, CWD, RenameFlags, ResolveFlags, Timespec, Timestamps};
use rustix::fs::{StatxAttributes, StatxFlags, statx};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of a file is copied between two reports of progress.
const COPIED_AT_ONCE_BYTES: u64 = 64 << 20;

/// How much of two files is compared at a time.
const COMPARED_AT_ONCE_BYTES: usize = 1 << 16;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);
/// Not through a link, and without waiting at a FIFO.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// An open folder below a root.
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
    /// The device that it is on.
    device: u64,
    /// Folders in which others were made on the way to this one, with their devices.
    changed: Vec<(u64, PathBuf)>,
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Folder {
    /// Opens the folder at the relative path `below` under `root`. The root itself may be a link.
    pub(super) fn open(root: &Path, below: &OsStr) -> io::Result<Folder> {
        Folder::step_down(root, below, false)
    }

    /// The same; folders that are missing are made.
    pub(super) fn open_or_make(root: &Path, below: &OsStr) -> io::Result<Folder> {
        Folder::step_down(root, below, true)
    }

    fn step_down(root: &Path, below: &OsStr, make: bool) -> io::Result<Folder> {
        let mut fd = match rustix::fs::openat(CWD, root, FOLDER, Mode::empty()) {
            Err(Errno::NOENT) if make => {
                // It was removed since the service made it.
                owner::make_folders(root)?;
                rustix::fs::openat(CWD, root, FOLDER, Mode::empty())?
            }
            other => other?,
        };
        let (mut path, mut changed) = (root.to_owned(), Vec::new());
        for part in Path::new(below).components() {
            let part = part.as_os_str();
            let flags = FOLDER | OFlags::NOFOLLOW;
            fd = match rustix::fs::openat(&fd, part, flags, Mode::empty()) {
                Err(Errno::NOENT) if make => {
                    let is_new = match rustix::fs::mkdirat(&fd, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) => true,
                        Err(Errno::EXIST) => false,
                        Err(error) => return Err(error.into()),
                    };
                    let made = rustix::fs::openat(&fd, part, flags, Mode::empty())?;
                    if is_new {
                        let above = rustix::fs::fstat(&fd)?;
                        owner::give(&made, &above)?;
                        changed.push((above.st_dev, path.clone()));
                    }
                    made
                }
                other => other?,
            };
            path.push(part);
        }
        let device = rustix::fs::fstat(&fd)?.st_dev;
        Ok(Folder { fd, path: root.join(below), device, changed })
    }

    /// Adds this folder, and those in which others were made on the way to it, to `changes`.
    pub(super) fn add_to(&mut self, changes: &mut Changes) {
        for (device, folder) in self.changed.drain(..) {
            changes.add_folder(device, folder.as_os_str());
        }
        changes.add_folder(self.device, self.path.as_os_str());
    }

    /// Opens a file of this folder for reading: not through a link, and without waiting.
    pub(super) fn open_file(&self, file: &OsStr) -> io::Result<File> {
        Ok(File::from(rustix::fs::openat(&self.fd, file, FILE, Mode::empty())?))
    }

    /// Opens a file at a path below this folder for reading: through no link at all, and without
    /// waiting. `quietly` leaves the access time as it is; it is unset where the system does not allow that.
    pub(super) fn open_file_below(&self, path: &Path, quietly: &mut bool) -> io::Result<File> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let open = |flags| rustix::fs::openat2(&self.fd, path, flags, Mode::empty(), resolve);
        let opened = if *quietly {
            match open(FILE | OFlags::NOATIME) {
                // Only a file's owner may do that.
                Err(Errno::PERM) => {
                    *quietly = false;
                    open(FILE)
                }
                other => other,
            }
        } else {
            open(FILE)
        };
        match opened {
            Ok(file) => Ok(File::from(file)),
            // The system has no `openat2`.
            Err(Errno::NOSYS | Errno::PERM) => {
                let (parent, file) = (path.parent(), path.file_name());
                let parent = parent.map_or(OsStr::new(""), Path::as_os_str);
                Folder::step_down(&self.path, parent, false)?.open_file(file.unwrap_or_default())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether this folder has an entry of this name.
    pub(super) fn has(&self, file: &OsStr) -> bool {
        rustix::fs::statat(&self.fd, file, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Whether this user may move files out of this folder, as far as its owner and mode say.
    pub(super) fn may_be_changed(&self) -> bool {
        let access = Access::WRITE_OK | Access::EXEC_OK;
        rustix::fs::accessat(&self.fd, ".", access, AtFlags::EACCESS) != Err(Errno::ACCESS)
    }

    /// Makes its entries durable, and those of the folders that were made on the way to it.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        match rustix::fs::fsync(&self.fd) {
            // A file system that has nothing to sync for a folder.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
        self.changed.iter().try_for_each(|(_, above)| sync_folder(above))?;
        self.changed.clear();
        Ok(())
    }
}

/// Renames, but never over an existing file, also where the file system has no such rename.
pub(super) fn rename_no_replace(
    from: &Folder,
    file: &OsStr,
    to: &Folder,
    as_file: &OsStr,
) -> rustix::io::Result<()> {
    match rustix::fs::renameat_with(from, file, to, as_file, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            // A second name is refused if the name exists; without second names, check before.
            match rustix::fs::linkat(from, file, to, as_file, AtFlags::empty()) {
                Ok(()) => unlinkat(from, file, AtFlags::empty()),
                Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                    match rustix::fs::statat(to, as_file, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(_) => Err(Errno::EXIST),
                        Err(Errno::NOENT) => rustix::fs::renameat(from, file, to, as_file),
                        Err(error) => Err(error),
                    }
                }
                other => other,
            }
        }
        other => other,
    }
}

/// A file for a copy, which is called `part` until it is complete.
fn make_part(to: &Folder, part: &str) -> io::Result<File> {
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let copy = File::from(rustix::fs::openat(to, part, flags, Mode::from_raw_mode(0o666))?);
    owner::give(&copy, &rustix::fs::fstat(to)?)?;
    Ok(copy)
}

/// Writes a file again in its place: the system may have dropped pages of it that it could not write.
/// `part` is the copy's name until it is complete and durable.
pub(super) fn rewrite(folder: &mut Folder, file: &OsStr, part: &str) -> io::Result<()> {
    let source = folder.open_file(file)?;
    let before = source.metadata()?;
    if !before.is_file() {
        return Ok(());
    }
    let mut copy = make_part(folder, part)?;
    let written = (|| {
        io::copy(&mut &source, &mut copy)?;
        let modified = Timespec { tv_sec: before.mtime(), tv_nsec: before.mtime_nsec() };
        let times = Timestamps { last_access: modified, last_modification: modified };
        rustix::fs::futimens(&copy, &times)?;
        copy.sync_all()?;
        rustix::fs::renameat(&*folder, part, &*folder, file)?;
        folder.sync()
    })();
    if written.is_err() {
        let _ = unlinkat(&*folder, part, AtFlags::empty());
    }
    written
}

/// Whether a file of this folder is a mount point.
pub(super) fn is_mount(folder: &Folder, file: &OsStr) -> bool {
    let found = statx(folder, file, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    found.is_ok_and(|found| {
        (found.stx_attributes & found.stx_attributes_mask).contains(StatxAttributes::MOUNT_ROOT)
    })
}

/// Whether two files hold the same bytes.
pub(super) fn has_same_bytes(one: &File, other: &File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut one = BufReader::with_capacity(COMPARED_AT_ONCE_BYTES, one);
    let mut other = BufReader::with_capacity(COMPARED_AT_ONCE_BYTES, other);
    loop {
        let (a, b) = (one.fill_buf()?, other.fill_buf()?);
        let most = a.len().min(b.len());
        if a[..most] != b[..most] || a.is_empty() != b.is_empty() {
            return Ok(false);
        }
        if most == 0 {
            return Ok(true);
        }
        one.consume(most);
        other.consume(most);
    }
}

/// How a file is copied.
pub(super) struct Copying<'a> {
    /// The copy's name until it is complete.
    pub(super) part: &'a str,
    /// Counts its progress.
    pub(super) copied_bytes: &'a AtomicU64,
    /// What the original has to look like, if that is known.
    pub(super) expected: Option<Signature>,
    /// Whether the original is removed though a process has it open for writing.
    pub(super) though_open: bool,
}

/// Copies a file into a folder where a rename is refused, makes the copy durable, and only then removes the
/// original; the caller has to see to it that its absence becomes durable. Returns the signature of the copy.
pub(super) fn copy(
    from: &Folder,
    file: &OsStr,
    to: &mut Folder,
    as_file: &OsStr,
    Copying { part, copied_bytes, expected, though_open }: Copying<'_>,
) -> io::Result<Signature> {
    let source = from.open_file(file)?;
    let before = source.metadata()?;
    if !before.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if expected.is_some_and(|expected| !Signature::of(&before).has_content_of(&expected)) {
        return Err(io::Error::other("it changed while it was claimed"));
    }
    let mut copied = make_part(to, part)?;
    let whole = (|| {
        Point::FileHalfCopied.pass_or(|| {
            let _ = io::copy(&mut (&source).take(before.len() / 2), &mut copied);
        });
        loop {
            let bytes = io::copy(&mut (&source).take(COPIED_AT_ONCE_BYTES), &mut copied)?;
            if bytes == 0 {
                break;
            }
            // Otherwise the last sync would take long and show no progress.
            copied.sync_data()?;
            copied_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        if Signature::of(&source.metadata()?) != Signature::of(&before) {
            return Err(io::Error::other("it changed while it was copied"));
        }
        // A process that has opened it since would write into what is removed below.
        if !though_open && is_written(&source) == Some(true) {
            return Err(io::Error::other("somebody has opened it for writing"));
        }
        let (tv_sec, tv_nsec) = copied_time(Signature::of(&before).modified);
        let modified = Timespec { tv_sec, tv_nsec };
        rustix::fs::futimens(
            &copied,
            &Timestamps { last_access: modified, last_modification: modified },
        )?;
        copied.sync_all()?;
        Point::FileCopied.pass();
        Ok(rename_no_replace(to, part.as_ref(), to, as_file)?)
    })();
    if let Err(error) = whole {
        // If this fails, the next try overwrites the rest.
        let _ = unlinkat(&*to, part, AtFlags::empty());
        return Err(error);
    }
    let removed = to.sync().and_then(|()| {
        Point::CopyNamed.pass();
        Ok(unlinkat(from, file, AtFlags::empty())?)
    });
    if let Err(error) = removed {
        // It must not be there twice.
        let _ = unlinkat(&*to, as_file, AtFlags::empty());
        return Err(error);
    }
    Ok(Signature::of(&copied.metadata()?))
}
