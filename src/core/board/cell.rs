//! Cells of a board.

use super::size::Size;
use core::fmt::{self, Write};

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

    /// The cell at `index` in reading order on a board of this size.
    ///
    /// ```
    /// use gridmark_core::board::{Cell, Size};
    /// assert_eq!(Cell::of(Size::Sixteen, 17).to_string(), "r2c2");
    /// ```
    pub const fn of(size: Size, index: usize) -> Cell {
        Cell { row: (index / size.side()) as u8, column: (index % size.side()) as u8 }
    }

    /// The place of this cell in reading order on a board of this size.
    pub const fn index(self, size: Size) -> usize {
        self.row as usize * size.side() + self.column as usize
    }

    /// Whether a board of this size has this cell.
    pub const fn is_on(self, size: Size) -> bool {
        (self.row as usize) < size.side() && (self.column as usize) < size.side()
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

/// Writes a number that is counted from 0 as people count, from 1.
pub(super) fn write_number(number: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match number {
        // The usual case, and a frequent one.
        0..=8 => f.write_char(char::from(b'1' + number)),
        _ => write!(f, "{}", u32::from(number) + 1),
    }
}
