//! The bounded queue between intake and grading, and what is in flight behind it.
//!
//! When it is full, intake takes no more files: they are safe in the inbox. Its state has three parts
//! behind one lock, since most questions concern all of them: the `lanes` hold what waits, `flow`
//! knows what is in flight, and `drain` what is left to the next start when the service ends.

mod budget;
mod drain;
mod flow;
mod lanes;

pub use budget::Budget;
pub use drain::{Drain, Left};
pub use flow::{Flow, Whereabouts};
pub use lanes::Admission;

use crate::model::submission::Claimed;
use drain::Draining;
use flow::InFlight;
use lanes::{Lanes, Size, left_until};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How much the queue may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Files that wait.
    pub files_max: usize,
    /// Bytes of work that wait; a large file counts for one chunk.
    pub bytes_max: u64,
    /// A file with more bytes than this is a large one.
    pub chunk_bytes_max: u64,
}

/// Why a file that was taken out is not graded now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// It has to be streamed, or its turn as a large file is over.
    Large,
    /// It is tried again at this time.
    Later(Instant),
    /// The system lacks memory or descriptors; it is tried again at this time.
    Starved(Instant),
    /// It is a large file, and the service ends: it is left to the next start.
    NextStart,
}

/// The queue.
pub struct Queue {
    limits: RwLock<Limits>,
    state: Mutex<State>,
    /// Readers of the two lanes wait apart, so that none wakes for nothing.
    small_changed: Condvar,
    large_changed: Condvar,
    on_room: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    lanes: Lanes,
    in_flight: InFlight,
    draining: Draining,
}

impl State {
    fn is_over(&self) -> bool {
        let is_empty = self.lanes.files() == 0 && self.in_flight.grading == 0;
        self.draining.abandoned || (self.draining.closed && is_empty)
    }

    fn push(&mut self, claimed: Claimed, size: Size, limits: &Limits) {
        if size == Size::Large && self.draining.leaves_large {
            self.draining.left.large += 1;
        } else {
            self.lanes.push(claimed, size, limits);
        }
    }
}

impl Queue {
    /// An empty queue.
    pub fn new(limits: Limits) -> Queue {
        Queue {
            limits: RwLock::new(limits),
            state: Mutex::default(),
            small_changed: Condvar::new(),
            large_changed: Condvar::new(),
            on_room: OnceLock::new(),
        }
    }

