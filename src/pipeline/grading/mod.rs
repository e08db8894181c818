//! Grading: from taken files to rows and marks.
//!
//! Small files share a batch, and batches run on the pool, so that the cost of a queue and of a thread is paid
//! once for many. A large file is streamed: one thread reads it chunk by chunk and the pool marks the cases of
//! each chunk, so that memory stays bounded and all cores work on one file.
//!
//! An error or a panic concerns one submission and is our failure, never a mark: the submission is tried again,
//! given back to intake if its file changed, or fails for good and goes to quarantine. A crash of the process
//! cannot be handled here; the in-flight journal says what was being graded, and the next start grades these
//! suspects one by one.

#[cfg(debug_assertions)]
mod hooks;
mod small;
mod stream;

use crate::config::{self, Live};
use crate::event::Definitions;
use crate::model::marking::{Marker, limits};
use crate::model::rows::CaseRows;
use crate::model::submission::{Claimed, Graded, Rules, Signature, Step, Tally};
use crate::model::words::{counted, times};
use crate::pipeline::queue::{Budget, Queue, Requeue};
use crate::store::archive::{Archive, is_written};
use crate::store::definitions::KnownDefinitions;
use crate::store::fail_point::Point;
use crate::store::in_flight::{InFlightJournal, Slot};
use crate::telemetry::emit;
use gridmark_core::judge::Judge;
use rayon::ThreadPool;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use stream::HalfWay;

/// How long a file waits for its next try when the system lacked memory or descriptors.
const STARVED_PAUSE: Duration = Duration::from_millis(200);

/// What is found in a file that lost bytes with the power.
const HAS_NULS: &str = "it holds NUL bytes";

/// What grading depends on.
pub struct Dependencies {
    /// Where claimed files come from.
    pub queue: Arc<Queue>,
    /// Where the files are.
    pub archive: Arc<Archive>,
    /// The threads that mark cases.
    pub pool: Arc<ThreadPool>,
    /// Marks the cases.
    pub judge: Judge,
    /// Bounds the bytes of rows between grading and publishing.
    pub budget: Arc<Budget>,
    /// Where results go.
    pub results: SyncSender<Vec<Graded>>,
    /// Records what is being graded, for the start after a crash.
    pub journal: Arc<InFlightJournal>,
    /// Gives a file back to intake because it changed, with the reason.
    pub give_back: Box<dyn Fn(Claimed, String) + Send + Sync>,
    /// The stage's settings, which may change.
    pub settings: Arc<Live<config::Grade>>,
    /// The rules by which submissions are graded, unless they were begun by other rules.
    pub rules: Rules,
    /// What defines the event, by number.
    pub definitions: Arc<KnownDefinitions>,
}

/// The grading stage.
pub struct Grading {
    dependencies: Dependencies,
    /// Bounds the batches that are on the pool at a time.
    batches: Budget,
    batches_max: usize,
    /// Large files that wait for their next turn, by ledger number.
    half_way: Mutex<HashMap<i64, HalfWay>>,
}

/// Why a file was not graded.
#[derive(Debug)]
enum Trouble {
    /// It changed since it was claimed: it has to settle again.
    Changed(String),
    /// It is too large for a batch: it has to be streamed.
    Large,
    /// The service is draining: the file is left to the next start.
    Left,
    /// The system lacks memory or descriptors for now.
    Starved(io::Error),
    /// We failed, and may succeed when it is tried again.
    Failed(String),
    /// We failed, and would again.
    FailedForGood(String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        use rustix::io::Errno;
        let starved = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(Errno::raw_os_error);
        if error.raw_os_error().is_some_and(|code| starved.contains(&code)) {
            return Trouble::Starved(error);
        }
        Trouble::Failed(format!("cannot read its file in the archive: {error}"))
    }
}

impl Grading {
    /// The stage.
    pub fn new(dependencies: Dependencies) -> Grading {
        let batches_max = dependencies.pool.current_num_threads() * 2;
        let batches = Budget::new(batches_max);
        Grading { dependencies, batches, batches_max, half_way: Mutex::default() }
    }

