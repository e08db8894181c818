//! The end: what is still finished, and what is left to the next start. A file that is left keeps its
//! claim, with all that is committed of it, so nothing is lost.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a draining service tries to grade a file for which the system lacks memory or descriptors.
const STARVED_TIME_MAX: Duration = Duration::from_secs(5);

/// A step of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Large files are left to the next start: those that wait now, and those being graded at their next
    /// chunk.
    LeaveLarge,
    /// Files for which the system lacks memory or descriptors are left to the next start, after some time.
    LeaveStarved,
    /// No more files come.
    Close,
    /// Nothing is taken out any more: everything that waits or is in flight is left to the next start.
    Abandon,
}

/// How many files were left to the next start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Large files.
    pub large: usize,
    /// Files for which the system lacked memory or descriptors.
    pub starved: usize,
}

/// How far the end has come.
#[derive(Default)]
pub(super) struct Draining {
    pub(super) closed: bool,
    pub(super) abandoned: bool,
    pub(super) leaves_large: bool,
    leaves_starved: bool,
    /// Since when each starved file has been tried, by ledger number.
    starved_since: HashMap<i64, Instant>,
    pub(super) left: Left,
}

impl Draining {
    pub(super) fn advance(&mut self, drain: Drain) {
        match drain {
            Drain::LeaveLarge => self.leaves_large = true,
            Drain::LeaveStarved => self.leaves_starved = true,
            Drain::Close => self.closed = true,
            Drain::Abandon => self.abandoned = true,
        }
    }

    /// Whether a starved file is left to the next start now.
    pub(super) fn gives_up_starved(&mut self, id: i64) -> bool {
        if !self.leaves_starved {
            return false;
        }
        let since = *self.starved_since.entry(id).or_insert_with(Instant::now);
        since.elapsed() > STARVED_TIME_MAX
    }
}
