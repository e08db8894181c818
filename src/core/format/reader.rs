//! Finds complete cases in a stream, window by window.

use super::bare::{self, BareGrid, Layout};
use super::lines::{Fetched, Lines, Step, is_blank};
use super::quote::Quoted;
use super::{Found, Limits, classic, detect, hexudoku, killer};
use crate::Kind;
use crate::board::{Unreadable, UnreadableCode};
use alloc::format;
use alloc::string::String;

/// The lowest limit on the bytes of a case.
const CASE_BYTES_MIN: usize = 1024;

/// The highest limit on the bytes of a case: no window is that long, and sums of indices into one
/// do not overflow.
const CASE_BYTES_MAX: usize = usize::MAX / 4;

/// How many bytes a window needs beside the longest case: for a byte-order mark before it, its line
/// end, and the lookahead.
const WINDOW_BYTES_EXTRA: usize = 16 + LOOKAHEAD_BYTES;

/// How many bytes are looked at behind a line, at most.
const LOOKAHEAD_BYTES: usize = if killer::LOOKAHEAD_BYTES > bare::BYTES_MAX {
    killer::LOOKAHEAD_BYTES
} else {
    bare::BYTES_MAX
};

/// Finds complete cases in a stream of bytes.
///
/// The caller passes a window of the stream, gets the cases in it and the number of bytes consumed,
/// and passes the rest again with more bytes appended. The cases do not depend on where windows
/// begin and end.
///
/// ```
/// use gridmark_core::format::{Found, Limits, Reader};
///
/// let boards = format!("{}\n", "----------------\n".repeat(16)).repeat(2);
/// let mut reader = Reader::new(None, Limits::default());
/// let mut found = Found::default();
/// assert_eq!(reader.read(boards.as_bytes(), true, &mut found), boards.len());
/// assert_eq!(found.cases.len(), 2);
/// assert_eq!(found.cases[1].line, 18);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reader {
    pub(super) forced: Option<Kind>,
    pub(super) limits: Limits,
    pub(super) offset: u64,
    pub(super) line: u64,
    pub(super) stage: Stage,
}

/// What is known of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing but blank lines so far.
    Start,
    Killer(killer::Boundaries),
    Classic(classic::Boundaries),
    Hexudoku(hexudoku::Boundaries),
    /// Nothing that is read; the case that says so is found.
    Unknown,
    /// Nothing but blank lines; the case that says so is found.
    Empty,
}

impl Reader {
    /// A reader for the start of a file. `forced` is its kind, regardless of the first line; with
    /// `None` the first line that is not blank decides.
    pub fn new(forced: Option<Kind>, limits: Limits) -> Reader {
        let limits = Limits {
            case_bytes_max: limits.case_bytes_max.clamp(CASE_BYTES_MIN, CASE_BYTES_MAX),
            missing_cases_max: limits.missing_cases_max.max(1),
        };
        Reader { forced, limits, offset: 0, line: 1, stage: Stage::Start }
    }

    /// The least number of bytes in a window of which [`read`](Reader::read) is sure to consume a
    /// part.
    pub fn window_bytes_min(&self) -> usize {
        self.limits.case_bytes_max + WINDOW_BYTES_EXTRA
    }

    /// Bytes consumed so far, in all windows.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the file ended and held nothing but blank lines, which makes one unreadable case.
    pub fn is_empty(&self) -> bool {
        self.stage == Stage::Empty
    }

    /// The kind of the file: `None` until it is known, and for a file of unknown format.
    pub fn kind(&self) -> Option<Kind> {
        match &self.stage {
            Stage::Start => None,
            Stage::Unknown | Stage::Empty => self.forced,
            Stage::Killer(_) => Some(Kind::Killer),
            Stage::Classic(_) => Some(Kind::Classic),
            Stage::Hexudoku(_) => Some(Kind::Hexudoku),
        }
    }

    /// Reads `window` from its start, appends its complete cases to `found`, with ranges that index
    /// into `window`, and returns how many bytes are consumed.
    ///
    /// `end` says that nothing follows the window: then all of it is consumed, and what is missing
    /// becomes unreadable cases. Otherwise the caller passes the rest again with more bytes
    /// appended; of a window of [`window_bytes_min`](Reader::window_bytes_min) bytes a part is
    /// always consumed. Where [`Found::capped`] is set, the rest holds more cases as it is.
    ///
    /// Hostile input may hold a case in every three bytes, and then `found` takes some twenty times
    /// the memory of the window; [`Found::cases_max`] bounds it.
    pub fn read(&mut self, window: &[u8], end: bool, found: &mut Found) -> usize {
        let mut lines = Lines {
            window,
            end,
            case_bytes_max: self.limits.case_bytes_max,
            at: 0,
            line: self.line,
        };
        while !found.is_full() {
            let step = match &mut self.stage {
                Stage::Start => {
                    let is_start = self.offset == 0 && lines.at == 0;
                    start(self.forced, is_start, &mut self.stage, &mut lines, found)
                }
                Stage::Killer(boundaries) => boundaries.step(&mut lines, found),
                Stage::Hexudoku(boundaries) => boundaries.step(&mut lines, found),
                Stage::Classic(boundaries) => {
                    boundaries.read(&mut lines, self.limits.missing_cases_max, found);
                    Step::Stop
                }
                Stage::Unknown | Stage::Empty => {
                    lines.at = window.len();
                    Step::Stop
                }
            };
            if let Step::Stop = step {
                break;
            }
        }
        self.line = lines.line;
        self.offset += lines.at as u64;
        lines.at
    }
}

