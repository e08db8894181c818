//! The bounded hand-over from intake to grading, and what is under way behind it.
//!
//! Two lanes, so that a large file never makes small ones wait: small files are handed out in
//! batches, large ones one by one. In each, folders take turns, so that a flood from one does not
//! hold up the others. Before both come the files over which an earlier process died: they are graded
//! one at a time and alone, so that the culprit is found. When it is full, intake stops taking files:
//! they are safe where they lie.

mod alone;
mod budget;
mod lane;
mod leaving;
mod looking;

pub use budget::Budget;
pub use looking::{Flow, Whereabouts};

use crate::model::submission::{Claimed, Name};
use alone::Alone;
use lane::Lane;
use std::collections::HashMap;
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
    /// How long nothing else is handed out for the sake of a file that is to be graded alone.
    pub alone_max: Duration,
}

/// The queue.
pub struct Queue {
    limits: RwLock<Limits>,
    state: Mutex<State>,
    /// Whoever waits for small files waits here, and for large ones there, so that nobody wakes for
    /// nothing.
    small_changed: Condvar,
    large_changed: Condvar,
    alone_changed: Condvar,
    on_room: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    small: Lane,
    large: Lane,
    alone: Alone,
    /// Files that are tried again at a later time.
    later: Vec<(Instant, Claimed)>,
    bytes: u64,
    large_bytes: u64,
    /// Files that were handed out and are not handed on yet.
    grading: usize,
    /// Files that were handed out and are not done yet, by number, with the time they were ready.
    in_flight: HashMap<i64, Instant>,
    /// Since when the oldest file that is ready, but not taken, is ready.
    oldest_outside: Option<Instant>,
    /// Files are on their way here.
    more_coming: bool,
    closed: bool,
    /// Large files are left to the next start.
    leaves_large: bool,
    /// How many of them were.
    left_large: usize,
    /// Files are left to the next start for which the system has too little for too long: since
    /// when it has had that, by number, and how many were left.
    leaves_starved: bool,
    starved: HashMap<i64, Instant>,
    left_starved: usize,
    /// Nothing is handed out any more.
    abandoned: bool,
}

impl State {
    fn files(&self) -> usize {
        self.small.len() + self.large.len() + self.alone.len() + self.later.len()
    }

