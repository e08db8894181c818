//! Marks: what a case gets.

use super::fault::{Fault, in_words};
use crate::Kind;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// How many faults are put in words; the rest are only counted.
const FAULTS_DESCRIBED_MAX: usize = 10;

/// What a case gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// All rules are kept (killer and classic).
    Correct,
    /// Some rule is broken (killer and classic): at least one fault, in the order of reports (see
    /// [`Fault`]).
    Wrong(Vec<Fault>),
    /// What Lazy Larry did (hexudoku).
    Counted(Counted),
    /// The case could not be read, so it was not judged.
    Unreadable(Box<Unreadable>),
}

/// What Lazy Larry did with a hexudoku board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Cells that he filled.
    pub filled: u16,
    /// Cells that stayed blank.
    pub blank: u16,
    /// Houses that hold some digit more than once before anything is filled.
    pub conflicts: u16,
}

/// The one word of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// All rules are kept.
    Correct,
    /// Some rule is broken.
    Wrong,
    /// The case could not be read.
    Unreadable,
    /// Lazy Larry's count, which is neither correct nor wrong.
    Counted,
}

impl Verdict {
    /// All verdicts, in the order of the columns of `submissions.csv`.
    pub const ALL: [Verdict; 4] =
        [Verdict::Correct, Verdict::Wrong, Verdict::Unreadable, Verdict::Counted];

    /// The word, as it stands in reports and metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Verdict::Correct => "correct",
            Verdict::Wrong => "wrong",
            Verdict::Unreadable => "unreadable",
            Verdict::Counted => "counted",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Why a case could not be read, and where.
///
/// ```
/// use gridmark_core::board::{Unreadable, UnreadableCode};
/// let why = Unreadable {
///     code: UnreadableCode::BadCount,
///     line: 4,
///     column: 1,
///     message: "expected the number of solutions, found `x`".into(),
/// };
/// assert_eq!(why.to_string(), "line 4, column 1: expected the number of solutions, found `x`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// What kind of mistake it is.
    pub code: UnreadableCode,
    /// The line in the file, from 1.
    pub line: u64,
    /// The column in that line, in bytes, from 1.
    pub column: u64,
    /// What was expected there and what was found, in plain English, without the place.
    pub message: Cow<'static, str>,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.message)
    }
}

/// The kinds of mistake that make a case unreadable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnreadableCode {
    /// The file is not of a known kind, or not in a known encoding.
    UnknownFormat,
    /// A 9x9 grid by itself, without its puzzle.
    BareGrid,
    /// A killer drawing with a wrong line.
    BadDiagram,
    /// A line below a killer drawing that is not the row, column and total of a cage.
    BadCageLine,
    /// A cage without a total.
    MissingCageTotal,
    /// A cage with two totals.
    SecondCageTotal,
    /// Something else where a number of solutions is expected.
    BadCount,
    /// A classic puzzle with anything but givens and open cells, or a row of wrong length.
    BadGiven,
    /// A hexudoku board with a character that is not allowed, or a row of wrong length.
    BadCharacter,
    /// The input ends too early.
    Truncated,
    /// Something follows a block that does not start another one.
    TrailingData,
    /// A line or case is larger than the setting allows.
    TooLarge,
}

impl UnreadableCode {
    /// The code, as it stands in the `fault` column.
    pub const fn code(self) -> &'static str {
        match self {
            UnreadableCode::UnknownFormat => "unknown-format",
            UnreadableCode::BareGrid => "bare-grid",
            UnreadableCode::BadDiagram => "bad-diagram",
            UnreadableCode::BadCageLine => "bad-cage-line",
            UnreadableCode::MissingCageTotal => "missing-cage-total",
            UnreadableCode::SecondCageTotal => "second-cage-total",
            UnreadableCode::BadCount => "bad-count",
            UnreadableCode::BadGiven => "bad-given",
            UnreadableCode::BadCharacter => "bad-character",
            UnreadableCode::Truncated => "truncated",
            UnreadableCode::TrailingData => "trailing-data",
            UnreadableCode::TooLarge => "too-large",
        }
    }
}

impl Mark {
    /// The one word of this mark.
    pub const fn verdict(&self) -> Verdict {
        match self {
            Mark::Correct => Verdict::Correct,
            Mark::Wrong(_) => Verdict::Wrong,
            Mark::Counted(_) => Verdict::Counted,
            Mark::Unreadable(_) => Verdict::Unreadable,
        }
    }

    /// The answer of the source problem for a case of this kind: `OK` or `NotOK`, `Y` or `N`, or
    /// the count. An unreadable case has the answer of a wrong one (`NotOK`, `N`, `0`), so that the
    /// answers of the others keep their places.
    ///
    /// ```
    /// use gridmark_core::{Kind, board::Mark};
    /// assert_eq!(Mark::Correct.answer(Kind::Killer), "OK");
    /// assert_eq!(Mark::Correct.answer(Kind::Classic), "Y");
    /// ```
    pub fn answer(&self, kind: Kind) -> Cow<'static, str> {
        match (kind, self) {
            (Kind::Killer, Mark::Correct) => "OK".into(),
            (Kind::Killer, _) => "NotOK".into(),
            (Kind::Classic, Mark::Correct) => "Y".into(),
            (Kind::Classic, _) => "N".into(),
            (Kind::Hexudoku, Mark::Counted(counted)) => counted.filled.to_string().into(),
            // A board that was to be completed has no number for an answer.
            (Kind::Hexudoku, Mark::Correct | Mark::Wrong(_)) => "".into(),
            (Kind::Hexudoku, Mark::Unreadable(_)) => "0".into(),
        }
    }

    /// The mark in plain English, as it stands in the `detail` column: the first ten faults and how
    /// many more there are, or why the case could not be read, or how many conflicts a hexudoku
    /// board starts with; empty otherwise.
    pub fn detail(&self) -> String {
        match self {
            Mark::Correct => String::new(),
            Mark::Wrong(faults) => describe(faults),
            Mark::Counted(Counted { conflicts: 0, .. }) => String::new(),
            Mark::Counted(Counted { conflicts: 1, .. }) => {
                "the board starts with 1 conflict".into()
            }
            Mark::Counted(Counted { conflicts, .. }) => {
                format!("the board starts with {conflicts} conflicts")
            }
            Mark::Unreadable(why) => why.to_string(),
        }
    }
}

fn describe(faults: &[Fault]) -> String {
    /// About how many bytes the description of a fault has.
    const FAULT_BYTES: usize = 48;
    let mut text =
        String::with_capacity((faults.len().min(FAULTS_DESCRIBED_MAX) + 1) * FAULT_BYTES);
    let mut described = 0;
    for (i, sentence) in in_words(faults).take(FAULTS_DESCRIBED_MAX).enumerate() {
        text.push_str(if i == 0 { "" } else { "; " });
        // Writing to memory cannot fail.
        let _ = write!(text, "{sentence}");
        described += sentence.faults;
    }
    if faults.len() > described {
        let _ = write!(text, "; and {} more", faults.len() - described);
    }
    text
}
