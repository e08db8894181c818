//! The files that are to be graded.

use super::Error;
use crate::config::Intake;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file that is to be graded.
#[derive(Debug, PartialEq)]
pub(super) struct Submission {
    /// Where it lies.
    pub(super) path: PathBuf,
    /// Its path as people read it.
    pub(super) name: String,
    /// Its size when it was found.
    pub(super) bytes: u64,
}

impl Submission {
    fn new(path: PathBuf, bytes: u64) -> Submission {
        let name = shown(path.as_os_str().as_bytes());
        Submission { path, name, bytes }
    }
}

/// Bytes as people read them: what is not UTF-8 and control characters are written as `\xNN`, a
/// backslash as `\\`, so that what differs looks different.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                _ if character.is_control() => {
                    let mut utf8 = [0; 4];
                    push_escaped(character.encode_utf8(&mut utf8).as_bytes(), &mut text);
                }
                _ => text.push(character),
            }
        }
        push_escaped(chunk.invalid(), &mut text);
    }
    text
}

fn push_escaped(bytes: &[u8], text: &mut String) {
    text.extend(bytes.iter().map(|byte| format!("\\x{byte:02X}")));
}

/// The files that `paths` name, and those in the folders that they name, in sorted order; and what
/// could not be looked at.
///
/// In folders only regular files count, no symbolic link is followed, and what has a temporary
/// name is left alone, just as in the inbox.
pub(super) fn submissions(paths: &[PathBuf], intake: &Intake) -> (Vec<Submission>, Vec<Error>) {
    let mut walk = Walk { intake, files: Vec::new(), troubles: Vec::new() };
    for path in paths {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk.folder(path, 1),
            Ok(metadata) => {
                walk.files.push(Submission::new(path.clone(), metadata.len()));
            }
            Err(source) => walk.troubles.push(Error::io("read", path)(source)),
        }
    }
    (walk.files, walk.troubles)
}

struct Walk<'a> {
    intake: &'a Intake,
    files: Vec<Submission>,
    troubles: Vec<Error>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(source) => return self.troubles.push(Error::io("read", folder)(source)),
        };
        entries.retain(|entry| !self.intake.is_temporary(entry.file_name().as_bytes()));
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // `.` is how people name the folder that they are in; it says nothing about a file.
            let path = folder.strip_prefix(".").unwrap_or(folder).join(entry.file_name());
            // Unlike the metadata of a path, this does not follow symbolic links.
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() && depth < self.intake.depth_max => {
                    self.folder(&path, depth + 1);
                }
                Ok(metadata) if metadata.is_file() => {
                    self.files.push(Submission::new(path, metadata.len()));
                }
                Ok(_) => {}
                Err(source) => self.troubles.push(Error::io("read", &path)(source)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn names_are_shown_so_that_they_stay_distinct() {
        assert_eq!(shown("équipe 7/p3.txt".as_bytes()), "équipe 7/p3.txt");
        assert_eq!(shown(b"a\xff\x1b[2J\\x"), r"a\xFF\x1B[2J\\x");
        assert_eq!(shown("\u{85}".as_bytes()), r"\xC2\x85");
    }
}