/// Skips blank lines, and determines the kind by the first line that is not blank. `is_start` says that
/// nothing of the file is consumed yet.
fn start(
    forced: Option<Kind>,
    is_start: bool,
    stage: &mut Stage,
    lines: &mut Lines,
    found: &mut Found,
) -> Step {
    if is_start {
        match detect::encoding(lines.window, lines.end) {
            None => return Step::Stop,
            Some(Err(name)) => {
                let message = format!(
                    "expected text in UTF-8 or ASCII, found {name}; save it as UTF-8 and hand it in \
                     again"
                );
                lines.push_unreadable(found, lines.at, true, unknown(1, message));
                *stage = Stage::Unknown;
                return Step::Continue;
            }
            Some(Ok(())) => {}
        }
    }
    if !lines.skip_marks() {
        return Step::Stop;
    }
    let line = match lines.fetch(lines.at, lines.at) {
        Fetched::More => return Step::Stop,
        Fetched::End => {
            let code = match forced {
                Some(_) => UnreadableCode::Truncated,
                None => UnreadableCode::UnknownFormat,
            };
            let message = "the file is empty".into();
            lines.push_unreadable(
                found,
                lines.at,
                true,
                Unreadable { code, line: 1, column: 1, message },
            );
            *stage = Stage::Empty;
            return Step::Stop;
        }
        Fetched::Line(line) if is_blank(lines.content(line)) => {
            lines.advance(line.next, 1);
            return Step::Continue;
        }
        Fetched::Line(line) => Some(line),
        Fetched::Long => None,
    };
    let content = match line {
        Some(line) => lines.content(line),
        None => &lines.window[lines.at..][..lines.case_bytes_max],
    };
    if forced != Some(Kind::Hexudoku) && line.is_some() && bare::may_begin(content) {
        let rest = &lines.window[lines.at..];
        // Two more bytes, for a line end of three bytes right at the limit.
        if !lines.end && rest.len() < bare::BYTES_MAX + 2 {
            return Step::Stop;
        }
        if let Some(grid) = bare::recognise(rest) {
            bare_grid(forced, &grid, stage, lines, found);
            return Step::Continue;
        }
    }
    match forced.or_else(|| line.and_then(|_| detect::kind_by_line(content))) {
        Some(Kind::Killer) => *stage = Stage::Killer(killer::Boundaries::default()),
        Some(Kind::Classic) => *stage = Stage::Classic(classic::Boundaries::default()),
        Some(Kind::Hexudoku) => *stage = Stage::Hexudoku(hexudoku::Boundaries::default()),
        None => {
            let message = format!(
                "expected a killer drawing (`+---+...`), the number of solutions of a classic \
                 puzzle (1 to 99999999), or a hexudoku row of 16 of `0`-`9`, `A`-`F` and `-`, \
                 found {}",
                Quoted(content)
            );
            lines.push_unreadable(
                found,
                lines.at + content.len(),
                true,
                unknown(lines.line, message),
            );
            *stage = Stage::Unknown;
        }
    }
    Step::Continue
}

/// A grid by itself, at which a file begins. Where the kind is forced, cases of that kind may follow.
fn bare_grid(
    forced: Option<Kind>,
    grid: &BareGrid,
    stage: &mut Stage,
    lines: &mut Lines,
    found: &mut Found,
) {
    const CLASSIC: &str = "a line with the number of solutions (`1`), the nine rows of the puzzle (`.` \
                           for an open cell), and below them the nine rows of the solution";
    const KILLER: &str = "the drawing with its cages, and below it a line `row column total` for each \
                          cage";
    let what = match grid.layout {
        Layout::Line => "81 cells on a line",
        Layout::Rows => "nine rows of nine cells",
        Layout::Spaced | Layout::Framed => "a 9x9 grid",
    };
    let (missing, how) = match forced {
        Some(Kind::Killer) => ("cages", format!("write {KILLER}")),
        Some(_) => ("puzzle", format!("write {CLASSIC}")),
        None => ("puzzle", format!("for classic, write {CLASSIC}; for killer, {KILLER}")),
    };
    let why = Unreadable {
        code: UnreadableCode::BareGrid,
        line: lines.line,
        column: 1,
        message: format!("expected a grid with its {missing}, found {what} alone; {how}").into(),
    };
    let end = lines.at + grid.bytes;
    lines.push_unreadable(found, end, true, why);
    *stage = match forced {
        Some(Kind::Classic) => Stage::Classic(classic::Boundaries::skipping()),
        Some(Kind::Killer) => Stage::Killer(killer::Boundaries::skipping()),
        Some(Kind::Hexudoku) | None => Stage::Unknown,
    };
    lines.advance(end, grid.lines);
}

fn unknown(line: u64, message: String) -> Unreadable {
    Unreadable { code: UnreadableCode::UnknownFormat, line, column: 1, message: message.into() }
}
