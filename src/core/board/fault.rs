//! Faults: broken rules, each with its place and its words.

use super::alphabet::Alphabet;
use super::cell::Cell;
use super::character::{Shown, name_of};
use super::house::House;
use core::fmt;

/// One broken rule of a case, with its place.
///
/// Lists of faults are in the order of reports: by code in the order of the variants here, and
/// within a code by place in reading order (cages by their first cell).
///
/// ```
/// use gridmark_core::board::{Cell, Fault, Found};
/// let found = Found::Byte(b'x');
/// let fault = Fault::NotADigit { cell: Cell { row: 1, column: 4 }, found };
/// assert_eq!(fault.code(), "not-a-digit");
/// assert_eq!(fault.at().map(|cell| cell.to_string()).as_deref(), Some("r2c5"));
/// assert_eq!(fault.to_string(), "r2c5 holds x, not a digit");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The entry is for another puzzle than the registered one.
    ForeignPuzzle(Difference),
    /// A cell that holds anything but `1` to `9`.
    NotADigit {
        /// The cell.
        cell: Cell,
        /// What is in the cell.
        found: Found,
    },
    /// A row with more than nine cells.
    RowLength {
        /// The row, from 0.
        row: u8,
        /// How many characters the row has, trailing blanks not counted.
        length: usize,
    },
    /// A cell that holds another digit than its given.
    GivenChanged {
        /// The cell.
        cell: Cell,
        /// The digit of the puzzle, from 1.
        given: u8,
        /// The digit of the solution, from 1.
        found: u8,
        /// How digits are written.
        alphabet: Alphabet,
    },
    /// A cell that holds another digit than the solution, where only some cells are handed in.
    WrongDigit {
        /// The cell.
        cell: Cell,
        /// The digit of the entry, from 1.
        found: u8,
        /// How digits are written.
        alphabet: Alphabet,
    },
    /// Another number than the one that was asked for.
    WrongNumber {
        /// The number of the entry.
        found: u32,
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

/// What a cell holds that is not a digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A byte: ASCII, or a part of no character.
    Byte(u8),
    /// A character of several bytes in UTF-8.
    Character(char),
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
    /// Occurrences by digit: `counts[0]` is for the first.
    pub counts: [u8; 16],
    /// How digits are written.
    pub alphabet: Alphabet,
}

/// The first difference between the puzzle that an entry brings along and the registered one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A given: a digit from 1, or none where the cell is open.
    Given {
        /// The cell.
        cell: Cell,
        /// The given in the entry.
        entry: Option<u8>,
        /// The given in the puzzle.
        puzzle: Option<u8>,
        /// How digits are written.
        alphabet: Alphabet,
    },
    /// Two neighbours are in one cage of only one of the two puzzles.
    Wall {
        /// The neighbours.
        cells: [Cell; 2],
        /// Whether the entry is the one that separates them.
        in_entry: bool,
    },
    /// A cage with another total, or with none.
    Total {
        /// The first cell of the cage in the entry.
        cage: Cell,
        /// The total in the entry.
        entry: Option<u32>,
        /// The total in the puzzle.
        puzzle: Option<u32>,
    },
    /// The entry has cages, and the puzzle has none.
    Cages,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Given { cell, entry, puzzle, alphabet } => {
                let name = |digit: &Option<u8>| digit.map(|digit| alphabet.name(digit));
                match (name(entry), name(puzzle)) {
                    (Some(entry), Some(puzzle)) => {
                        write!(f, "given at {cell} is {entry}, the puzzle has {puzzle}")
                    }
                    (Some(entry), None) => {
                        write!(f, "given at {cell} is {entry}, in the puzzle the cell is open")
                    }
                    (None, puzzle) => {
                        let puzzle = puzzle.unwrap_or("none");
                        write!(f, "{cell} is open, in the puzzle {puzzle} is given")
                    }
                }
            }
            Difference::Wall { cells: [one, other], in_entry: true } => {
                write!(f, "a wall between {one} and {other} that the puzzle does not have")
            }
            Difference::Wall { cells: [one, other], in_entry: false } => {
                write!(f, "no wall between {one} and {other}, where the puzzle has one")
            }
            Difference::Total { cage, entry, puzzle } => {
                match entry {
                    Some(entry) => write!(f, "cage at {cage} adds up to {entry}, in the puzzle ")?,
                    None => write!(f, "cage at {cage} has no total, in the puzzle ")?,
                }
                match puzzle {
                    Some(puzzle) if entry.is_some() => write!(f, "to {puzzle}"),
                    Some(puzzle) => write!(f, "it adds up to {puzzle}"),
                    None => f.write_str("it has no total"),
                }
            }
            Difference::Cages => f.write_str("it has cages, the puzzle has none"),
        }
    }
}

