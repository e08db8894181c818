//! Liveness of the pipeline: the answer of `/livez`, and the condition of the systemd watchdog.
//!
//! Intake and publishing send heartbeats. Grading sends none, since a batch has no fixed duration; it
//! counts as alive while its counters move, or while there is nothing to grade. Copying a file
//! between disks keeps a thread from its heartbeat for long; meanwhile the number of copied bytes stands
//! for it.
//!
//! A stage that waits for the disk is not stuck: `/readyz` reports it, and a restart would not help. Such a wait
//! can take minutes, where other programs have written gigabytes that the system has to write first. The
//! other stages then wait for this one, or for the same disk.

use super::Shared;
use crate::model::words::counted;
use crate::telemetry::emit;
use crate::telemetry::health::Concern;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A longer gap between two checks means that the whole process was suspended.
const SUSPENDED_AFTER: Duration = Duration::from_secs(5);

/// The liveness at the last check.
pub(super) struct Liveness {
    state: Mutex<State>,
}

struct State {
    checked_at: Instant,
    graded: Count,
    /// How many bytes were copied between disks.
    copied: u64,
    /// When a check last found bytes copied, or a stage that waits for the disk.
    long_task_at: Option<Instant>,
    verdict: Result<(), String>,
}

/// A counter, and when it last moved.
struct Count {
    value: u64,
    moved_at: Instant,
}

impl Count {
    fn update(&mut self, value: u64, now: Instant) {
        if self.value != value {
            *self = Count { value, moved_at: now };
        }
    }
}

impl Default for Liveness {
    fn default() -> Liveness {
        let now = Instant::now();
        let graded = Count { value: 0, moved_at: now };
        let state =
            State { checked_at: now, graded, copied: 0, long_task_at: None, verdict: Ok(()) };
        Liveness { state: Mutex::new(state) }
    }
}

impl Liveness {
    /// The result of the last check.
    ///
    /// # Errors
    ///
    /// What is stuck, as a message.
    pub(super) fn verdict(&self) -> Result<(), String> {
        self.state().verdict.clone()
    }

    /// Checks whether everything that has work makes progress.
    pub(super) fn check(&self, shared: &Shared) {
        let stuck_max = Duration::from_millis(shared.sections.health.get().stuck_ms_max);
        let mut state = self.state();
        let now = Instant::now();
        let since_last_check = now - std::mem::replace(&mut state.checked_at, now);
        // After a suspension every heartbeat is old; by the next check the live ones are fresh.
        if since_last_check > SUSPENDED_AFTER {
            return;
        }
        state.graded.update(graded(shared), now);
        let copied = shared.archive.copied_bytes();
        if waits_for_disk(shared, stuck_max) || state.copied != copied {
            state.long_task_at = Some(now);
        }
        state.copied = copied;
        if !is_work_for_grading(shared) {
            state.graded.moved_at = now;
        }
        let verdict = verdict(&state, shared, stuck_max);
        if verdict.is_ok() != state.verdict.is_ok() {
            emit::liveness(&verdict);
        }
        state.verdict = verdict;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn graded(shared: &Shared) -> u64 {
    let published = &shared.published;
    shared.journal.progress_count()
        + published.submissions.load(Ordering::Relaxed)
        + published.cases.load(Ordering::Relaxed)
}

/// Whether a stage has waited for the disk for so long that it would soon count as stuck. Then the service is
/// not ready.
fn waits_for_disk(shared: &Shared, stuck_max: Duration) -> bool {
    match shared.health.longest_disk_wait() {
        Some((thread, waited)) if waited > stuck_max / 2 => {
            let waited = counted(waited.as_secs(), "second");
            let reason = format!("{thread} has waited for the disk for {waited}");
            shared.health.set_not_ready(Concern::Sync, reason);
            true
        }
        _ => {
            shared.health.set_ready(Concern::Sync);
            false
        }
    }
}

/// Whether files wait for grading, and their results can be written.
fn is_work_for_grading(shared: &Shared) -> bool {
    let flow = shared.queue.flow();
    let can_commit =
        [Concern::Reports, Concern::Sync].iter().all(|of| shared.health.reason(*of).is_none());
    flow.queue_files + flow.grading_files > 0 && can_commit
}

fn verdict(state: &State, shared: &Shared, stuck_max: Duration) -> Result<(), String> {
    if state.long_task_at.is_none_or(|at| at.elapsed() > stuck_max) {
        shared.health.live(stuck_max)?;
    }
    let stand = shared.journal.longest_stall();
    if stand > stuck_max {
        return Err(format!("grading has not moved for {}", counted(stand.as_secs(), "second")));
    }
    let idle = state.graded.moved_at.elapsed();
    if idle > stuck_max {
        return Err(format!(
            "nothing has been graded for {}, although files are waiting",
            counted(idle.as_secs(), "second")
        ));
    }
    Ok(())
}
