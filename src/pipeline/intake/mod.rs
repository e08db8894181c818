//! Intake: finds files in the inbox, waits until each has settled, and takes it.
//!
//! Events are hints, the folder is the truth: every event may be lost, and a file is still found by the
//! next scan. So the parts are stacked. `scanning` finds files, by hints and by walking through the
//! inbox. `settling` remembers what was found and says when a file is ready, which is when it is
//! complete. `claiming` takes as many ready files as the queue has room for; what it has no room for
//! stays in the inbox, where it is safe. One thread runs all three; others reach it by the [`Mailbox`].
//!
//! Whatever there is much of takes turns, and waits for nobody else: hints, the two walks, claims; and folders in
//! each of them. So a file is found within one scan period, or one scan where that takes longer, and graded
//! soon after, however many files wait in other folders.

mod arrival;
mod claiming;
mod mailbox;
mod probe;
mod ready;
mod reported;
mod rules;
mod scanning;
mod settling;
mod walk;
mod watch;

pub use mailbox::Mailbox;
pub use probe::{WatchProbe, probe_watch};
pub use rules::Rules;
pub use settling::WaitingStatus;

use crate::config::{self, Live};
use crate::model::escape;
use crate::model::submission::{Claimed, Name};
use crate::pipeline::queue::Queue;
use crate::store::archive::Archive;
use crate::store::ledger::{Ledger, Reading};
use crate::store::recovery::boot_id;
use crate::telemetry::emit::{self, Via};
use crate::telemetry::health::{Concern, Health};
use arrival::{Clock, FoundBy};
use claiming::{Batch, Claiming};
use mailbox::Hints;
use ready::{ReadyLimits, Room};
use scanning::{Found, Scanning, Step, WatchBy, Which};
use settling::{Failing, FileState, SettleTimes, Settling};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{Builder, ScopedJoinHandle};
use std::time::{Duration, Instant};
use watch::Hint;

/// How often a run that ends by itself tries to take a file before it leaves it in the inbox.
const TRIES_FOR_ONCE: u32 = 3;

/// The longest time between two heartbeats.
const HEARTBEAT: Duration = Duration::from_secs(1);

/// How often it checks at the end whether everything that was taken is done.
const DRAIN_CHECK: Duration = Duration::from_millis(10);

/// How many hints are followed before everything else gets its turn, so that a flood of events delays
/// nothing.
const HINTS_A_ROUND: usize = 1_024;

/// How many steps each walk takes before everything else gets its turn.
const STEPS_A_ROUND: usize = 1_024;

/// How many steps it counts to open a folder, which takes longer than others.
const STEPS_TO_OPEN: usize = 8;

/// What intake works with.
pub struct Dependencies {
    /// The folders.
    pub archive: Arc<Archive>,
    /// Records claims.
    pub ledger: Arc<Ledger>,
    /// Where taken files go.
    pub queue: Arc<Queue>,
    /// Where it reports its condition.
    pub health: Arc<Health>,
    /// Its settings, which may change.
    pub settings: Arc<Live<config::Intake>>,
    /// How long a file may be left before that counts as trouble; they may change too.
    pub health_settings: Arc<Live<config::Health>>,
    /// How many folders may be open at a time; each holds a descriptor.
    pub open_folders_max: usize,
    /// Whether to end when nothing in the inbox can be taken and all that was taken is done.
    pub once: bool,
}

/// The intake stage.
pub struct Intake {
    dependencies: Dependencies,
    /// The settings of this round.
    settings: Arc<config::Intake>,
    mailbox: Arc<Mailbox>,
    hints: Hints,
    scanning: Scanning,
    settling: Settling,
    claiming: Claiming,
    /// None before it is read first.
    clock: Option<Clock>,
}

