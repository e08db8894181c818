//! Hexudoku: boards of 16 rows of 16 characters.

use super::lines::{
    Fetched, Lines, Step, is_blank, regular_rows, split, trim_end, without_end_marks,
};
use super::quote::Quoted;
use super::{CaseText, Found, Rows};
use crate::board::{CELLS_16, Unreadable, UnreadableCode};
use alloc::format;
use alloc::string::String;

/// A hexudoku board in reading order: 0 to 15 where a cell holds a digit, else [`BLANK`].
pub type Board = [u8; CELLS_16];

/// A blank cell of a [`Board`].
pub const BLANK: u8 = 16;

/// Rows of a board, and cells of a row.
pub(crate) const SIDE: usize = 16;

/// Bytes of a board whose rows all have 16 characters and end in LF.
const LF_BYTES: usize = SIDE * (SIDE + 1);

/// The same with CRLF.
const CRLF_BYTES: usize = SIDE * (SIDE + 2);

/// What [`CELL_OF`] holds for a character that a board must not contain; no cell has this bit.
pub const WRONG: u8 = 0x80;

/// The cell of a [`Board`] that each byte of text stands for, or [`WRONG`].
pub const CELL_OF: [u8; 256] = {
    let mut table = [WRONG; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table[b'-' as usize] = BLANK;
    table
};

/// Whether `row`, without trailing blanks, is a row of a board.
pub(super) fn is_row(row: &[u8]) -> bool {
    row.len() == SIDE && row.iter().all(|byte| CELL_OF[usize::from(*byte)] != WRONG)
}

/// Reads the text of one board, whose first line is line `line` of the file.
///
/// # Errors
///
/// `bad-character` for a row that holds anything but `0`-`9`, `A`-`F`, `a`-`f` and `-`, or more or
/// fewer than 16 of them, trailing blanks not counted; `truncated` for a board that ends
/// before its 16th row: the first problem in reading order.
///
/// ```
/// use gridmark_core::format::hexudoku::{board, BLANK};
/// let text = format!("0a--------------\n{}", "----------------\n".repeat(15));
/// assert_eq!(board(text.as_bytes(), 1)?[..3], [0, 10, BLANK]);
/// # Ok::<(), gridmark_core::board::Unreadable>(())
/// ```
pub fn board(text: &[u8], line: u64) -> Result<Board, Unreadable> {
    let mut cells = [BLANK; CELLS_16];
    read(text, line, &mut cells)?;
    Ok(cells)
}

/// As [`board`], into an existing board, whose contents are unspecified after an error.
///
/// # Errors
///
/// As [`board`].
pub fn read(text: &[u8], line: u64, board: &mut Board) -> Result<(), Unreadable> {
    if read_regular(text, board) {
        return Ok(());
    }
    let mut rows = split(without_end_marks(text));
    for ((cells, line), number) in board.chunks_exact_mut(SIDE).zip(line..).zip(0..) {
        let Some(row) = rows.next().map(trim_end).filter(|row| !is_blank(row)) else {
            return Err(truncated(line, split(text).nth(number).is_some()));
        };
        if let Some(column) = row.iter().take(SIDE).position(|b| CELL_OF[usize::from(*b)] == WRONG)
        {
            let found = Quoted::character(row, column);
            return Err(bad_character(line, column, format!("found {found}")));
        }
        if row.len() != SIDE {
            let found = format!("found {} of them", row.len());
            return Err(bad_character(line, row.len().min(SIDE), found));
        }
        for (cell, byte) in cells.iter_mut().zip(row) {
            *cell = CELL_OF[usize::from(*byte)];
        }
    }
    Ok(())
}

/// Reads a regular board: 16 rows of 16 allowed characters, each ended by LF. False if it is not.
fn read_regular(text: &[u8], board: &mut Board) -> bool {
    let Ok(text) = <&[u8; LF_BYTES]>::try_from(text) else {
        return false;
    };
    let mut all = 0;
    let mut ended = true;
    for (cells, row) in board.chunks_exact_mut(SIDE).zip(text.chunks_exact(SIDE + 1)) {
        for (cell, byte) in cells.iter_mut().zip(row) {
            *cell = CELL_OF[usize::from(*byte)];
            all |= *cell;
        }
        ended &= row[SIDE] == b'\n';
    }
    ended && all & WRONG == 0
}

fn truncated(line: u64, blank_line: bool) -> Unreadable {
    let found = if blank_line { "a blank line" } else { "the end of the file" };
    Unreadable {
        code: UnreadableCode::Truncated,
        line,
        column: 1,
        message: format!("expected the next of the board's 16 rows, found {found}").into(),
    }
}

fn bad_character(line: u64, column: usize, found: String) -> Unreadable {
    Unreadable {
        code: UnreadableCode::BadCharacter,
        line,
        column: column as u64 + 1,
        message: format!("expected a row of 16 of `0`-`9`, `A`-`F` and `-`, {found}").into(),
    }
}

/// Finds where boards begin and end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Boundaries {
    pub before: Before,
    /// How many rows of a board that was too large are still to be skipped.
    pub skip_rows: u8,
    /// Whether a part of the line that is being skipped is consumed already.
    pub inside_line: bool,
}

