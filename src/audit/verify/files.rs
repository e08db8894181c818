//! What lies in archive, quarantine and reports, compared with what the ledger knows.

use super::{Error, Verify};
use crate::model::submission::Name;
use crate::store::archive::{HIDDEN_PREFIX, note_name};
use crate::store::ledger::{Ledger, OpenClaim, name_of_archived};
use std::collections::HashSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The places of known submissions, by hash: few bytes for each of very many.
type Places = HashSet<u64>;

impl Verify<'_> {
    pub(super) fn look_at_files(&self) -> Result<(), Error> {
        let hasher = RandomState::new();
        let (mut archived, mut failed, mut notes) = (Places::new(), Places::new(), Places::new());
        self.ledger.for_each_place(|place, has_failed| {
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
            self.look_at_stray(&archive, name, failed.contains(&place))
        })?;
        let quarantine = paths.quarantine();
        walk(&quarantine, |name| {
            let place = hasher.hash_one(name);
            let is_known = failed.contains(&place) || notes.contains(&place);
            if !is_known && !self.is_known_by_now(name)? {
                let what =
                    "it is in quarantine, and no submission that failed lies there".to_owned();
                self.fault(&quarantine.join(name.as_path()), what, "look at it and move it away");
            }
            Ok(())
        })?;
        if !self.is_running {
            self.look_at_claims()?;
        }
        self.look_at_failed()?;
        self.look_at_report_files()
    }

    /// Something in the archive that is not where a submission lies that was graded.
    fn look_at_stray(&self, archive: &Path, name: &Name, has_failed: bool) -> Result<(), Error> {
        let place = archive.join(name.as_path());
        let is_hidden = name.split().1.as_bytes().starts_with(HIDDEN_PREFIX.as_bytes());
        if self.is_running && (has_failed || is_hidden) {
            // It is on its way.
        } else if has_failed {
            let what = "it failed".to_owned();
            self.note(&place, what, "the next start moves it into quarantine");
        } else if is_hidden {
            self.note(&place, "a copy that was not finished".into(), "it may be removed");
        } else if !self.is_known_by_now(name)? {
            let what = "it is in the archive, and the ledger knows no submission there".to_owned();
            let its_own = name_of_archived(name).map(|its_own| {
                format!(" as {its_own}, once what came before under that name is taken")
            });
            let to_do = format!(
                "if the ledger is an older copy, hand it in again: move it into the inbox{}",
                its_own.unwrap_or_default()
            );
            self.fault(&place, what, &to_do);
        }
        Ok(())
    }

    /// Whether the service has taken this since the beginning.
    fn is_known_by_now(&self, archived_as: &Name) -> Result<bool, Error> {
        if !self.is_running {
            return Ok(false);
        }
        let ledger = Ledger::open_to_read(&self.settings.paths.ledger())?;
        Ok(match ledger {
            Some(ledger) => !ledger.of_archived(archived_as)?.is_empty(),
            None => false,
        })
    }

    /// What was taken and is not done, while nothing runs.
    fn look_at_claims(&self) -> Result<(), Error> {
        for OpenClaim { claimed, inode } in self.ledger.open_claims()? {
            let (name, attempt) = (&claimed.name, claimed.attempt);
            let archived = self.archive.signature(&claimed.archived_as);
            let in_inbox = self.archive.signature_in_inbox(name);
            let is_in_inbox = in_inbox.is_some_and(|found| found.identity.1 == inode);
            let graded = claimed.progress.as_ref().map(|progress| progress.tally.cases());
            let to_do = match (archived, graded) {
                _ if is_in_inbox => {
                    "its file is still in the inbox, and the next start takes it".into()
                }
                (Some(_), None) => "the next start grades it".to_owned(),
                (Some(_), Some(cases)) => format!("the next start goes on behind {cases} cases"),
                (None, None) => "its file is gone, and the next start lets go of it".to_owned(),
                (None, Some(_)) => {
                    "its file is gone, and the next start makes it a failed one".into()
                }
            };
            let place = self.settings.paths.archive().join(claimed.archived_as.as_path());
            self.note(&place, format!("{name}, attempt {attempt}: taken and not done"), &to_do);
        }
        Ok(())
    }

    /// What failed and was not handed in again.
    fn look_at_failed(&self) -> Result<(), Error> {
        for record in self.ledger.failed()? {
            let claimed = &record.claimed;
            let is_there = self.archive.is_in_quarantine(&claimed.archived_as)
                || self.archive.signature(&claimed.archived_as).is_some();
            let is_again = || -> Result<bool, Error> {
                let all = self.ledger.of_name(&claimed.name)?;
                Ok(all.iter().any(|later| later.claimed.attempt > claimed.attempt)
                    || self.archive.signature_in_inbox(&claimed.name).is_some())
            };
            if !is_there && !is_again()? {
                let place = self.settings.paths.quarantine().join(claimed.archived_as.as_path());
                let what = format!("{}, attempt {}: it failed", claimed.name, claimed.attempt);
                self.note(&place, what, "its file was taken away, and no other was handed in");
            }
        }
        Ok(())
    }

    /// Files among the reports that are none.
    fn look_at_report_files(&self) -> Result<(), Error> {
        let reports = self.settings.paths.reports();
        let known: HashSet<Name> = self.ledger.reports()?.into_iter().map(|it| it.path).collect();
        for below in ["", "folders"] {
            let folder = reports.join(below);
            for file in listed(&folder)? {
                let name = Name::from_bytes(below.as_bytes()).join(&file);
                let place = folder.join(&file);
                let text = file.as_bytes();
                if known.contains(&name) || place.is_dir() {
                    continue;
                }
                let aside = text.windows(7).any(|part| part == b".aside-");
                if aside {
                    let what = "kept aside when a report was written anew".to_owned();
                    self.note(&place, what, "remove it if nobody needs it");
                } else if text.ends_with(b".csv") && !self.is_running {
                    let what = "a report that the ledger does not know".to_owned();
                    self.note(&place, what, "it is kept aside if one of that name is begun");
                } else if text.ends_with(b".csv.part") && !self.is_running {
                    self.note(&place, "a report that was not finished".into(), "it may be removed");
                }
            }
        }
        Ok(())
    }
}

/// Shows the names of all that is no folder below `root` to `each`.
fn walk(root: &Path, mut each: impl FnMut(&Name) -> Result<(), Error>) -> Result<(), Error> {
    let mut folders = vec![Name::from_bytes(*b"")];
    while let Some(folder) = folders.pop() {
        let path = root.join(folder.as_path());
        for file in listed(&path)? {
            let name = folder.join(&file);
            match root.join(name.as_path()).symlink_metadata() {
                Ok(found) if found.is_dir() => folders.push(name),
                Ok(_) => each(&name)?,
                // It has gone meanwhile.
                Err(_) => {}
            }
        }
    }
    Ok(())
}

/// The names in a folder, sorted; none if it is not there.
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
