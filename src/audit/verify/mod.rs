//! Checks that archive, ledger and reports agree: every archived file still has the bytes that were
//! graded, and every report has the bytes that ledger and archive give.
//!
//! Reports can be rebuilt because grading is deterministic, and the check rests on that: it grades every
//! archived file again and compares the rows byte for byte, so it also finds edits that keep a report's
//! length. It takes the rows from the same code that rebuilds reports ([`Rebuild`]); only the [`Sink`]
//! differs.
//!
//! It changes nothing. While the service runs, the ledger is read as of one moment, and what the service
//! has committed since is left out; findings that could be work in progress are not reported then.
//!
//! [`Sink`]: crate::store::reports::rebuild::Sink

mod compare;
mod event;
mod files;

use crate::config::Settings;
use crate::model::escape;
use crate::model::rows::ROWS_VERSION;
use crate::model::submission::Name;
use crate::store::archive::Archive;
use crate::store::ledger::{self, Ledger, Report};
use crate::store::reports::rebuild::{self, Rebuild};
use compare::Comparison;
use gridmark_core::judge::Tier;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Why the check could not be completed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] ledger::Error),
    /// A file cannot be read.
    #[error(transparent)]
    Rebuild(#[from] rebuild::Error),
    /// A folder cannot be read.
    #[error("cannot read {}", escape::path(path))]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// A disagreement, or something worth knowing.
#[derive(Debug)]
pub struct Finding {
    /// Whether it is a fault; if not, it is a note.
    pub is_fault: bool,
    /// The file or folder concerned.
    pub place: PathBuf,
    /// What was found.
    pub what: String,
    /// What to do about it; empty if nothing has to be done.
    pub to_do: String,
    /// The report whose rebuild would correct it, if one would.
    pub report: Option<Name>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = if self.is_fault { "" } else { "note: " };
        write!(f, "{note}{}: {}", escape::path(&self.place), escape::line(&self.what))?;
        if !self.to_do.is_empty() {
            write!(f, "; {}", self.to_do)?;
        }
        Ok(())
    }
}

/// How much was checked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checked {
    /// The number of reports compared.
    pub reports: u64,
    /// The number of submissions graded again.
    pub submissions: u64,
    /// The number of their cases.
    pub cases: u64,
}

/// Receives findings and progress, from several threads.
pub trait Observer: Sync {
    /// Receives a finding.
    fn found(&self, finding: Finding);
    /// One more submission was graded again.
    fn graded(&self);
}

/// A check of one root.
pub struct Verify<'a> {
    /// The settings of the service.
    pub settings: &'a Settings,
    /// Its ledger, opened for reading.
    pub ledger: Arc<Ledger>,
    /// Its folders.
    pub archive: Arc<Archive>,
    /// The kernels that grade.
    pub tier: Tier,
    /// Whether the service runs meanwhile.
    pub is_running: bool,
    /// Where findings and progress go.
    pub observer: &'a dyn Observer,
}

#[derive(Default)]
struct Counters {
    reports: AtomicU64,
    submissions: AtomicU64,
    cases: AtomicU64,
}

impl Verify<'_> {
    /// Checks the ledger, all files, the event and all reports.
    ///
    /// # Errors
    ///
    /// The ledger, a file or a folder cannot be read.
    pub fn all(&self) -> Result<Checked, Error> {
        self.check_ledger()?;
        self.check_files()?;
        self.check_event()?;
        self.reports(&self.ledger.reports().all()?)
    }

    /// Checks these reports and the files of the submissions in them.
    ///
    /// # Errors
    ///
    /// The ledger, a file or a folder cannot be read.
    pub fn reports(&self, reports: &[Report]) -> Result<Checked, Error> {
        let rebuild = Rebuild::new(
            self.settings,
            self.tier,
            Arc::clone(&self.ledger),
            Arc::clone(&self.archive),
        );
        let rebuild = rebuild.in_parallel();
        let counters = Counters::default();
        let next = Mutex::new(reports.iter());
        let failed = Mutex::new(None);
        let work = || {
            while let Some(report) = lock(&next).next() {
                if let Err(error) = self.report(&rebuild, report, &counters) {
                    lock(&failed).get_or_insert(error);
                    return;
                }
            }
        };
        // These are not threads of the grading pool: a pool thread that waits for marks may start other
        // work meanwhile, here another report, and would then hold two.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            (1..threads.min(reports.len())).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(counters.checked()),
        }
    }

    fn report(&self, rebuild: &Rebuild, report: &Report, counters: &Counters) -> Result<(), Error> {
        let path = self.settings.paths.reports().join(report.path.as_path());
        let mut comparison = Comparison::new(self, report, path.clone(), counters)
            .map_err(|source| Error::Io { path, source })?;
        rebuild.rows_of(&report.path, &mut comparison)?;
        comparison.end();
        counters.reports.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn check_ledger(&self) -> Result<(), Error> {
        let place = self.settings.paths.ledger();
        for what in self.ledger.faults()? {
            self.fault(&place, what, "stop the service and restore the ledger from a backup");
        }
        for version in self.ledger.other_rows_versions()? {
            let what = format!(
                "some submissions have rows of version {version}, and this gridmark writes version \
                 {ROWS_VERSION}"
            );
            let to_do = "nothing to do; but where the two versions describe a fault differently, \
                         reports are reported as different";
            self.note(&place, what, to_do);
        }
        Ok(())
    }

    fn fault(&self, place: &Path, what: String, to_do: &str) {
        self.found(true, place, what, to_do, None);
    }

    fn note(&self, place: &Path, what: String, to_do: &str) {
        self.found(false, place, what, to_do, None);
    }

    fn found(
        &self,
        is_fault: bool,
        place: &Path,
        what: String,
        to_do: &str,
        report: Option<&Name>,
    ) {
        let (place, to_do) = (place.to_owned(), to_do.to_owned());
        let report = report.cloned();
        self.observer.found(Finding { is_fault, place, what, to_do, report });
    }
}

impl Counters {
    fn checked(&self) -> Checked {
        Checked {
            reports: self.reports.load(Ordering::Relaxed),
            submissions: self.submissions.load(Ordering::Relaxed),
            cases: self.cases.load(Ordering::Relaxed),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line() {
        let finding = Finding {
            is_fault: false,
            place: "a\nb".into(),
            what: "two\nlines".to_owned(),
            to_do: "nothing".to_owned(),
            report: None,
        };
        assert_eq!(finding.to_string(), r"note: a\x0Ab: two\x0Alines; nothing");
    }
}
