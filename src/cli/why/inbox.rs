//! What is in the inbox under a name, as intake would find it.
//!
//! The rules by which intake leaves files alone are its own. Whether the service may take a file is
//! derived from owner and mode, since the user who asks may have other rights than the service.

use crate::config::{Intake, Paths};
use crate::model::submission::Name;
use crate::pipeline::intake::Rules;
use crate::store::path::is_missing;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What is there.
#[derive(Debug)]
pub(super) enum Found {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// Something that is left alone, for this reason.
    Ignored(String),
    /// Something that the service may not take or read, for this reason.
    Forbidden(String),
    /// A file that would be taken.
    File {
        /// Its size in bytes.
        bytes: u64,
        /// The time since its inode last changed.
        unchanged_for: Duration,
    },
}

/// Finds a name in the inbox.
///
/// # Errors
///
/// The user who asks may not read a folder on the path.
pub(super) fn find(paths: &Paths, intake: &Intake, name: &Name) -> io::Result<Found> {
    let rules = Rules(intake);
    let service = paths.lock().metadata().ok().map(|lock| (lock.uid(), lock.gid()));
    let mut path = paths.inbox();
    let mut below = Name::from_bytes(*b"");
    let mut folder = path.metadata().ok();
    let parts: Vec<&OsStr> =
        name.as_bytes().split(|&byte| byte == b'/').map(OsStr::from_bytes).collect();
    for (i, part) in parts.iter().enumerate() {
        path.push(part);
        below = below.join(part);
        let found = match path.symlink_metadata() {
            Ok(found) => found,
            Err(error) if is_absence(&error) => return Ok(Found::Nothing),
            Err(error) => return Err(error),
        };
        let reason = rules
            .by_name(part)
            .or_else(|| rules.by_type(found.file_type()))
            .or_else(|| rules.by_path(&below, found.is_dir()));
        if let Some(reason) = reason {
            return Ok(Found::Ignored(rules.explain(&below, reason)));
        }
        let is_last = i + 1 == parts.len();
        if let (Some(service), Some(folder)) = (service, &folder)
            && let Some(why) = forbidden(service, folder, &found, &path, is_last)
        {
            return Ok(Found::Forbidden(why));
        }
        if is_last {
            return Ok(if found.is_dir() { Found::Folder } else { file(&found) });
        }
        if !found.is_dir() {
            return Ok(Found::Nothing);
        }
        folder = Some(found);
    }
    Ok(Found::Nothing)
}

fn is_absence(error: &io::Error) -> bool {
    is_missing(error) || error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
}

/// Why the service may not take or read this, if its owner and mode forbid it.
fn forbidden(
    service: (u32, u32),
    folder: &Metadata,
    found: &Metadata,
    path: &Path,
    is_last: bool,
) -> Option<String> {
    const READ: u32 = 4;
    const WRITE: u32 = 2;
    const SEARCH: u32 = 1;
    let path = crate::model::escape::path(path);
    let user = service.0;
    if is_last && !may(service, folder, WRITE | SEARCH) {
        return Some(format!(
            "user {user}, as whom the service runs, may not move files out of its folder"
        ));
    }
    let wanted = if found.is_dir() { READ | SEARCH } else { READ };
    (!may(service, found, wanted))
        .then(|| format!("user {user}, as whom the service runs, may not read {path}"))
}

/// Whether this user and group have the wanted permissions by owner and mode.
fn may((user, group): (u32, u32), found: &Metadata, wanted: u32) -> bool {
    let shift = if found.uid() == user {
        6
    } else if found.gid() == group {
        3
    } else {
        0
    };
    user == 0 || found.mode() >> shift & wanted == wanted
}

fn file(found: &Metadata) -> Found {
    let changed = u64::try_from(found.ctime()).unwrap_or(0);
    let nanoseconds = u32::try_from(found.ctime_nsec()).unwrap_or(0).min(999_999_999);
    let changed = UNIX_EPOCH + Duration::new(changed, nanoseconds);
    let unchanged_for = SystemTime::now().duration_since(changed).unwrap_or_default();
    Found::File { bytes: found.len(), unchanged_for }
}
