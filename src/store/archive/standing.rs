//! What stands in the way of taking a file from the inbox, though it has settled.

use super::folder::Folder;
use super::taking::kept;
use super::{Archive, Errno, writers};
use crate::model::submission::Name;
use std::ffi::OsString;

/// How it stands with a file that has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may be taken. So may what is no file, or gone: whoever takes it finds out.
    Free,
    /// It may be taken, as far as can be told: the system does not say whether somebody has it open
    /// for writing.
    Unknown,
    /// Somebody has it open for writing.
    Written,
    /// We may not read it.
    Forbidden,
}

/// Looks at files in the inbox. Those of one folder mostly come one after the other, so the folder
/// that was used last is kept open.
pub struct Inspector<'a> {
    archive: &'a Archive,
    folder: Option<(OsString, Folder)>,
}

impl<'a> Inspector<'a> {
    pub(super) fn new(archive: &'a Archive) -> Inspector<'a> {
        Inspector { archive, folder: None }
    }

    /// How it stands with the file of this name.
    pub fn standing(&mut self, name: &Name) -> Standing {
        let (folder, file) = name.split();
        let folder = kept(&mut self.folder, &self.archive.inbox, folder, Folder::open);
        match folder.and_then(|folder| folder.open_file(file)) {
            Ok(file) => match writers::is_written(&file) {
                Some(true) => Standing::Written,
                Some(false) => Standing::Free,
                None => Standing::Unknown,
            },
            // Somebody has a lease on it, as Samba has for a client that keeps what it writes to itself;
            // now they are asked to hand it out.
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Standing::Written,
            Err(error) if error.raw_os_error() == Some(Errno::ACCESS.raw_os_error()) => {
                Standing::Forbidden
            }
            Err(_) => Standing::Free,
        }
    }
}
