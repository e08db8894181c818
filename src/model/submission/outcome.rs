//! What comes out of grading: rows and tallies on their way to the reports, and how a submission ended.

use super::{Claimed, Judgement, Prefix, Rules};
use gridmark_core::Kind;
use gridmark_core::board::{Mark, Verdict};

/// A submission that is done.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its number in the ledger.
    pub id: i64,
    /// How it ended.
    pub status: Status,
    /// When it was graded, in milliseconds since 1970 UTC.
    pub graded_at_ms: i64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The hash of its bytes, if they could be read.
    pub blake3: Option<[u8; 32]>,
    /// Its kind, if that is known.
    pub kind: Option<Kind>,
    /// The marks of its cases.
    pub tally: Tally,
    /// How many tries to grade it failed.
    pub tries: u32,
    /// Why it failed, if it did.
    pub reason: Option<String>,
    /// By which rules it was graded.
    pub rules: Rules,
}

/// How many cases got which mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Marked cases by verdict, in the order of [`Verdict::ALL`].
    verdicts: [u64; Verdict::ALL.len()],
    /// Cells that Lazy Larry filled, over all cases.
    pub filled: u64,
}

impl Tally {
    /// A tally with these counts: correct, wrong, unreadable, counted, and filled cells.
    pub const fn from_counts(verdicts: [u64; Verdict::ALL.len()], filled: u64) -> Tally {
        Tally { verdicts, filled }
    }

    /// Adds one mark.
    pub fn count(&mut self, mark: &Mark) {
        self.verdicts[mark.verdict() as usize] += 1;
        if let Mark::Counted(counted) = mark {
            self.filled += u64::from(counted.filled);
        }
    }

    /// Adds all of another tally.
    pub fn add(&mut self, other: &Tally) {
        for (mine, others) in self.verdicts.iter_mut().zip(other.verdicts) {
            *mine += others;
        }
        self.filled += other.filled;
    }

    /// How many cases got this verdict.
    pub const fn of(&self, verdict: Verdict) -> u64 {
        self.verdicts[verdict as usize]
    }

    /// How many cases were marked.
    pub fn cases(&self) -> u64 {
        self.verdicts.iter().sum()
    }
}

/// How a submission ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// At least one case could be read.
    Graded,
    /// No case could be read.
    Unreadable,
    /// It could not be graded, and that is our failure.
    Failed,
}

impl Status {
    /// All of them, as metrics list them.
    pub const ALL: [Status; 3] = [Status::Graded, Status::Unreadable, Status::Failed];

    /// The status of a submission that was graded with this result.
    pub fn of(tally: &Tally) -> Status {
        if tally.of(Verdict::Unreadable) == tally.cases() {
            Status::Unreadable
        } else {
            Status::Graded
        }
    }

    /// The word, as it stands in reports, the ledger and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Status::Graded => "graded",
            Status::Unreadable => "unreadable",
            Status::Failed => "failed",
        }
    }
}

/// What the grading stage passes on to be published: the rows of a submission, or of a chunk of one.
#[derive(Debug)]
pub struct Graded {
    /// Which submission.
    pub claimed: Claimed,
    /// Rows for the folder's report, one line per case, in blocks that are ready to be appended.
    pub rows: Vec<Vec<u8>>,
    /// The marks in `rows`.
    pub tally: Tally,
    /// The kind of the cases, if it is known.
    pub kind: Option<Kind>,
    /// By which rules they were marked and written.
    pub rules: Rules,
    /// How the submission is judged, once it is done, if it was taken at an event.
    pub judgement: Option<Judgement>,
    /// How far the submission has come with these rows.
    pub step: Step,
}

impl Graded {
    /// How many bytes of rows there are.
    pub fn rows_bytes(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }
}

/// How far a submission has come with the rows of a [`Graded`].
#[derive(Debug)]
pub enum Step {
    /// More chunks follow; a restart resumes here.
    Chunk {
        /// The state of the reader after the last row.
        checkpoint: String,
        /// The part of the file that is graded by then.
        graded: Prefix,
    },
    /// All of it is graded.
    Finished {
        /// The file's size.
        bytes: u64,
        /// The hash of its bytes.
        blake3: [u8; 32],
        /// The marks of the whole submission.
        total: Tally,
    },
    /// It cannot be graded, and that is our failure: it goes to quarantine.
    Failed {
        /// Why, in words.
        reason: String,
        /// The marks that were passed on before.
        total: Tally,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_index_the_tally_in_their_listed_order() {
        for (i, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict as usize, i);
        }
    }
}
