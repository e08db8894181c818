//! The bounded hand-over from intake to grading, and what is under way behind it.
//!
//! Two lanes, so that a large file never makes small ones wait: small files are handed out in
//! batches, large ones one by one. When it is full, intake stops taking files: they are safe where
//! they lie.

use crate::submission::Claimed;
use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
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

/// What waits and what is under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// Files that wait.
    pub queue_files: usize,
    /// Bytes of work that wait.
    pub queue_bytes: u64,
    /// Files that are being graded or wait for their commit.
    pub in_flight_files: usize,
    /// How long the oldest of all of these has been ready.
    pub oldest: Duration,
}

/// The queue.
pub struct Queue {
    limits: Limits,
    state: Mutex<State>,
    changed: Condvar,
    on_room: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    small: VecDeque<Claimed>,
    large: VecDeque<Claimed>,
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
    closed: bool,
}

impl State {
    fn files(&self) -> usize {
        self.small.len() + self.large.len() + self.later.len()
    }

    fn is_over(&self) -> bool {
        self.closed && self.files() == 0 && self.grading == 0
    }
}

impl Queue {
    /// An empty queue.
    pub fn new(limits: Limits) -> Queue {
        Queue { limits, state: Mutex::default(), changed: Condvar::new(), on_room: OnceLock::new() }
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
        bytes > self.limits.chunk_bytes_max
    }

    /// Whether this one is streamed: it is large, or its rows are committed in part already.
    fn is_streamed(&self, claimed: &Claimed) -> bool {
        self.is_large(claimed.bytes) || claimed.progress.is_some()
    }

    fn weight(&self, bytes: u64) -> u64 {
        bytes.min(self.limits.chunk_bytes_max)
    }

    /// Whether files of these sizes, in bytes, fit in together with what waits already: tells for
    /// each in turn. An empty queue takes any one file; large files may fill half of it.
    pub fn admit(&self, sizes: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let state = self.state();
        let (mut files, mut bytes) = (state.files(), state.bytes);
        let (mut large_files, mut large_bytes) = (state.large.len(), state.large_bytes);
        sizes
            .into_iter()
            .map(|size| {
                let (weight, large) = (self.weight(size), self.is_large(size));
                let fits = files < self.limits.files_max && bytes + weight <= self.limits.bytes_max;
                let fits_large = large_files < self.limits.files_max / 2
                    && large_bytes + weight <= self.limits.bytes_max / 2;
                let admitted = files == 0 || (fits && (!large || fits_large || large_files == 0));
                if admitted {
                    files += 1;
                    bytes += weight;
                    large_files += usize::from(large);
                    large_bytes += if large { weight } else { 0 };
                }
                admitted
            })
            .collect()
    }

    /// Puts files in, whether there is room or not: whoever takes files asks [`Queue::admit`].
    pub fn push_all(&self, files: impl IntoIterator<Item = Claimed>) {
        let mut state = self.state();
        for claimed in files {
            let large = self.is_streamed(&claimed);
            self.enqueue(&mut state, claimed, large);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Puts a file that was handed out back in, to be streamed as a large one.
    pub fn push_large(&self, claimed: Claimed) {
        let mut state = self.state();
        state.grading -= 1;
        state.in_flight.remove(&claimed.id);
        self.enqueue(&mut state, claimed, true);
        drop(state);
        self.changed.notify_all();
    }

    /// Puts a file that was handed out back in, to be tried again at a later time.
    pub fn push_later(&self, claimed: Claimed, at: Instant) {
        let mut state = self.state();
        state.grading -= 1;
        state.in_flight.remove(&claimed.id);
        state.bytes += self.weight(claimed.bytes);
        state.later.push((at, claimed));
        drop(state);
        self.changed.notify_all();
    }

    fn enqueue(&self, state: &mut State, claimed: Claimed, large: bool) {
        let weight = self.weight(claimed.bytes);
        state.bytes += weight;
        if large {
            state.large_bytes += weight;
            state.large.push_back(claimed);
        } else {
            state.small.push_back(claimed);
        }
    }

    /// Waits for small files and hands out a batch of at most so many files and bytes, but at
    /// least one file. `None` when the queue is closed and nothing can come any more.
    pub fn next_batch(&self, files_max: usize, bytes_max: u64) -> Option<Vec<Claimed>> {
        let mut state = self.wait_for(|state| !state.small.is_empty())?;
        let mut batch = Vec::with_capacity(files_max.min(state.small.len()));
        let mut bytes = 0;
        while let Some(next) = state.small.front() {
            if !batch.is_empty() && (batch.len() >= files_max || bytes + next.bytes > bytes_max) {
                break;
            }
            bytes += next.bytes;
            batch.extend(state.small.pop_front());
        }
        self.hand_out(state, &batch);
        Some(batch)
    }

    /// Waits for a large file and hands it out. `None` when the queue is closed and nothing can
    /// come any more.
    pub fn next_large(&self) -> Option<Claimed> {
        let mut state = self.wait_for(|state| !state.large.is_empty())?;
        let claimed = state.large.pop_front()?;
        state.large_bytes -= self.weight(claimed.bytes);
        self.hand_out(state, std::slice::from_ref(&claimed));
        Some(claimed)
    }

    fn wait_for(&self, there: impl Fn(&State) -> bool) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state();
        loop {
            let next_due = self.take_due(&mut state);
            if there(&state) {
                return Some(state);
            }
            if state.is_over() {
                return None;
            }
            state = match next_due {
                Some(due) => {
                    self.changed.wait_timeout(state, due).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
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
            self.changed.notify_all();
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
            self.changed.notify_all();
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

    /// Whether nothing waits and nothing is being graded.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.files() == 0 && state.grading == 0
    }

    /// Takes note since when the oldest file that there was no room for has been ready.
    pub fn set_oldest_outside(&self, since: Option<Instant>) {
        self.state().oldest_outside = since;
    }

    /// Nothing new is coming.
    pub fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// What waits and what is under way now.
    pub fn flow(&self) -> Flow {
        let state = self.state();
        let fronts = [state.small.front(), state.large.front()].into_iter().flatten();
        let waiting = fronts.chain(state.later.iter().map(|(_, claimed)| claimed));
        let inside = waiting.map(|claimed| claimed.ready).chain(state.in_flight.values().copied());
        let oldest = inside.chain(state.oldest_outside);
        Flow {
            queue_files: state.files(),
            queue_bytes: state.bytes,
            in_flight_files: state.in_flight.len(),
            oldest: oldest.min().map_or(Duration::ZERO, |ready| ready.elapsed()),
        }
    }
}

/// A budget of bytes that are in memory between two stages.
pub struct Budget {
    bytes_max: usize,
    used: Mutex<usize>,
    returned: Condvar,
}

impl Budget {
    /// A budget of so many bytes.
    pub fn new(bytes_max: usize) -> Budget {
        Budget { bytes_max, used: Mutex::new(0), returned: Condvar::new() }
    }

    /// Waits until so many bytes are free, or all of them if there are not that many in all, and
    /// takes them.
    pub fn take(&self, bytes: usize) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > 0 && *used + bytes > self.bytes_max {
            used = self.returned.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
    }

    /// Gives so many bytes back.
    pub fn give(&self, bytes: usize) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.returned.notify_all();
    }
}

#[cfg(test)]
mod tests;
