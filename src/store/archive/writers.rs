//! Finds out whether a process has a file open for writing.
//!
//! Linux grants a read lease on a file only while no process has it open for writing (`fcntl(2)`,
//! `F_SETLEASE`), to the file's owner or a process with `CAP_LEASE`, on most file systems. No crate
//! among our dependencies offers leases, so this is the one system call made directly.

#![expect(unsafe_code, reason = "no crate among the dependencies asks for a lease")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Once;

/// Whether a process has this file, which is open here for reading, open for writing; `None` if the
/// system does not say.
pub fn is_written(file: &File) -> Option<bool> {
    let found = take_lease(file);
    if found == Some(false) {
        // If this fails, closing the file gives up the lease.
        let _ = control(file, libc::F_SETLEASE, libc::F_UNLCK);
    }
    found
}

/// As [`is_written`], of a file that nobody reads any more: closing it gives up the lease.
pub(super) fn was_written(file: File) -> Option<bool> {
    take_lease(&file)
}

fn take_lease(file: &File) -> Option<bool> {
    // A process that opens the file for writing now waits until the lease is given up, and we get a
    // signal, which ends the process if it is not ignored. Ignored once, since a call for each file costs time.
    static IGNORED: Once = Once::new();
    // SAFETY: ignoring a signal runs no code of ours, and no other part of the program handles this one.
    IGNORED.call_once(|| _ = unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) });
    match control(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => Some(false),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(true),
        Err(_) => None,
    }
}

fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: `file` keeps the descriptor open during the call, and both commands take an integer.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{control, is_written, take_lease};
    use crate::model::submission::Name;
    use crate::store::archive::{Archive, Obstacle};
    use std::fs::File;

    const NEEDS_LEASES: &str = "this test needs leases: set TMPDIR to a local file system";

    #[test]
    fn a_file_with_a_write_lease_counts_as_written() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| root.path().join(name);
        let archive = Archive::open(folder("inbox"), folder("archive"), folder("quarantine"));
        let archive = archive.expect("an archive");
        std::fs::write(folder("inbox/p"), "text").expect("a file");
        let other = File::options().read(true).write(true).open(folder("inbox/p")).expect("it");
        // This ignores the signal that asks for the lease.
        let _ = take_lease(&other);
        control(&other, libc::F_SETLEASE, libc::F_WRLCK).expect(NEEDS_LEASES);
        let name = Name::from_bytes(*b"p");
        assert_eq!(archive.inspector().obstacle(&name), Obstacle::OpenForWriting);
        drop(other);
        assert_eq!(archive.inspector().obstacle(&name), Obstacle::None);
    }

    #[test]
    fn a_file_counts_as_written_while_it_is_open_for_writing() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p");
        let writer = File::create(&path).expect("a file");
        let reader = File::open(&path).expect("the file");
        assert!(is_written(&reader).expect(NEEDS_LEASES));
        let second = writer.try_clone().expect("a second one");
        drop(writer);
        assert_eq!(is_written(&reader), Some(true));
        drop(second);
        assert_eq!(is_written(&reader), Some(false));
        // No lease is left that would block the next writer.
        drop(File::options().append(true).open(&path).expect("opened at once"));
        assert_eq!(is_written(&reader), Some(false));
    }
}
