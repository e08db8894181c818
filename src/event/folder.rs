//! The files of an event folder, read once and kept together: what is judged by is what has this hash.

use super::problem::Problems;
use crate::model::{escape, named};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

/// How deep folders may lie in it.
const DEPTH_MAX: usize = 4;

/// How many files it may hold.
const FILES_MAX: usize = 10_000;

/// How many bytes all of them may have.
const BYTES_MAX: u64 = 64 << 20;

/// The files of an event folder, by their paths from it, with `/` between folders.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    files: BTreeMap<String, Vec<u8>>,
    /// What is neither a file nor a folder, and what it is.
    odd: BTreeMap<String, &'static str>,
}

/// What is no file defines nothing.
impl PartialEq for Folder {
    fn eq(&self, other: &Folder) -> bool {
        self.files == other.files
    }
}

impl Eq for Folder {}

/// Why an event folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder in it cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file or folder.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// There is too much in it.
    #[error(
        "{path} holds {what}, which is too much for an event folder: keep other files elsewhere"
    )]
    TooLarge {
        /// The folder.
        path: String,
        /// How much.
        what: String,
    },
}

impl Folder {
    /// Reads a folder. Names that begin with a dot or end in `~` are ignored, and so is what is neither a file
    /// nor a folder, unless a file is expected in its place; links are followed.
    ///
    /// # Errors
    ///
    /// If a file or folder cannot be read, or there is too much.
    pub fn read(folder: &Path) -> Result<Folder, Error> {
        let mut found = Folder::default();
        let mut bytes = 0;
        found.collect(folder, folder, "", 0, &mut bytes)?;
        Ok(found)
    }

    /// A folder with these files, by their paths.
    pub fn of(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Folder {
        Folder { files: files.into_iter().collect(), odd: BTreeMap::new() }
    }

    /// A file.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// All files, by their paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// The hash of all names and bytes.
    pub fn hash(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for (name, bytes) in &self.files {
            for part in [name.as_bytes(), bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize()
    }

    /// A text file, without a byte-order mark. What is missing or no UTF-8 is a problem.
    pub(super) fn text(&self, name: &str, problems: &Problems) -> Option<&str> {
        let Some(bytes) = self.get(name) else {
            let message = match self.odd(name) {
                Some(what) => {
                    format!("this is {what}, not a regular file; put the file itself here")
                }
                None => "there is no such file; create it".to_owned(),
            };
            problems.add(name, None, message);
            return None;
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => Some(text.strip_prefix('\u{feff}').unwrap_or(text)),
            Err(error) => {
                let line = line_at(bytes, error.valid_up_to());
                problems.add(name, Some(line), "this is not UTF-8 text; save the file as UTF-8");
                None
            }
        }
    }

    /// What there is of this name, if it is neither a file nor a folder.
    pub(super) fn odd(&self, name: &str) -> Option<&'static str> {
        self.odd.get(name).copied()
    }

    /// The names of the folders in a folder of it, which ends in `/`.
    pub(super) fn folders_in<'a>(&'a self, folder: &'a str) -> Vec<&'a str> {
        let inside = self.files.keys().filter_map(|name| name.strip_prefix(folder));
        let mut names: Vec<&str> =
            inside.filter_map(|name| Some(name.split_once('/')?.0)).collect();
        names.dedup();
        names
    }

    fn collect(
        &mut self,
        root: &Path,
        folder: &Path,
        within: &str,
        depth: usize,
        bytes: &mut u64,
    ) -> Result<(), Error> {
        let too_large =
            |what: String| Error::TooLarge { path: escape::path(root).to_string(), what };
        let read = |path: &Path| {
            let path = escape::path(path).to_string();
            move |source| Error::Read { path, source }
        };
        if depth > DEPTH_MAX {
            return Err(too_large(format!("folders that lie more than {DEPTH_MAX} deep")));
        }
        for entry in std::fs::read_dir(folder).map_err(read(folder))? {
            let entry = entry.map_err(read(folder))?;
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') || name.ends_with('~') {
                continue;
            }
            let name =
                if within.is_empty() { name.into_owned() } else { format!("{within}/{name}") };
            let metadata = std::fs::metadata(&path).map_err(read(&path))?;
            if metadata.is_dir() {
                self.collect(root, &path, &name, depth + 1, bytes)?;
            } else if metadata.is_file() {
                let mut content = Vec::new();
                let most = BYTES_MAX - *bytes + 1;
                let file = named::open_regular(&path).map_err(read(&path))?;
                *bytes += file.take(most).read_to_end(&mut content).map_err(read(&path))? as u64;
                self.files.insert(name, content);
            } else if let Some(what) = named::odd(metadata.file_type()) {
                self.odd.insert(name, what);
            }
            if *bytes > BYTES_MAX {
                return Err(too_large(format!("more than {} MiB", BYTES_MAX >> 20)));
            }
            if self.files.len() + self.odd.len() > FILES_MAX {
                return Err(too_large(format!("more than {FILES_MAX} files")));
            }
        }
        Ok(())
    }
}

/// The line, from 1, of the byte at `offset`.
pub(super) fn line_at(text: &[u8], offset: usize) -> usize {
    text[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}
