//! The threads of the stages: started together, drained in the order of the data flow.
//!
//! Intake ends first, then the threads that grade, then publishing; so each stage ends with nothing
//! left for it to do. A stage that panics ends the process: the others cannot go on without it, and a
//! restart recovers from a sudden end anyway.

use super::{Shared, descriptors};
use crate::model::submission::Claimed;
use crate::pipeline::grading::{self, Grading};
use crate::pipeline::intake::{self, Intake, Mailbox};
use crate::pipeline::pool;
use crate::pipeline::publish::{self, Publisher};
use crate::pipeline::queue::{Budget, Drain, Queue};
use crate::pipeline::standings::{self, Files, Follower};
use crate::store::ledger::Ledger;
use crate::store::recovery::{Recovered, leave_durable};
use crate::store::reports::rebuild::{self, Rebuild};
use crate::store::reports::rebuilder::{Rebuilder, SharedReports};
use crate::telemetry::{emit, log};
use gridmark_core::judge::Judge;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::sync::oneshot;

/// Batches of results that may wait to be published; their bytes are bounded by a budget.
const RESULTS_MAX: usize = 256;

/// How long a drain waits for damaged reports to be rebuilt. The next start continues with the others.
const REBUILD_TIME_MAX: Duration = Duration::from_secs(5);

/// The exit code after a panic.
const EXIT_PANIC: i32 = 70;

/// How the drain ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Drained {
    /// Files that a run with `--once` could not take.
    pub(super) left: usize,
    /// Whether everything taken, except unfinished large files, is graded and durable.
    pub(super) committed: bool,
}

/// The running stages.
pub(super) struct Stages {
    mailbox: Arc<Mailbox>,
    queue: Arc<Queue>,
    reports: Arc<SharedReports>,
}

impl Stages {
    /// Starts all stages with what an earlier run left. The receiver gets the result once
    /// all have ended.
    pub(super) fn start(
        shared: &Arc<Shared>,
        recovered: Recovered,
        once: bool,
    ) -> io::Result<(Stages, oneshot::Receiver<Drained>)> {
        let settings = &shared.settings;
        let (results, published) = sync_channel(RESULTS_MAX);
        // Twice the size of a commit, so that grading continues during one.
        let budget = Arc::new(Budget::new(settings.publish.pending_bytes_max.saturating_mul(2)));
        let (mut intake, mailbox) = Intake::new(intake_dependencies(shared, once));
        intake.add_hidden(recovered.hidden);
        let to_intake = Arc::clone(&mailbox);
        let grading = Arc::new(Grading::new(grading::Dependencies {
            queue: Arc::clone(&shared.queue),
            archive: Arc::clone(&shared.archive),
            pool: Arc::new(pool::new(settings.grade.threads_max).map_err(io::Error::other)?),
            judge: Judge::new(shared.tier),
            budget: Arc::clone(&budget),
            results,
            journal: Arc::clone(&shared.journal),
            give_back: Box::new(move |claimed, why| to_intake.return_file(claimed, why)),
            settings: Arc::clone(&shared.sections.grade),
            rules: rebuild::rules(settings),
            definitions: Arc::clone(shared.jury.live().definitions()),
        }));
        let publisher = Publisher::new(publish_dependencies(shared, budget));
        let on_room = Arc::clone(&mailbox);
        shared.queue.on_room(move || on_room.wake());
        if once {
            shared.queue.drain(Drain::LeaveStarved);
        }
        let (suspects, claims): (Vec<Claimed>, Vec<Claimed>) =
            recovered.again.into_iter().partition(|claimed| claimed.crashes > 0);
        let (large, mut small): (Vec<Claimed>, Vec<Claimed>) =
            suspects.into_iter().partition(|suspect| shared.queue.is_streamed(suspect));
        // The least suspicious first, so that as many as possible are done before another crash.
        small.sort_by_key(|suspect| (suspect.crashes, suspect.id));
        shared.queue.push_all(large);

        let publish = spawn("publish", move || publisher.run(&published))?;
        let rebuilder = rebuilder(shared);
        let rebuild = spawn("rebuild", move || rebuilder.run())?;
        let (follower, bell) = (follower(shared), Arc::clone(&shared.bell));
        let follow = spawn("standings", move || follower.run(&bell))?;
        let mut graders = Vec::new();
        let (open_intake, intake_opens) = oneshot::channel();
        let (batches, queue) = (Arc::clone(&grading), Arc::clone(&shared.queue));
        let time_max = Duration::from_millis(settings.grade.alone_ms_max);
        graders.push(spawn("batches", move || {
            batches.grade_suspects(small, time_max);
            queue.push_all(claims);
            let _ = open_intake.send(());
            batches.run_batches();
        })?);
        for _ in 0..settings.grade.streams_max {
            let streams = Arc::clone(&grading);
            graders.push(spawn("stream", move || streams.run_streams())?);
        }
        drop(grading);
        let intake = spawn("intake", move || {
            let _ = intake_opens.blocking_recv();
            intake.run()
        })?;
        let (queue, reports) = (Arc::clone(&shared.queue), Arc::clone(&shared.reports));
        let (ledger, archive) = (Arc::clone(&shared.ledger), Arc::clone(&shared.archive));
        let bell = Arc::clone(&shared.bell);
        let (send, drained) = oneshot::channel();
        spawn("supervise", move || {
            let left = intake.join().unwrap_or_default();
            queue.drain(Drain::Close);
            for grader in graders {
                let _ = grader.join();
            }
            let committed = publish.join().unwrap_or_default() && queue.left().starved == 0;
            reports.close();
            let _ = rebuild.join();
            bell.end();
            let _ = follow.join();
            // What is left to the next start is known to be whole, also after a start of the system.
            if let Err(error) = leave_durable(&ledger, &archive) {
                emit::leave_failed(&error);
            }
            let committed = is_kept(&ledger) && committed;
            // The process may end as soon as this is sent, and the ledger is closed with its last user.
            drop((reports, ledger));
            let _ = send.send(Drained { left, committed });
        })?;
        let (queue, reports) = (Arc::clone(&shared.queue), Arc::clone(&shared.reports));
        Ok((Stages { mailbox, queue, reports }, drained))
    }

