//! Where blocks and their solutions begin and end.
//!
//! A block says how long it is, so a line that is taken for its first one by mistake may cost all that
//! follows. Short rows of digits occur in files that lost a row or broke one in two. So a number is
//! the number of solutions of a block only if the nine rows of a puzzle follow it; all else is one
//! unreadable case, up to the next such number.

use super::{count, read_givens, read_regular_givens, regular_rows, regular_solutions};
use crate::board::{CELLS_9, Grid, Unreadable, UnreadableCode};
use crate::format::lines::{Fetched, Lines, Step, has_line, is_blank, trim_end, without_end_marks};
use crate::format::quote::Quoted;
use crate::format::{Case, CaseText, Found, Puzzle, Rows};
use alloc::format;
use alloc::string::String;

/// Finds where blocks and their solutions begin and end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::format) struct Boundaries {
    pub stage: Stage,
    /// Whether a block has been read already.
    pub after_block: bool,
    /// Whether a part of the line that is being skipped is consumed already.
    pub inside_line: bool,
    /// Solutions of the block that are not found yet.
    pub left: u32,
    /// How many rows of a solution that was too large are still to be skipped.
    pub rows: u8,
    /// The puzzle of the block.
    pub givens: Grid,
}

/// What is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format) enum Stage {
    /// The number of solutions, and the puzzle.
    Count,
    /// A solution.
    Solution,
    /// A row of a solution that was too large, to be skipped.
    SkipRows,
    /// The next number of solutions with a puzzle; everything before it is skipped.
    SkipToCount,
}

impl Default for Boundaries {
    fn default() -> Boundaries {
        Boundaries {
            stage: Stage::Count,
            after_block: false,
            inside_line: false,
            left: 0,
            rows: 0,
            givens: [b'.'; CELLS_9],
        }
    }
}

impl Boundaries {
    /// Skips everything up to the next block.
    pub fn skipping() -> Boundaries {
        Boundaries { stage: Stage::SkipToCount, ..Boundaries::default() }
    }

    /// Finds all complete cases in the window.
    pub fn read(&mut self, lines: &mut Lines, missing_cases_max: u64, found: &mut Found) {
        // The index of the block's puzzle among those found in this window, once it is there.
        let mut puzzle = None;
        while !found.is_full() {
            let step = match self.stage {
                Stage::Count => {
                    puzzle = None;
                    self.count(lines, found)
                }
                Stage::Solution => self.solution(lines, missing_cases_max, &mut puzzle, found),
                Stage::SkipRows => self.skip_row(lines, missing_cases_max, found),
                Stage::SkipToCount => {
                    puzzle = None;
                    self.skip_to_count(lines)
                }
            };
            if let Step::Stop = step {
                return;
            }
        }
    }

    /// The number of solutions with the puzzle, or a blank line before it.
    fn count(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        if !lines.skip_marks() {
            return Step::Stop;
        }
        let line = match lines.fetch(lines.at, lines.at) {
            Fetched::More | Fetched::End => return Step::Stop,
            Fetched::Long => {
                lines.push_too_large(found, lines.at, 0, true);
                self.stage = Stage::SkipToCount;
                return Step::Continue;
            }
            Fetched::Line(line) => line,
        };
        let content = lines.content(line);
        if is_blank(content) {
            lines.advance(line.next, 1);
            return Step::Continue;
        }
        let why = match count(content) {
            Some(left @ 1..) => match puzzle(lines, line.next) {
                Ok(None) => return Step::Stop,
                Ok(Some((givens, end))) => {
                    self.begin_block(lines, left, givens, end);
                    return Step::Continue;
                }
                Err(why) => Some(why),
            },
            _ => None,
        };
        let why = match (self.after_block, why) {
            (true, why) => trailing(content, lines.line, why.as_ref()),
            (false, Some(why)) => why,
            (false, None) => not_a_count(content, lines.line),
        };
        lines.push_unreadable(found, line.next, true, why);
        lines.advance(line.next, 1);
        self.stage = Stage::SkipToCount;
        Step::Continue
    }

    /// Begins a block of `left` solutions, whose puzzle ends at `end`.
    fn begin_block(&mut self, lines: &mut Lines, left: u32, givens: Grid, end: usize) {
        *self = Boundaries { stage: Stage::Solution, left, givens, ..Boundaries::default() };
        lines.advance(end, 10);
    }