    fn is_over(&self) -> bool {
        self.abandoned || (self.closed && self.files() == 0 && self.grading == 0)
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
            alone_changed: Condvar::new(),
            on_room: OnceLock::new(),
        }
    }

    fn limits(&self) -> Limits {
        *self.limits.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it may hold so much; what it holds already stays. Which files are large ones
    /// does not change.
    pub fn set_limits(&self, limits: Limits) {
        let chunk_bytes_max = self.limits().chunk_bytes_max;
        *self.limits.write().unwrap_or_else(PoisonError::into_inner) =
            Limits { chunk_bytes_max, ..limits };
        self.notify();
    }

    /// Has `notify` called whenever there may be room again, and when nothing is under way any
    /// more; only the first call counts.
    pub fn on_room(&self, notify: impl Fn() + Send + Sync + 'static) {
        let _ = self.on_room.set(Box::new(notify));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_large(&self, bytes: u64) -> bool {
        bytes > self.limits().chunk_bytes_max
    }

    /// Whether this one is streamed: it is large, or its rows are committed in part already.
    fn is_streamed(&self, claimed: &Claimed) -> bool {
        self.is_large(claimed.bytes) || claimed.progress.is_some()
    }

    fn weight(&self, bytes: u64) -> u64 {
        bytes.min(self.limits().chunk_bytes_max)
    }

    /// Whether these files, with their sizes in bytes, fit in together with what waits already:
    /// tells for each in turn. An empty queue takes any one file; large files may fill half of it,
    /// and so may the small ones of one folder; of the large ones' half, one folder's may fill half.
    pub fn admit<'a>(&self, files: impl IntoIterator<Item = (&'a Name, u64)>) -> Vec<bool> {
        let (state, limits) = (self.state(), self.limits());
        let half = limits.files_max / 2;
        let (mut all, mut bytes) = (state.files(), state.bytes);
        let (mut large_files, mut large_bytes) = (state.large.len(), state.large_bytes);
        let mut of_folder: HashMap<(&[u8], bool), (usize, u64)> = HashMap::new();
        let mut admit = |(name, size): (&'a Name, u64)| {
            let (weight, large) = (self.weight(size), self.is_large(size));
            let folder = name.folder().unwrap_or_default();
            let lane = if large { &state.large } else { &state.small };
            let (mates, their_bytes) = of_folder.entry((folder, large)).or_insert_with(|| {
                let weight = |claimed: &Claimed| self.weight(claimed.bytes);
                // Only large ones are bounded by what they weigh together.
                let bytes = if large { lane.weight_of_folder(folder, weight) } else { 0 };
                (lane.len_of_folder(folder), bytes)
            });
            let fits = all < limits.files_max && bytes + weight <= limits.bytes_max;
            let fits_mates =
                *mates == 0 || (*mates < half / 2 && *their_bytes + weight <= limits.bytes_max / 4);
            let fits_large = large_files == 0
                || (large_files < half
                    && large_bytes + weight <= limits.bytes_max / 2
                    && fits_mates);
            let fits_half = if large { fits_large } else { *mates < half.max(1) };
            let admitted = all == 0 || (fits && fits_half);
            if admitted {
                all += 1;
                bytes += weight;
                *mates += 1;
                *their_bytes += weight;
                large_files += usize::from(large);
                large_bytes += if large { weight } else { 0 };
            }
            admitted
        };
        files.into_iter().map(&mut admit).collect()
    }

    /// Puts files in, whether there is room or not: whoever takes files asks [`Queue::admit`].
    pub fn push_all(&self, files: impl IntoIterator<Item = Claimed>) {
        let mut state = self.state();
        let (mut any_small, mut any_large, mut any_alone) = (false, false, false);
        for claimed in files {
            let large = self.is_streamed(&claimed);
            any_alone |= claimed.deaths > 0;
            any_small |= !large;
            any_large |= large;
            self.enqueue(&mut state, claimed, large);
        }
        drop(state);
        if any_alone {
            self.alone_changed.notify_all();
        }
        if any_small {
            self.small_changed.notify_all();
        }
        if any_large {
            self.large_changed.notify_all();
        }
    }

    /// Puts a file that was handed out back in, to be streamed as a large one.
    pub fn push_large(&self, claimed: Claimed) {
        let mut state = self.state();
        state.grading -= 1;
        state.in_flight.remove(&claimed.id);
        self.enqueue(&mut state, claimed, true);
        drop(state);
        self.wake_all();
    }

    /// Puts a file that was handed out back in, to be tried again at a later time.
    pub fn push_later(&self, claimed: Claimed, at: Instant) {
        let mut state = self.state();
        state.grading -= 1;
        state.in_flight.remove(&claimed.id);
        state.bytes += self.weight(claimed.bytes);
        state.later.push((at, claimed));
        drop(state);
        self.wake_all();
    }

    fn enqueue(&self, state: &mut State, claimed: Claimed, large: bool) {
        if large && state.leaves_large {
            state.left_large += 1;
            return;
        }
        let weight = self.weight(claimed.bytes);
        state.bytes += weight;
        if claimed.deaths > 0 {
            state.alone.push(claimed, large);
        } else if large {
            state.large_bytes += weight;
            state.large.push(claimed);
        } else {
            state.small.push(claimed);
        }
    }

    /// Waits for small files and hands out a batch of at most so many files and bytes, but at
    /// least one file. `None` when the queue is closed and nothing can come any more.
    pub fn next_batch(&self, files_max: usize, bytes_max: u64) -> Option<Vec<Claimed>> {
        let mut state = self.wait_for(&self.small_changed, |state| {
            state.small.len() > 0 && !state.alone.keeps_others()
        })?;
        let batch = state.small.take_batch(files_max, bytes_max);
        self.hand_out(state, &batch);
        Some(batch)
    }

    /// Waits for a large file and hands it out. `None` when the queue is closed and nothing can
    /// come any more, or large files are left to the next start.
    pub fn next_large(&self) -> Option<Claimed> {
        let mut state = self.wait_for(&self.large_changed, |state| {
            state.leaves_large || (state.large.len() > 0 && !state.alone.keeps_others())
        })?;
        let claimed = state.large.take_batch(1, 0).pop()?;
        state.large_bytes -= self.weight(claimed.bytes);
        self.hand_out(state, std::slice::from_ref(&claimed));
        Some(claimed)
    }

    /// Waits for a file that is to be graded alone and hands it out, and whether it is a large one,
    /// when nothing else is being graded. `None` when the queue is closed and nothing can come any
    /// more.
    pub fn next_alone(&self) -> Option<(Claimed, bool)> {
        let mut state = self.wait_for(&self.alone_changed, |state| {
            state.alone.len() > 0 && (state.grading == 0 || state.alone.is_patience_over())
        })?;
        let (claimed, large) = state.alone.take(self.limits().alone_max)?;
        self.hand_out(state, std::slice::from_ref(&claimed));
        // Whoever waits for others does so for this long now.
        self.wake_all();
        Some((claimed, large))
    }

    /// What was to be graded alone has been dealt with.
    pub fn end_alone(&self) {
        self.state().alone.end(self.limits().alone_max);
        self.wake_all();
    }

    fn wake_all(&self) {
        self.small_changed.notify_all();
        self.large_changed.notify_all();
        self.alone_changed.notify_all();
    }

    fn wait_for(
        &self,
        changed: &Condvar,
        there: impl Fn(&State) -> bool,
    ) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state();
        loop {
            let next_due = self.take_due(&mut state);
            if state.is_over() {
                return None;
            }
            if there(&state) {
                return Some(state);
            }
            let patience = state.alone.patience_left();
            state = match next_due.into_iter().chain(patience).min() {
                Some(due) => {
                    changed.wait_timeout(state, due).unwrap_or_else(PoisonError::into_inner).0
                }
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// Moves what is due for another try into its lane; the time until the next one is due.
    fn take_due(&self, state: &mut State) -> Option<Duration> {
        let now = Instant::now();
        let later = std::mem::take(&mut state.later);
        let (due, waiting): (Vec<_>, Vec<_>) = later.into_iter().partition(|(at, _)| *at <= now);
        state.later = waiting;
        if !due.is_empty() {
            for (_, claimed) in due {
                state.bytes -= self.weight(claimed.bytes);
                let large = self.is_streamed(&claimed);
                self.enqueue(state, claimed, large);
            }
            self.wake_all();
        }
        state.later.iter().map(|(at, _)| at.saturating_duration_since(now)).min()
    }

    fn hand_out(&self, mut state: MutexGuard<'_, State>, batch: &[Claimed]) {
        for claimed in batch {
            state.bytes -= self.weight(claimed.bytes);
            state.grading += 1;
            state.in_flight.insert(claimed.id, claimed.ready);
        }
        drop(state);
        self.notify();
    }

    /// So many files that were handed out are graded and handed on.
    pub fn graded(&self, files: usize) {
        let mut state = self.state();
        state.grading -= files;
        if state.is_over() {
            self.wake_all();
        } else if state.grading == 0 && state.alone.len() > 0 {
            self.alone_changed.notify_all();
        }
    }

    /// These submissions are done: committed, or given back.
    pub fn done(&self, ids: impl IntoIterator<Item = i64>) {
        let mut state = self.state();
        for id in ids {
            state.in_flight.remove(&id);
        }
        let all_done = state.in_flight.is_empty();
        drop(state);
        if all_done {
            self.notify();
        }
    }

    fn notify(&self) {
        if let Some(notify) = self.on_room.get() {
            notify();
        }
    }

    /// Whether nothing waits, nothing is being graded, and nothing is known to come at once.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.files() == 0 && state.grading == 0 && !state.more_coming
    }

    /// Takes note whether files are on their way here, so that it is not idle.
    pub fn set_more_coming(&self, more_coming: bool) {
        self.state().more_coming = more_coming;
    }

    /// Hands out nothing any more: what waits or is under way is left to the next start.
    pub fn abandon(&self) {
        self.state().abandoned = true;
        self.wake_all();
    }

    /// Whether what is under way is to be left to the next start.
    pub fn is_abandoned(&self) -> bool {
        self.state().abandoned
    }

    /// Nothing new is coming.
    pub fn close(&self) {
        self.state().closed = true;
        self.wake_all();
    }
}

#[cfg(test)]
mod tests;
