//! The words that all stages share: a submission's name, what is known of it once it is taken, how
//! far it has come, and what came out.

use crate::model::escape::Printable;
use gridmark_core::Kind;
use gridmark_core::board::{Mark, Verdict};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The name of a submission: its path under the inbox, with `/`, as the bytes it consists of. Many
/// hold the same one, so that it is shared.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<OsStr>);

impl Name {
    /// A name of these bytes; those of a path under the inbox neither begin nor end with `/`.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Name {
        Name(OsString::from_vec(bytes.into()).into())
    }

    /// The name as bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The name as a relative path.
    pub fn as_path(&self) -> &Path {
        Path::new(&*self.0)
    }

    /// The name of something called `child` in the folder of this name; the empty name is the
    /// inbox itself.
    pub fn join(&self, child: &OsStr) -> Name {
        let mut bytes = Vec::with_capacity(self.0.len() + 1 + child.len());
        if !self.0.is_empty() {
            bytes.extend_from_slice(self.as_bytes());
            bytes.push(b'/');
        }
        bytes.extend_from_slice(child.as_bytes());
        Name::from_bytes(bytes)
    }

    /// The first part of the path, if the file lies in a folder.
    pub fn folder(&self) -> Option<&[u8]> {
        let slash = self.as_bytes().iter().position(|&byte| byte == b'/')?;
        Some(&self.as_bytes()[..slash])
    }

    /// The folder that holds the file, and the file's own name.
    pub fn split(&self) -> (&OsStr, &OsStr) {
        let bytes = self.as_bytes();
        match bytes.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => {
                (OsStr::from_bytes(&bytes[..slash]), OsStr::from_bytes(&bytes[slash + 1..]))
            }
            None => (OsStr::new(""), &self.0),
        }
    }
}

/// The name as people read it, [printable](Printable): names that differ look different.
///
/// ```
/// use gridmark::model::submission::Name;
/// assert_eq!(Name::from_bytes(*b"team 7/p\xff\n.txt").to_string(), r"team 7/p\xFF\x0A.txt");
/// ```
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(self.as_bytes()).fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name({self})")
    }
}

/// What a name in the archive is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nothing is there.
    Free,
    /// Something is there.
    Taken,
    /// What its first so many bytes name is no folder, so nothing can lie below it.
    Blocked(usize),
}

/// What tells whether a file is the same, unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Device and inode.
    pub identity: (u64, u64),
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last modification, seconds and nanoseconds.
    modified: (i64, i64),
}

impl Signature {
    /// The signature of what `metadata` describes.
    pub fn of(metadata: &std::fs::Metadata) -> Signature {
        Signature {
            identity: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Whether this looks like a copy of the other, or the other itself.
    pub fn has_content_of(&self, other: &Signature) -> bool {
        (self.bytes, self.modified) == (other.bytes, other.modified)
    }

    /// Whether a file that looks like this now is the one that looked like `seen` before it was
    /// taken: the same file, or its copy on another device, unchanged.
    pub fn is_what_was_seen(&self, seen: &Signature) -> bool {
        if self.identity.0 == seen.identity.0 { self == seen } else { self.has_content_of(seen) }
    }

    #[cfg(test)]
    pub(crate) fn for_tests(bytes: u64) -> Signature {
        Signature { identity: (1, 1), bytes, modified: (0, 0) }
    }
}

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
    /// When it was taken, in milliseconds since 1970 UTC.
    pub received_at_ms: i64,
    /// Its size in bytes when it was seen last.
    pub bytes: u64,
    /// When it was ready to be taken, for the latency metric.
    pub ready: Instant,
    /// What the file looked like when it was taken, unless an earlier run took it.
    pub seen: Option<Signature>,
    /// It was taken though somebody had it open for writing, since they had not written for long.
    pub though_open: bool,
    /// How often grading it has failed so far.
    pub tries: u32,
    /// How often a process has died while it was graded, as far as that may be its fault. If it has,
    /// nothing else is graded beside it.
    pub crashes: u32,
    /// How far an earlier run has come, if it is a large one that was committed in part.
    pub progress: Option<Progress>,
}

/// How far a large submission has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The state of the reader, opaque.
    pub checkpoint: String,
    /// What has been marked so far.
    pub tally: Tally,
    /// The bytes that this took, unless a gridmark graded them that did not note that.
    pub graded: Option<Prefix>,
    /// By which rules, if that was noted.
    pub rules: Option<Rules>,
}

/// The first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// How many they are.
    pub bytes: u64,
    /// Their hash.
    pub blake3: [u8; 32],
}

/// What besides a file's bytes decides which rows it gets. A submission is graded by one set of rules
/// from its first case to its last, and its rows can be had again by the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The longest line or case, in bytes.
    pub case_bytes_max: usize,
    /// How many missing cases of a block are told one by one.
    pub missing_cases_max: u64,
    /// Whether text is kept from being taken for formulas.
    pub neutralise_formulas: bool,
}

/// A submission that is done.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its number in the ledger.
    pub id: i64,
    /// How it ended.
    pub status: Status,
    /// When, in milliseconds since 1970 UTC.
    pub graded_at_ms: i64,
    /// Its size in bytes.
    pub bytes: u64,
    /// The hash of its bytes, if they could be read.
    pub blake3: Option<[u8; 32]>,
    /// Its kind, if that could be told.
    pub kind: Option<Kind>,
    /// The marks of its cases.
    pub tally: Tally,
    /// How often it was tried in vain.
    pub tries: u32,
    /// Why it failed, if it did.
    pub reason: Option<String>,
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

    /// Counts one mark in.
    pub fn count(&mut self, mark: &Mark) {
        self.verdicts[mark.verdict() as usize] += 1;
        if let Mark::Counted(counted) = mark {
            self.filled += u64::from(counted.filled);
        }
    }

    /// Counts all of another tally in.
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
    /// It could not be graded for a reason that is ours.
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

/// What the grading stage hands on.
#[derive(Debug)]
pub struct Graded {
    /// Which submission.
    pub claimed: Claimed,
    /// Rows for the folder's report, a line a case, ready to be appended, in blocks.
    pub rows: Vec<Vec<u8>>,
    /// The marks in `rows`.
    pub tally: Tally,
    /// Of which kind they are, if that could be told.
    pub kind: Option<Kind>,
    /// What to do about the submission as a whole.
    pub step: Step,
}

impl Graded {
    /// How many bytes of rows there are.
    pub fn rows_bytes(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }
}

/// How far a submission has come with the rows that are handed on.
#[derive(Debug)]
pub enum Step {
    /// There is more to come; a restart goes on from here.
    Chunk {
        /// The state of the reader behind the last row.
        checkpoint: String,
        /// What the file holds up to there.
        graded: Prefix,
    },
    /// That was all.
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
        /// The marks that were handed on before.
        total: Tally,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_first_part_of_the_path() {
        assert_eq!(Name::from_bytes(*b"a/b/c.txt").folder(), Some(&b"a"[..]));
        assert_eq!(Name::from_bytes(*b"c.txt").folder(), None);
    }

    #[test]
    fn a_name_splits_into_parent_and_file() {
        let name = Name::from_bytes(*b"a/b/c.txt");
        assert_eq!(name.split(), (OsStr::new("a/b"), OsStr::new("c.txt")));
        assert_eq!(Name::from_bytes(*b"c.txt").split(), (OsStr::new(""), OsStr::new("c.txt")));
    }

    #[test]
    fn verdicts_index_the_tally_in_their_listed_order() {
        for (i, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict as usize, i);
        }
    }
}