    /// The mailbox of intake.
    pub(super) fn mailbox(&self) -> Arc<Mailbox> {
        Arc::clone(&self.mailbox)
    }

    /// Wakes intake, so that it reads its mail and its settings.
    pub(super) fn wake(&self) {
        self.mailbox.wake();
    }

    /// Starts the drain: intake takes no more files, and what was taken is graded and committed. Large
    /// files stop at their next checkpoint, where the next start continues.
    pub(super) fn drain(&self) {
        self.queue.drain(Drain::LeaveLarge);
        self.queue.drain(Drain::LeaveStarved);
        self.reports.end_within(REBUILD_TIME_MAX);
        self.mailbox.stop();
    }
}

/// Whether the ledger's file holds what is committed. If somebody has put another file into its place, what is
/// committed is saved beside it.
fn is_kept(ledger: &Ledger) -> bool {
    let Err(error) = ledger.check_file() else { return true };
    match ledger.rescue() {
        Ok(copy) => emit::ledger_rescued(&error, &copy),
        Err(failed) => emit::ledger_lost(&error, &failed),
    }
    false
}

fn intake_dependencies(shared: &Shared, once: bool) -> intake::Dependencies {
    intake::Dependencies {
        archive: Arc::clone(&shared.archive),
        ledger: Arc::clone(&shared.ledger),
        queue: Arc::clone(&shared.queue),
        health: Arc::clone(&shared.health),
        settings: Arc::clone(&shared.sections.intake),
        health_settings: Arc::clone(&shared.sections.health),
        open_folders_max: descriptors::open_folders_max(&shared.settings),
        once,
    }
}

fn publish_dependencies(shared: &Shared, budget: Arc<Budget>) -> publish::Dependencies {
    let bell = Arc::clone(&shared.bell);
    publish::Dependencies {
        ledger: Arc::clone(&shared.ledger),
        archive: Arc::clone(&shared.archive),
        queue: Arc::clone(&shared.queue),
        health: Arc::clone(&shared.health),
        budget,
        reports: Arc::clone(&shared.reports),
        folder: shared.settings.paths.reports(),
        open_reports_max: descriptors::open_reports_max(&shared.settings),
        settings: Arc::clone(&shared.sections.publish),
        stopping: Arc::clone(&shared.stopping),
        published: Arc::clone(&shared.published),
        on_commit: Box::new(move || bell.ring()),
    }
}

fn follower(shared: &Shared) -> Follower {
    let (paths, jury) = (&shared.settings.paths, Arc::clone(&shared.jury));
    Follower::new(standings::Dependencies {
        ledger: Arc::clone(&shared.ledger),
        live: Arc::clone(jury.live()),
        files: Files::new(paths.reports(), paths.public()),
        write_every: Duration::from_millis(shared.settings.event.write_every_ms),
        settle: Box::new(move |after| Ok(jury.settle(after)?)),
        health: Arc::clone(&shared.health),
    })
}

fn rebuilder(shared: &Shared) -> Rebuilder {
    let (ledger, archive) = (Arc::clone(&shared.ledger), Arc::clone(&shared.archive));
    let health = Arc::clone(&shared.health);
    let rebuild = Rebuild::new(&shared.settings, shared.tier, ledger, archive)
        .with_heartbeat(Box::new(move || health.heartbeat("rebuild")));
    let (reports, ledger) = (Arc::clone(&shared.reports), Arc::clone(&shared.ledger));
    Rebuilder::new(reports, rebuild, ledger, Arc::clone(&shared.health))
}

/// Runs `work` on a thread of this name; a panic there ends the process.
fn spawn<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    Builder::new().name(name.to_owned()).spawn(move || {
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
            Ok(value) => value,
            // There is nothing left to drain.
            Err(_) => log::exit(EXIT_PANIC),
        }
    })
}
