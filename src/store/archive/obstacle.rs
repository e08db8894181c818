//! Finds what prevents a settled file from being taken.

use super::folder::Folder;
use super::taking::kept;
use super::{Archive, Errno, writers};
use crate::model::submission::Name;
use std::ffi::OsString;

/// What prevents a settled file from being taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// Nothing. That holds also for what is no file, or gone: taking it shows that.
    None,
    /// The system does not say whether a process has it open for writing; it may be taken.
    Unknown,
    /// A process has it open for writing.
    OpenForWriting,
    /// We may not read it.
    Unreadable,
}

/// Inspects files in the inbox. Those of one folder mostly come one after the other, so the folder that was
/// used last is kept open.
pub struct Inspector<'a> {
    archive: &'a Archive,
    folder: Option<(OsString, Folder)>,
}

impl<'a> Inspector<'a> {
    pub(super) fn new(archive: &'a Archive) -> Inspector<'a> {
        Inspector { archive, folder: None }
    }

    /// What prevents the file of this name from being taken.
    pub fn obstacle(&mut self, name: &Name) -> Obstacle {
        let (folder, file) = name.split();
        let folder = kept(&mut self.folder, &self.archive.inbox, folder, Folder::open);
        match folder.and_then(|folder| folder.open_file(file)) {
            Ok(file) => match writers::was_written(file) {
                Some(true) => Obstacle::OpenForWriting,
                Some(false) => Obstacle::None,
                None => Obstacle::Unknown,
            },
            // Another process has a lease on it, as Samba has for a client that caches its writes; the
            // system now asks it to give the lease up.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                Obstacle::OpenForWriting
            }
            Err(error) if error.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) => {
                Obstacle::Unreadable
            }
            Err(_) => Obstacle::None,
        }
    }
}
