//! Compares the files in archive, quarantine and reports with those that the ledger knows.

use super::{Error, Verify};
use crate::event::outputs;
use crate::model::submission::Name;
use crate::store::archive::{HIDDEN_PREFIX, note_name};
use crate::store::ledger::{Ledger, name_of_archived};
use crate::store::lock::LOCK_NAME;
use crate::store::recovery::{FilePlace, place_of};
use std::collections::HashSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Hashes of paths: there may be millions of submissions, and a hash takes eight bytes for each.
type Paths = HashSet<u64>;

impl Verify<'_> {
    pub(super) fn check_files(&self) -> Result<(), Error> {
        let hasher = RandomState::new();
        let (mut archived, mut failed, mut notes) = (Paths::new(), Paths::new(), Paths::new());
        self.ledger.records().for_each_place(|_, place, has_failed| {
            if has_failed {
                failed.insert(hasher.hash_one(place));
                notes.insert(hasher.hash_one(note_name(place)));
            } else {
                archived.insert(hasher.hash_one(place));
            }
            Ok::<(), Error>(())
        })?;
        let paths = &self.settings.paths;
        let archive = paths.archive();
        walk(&archive, |name| {
            let place = hasher.hash_one(name);
            if archived.contains(&place) {
                return Ok(());
            }
            self.check_unexpected(&archive, name, failed.contains(&place))
        })?;
        let quarantine = paths.quarantine();
        walk(&quarantine, |name| {
            let place = hasher.hash_one(name);
            let is_known = failed.contains(&place) || notes.contains(&place);
            if !is_known && !self.is_known_by_now(name)? {
                let what = "it lies in quarantine, but the ledger has no failed submission there";
                let to_do = "find out who put it there, and move it out of quarantine";
                self.fault(&quarantine.join(name.as_path()), what.to_owned(), to_do);
            }
            Ok(())
        })?;
        if !self.is_running {
            self.check_claims()?;
        }
        self.check_failed()?;
        self.check_report_files()
    }

    /// Checks a file in the archive that is not that of a graded submission.
    fn check_unexpected(&self, archive: &Path, name: &Name, has_failed: bool) -> Result<(), Error> {
        let place = archive.join(name.as_path());
        let is_hidden = name.split().1.as_bytes().starts_with(HIDDEN_PREFIX.as_bytes());
        if self.is_running && (has_failed || is_hidden) {
            // The service is about to move it.
        } else if has_failed {
            let what = "this submission failed, and its file is still in the archive".to_owned();
            self.note(&place, what, "nothing to do: the next start moves it into quarantine");
        } else if is_hidden {
            self.note(&place, "it is an unfinished copy".into(), "it can be deleted");
        } else if !self.is_known_by_now(name)? {
            let what = "it lies in the archive, but the ledger has no submission there".to_owned();
            let renamed = name_of_archived(name).map(|name| {
                format!(" as {name}, after earlier files of that name have been taken")
            });
            let to_do = format!(
                "if the ledger was restored from a backup, hand the file in again: move it into the \
                 inbox{}",
                renamed.unwrap_or_default()
            );
            self.fault(&place, what, &to_do);
        }
        Ok(())
    }

    /// Whether the running service has taken this file since the check began.
    fn is_known_by_now(&self, archived_as: &Name) -> Result<bool, Error> {
        if !self.is_running {
            return Ok(false);
        }
        let ledger = Ledger::open_to_read(&self.settings.paths.ledger())?;
        Ok(match ledger {
            Some(ledger) => !ledger.records().of_archived(archived_as)?.is_empty(),
            None => false,
        })
    }

    /// Notes what the next start does with submissions that were taken and not finished.
    fn check_claims(&self) -> Result<(), Error> {
        for claim in self.ledger.claims().open()? {
            let place = place_of(&self.archive, &claim);
            let claimed = claim.claimed;
            let (name, attempt) = (&claimed.name, claimed.attempt);
            let graded = claimed.progress.as_ref().map(|progress| progress.tally.cases());
            let to_do = match (place, graded) {
                (FilePlace::Inbox, _) => {
                    "nothing to do: its file is still in the inbox, and the next start takes it".into()
                }
                (FilePlace::Hidden, _) => "nothing to do: its file has a hidden name in the inbox, \
                                           to be copied into the archive, and the next start grades it"
                    .to_owned(),
                (FilePlace::Archive | FilePlace::Both, None) => {
                    "nothing to do: the next start grades it".to_owned()
                }
                (FilePlace::Archive | FilePlace::Both, Some(cases)) => {
                    format!("nothing to do: the next start continues after case {cases}")
                }
                (FilePlace::Nowhere, None) => {
                    "its file is gone: the next start drops it, unless the file is put back".into()
                }
                (FilePlace::Nowhere, Some(_)) => {
                    "its file is gone: the next start marks it as failed, unless the file is put back"
                        .into()
                }
            };
            let place = self.settings.paths.archive().join(claimed.archived_as.as_path());
            self.note(
                &place,
                format!("{name}, attempt {attempt}, was taken and is not finished"),
                &to_do,
            );
        }
        Ok(())
    }

    /// Notes failed submissions whose files are gone and were not handed in again.
    fn check_failed(&self) -> Result<(), Error> {
        for record in self.ledger.records().failed()? {
            let claimed = &record.claimed;
            let has_file = self.archive.is_in_quarantine(&claimed.archived_as)
                || self.archive.signature(&claimed.archived_as).is_some();
            let was_handed_in_again = || -> Result<bool, Error> {
                let all = self.ledger.records().of_name(&claimed.name)?;
                Ok(all.iter().any(|later| later.claimed.attempt > claimed.attempt)
                    || self.archive.signature_in_inbox(&claimed.name).is_some())
            };
            if !has_file && !was_handed_in_again()? {
                let place = self.settings.paths.quarantine().join(claimed.archived_as.as_path());
                let what = format!(
                    "{}, attempt {}, failed; its file is gone, and none was handed in again",
                    claimed.name, claimed.attempt
                );
                self.note(&place, what, "if it still counts, ask for the file again");
            }
        }
        Ok(())
    }

    /// Notes files among the reports that are not reports of the ledger.
    fn check_report_files(&self) -> Result<(), Error> {
        let reports = self.settings.paths.reports();
        let known: HashSet<Name> =
            self.ledger.reports().all()?.into_iter().map(|it| it.path).collect();
        let has_event = self.ledger.definitions().in_force()?.is_some();
        let is_of_event = |name: &Name| {
            has_event && outputs::FILES.iter().any(|file| file.as_bytes() == name.as_bytes())
        };
        for below in ["", "folders"] {
            let folder = reports.join(below);
            for file in listed(&folder)? {
                let name = Name::from_bytes(below.as_bytes()).join(&file);
                let place = folder.join(&file);
                let text = file.as_bytes();
                if known.contains(&name) || is_of_event(&name) || place.is_dir() {
                    continue;
                }
                if text.windows(7).any(|part| part == b".aside-") {
                    let what = "it was kept when its report was rebuilt".to_owned();
                    self.note(&place, what, "delete it if nobody needs it");
                } else if text.ends_with(b".csv") && !self.is_running {
                    let what = "it is not a report that the ledger knows".to_owned();
                    let to_do = "move it away; if gridmark begins a report of that name, it sets \
                                 this file aside";
                    self.note(&place, what, to_do);
                } else if text.ends_with(b".csv.part") && !self.is_running {
                    self.note(&place, "it is an unfinished report".into(), "it can be deleted");
                }
            }
        }
        Ok(())
    }
}

/// Calls `each` with the name of everything below `root` that is neither a folder nor the lock.
fn walk(root: &Path, mut each: impl FnMut(&Name) -> Result<(), Error>) -> Result<(), Error> {
    let mut folders = vec![Name::from_bytes(*b"")];
    while let Some(folder) = folders.pop() {
        let path = root.join(folder.as_path());
        for file in listed(&path)? {
            let name = folder.join(&file);
            match root.join(name.as_path()).symlink_metadata() {
                Ok(found) if found.is_dir() => folders.push(name),
                Ok(_) if name.as_bytes() == LOCK_NAME.as_bytes() => {}
                Ok(_) => each(&name)?,
                // It was removed meanwhile.
                Err(_) => {}
            }
        }
    }
    Ok(())
}

/// The names in a folder, sorted; none if there is no such folder.
fn listed(path: &Path) -> Result<Vec<OsString>, Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    let mut names = names.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    names.sort_unstable();
    Ok(names)
}