impl Intake {
    /// The stage, and the mailbox by which other threads reach it.
    pub fn new(dependencies: Dependencies) -> (Intake, Arc<Mailbox>) {
        let (mailbox, hints) = Mailbox::new();
        let settings = dependencies.settings.get();
        let Dependencies { archive, ledger, queue, health, once, .. } = &dependencies;
        let watch_by = if *once { WatchBy::Scans } else { WatchBy::Events(Arc::clone(&mailbox)) };
        let intake = Intake {
            scanning: Scanning::new(
                archive.inbox(),
                Arc::clone(health),
                Arc::clone(&settings),
                watch_by,
                dependencies.open_folders_max,
            ),
            settling: Settling::new(SettleTimes::of(&settings), settings.waiting_files_max),
            claiming: Claiming::new(
                Arc::clone(archive),
                Arc::clone(ledger),
                Arc::clone(queue),
                Arc::clone(health),
                *once,
            ),
            clock: None,
            settings,
            mailbox: Arc::clone(&mailbox),
            hints,
            dependencies,
        };
        (intake, mailbox)
    }

    /// Adds files that an earlier run began to copy into the archive, and why that was not possible at the start.
    pub fn add_hidden(&mut self, files: Vec<(Claimed, String)>) {
        self.claiming.add_hidden(files);
    }

    /// Runs until it is stopped; or, if it is to run once, until nothing in the inbox can be taken and
    /// all that was taken is done. Returns how many files and folders it had to leave in the inbox then,
    /// because they could not be taken or read.
    pub fn run(mut self) -> usize {
        self.scanning.start();
        while !self.mailbox.is_stopped() && !self.queue().is_abandoned() && !self.is_done_for_once()
        {
            self.dependencies.health.heartbeat("intake");
            self.check_clock();
            self.take_settings();
            self.read_mail();
            let progressed = self.find_claim_and_move();
            self.report();
            if !(progressed && (self.has_work() || self.claiming.has_claimed())) {
                self.wait();
            }
        }
        self.claiming.release_claimed();
        self.report();
        self.drain();
        self.dependencies.health.ended("intake");
        if self.dependencies.once {
            self.settling.len() + self.claiming.hidden_files() + self.scanning.unreadable_folders()
        } else {
            0
        }
    }

    fn queue(&self) -> &Queue {
        &self.dependencies.queue
    }

    /// Takes over settings that have changed.
    fn take_settings(&mut self) {
        let settings = self.dependencies.settings.get();
        if Arc::ptr_eq(&settings, &self.settings) {
            return;
        }
        self.settling.set_limits(SettleTimes::of(&settings), settings.waiting_files_max);
        self.scanning.set_settings(Arc::clone(&settings));
        self.settings = settings;
    }

    /// Notices that the clock was set, since the last round or since an earlier run: times before that are in
    /// doubt.
    fn check_clock(&mut self) {
        let Some(now) = Reading::now() else { return };
        let ledger = &self.dependencies.ledger;
        let is_first = self.clock.is_none();
        let (clock, was_put_back) = match self.clock.take() {
            Some(clock) => (clock, false),
            // Without the ledger nothing is taken anyway.
            None => {
                let earlier = ledger.keep_reading(now, &boot_id()).ok().flatten();
                let last = ledger.last_received_ms().ok().flatten();
                let was_put_back = last.is_some_and(|last| last > now.wall_ms);
                (Clock::new(earlier.unwrap_or(now)), was_put_back)
            }
        };
        let step = self.clock.insert(clock).check(now);
        if let Some(by_ms) = step {
            emit::clock_set(by_ms);
            if !is_first {
                // If it is not kept, the next start notices the same step.
                let _ = ledger.keep_reading(now, &boot_id());
            }
        }
        if step.is_some() || was_put_back {
            self.scanning.arrivals().doubt_clock(now.wall_ms);
            self.settling.doubt_clock();
            self.claiming.doubt_clock();
        }
    }

    /// Waits until everything that was taken is done or left to the next start, since some of it may have
    /// to be put back.
    fn drain(&mut self) {
        while !self.queue().is_abandoned()
            && (!self.queue().is_idle()
                || self.queue().flow().in_flight_files > self.claiming.returned_files())
        {
            self.dependencies.health.heartbeat("intake");
            self.put_back_returned();
            let _ = self.hints.recv_timeout(DRAIN_CHECK);
        }
    }

