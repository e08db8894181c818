//! How many cases got which mark.

use crate::board::{Mark, Verdict};
use std::fmt;

/// How many cases got which mark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    verdicts: [u64; Verdict::ALL.len()],
    filled: u64,
}

impl Tally {
    pub(super) fn count(&mut self, mark: &Mark) {
        self.verdicts[mark.verdict() as usize] += 1;
        if let Mark::Counted(counted) = mark {
            self.filled += u64::from(counted.filled);
        }
    }

    pub(super) fn add(&mut self, other: &Tally) {
        for (mine, others) in self.verdicts.iter_mut().zip(other.verdicts) {
            *mine += others;
        }
        self.filled += other.filled;
    }

    pub(super) fn of(&self, verdict: Verdict) -> u64 {
        self.verdicts[verdict as usize]
    }

    pub(super) fn cases(&self) -> u64 {
        self.verdicts.iter().sum()
    }
}

/// In words, without what there is none of: `12 cases: 10 correct, 2 wrong`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cases = self.cases();
        write!(f, "{cases} case{}", if cases == 1 { "" } else { "s" })?;
        let mut between = ": ";
        for verdict in Verdict::ALL.into_iter().filter(|verdict| self.of(*verdict) > 0) {
            write!(f, "{between}{} {verdict}", self.of(verdict))?;
            between = ", ";
        }
        if self.of(Verdict::Counted) > 0 {
            write!(f, " ({} cells filled)", self.filled)?;
        }
        Ok(())
    }
}
