//! Where blocks and their solutions begin and end.

use super::{count, plain_rows, plain_solutions, read_givens, read_plain_givens};
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
    /// Whether the line that is passed over has begun already.
    pub inside_line: bool,
    /// Solutions of the block that have not been told yet.
    pub left: u32,
    /// Rows of the puzzle that have been read, or rows of a solution that are to be passed over.
    pub rows: u8,
    /// The puzzle, as far as it has been read.
    pub givens: Grid,
    /// Why the puzzle cannot be read, if so.
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
    /// A row of a solution that was too large.
    SkipRows,
    /// Nothing that can be read, up to the next number of solutions.
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
    /// Reads on to the end of the window, or as far as it is whole.
    pub fn read(&mut self, lines: &mut Lines, missing_cases_max: u64, found: &mut Found) {
        // Puzzles found in windows before this one are not the business of this one.
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
                lines.tell_too_large(found, lines.at, 0, true);
                self.stage = Stage::SkipToCount;
                return Step::On;
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
                let why = no_count(content, lines.line, trailing);
                lines.tell(found, line.next, true, why);
                self.stage = Stage::SkipToCount;
            }
        }
        lines.advance(line.next, 1);
        Step::On
    }

    /// A row of the puzzle, or all rows of one that is as nearly all are.
    fn puzzle_row(&mut self, lines: &mut Lines, missing_max: u64, found: &mut Found) -> Step {
        if self.rows == 0
            && !self.inside_line
            && let Some((bytes, givens)) = read_plain_givens(&lines.window[lines.at..])
        {
            lines.advance(lines.at + bytes, 9);
            (self.givens, self.stage) = (givens, Stage::Solution);
            return Step::On;
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
                    return Step::On;
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
        Step::On
    }

    /// A solution.
    fn solution(
        &mut self,
        lines: &mut Lines,
        missing_max: u64,
        puzzle: &mut Option<usize>,
        found: &mut Found,
    ) -> Step {
        if let Some((rows, bytes)) = plain_rows(&lines.window[lines.at..]) {
            self.tell(lines, rows, bytes, puzzle, found);
            return Step::On;
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
                    lines.tell_too_large(found, at, row, self.left == 1);
                    lines.advance(at, row);
                    (self.rows, self.stage) = (9 - row as u8, Stage::SkipRows);
                    return Step::On;
                }
            }
        }
        self.tell(lines, Rows::Any, at - lines.at, puzzle, found);
        Step::On
    }

    /// Tells a solution of so many bytes, and plain ones that lie behind it in the same way.
    fn tell(
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
        let solutions = 1 + plain_solutions(behind, rows, most.saturating_sub(1));
        let (first, line, last) = (lines.at, lines.line, self.left as usize - 1);
        found.cases.extend((0..solutions).map(|i| {
            let start = first + i * bytes;
            let (end, line, text) = (start + bytes, line + 9 * i as u64, text.clone());
            Case { start, end, line, block_end: i == last, rows, text }
        }));
        lines.advance(first + solutions * bytes, 9 * solutions as u64);
        self.after_solutions(solutions as u32);
    }

    /// Counts solutions as told.
    fn after_solutions(&mut self, solutions: u32) {
        self.left -= solutions;
        self.stage = if self.left > 0 { Stage::Solution } else { Stage::Count };
        self.after_block = true;
    }

    /// Passes over a row of a solution that was too large.
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
                    return Step::On;
                }
                Fetched::End => {
                    // The solution itself has been told already.
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
        Step::On
    }

    /// Passes over a line, unless it tells a number of solutions.
    fn skip_to_count(&mut self, lines: &mut Lines) -> Step {
        if self.inside_line {
            if !lines.skip_rest() {
                return Step::Stop;
            }
            self.inside_line = false;
            return Step::On;
        }
        if !lines.skip_bom() {
            return Step::Stop;
        }
        match lines.fetch(lines.at, lines.at) {
            Fetched::More | Fetched::End => return Step::Stop,
            Fetched::Long => self.inside_line = true,
            Fetched::Line(line) => match count(lines.content(line)) {
                // Nine digits are a row of some solution rather than a number of them.
                Some((1.., 1..=8)) => self.stage = Stage::Count,
                _ => lines.advance(line.next, 1),
            },
        }
        Step::On
    }

    /// Tells the solutions that are missing because the file ends, at `end`, which is `lines_read`
    /// lines from here. The first of them may have been there in part.
    fn missing(
        &mut self,
        lines: &mut Lines,
        end: usize,
        lines_read: u64,
        missing_max: u64,
        found: &mut Found,
    ) -> Step {
        let missing = u64::from(self.left);
        let told = missing.min(missing_max);
        let line = lines.line + lines_read;
        for number in 1..=told {
            let message = match missing - told {
                more @ 1.. if number == told => format!(
                    "expected {missing} more solutions of the block, found the end of the file; \
                     {more} more are missing beside the {told} that are told"
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
            lines.tell(found, end, number == told, why);
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

/// Why a line is no number of solutions, before the first block or behind (`trailing`) one.
fn no_count(content: &[u8], line: u64, trailing: bool) -> Unreadable {
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