    fn is_done_for_once(&self) -> bool {
        self.dependencies.once
            && self.scanning.has_scanned(TRIES_FOR_ONCE)
            && self.settling.holds_only_failed(TRIES_FOR_ONCE)
            && self.claiming.returned_files() == 0
            && self.claiming.hides_only_failed(TRIES_FOR_ONCE)
            && !self.claiming.has_claimed()
            && self.queue().flow().in_flight_files == 0
            && self.queue().is_idle()
    }

    /// Reports what is on its way to the queue.
    fn report(&self) {
        let now = Instant::now();
        let settled = self.settling.next_due().filter(|due| *due <= now);
        let failing = [self.settling.failing(), self.claiming.failing()];
        let failing_since = failing.iter().flatten().map(|failing| failing.since);
        let oldest = self.claiming.oldest_ready().into_iter().chain(settled).chain(failing_since);
        self.queue().set_oldest_outside(oldest.min());
        self.report_failing(failing, now);
        self.queue().set_more_coming(self.claiming.has_claimed());
        emit::inbox_holds(self.settling.len());
    }

    /// Reports files that cannot be taken, and folders that cannot be read, once that lasts.
    fn report_failing(&self, failing: [Option<Failing>; 2], now: Instant) {
        let health = &self.dependencies.health;
        let patience = self.dependencies.health_settings.get().stuck_ms_max / 2;
        let lasts = |since: Instant| {
            now.saturating_duration_since(since) >= Duration::from_millis(patience)
        };
        let files: usize = failing.iter().flatten().map(|failing| failing.files).sum();
        let oldest = failing.into_iter().flatten().min_by_key(|failing| failing.since);
        let reason = match (oldest, self.scanning.unreadable_folder()) {
            (Some(Failing { since, name, why, .. }), _) if lasts(since) => {
                let seconds = now.saturating_duration_since(since).as_secs();
                format!(
                    "files in the inbox that cannot be taken: {files}, the oldest for {seconds} seconds; \
                     {name}: {}",
                    escape::line(&why)
                )
            }
            (_, Some((since, why))) if lasts(since) => why.to_owned(),
            _ => return health.set_ready(Concern::Files),
        };
        health.set_not_ready(Concern::Files, reason);
    }

    /// Whether there is something to do that waits for nothing.
    fn has_work(&mut self) -> bool {
        self.claiming.ready_files() > 0 || self.can_walk()
    }

    fn can_walk(&mut self) -> bool {
        [Which::Hinted, Which::Scan].into_iter().any(|which| self.can_step(which))
    }

    fn can_step(&mut self, which: Which) -> bool {
        let (claiming, limits) = (&self.claiming, ready_limits(&self.settings));
        self.scanning.can_step(which, &|folder| claiming.room(folder, limits))
    }

