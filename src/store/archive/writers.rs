//! Whether somebody has a file open for writing.
//!
//! Linux grants a lease for reading on a file that nobody has open for writing, and on no other (`fcntl(2)`,
//! `F_SETLEASE`). It does so for the file's owner, and for who has `CAP_LEASE`; not every file system
//! can. No crate among our dependencies asks for one.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The signal that tells the holder of a lease that somebody waits for it: `F_SETSIG` of `fcntl(2)`.
const F_SETSIG: libc::c_int = 10;

/// Whether somebody has this file, open here for reading, open for writing too; `None` if the system
/// does not tell.
pub fn is_written(file: &File) -> Option<bool> {
    // Who opens the file for writing while we have the lease waits until we give it back, and we are
    // told by a signal that, if nobody asked for it, does nothing; the usual one ends the process.
    control(file, F_SETSIG, libc::SIGURG).ok()?;
    match control(file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            // If this fails, closing the file gives it back.
            let _ = control(file, libc::F_SETLEASE, libc::F_UNLCK);
            Some(false)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(true),
        Err(_) => None,
    }
}

fn control(file: &File, command: libc::c_int, argument: libc::c_int) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is, and the commands above take a number.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{F_SETSIG, control, is_written};
    use crate::model::submission::Name;
    use crate::store::archive::{Archive, Standing};
    use std::fs::File;

    #[test]
    fn a_file_that_somebody_keeps_to_themselves_is_written() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| root.path().join(name);
        let archive = Archive::open(folder("inbox"), folder("archive"), folder("quarantine"));
        let archive = archive.expect("an archive");
        std::fs::write(folder("inbox/p"), "text").expect("a file");
        let theirs = File::options().read(true).write(true).open(folder("inbox/p")).expect("it");
        control(&theirs, F_SETSIG, libc::SIGURG).expect("a signal");
        if control(&theirs, libc::F_SETLEASE, libc::F_WRLCK).is_err() {
            return eprintln!("no leases on this file system: not tested");
        }
        let name = Name::from_bytes(*b"p");
        assert_eq!(archive.inspector().standing(&name), Standing::Written);
        drop(theirs);
        assert_eq!(archive.inspector().standing(&name), Standing::Free);
    }

    #[test]
    fn a_file_is_written_as_long_as_somebody_has_it_open_for_that() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("p");
        let writer = File::create(&path).expect("a file");
        let reader = File::open(&path).expect("the file");
        if is_written(&reader).is_none() {
            return eprintln!("no leases on this file system: not tested");
        }
        assert_eq!(is_written(&reader), Some(true));
        let second = writer.try_clone().expect("a second one");
        drop(writer);
        assert_eq!(is_written(&reader), Some(true));
        drop(second);
        assert_eq!(is_written(&reader), Some(false));
        // And nothing of it is left that would hold up the next writer.
        drop(File::options().append(true).open(&path).expect("opened at once"));
        assert_eq!(is_written(&reader), Some(false));
    }
}
