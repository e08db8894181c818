//! What can be seen of the queue.

use super::{Lane, Queue};
use std::time::{Duration, Instant};

/// What waits and what is under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flow {
    /// Files that wait.
    pub queue_files: usize,
    /// Bytes of work that wait.
    pub queue_bytes: u64,
    /// Files that are being graded or wait for their commit.
    pub in_flight_files: usize,
    /// Files that are being graded.
    pub grading_files: usize,
    /// How long the oldest of all of these has been ready.
    pub oldest: Duration,
}

/// Where a file is that was taken and is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It waits for its turn.
    Waits,
    /// It is tried again in so long.
    TriedAgainIn(Duration),
    /// It is being graded, or waits for its commit.
    InFlight,
}

impl Queue {
    /// Takes note since when the oldest file that there was no room for has been ready.
    pub fn set_oldest_outside(&self, since: Option<Instant>) {
        self.state().oldest_outside = since;
    }

    /// Whether a large file waits for its turn.
    pub fn has_large(&self) -> bool {
        self.state().large.len() > 0
    }

    /// What waits and what is under way now.
    pub fn flow(&self) -> Flow {
        let state = self.state();
        let waiting = [&state.small, &state.large].into_iter().filter_map(Lane::oldest);
        let later = state.later.iter().map(|(_, claimed)| claimed.ready).chain(state.alone.ready());
        let under_way = state.in_flight.values().copied();
        let oldest = waiting.chain(later).chain(under_way).chain(state.oldest_outside);
        Flow {
            queue_files: state.files(),
            queue_bytes: state.bytes,
            in_flight_files: state.in_flight.len(),
            grading_files: state.grading,
            oldest: oldest.min().map_or(Duration::ZERO, |ready| ready.elapsed()),
        }
    }

    /// Where the file of this number is, if it is here.
    pub fn whereabouts(&self, id: i64) -> Option<Whereabouts> {
        let state = self.state();
        if state.in_flight.contains_key(&id) {
            return Some(Whereabouts::InFlight);
        }
        let later = state.later.iter().find(|(_, claimed)| claimed.id == id);
        if let Some((at, _)) = later {
            let left = at.saturating_duration_since(Instant::now());
            return Some(Whereabouts::TriedAgainIn(left));
        }
        let waits = state.small.has(id) || state.large.has(id) || state.alone.has(id);
        waits.then_some(Whereabouts::Waits)
    }
}
