//! Paths: names beside a file, and what an error says about a path.

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// The path of a file beside `path`, whose name continues with `end`.
///
/// ```
/// use std::path::Path;
/// let log = gridmark::store::path::beside(Path::new("state/ledger.db"), "-wal");
/// assert_eq!(log, Path::new("state/ledger.db-wal"));
/// ```
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(end);
    beside.into()
}

/// Whether an error says that there is nothing at a path.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether an error says that a folder is gone, or that it or one above it was replaced by a link.
pub fn is_no_folder(error: &io::Error) -> bool {
    is_missing(error) || error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}
