//! Classic sudoku: blocks of a number of solutions, a puzzle, and that many solutions.

mod boundaries;

pub(super) use boundaries::{Boundaries, Stage};

use super::Rows;
use super::lines::{
    self, has_line, integer, next_line, split, trim_end, trim_start, without_end_marks,
};
use super::quote::{Quoted, QuotedLine};
use crate::board::{CELLS_9, Grid, Unreadable, UnreadableCode};
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;

/// A solution as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The cells; rows that are too short are padded with blanks, rows that are too long are cut
    /// off. A character of several bytes is in one cell, as a byte that is not ASCII.
    pub cells: Grid,
    /// How many characters each row has that is too long, trailing blanks not counted; 0 for the
    /// others.
    pub long_rows: [usize; 9],
    /// The characters of several bytes, each with the number of its cell.
    pub characters: Vec<(u8, char)>,
}

impl Solution {
    /// A solution with these cells, in rows of the proper length.
    pub fn of(cells: Grid) -> Solution {
        Solution { cells, long_rows: [0; 9], characters: Vec::new() }
    }
}

/// Reads the text of one solution, its nine rows. Any bytes are a solution, if a wrong one.
///
/// ```
/// use gridmark_core::format::classic::solution;
/// let solution = solution(b"1234567890\n12");
/// assert_eq!(&solution.cells[..18], b"12345678912       ");
/// assert_eq!(solution.long_rows, [10, 0, 0, 0, 0, 0, 0, 0, 0]);
/// ```
pub fn solution(text: &[u8]) -> Solution {
    let mut solution =
        Solution { cells: [b' '; CELLS_9], long_rows: [0; 9], characters: Vec::new() };
    match regular_rows(text) {
        Some((Rows::Lf, _)) => read_regular::<10>(text, &mut solution.cells),
        Some(_) => read_regular::<11>(text, &mut solution.cells),
        None => read_any(text, &mut solution),
    }
    let cells = solution.cells.iter().fold(0, |all, cell| all | cell);
    if !cells.is_ascii() || (solution.long_rows != [0; 9] && !text.is_ascii()) {
        read_characters(text, &mut solution);
    }
    solution
}

/// Reads the rows again that hold characters of several bytes, so that each of them is in one cell.
fn read_characters(text: &[u8], solution: &mut Solution) {
    for (row, line) in (0..9).zip(split(text)) {
        let line = trim_end(line);
        if line.is_ascii() {
            continue;
        }
        let Ok(line) = core::str::from_utf8(line) else { continue };
        let cells = &mut solution.cells[usize::from(row) * 9..][..9];
        cells.fill(b' ');
        for ((cell, number), character) in cells.iter_mut().zip(row * 9..).zip(line.chars()) {
            *cell = u8::try_from(character).ok().filter(u8::is_ascii).unwrap_or(u8::MAX);
            if !character.is_ascii() {
                solution.characters.push((number, character));
            }
        }
        let length = line.chars().count();
        solution.long_rows[usize::from(row)] = if length > 9 { length } else { 0 };
    }
}

/// Reads rows of nine bytes, each of which begins `PITCH` bytes after the one before.
fn read_regular<const PITCH: usize>(text: &[u8], cells: &mut Grid) {
    for (cells, row) in cells.as_chunks_mut::<9>().0.iter_mut().zip(text.as_chunks::<PITCH>().0) {
        cells.copy_from_slice(&row[..9]);
        // Trailing tabs and no-break spaces count as blanks.
        if !row[8].is_ascii_digit() {
            let end = trim_end(cells).len();
            cells[end..].fill(b' ');
        }
    }
}

/// Reads rows of any layout.
fn read_any(mut text: &[u8], solution: &mut Solution) {
    let rows = solution.cells.as_chunks_mut::<9>().0.iter_mut().zip(&mut solution.long_rows);
    for (cells, long) in rows {
        if has_line::<10>(text) && text[8].is_ascii_digit() {
            cells.copy_from_slice(&text[..9]);
            text = &text[10..];
            continue;
        }
        let Some(line) = next_line(&mut text) else { return };
        let row = trim_end(line);
        let written = row.len().min(9);
        cells[..written].copy_from_slice(&row[..written]);
        if row.len() > 9 {
            *long = row.len();
        }
    }
}

/// Bytes of a regular solution with LF.
const LF_BYTES: usize = 90;

/// The same with CRLF.
const CRLF_BYTES: usize = 99;

/// The layout and the number of bytes of the nine rows at the start of `text`, if they are regular:
/// nine bytes each, without control characters.
fn regular_rows(text: &[u8]) -> Option<(Rows, usize)> {
    lines::regular_rows::<9, LF_BYTES, CRLF_BYTES, b' ', 0xFF>(text)
}

/// How many regular solutions with the layout `rows` are at the start of `text`, `most` at most.
fn regular_solutions(text: &[u8], rows: Rows, most: usize) -> usize {
    fn run<const BYTES: usize>(text: &[u8], most: usize) -> usize {
        let solutions = text.as_chunks().0.iter().take(most);
        solutions
            .take_while(|text| lines::RegularRows::<9, BYTES, b' ', 0xFF>::matches(text))
            .count()
    }
    match rows {
        Rows::Lf => run::<LF_BYTES>(text, most),
        Rows::CrLf => run::<CRLF_BYTES>(text, most),
        Rows::Any => 0,
    }
}

/// What each byte of text stands for in a puzzle: `b'1'` to `b'9'`, `b'.'`, or zero if it is not
/// allowed.
const GIVEN_OF: [u8; 256] = {
    let mut table = [0; 256];
    let mut digit = b'1';
    while digit <= b'9' {
        table[digit as usize] = digit;
        digit += 1;
    }
    table[b'*' as usize] = b'.';
    table[b'.' as usize] = b'.';
    table[b'0' as usize] = b'.';
    table
};

/// The number of bytes and the givens of the puzzle at the start of `text`, if it is regular.
fn read_regular_givens(text: &[u8]) -> Option<(usize, Grid)> {
    let (_, bytes) = regular_rows(text)?;
    let mut givens = [b'.'; CELLS_9];
    for (givens, row) in givens.as_chunks_mut::<9>().0.iter_mut().zip(text.chunks_exact(bytes / 9))
    {
        givens.copy_from_slice(&row[..9]);
    }
    // Without a branch on a cell, so that the compiler takes many cells at a time.
    let mut good = true;
    for cell in &mut givens {
        let is_digit = cell.wrapping_sub(b'1') < 9;
        good &= is_digit | (*cell == b'*') | (*cell == b'.') | (*cell == b'0');
        *cell = if is_digit { *cell } else { b'.' };
    }
    good.then_some((bytes, givens))
}

/// How many digits the number of solutions has at most. Nine are a row.
const COUNT_DIGITS_MAX: usize = 8;

/// The number of solutions in `line`, zero included.
pub(super) fn count(line: &[u8]) -> Option<u32> {
    let text = trim_start(trim_end(without_end_marks(line)));
    integer(text).filter(|_| text.len() <= COUNT_DIGITS_MAX)
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
        match GIVEN_OF[usize::from(*found)] {
            0 => return Err(problem(column, Quoted::character(row, column).to_string())),
            given => *cell = given,
        }
    }
    match row.len() {
        9 => Ok(()),
        0 => Err(problem(0, QuotedLine(row).to_string())),
        1 => Err(problem(1, "1 character".into())),
        length => Err(problem(length.min(9), format!("{length} characters"))),
    }
}