    /// A solution.
    fn solution(
        &mut self,
        lines: &mut Lines,
        missing_max: u64,
        puzzle: &mut Option<usize>,
        found: &mut Found,
    ) -> Step {
        if let Some((rows, bytes)) = regular_rows(&lines.window[lines.at..]) {
            self.push_solutions(lines, rows, (bytes, bytes), puzzle, found);
            return Step::Continue;
        }
        let (mut at, mut text_end) = (lines.at, lines.at);
        for row in 0..9 {
            let is_near = at + 9 <= lines.at + lines.case_bytes_max;
            if is_near && has_line::<10>(&lines.window[at..]) {
                (at, text_end) = (at + 10, at + 10);
                continue;
            }
            match lines.fetch(at, lines.at) {
                Fetched::Line(line) => {
                    (at, text_end) = (line.next, line.next);
                    let text = without_end_marks(lines.content(line));
                    if row < 8 || text.len() == line.stop - line.start {
                        continue;
                    }
                    // Marks behind the last row of a block or of the file are not a part of it.
                    let ends_window = line.next == lines.window.len();
                    if self.left == 1 || (ends_window && lines.end) {
                        text_end = line.start + text.len();
                    } else if ends_window {
                        return Step::Stop;
                    }
                }
                Fetched::More => return Step::Stop,
                Fetched::End => return self.missing(lines, at, row, missing_max, found),
                Fetched::Long => {
                    lines.push_too_large(found, at, row, self.left == 1);
                    lines.advance(at, row);
                    (self.rows, self.stage) = (9 - row as u8, Stage::SkipRows);
                    return Step::Continue;
                }
            }
        }
        let bytes = (text_end - lines.at, at - lines.at);
        self.push_solutions(lines, Rows::Any, bytes, puzzle, found);
        Step::Continue
    }

    /// Appends a solution whose text has `bytes.0` bytes, of `bytes.1` that it takes, and the regular
    /// ones of the same layout behind it.
    fn push_solutions(
        &mut self,
        lines: &mut Lines,
        rows: Rows,
        (text_bytes, bytes): (usize, usize),
        puzzle: &mut Option<usize>,
        found: &mut Found,
    ) {
        let puzzle = *puzzle.get_or_insert_with(|| {
            found.puzzles.push(Puzzle { givens: self.givens });
            found.puzzles.len() - 1
        });
        let most = found.room().min(self.left as usize);
        let behind = &lines.window[lines.at + bytes..];
        let solutions = 1 + regular_solutions(behind, rows, most.saturating_sub(1));
        let (first, line, last) = (lines.at, lines.line, self.left as usize - 1);
        found.cases.extend((0..solutions).map(|i| {
            let start = first + i * bytes;
            let (end, line) = (start + text_bytes, line + 9 * i as u64);
            let text = CaseText::Classic { puzzle };
            Case { start, end, line, block_end: i == last, rows, text }
        }));
        lines.advance(first + solutions * bytes, 9 * solutions as u64);
        self.after_solutions(solutions as u32);
    }

    /// Counts solutions as found.
    fn after_solutions(&mut self, solutions: u32) {
        self.left -= solutions;
        self.stage = if self.left > 0 { Stage::Solution } else { Stage::Count };
        self.after_block = true;
    }

    /// Skips a row of a solution that was too large.
    fn skip_row(&mut self, lines: &mut Lines, missing_max: u64, found: &mut Found) -> Step {
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
        } else {
            match lines.fetch(lines.at, lines.at) {
                Fetched::More => return Step::Stop,
                Fetched::Line(line) => lines.advance(line.next, 1),
                Fetched::Long => {
                    self.inside_line = true;
                    return Step::Continue;
                }
                Fetched::End => {
                    // The solution itself was found when it became too large.
                    self.after_solutions(1);
                    return match self.left {
                        0 => Step::Stop,
                        _ => self.missing(lines, lines.at, 0, missing_max, found),
                    };
                }
            }
        }
        self.rows -= 1;
        if self.rows == 0 {
            self.after_solutions(1);
        }
        Step::Continue
    }

    /// Skips a line, unless it is a number of solutions with a puzzle behind it.
    fn skip_to_count(&mut self, lines: &mut Lines) -> Step {
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
            return Step::Continue;
        }
        if !lines.skip_marks() {
            return Step::Stop;
        }
        match lines.fetch(lines.at, lines.at) {
            Fetched::More | Fetched::End => return Step::Stop,
            Fetched::Long => self.inside_line = true,
            Fetched::Line(line) => {
                if let Some(left @ 1..) = count(lines.content(line)) {
                    match puzzle(lines, line.next) {
                        Ok(None) => return Step::Stop,
                        // A row without an open cell is one of a solution rather than of a puzzle: then
                        // the rows before it are of a solution too, or of a puzzle that lost a row.
                        Ok(Some((givens, end))) if givens[72..].contains(&b'.') => {
                            self.begin_block(lines, left, givens, end);
                            return Step::Continue;
                        }
                        _ => {}
                    }
                }
                lines.advance(line.next, 1);
            }
        }
        Step::Continue
    }

    /// Appends the solutions that are missing because the file ends at `end`, which is `lines_read`
    /// lines from here. The first of them may be there in part.
    fn missing(
        &mut self,
        lines: &mut Lines,
        end: usize,
        lines_read: u64,
        missing_max: u64,
        found: &mut Found,
    ) -> Step {
        let missing = u64::from(self.left);
        let listed = missing.min(missing_max);
        let line = lines.line + lines_read;
        for number in 1..=listed {
            let mut message = match missing {
                1 => String::from("expected one more solution"),
                _ => format!("expected {missing} more solutions"),
            };
            message.push_str(" of the block, found the end of the file");
            match missing - listed {
                more if more == 0 || number < listed => {}
                1 => message.push_str("; one of them has no row of its own"),
                more => message.push_str(&format!("; {more} of them have no rows of their own")),
            }
            let why = Unreadable {
                code: UnreadableCode::Truncated,
                line,
                column: 1,
                message: message.into(),
            };
            lines.push_unreadable(found, end, number == listed, why);
            if number == 1 {
                lines.advance(end, lines_read);
            }
        }
        *self = Boundaries { after_block: true, ..Boundaries::default() };
        Step::Stop
    }
}

