//! A copy of ledger, archive, quarantine and reports as they were at one moment, also while the service
//! runs. The copy is a root of its own: it can be verified and served.

use crate::config::Settings;
use crate::model::escape;
use crate::model::submission::Name;
use crate::store::archive::{Archive, note_name};
use crate::store::ledger::{self, Ledger, Report};
use crate::store::owner::keep;
use crate::store::recovery::look_for_loss;
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The modes of what is made, until it has that of what it is a copy of.
const OWN_FOLDER: u32 = 0o700;
const OWN_FILE: u32 = 0o600;

/// Why no backup could be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is something already.
    #[error("{} is there already; a backup is made into a new folder", escape::path(path))]
    Occupied {
        /// Where.
        path: PathBuf,
    },
    /// There is no folder to make it in.
    #[error(
        "there is no folder {}, in which {} would be made; is its disk mounted? If it is to be \
         there, make it first",
        escape::path(within),
        escape::path(path)
    )]
    NoParent {
        /// Where.
        path: PathBuf,
        /// The folder that is missing.
        within: PathBuf,
    },
    /// It would be within what it is a backup of.
    #[error(
        "{} is within {}, which belongs to the service; take another folder",
        escape::path(path),
        escape::path(within)
    )]
    Within {
        /// Where.
        path: PathBuf,
        /// In which folder.
        within: PathBuf,
    },
    /// The service has never run.
    #[error("no service has run here: there is no ledger in {}", escape::path(path))]
    NoLedger {
        /// The folder that should hold it.
        path: PathBuf,
    },
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// What is to be copied cannot be read.
    #[error("cannot read {}", escape::path(path))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be copied.
    #[error("cannot copy to {}", escape::path(path))]
    Io {
        /// The copy.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What was copied, and what was not to be had.
#[derive(Debug, Default)]
pub struct Copied {
    /// Files of submissions.
    pub files: u64,
    /// Reports.
    pub reports: u64,
    /// Places of submissions' files where there was none.
    pub missing: Vec<PathBuf>,
    /// Reports that are not whole; from ledger and archive they can be written anew.
    pub damaged: Vec<PathBuf>,
}

/// What is copied, and how.
struct Backup<'a> {
    archive: &'a Archive,
    from: [PathBuf; 2],
    into: [PathBuf; 2],
    /// Whether files get a second name instead of being copied.
    links: bool,
}

/// Copies all that is committed into the folder `into`, which is made. With `links` the files of
/// submissions get a second name there instead of a copy, where that is possible. `on_file` is
/// called for each of them.
///
/// # Errors
///
/// If something cannot be read or written; what was copied by then stays.
pub fn backup(
    settings: &Settings,
    into: &Path,
    links: bool,
    mut on_file: impl FnMut(),
) -> Result<Copied, Error> {
    let paths = &settings.paths;
    let into =
        std::path::absolute(into).map_err(|source| Error::Io { path: into.to_owned(), source })?;
    let folders =
        [paths.inbox(), paths.archive(), paths.quarantine(), paths.reports(), paths.state()];
    if let Some(within) = folders.iter().find(|folder| into.starts_with(folder)) {
        return Err(Error::Within { path: into, within: within.clone() });
    }
    // All the rest is what this copy tells: whatever is taken, graded or added since is not in it.
    let ledger = begin(settings, &folders, &into)?;
    let archive = Archive::of(paths.inbox(), paths.archive(), paths.quarantine());
    let backup = Backup {
        archive: &archive,
        from: [paths.archive(), paths.quarantine()],
        into: [into.join("archive"), into.join("quarantine")],
        links,
    };
    let mut copied = Copied::default();
    ledger.for_each_place(|place, has_failed| {
        backup.submission(place, has_failed, &mut copied)?;
        on_file();
        Ok::<(), Error>(())
    })?;
    for claim in ledger.open_claims()? {
        // It may not have been moved yet: then it is still in the inbox, and not part of a backup.
        let place = paths.archive().join(claim.claimed.archived_as.as_path());
        copied.missing.retain(|missing| *missing != place);
    }
    for report in ledger.reports()?.into_iter().filter(|report| report.length > 0) {
        let reports = paths.reports();
        match copy_report(&reports, &into.join("reports"), &report)? {
            true => copied.reports += 1,
            false => copied.damaged.push(reports.join(report.path.as_path())),
        }
    }
    let synced = File::open(&into).and_then(|folder| Ok(rustix::fs::syncfs(folder.as_fd())?));
    synced.map_err(|source| Error::Io { path: into, source })?;
    Ok(copied)
}

/// Makes the root of the copy, and the ledger in it, which is then open.
fn begin(settings: &Settings, folders: &[PathBuf; 5], into: &Path) -> Result<Ledger, Error> {
    let paths = &settings.paths;
    let original = paths.ledger();
    look_for_loss(&original, &paths.reports())?;
    let Some(ledger) = Ledger::open_to_read(&original)? else {
        return Err(Error::NoLedger { path: paths.state() });
    };
    make_empty(into)?;
    let names = ["inbox", "archive", "quarantine", "reports", "state"];
    for (name, folder) in names.into_iter().zip(folders) {
        make_folder(folder, &into.join(name))?;
    }
    let copy = into.join("state/ledger.db");
    ledger.copy_to(&copy)?;
    make_alike(&original, &copy)?;
    match Ledger::open_to_read(&copy)? {
        Some(ledger) => Ok(ledger),
        None => Err(Error::NoLedger { path: into.join("state") }),
    }
}

