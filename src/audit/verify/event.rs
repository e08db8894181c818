//! The event: its rulings are those that were recorded, its judgements are those that the archive gives, and its
//! files are those that follow from both.

use super::{Error, Verify};
use crate::jury::Jury;
use crate::model::ruling::broken_at;
use crate::pipeline::standings::{Files, LiveStandings};
use std::time::UNIX_EPOCH;

/// What helps where something does not agree.
const RESTART: &str =
    "a start of the service writes it again; `gridmark event standings` prints what is right";

impl Verify<'_> {
    /// Checks the chain of rulings, judges all entries again, and compares the files of the event, unless the
    /// service is writing them.
    pub(super) fn check_event(&self) -> Result<(), Error> {
        let place = self.settings.paths.ledger();
        let rulings = self.ledger.changes().rulings()?;
        if let Some(number) = broken_at(&rulings) {
            let what = format!(
                "ruling {number} is not what was recorded, or one was put in or removed before it"
            );
            self.fault(&place, what, "compare it with an earlier backup");
        }
        if self.ledger.definitions().in_force()?.is_none() {
            return Ok(());
        }
        let jury = Jury::new(self.settings, &self.ledger, &self.archive);
        match jury.differing() {
            Ok(lines) => {
                for line in lines.into_iter().filter(|_| !self.is_running) {
                    let to_do =
                        "`gridmark event regrade --preview` shows what judging again changes";
                    self.fault(
                        &place,
                        format!("a judgement is not what its file gives: {line}"),
                        to_do,
                    );
                }
            }
            Err(refused) => {
                let what = format!(
                    "entries cannot be judged again: {}",
                    crate::model::escape::with_causes(&refused)
                );
                self.fault(&place, what, "restore the archive from a backup");
            }
        }
        if !self.is_running {
            self.check_event_files(jury.live())?;
        }
        Ok(())
    }

    fn check_event_files(&self, live: &LiveStandings) -> Result<(), Error> {
        let paths = &self.settings.paths;
        let files = Files::new(paths.reports(), paths.public());
        let checked = live.read(|standings| {
            // Some of it depends on the time at which it was written.
            let places = files.contents(standings, 0).into_iter().map(|(path, _)| path);
            let written = places.filter_map(|path| path.metadata().ok()?.modified().ok()).max();
            let since = written.and_then(|written| written.duration_since(UNIX_EPOCH).ok());
            let now_ms =
                since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
            for (path, content) in files.contents(standings, now_ms) {
                match (std::fs::read(&path), content) {
                    (Ok(found), Some(content)) if found == content => {}
                    (Err(error), None) if error.kind() == std::io::ErrorKind::NotFound => {}
                    (Ok(_), None) => {
                        self.fault(&path, "the public may not see this yet".into(), "remove it");
                    }
                    (Ok(_), Some(_)) => {
                        self.fault(&path, "it is not what the ledger gives".into(), RESTART);
                    }
                    // In a copy, or before the first start.
                    (Err(error), Some(_)) if error.kind() == std::io::ErrorKind::NotFound => {
                        self.note(&path, "it is not there".into(), RESTART);
                    }
                    (Err(error), _) => {
                        self.fault(&path, format!("it cannot be read: {error}"), RESTART);
                    }
                }
            }
        });
        match checked {
            Ok(_) => Ok(()),
            Err(crate::store::definitions::Error::Ledger(error)) => Err(error.into()),
            Err(other) => {
                self.fault(&paths.ledger(), other.to_string(), "use the gridmark that wrote it");
                Ok(())
            }
        }
    }
}
