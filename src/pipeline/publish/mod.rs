//! Publishing: rows are appended, made durable, and then the ledger says that they are there.
//!
//! Results that arrive close together share one commit. If the disk refuses, the same results are
//! tried again until it takes them: the reports are cut back first, so that no row is there twice.

mod error;
mod pending;

use crate::config::{self, Live};
use crate::model::escape;
use crate::model::rows::{SUBMISSIONS, submission_row};
use crate::model::submission::{Claimed, Graded, Name, Status, Step};
use crate::pipeline::queue::{Budget, Drain, Queue};
use crate::store::archive::Archive;
use crate::store::disk::{both, free_bytes};
use crate::store::fail_point::Point;
use crate::store::ledger::{Commit, Ledger, Outcome, quarantine_note};
use crate::store::reports::rebuilder::SharedReports;
use crate::telemetry::emit;
use crate::telemetry::health::{Concern, Health};
use error::Error;
use jiff::Timestamp;
use pending::Pending;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The longest time between two signs of life.
const BEAT: Duration = Duration::from_secs(1);

/// From this number of results on, a commit waits for more.
const MANY_RESULTS: usize = 64;

/// The pause after the first failed commit; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause between two tries when the service is to end.
const PAUSE_AT_THE_END: Duration = Duration::from_millis(200);

/// How often a service that is to end goes on trying to commit.
const TRIES_AT_THE_END: u32 = 25;

/// What publishing works with.
pub struct Dependencies {
    /// What is claimed and marked.
    pub ledger: Arc<Ledger>,
    /// The folders of the submissions' files.
    pub archive: Arc<Archive>,
    /// Where it says what is done.
    pub queue: Arc<Queue>,
    /// Where it says how it is.
    pub health: Arc<Health>,
    /// The bytes of rows that are on their way.
    pub budget: Arc<Budget>,
    /// The reports.
    pub reports: Arc<SharedReports>,
    /// Their folder.
    pub folder: PathBuf,
    /// How many reports are kept open; each holds a descriptor.
    pub open_reports_max: usize,
    /// Its settings, which may change.
    pub settings: Arc<Live<config::Publish>>,
    /// Whether the service is to end.
    pub stopping: Arc<AtomicBool>,
    /// What has been published.
    pub published: Arc<Published>,
    /// Called after each commit.
    pub on_commit: Box<dyn Fn() + Send>,
}

/// What has been published since the start.
#[derive(Default)]
pub struct Published {
    /// Submissions that are done.
    pub submissions: AtomicU64,
    /// Of these, the ones that could not be graded by a failure of ours.
    pub failed: AtomicU64,
    /// Cases that are marked.
    pub cases: AtomicU64,
}

/// The publishing stage.
pub struct Publisher {
    dependencies: Dependencies,
    pending: Pending,
    /// How long the last commit took, and the one before.
    last_commits: [Duration; 2],
    /// Results for which there is no room in this commit.
    backlog: VecDeque<Graded>,
    /// When reports are next checked for changes by somebody else.
    next_check: Instant,
    /// Results could not be made durable before the end of the service.
    gave_up: bool,
}

impl Publisher {
    /// The stage.
    pub fn new(dependencies: Dependencies) -> Publisher {
        Publisher {
            dependencies,
            pending: Pending::default(),
            backlog: VecDeque::new(),
            next_check: Instant::now(),
            last_commits: [Duration::ZERO; 2],
            gave_up: false,
        }
    }

    /// Publishes results until nobody can send any more. `false` if the last ones could not be
    /// made durable; then the next start grades them again.
    pub fn run(mut self, results: &Receiver<Vec<Graded>>) -> bool {
        let mut open = true;
        let mut all_committed = true;
        while open || !self.backlog.is_empty() {
            self.dependencies.health.heartbeat("publish");
            match results.recv_timeout(self.patience()) {
                Ok(graded) => self.backlog.extend(graded),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => open = false,
            }
            self.fill(results);
            let nothing_else_comes = !open || self.dependencies.queue.is_idle();
            let waited = self.pending.since.is_some_and(|since| since.elapsed() >= self.wait_max());
            if !self.pending.results.is_empty() && (nothing_else_comes || waited || self.is_full())
            {
                all_committed &= self.commit();
            }
            if self.pending.results.is_empty() && (!open || self.next_check <= Instant::now()) {
                self.check_reports();
            }
        }
        self.dependencies.health.ended("publish");
        all_committed
    }

