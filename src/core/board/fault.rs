//! Faults: broken rules, each with its place and its words.

use super::cell::Cell;
use super::house::House;
use core::fmt;

/// One broken rule of a case, with its place.
///
/// A list of faults is kept in the order in which they are told: by code in the order of the
/// variants here, within a code by place in reading order (cages by their first cell).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A cell that holds something else than `1` to `9`.
    NotADigit {
        /// The cell.
        cell: Cell,
        /// The byte that stands there.
        found: u8,
    },
    /// A row with more than nine cells.
    RowLength {
        /// The row, from 0.
        row: u8,
        /// How many bytes the row has, trailing blanks not counted.
        length: usize,
    },
    /// A cell that holds another digit than the puzzle gives there.
    GivenChanged {
        /// The cell.
        cell: Cell,
        /// The digit of the puzzle, as text.
        given: u8,
        /// The digit of the solution, as text.
        found: u8,
    },
    /// A house in which some digit stands more than once.
    HouseRepeat {
        /// The house.
        house: House,
        /// The first cell whose digit stood earlier in that house.
        at: Cell,
        /// Which digits, how often.
        repeats: Repeats,
    },
    /// A cage in which some digit stands more than once.
    CageRepeat {
        /// Which cage.
        cage: CageFault,
        /// The first cell whose digit stood earlier in that cage.
        at: Cell,
        /// Which digits, how often.
        repeats: Repeats,
    },
    /// A cage whose digits do not add up to its total.
    CageSum {
        /// Which cage.
        cage: CageFault,
        /// What its digits add up to.
        sum: u32,
        /// What they ought to add up to.
        total: u32,
    },
}

/// The two cells by which a cage is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CageFault {
    /// Its first cell in reading order, which decides the order of faults.
    pub first: Cell,
    /// The cell that names it in the line with its total, by which people find it.
    pub named: Cell,
}

/// How often each digit stands in a house or cage: `counts[0]` is for digit 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// Occurrences by digit, 1 to 9.
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
    /// For a repeat it is the first cell whose digit stood earlier in that house or cage; for a
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
                write!(f, "{cell} holds {}, not a digit", Shown(*found))
            }
            Fault::RowLength { row, length } => {
                write!(f, "row {} has {length} cells, not 9", u32::from(*row) + 1)
            }
            Fault::GivenChanged { cell, given, found } => {
                write!(f, "{cell} holds {}, but {} is given there", Shown(*found), Shown(*given))
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

/// A byte of somebody's text as people can read it: printable ASCII as it is, the rest by number.
struct Shown(u8);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b' ' => f.write_str("a blank"),
            byte @ 0x21..=0x7e => write!(f, "{}", char::from(byte)),
            byte => write!(f, "byte 0x{byte:02X}"),
        }
    }
}
