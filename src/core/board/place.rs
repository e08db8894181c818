//! Kinds, cells and houses.

use core::fmt::{self, Write};
use core::str::FromStr;

/// The three kinds of puzzle that gridmark grades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Killer sudoku: a drawing of a completed grid with cages, and a total for each cage.
    Killer,
    /// Classic sudoku: a puzzle, and solutions that are checked against it.
    Classic,
    /// Hexudoku: a 16 by 16 board on which Lazy Larry fills what he can.
    Hexudoku,
}

impl Kind {
    /// All kinds, in the order in which they are listed to people.
    pub const ALL: [Kind; 3] = [Kind::Killer, Kind::Classic, Kind::Hexudoku];

    /// The word for this kind, as it stands in reports, on the command line and in file extensions.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Killer => "killer",
            Kind::Classic => "classic",
            Kind::Hexudoku => "hexudoku",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// The word is none of `killer`, `classic` and `hexudoku`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of killer, classic and hexudoku")
    }
}

impl core::error::Error for UnknownKind {}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        Kind::ALL.into_iter().find(|kind| kind.word() == word).ok_or(UnknownKind)
    }
}

/// A cell of a board, by row and column.
///
/// Rows and columns are counted from 0 here and from 1 wherever a person reads them.
///
/// ```
/// use gridmark_core::board::Cell;
/// assert_eq!(Cell { row: 2, column: 4 }.to_string(), "r3c5");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// The row, from 0.
    pub row: u8,
    /// The column, from 0.
    pub column: u8,
}

impl Cell {
    /// The cell at `index` in reading order on a board whose rows have nine cells.
    pub const fn of_9(index: usize) -> Cell {
        Cell { row: (index / 9) as u8, column: (index % 9) as u8 }
    }

    /// The place of this cell in reading order on a board whose rows have nine cells.
    pub const fn index_9(self) -> usize {
        self.row as usize * 9 + self.column as usize
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('r')?;
        write_number(self.row, f)?;
        f.write_char('c')?;
        write_number(self.column, f)
    }
}

/// A row, a column or a box; each is counted from 0, boxes in reading order.
///
/// The derived order is the order in which faults are told: rows, then columns, then boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum House {
    /// The row with this number.
    Row(u8),
    /// The column with this number.
    Column(u8),
    /// The box with this number.
    Box(u8),
}

impl House {
    /// The 27 houses of a nine-digit grid: rows, columns, boxes.
    pub fn all_9() -> impl Iterator<Item = House> {
        (0..9).map(House::Row).chain((0..9).map(House::Column)).chain((0..9).map(House::Box))
    }

    /// The nine cells of this house on a nine-digit grid, as indices in reading order.
    pub fn cells_9(self) -> [usize; 9] {
        core::array::from_fn(|i| match self {
            House::Row(row) => usize::from(row) * 9 + i,
            House::Column(column) => i * 9 + usize::from(column),
            House::Box(number) => {
                let (top, left) = (usize::from(number) / 3 * 3, usize::from(number) % 3 * 3);
                (top + i / 3) * 9 + left + i % 3
            }
        })
    }
}

impl fmt::Display for House {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, number) = match self {
            House::Row(number) => ("row", number),
            House::Column(number) => ("column", number),
            House::Box(number) => ("box", number),
        };
        f.write_str(word)?;
        f.write_char(' ')?;
        write_number(*number, f)
    }
}

/// Writes a number that is counted from 0 as people count.
fn write_number(number: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match number {
        // Nearly all are such, and there are many of them.
        0..=8 => f.write_char(char::from(b'1' + number)),
        _ => write!(f, "{}", u32::from(number) + 1),
    }
}
