//! Whether archive, ledger and reports agree: every file is what was graded, and every report holds the
//! bytes that ledger and archive give.
//!
//! Nothing is changed. Beside a service that runs, what was committed at the beginning is looked at.

mod compare;
mod files;

use crate::config::Settings;
use crate::model::escape;
use crate::model::submission::Name;
use crate::store::archive::Archive;
use crate::store::ledger::{self, Ledger, Piece, Report};
use crate::store::reports::rebuild::{self, Rebuild, pieces};
use compare::Compared;
use gridmark_core::judge::Tier;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Why it could not be looked.
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

/// Something that does not agree, or that is worth knowing.
#[derive(Debug)]
pub struct Finding {
    /// Whether something is wrong; if not, it is only worth knowing.
    pub is_fault: bool,
    /// Where.
    pub place: PathBuf,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub to_do: String,
    /// The report that would be right if it was written anew.
    pub report: Option<Name>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let note = if self.is_fault { "" } else { "note: " };
        write!(f, "{note}{}: {}", escape::path(&self.place), self.what)?;
        if !self.to_do.is_empty() {
            write!(f, "; {}", self.to_do)?;
        }
        Ok(())
    }
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Reports that were compared.
    pub reports: u64,
    /// Submissions that were graded once more.
    pub submissions: u64,
    /// Their cases.
    pub cases: u64,
}

/// Who is told of findings and of progress; from several threads.
pub trait Audience: Sync {
    /// Something was found.
    fn found(&self, finding: Finding);
    /// One more submission was graded.
    fn graded(&self);
}

/// What is verified.
pub struct Verify<'a> {
    /// The settings of the service.
    pub settings: &'a Settings,
    /// Its ledger, opened for reading.
    pub ledger: Arc<Ledger>,
    /// Its folders.
    pub archive: Arc<Archive>,
    /// By which kernels is graded.
    pub tier: Tier,
    /// Whether the service runs.
    pub is_running: bool,
    /// Who is told.
    pub audience: &'a dyn Audience,
}

#[derive(Default)]
struct Counters {
    reports: AtomicU64,
    submissions: AtomicU64,
    cases: AtomicU64,
}

impl Verify<'_> {
    /// Looks at everything.
    ///
    /// # Errors
    ///
    /// If something cannot be read.
    pub fn all(&self) -> Result<Seen, Error> {
        self.look_at_ledger()?;
        self.look_at_files()?;
        self.reports(&self.ledger.reports()?)
    }

    /// Looks at these reports, and at the files of the submissions in them.
    ///
    /// # Errors
    ///
    /// If something cannot be read.
    pub fn reports(&self, reports: &[Report]) -> Result<Seen, Error> {
        let rebuild = Rebuild::new(
            self.settings,
            self.tier,
            Arc::clone(&self.ledger),
            Arc::clone(&self.archive),
        );
        let rebuild = rebuild.in_parallel();
        let all = pieces(&self.ledger, reports.iter().map(|report| &report.path))?;
        let counters = Counters::default();
        let next = Mutex::new(reports.iter());
        let failed = Mutex::new(None);
        let work = || {
            while let Some(report) = lock(&next).next() {
                let pieces = all.get(&report.path).map_or(&[][..], Vec::as_slice);
                if let Err(error) = self.report(&rebuild, report, pieces, &counters) {
                    lock(&failed).get_or_insert(error);
                    return;
                }
            }
        };
        // Threads of their own: whoever waits for marks must not begin with another report meanwhile.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            (1..threads.min(reports.len())).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(counters.seen()),
        }
    }

    fn report(
        &self,
        rebuild: &Rebuild,
        report: &Report,
        pieces: &[Piece],
        counters: &Counters,
    ) -> Result<(), Error> {
        let path = self.settings.paths.reports().join(report.path.as_path());
        let mut compared = Compared::new(self, report, path.clone(), counters)
            .map_err(|source| Error::Io { path, source })?;
        rebuild.rows_of(&report.path, pieces, &mut compared)?;
        compared.end();
        counters.reports.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn look_at_ledger(&self) -> Result<(), Error> {
        let place = self.settings.paths.ledger();
        for what in self.ledger.faults()? {
            let to_do = "put a whole copy of it in its place, from a backup";
            self.fault(&place, what, to_do);
        }
        for version in self.ledger.other_versions()? {
            let this = env!("CARGO_PKG_VERSION");
            let what = format!("some submissions were graded by gridmark {version}");
            let to_do = format!(
                "this is {this}: where its words for faults are others, reports seem to differ"
            );
            self.note(&place, what, &to_do);
        }
        Ok(())
    }

    fn fault(&self, place: &Path, what: String, to_do: &str) {
        self.find(true, place, what, to_do, None);
    }

    fn note(&self, place: &Path, what: String, to_do: &str) {
        self.find(false, place, what, to_do, None);
    }

    fn find(&self, is_fault: bool, place: &Path, what: String, to_do: &str, report: Option<&Name>) {
        let (place, to_do) = (place.to_owned(), to_do.to_owned());
        let report = report.cloned();
        self.audience.found(Finding { is_fault, place, what, to_do, report });
    }
}

impl Counters {
    fn seen(&self) -> Seen {
        Seen {
            reports: self.reports.load(Ordering::Relaxed),
            submissions: self.submissions.load(Ordering::Relaxed),
            cases: self.cases.load(Ordering::Relaxed),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The reports of `known` that somebody may mean by `typed`: by path, by path under the folder of
/// reports, by file name without its end, or by the name of the folder in the inbox.
pub fn meant<'a>(reports: &Path, typed: &Path, known: &'a [Report]) -> Vec<&'a Report> {
    use std::os::unix::ffi::OsStrExt;
    let absolute = std::path::absolute(typed).unwrap_or_else(|_| typed.to_owned());
    let folder = [typed.as_os_str().as_bytes(), b"/-"].concat();
    let of_folder = crate::model::rows::report_of(&Name::from_bytes(folder));
    let ways: [&dyn Fn(&Report) -> bool; 3] = [
        &|report| reports.join(report.path.as_path()) == absolute,
        &|report| report.path.as_path() == typed,
        &|report| {
            let stem = report.path.as_path().file_stem();
            stem == Some(typed.as_os_str()) || report.path == of_folder
        },
    ];
    let found = ways.map(|way| known.iter().filter(|report| way(report)).collect::<Vec<_>>());
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}
