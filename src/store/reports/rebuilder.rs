//! Rebuilds damaged reports in the background while the service goes on committing.
//!
//! Almost all of a report is rebuilt while commits go on; what they add is caught up with. Only for the
//! last rows and for putting the report into its place are commits held up, so this takes no longer than
//! a commit does. Before that, it checks the reports that the start has not: those without open claims.

use super::files::ReportFiles;
use super::rebuild::{self, Part, Rebuild};
use crate::model::escape;
use crate::model::submission::Name;
use crate::store::ledger::Ledger;
use crate::telemetry::emit;
use crate::telemetry::health::{Concern, Health};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The longest time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// The pause before a report is tried again that could not be rebuilt; it doubles with each failure, up to a
/// minute.
const RETRY_AFTER: Duration = Duration::from_secs(1);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);

/// How often a report is tried after the end of all commits.
const LAST_TRIES: u32 = 3;

/// How many reports are checked before commits get their turn.
const CHECKS_A_TURN: usize = 64;
const CHECKS_PAUSE: Duration = Duration::from_millis(1);

/// The reports, shared by publishing and the rebuilder.
pub struct SharedReports {
    files: Mutex<ReportFiles>,
    changed: Condvar,
    /// No more reports become damaged: the rebuilder ends when all are rebuilt.
    closed: AtomicBool,
    /// When the rebuilder ends at the latest. What is damaged then stays marked for the next start.
    deadline: OnceLock<Instant>,
}

impl SharedReports {
    /// Shares these reports.
    pub fn new(files: ReportFiles) -> SharedReports {
        SharedReports {
            files: Mutex::new(files),
            changed: Condvar::new(),
            closed: AtomicBool::new(false),
            deadline: OnceLock::new(),
        }
    }

    /// The reports, for one commit.
    pub fn lock(&self) -> MutexGuard<'_, ReportFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the rebuilder if reports are damaged.
    pub fn wake(&self) {
        self.changed.notify_all();
    }

    /// Lets the rebuilder end when all reports are rebuilt.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.wake();
    }

    /// Lets the rebuilder end after this time, though reports are damaged.
    pub fn end_within(&self, time: Duration) {
        let _ = self.deadline.set(Instant::now() + time);
        self.wake();
    }
}

/// Rebuilds damaged reports.
pub struct Rebuilder {
    reports: Arc<SharedReports>,
    rebuild: Rebuild,
    ledger: Arc<Ledger>,
    health: Arc<Health>,
    /// Reports that could not be rebuilt.
    failed: Vec<Failed>,
}

/// A report that could not be rebuilt.
struct Failed {
    report: Name,
    tries: u32,
    /// When to try again; `None` while it is tried.
    at: Option<Instant>,
}

impl Rebuilder {
    /// What rebuilds these reports.
    pub fn new(
        reports: Arc<SharedReports>,
        rebuild: Rebuild,
        ledger: Arc<Ledger>,
        health: Arc<Health>,
    ) -> Rebuilder {
        Rebuilder { reports, rebuild, ledger, health, failed: Vec::new() }
    }

    /// Checks all reports, then rebuilds damaged ones until [`SharedReports::close`] and all are rebuilt, or the
    /// time of [`SharedReports::end_within`] is over.
    pub fn run(mut self) {
        self.check_all();
        while let Some(report) = self.next() {
            match self.try_rebuild(&report) {
                Ok(true) => {
                    self.failed.retain(|failed| failed.report != report);
                    if self.reports.lock().are_whole() {
                        self.health.set_ready(Concern::Rebuild);
                    }
                }
                Ok(false) => break,
                Err(why) => {
                    emit::report_rebuild_failed(&why);
                    self.health.set_not_ready(Concern::Rebuild, why);
                    self.try_again(report);
                }
            }
        }
        self.health.ended("rebuild");
    }

    /// Rebuilds a report; a panic is a failure like others, and its message goes to the log.
    fn try_rebuild(&self, report: &Name) -> Result<bool, String> {
        let work = std::panic::AssertUnwindSafe(|| self.rebuild(report));
        match std::panic::catch_unwind(work) {
            Ok(rebuilt) => rebuilt.map_err(|error| escape::with_causes(&error)),
            Err(_) => Err(format!("rebuilding the report {report} panicked")),
        }
    }

    fn try_again(&mut self, report: Name) {
        let at = match self.failed.iter().position(|failed| failed.report == report) {
            Some(at) => at,
            None => {
                self.failed.push(Failed { report, tries: 0, at: None });
                self.failed.len() - 1
            }
        };
        let failed = &mut self.failed[at];
        let pause = RETRY_AFTER.saturating_mul(1 << failed.tries.min(6)).min(RETRY_AFTER_MAX);
        failed.tries += 1;
        failed.at = Some(Instant::now() + pause);
    }

    fn is_abandoned(&self) -> bool {
        self.reports.deadline.get().is_some_and(|deadline| *deadline <= Instant::now())
    }

