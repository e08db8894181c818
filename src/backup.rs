//! A copy of ledger, archive, quarantine and reports as they were at one moment, also while the service
//! runs. The copy is a root of its own: it can be verified and served.

use crate::archive::{Archive, note_name};
use crate::config::Settings;
use crate::ledger::{self, Ledger};
use crate::printable;
use crate::submission::Name;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

/// Why no backup could be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is something already.
    #[error("{} is there already; a backup is made into a new folder", printable::path(path))]
    Occupied {
        /// Where.
        path: PathBuf,
    },
    /// There is no folder to make it in.
    #[error(
        "there is no folder {}, in which {} would be made; is its disk mounted? If it is to be \
         there, make it first",
        printable::path(within),
        printable::path(path)
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
        printable::path(path),
        printable::path(within)
    )]
    Within {
        /// Where.
        path: PathBuf,
        /// In which folder.
        within: PathBuf,
    },
    /// The service has never run.
    #[error("no service has run here: there is no ledger in {}", printable::path(path))]
    NoLedger {
        /// The folder that should hold it.
        path: PathBuf,
    },
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// A file cannot be copied.
    #[error("cannot copy to {}", printable::path(path))]
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
    let Some(ledger) = Ledger::open_to_read(&paths.ledger())? else {
        return Err(Error::NoLedger { path: paths.state() });
    };
    make_empty(&into)?;
    for folder in ["inbox", "archive", "quarantine", "reports", "state"] {
        let path = into.join(folder);
        std::fs::create_dir(&path).map_err(|source| Error::Io { path, source })?;
    }
    let copy = into.join("state/ledger.db");
    ledger.copy_to(&copy)?;
    drop(ledger);
    // All the rest is what this copy tells: whatever is taken, graded or added since is not in it.
    let Some(ledger) = Ledger::open_to_read(&copy)? else {
        return Err(Error::NoLedger { path: into.join("state") });
    };
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
        let (from, to) = (paths.reports(), into.join("reports"));
        let from = from.join(report.path.as_path());
        match copy_start(&from, &to.join(report.path.as_path()), report.length)? {
            true => copied.reports += 1,
            false => copied.damaged.push(from),
        }
    }
    let synced = File::open(&into).and_then(|folder| Ok(rustix::fs::syncfs(folder.as_fd())?));
    synced.map_err(|source| Error::Io { path: into, source })?;
    Ok(copied)
}

fn make_empty(into: &Path) -> Result<(), Error> {
    let failed = |source| Error::Io { path: into.to_owned(), source };
    match std::fs::read_dir(into) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::Occupied { path: into.to_owned() }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir(into).map_err(|source| match into.parent() {
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
        if !from.symlink_metadata().is_ok_and(|found| found.is_file()) {
            return Ok(false);
        }
        let copied = (|| {
            if let Some(folder) = to.parent() {
                std::fs::create_dir_all(folder)?;
            }
            if self.links && std::fs::hard_link(&from, &to).is_ok() {
                return Ok(());
            }
            let opened = match at {
                0 => self.archive.read(name),
                _ => self.archive.read_quarantined(name),
            };
            let (mut file, mut copy) = (opened?, File::create_new(&to)?);
            io::copy(&mut file, &mut copy).map(drop)
        })();
        match copied {
            Ok(()) => Ok(true),
            // It was moved meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(Error::Io { path: to, source }),
        }
    }
}

/// Copies the first `length` bytes of a file; whether it has so many.
fn copy_start(from: &Path, to: &Path, length: u64) -> Result<bool, Error> {
    let failed = |source| Error::Io { path: to.to_owned(), source };
    if !from.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return Ok(false);
    }
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let file = File::open(from).map_err(failed)?;
    let mut copy = File::create_new(to).map_err(failed)?;
    Ok(io::copy(&mut file.take(length), &mut copy).map_err(failed)? == length)
}
