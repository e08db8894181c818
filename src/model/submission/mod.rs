//! A submission on its way: its [`Name`], what is known of it once it is [`Claimed`], and what came out
//! ([`Graded`], [`Finished`]).

mod handed_in;
mod judgement;
mod name;
mod outcome;
mod signature;

pub use handed_in::{Doubt, HandedIn};
pub use judgement::{Entry, Judged, Judgement, Marked, Outcome, verdict};
pub use name::{FILE_NAME_BYTES_MAX, Name, Place};
pub use outcome::{Finished, Graded, Status, Step, Tally};
pub use signature::{Signature, copied_time};

use std::time::Instant;

/// A submission that has been taken: the ledger knows it, its file lies in the archive.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// Its number in the ledger.
    pub id: i64,
    /// Its name.
    pub name: Name,
    /// The n-th submission of that name, from 1.
    pub attempt: u32,
    /// Where it lies under the archive.
    pub archived_as: Name,
    /// When it arrived in the inbox first, no later than it was taken.
    pub handed_in: HandedIn,
    /// When it was taken, in milliseconds since 1970 UTC.
    pub received_at_ms: i64,
    /// Its size in bytes when it was last seen.
    pub bytes: u64,
    /// When it was ready to be taken, for the latency metric.
    pub ready: Instant,
    /// What the file looked like when it was taken, or its copy, if it had to be copied; nothing if an earlier
    /// run took it.
    pub seen: Option<Signature>,
    /// Whether it was taken although a process had it open for writing, since that process had not
    /// written for long.
    pub though_open: bool,
    /// How often grading it has failed so far.
    pub tries: u32,
    /// How often the process crashed while grading it. Power loss does not count.
    pub crashes: u32,
    /// Why its file is not what was taken, if a loss of power has damaged it. Then it is not graded: it
    /// fails, which is our failure, and is to be handed in again.
    pub damage: Option<String>,
    /// Whether the power may have been lost before its file was durable: then NULs in it mean that bytes were
    /// lost, and it fails.
    pub check_nuls: bool,
    /// How far grading has come, if it is a large one of which chunks are committed.
    pub progress: Option<Progress>,
    /// The number of the definitions of the event that were in force when it was taken, if there was one.
    pub definitions: Option<i64>,
}

/// How far a large submission has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The state of the reader, opaque.
    pub checkpoint: String,
    /// What has been marked so far.
    pub tally: Tally,
    /// The part of the file that is graded.
    pub graded: Prefix,
    /// By which rules.
    pub rules: Rules,
}

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// How many they are.
    pub bytes: u64,
    /// Their hash.
    pub blake3: [u8; 32],
}

/// The settings that decide, together with a file's bytes, which rows it gets. A submission is graded by
/// one set of rules from its first case to its last, and its report is rebuilt by the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The longest line or case, in bytes.
    pub case_bytes_max: usize,
    /// How many missing cases of a block get rows of their own.
    pub missing_cases_max: u64,
    /// Whether text that spreadsheets take for a formula is neutralised.
    pub neutralise_formulas: bool,
    /// The number of the definitions of the event by which entries are judged, if there is one.
    pub definitions: Option<i64>,
}
