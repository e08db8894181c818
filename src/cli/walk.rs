//! The files that are to be graded.

use super::Error;
use super::target::{Target, open_ledger};
use crate::config::Settings;
use crate::model::submission::{Name, Rules};
use crate::pipeline::intake::Rules as InboxRules;
use crate::service;
use crate::store::ledger;
use crate::store::lock::LOCK_NAME;
use crate::store::reports::rebuild;
use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file that is to be graded.
#[derive(Debug, PartialEq)]
pub(super) struct Submission {
    /// Its path.
    pub(super) path: PathBuf,
    /// Its name: the path, unless the service knows the file.
    pub(super) name: Name,
    /// Which submission of that name it is.
    pub(super) attempt: u32,
    /// The rules that decide, together with its bytes, about its rows.
    pub(super) rules: Rules,
    /// Its size when it was found.
    pub(super) bytes: u64,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The files, in sorted order.
    pub(super) files: Vec<Submission>,
    /// Files and folders whose names are left alone in the inbox.
    pub(super) ignored: Vec<PathBuf>,
    /// An error for each path that cannot be read.
    pub(super) errors: Vec<Error>,
}

/// The files that `paths` name, and those in the folders that they name. A file in the archive or in
/// quarantine of these settings' service is the submission that the service knows.
///
/// In folders only regular files count, no symbolic link is followed, and names are left alone by the
/// rules of the inbox.
///
/// # Errors
///
/// The service's ledger is needed and cannot be read.
pub(super) fn submissions(paths: &[PathBuf], settings: &Settings) -> Result<Found, Error> {
    let rules = InboxRules(&settings.intake);
    let mut walk = Walk { rules, graded_by: rebuild::rules(settings), found: Found::default() };
    for path in paths {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => walk.folder(path, 1),
            Ok(metadata) if metadata.is_file() => walk.file(path.clone(), metadata.len()),
            Ok(_) => walk.found.errors.push(Error::io("grade", path)(not_a_file())),
            Err(source) => walk.found.errors.push(Error::io("read", path)(source)),
        }
    }
    let mut found = walk.found;
    recognise(&mut found.files, settings)?;
    Ok(found)
}

/// Gives files in archive and quarantine the name, the attempt and the rules of their submissions.
fn recognise(files: &mut [Submission], settings: &Settings) -> Result<(), Error> {
    let mut wanted: HashMap<(Name, bool), Vec<usize>> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        let place = match Target::resolve(&settings.paths, &file.path) {
            Target::Archive(place) => (place, false),
            Target::Quarantine(place) => (place, true),
            _ => continue,
        };
        wanted.entry(place).or_default().push(at);
    }
    if wanted.is_empty() {
        return Ok(());
    }
    let Some(ledger) = open_ledger(&settings.paths)? else {
        return Ok(());
    };
    // A later submission may have taken the place of one that failed.
    let mut known: HashMap<usize, i64> = HashMap::new();
    let read = ledger.records().for_each_place(|id, place, has_failed| {
        for &at in wanted.get(&(place.clone(), has_failed)).into_iter().flatten() {
            known.insert(at, id);
        }
        Ok::<(), ledger::Error>(())
    });
    read.map_err(service::Error::from)?;
    let (at, ids): (Vec<usize>, Vec<i64>) = known.into_iter().unzip();
    let records = ledger.records().with_ids(&ids).map_err(service::Error::from)?;
    for (at, record) in at.into_iter().zip(records) {
        let file = &mut files[at];
        file.rules = record.rules().unwrap_or(file.rules);
        file.attempt = record.claimed.attempt;
        file.name = record.claimed.name;
    }
    Ok(())
}

/// Nobody may ever write to a pipe, and a device may never end.
fn not_a_file() -> io::Error {
    let message = "it is neither a regular file nor a folder; `gridmark judge` reads anything";
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

struct Walk<'a> {
    rules: InboxRules<'a>,
    graded_by: Rules,
    found: Found,
}

impl Walk<'_> {
    fn file(&mut self, path: PathBuf, bytes: u64) {
        let name = Name::from_bytes(path.as_os_str().as_bytes());
        self.found.files.push(Submission { path, name, attempt: 1, rules: self.graded_by, bytes });
    }

    fn folder(&mut self, folder: &Path, depth: usize) {
        let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(source) => return self.found.errors.push(Error::io("read", folder)(source)),
        };
        entries.retain(|entry| entry.file_name() != LOCK_NAME);
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            // `.` is how people name the folder that they are in; it says nothing about a file.
            let path = folder.strip_prefix(".").unwrap_or(folder).join(entry.file_name());
            if self.rules.by_name(&entry.file_name()).is_some() {
                self.found.ignored.push(path);
                continue;
            }
            // Unlike the metadata of a path, this does not follow symbolic links.
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() && depth < self.rules.0.depth_max => {
                    self.folder(&path, depth + 1);
                }
                Ok(metadata) if metadata.is_file() => self.file(path, metadata.len()),
                Ok(_) => {}
                Err(source) => self.found.errors.push(Error::io("read", &path)(source)),
            }
        }
    }
}
