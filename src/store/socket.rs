//! The socket in the state folder, by which commands reach a running service.
//!
//! A socket's path may have 108 bytes at most, and roots may lie deeper. So it is named from an open descriptor of
//! its folder.

use rustix::fs::{CWD, Mode, OFlags, openat};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The name of the socket.
const NAME: &str = "control";

fn short(state: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, state, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd());
    Ok((folder, path.into()))
}

/// Opens the socket, in place of one that an earlier run left. The caller holds the lock of the folder. Only its
/// owner may use it.
///
/// # Errors
///
/// The system refuses.
pub fn listen(state: &Path) -> io::Result<UnixListener> {
    let (_folder, path) = short(state)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes the socket. One that is left says nothing: nobody listens to it.
pub fn remove(state: &Path) {
    if let Ok((_folder, path)) = short(state) {
        let _ = std::fs::remove_file(path);
    }
}

/// Connects to the service of this state folder; `None` if none listens.
///
/// # Errors
///
/// The system refuses.
pub fn connect(state: &Path) -> io::Result<Option<UnixStream>> {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    let connected = short(state).and_then(|(_folder, path)| UnixStream::connect(path));
    match connected {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if matches!(error.kind(), ConnectionRefused | NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}
