//! Files that are left to the next start.

use super::{Lane, Queue};
use crate::model::submission::Claimed;
use std::time::{Duration, Instant};

/// How long a service that is to end goes on trying to grade what the system has too little for.
const STARVED_TIME_MAX: Duration = Duration::from_secs(5);

impl Queue {
    /// Has files left to the next start for which the system has too little for too long.
    pub fn leave_starved(&self) {
        self.state().leaves_starved = true;
    }

    /// Puts a file that was handed out back in, to be tried again at a later time since the system
    /// has too little for it now; or leaves it to the next start.
    pub fn push_starved(&self, claimed: Claimed, at: Instant) {
        let mut state = self.state();
        if state.leaves_starved {
            let since = *state.starved.entry(claimed.id).or_insert_with(Instant::now);
            if since.elapsed() > STARVED_TIME_MAX {
                state.left_starved += 1;
                drop(state);
                self.graded(1);
                self.done([claimed.id]);
                return;
            }
        }
        drop(state);
        self.push_later(claimed, at);
    }

    /// How many files were left to the next start because the system had too little for them.
    pub fn left_starved(&self) -> usize {
        self.state().left_starved
    }

    /// Leaves large files to the next start: those that wait are let go, and whoever grades one
    /// stops at its next chunk. Their claims stand, with all that is committed of them.
    pub fn leave_large(&self) {
        let mut state = self.state();
        state.leaves_large = true;
        state.left_large += state.large.len();
        state.bytes -= state.large_bytes;
        state.large_bytes = 0;
        state.large = Lane::default();
        drop(state);
        self.wake_all();
        self.notify();
    }

    /// Whether large files are left to the next start.
    pub fn leaves_large(&self) -> bool {
        self.state().leaves_large
    }

    /// The large file that was handed out under this number is left to the next start.
    pub fn left(&self, id: i64) {
        self.state().left_large += 1;
        self.graded(1);
        self.done([id]);
    }

    /// How many large files were left to the next start.
    pub fn left_large(&self) -> usize {
        self.state().left_large
    }
}
