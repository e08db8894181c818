//! What is in flight: taken out of the lanes and not done yet. What intake reports about files in front
//! of the queue belongs here too, since an idle service is one with nothing in front, inside or behind.

use crate::model::submission::Claimed;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How much waits and is in flight.
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
    /// How long the oldest of all of these, and of the ready files in the inbox, has been ready.
    pub oldest: Duration,
}

/// Where a file is that was taken and is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It waits for its turn.
    Waits,
    /// It is tried again after this time.
    TriedAgainIn(Duration),
    /// It is being graded, or waits for its commit.
    InFlight,
}

/// Files in flight, and in front of the queue.
#[derive(Default)]
pub(super) struct InFlight {
    /// Files that are being graded.
    pub(super) grading: usize,
    /// Files that were taken out and are not done, by ledger number, with the time they were ready.
    files: HashMap<i64, Instant>,
    /// Since when the oldest ready file in the inbox has been ready.
    pub(super) oldest_outside: Option<Instant>,
    /// Whether intake is moving files that come next.
    pub(super) more_coming: bool,
}

impl InFlight {
    pub(super) fn begin(&mut self, batch: &[Claimed]) {
        self.grading += batch.len();
        self.files.extend(batch.iter().map(|claimed| (claimed.id, claimed.ready)));
    }

    /// A file goes back into the lanes.
    pub(super) fn cancel(&mut self, id: i64) {
        self.grading -= 1;
        self.files.remove(&id);
    }

    /// Files are done; returns whether that was the last.
    pub(super) fn finish(&mut self, ids: impl IntoIterator<Item = i64>) -> bool {
        for id in ids {
            self.files.remove(&id);
        }
        self.files.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    pub(super) fn has(&self, id: i64) -> bool {
        self.files.contains_key(&id)
    }

    pub(super) fn oldest(&self) -> Option<Instant> {
        self.files.values().copied().chain(self.oldest_outside).min()
    }
}
