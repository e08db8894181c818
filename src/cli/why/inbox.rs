//! What lies in the inbox under a name, as intake would see it.

use crate::config::{Intake, Paths};
use crate::model::submission::Name;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What lies there.
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
    /// A file, whose inode changed so long ago.
    File {
        /// Its size in bytes.
        bytes: u64,
        /// How long ago.
        unchanged_for: Duration,
    },
}

/// Looks for a name in the inbox.
///
/// # Errors
///
/// If whoever asks may not look there.
pub(super) fn look(paths: &Paths, intake: &Intake, name: &Name) -> io::Result<Found> {
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
        if let Some(why) = ignored(intake, &below, &found) {
            return Ok(Found::Ignored(why));
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
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(rustix::io::Errno::NAMETOOLONG.raw_os_error())
}

/// Why intake leaves this alone, if it does: the rules of its walk, one part of the path at a time.
fn ignored(intake: &Intake, name: &Name, found: &Metadata) -> Option<String> {
    let part = name.split().1;
    let shown = Name::from_bytes(part.as_bytes());
    if part.as_bytes().starts_with(crate::store::archive::HIDDEN_PREFIX.as_bytes()) {
        return Some(format!("{shown} is a name that gridmark uses itself"));
    }
    if let Some(pattern) = intake.temporary_by(part.as_bytes()) {
        return Some(format!(
            "{shown} is the name of a temporary file, by the pattern `{pattern}` of \
             intake.temporary"
        ));
    }
    let kind = found.file_type();
    let what = if kind.is_symlink() {
        Some("a symbolic link")
    } else if kind.is_fifo() {
        Some("a FIFO")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        (!kind.is_file() && !kind.is_dir()).then_some("a device")
    };
    if let Some(what) = what {
        return Some(format!("{shown} is {what}, and only files are graded"));
    }
    let depth = name.as_bytes().iter().filter(|&&byte| byte == b'/').count();
    let bytes = name.as_bytes().len();
    if kind.is_dir() && depth >= intake.depth_max {
        Some(format!(
            "the folder {name} lies deeper than intake.depth_max = {} allows",
            intake.depth_max
        ))
    } else if bytes > intake.name_bytes_max {
        Some(format!(
            "its path under the inbox has {bytes} bytes, more than intake.name_bytes_max = {}",
            intake.name_bytes_max
        ))
    } else {
        None
    }
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
