//! Why something is no puzzle.

use crate::board::{Cell, House};
use core::fmt;

/// Why something is no [`Puzzle`](super::Puzzle), or no [`Cage`](super::Cage) of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// There are too few or too many cells.
    CellCount {
        /// How many the board has.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A given that is no digit.
    Given {
        /// The cell.
        cell: Cell,
        /// The number that is given.
        given: u8,
        /// How many digits there are.
        digits: usize,
    },
    /// A cage without cells.
    EmptyCage,
    /// A cell that the board does not have.
    NoSuchCell,
    /// A cell that is listed twice in one cage.
    CellTwice(Cell),
    /// A cell in two cages.
    Overlap {
        /// The cell.
        cell: Cell,
        /// The first cells of the cages.
        cages: [Cell; 2],
    },
    /// A 16x16 puzzle with cages.
    CagesOnSixteen,
    /// Lazy Larry's task for a 9x9 puzzle.
    LarryOnNine,
    /// Lazy Larry's task for a puzzle with keys or marked cells.
    LarryWithKeys,
    /// A key with a cell that holds no digit.
    KeyCell {
        /// The cell.
        cell: Cell,
    },
    /// A key that differs from a given.
    KeyChangesGiven {
        /// The cell.
        cell: Cell,
    },
    /// A key with a digit twice in a house.
    KeyRepeats {
        /// The first cell whose digit occurs earlier in the house.
        cell: Cell,
        /// The house.
        house: House,
    },
    /// A key with a digit twice in a cage.
    KeyRepeatsInCage {
        /// The first cell whose digit occurs earlier in the cage.
        cell: Cell,
        /// The first cell of the cage.
        cage: Cell,
    },
    /// A key in which a cage has another sum than its total.
    KeySum {
        /// The first cell of the cage.
        cage: Cell,
        /// The sum in the key.
        sum: u32,
        /// The total of the puzzle.
        total: u32,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::CellCount { expected, found } => {
                write!(f, "expected {expected} cells, found {found}")
            }
            Invalid::Given { cell, given, digits } => {
                write!(f, "{cell} is given as {given}, which is no digit from 1 to {digits}")
            }
            Invalid::EmptyCage => f.write_str("a cage has no cells"),
            Invalid::NoSuchCell => f.write_str("a cell is not on the board"),
            Invalid::CellTwice(cell) => write!(f, "{cell} is listed twice in one cage"),
            Invalid::Overlap { cell, cages: [one, other] } => {
                write!(f, "{cell} is in two cages, those at {one} and {other}")
            }
            Invalid::CagesOnSixteen => f.write_str("cages are for 9x9 puzzles, this one is 16x16"),
            Invalid::LarryOnNine => {
                f.write_str("the task `larry` is for 16x16 puzzles, this one is 9x9")
            }
            Invalid::LarryWithKeys => {
                f.write_str("a puzzle of the task `larry` has neither solutions nor marked cells")
            }
            Invalid::KeyCell { cell } => write!(f, "the solution has no digit at {cell}"),
            Invalid::KeyChangesGiven { cell } => {
                write!(f, "the solution differs from the given at {cell}")
            }
            Invalid::KeyRepeats { cell, house } => {
                write!(f, "the solution repeats the digit at {cell} in {house}")
            }
            Invalid::KeyRepeatsInCage { cell, cage } => {
                write!(f, "the solution repeats the digit at {cell} in the cage at {cage}")
            }
            Invalid::KeySum { cage, sum, total } => {
                write!(f, "in the solution the cage at {cage} adds up to {sum}, not {total}")
            }
        }
    }
}

impl core::error::Error for Invalid {}