impl Fault {
    /// The code of this fault, as it stands in the `fault` column.
    pub const fn code(&self) -> &'static str {
        match self {
            Fault::ForeignPuzzle(_) => "foreign-puzzle",
            Fault::NotADigit { .. } => "not-a-digit",
            Fault::RowLength { .. } => "row-length",
            Fault::GivenChanged { .. } => "given-changed",
            Fault::WrongDigit { .. } => "wrong-digit",
            Fault::WrongNumber { .. } => "wrong-number",
            Fault::HouseRepeat { house: House::Row(_), .. } => "row-repeat",
            Fault::HouseRepeat { house: House::Column(_), .. } => "column-repeat",
            Fault::HouseRepeat { house: House::Box(_), .. } => "box-repeat",
            Fault::CageRepeat { .. } => "cage-repeat",
            Fault::CageSum { .. } => "cage-sum",
        }
    }

    /// The cell of this fault, as it stands in the `at` column; `None` if it has none.
    ///
    /// For a repeat it is the first cell whose digit occurs earlier in that house or cage; for a
    /// wrong total the cell that the cage's line names; for a long row its tenth cell.
    pub const fn at(&self) -> Option<Cell> {
        Some(match self {
            Fault::ForeignPuzzle(Difference::Cages) | Fault::WrongNumber { .. } => return None,
            Fault::ForeignPuzzle(Difference::Given { cell, .. })
            | Fault::ForeignPuzzle(Difference::Total { cage: cell, .. })
            | Fault::ForeignPuzzle(Difference::Wall { cells: [cell, _], .. }) => *cell,
            Fault::NotADigit { cell, .. }
            | Fault::GivenChanged { cell, .. }
            | Fault::WrongDigit { cell, .. } => *cell,
            Fault::RowLength { row, .. } => Cell { row: *row, column: 9 },
            Fault::HouseRepeat { at, .. } | Fault::CageRepeat { at, .. } => *at,
            Fault::CageSum { cage, .. } => cage.named,
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::ForeignPuzzle(difference) => write!(f, "this is another puzzle: {difference}"),
            Fault::NotADigit { cell, found: Found::Byte(b' ') } => write!(f, "{cell} is blank"),
            Fault::NotADigit { cell, found: Found::Byte(found) } => {
                write!(f, "{cell} holds {}, not a digit", Readable(*found))
            }
            Fault::NotADigit { cell, found: Found::Character(found) } => match name_of(*found) {
                Some(name) => write!(f, "{cell} holds {name} ({}), not 1 to 9", Shown(*found)),
                None => write!(f, "{cell} holds {}, not a digit", Shown(*found)),
            },
            Fault::RowLength { row, length } => {
                write!(f, "row {} has {length} cells, not 9", u32::from(*row) + 1)
            }
            Fault::GivenChanged { cell, given, found, alphabet } => {
                let [found, given] = [found, given].map(|digit| alphabet.name(*digit));
                write!(f, "{cell} holds {found}, but {given} is given there")
            }
            Fault::WrongDigit { cell, found, alphabet } => {
                write!(f, "{cell} holds {}, not the digit of the solution", alphabet.name(*found))
            }
            Fault::WrongNumber { found } => write!(f, "{found} is not the number asked for"),
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
            write!(f, "{and}{} {}", self.alphabet.name(digit), Times(*count))?;
        }
        Ok(())
    }
}

/// Faults in words, in their order: those that are alike in all but their cell share one sentence, so
/// that a grid in full-width digits is not 81 of them.
pub fn in_words(faults: &[Fault]) -> impl Iterator<Item = InWords<'_>> {
    faults.iter().enumerate().filter_map(|(i, fault)| {
        let Some(name) = fault.name_of_found() else {
            return Some(InWords { fault, faults: 1 });
        };
        let same = |fault: &&Fault| fault.name_of_found() == Some(name);
        let is_first = !faults[..i].iter().any(|fault| same(&fault));
        is_first.then(|| InWords { fault, faults: faults[i..].iter().filter(same).count() })
    })
}

/// One or more [faults](in_words) as a sentence.
#[derive(Clone, Copy, Debug)]
pub struct InWords<'a> {
    fault: &'a Fault,
    /// How many faults the sentence is about.
    pub faults: usize,
}

impl Fault {
    /// What people call what is in the cell, if it is a character that may be taken for another one.
    fn name_of_found(&self) -> Option<&'static str> {
        match self {
            Fault::NotADigit { found: Found::Character(found), .. } => name_of(*found),
            _ => None,
        }
    }
}

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.fault, self.fault.name_of_found(), self.faults) {
            (Fault::NotADigit { cell, found: Found::Character(found) }, Some(name), 2..) => {
                let others = self.faults - 1;
                let cells = if others == 1 { "cell" } else { "cells" };
                let found = Shown(*found);
                write!(f, "{cell} and {others} other {cells} hold {name} ({found}), not 1 to 9")
            }
            (fault, ..) => fault.fmt(f),
        }
    }
}

/// How often, in words, so that it is not taken for a digit: `twice`, `nine times`.
struct Times(u8);

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 20] = [
            "no",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ];
        const TENS: [&str; 9] =
            ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"];
        // A cage of the whole grid holds a digit 81 times at most.
        let (tens, units) = (usize::from(self.0.min(81)) / 10, usize::from(self.0) % 10);
        match (self.0, units) {
            (2, _) => f.write_str("twice"),
            (0..20, _) => write!(f, "{} times", UNITS[usize::from(self.0)]),
            (_, 0) => write!(f, "{} times", TENS[tens]),
            _ => write!(f, "{}-{} times", TENS[tens], UNITS[units]),
        }
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