    /// Grades small files until the queue is drained.
    pub fn run_batches(self: &Arc<Self>) {
        let next_batch = || {
            let settings = self.dependencies.settings.get();
            let bytes_max = settings.batch_bytes_max as u64;
            self.dependencies.queue.next_batch(settings.batch_files_max, bytes_max)
        };
        while let Some(batch) = next_batch() {
            self.batches.take(1);
            let grading = Arc::clone(self);
            self.dependencies.pool.spawn(move || {
                grading.grade_batch(batch);
                grading.batches.give(1);
            });
        }
        // When the whole budget is free again, all batches are done.
        self.batches.take(self.batches_max);
    }

    /// Grades large files, one after the other, until the queue is drained.
    pub fn run_streams(&self) {
        while let Some(claimed) = self.dependencies.queue.next_large() {
            self.grade_stream(claimed);
        }
    }

    /// Grades small suspects, which were being graded when an earlier process died: one by one, so that
    /// if the process dies again it is known over which. After `time_max` those that are left are graded
    /// like all other files.
    pub fn grade_suspects(&self, suspects: Vec<Claimed>, time_max: Duration) {
        let end = Instant::now() + time_max;
        let mut suspects = suspects.into_iter();
        while Instant::now() < end
            && let Some(suspect) = suspects.next()
        {
            self.dependencies.queue.push_all([suspect]);
            let Some(batch) = self.dependencies.queue.next_batch(1, u64::MAX) else {
                return;
            };
            // On the pool, like all other files, so that they have the same stack and scratch memory.
            self.dependencies.pool.install(|| self.grade_batch(batch));
        }
        self.dependencies.queue.push_all(suspects);
    }

    fn case_rows(&self, claimed: &Claimed, rules: &Rules) -> CaseRows {
        CaseRows::new(&claimed.name, claimed.attempt, rules.neutralise_formulas)
    }

    /// Opens a submission's file and makes sure that it is what was taken.
    fn open(&self, claimed: &Claimed) -> Result<(File, Signature), Trouble> {
        self.check_gradable(claimed)?;
        let opened = self.dependencies.archive.read(&claimed.archived_as);
        self.check_unchanged(opened, claimed)
    }

