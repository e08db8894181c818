//! Whether the pipeline moves: what `/livez` tells, and what the watchdog of the system is fed for.
//!
//! It does as long as everyone who has something to do gets on with it. Whoever waits for the disk
//! is told in `/readyz` and is not stuck: to start the process again would be no cure for that.

use super::Shared;
use crate::telemetry::emit;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// After so long without a look all of the process was stopped for a while.
const STOPPED_AFTER: Duration = Duration::from_secs(5);

/// What was seen of the pipeline.
pub(super) struct Pulse {
    state: Mutex<State>,
}

struct State {
    looked_at: Instant,
    /// How much was graded, and since when it is no more although there is more to grade.
    graded: (u64, Instant),
    /// How far long chores have come that keep a thread from showing itself, and since when.
    chores: (u64, Instant),
    verdict: Result<(), String>,
}

impl Default for Pulse {
    fn default() -> Pulse {
        let now = Instant::now();
        let state = State { looked_at: now, graded: (0, now), chores: (0, now), verdict: Ok(()) };
        Pulse { state: Mutex::new(state) }
    }
}

impl Pulse {
    /// What the last look has shown.
    ///
    /// # Errors
    ///
    /// What is stuck, in words.
    pub(super) fn live(&self) -> Result<(), String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).verdict.clone()
    }

    /// Looks again, now and then.
    pub(super) fn look(&self, shared: &Shared) {
        let stuck_max = Duration::from_millis(shared.sections.health.get().stuck_ms_max);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let since_last_look = now - std::mem::replace(&mut state.looked_at, now);
        // By the next look it shows who moves.
        if since_last_look > STOPPED_AFTER {
            return;
        }
        note(&mut state.graded, graded(shared), now);
        note(&mut state.chores, chores(shared), now);
        if !is_to_grade(shared) {
            state.graded.1 = now;
        }
        let verdict = verdict(&state, shared, stuck_max);
        if verdict.is_ok() != state.verdict.is_ok() {
            emit::liveness(&verdict);
        }
        state.verdict = verdict;
    }
}

/// Takes note of a count, and of when it changed.
fn note(known: &mut (u64, Instant), count: u64, now: Instant) {
    if known.0 != count {
        *known = (count, now);
    }
}

fn graded(shared: &Shared) -> u64 {
    let published = &shared.published;
    shared.under_way.moves()
        + published.submissions.load(Ordering::Relaxed)
        + published.cases.load(Ordering::Relaxed)
}

fn chores(shared: &Shared) -> u64 {
    shared.archive.copied_bytes() + shared.rebuilt.load(Ordering::Relaxed)
}

/// Whether there is something to grade, and results can be written.
fn is_to_grade(shared: &Shared) -> bool {
    let flow = shared.queue.flow();
    flow.queue_files + flow.grading_files > 0 && shared.health.reason("reports").is_none()
}

fn verdict(state: &State, shared: &Shared, stuck_max: Duration) -> Result<(), String> {
    if state.chores.0 == 0 || state.chores.1.elapsed() > stuck_max {
        shared.health.live(stuck_max)?;
    }
    let stand = shared.under_way.longest_stand();
    if stand > stuck_max {
        return Err(format!("grading has not moved for {} seconds", stand.as_secs()));
    }
    let still = state.graded.1.elapsed();
    if still > stuck_max {
        return Err(format!(
            "nothing has been graded for {} seconds, and files wait",
            still.as_secs()
        ));
    }
    Ok(())
}
