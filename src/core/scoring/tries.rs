//! Tries: what an entrant handed in for a puzzle, and whether it stands.

use super::clock::InTime;
use core::fmt;

/// One try of an entrant for a puzzle. Tries are numbered by their place among all files of that entrant for
/// that puzzle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Try {
    /// When it was handed in, in milliseconds since 1970, by a ruling if there is one. `None` if nobody knows,
    /// as on a sheet of times with no entry.
    pub at_ms: Option<i64>,
    /// If that time is in doubt: the latest that it can have been.
    pub latest_ms: Option<i64>,
    /// What it was marked, by a ruling if there is one.
    pub mark: TryMark,
    /// Tries with the same number here have the same bytes.
    pub bytes: u64,
    /// Whether a ruling accepts or refuses it, however late it is.
    pub ruled: Option<LateRuling>,
}

/// What a try was marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryMark {
    /// Nothing yet.
    Pending,
    /// It could not be graded, by a failure of the service.
    Failed,
    /// It could not be read.
    Unreadable,
    /// It is for another puzzle.
    Foreign,
    /// It was judged against the puzzle.
    Judged(Judged),
}

/// A try that was judged against its puzzle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Whether it is correct.
    pub correct: bool,
    /// How many cells are to be filled.
    pub cells: u32,
    /// How many of them are blank.
    pub blank_cells: u32,
    /// How many are filled and wrong, if there is a solution to compare with.
    pub wrong_cells: Option<u32>,
    /// How many rows, columns and boxes are right, if there is a solution to compare with.
    pub right_houses: Option<[u32; 3]>,
    /// How many rows there are, and so columns and boxes.
    pub side: u32,
}

/// A ruling about a try that is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LateRuling {
    /// It counts as in time.
    Accept,
    /// It does not count.
    Refuse,
}

/// Whether a try stands: only such a one can count, or cost anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It does.
    Stands,
    /// It is not marked yet.
    Pending,
    /// It could not be graded, by a failure of the service.
    Failed,
    /// It could not be read.
    Unreadable,
    /// It is for another puzzle.
    Foreign,
    /// Nothing is filled in.
    Blank,
    /// It has the same bytes as this try, from 0, which stands.
    SameBytes(usize),
    /// It came before the start.
    Early,
    /// It came too late.
    Late,
    /// A ruling refuses it.
    Refused,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Standing::Stands => f.write_str("it stands"),
            Standing::Pending => f.write_str("it is not marked yet"),
            Standing::Failed => {
                f.write_str("it could not be graded, which is no fault of the entrant")
            }
            Standing::Unreadable => f.write_str("it could not be read, which costs nothing"),
            Standing::Foreign => f.write_str("it is for another puzzle, which costs nothing"),
            Standing::Blank => f.write_str("nothing is filled in, which costs nothing"),
            Standing::SameBytes(first) => {
                write!(f, "it is the same as try {}, which costs nothing", first + 1)
            }
            Standing::Early => f.write_str("it came before the start"),
            Standing::Late => f.write_str("it came too late"),
            Standing::Refused => f.write_str("a ruling refuses it"),
        }
    }
}

impl Judged {
    /// A try that is correct in all `cells` cells, which are in `side` rows.
    pub const fn correct(cells: u32, side: u32) -> Judged {
        Judged {
            correct: true,
            cells,
            blank_cells: 0,
            wrong_cells: Some(0),
            right_houses: Some([side; 3]),
            side,
        }
    }

    /// Cells that are not right, if there is a solution to compare with.
    pub fn faulty_cells(&self) -> Option<u32> {
        self.wrong_cells.map(|wrong| wrong.saturating_add(self.blank_cells))
    }
}

impl Try {
    /// Whether nothing is filled in.
    fn is_blank(&self) -> bool {
        matches!(self.mark, TryMark::Judged(judged)
            if !judged.correct && judged.cells > 0 && judged.blank_cells >= judged.cells)
    }

    /// Whether it stands, apart from other tries with the same bytes.
    pub(super) fn standing(&self, in_time: InTime, accepts_late: bool) -> Standing {
        match (self.mark, self.ruled) {
            (_, Some(LateRuling::Refuse)) => Standing::Refused,
            (TryMark::Pending, _) => Standing::Pending,
            (TryMark::Failed, _) => Standing::Failed,
            (TryMark::Unreadable, _) => Standing::Unreadable,
            (TryMark::Foreign, _) => Standing::Foreign,
            (TryMark::Judged(_), _) if self.is_blank() => Standing::Blank,
            (TryMark::Judged(_), Some(LateRuling::Accept)) => Standing::Stands,
            (TryMark::Judged(_), None) => match in_time {
                InTime::Early => Standing::Early,
                InTime::Late if !accepts_late => Standing::Late,
                InTime::Late | InTime::Yes | InTime::Grace | InTime::Unknown => Standing::Stands,
            },
        }
    }
}
