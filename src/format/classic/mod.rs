//! Classic sudoku: blocks of a number of solutions, a puzzle, and so many solutions.

mod boundaries;

pub(super) use boundaries::{Boundaries, Stage};

use super::lines::{integer, split, trim_end, trim_start};
use super::quote::{LineFound, Quoted};
use crate::board::{CELLS_9, Grid, Unreadable, UnreadableCode};

/// A solution as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// What stands in the cells; rows that are too short are padded with blanks, rows that are too
    /// long are cut off.
    pub cells: Grid,
    /// For each row that is too long how many bytes it has, trailing blanks not counted, and 0 for
    /// the others.
    pub long_rows: [usize; 9],
}

/// Reads the text of one solution.
///
/// ```
/// use gridmark::format::classic::solution;
/// let solution = solution(b"1234567890\n12");
/// assert_eq!(&solution.cells[..18], b"12345678912       ");
/// assert_eq!(solution.long_rows, [10, 0, 0, 0, 0, 0, 0, 0, 0]);
/// ```
pub fn solution(text: &[u8]) -> Solution {
    let mut solution = Solution { cells: [b' '; CELLS_9], long_rows: [0; 9] };
    let rows = solution.cells.chunks_exact_mut(9).zip(&mut solution.long_rows);
    for (line, (cells, long)) in split(text).zip(rows) {
        let row = trim_end(line);
        let written = row.len().min(9);
        cells[..written].copy_from_slice(&row[..written]);
        if row.len() > 9 {
            *long = row.len();
        }
    }
    solution
}

/// The number of solutions that `line` tells, zero included, and how many bytes it is written in.
fn count(line: &[u8]) -> Option<(u32, usize)> {
    let text = trim_start(trim_end(line));
    integer(text).map(|count| (count, text.len()))
}

/// Reads a row of the puzzle into `cells`.
fn read_givens(content: &[u8], line: u64, cells: &mut [u8]) -> Result<(), Unreadable> {
    let row = trim_end(content);
    let problem = |column: usize, found: String| Unreadable {
        code: UnreadableCode::BadGiven,
        line,
        column: column as u64 + 1,
        message: format!(
            "expected a puzzle row of nine of `1`-`9`, `*`, `.` and `0`, found {found}"
        )
        .into(),
    };
    for (column, (cell, found)) in cells.iter_mut().zip(row).enumerate() {
        *cell = match found {
            b'1'..=b'9' => *found,
            b'*' | b'.' | b'0' => b'.',
            _ => return Err(problem(column, Quoted(&[*found]).to_string())),
        };
    }
    match row.len() {
        9 => Ok(()),
        0 => Err(problem(0, LineFound(row).to_string())),
        length => Err(problem(length.min(9), format!("{length} characters"))),
    }
}