fn make_empty(into: &Path) -> Result<(), Error> {
    let failed = |source| Error::Io { path: into.to_owned(), source };
    match std::fs::read_dir(into) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::Occupied { path: into.to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // What is in it, only whoever makes it may hand on.
            DirBuilder::new().mode(OWN_FOLDER).create(into).map_err(|source| match into.parent() {
                // A whole path is never made: it would hide that a disk is not mounted.
                Some(within) if source.kind() == io::ErrorKind::NotFound => {
                    Error::NoParent { path: into.to_owned(), within: within.to_owned() }
                }
                _ => failed(source),
            })
        }
        Err(_) if into.symlink_metadata().is_ok() => Err(Error::Occupied { path: into.to_owned() }),
        Err(error) => Err(failed(error)),
    }
}

/// Makes a folder of the copy, of the same owner and mode as the one that is copied.
fn make_folder(from: &Path, to: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().mode(OWN_FOLDER).create(to);
    made.map_err(|source| Error::Io { path: to.to_owned(), source })?;
    make_alike(from, to)
}

/// Makes the folders below `to` that lead to this file, as they are below `from`.
fn make_folders(from: &Path, to: &Path, file: &Name) -> Result<(), Error> {
    let (mut from, mut to) = (from.to_owned(), to.to_owned());
    for part in Path::new(file.split().0) {
        from.push(part);
        to.push(part);
        if to.symlink_metadata().is_err() {
            make_folder(&from, &to)?;
        }
    }
    Ok(())
}

/// Gives what was made the owner and the mode of what it is a copy of.
fn make_alike(from: &Path, to: &Path) -> Result<(), Error> {
    let found = match rustix::fs::stat(from) {
        // A folder that is not there, or not any more, is the owner's alone in the copy.
        Err(Errno::NOENT) => return Ok(()),
        found => found.map_err(|why| Error::Read { path: from.to_owned(), source: why.into() })?,
    };
    let kept = File::open(to).and_then(|made| keep(made, &found));
    kept.map_err(|source| Error::Io { path: to.to_owned(), source })
}

/// Copies what there is of a file, up to `length` bytes, with its owner and mode; how many bytes.
fn copy_file(file: &File, to: &Path, length: u64) -> Result<u64, Error> {
    let copied = (|| {
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(OWN_FILE).open(to)?;
        let copied = io::copy(&mut file.take(length), &mut copy)?;
        keep(&copy, &rustix::fs::fstat(file)?)?;
        Ok(copied)
    })();
    copied.map_err(|source| Error::Io { path: to.to_owned(), source })
}

/// Whether there is a file.
fn is_file(path: &Path) -> Result<bool, Error> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), NotADirectory | NotFound) => Ok(false),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
        Ok(found) => Ok(found.is_file()),
    }
}

impl Backup<'_> {
    fn submission(&self, place: &Name, has_failed: bool, copied: &mut Copied) -> Result<(), Error> {
        let [archive, quarantine] = [0, 1].map(|at| move |name: &Name| self.file(at, name));
        let done = if has_failed {
            quarantine(&note_name(place))?;
            // A start that follows moves it into quarantine, or it was handed in again.
            quarantine(place)? || archive(place)?
        } else {
            archive(place)?
        };
        if done {
            copied.files += 1;
        } else if !has_failed {
            copied.missing.push(self.from[0].join(place.as_path()));
        }
        Ok(())
    }

    /// Copies a file of the archive (0) or of quarantine (1); whether there was one.
    fn file(&self, at: usize, name: &Name) -> Result<bool, Error> {
        let (from, to) = (self.from[at].join(name.as_path()), self.into[at].join(name.as_path()));
        if !is_file(&from)? {
            return Ok(false);
        }
        make_folders(&self.from[at], &self.into[at], name)?;
        if self.links && std::fs::hard_link(&from, &to).is_ok() {
            return Ok(true);
        }
        let opened = match at {
            0 => self.archive.read(name),
            _ => self.archive.read_quarantined(name),
        };
        match opened {
            Ok(file) => copy_file(&file, &to, u64::MAX).map(|_| true),
            // It was moved meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::Read { path: from, source }),
        }
    }
}

/// Copies the first `length` bytes of a report; whether it has so many.
fn copy_report(reports: &Path, into: &Path, report: &Report) -> Result<bool, Error> {
    let from = reports.join(report.path.as_path());
    if !is_file(&from)? {
        return Ok(false);
    }
    make_folders(reports, into, &report.path)?;
    let file = File::open(&from).map_err(|source| Error::Read { path: from, source })?;
    let copied = copy_file(&file, &into.join(report.path.as_path()), report.length)?;
    Ok(copied == report.length)
}
