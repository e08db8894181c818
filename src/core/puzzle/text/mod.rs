//! Puzzles as text: what a file of them says, and how they are written.
//!
//! The content of a file decides its format, by its first line that is not blank:
//!
//! - a killer drawing, `3x3::k:...` (PS) and `SumoCueV1...` are killers;
//! - a number of at most eight digits alone on a line begins a classic block: the puzzle, and that
//!   many solutions, which become keys;
//! - everything else is a list of grids: each a line of 81 or 256 cells, or 9 or 16 rows, close
//!   together, spaced, separated or framed.
//!
//! A file may hold any number of puzzles of its format. Nothing is repaired: what is not understood
//! is an error with its place, and then no puzzle of the file is returned.

pub(crate) mod cells;
mod classic;
mod grids;
mod killer;
mod write;

pub use write::{Format, UnknownFormat, WriteError, write};

use super::{Alphabet, Invalid, Puzzle};
use crate::format::lines::{integer, is_blank, split, trim_end, trim_start, without_marks};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// A puzzle of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The puzzle.
    pub puzzle: Puzzle,
    /// What it is called, if the file says so.
    pub title: Option<String>,
    /// Who set it, if the file says so.
    pub author: Option<String>,
    /// The rules in words, if the file has them. They may ask for more than gridmark judges.
    pub rules: Option<String>,
}

impl From<Puzzle> for Listed {
    fn from(puzzle: Puzzle) -> Listed {
        Listed { puzzle, title: None, author: None, rules: None }
    }
}

/// Why a file of puzzles cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Which puzzle of the file it is, from 1.
    pub number: usize,
    /// Where in the file.
    pub place: Place,
    /// What was expected there and what was found, in plain English, without the place.
    pub message: String,
    /// Whether the file is understood, and says something that no puzzle can be.
    pub is_invalid: bool,
}

/// A place in a file of puzzles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A character of a line.
    Text {
        /// The line, from 1.
        line: u64,
        /// The column in that line, in bytes, from 1.
        column: u64,
    },
    /// A value of a JSON document, which may be compressed in a link.
    Json {
        /// The line of the file in which the document begins, from 1.
        line: u64,
        /// The way to the value, such as `killercage[2].cells[0]`.
        path: String,
    },
}

impl ReadError {
    /// An error at a place in a text; both numbers are counted from 1.
    pub fn at(number: usize, line: u64, column: usize, message: impl Into<String>) -> ReadError {
        let place = Place::Text { line, column: column as u64 };
        ReadError { number, place, message: message.into(), is_invalid: false }
    }

    /// The error for a puzzle that is understood and invalid.
    pub fn invalid(number: usize, place: Place, why: &Invalid) -> ReadError {
        ReadError { number, place, message: why.to_string(), is_invalid: true }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Text { line, column } => write!(f, "line {line}, column {column}"),
            Place::Json { line, path } => write!(f, "line {line}, at `{path}`"),
        }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl core::error::Error for ReadError {}

/// Reads all puzzles of a file, at least one. `alphabet` is how the digits of 16x16 puzzles are
/// written; without it that has to follow from their cells.
///
/// ```
/// use gridmark_core::puzzle::text;
/// let text = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79\n";
/// let listed = text::read(text.as_bytes(), None)?;
/// assert_eq!(listed[0].puzzle.givens()[..5], [5, 3, 0, 0, 7]);
///
/// let error = text::read(text.replace("79", "7").as_bytes(), None).unwrap_err();
/// assert!(error.to_string().starts_with("line 1, column 1: expected a row of 9 or 16 cells"));
/// # Ok::<(), gridmark_core::puzzle::text::ReadError>(())
/// ```
///
/// # Errors
///
/// The first place at which the file is not understood, or says something that no puzzle can be.
pub fn read(text: &[u8], alphabet: Option<Alphabet>) -> Result<Vec<Listed>, ReadError> {
    if text.starts_with(b"\xFF\xFE") || text.starts_with(b"\xFE\xFF") {
        let message = "expected UTF-8, found UTF-16: save the file as UTF-8";
        return Err(ReadError::at(1, 1, 1, message));
    }
    let text = without_marks(text);
    let Some(first) = split(text).find(|line| !is_blank(line)).map(trim) else {
        return Err(ReadError::at(1, 1, 1, "expected a puzzle, found an empty file"));
    };
    if first.starts_with(killer::BORDER_START) {
        killer::drawings(text)
    } else if killer::is_string(first) {
        killer::strings(text)
    } else if integer(first).is_some() && first.len() <= 8 {
        classic::blocks(text)
    } else {
        grids::read(text, alphabet)
    }
}

/// `line` without blanks at its ends.
fn trim(line: &[u8]) -> &[u8] {
    trim_start(trim_end(line))
}

/// The lines of `text` without their ends, each with its number, from 1.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    (1..).zip(split(text))
}

/// A count and its noun: `1 cell`, `2 cells`.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
