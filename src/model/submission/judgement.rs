//! How a submission was judged at an event: whose entry it is, for which puzzle, and what it got.
//!
//! A submission is judged by the definitions that were in force when it was taken. Every later judgement, by
//! changed definitions or by a ruling, is one more; the newest counts, and none is ever removed.

use super::{HandedIn, Name};
use gridmark_core::scoring::TryMark;

/// Whose entry a submission is, by the ids of the event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The entrant.
    pub entrant: String,
    /// The round.
    pub round: String,
    /// The puzzle of that round.
    pub puzzle: String,
}

/// A judgement of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The number of the definitions by which it was judged.
    pub definitions: i64,
    /// Whose entry it is, if that is known.
    pub entry: Option<Entry>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a submission by a judgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Staff have to decide whose entry it is, or which of its grids counts.
    Held {
        /// Why, in words.
        why: String,
        /// The nearest match, if there is one: `entrant 102`.
        nearest: Option<String>,
    },
    /// It was judged against its puzzle. Its entry is known then.
    Marked(Marked),
    /// Staff have decided that it is nobody's entry.
    Dismissed,
}

/// How an entry was marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    /// Which grid of the file it is, from 1.
    pub case: u64,
    /// The mark.
    pub mark: TryMark,
    /// The code of the first fault; empty if there is none.
    pub fault: String,
    /// Its cell; empty if there is none.
    pub at: String,
    /// How many faults there are.
    pub faults: u64,
    /// All of it in words.
    pub detail: String,
}

/// A judgement with what is known of its submission: what scoring needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Its place in the order of changes.
    pub change: i64,
    /// The number of the submission.
    pub submission: i64,
    /// Its name.
    pub name: Name,
    /// The n-th submission of that name.
    pub attempt: u32,
    /// When it arrived.
    pub handed_in: HandedIn,
    /// When it was taken, in milliseconds since 1970: the latest that it can have arrived.
    pub received_at_ms: i64,
    /// The hash of its bytes, if they could be read.
    pub blake3: Option<[u8; 32]>,
    /// The number of the ruling that caused the judgement; `None` if it is the first one.
    pub cause: Option<i64>,
    /// The judgement.
    pub judgement: Judgement,
}

impl Marked {
    /// The verdict in one word, as reports have it.
    pub const fn verdict(&self) -> &'static str {
        verdict(self.mark)
    }
}

/// The verdict of a mark in one word, as reports have it.
pub const fn verdict(mark: TryMark) -> &'static str {
    match mark {
        TryMark::Judged(judged) if judged.correct => "correct",
        TryMark::Judged(_) | TryMark::Foreign => "wrong",
        TryMark::Unreadable => "unreadable",
        TryMark::Failed => "failed",
        TryMark::Pending => "",
    }
}
