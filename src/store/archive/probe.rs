//! Tests how files move between two folders, for `gridmark doctor`.

use super::folder::{Copying, Folder, copy, rename_no_replace};
use super::{Errno, Path, io};
use rustix::fs::{AtFlags, RenameFlags, linkat, renameat_with};
use std::fs;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// How many bytes are copied to measure how long that takes.
const COPIED_BYTES: usize = 1 << 20;

/// How files move from one folder into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// How long it takes to copy a mebibyte, if a move is a copy.
    pub copied_in: Option<Duration>,
    /// How an existing file is protected from being replaced.
    pub guard: Guard,
    /// Whether a file may have two names.
    pub has_links: bool,
}

/// How a move never replaces an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// The rename itself refuses.
    Rename,
    /// A second name is made, which is refused where a file is.
    Link,
    /// It is checked before, which misses a file that appears in that moment.
    Check,
}

/// Moves files between two empty folders, and leaves files in both.
///
/// # Errors
///
/// If files cannot be moved, or a file was replaced that was there.
pub fn probe_moves(from: &Path, to: &Path) -> io::Result<Moves> {
    fs::write(from.join("moved"), vec![b'1'; COPIED_BYTES])?;
    fs::write(to.join("there"), "2")?;
    fs::write(to.join("beside"), "3")?;
    let source = Folder::open(from, "".as_ref())?;
    let mut target = Folder::open(to, "".as_ref())?;
    let no_replace = RenameFlags::NOREPLACE;
    // The system checks for an existing name by itself, so only a rename that succeeds shows that the file
    // system supports the flag.
    let renamed = renameat_with(&target, "beside", &target, "renamed", no_replace);
    let has_links = linkat(&target, "there", &target, "linked", AtFlags::empty()).is_ok();
    let guard = match renamed {
        Ok(()) => Guard::Rename,
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if has_links => Guard::Link,
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Guard::Check,
        Err(error) => return Err(error.into()),
    };
    let (moved, there) = ("moved".as_ref(), "there".as_ref());
    let copied_bytes = AtomicU64::new(0);
    let copying =
        || Copying { part: "part", copied_bytes: &copied_bytes, expected: None, though_open: true };
    let start = Instant::now();
    let copied_in = match rename_no_replace(&source, moved, &target, there) {
        Err(Errno::EXIST) => {
            rename_no_replace(&source, moved, &target, moved)?;
            None
        }
        Err(Errno::XDEV) => {
            match copy(&source, moved, &mut target, there, copying()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => drop(other?),
            }
            copy(&source, moved, &mut target, moved, copying())?;
            // It was copied twice.
            Some(start.elapsed() / 2)
        }
        other => {
            other?;
            None
        }
    };
    if fs::read(to.join("there"))? != b"2" || fs::read(to.join("moved"))?.len() != COPIED_BYTES {
        return Err(io::Error::other("a file was replaced that was there already"));
    }
    Ok(Moves { copied_in, guard, has_links })
}
