//! Where blocks and their solutions begin and end.

use super::{count, read_givens, read_regular_givens, regular_rows, regular_solutions};
use crate::board::{CELLS_9, Grid, Unreadable, UnreadableCode};
use crate::format::lines::{Fetched, Line, Lines, Step, has_line, is_blank};
use crate::format::quote::Quoted;
use crate::format::{Case, CaseText, Found, Puzzle, Rows};
use alloc::boxed::Box;
use alloc::format;

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
    /// How many rows of the puzzle are read; or how many rows of a solution that was too large are
    /// still to be skipped.
    pub rows: u8,
    /// The rows of the puzzle that are read.
    pub givens: Grid,
    /// Why the puzzle is unreadable, if it is.
    pub bad_puzzle: Option<Unreadable>,
}

/// What is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::format) enum Stage {
    /// The number of solutions.
    Count,
    /// A row of the puzzle.
    Puzzle,
    /// A solution.
    Solution,
    /// A row of a solution that was too large, to be skipped.
    SkipRows,
    /// The next number of solutions; everything before it is skipped.
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
            bad_puzzle: None,
        }
    }
}

impl Boundaries {
    /// Finds all complete cases in the window.
    pub fn read(&mut self, lines: &mut Lines, missing_cases_max: u64, found: &mut Found) {
        // The index of the block's puzzle among those found in this window, once it is there.
        let mut puzzle = None;
        while !found.is_full() {
            let step = match self.stage {
                Stage::Count => self.count(lines, found),
                Stage::Puzzle => {
                    puzzle = None;
                    self.puzzle_row(lines, missing_cases_max, found)
                }
                Stage::Solution => self.solution(lines, missing_cases_max, &mut puzzle, found),
                Stage::SkipRows => self.skip_row(lines, missing_cases_max, found),
                Stage::SkipToCount => self.skip_to_count(lines),
            };
            if let Step::Stop = step {
                return;
            }
        }
    }

    /// The number of solutions, or a blank line before it.
    fn count(&mut self, lines: &mut Lines, found: &mut Found) -> Step {
        if !lines.skip_bom() {
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
        match count(content) {
            Some((left, length)) if left > 0 && !(self.after_block && length == 9) => {
                *self = Boundaries { stage: Stage::Puzzle, left, ..Boundaries::default() };
            }
            _ if is_blank(content) => {}
            count => {
                let zero = matches!(count, Some((0, 1..=8)));
                let trailing = self.after_block && !zero;
                let why = not_a_count(content, lines.line, trailing);
                lines.push_unreadable(found, line.next, true, why);
                self.stage = Stage::SkipToCount;
            }
        }
        lines.advance(line.next, 1);
        Step::Continue
    }

    /// A row of the puzzle, or all rows of a regular one.
    fn puzzle_row(&mut self, lines: &mut Lines, missing_max: u64, found: &mut Found) -> Step {
        if self.rows == 0
            && !self.inside_line
            && let Some((bytes, givens)) = read_regular_givens(&lines.window[lines.at..])
        {
            lines.advance(lines.at + bytes, 9);
            (self.givens, self.stage) = (givens, Stage::Solution);
            return Step::Continue;
        }
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
        } else {
            let cells = &mut self.givens[usize::from(self.rows) * 9..][..9];
            let row = match lines.fetch(lines.at, lines.at) {
                Fetched::More => return Step::Stop,
                Fetched::End => return self.missing(lines, lines.at, 0, missing_max, found),
                Fetched::Long => {
                    self.inside_line = true;
                    self.bad_puzzle.get_or_insert(long_puzzle_row(lines));
                    return Step::Continue;
                }
                Fetched::Line(line) => {
                    let row = read_givens(lines.content(line), lines.line, cells);
                    lines.advance(line.next, 1);
                    row
                }
            };
            if let Err(why) = row {
                self.bad_puzzle.get_or_insert(why);
            }
        }
        self.rows += 1;
        if self.rows == 9 {
            (self.rows, self.stage) = (0, Stage::Solution);
        }
        Step::Continue
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
            self.push_solutions(lines, rows, bytes, puzzle, found);
            return Step::Continue;
        }
        let mut at = lines.at;
        for row in 0..9 {
            let is_near = at + 9 <= lines.at + lines.case_bytes_max;
            if is_near && has_line::<10>(&lines.window[at..]) {
                at += 10;
                continue;
            }
            match lines.fetch(at, lines.at) {
                Fetched::Line(Line { next, .. }) => at = next,
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
        self.push_solutions(lines, Rows::Any, at - lines.at, puzzle, found);
        Step::Continue
    }

    /// Appends a solution of `bytes` bytes, and the regular ones of the same layout behind it.
    fn push_solutions(
        &mut self,
        lines: &mut Lines,
        rows: Rows,
        bytes: usize,
        puzzle: &mut Option<usize>,
        found: &mut Found,
    ) {
        let text = match &self.bad_puzzle {
            Some(why) => CaseText::Unreadable(Box::new(why.clone())),
            None => CaseText::Classic {
                puzzle: *puzzle.get_or_insert_with(|| {
                    found.puzzles.push(Puzzle { givens: self.givens });
                    found.puzzles.len() - 1
                }),
            },
        };
        let most = found.room().min(self.left as usize);
        let behind = &lines.window[lines.at + bytes..];
        let solutions = 1 + regular_solutions(behind, rows, most.saturating_sub(1));
        let (first, line, last) = (lines.at, lines.line, self.left as usize - 1);
        found.cases.extend((0..solutions).map(|i| {
            let start = first + i * bytes;
            let (end, line, text) = (start + bytes, line + 9 * i as u64, text.clone());
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

    /// Skips a line, unless it is a number of solutions.
    fn skip_to_count(&mut self, lines: &mut Lines) -> Step {
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
            return Step::Continue;
        }
        if !lines.skip_bom() {
            return Step::Stop;
        }
        match lines.fetch(lines.at, lines.at) {
            Fetched::More | Fetched::End => return Step::Stop,
            Fetched::Long => self.inside_line = true,
            Fetched::Line(line) => match count(lines.content(line)) {
                // Nine digits are a row of a solution rather than a number of solutions.
                Some((1.., 1..=8)) => self.stage = Stage::Count,
                _ => lines.advance(line.next, 1),
            },
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
            let message = match missing - listed {
                more @ 1.. if number == listed => format!(
                    "expected {missing} more solutions of the block, found the end of the file; \
                     the first {listed} of them are listed, {more} are not"
                ),
                _ if missing == 1 => {
                    "expected one more solution of the block, found the end of the file".into()
                }
                _ => format!(
                    "expected {missing} more solutions of the block, found the end of the file"
                ),
            };
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

fn long_puzzle_row(lines: &Lines) -> Unreadable {
    Unreadable {
        code: UnreadableCode::BadGiven,
        line: lines.line,
        column: 10,
        message: format!(
            "expected a puzzle row of nine of `1`-`9`, `*`, `.` and `0`, found more than {} bytes",
            lines.case_bytes_max
        )
        .into(),
    }
}

/// Why a line is not a number of solutions, before the first block or behind a block (`trailing`).
fn not_a_count(content: &[u8], line: u64, trailing: bool) -> Unreadable {
    let found = Quoted(content);
    let (code, message) = if trailing {
        let message = format!(
            "expected the number of solutions of a further block, or the end of the file, found \
             {found}"
        );
        (UnreadableCode::TrailingData, message)
    } else {
        let message =
            format!("expected the number of solutions, from 1 to 999999999, found {found}");
        (UnreadableCode::BadCount, message)
    };
    Unreadable { code, line, column: 1, message: message.into() }
}
