//! The clock of one entrant in one round: when it starts, what it leaves out, and when it runs out.

use super::LateRule;
use alloc::vec::Vec;
use core::fmt;

/// A time that does not count for anybody in a round, say while a hall is evacuated; milliseconds since 1970,
/// the end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// When it begins.
    pub from_ms: i64,
    /// When it ends.
    pub to_ms: i64,
}

/// The clock of one entrant in one round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// When it starts, in milliseconds since 1970.
    pub start_ms: i64,
    /// How long it runs, extra time included, in milliseconds.
    pub duration_ms: u64,
    /// The times that do not count; they may overlap.
    pub excluded: Vec<Interval>,
    /// What follows from a hand-in after its end.
    pub late: LateRule,
}

/// Whether a hand-in is in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InTime {
    /// It is.
    Yes,
    /// In the time of grace after the end.
    Grace,
    /// After that.
    Late,
    /// Before the start.
    Early,
    /// Nobody knows for sure. It counts as in time, and is listed for staff.
    Unknown,
}

impl InTime {
    /// The word, as it stands in reports.
    pub const fn word(self) -> &'static str {
        match self {
            InTime::Yes => "yes",
            InTime::Grace => "grace",
            InTime::Late => "late",
            InTime::Early => "early",
            InTime::Unknown => "unknown",
        }
    }
}

impl fmt::Display for InTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl Clock {
    /// How much time of the round had passed at a moment, in milliseconds: negative before the start, and
    /// without what is excluded.
    ///
    /// ```
    /// use gridmark_core::scoring::{Clock, InTime, Interval, LateRule};
    /// let excluded = vec![Interval { from_ms: 10_000, to_ms: 25_000 }];
    /// let clock = Clock { start_ms: 0, duration_ms: 60_000, excluded, late: LateRule::Refuse };
    /// assert_eq!(clock.elapsed_ms(20_000), 10_000);
    /// assert_eq!(clock.elapsed_ms(75_000), 60_000);
    /// assert_eq!(clock.in_time(75_000), InTime::Yes);
    /// assert_eq!(clock.in_time(75_001), InTime::Late);
    /// ```
    pub fn elapsed_ms(&self, at_ms: i64) -> i64 {
        if at_ms <= self.start_ms {
            return at_ms.saturating_sub(self.start_ms);
        }
        if self.excluded.is_empty() {
            return at_ms.saturating_sub(self.start_ms);
        }
        // What is excluded by several intervals is left out once: each counts from where the ones before end.
        let mut parts: Vec<Interval> = self.excluded.clone();
        parts.sort_unstable_by_key(|part| (part.from_ms, part.to_ms));
        let (mut until, mut left_out) = (self.start_ms, 0i64);
        for part in parts {
            let (from, to) = (part.from_ms.max(until), part.to_ms.min(at_ms));
            if to > from {
                left_out += to - from;
                until = to;
            }
        }
        at_ms.saturating_sub(self.start_ms).saturating_sub(left_out)
    }

    /// How much of the round is left at a moment, in milliseconds; negative after the end.
    pub fn left_ms(&self, at_ms: i64) -> i64 {
        i64::try_from(self.duration_ms).unwrap_or(i64::MAX).saturating_sub(self.elapsed_ms(at_ms))
    }

    /// Whether a hand-in at this moment is in time. The moment of the start and that of the end are.
    pub fn in_time(&self, at_ms: i64) -> InTime {
        let over = self.left_ms(at_ms).saturating_neg();
        match self.late {
            _ if at_ms < self.start_ms => InTime::Early,
            _ if over <= 0 => InTime::Yes,
            LateRule::Grace(grace) if over.unsigned_abs() <= grace.ms => InTime::Grace,
            _ => InTime::Late,
        }
    }
}
