//! What a file says: from bytes to cases.
//!
//! Part of the pure core. Two steps, so that many threads can share the work:
//!
//! 1. A [`Reader`] goes through the bytes once, in order and window by window, and finds where
//!    each case begins and ends. It is cheap and needs little memory whatever the input holds.
//! 2. [`classic::solution`], [`killer::diagram`] and [`hexudoku::board`] read the text of one case.
//!
//! Reading never fails: a case that cannot be read is a case all the same, and says what was
//! expected and what was found, in which line and column.

mod checkpoint;
pub mod classic;
mod detect;
pub mod hexudoku;
pub mod killer;
mod lines;
mod quote;
mod reader;

use alloc::boxed::Box;
use alloc::vec::Vec;
pub use checkpoint::BadCheckpoint;
pub use detect::kind_by_name;
pub use reader::Reader;

use crate::board::{Grid, Unreadable};

/// What a [`Reader`] takes upon itself at most.
///
/// ```
/// let limits = gridmark_core::format::Limits::default();
/// assert_eq!((limits.case_bytes_max, limits.missing_cases_max), (65_536, 1_000));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest case, in bytes, and so the longest line too; whatever is longer is `too-large`.
    /// Values under 1024 count as 1024.
    pub case_bytes_max: usize,
    /// Of the solutions that are missing where a file ends inside a classic block, how many become
    /// cases; the last one tells how many more there are. Zero counts as one.
    pub missing_cases_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { case_bytes_max: 65_536, missing_cases_max: 1_000 }
    }
}

/// What a [`Reader`] found in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
    /// The puzzles that the classic cases refer to by index.
    pub puzzles: Vec<Puzzle>,
    /// Reading stops as soon as so many cases are there, if it is not 0; a file that ends too
    /// early may add its missing ones beyond it.
    pub cases_max: usize,
    /// Whether reading stopped for that reason, so that the same window may hold more.
    pub capped: bool,
}

impl Found {
    /// Forgets everything that was found, and keeps the memory for the next window.
    pub fn clear(&mut self) {
        self.cases.clear();
        self.puzzles.clear();
        self.capped = false;
    }

    /// How many more cases may be found.
    fn room(&self) -> usize {
        match self.cases_max {
            0 => usize::MAX,
            most => most.saturating_sub(self.cases.len()),
        }
    }

    /// Whether reading has to stop here.
    fn is_full(&mut self) -> bool {
        self.capped = self.cases_max > 0 && self.cases.len() >= self.cases_max;
        self.capped
    }
}

/// Where one case lies, and how its text is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Where its text starts in the window, in bytes.
    pub start: usize,
    /// Where its text ends in the window, the end of its last line included. The text of a case
    /// that is too large is only a part; that of one that is missing is empty.
    pub end: usize,
    /// The number of its first line in the file, from 1.
    pub line: u64,
    /// Whether an answer line ends with this case: true of the last solution of a classic block
    /// and of everything that is no solution.
    pub block_end: bool,
    /// How its rows lie.
    pub rows: Rows,
    /// What the text is.
    pub text: CaseText,
}

/// How the rows of a case, for killer those of its drawing, lie in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// As nearly all do: all are there and of their proper length, and end in LF.
    Lf,
    /// The same with CRLF.
    CrLf,
    /// In whatever way.
    Any,
}

/// What the text of a case is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CaseText {
    /// A drawing and its cage lines, for [`killer::diagram`].
    Killer,
    /// A board, for [`hexudoku::board`].
    Hexudoku,
    /// The nine rows of a solution, for [`classic::solution`].
    Classic {
        /// Its puzzle, as an index into [`Found::puzzles`].
        puzzle: usize,
    },
    /// Nothing that can be judged; this is why.
    Unreadable(Box<Unreadable>),
}

/// The puzzle of a classic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Puzzle {
    /// The givens: `b'1'` to `b'9'`, or `b'.'` for an open cell.
    pub givens: Grid,
}
