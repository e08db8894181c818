//! Files that people name: settings, puzzles, lists of names, the files of an event.
//!
//! A path may lead to a FIFO into which nobody ever writes, or to a device that has no end, and then a command would
//! never end, or a service would stand still. So only regular files are opened, and only so much is read.
//! A pipe or terminal that is already open (`<(command)` in a shell, `/dev/stdin`) is read like a file: somebody
//! has it at its other end.

use super::escape;
use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Opens a file for reading, or what the caller has open under a name such as `/dev/fd/3`.
///
/// ```
/// let error = gridmark::model::named::open("/dev/zero".as_ref()).unwrap_err();
/// assert_eq!(error.to_string(), "it is a device, not a regular file");
/// ```
///
/// # Errors
///
/// If it cannot be opened, or is no regular file: then the error says what it is.
pub fn open(path: &Path) -> io::Result<File> {
    if is_open_already(path) { File::open(path) } else { open_regular(path) }
}

/// Opens a regular file for reading. Never waits.
///
/// # Errors
///
/// If it cannot be opened, or is no regular file: then the error says what it is.
pub fn open_regular(path: &Path) -> io::Result<File> {
    // To open a device may do something already.
    let found = path.metadata().map_err(|error| match dangling(path) {
        Some(to) => {
            let message = format!("it is a link to {}, which does not exist", escape::path(&to));
            io::Error::new(error.kind(), message)
        }
        None => error,
    })?;
    check(found.file_type())?;
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblock).open(path)?;
    // It may be another one by now.
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// All bytes of a file that [`open`] opens.
///
/// # Errors
///
/// If it cannot be opened or read, or has more bytes than `bytes_max`.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    read_all(open(path)?, bytes_max)
}

/// All bytes of what is open.
///
/// # Errors
///
/// If it cannot be read, or has more bytes than `bytes_max`.
pub fn read_all(file: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("it has more than {bytes_max} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// What an entry of a folder is that is neither a regular file nor a folder.
pub fn odd(kind: FileType) -> Option<&'static str> {
    Some(if kind.is_file() || kind.is_dir() {
        return None;
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    })
}

fn check(kind: FileType) -> io::Result<()> {
    let what = match odd(kind) {
        _ if kind.is_file() => return Ok(()),
        _ if kind.is_dir() => "a folder",
        what => what.unwrap_or("something else"),
    };
    let message = format!("it is {what}, not a regular file");
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// What a link at `path` leads to, if it is one and that does not exist.
pub fn dangling(path: &Path) -> Option<PathBuf> {
    let to = std::fs::read_link(path).ok()?;
    matches!(path.try_exists(), Ok(false)).then_some(to)
}

fn is_open_already(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"];
    path == Path::new("/dev/stdin") || folders.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_are_opened_and_errors_say_what_else_there_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "text").expect("a file");
        let fifo = rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), rustix::fs::Mode::RWXU);
        fifo.expect("a FIFO");
        let _listener = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
        for (link, to) in
            [("zero", "/dev/zero"), ("gone", "nowhere"), ("round", "round"), ("good", "file")]
        {
            symlink(to, at(link)).expect("a link");
        }
        for name in ["file", "good"] {
            assert_eq!(read(&at(name), 4).expect("a file"), b"text");
        }
        let why = |name: &str| read(&at(name), 4).expect_err("no file").to_string();
        assert_eq!(why("fifo"), "it is a FIFO, not a regular file");
        assert_eq!(why("socket"), "it is a socket, not a regular file");
        assert_eq!(why("zero"), "it is a device, not a regular file");
        assert_eq!(why("."), "it is a folder, not a regular file");
        assert!(why("round").starts_with("Too many levels of symbolic links"), "{}", why("round"));
        assert_eq!(why("gone"), "it is a link to nowhere, which does not exist");
        assert!(why("none").starts_with("No such file"), "{}", why("none"));
        assert_eq!(
            read(&at("file"), 3).expect_err("too large").to_string(),
            "it has more than 3 bytes"
        );
    }

    #[test]
    fn a_pipe_that_is_open_already_is_read() {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        writer.write_all(b"text").expect("written");
        drop(writer);
        assert_eq!(read(path.as_ref(), 4).expect("text"), b"text");
    }
}