    fn check_all(&self) {
        let reports = match self.ledger.reports().all() {
            Ok(reports) => reports,
            Err(error) => return emit::report_rebuild_failed(&error),
        };
        for reports in reports.chunks(CHECKS_A_TURN) {
            self.health.heartbeat("rebuild");
            // Otherwise this thread would take the lock again before a commit that waits for it.
            std::thread::sleep(CHECKS_PAUSE);
            let mut files = self.reports.lock();
            for report in reports {
                if self.is_abandoned() {
                    return;
                }
                // What is wrong with it shows again when rows are to be appended.
                if let Err(error) = files.check(&report.path) {
                    emit::report_rebuild_failed(&error);
                }
            }
        }
    }

    /// Waits for a damaged report; `None` when it is time to end.
    fn next(&mut self) -> Option<Name> {
        let mut files = self.reports.lock();
        loop {
            self.health.heartbeat("rebuild");
            if self.is_abandoned() {
                return None;
            }
            for failed in &mut self.failed {
                if failed.at.is_some_and(|at| at <= Instant::now()) {
                    failed.at = None;
                    files.rebuild_again(failed.report.clone());
                }
            }
            // A rebuild may need as much room as the report has bytes.
            let has_room = self.health.reason(Concern::Disk).is_none();
            if has_room && let Some(report) = files.next_to_rebuild() {
                return Some(report);
            }
            // Those that are left stay marked for the next start.
            let is_tried = self.failed.iter().all(|failed| failed.tries >= LAST_TRIES);
            if self.reports.closed.load(Ordering::Acquire) && (is_tried || !has_room) {
                return None;
            }
            let waited = self.reports.changed.wait_timeout(files, HEARTBEAT);
            files = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Rebuilds a report; `false` if that was abandoned.
    fn rebuild(&self, report: &Name) -> Result<bool, rebuild::Error> {
        let mut part = self.rebuild.begin(report)?;
        match self.catch_up(&mut part) {
            Ok(true) => {}
            other => {
                self.rebuild.discard(&part);
                return other;
            }
        }
        let mut files = self.reports.lock();
        while self.rebuild.step(&mut part)? {}
        let _waiting = self.health.wait_for_disk("rebuild");
        let (_, file) = self.rebuild.finish(part)?;
        files.rebuilt(report, file);
        Ok(true)
    }

    /// Rebuilds a report up to about what is committed; `false` if that was abandoned.
    fn catch_up(&self, part: &mut Part) -> Result<bool, rebuild::Error> {
        loop {
            self.health.heartbeat("rebuild");
            if self.is_abandoned() {
                return Ok(false);
            }
            if let Some(why) = self.health.reason(Concern::Disk) {
                return Err(self.rebuild.refused(part, why));
            }
            if !self.rebuild.step(part)? {
                break;
            }
        }
        let _waiting = self.health.wait_for_disk("rebuild");
        self.rebuild.settle(part)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Paths, Settings};
    use crate::store::archive::Archive;
    use gridmark_core::judge::Tier;

    #[test]
    fn nothing_is_rebuilt_while_a_disk_is_nearly_full() {
        let root = tempfile::tempdir().expect("a folder");
        let paths = Paths { root: root.path().to_owned(), ..Paths::default() };
        for folder in [paths.inbox(), paths.archive(), paths.reports(), paths.state()] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let ledger = Arc::new(Ledger::open(&paths.ledger()).expect("a ledger"));
        let archive = Archive::open(paths.inbox(), paths.archive(), paths.quarantine());
        let archive = Arc::new(archive.expect("an archive"));
        let name = Name::from_bytes(*b"loose.csv");
        ledger.reports().introduce(std::slice::from_ref(&name), false).expect("introduced");
        ledger.reports().mark_damaged(&name).expect("marked");
        let files =
            ReportFiles::open(paths.reports(), Arc::clone(&ledger), 8, false).expect("reports");
        let reports = Arc::new(SharedReports::new(files));
        reports.close();
        let health = Arc::new(Health::default());
        let settings = Settings { paths: paths.clone(), ..Settings::default() };
        let is_rebuilt_by_run = || {
            let (ledger, archive) = (Arc::clone(&ledger), Arc::clone(&archive));
            let rebuild = Rebuild::new(&settings, Tier::best(), Arc::clone(&ledger), archive);
            let (reports, health) = (Arc::clone(&reports), Arc::clone(&health));
            Rebuilder::new(reports, rebuild, Arc::clone(&ledger), health).run();
            ledger.reports().get(&name).expect("the ledger").expect("a report").whole
        };
        health.set_not_ready(Concern::Disk, "nearly full");
        assert!(!is_rebuilt_by_run());
        assert!(!paths.reports().join("loose.csv").exists());
        health.set_ready(Concern::Disk);
        assert!(is_rebuilt_by_run());
        assert!(paths.reports().join("loose.csv").exists());
    }
}