    /// Makes sure that what was opened is the file that was claimed; returns it with its signature.
    fn check_unchanged(
        &self,
        opened: io::Result<File>,
        claimed: &Claimed,
    ) -> Result<(File, Signature), Trouble> {
        if opened.is_err()
            && let (Some(seen), Some(found)) =
                (&claimed.seen, self.dependencies.archive.signature(&claimed.archived_as))
            && (!found.has_content_of(seen)
                || !self.dependencies.archive.holds_file(&claimed.archived_as))
        {
            return Err(Trouble::Changed("something else was put in its place".into()));
        }
        let file = opened?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(Trouble::Changed("it is no longer a regular file".into()));
        }
        // A process may have opened it again since intake asked.
        let may_be_written = !claimed.though_open && claimed.progress.is_none();
        if may_be_written && is_written(&file) == Some(true) {
            return Err(Trouble::Changed("a process has it open for writing".into()));
        }
        let found = Signature::of(&metadata);
        match &claimed.seen {
            Some(seen) if !found.has_content_of(seen) => {
                Err(Trouble::Changed("it changed while it was claimed".into()))
            }
            None if found.bytes != claimed.bytes => Err(Trouble::Changed(format!(
                "it has {}, and had {} when an earlier run claimed it",
                counted(found.bytes, "byte"),
                claimed.bytes
            ))),
            _ => Ok((file, found)),
        }
    }

    /// Records in the journal that these are being graded: all but those that are only to be failed, which
    /// cannot be the cause of a crash.
    fn begin(&self, batch: &[Claimed]) -> Slot<'_> {
        let tried = batch.iter().filter(|claimed| !self.crashed_too_often(claimed));
        let ids: Vec<i64> = tried.map(|claimed| claimed.id).collect();
        let slot = self.dependencies.journal.begin(&ids);
        if !ids.is_empty() {
            Point::GradingBegun.pass();
        }
        slot
    }

    fn crashed_too_often(&self, claimed: &Claimed) -> bool {
        claimed.crashes >= self.dependencies.settings.get().tries_max
    }

    /// Fails a submission whose file a loss of power has damaged, or over which the process has crashed
    /// too often.
    fn check_gradable(&self, claimed: &Claimed) -> Result<(), Trouble> {
        if let Some(damage) = &claimed.damage {
            return Err(Trouble::FailedForGood(damage.clone()));
        }
        if !self.crashed_too_often(claimed) {
            return Ok(());
        }
        let crashes = claimed.crashes;
        let times = times(crashes);
        Err(Trouble::FailedForGood(format!("the process died while it was graded, {times}")))
    }

    /// Passes results on to publishing. While this waits for room, the slot is paused: a crash in the meantime
    /// is not the fault of its files.
    fn hand_on(&self, results: Vec<Graded>, slot: Option<&Slot<'_>>) {
        fn wait<T>(slot: Option<&Slot<'_>>, work: impl FnOnce() -> T) -> T {
            match slot {
                Some(slot) => slot.pause(work),
                None => work(),
            }
        }
        if results.is_empty() {
            return;
        }
        let bytes = results.iter().map(Graded::rows_bytes).sum();
        if !self.dependencies.budget.try_take(bytes) {
            wait(slot, || self.dependencies.budget.take(bytes));
        }
        // The receiver lives as long as grading does: the service ends stages in order.
        if let Err(TrySendError::Full(results)) = self.dependencies.results.try_send(results) {
            let _ = wait(slot, || self.dependencies.results.send(results));
        }
    }

    /// Decides what becomes of a file that was not graded. Returns its result if it failed for good.
    fn deal_with(&self, trouble: Trouble, mut claimed: Claimed, total: Tally) -> Option<Graded> {
        let tries_max = self.dependencies.settings.get().tries_max;
        match trouble {
            Trouble::Changed(why) => {
                (self.dependencies.give_back)(claimed, why);
                self.dependencies.queue.graded(1);
            }
            Trouble::Large => self.dependencies.queue.requeue(claimed, Requeue::Large),
            Trouble::Starved(error) => {
                emit::grade_starved(&claimed.name, &error);
                let at = Instant::now() + STARVED_PAUSE;
                self.dependencies.queue.requeue(claimed, Requeue::Starved(at));
            }
            Trouble::Left => self.dependencies.queue.requeue(claimed, Requeue::NextStart),
            Trouble::Failed(reason) => {
                claimed.tries += 1;
                emit::grade_failed(&claimed.name, claimed.tries, tries_max, &reason);
                if claimed.tries >= tries_max {
                    return Some(self.failed(claimed, reason, total));
                }
                let pause = Duration::from_millis(100) * 4u32.saturating_pow(claimed.tries);
                self.dependencies.queue.requeue(claimed, Requeue::Later(Instant::now() + pause));
            }
            Trouble::FailedForGood(reason) => {
                emit::grade_failed(&claimed.name, claimed.tries, tries_max, &reason);
                return Some(self.failed(claimed, reason, total));
            }
        }
        None
    }

    /// The result of a submission that cannot be graded.
    fn failed(&self, claimed: Claimed, reason: String, total: Tally) -> Graded {
        let rules = self.rules_for(&claimed);
        let step = Step::Failed { reason, total };
        let definitions = self.definitions_of(&claimed).ok().flatten();
        let judgement = definitions.and_then(|it| it.unjudged(&claimed.name, true));
        let tally = Tally::default();
        Graded { claimed, rows: Vec::new(), tally, kind: None, rules, judgement, step }
    }

    /// The rules by which a submission is graded: by those by which it was begun, to its end.
    fn rules_for(&self, claimed: &Claimed) -> Rules {
        match &claimed.progress {
            Some(progress) => progress.rules,
            None => Rules { definitions: claimed.definitions, ..self.dependencies.rules },
        }
    }

    /// What defined the event when a submission was taken.
    fn definitions_of(&self, claimed: &Claimed) -> Result<Option<Arc<Definitions>>, Trouble> {
        let found = self.dependencies.definitions.of(claimed.definitions);
        found.map_err(|error| Trouble::Failed(error.to_string()))
    }

    /// Whether a submission is an entry, which is judged whole however small chunks are.
    fn is_entry(&self, claimed: &Claimed) -> Result<bool, Trouble> {
        let definitions = self.definitions_of(claimed)?;
        Ok(definitions.is_some_and(|it| it.takes(&claimed.name, claimed.bytes)))
    }
}

/// Runs `work`; a panic of it is a failure of ours with the panic's words.
fn guarded<T>(work: impl FnOnce() -> Result<T, Trouble>) -> Result<T, Trouble> {
    // What a panic leaves half done is thrown away by the caller.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) => {
            let words = (panic.downcast_ref::<String>().map(String::as_str))
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("no words");
            Err(Trouble::Failed(format!("grading panicked: {words}")))
        }
    }
}
