//! Free space, and waiting for two file systems at a time.

use crate::model::escape;
use rustix::fs::StatVfsMountFlags;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{Builder, ScopedJoinHandle};

/// The free space at `path`, in bytes.
///
/// # Errors
///
/// Why nothing can be written there, as a message.
pub fn free_bytes(path: &Path) -> Result<u64, String> {
    let found = rustix::fs::statvfs(path).map_err(|error| error.to_string())?;
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err("the file system is read-only".into());
    }
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// How many files and folders can still be created at `path`; `None` if there is no limit, or the system does
/// not say.
pub fn free_inodes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    (found.f_files > 0).then_some(found.f_favail)
}

/// The same error; if it says that there is no space in `folder`, while inodes have run out and not bytes, it
/// says that.
pub fn explained(error: io::Error, folder: &Path) -> io::Error {
    let has_bytes = || free_bytes(folder).is_ok_and(|free| free > 0);
    if error.kind() != io::ErrorKind::StorageFull || free_inodes(folder) != Some(0) || !has_bytes()
    {
        return error;
    }
    let folder = escape::path(folder);
    let what = format!(
        "{error}: its inodes have run out, one of which each file takes; delete small files that nobody needs \
         (df -i {folder})"
    );
    io::Error::new(io::ErrorKind::StorageFull, what)
}

/// Does two things at a time that wait for the disk: a file system makes durable together what it is asked for
/// at the same moment.
pub fn both<A: Send, B>(one: impl Fn() -> A + Sync, other: impl FnOnce() -> B) -> (A, B) {
    std::thread::scope(|scope| {
        let beside = Builder::new().name("sync".into()).spawn_scoped(scope, &one);
        let other = other();
        let one = match beside.map(ScopedJoinHandle::join) {
            Ok(Ok(done)) => done,
            Ok(Err(panic)) => resume_unwind(panic),
            // The system gives no more threads.
            Err(_) => one(),
        };
        (one, other)
    })
}
