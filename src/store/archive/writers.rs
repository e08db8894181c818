//! Finds out whether a process has a file open for writing.
//!
//! Linux grants a read lease on a file only while no process has it open for writing (`fcntl(2)`,
//! `F_SETLEASE`), to the file's owner or a process with `CAP_LEASE`, on most file systems. No crate
//! among our dependencies offers leases, so this is the one system call made directly.

#![expect(unsafe_code, reason = "no crate among the dependencies asks for a lease")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `F_SETSIG` of `fcntl(2)`: sets the signal that asks the holder of a lease to give it up.
const F_SETSIG: libc::c_int = 10;

/// Whether a process has this file, which is open here for reading, open for writing; `None` if the
/// system does not say.
pub fn is_written(file: &File) -> Option<bool> {
    // A process that opens the file for writing now waits until the lease is given up, and we get a
    // signal: SIGURG, which is ignored by default, instead of SIGIO, which ends the process.
    control(file, F_SETSIG, libc::SIGURG).ok()?;
    match control(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            // If this fails, closing the file gives up the lease.
            let _ = control(file, libc::F_SETLEASE, libc::F_UNLCK);
            Some(false)
        }
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
    use super::{F_SETSIG, control, is_written};
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
        control(&other, F_SETSIG, libc::SIGURG).expect("a signal");
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
