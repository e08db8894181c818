//! Large files that are left to the next start.

use super::{Lane, Queue};

impl Queue {
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
