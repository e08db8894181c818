//! The files that are to be graded.

use super::Error;
use crate::config::Intake;
use crate::model::submission::Name;
use crate::pipeline::intake::Rules;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file that is to be graded.
#[derive(Debug, PartialEq)]
pub(super) struct Submission {
    /// Its path.
    pub(super) path: PathBuf,
    /// The path as a name.
    pub(super) name: Name,
    /// Its size when it was found.
    pub(super) bytes: u64,
}

impl Submission {
    fn new(path: PathBuf, bytes: u64) -> Submission {
        let name = Name::from_bytes(path.as_os_str().as_bytes());
        Submission { path, name, bytes }
    }
}

/// The files that `paths` name, and those in the folders that they name, in sorted order; and an error
/// for each path that cannot be read.
///
/// In folders only regular files count, no symbolic link is followed, and names are left alone by the
/// rules of the inbox.
pub(super) fn submissions(paths: &[PathBuf], intake: &Intake) -> (Vec<Submission>, Vec<Error>) {
    let mut walk = Walk { rules: Rules(intake), files: Vec::new(), errors: Vec::new() };
    for path in paths {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk.folder(path, 1),
            Ok(metadata) if metadata.is_file() => {
                walk.files.push(Submission::new(path.clone(), metadata.len()));
            }
            Ok(_) => walk.errors.push(Error::io("grade", path)(not_a_file())),
            Err(source) => walk.errors.push(Error::io("read", path)(source)),
        }
    }
    (walk.files, walk.errors)
}

/// Nobody may ever write to a pipe, and a device may never end.
fn not_a_file() -> io::Error {
    let message = "it is neither a regular file nor a folder; `gridmark judge` reads anything";
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

struct Walk<'a> {
    rules: Rules<'a>,
    files: Vec<Submission>,
    errors: Vec<Error>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(source) => return self.errors.push(Error::io("read", folder)(source)),
        };
        entries.retain(|entry| self.rules.by_name(&entry.file_name()).is_none());
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // `.` is how people name the folder that they are in; it says nothing about a file.
            let path = folder.strip_prefix(".").unwrap_or(folder).join(entry.file_name());
            // Unlike the metadata of a path, this does not follow symbolic links.
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() && depth < self.rules.0.depth_max => {
                    self.folder(&path, depth + 1);
                }
                Ok(metadata) if metadata.is_file() => {
                    self.files.push(Submission::new(path, metadata.len()));
                }
                Ok(_) => {}
                Err(source) => self.errors.push(Error::io("read", &path)(source)),
            }
        }
    }
}
