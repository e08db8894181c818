//! Finds whole cases in a stream that is presented window by window.

use super::detect::kind_by_line;
use super::lines::{Fetched, Lines, Step, is_blank};
use super::quote::Quoted;
use super::{Found, Limits, classic, hexudoku, killer};
use crate::Kind;
use crate::board::{Unreadable, UnreadableCode};
use alloc::format;
use alloc::string::String;

/// A case may not be limited to less than this.
const CASE_BYTES_MIN: usize = 1024;

/// Nor to more: no window is as long, and indices into it can be added.
const CASE_BYTES_MAX: usize = usize::MAX / 4;

/// How many bytes beyond the longest case a window needs: for a byte-order mark before it, for its
/// line end, and for what comes next.
const WINDOW_BYTES_BESIDE: usize = 16 + killer::AHEAD_BYTES;

/// Finds whole cases in a stream of bytes.
///
/// The caller shows a window of the stream, is told what was found and how many bytes are done
/// with, and shows the rest again with more behind it. Where windows begin and end makes no
/// difference to what is found.
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

/// What the stream is known to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing but blank lines so far.
    Start,
    Killer(killer::Boundaries),
    Classic(classic::Boundaries),
    Hexudoku(hexudoku::Boundaries),
    /// None of the kinds; it has been told.
    Unknown,
    /// There was nothing but blank lines; it has been told.
    Empty,
}

impl Reader {
    /// A reader for the start of a file, whose kind may be forced.
    pub fn new(forced: Option<Kind>, limits: Limits) -> Reader {
        let limits = Limits {
            case_bytes_max: limits.case_bytes_max.clamp(CASE_BYTES_MIN, CASE_BYTES_MAX),
            missing_cases_max: limits.missing_cases_max.max(1),
        };
        Reader { forced, limits, offset: 0, line: 1, stage: Stage::Start }
    }

    /// How many bytes a window needs at least, so that [`read`](Reader::read) is sure to consume
    /// some of it.
    pub fn window_bytes_min(&self) -> usize {
        self.limits.case_bytes_max + WINDOW_BYTES_BESIDE
    }

    /// Bytes consumed so far, in all windows.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the file is at its end and has nothing but blank lines; that is its only case.
    pub fn is_empty(&self) -> bool {
        self.stage == Stage::Empty
    }

    /// The kind of the file: `None` until it is known, and for a file of unknown format.
    pub fn kind(&self) -> Option<Kind> {
        match &self.stage {
            Stage::Start | Stage::Unknown => None,
            Stage::Empty => self.forced,
            Stage::Killer(_) => Some(Kind::Killer),
            Stage::Classic(_) => Some(Kind::Classic),
            Stage::Hexudoku(_) => Some(Kind::Hexudoku),
        }
    }

    /// Consumes `window` from its start, appends the whole cases that it holds to `found`, with
    /// ranges that index into `window`, and returns how many bytes are done with.
    ///
    /// `end` says that nothing follows the window: then all of it is consumed, and what is missing
    /// is told. Otherwise the caller shows the rest again with more behind it; a window of
    /// [`window_bytes_min`](Reader::window_bytes_min) bytes is always consumed in part. Where
    /// [`Found::capped`] says so, there is more to be found in the rest as it is.
    ///
    /// A window of hostile bytes may hold a case in every third of them, so that what is found
    /// takes some twenty times the memory of the window; [`Found::cases_max`] bounds it.
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
                Stage::Start => start(self.forced, &mut self.stage, &mut lines, found),
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

/// Passes over blank lines and finds out the kind by the first line that is not blank.
fn start(forced: Option<Kind>, stage: &mut Stage, lines: &mut Lines, found: &mut Found) -> Step {
    if !lines.skip_bom() {
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
            lines.tell(found, lines.at, true, Unreadable { code, line: 1, column: 1, message });
            *stage = Stage::Empty;
            return Step::Stop;
        }
        Fetched::Line(line) if is_blank(lines.content(line)) => {
            lines.advance(line.next, 1);
            return Step::On;
        }
        Fetched::Line(line) => Some(line),
        Fetched::Long => None,
    };
    let content = match line {
        Some(line) => lines.content(line),
        None => &lines.window[lines.at..][..lines.case_bytes_max],
    };
    match forced.or_else(|| line.and_then(|_| kind_by_line(content))) {
        Some(Kind::Killer) => *stage = Stage::Killer(killer::Boundaries::default()),
        Some(Kind::Classic) => *stage = Stage::Classic(classic::Boundaries::default()),
        Some(Kind::Hexudoku) => *stage = Stage::Hexudoku(hexudoku::Boundaries::default()),
        None => {
            let message = format!(
                "expected a killer drawing (`+---+...`), the number of solutions of a classic \
                 puzzle, or a hexudoku row of 16 of `0`-`9`, `A`-`F` and `-`, found {}",
                Quoted(content)
            );
            lines.tell(found, lines.at + content.len(), true, unknown(lines.line, message));
            *stage = Stage::Unknown;
        }
    }
    Step::On
}

fn unknown(line: u64, message: String) -> Unreadable {
    Unreadable { code: UnreadableCode::UnknownFormat, line, column: 1, message: message.into() }
}