    /// Checks open reports for changes by somebody else, though there may be nothing to append to them.
    fn check_reports(&mut self) {
        self.next_check = Instant::now() + BEAT;
        let checked = self.dependencies.reports.lock().check_open();
        self.dependencies.reports.wake();
        match checked {
            Ok(()) => self.reports_are_well(),
            Err(error) => {
                emit::commit_failed(&error);
                self.dependencies.health.set_not_ready(Concern::Reports, error.to_string());
            }
        }
    }

    /// Unless there are marks that will not be written any more.
    fn reports_are_well(&self) {
        if !self.gave_up {
            self.dependencies.health.set_ready(Concern::Reports);
        }
    }

    /// How long results may wait for others: as long as a commit takes, so that commits take up a
    /// part of the time only. One that the disk held up makes no others wait. Where many results come in that
    /// time, they may wait longer: the disk is held up by fewer commits, and all is done earlier.
    fn wait_max(&self) -> Duration {
        let most = Duration::from_millis(self.dependencies.settings.get().commit_wait_ms_max);
        if self.pending.results.len() >= MANY_RESULTS {
            return most;
        }
        let [last, before] = self.last_commits;
        most.min(last).min(before)
    }

    fn is_full(&self) -> bool {
        self.pending.bytes >= self.dependencies.settings.get().pending_bytes_max
            || self.pending.rows.len() >= self.dependencies.open_reports_max
    }

    /// Takes results up to what one commit may hold.
    fn fill(&mut self, results: &Receiver<Vec<Graded>>) {
        while !self.is_full() {
            match self.backlog.pop_front() {
                Some(graded) => self.pending.add(graded),
                None => match results.try_recv() {
                    Ok(graded) => self.backlog.extend(graded),
                    Err(_) => return,
                },
            }
        }
    }

    /// How long the next result may keep those that are pending waiting.
    fn patience(&self) -> Duration {
        match self.pending.since {
            _ if !self.backlog.is_empty() => Duration::ZERO,
            Some(_) if self.dependencies.queue.is_idle() => Duration::ZERO,
            Some(since) => {
                self.wait_max().saturating_sub(since.elapsed()).min(Duration::from_millis(2))
            }
            None => BEAT,
        }
    }

    /// Commits what is pending, however often it takes. `false` if the service is to end and it
    /// could not be done.
    fn commit(&mut self) -> bool {
        let mut pause = FIRST_PAUSE;
        let pause_max = Duration::from_millis(self.dependencies.settings.get().retry_ms_max);
        let mut tries_at_the_end = 0;
        loop {
            self.dependencies.health.heartbeat("publish");
            let start = Instant::now();
            match self.try_commit() {
                Ok(bytes) => {
                    let took = start.elapsed();
                    self.last_commits = [took, self.last_commits[0]];
                    emit::committed(bytes, took);
                    self.reports_are_well();
                    self.finish_commit();
                    return true;
                }
                Err(error) => {
                    emit::commit_failed(&error);
                    self.dependencies.health.set_not_ready(Concern::Reports, error.to_string());
                    self.dependencies.reports.lock().roll_back();
                    self.dependencies.reports.wake();
                }
            }
            if self.dependencies.stopping.load(Ordering::Acquire) {
                tries_at_the_end += 1;
                if self.gave_up || tries_at_the_end > TRIES_AT_THE_END {
                    self.give_up();
                    return false;
                }
                pause = pause.min(PAUSE_AT_THE_END);
            }
            std::thread::sleep(pause.min(pause_max));
            pause = (pause * 2).min(pause_max);
        }
    }