/// The givens of the puzzle whose nine rows begin at `at`, behind the line at which a block would
/// begin, and where they end; `None` if that takes more of the file to know. Together with that line
/// they have the length of a case at most.
fn puzzle(lines: &Lines, at: usize) -> Result<Option<(Grid, usize)>, Unreadable> {
    if let Some((bytes, givens)) = read_regular_givens(&lines.window[at..])
        && at + bytes <= lines.at + lines.case_bytes_max
    {
        return Ok(Some((givens, at + bytes)));
    }
    let mut givens = [b'.'; CELLS_9];
    let mut next = at;
    for (cells, number) in givens.as_chunks_mut::<9>().0.iter_mut().zip(lines.line + 1..) {
        match lines.fetch(next, lines.at) {
            Fetched::More => return Ok(None),
            Fetched::End => return Err(short_puzzle(number)),
            Fetched::Long => return Err(long_puzzle(number, lines.case_bytes_max)),
            Fetched::Line(line) => {
                read_givens(lines.content(line), number, cells)?;
                next = line.next;
            }
        }
    }
    Ok(Some((givens, next)))
}

fn short_puzzle(line: u64) -> Unreadable {
    let message = "expected the next of the nine rows of the puzzle, found the end of the file";
    Unreadable { code: UnreadableCode::Truncated, line, column: 1, message: message.into() }
}

fn long_puzzle(line: u64, case_bytes_max: usize) -> Unreadable {
    let message = format!(
        "expected a number of solutions and the nine rows of a puzzle of at most {case_bytes_max} \
         bytes (case_bytes_max), found more"
    );
    Unreadable { code: UnreadableCode::BadGiven, line, column: 10, message: message.into() }
}

/// Whether a line is nine cells of a puzzle or a solution.
fn is_row(content: &[u8]) -> bool {
    let row = trim_end(content);
    row.len() == 9 && row.iter().all(|cell| matches!(cell, b'0'..=b'9' | b'.' | b'*'))
}

/// Why a line is not the number of solutions of the first block.
fn not_a_count(content: &[u8], line: u64) -> Unreadable {
    let found = Quoted(content);
    let mut message =
        format!("expected the number of solutions, from 1 to 99999999, found {found}");
    if is_row(content) {
        message.push_str(", which is a row: the line with the number above it is missing");
    }
    Unreadable { code: UnreadableCode::BadCount, line, column: 1, message: message.into() }
}

/// Why a line behind a block does not begin a further one: it is not a number, or `puzzle` says why what
/// follows it is not a puzzle.
fn trailing(content: &[u8], line: u64, puzzle: Option<&Unreadable>) -> Unreadable {
    let found = Quoted(content);
    let mut message = format!(
        "expected the number of solutions of a further block, or the end of the file, found {found}"
    );
    if is_row(content) {
        let hint =
            ", which is a row: it is too many, or the line with the number above it is missing";
        message.push_str(hint);
    } else if let Some(why) = puzzle {
        message.push_str(&format!(" without a puzzle behind it ({why})"));
    }
    Unreadable { code: UnreadableCode::TrailingData, line, column: 1, message: message.into() }
}
