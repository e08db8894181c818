//! Copies ledger, archive, quarantine and reports as of one moment, also while the service runs. The copy
//! is a root of its own: `verify` can check it and `serve` can run on it.
//!
//! The ledger is copied first, in one transaction, and the copy decides what else belongs to the backup:
//! the file of every submission in it, and of each report as many bytes as it says are committed. That
//! is consistent without stopping the service, since archived files do not change and reports only grow.

use crate::config::{Paths, Settings};
use crate::model::submission::Name;
use crate::model::{escape, named};
use crate::store::archive::{Archive, note_name};
use crate::store::ledger::{self, Ledger, Report, check_not_lost};
use crate::store::owner::{self, keep};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The modes of new folders and files, until they get the mode of the original.
const OWN_FOLDER: u32 = 0o700;
const OWN_FILE: u32 = 0o600;

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder exists and is not empty.
    #[error("{} exists already; name a new folder for the backup", escape::path(path))]
    Occupied {
        /// The folder for the copy.
        path: PathBuf,
    },
    /// The folder above it does not exist.
    #[error(
        "cannot create {}: the folder {} does not exist; mount its disk, or create the folder first",
        escape::path(path),
        escape::path(within)
    )]
    NoParent {
        /// The folder for the copy.
        path: PathBuf,
        /// The folder that is missing.
        within: PathBuf,
    },
    /// It would lie in a folder that it is a backup of.
    #[error(
        "{} lies in {}, which is a folder of the service; name another one",
        escape::path(path),
        escape::path(within)
    )]
    Within {
        /// The folder for the copy.
        path: PathBuf,
        /// The service's folder in which it would lie.
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
    /// An original cannot be read.
    #[error("cannot read {}", escape::path(path))]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The copy cannot be written.
    #[error("cannot copy to {}", escape::path(path))]
    Io {
        /// The file or folder of the copy.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// What was copied, and what was missing.
#[derive(Debug, Default)]
pub struct Copied {
    /// The number of submissions' files.
    pub files: u64,
    /// The number of reports.
    pub reports: u64,
    /// The paths of submissions' files that did not exist.
    pub missing: Vec<PathBuf>,
    /// Reports that are shorter than what is committed; ledger and archive can rebuild them.
    pub damaged: Vec<PathBuf>,
}

/// The original and the copy.
struct Backup<'a> {
    archive: &'a Archive,
    /// The folders of archive and quarantine, in this order.
    from: [PathBuf; 2],
    into: [PathBuf; 2],
    /// Whether to make hard links instead of copies, where the file system can.
    links: bool,
}

/// Copies everything committed into `into`, a folder that is created or is empty. With `links`, files of
/// submissions become hard links instead of copies where that is possible. Calls `on_file` for each of
/// them.
///
/// # Errors
///
/// Something cannot be read or written; what was copied until then stays.
pub fn backup(
    settings: &Settings,
    into: &Path,
    links: bool,
    mut on_file: impl FnMut(),
) -> Result<Copied, Error> {
    let paths = &settings.paths;
    let into =
        std::path::absolute(into).map_err(|source| Error::Io { path: into.to_owned(), source })?;
    if let Some(within) = folders(paths).into_iter().find(|folder| into.starts_with(folder)) {
        return Err(Error::Within { path: into, within });
    }
    let copy = Paths { root: into, ..Paths::default() };
    let ledger = copy_ledger(paths, &copy)?;
    let archive = Archive::of(paths.inbox(), paths.archive(), paths.quarantine());
    let backup = Backup {
        archive: &archive,
        from: [paths.archive(), paths.quarantine()],
        into: [copy.archive(), copy.quarantine()],
        links,
    };
    let mut copied = Copied::default();
    ledger.records().for_each_place(|_, place, has_failed| {
        backup.submission(place, has_failed, &mut copied)?;
        on_file();
        Ok::<(), Error>(())
    })?;
    for claim in ledger.claims().open()? {
        // A claimed file may still be in the inbox, and then it is not part of the backup.
        let place = paths.archive().join(claim.claimed.archived_as.as_path());
        copied.missing.retain(|missing| *missing != place);
    }
    for report in ledger.reports().all()?.into_iter().filter(|report| report.length > 0) {
        let reports = paths.reports();
        match copy_report(&reports, &copy.reports(), &report)? {
            true => copied.reports += 1,
            false => copied.damaged.push(reports.join(report.path.as_path())),
        }
    }
    copy_event(&ledger, paths, &copy)?;
    let synced = File::open(&copy.root).and_then(|root| Ok(rustix::fs::syncfs(root.as_fd())?));
    synced.map_err(|source| Error::Io { path: copy.root, source })?;
    Ok(copied)
}

/// Writes the event folder that is in force: the one that the copied ledger was made by, whatever somebody is
/// changing in the original.
fn copy_event(ledger: &Ledger, original: &Paths, copy: &Paths) -> Result<(), Error> {
    let definitions = ledger.definitions();
    let in_force = definitions.in_force()?.map(|number| definitions.get(number)).transpose()?;
    let Some(source) = in_force.flatten() else { return Ok(()) };
    make_folder(&original.event(), &copy.event())?;
    for (path, bytes) in source.folder.files() {
        let to = copy.event().join(path);
        let folder = to.parent().unwrap_or(&copy.root);
        let written = owner::make_folders(folder).and_then(|()| {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create_new(true).mode(OWN_FILE).open(&to)?;
            file.write_all(bytes)?;
            owner::give(&file, &rustix::fs::stat(folder)?)
        });
        written.map_err(|source| Error::Io { path: to, source })?;
    }
    Ok(())
}

/// The five folders of a root.
fn folders(paths: &Paths) -> [PathBuf; 5] {
    [paths.inbox(), paths.archive(), paths.quarantine(), paths.reports(), paths.state()]
}

/// Creates the folders of the copy, with the ledger; returns that ledger, open for reading.
fn copy_ledger(original: &Paths, copy: &Paths) -> Result<Ledger, Error> {
    check_not_lost(&original.ledger(), &original.reports())?;
    let Some(ledger) = Ledger::open_to_read(&original.ledger())? else {
        return Err(Error::NoLedger { path: original.state() });
    };
    make_empty(&copy.root)?;
    for (from, to) in folders(original).iter().zip(&folders(copy)) {
        make_folder(from, to)?;
    }
    ledger.copy_to(&copy.ledger())?;
    copy_owner_and_mode(&original.ledger(), &copy.ledger())?;
    match Ledger::open_to_read(&copy.ledger())? {
        Some(ledger) => Ok(ledger),
        None => Err(Error::NoLedger { path: copy.state() }),
    }
}

/// Creates the folder for the copy, or accepts an empty one.
fn make_empty(into: &Path) -> Result<(), Error> {
    let failed = |source| Error::Io { path: into.to_owned(), source };
    match std::fs::read_dir(into) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::Occupied { path: into.to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Only the user who makes the backup may look into it.
            DirBuilder::new().mode(OWN_FOLDER).create(into).map_err(|source| match into.parent() {
                // Missing parents are not created: that would hide that a disk is not mounted.
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

/// Creates a folder of the copy with the owner and mode of the original.
fn make_folder(from: &Path, to: &Path) -> Result<(), Error> {
    let made = DirBuilder::new().mode(OWN_FOLDER).create(to);
    made.map_err(|source| Error::Io { path: to.to_owned(), source })?;
    copy_owner_and_mode(from, to)
}

/// Creates the folders below `to` that lead to this file, like those below `from`.
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

/// Gives the copy `to` the owner and mode of `from`.
fn copy_owner_and_mode(from: &Path, to: &Path) -> Result<(), Error> {
    let found = match rustix::fs::stat(from) {
        // Without an original, the copy stays open to its owner only.
        Err(Errno::NOENT) => return Ok(()),
        found => found.map_err(|why| Error::Read { path: from.to_owned(), source: why.into() })?,
    };
    let kept = File::open(to).and_then(|made| keep(made, &found));
    kept.map_err(|source| Error::Io { path: to.to_owned(), source })
}

/// Copies a file up to `length` bytes, with its owner and mode; returns how many bytes it had.
fn copy_file(file: &File, to: &Path, length: u64) -> Result<u64, Error> {
    let copied = (|| {
        let mut copy = OpenOptions::new().write(true).create_new(true).mode(OWN_FILE).open(to)?;
        let copied = io::copy(&mut file.take(length), &mut copy)?;
        keep(&copy, &rustix::fs::fstat(file)?)?;
        // By its time a start on the copy recognises the file of a claim.
        copy.set_modified(file.metadata()?.modified()?)?;
        Ok(copied)
    })();
    copied.map_err(|source| Error::Io { path: to.to_owned(), source })
}

/// Whether `path` is a file, and not a link or a folder.
fn is_file(path: &Path) -> Result<bool, Error> {
    use io::ErrorKind::{NotADirectory, NotFound};
    match path.symlink_metadata() {
        Err(error) if matches!(error.kind(), NotADirectory | NotFound) => Ok(false),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
        Ok(found) => Ok(found.is_file()),
    }
}

impl Backup<'_> {
    /// Copies the file of a submission, and the note beside it if it failed.
    fn submission(&self, place: &Name, has_failed: bool, copied: &mut Copied) -> Result<(), Error> {
        let [archive, quarantine] = [0, 1].map(|at| move |name: &Name| self.file(at, name));
        let is_copied = if has_failed {
            quarantine(&note_name(place))?;
            // It may still be in the archive: only the next start moves it into quarantine. It may also
            // be in neither, handed in again.
            quarantine(place)? || archive(place)?
        } else {
            archive(place)?
        };
        if is_copied {
            copied.files += 1;
        } else if !has_failed {
            copied.missing.push(self.from[0].join(place.as_path()));
        }
        Ok(())
    }

    /// Copies a file of the archive (0) or of quarantine (1); returns whether it existed.
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
            // The service has moved it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::Read { path: from, source }),
        }
    }
}

/// Copies the committed bytes of a report; returns whether it had them all.
fn copy_report(reports: &Path, into: &Path, report: &Report) -> Result<bool, Error> {
    let from = reports.join(report.path.as_path());
    if !is_file(&from)? {
        return Ok(false);
    }
    make_folders(reports, into, &report.path)?;
    let file = named::open_regular(&from).map_err(|source| Error::Read { path: from, source })?;
    let copied = copy_file(&file, &into.join(report.path.as_path()), report.length)?;
    Ok(copied == report.length)
}