    /// Appends all rows, makes them durable and commits; returns how many bytes were appended.
    fn try_commit(&mut self) -> std::result::Result<u64, Error> {
        self.check_disk()?;
        let Publisher { dependencies, pending, .. } = self;
        let graded_at_ms = Timestamp::now().as_millisecond();
        let mut commit = Commit::default();
        let mut summary = Vec::new();
        let mut files = Vec::new();
        for result in &pending.results {
            let outcome = result.outcome(graded_at_ms);
            if let Outcome::Finished(done) = &outcome {
                let neutralise = done.rules.neutralise_formulas;
                summary.extend_from_slice(&submission_row(&result.claimed, done, neutralise));
                files.push(&result.claimed);
            }
            commit.results.push(outcome);
            if let Some(judgement) = &result.judgement {
                commit.judgements.push((result.claimed.id, judgement.clone()));
            }
        }
        let waiting = dependencies.health.wait_for_disk("publish");
        for claimed in files.iter().filter(|file| dependencies.archive.may_have_lost_bytes(file)) {
            dependencies.archive.rewrite(claimed).map_err(Error::Archive)?;
        }
        // The rebuilder puts reports into their place between two commits.
        let mut reports = dependencies.reports.lock();
        reports.make_room(|name| pending.rows.contains_key(name) || name.as_bytes() == SUBMISSIONS);
        let mut bytes = 0;
        let submissions = Name::from_bytes(SUBMISSIONS);
        let summaries = (!summary.is_empty()).then_some(&submissions);
        reports.introduce(pending.rows.keys().chain(summaries))?;
        for (report, rows) in &pending.rows {
            bytes += reports.append(report, rows)?;
        }
        if let Some(report) = summaries {
            bytes += reports.append(report, &[summary])?;
        }
        let archive = || dependencies.archive.sync(files.iter().copied());
        let (archive_synced, reports_synced) = both(archive, || reports.sync());
        drop(waiting);
        reports_synced?;
        Point::ReportsSynced.pass();
        archive_synced.map_err(Error::Archive)?;
        Point::ArchiveSynced.pass();
        commit.report_lengths = reports.lengths();
        let waiting = dependencies.health.wait_for_disk("publish");
        dependencies.ledger.commit(&commit)?;
        drop(waiting);
        Point::Committed.pass();
        reports.committed();
        dependencies.reports.wake();
        Ok(bytes)
    }

    /// Makes sure that a commit leaves as much of the disk free as it should.
    fn check_disk(&self) -> std::result::Result<(), Error> {
        let least = self.dependencies.settings.get().disk_free_bytes_min;
        let folder = escape::path(&self.dependencies.folder).to_string();
        match free_bytes(&self.dependencies.folder) {
            Ok(free) if free < least => Err(Error::DiskNearlyFull { folder, free, least }),
            // A folder that is gone is made again when a report is.
            Err(_) if !self.dependencies.folder.exists() => Ok(()),
            Err(why) => Err(Error::Disk { folder, why }),
            Ok(_) => Ok(()),
        }
    }

    /// Lets go of what is pending: its claims stand, and the next start grades them again.
    fn give_up(&mut self) {
        self.gave_up = true;
        self.dependencies.queue.drain(Drain::Abandon);
        let pending = std::mem::take(&mut self.pending);
        self.dependencies.queue.done(pending.results.iter().map(|result| result.claimed.id));
        self.dependencies.budget.give(pending.results.iter().map(|result| result.rows_bytes).sum());
    }

    /// Reports what is durable now, and moves failed files into quarantine.
    fn finish_commit(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let mut done = Vec::new();
        for result in &pending.results {
            let claimed = &result.claimed;
            emit::cases_committed(result.kind, &result.tally);
            self.dependencies.published.cases.fetch_add(result.tally.cases(), Ordering::Relaxed);
            let status = match &result.step {
                Step::Chunk { .. } => continue,
                Step::Finished { total, .. } => Status::of(total),
                Step::Failed { reason, .. } => {
                    self.quarantine(claimed, reason);
                    self.dependencies.published.failed.fetch_add(1, Ordering::Relaxed);
                    Status::Failed
                }
            };
            let latency = claimed.ready.elapsed();
            emit::submission_committed(&claimed.name, claimed.attempt, status, latency);
            self.dependencies.published.submissions.fetch_add(1, Ordering::Relaxed);
            done.push(claimed.id);
        }
        self.dependencies.queue.done(done);
        self.dependencies.budget.give(pending.results.iter().map(|result| result.rows_bytes).sum());
        (self.dependencies.on_commit)();
    }

    fn quarantine(&self, claimed: &Claimed, reason: &str) {
        Point::QuarantineDue.pass();
        let archive = &self.dependencies.archive;
        let note = quarantine_note(&claimed.name, claimed.attempt, Some(reason), claimed.tries);
        match archive.quarantine(claimed.id, &claimed.archived_as, &note) {
            Ok(true) => {
                Point::Quarantined.pass();
                emit::quarantined(&claimed.name, reason);
            }
            Ok(false) => {
                emit::quarantine_failed(&claimed.name, &"another file has its place there")
            }
            // A file that is gone is one that a loss of power or somebody has removed.
            Err(_) if archive.signature(&claimed.archived_as).is_none() => {}
            Err(error) => emit::quarantine_failed(&claimed.name, &error),
        }
        emit::quarantine_holds(self.dependencies.archive.quarantined_files());
    }
}