    /// Sleeps until there is something to do.
    fn wait(&mut self) {
        if self.can_walk() {
            return;
        }
        let next =
            [self.settling.next_due(), self.claiming.next_retry(), Some(self.scanning.next_scan())];
        let timeout = next.into_iter().flatten().min().map_or(HEARTBEAT, |next| {
            next.saturating_duration_since(Instant::now()).min(HEARTBEAT)
        });
        match self.hints.recv_timeout(timeout) {
            Ok(Some(hint)) => self.follow(hint),
            Ok(None) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }

    fn read_mail(&mut self) {
        let hints: Vec<_> = self.hints.try_iter().take(HINTS_A_ROUND).flatten().collect();
        for hint in hints {
            self.follow(hint);
        }
        self.put_back_returned();
        for (name, reply) in self.mailbox.take_queries() {
            let _ = reply.send(self.settling.status(&name, Instant::now()));
        }
        if let Some(error) = self.mailbox.take_watch_error() {
            self.scanning.watch_failed(&error);
        }
        if let Some(queue) = self.mailbox.take_lost() {
            self.scanning.events_lost(queue);
        }
        self.scanning.start_due_scan();
    }

    fn put_back_returned(&mut self) {
        self.claiming.complete_due();
        self.claiming.add_returned(self.mailbox.take_returned());
        self.claiming.put_back_due(&mut self.settling);
    }

    fn follow(&mut self, (path, hint): (PathBuf, Hint)) {
        let Some(found) = self.scanning.follow(&path, hint) else { return };
        let folder = found.name.folder().unwrap_or_default();
        let room = self.claiming.room(folder, ready_limits(&self.settings));
        if room == Room::None && !self.settling.has(&found.name) {
            self.scanning.add_backlog(folder);
        } else {
            self.see(found, Via::Event, Some(hint));
        }
    }

    fn see(&mut self, Found { name, metadata }: Found, via: Via, hint: Option<Hint>) {
        let state = FileState::of(&metadata);
        let arrivals = self.scanning.arrivals();
        let handed_in = |name: &Name, is_known: bool| {
            let found_by = match via {
                Via::Event => FoundBy::Event,
                Via::Scan if is_known => FoundBy::Change,
                Via::Scan => FoundBy::Scan,
            };
            arrivals.handed_in(name, &metadata, found_by)
        };
        let now = Instant::now();
        if let Some(ready) = self.settling.see(name, state, handed_in, via, hint, now) {
            let name = ready.name.clone();
            if !self.claiming.add(ready, ready_limits(&self.settings)) {
                self.settling.leave(&name);
            }
        }
    }

    /// Moves the batch that is claimed, and finds and claims the next one: at the same time if there is
    /// something to find, since both wait for the disk. Returns whether there was progress.
    fn find_claim_and_move(&mut self) -> bool {
        let batch = self.claiming.next_batch();
        if batch.is_empty() {
            return self.find_and_claim(&batch);
        }
        let archive = Arc::clone(&self.dependencies.archive);
        let queue = Arc::clone(&self.dependencies.queue);
        let move_files = || batch.take(&archive, &queue);
        let taken = if self.has_work() {
            let taken = std::thread::scope(|scope| {
                let mover = Builder::new().name("take".into()).spawn_scoped(scope, move_files);
                self.find_and_claim(&batch);
                mover.map(ScopedJoinHandle::join)
            });
            match taken {
                Ok(Ok(taken)) => taken,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The system gives no more threads.
                Err(_) => move_files(),
            }
        } else {
            queue.set_more_coming(false);
            move_files()
        };
        self.claiming.finish_moves(&batch, taken, &mut self.settling);
        true
    }

    /// Finds files and claims as many as the queue has room for; returns whether it claimed any.
    fn find_and_claim(&mut self, moving: &Batch) -> bool {
        self.walk();
        self.recheck_due();
        self.claiming.claim(moving, &mut self.settling, self.settings.claim_files_max)
    }

    fn walk(&mut self) {
        for which in [Which::Hinted, Which::Scan] {
            let mut left = if self.can_step(which) { STEPS_A_ROUND } else { 0 };
            while left > 0 {
                let (claiming, limits) = (&self.claiming, ready_limits(&self.settings));
                let step = self.scanning.step(which, &|folder| claiming.room(folder, limits));
                left -= match step {
                    Step::Opened => STEPS_TO_OPEN.min(left),
                    Step::Over => left,
                    Step::File(_) | Step::Other => 1,
                };
                if let Step::File(found) = step {
                    self.see(found, Via::Scan, None);
                }
            }
        }
        let settling = &mut self.settling;
        if self.scanning.finish_scan(|| settling.take_missed()) && settling.len() == 0 {
            self.claiming.recheck_archive();
        }
    }

    /// Checks the files that may have settled.
    fn recheck_due(&mut self) {
        for name in self.settling.due(Instant::now()) {
            match self.scanning.find(name) {
                Ok(found) => self.see(found, Via::Scan, None),
                Err(name) => self.settling.forget(&name),
            }
        }
    }
}

fn ready_limits(settings: &config::Intake) -> ReadyLimits {
    ReadyLimits { of_folder_max: settings.claim_files_max, files_max: settings.waiting_files_max }
}
