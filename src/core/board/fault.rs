//! Faults: broken rules, each with its place and its words.

use super::cell::Cell;
use super::house::House;
use core::fmt;

/// One broken rule of a case, with its place.
///
/// Lists of faults are in the order of reports: by code in the order of the variants here, and
/// within a code by place in reading order (cages by their first cell).
///
/// ```
/// use gridmark_core::board::{Cell, Fault};
/// let fault = Fault::NotADigit { cell: Cell { row: 1, column: 4 }, found: b'x' };
/// assert_eq!(fault.code(), "not-a-digit");
/// assert_eq!(fault.at().to_string(), "r2c5");
/// assert_eq!(fault.to_string(), "r2c5 holds x, not a digit");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A cell that holds anything but `1` to `9`.
    NotADigit {
        /// The cell.
        cell: Cell,
        /// The byte in the cell.
        found: u8,
    },
    /// A row with more than nine cells.
    RowLength {
        /// The row, from 0.
        row: u8,
        /// How many bytes the row has, trailing blanks not counted.
        length: usize,
    },
    /// A cell that holds another digit than its given.
    GivenChanged {
        /// The cell.
        cell: Cell,
        /// The digit of the puzzle, as text.
        given: u8,
        /// The digit of the solution, as text.
        found: u8,
    },
    /// A house that holds some digit more than once.
    HouseRepeat {
        /// The house.
        house: House,
        /// The first cell whose digit occurs earlier in that house.
        at: Cell,
        /// How often it holds each digit.
        repeats: Repeats,
    },
    /// A cage that holds some digit more than once.
    CageRepeat {
        /// Which cage.
        cage: CageFault,
        /// The first cell whose digit occurs earlier in that cage.
        at: Cell,
        /// How often it holds each digit.
        repeats: Repeats,
    },
    /// A cage whose digits do not add up to its total.
    CageSum {
        /// Which cage.
        cage: CageFault,
        /// The sum of its digits.
        sum: u32,
        /// The sum that they should have.
        total: u32,
    },
}

/// The two cells that identify a cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CageFault {
    /// Its first cell in reading order, which decides the order of faults.
    pub first: Cell,
    /// The cell that names it in the line with its total, by which people find that line.
    pub named: Cell,
}

/// How often a house or cage holds each digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// Occurrences by digit: `counts[0]` is for digit 1.
    pub counts: [u8; 9],
}

impl Fault {
    /// The code of this fault, as it stands in the `fault` column.
    pub const fn code(&self) -> &'static str {
        match self {
            Fault::NotADigit { .. } => "not-a-digit",
            Fault::RowLength { .. } => "row-length",
            Fault::GivenChanged { .. } => "given-changed",
            Fault::HouseRepeat { house: House::Row(_), .. } => "row-repeat",
            Fault::HouseRepeat { house: House::Column(_), .. } => "column-repeat",
            Fault::HouseRepeat { house: House::Box(_), .. } => "box-repeat",
            Fault::CageRepeat { .. } => "cage-repeat",
            Fault::CageSum { .. } => "cage-sum",
        }
    }

    /// The cell of this fault, as it stands in the `at` column.
    ///
    /// For a repeat it is the first cell whose digit occurs earlier in that house or cage; for a
    /// wrong total the cell that the cage's line names; for a long row its tenth cell.
    pub const fn at(&self) -> Cell {
        match self {
            Fault::NotADigit { cell, .. } | Fault::GivenChanged { cell, .. } => *cell,
            Fault::RowLength { row, .. } => Cell { row: *row, column: 9 },
            Fault::HouseRepeat { at, .. } | Fault::CageRepeat { at, .. } => *at,
            Fault::CageSum { cage, .. } => cage.named,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotADigit { cell, found: b' ' } => write!(f, "{cell} is blank"),
            Fault::NotADigit { cell, found } => {
                write!(f, "{cell} holds {}, not a digit", Readable(*found))
            }
            Fault::RowLength { row, length } => {
                write!(f, "row {} has {length} cells, not 9", u32::from(*row) + 1)
            }
            Fault::GivenChanged { cell, given, found } => {
                write!(
                    f,
                    "{cell} holds {}, but {} is given there",
                    Readable(*found),
                    Readable(*given)
                )
            }
            Fault::HouseRepeat { house, repeats, .. } => write!(f, "{house} has {repeats}"),
            Fault::CageRepeat { cage, repeats, .. } => {
                write!(f, "cage at {} has {repeats}", cage.named)
            }
            Fault::CageSum { cage, sum, total } => {
                write!(f, "cage at {} adds up to {sum}, not {total}", cage.named)
            }
        }
    }
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let repeated = self.counts.iter().zip(1..).filter(|(count, _)| **count > 1);
        for (i, (count, digit)) in repeated.enumerate() {
            let and = if i == 0 { "" } else { " and " };
            match count {
                2 => write!(f, "{and}{digit} twice")?,
                n => write!(f, "{and}{digit} {n} times")?,
            }
        }
        Ok(())
    }
}

/// A byte of input for people to read: printable ASCII unchanged, the rest by number.
struct Readable(u8);

impl fmt::Display for Readable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b' ' => f.write_str("a blank"),
            byte @ 0x21..=0x7e => write!(f, "{}", char::from(byte)),
            byte => write!(f, "byte 0x{byte:02X}"),
        }
    }
}