/// What precedes the next row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Before {
    /// The start of the file.
    #[default]
    Start,
    BlankLine,
    Row,
}

/// How the rows go on behind the first 16 of them.
enum Run {
    /// They are a board, whatever follows.
    Board,
    /// So many rows are between two blank lines, and the last of them ends here: too many for one
    /// board and too few for two.
    Surplus { rows: usize, end: usize },
    /// That takes more of the file to know.
    More,
}

impl Boundaries {
    pub fn step(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        if self.skip_rows > 0 {
            return self.skip_row(lines);
        }
        if !lines.skip_marks() {
            return Step::Stop;
        }
        let text = &lines.window[lines.at..];
        match regular_rows::<SIDE, LF_BYTES, CRLF_BYTES, b'!', b'~'>(text) {
            Some((rows, bytes)) => self.sixteen_rows(lines, rows, lines.at + bytes, found),
            None => self.board(lines, found),
        }
    }

    /// A board, or a blank line before one.
    fn board(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        let mut at = lines.at;
        for rows in 0..SIDE {
            match lines.fetch(at, lines.at) {
                Fetched::More => return Step::Stop,
                Fetched::End if rows == 0 => return Step::Stop,
                Fetched::End => {
                    lines.push_case(found, at, Rows::Any, CaseText::Hexudoku);
                    lines.advance(at, rows as u64);
                    return Step::Stop;
                }
                Fetched::Long => {
                    lines.push_too_large(found, at, rows as u64, true);
                    lines.advance(at, rows as u64);
                    (self.skip_rows, self.before) = ((SIDE - rows) as u8, Before::Row);
                    return Step::Continue;
                }
                Fetched::Line(line) => {
                    at = line.next;
                    if is_blank(lines.content(line)) {
                        if rows > 0 {
                            lines.push_case(found, at, Rows::Any, CaseText::Hexudoku);
                        }
                        lines.advance(at, rows as u64 + 1);
                        self.before = Before::BlankLine;
                        return Step::Continue;
                    }
                }
            }
        }
        self.sixteen_rows(lines, Rows::Any, at, found)
    }

    /// A board whose 16 rows end at `end`, or rows that are too many for one.
    fn sixteen_rows(
        &mut self,
        lines: &mut Lines,
        layout: Rows,
        end: usize,
        found: &mut Found,
    ) -> Step {
        match self.run(lines, end) {
            Run::More => return Step::Stop,
            Run::Board => {
                lines.push_case(found, end, layout, CaseText::Hexudoku);
                lines.advance(end, SIDE as u64);
            }
            Run::Surplus { rows, end } => {
                lines.push_unreadable(found, end, true, surplus(lines.line, rows));
                lines.advance(end, rows as u64);
            }
        }
        self.before = Before::Row;
        Step::Continue
    }

    /// How the rows go on behind the first 16, which end at `at`. Rows that follow others without a
    /// blank line between are not counted, since then nothing says where boards begin.
    fn run(&self, lines: &Lines, at: usize) -> Run {
        if self.before == Before::Row {
            return Run::Board;
        }
        let mut next = at;
        for rows in SIDE..2 * SIDE {
            let ends = match lines.fetch(next, lines.at) {
                Fetched::More => return Run::More,
                Fetched::Long => return Run::Board,
                // A file without any blank line is cut every 16 rows.
                Fetched::End => self.before == Before::BlankLine,
                Fetched::Line(line) if is_blank(lines.content(line)) => true,
                Fetched::Line(line) => {
                    next = line.next;
                    continue;
                }
            };
            return match ends && rows > SIDE {
                true => Run::Surplus { rows, end: next },
                false => Run::Board,
            };
        }
        Run::Board
    }

    /// Skips a row of a board that was too large.
    fn skip_row(&mut self, lines: &mut Lines) -> Step {
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
            self.skip_rows -= 1;
            return Step::Continue;
        }
        match lines.fetch(lines.at, lines.at) {
            Fetched::More => return Step::Stop,
            Fetched::End => self.skip_rows = 0,
            Fetched::Long => self.inside_line = true,
            Fetched::Line(line) => {
                self.skip_rows -= 1;
                if is_blank(lines.content(line)) {
                    (self.skip_rows, self.before) = (0, Before::BlankLine);
                }
                lines.advance(line.next, 1);
            }
        }
        Step::Continue
    }
}

/// Why rows between two blank lines, the first of which is line `line`, are not a board.
fn surplus(line: u64, rows: usize) -> Unreadable {
    let message = format!(
        "expected a blank line or the end of the file behind the board's 16 rows, found {rows} rows \
         without a blank line between them"
    );
    Unreadable {
        code: UnreadableCode::TrailingData,
        line: line + SIDE as u64,
        column: 1,
        message: message.into(),
    }
}
