//! What a file says: from bytes to cases.
//!
//! Two steps, so that many threads can share the work:
//!
//! 1. A [`Reader`] goes through the bytes once, in order and window by window, and finds where
//!    each case begins and ends. It is cheap and needs little memory, for any input.
//! 2. [`classic::solution`], [`killer::diagram`] and [`hexudoku::board`] read the text of one case.
//!
//! Reading never fails: an unreadable case is still a case, and says what was expected and what was
//! found, in which line and column.
//!
//! # How boundaries are found
//!
//! Each kind has its `Boundaries`, a small state machine over the lines of a window:
//!
//! - *hexudoku*: 16 lines are a board; a blank line ends it earlier. 17 to 31 lines between blank lines
//!   are one case, since nothing says which of them are too many.
//! - *classic*: the count of a block says how many lines follow, so lines are only counted. A count is
//!   one if a puzzle follows it; everything else is skipped, up to the next such count.
//! - *killer*: nothing says how many cage lines there are, and a damaged drawing may have lost or
//!   gained lines. So a diagram ends where the next drawing begins, which is decided by the shape
//!   of the lines ahead (`killer/lookahead.rs`). Damage to one diagram costs that diagram alone.
//!
//! A boundary never depends on where a window ends: a case is found once all of it, and what must
//! be known of the text behind it, is in the window; until then the reader asks for more. That is
//! why windows have a [least size](Reader::window_bytes_min), and why the state between two windows
//! is small enough to be a [checkpoint](Reader::checkpoint) of one line.
//!
//! # Regular text
//!
//! Nearly all files are written by programs and are *regular*: rows of the proper length without
//! stray blanks, all of which end in LF or all in CRLF. Regular text is found by a few comparisons
//! of whole vectors, and its cases are marked many at a time ([`Rows::Lf`],
//! [`Rows::CrLf`]). Everything else goes line by line ([`Rows::Any`]). Both ways find the same
//! cases and lead to the same marks; only their speed differs.

pub mod bare;
mod checkpoint;
pub mod classic;
pub(crate) mod detect;
pub mod hexudoku;
pub mod killer;
pub(crate) mod lines;
pub(crate) mod quote;
mod reader;

use alloc::boxed::Box;
use alloc::vec::Vec;
pub use checkpoint::BadCheckpoint;
pub use detect::kind_by_name;
pub use reader::Reader;

use crate::board::{Grid, Unreadable};

/// The limits of a [`Reader`].
///
/// ```
/// let limits = gridmark_core::format::Limits::default();
/// assert_eq!((limits.case_bytes_max, limits.missing_cases_max), (65_536, 16));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest case, in bytes, and so the longest line too; anything longer is `too-large`.
    /// Values below 1024 count as 1024.
    pub case_bytes_max: usize,
    /// How many missing solutions become cases where a file ends inside a classic block; the last
    /// one says how many more are missing. Zero counts as one.
    pub missing_cases_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { case_bytes_max: 65_536, missing_cases_max: 16 }
    }
}

/// What a [`Reader`] found in a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The cases, in the order of the file.
    pub cases: Vec<Case>,
    /// The puzzles that the classic cases refer to by index.
    pub puzzles: Vec<Puzzle>,
    /// Reading stops as soon as this many cases are found; 0 stands for no limit. Missing solutions
    /// at the end of a file may exceed it.
    pub cases_max: usize,
    /// Whether reading stopped at `cases_max`, so that the same window may hold more cases.
    pub capped: bool,
}

impl Found {
    /// Removes everything that was found, and keeps the memory for the next window.
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

/// Where one case is, and how its text is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Where its text starts in the window, in bytes.
    pub start: usize,
    /// Where its text ends in the window, the end of its last line included, unless form feeds or `^Z`
    /// are behind its last row. Of a case that is too large the text is only a part; that of a missing
    /// solution is empty.
    pub end: usize,
    /// The number of its first line in the file, from 1.
    pub line: u64,
    /// Whether a line of answers ends with this case: true for the last solution of a classic block
    /// and for every case that is not a solution.
    pub block_end: bool,
    /// The layout of its rows.
    pub rows: Rows,
    /// What the text is.
    pub text: CaseText,
}

/// The layout of the rows of a case; for killer, of the lines of its drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Regular: all rows are there, have the proper length and end in LF.
    Lf,
    /// Regular, with CRLF.
    CrLf,
    /// Not known to be regular.
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
    /// Nothing that can be judged, and why.
    Unreadable(Box<Unreadable>),
}

/// The puzzle of a classic block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Puzzle {
    /// The givens: `b'1'` to `b'9'`, or `b'.'` for an open cell.
    pub givens: Grid,
}
