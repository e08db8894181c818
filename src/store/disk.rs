//! The room that is left on a disk, and waiting for it.

use rustix::fs::StatVfsMountFlags;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{Builder, ScopedJoinHandle};

/// The room that is left for us where `path` lies, in bytes.
///
/// # Errors
///
/// Why nothing can be written there, in words.
pub fn free_bytes(path: &Path) -> Result<u64, String> {
    let found = rustix::fs::statvfs(path).map_err(|error| error.to_string())?;
    if found.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err("the file system is read-only".into());
    }
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// How many files and folders can still be made where `path` lies; `None` if there is no such limit,
/// or it is not told.
pub fn free_inodes(path: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(path).ok()?;
    (found.f_files > 0).then_some(found.f_favail)
}

/// Waits for the disk in two ways at a time: what is asked of a file system at the same moment, it
/// makes durable together.
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