    fn limits(&self) -> Limits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the limits; files that wait already stay, and `chunk_bytes_max` stays as it was.
    pub fn set_limits(&self, limits: Limits) {
        let chunk_bytes_max = self.limits().chunk_bytes_max;
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) =
            Limits { chunk_bytes_max, ..limits };
        self.notify();
    }

    /// Sets what is called whenever there may be room again, and when nothing is in flight any more.
    /// Only the first call has an effect.
    pub fn on_room(&self, notify: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_room.set(Box::new(notify));
    }

    fn notify(&self) {
        if let Some(notify) = self.on_room.get() {
            notify();
        }
    }

    fn wake_all(&self) {
        self.small_changed.notify_all();
        self.large_changed.notify_all();
    }

    /// Lets `choose` ask which files fit in. Nothing comes in or goes out meanwhile.
    pub fn admit<R>(&self, choose: impl FnOnce(&mut Admission<'_>) -> R) -> R {
        let limits = self.limits();
        choose(&mut Admission::new(&self.state().lanes, limits))
    }

    /// Whether a file of this size is graded by itself, chunk by chunk.
    pub fn is_large(&self, bytes: u64) -> bool {
        self.limits().is_large(bytes)
    }

    /// Puts files in. It has no limit itself: intake asks [`Queue::admit`] before it takes files.
    pub fn push_all(&self, files: impl IntoIterator<Item = Claimed>) {
        let limits = self.limits();
        let (mut any_small, mut any_large) = (false, false);
        let mut state = self.state();
        for claimed in files {
            let size = limits.size(&claimed);
            any_small |= size == Size::Small;
            any_large |= size == Size::Large;
            state.push(claimed, size, &limits);
        }
        drop(state);
        if any_small {
            self.small_changed.notify_all();
        }
        if any_large {
            self.large_changed.notify_all();
        }
    }

    /// Whether this file is streamed, by itself in chunks, instead of graded in a batch.
    pub fn is_streamed(&self, claimed: &Claimed) -> bool {
        self.limits().size(claimed) == Size::Large
    }

    /// Waits for small files and takes out a batch of at most this many files and bytes, but at least
    /// one file. `None` when the queue is closed and nothing can come any more.
    pub fn next_batch(&self, files_max: usize, bytes_max: u64) -> Option<Vec<Claimed>> {
        let limits = self.limits();
        let mut state =
            self.wait_for(&self.small_changed, |state| !state.lanes.small.is_empty())?;
        let batch = state.lanes.take_small(files_max, bytes_max, &limits);
        state.in_flight.begin(&batch);
        drop(state);
        self.notify();
        Some(batch)
    }

    /// Waits for a large file and takes it out. `None` when the queue is closed and nothing can come any
    /// more, or large files are left to the next start.
    pub fn next_large(&self) -> Option<Claimed> {
        let limits = self.limits();
        let mut state = self.wait_for(&self.large_changed, |state| {
            state.draining.leaves_large || !state.lanes.large.is_empty()
        })?;
        let claimed = state.lanes.take_large(&limits)?;
        state.in_flight.begin(std::slice::from_ref(&claimed));
        drop(state);
        self.notify();
        Some(claimed)
    }

    fn wait_for(
        &self,
        changed: &Condvar,
        is_there: impl Fn(&State) -> bool,
    ) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state();
        loop {
            self.push_due(&mut state);
            if state.is_over() {
                return None;
            }
            if is_there(&state) {
                return Some(state);
            }
            state = match state.lanes.next_due() {
                Some(due) => {
                    let waited = changed.wait_timeout(state, left_until(due));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Moves files that are due for another try into their lanes.
    fn push_due(&self, state: &mut State) {
        let limits = self.limits();
        let due = state.lanes.take_due(Instant::now(), &limits);
        if !due.is_empty() {
            for claimed in due {
                let size = limits.size(&claimed);
                state.push(claimed, size, &limits);
            }
            self.wake_all();
        }
    }

    /// Puts a file back that was taken out and is not graded now.
    pub fn requeue(&self, claimed: Claimed, requeue: Requeue) {
        let limits = self.limits();
        let mut state = self.state();
        let id = claimed.id;
        state.in_flight.cancel(id);
        match requeue {
            Requeue::Large => state.push(claimed, Size::Large, &limits),
            Requeue::Starved(_) if state.draining.gives_up_starved(id) => {
                state.draining.left.starved += 1;
            }
            Requeue::Later(at) | Requeue::Starved(at) => {
                state.lanes.push_later(claimed, at, &limits);
            }
            Requeue::NextStart => state.draining.left.large += 1,
        }
        let is_idle = state.in_flight.len() == 0;
        drop(state);
        self.wake_all();
        if is_idle {
            self.notify();
        }
    }

    /// This many files that were taken out are graded, and their results are on their way.
    pub fn graded(&self, files: usize) {
        let mut state = self.state();
        state.in_flight.grading -= files;
        if state.is_over() {
            self.wake_all();
        }
    }

    /// These submissions are done: committed, or put back into the inbox.
    pub fn done(&self, ids: impl IntoIterator<Item = i64>) {
        if self.state().in_flight.finish(ids) {
            self.notify();
        }
    }

    /// Takes a step of the end.
    pub fn drain(&self, drain: Drain) {
        let mut state = self.state();
        state.draining.advance(drain);
        if drain == Drain::LeaveLarge {
            state.draining.left.large += state.lanes.drop_large();
        }
        drop(state);
        self.wake_all();
        self.notify();
    }

    /// Whether large files are left to the next start.
    pub fn leaves_large(&self) -> bool {
        self.state().draining.leaves_large
    }

    /// Whether everything is left to the next start.
    pub fn is_abandoned(&self) -> bool {
        self.state().draining.abandoned
    }

    /// How many files were left to the next start.
    pub fn left(&self) -> Left {
        self.state().draining.left
    }

    /// Whether a large file waits for its turn.
    pub fn has_large(&self) -> bool {
        !self.state().lanes.large.is_empty()
    }

    /// Whether nothing waits, nothing is being graded, and intake is moving nothing.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        let InFlight { grading, more_coming, .. } = state.in_flight;
        state.lanes.files() == 0 && grading == 0 && !more_coming
    }

    /// Sets whether intake is moving files that come next.
    pub fn set_more_coming(&self, more_coming: bool) {
        self.state().in_flight.more_coming = more_coming;
    }

    /// Sets since when the oldest ready file in the inbox has been ready.
    pub fn set_oldest_outside(&self, since: Option<Instant>) {
        self.state().in_flight.oldest_outside = since;
    }

    /// How much waits and is in flight now.
    pub fn flow(&self) -> Flow {
        let State { lanes, in_flight, .. } = &*self.state();
        let oldest = lanes.oldest().into_iter().chain(in_flight.oldest()).min();
        Flow {
            queue_files: lanes.files(),
            queue_bytes: lanes.bytes(),
            in_flight_files: in_flight.len(),
            grading_files: in_flight.grading,
            oldest: oldest.map_or(Duration::ZERO, |ready| ready.elapsed()),
        }
    }

    /// Where the file with this ledger number is, if it is here.
    pub fn whereabouts(&self, id: i64) -> Option<Whereabouts> {
        let State { lanes, in_flight, .. } = &*self.state();
        if in_flight.has(id) {
            return Some(Whereabouts::InFlight);
        }
        match lanes.retry_of(id) {
            Some(at) => Some(Whereabouts::TriedAgainIn(left_until(at))),
            None => lanes.has(id).then_some(Whereabouts::Waits),
        }
    }
}

#[cfg(test)]
mod tests;
