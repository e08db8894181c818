//! Writes puzzles as text.

use super::Listed;
use crate::board::{CELLS_9, Cell, Size};
use crate::puzzle::{Alphabet, Puzzle};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::str::FromStr;

/// The text formats that puzzles are written in. [`read`](super::read) reads each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// All cells of a puzzle on a line, `.` for an open one.
    Line,
    /// A row a line, and a blank line between puzzles.
    Block,
    /// One 9x9 puzzle, a row a line, below its author and title.
    Sdk,
    /// 9x9 puzzles, all cells of each on a line, `0` for an open one.
    Sdm,
    /// Killers: a drawing, and a line for each cage with its total.
    Killer,
}

impl Format {
    /// All formats.
    pub const ALL: [Format; 5] =
        [Format::Line, Format::Block, Format::Sdk, Format::Sdm, Format::Killer];

    /// The word for this format on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Format::Line => "line",
            Format::Block => "block",
            Format::Sdk => "sdk",
            Format::Sdm => "sdm",
            Format::Killer => "killer",
        }
    }
}

/// The word is not that of a [`Format`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat;

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of line, block, sdk, sdm and killer")
    }
}

impl core::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(word: &str) -> Result<Self, UnknownFormat> {
        Format::ALL.into_iter().find(|format| format.word() == word).ok_or(UnknownFormat)
    }
}

/// Why a puzzle cannot be written in a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteError {
    /// Which puzzle it is, from 1.
    pub number: usize,
    /// What the format has no place for, in plain English.
    pub message: String,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for WriteError {}

/// Writes puzzles. What is read back asks for the same, if the alphabet of 16x16 is declared: givens
/// and cages are never left out. Keys are, and so are titles and authors but in
/// [`Sdk`](Format::Sdk).
///
/// ```
/// use gridmark_core::puzzle::{Alphabet, Cage, Puzzle, text};
/// let rows = (0..9).map(|row| Cage::new(row * 9..row * 9 + 9, Some(45)));
/// let puzzle = Puzzle::new(Alphabet::OneToNine, &[0; 81])?;
/// let puzzle = puzzle.with_cages(rows.collect::<Result<_, _>>()?)?;
/// let text = text::write(text::Format::Killer, &[puzzle.clone().into()])?;
/// assert_eq!(text::read(text.as_bytes(), None)?[0].puzzle, puzzle);
/// assert!(text::write(text::Format::Line, &[puzzle.into()]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The format has no place for a part of a puzzle: cages, a board of 16x16, a second puzzle.
pub fn write(format: Format, listed: &[Listed]) -> Result<String, WriteError> {
    let mut text = String::new();
    for (number, item) in (1..).zip(listed) {
        let puzzle = &item.puzzle;
        let refuse = |message: &str| {
            Err(WriteError { number, message: format!("the format {} {message}", format.word()) })
        };
        if format != Format::Killer && !puzzle.cages().is_empty() {
            return refuse("has no place for cages; use killer or f-puzzles");
        }
        if matches!(format, Format::Sdk | Format::Sdm) && puzzle.size() != Size::Nine {
            return refuse("is for 9x9; use line or block");
        }
        match format {
            Format::Line => write_cells(puzzle, ".", puzzle.size().cells(), &mut text),
            Format::Sdm => write_cells(puzzle, "0", CELLS_9, &mut text),
            Format::Block => {
                text.push_str(if number == 1 { "" } else { "\n" });
                // As the kind hexudoku has it.
                let open = if puzzle.alphabet() == Alphabet::ZeroToF { "-" } else { "." };
                write_cells(puzzle, open, puzzle.size().side(), &mut text);
            }
            Format::Sdk if number > 1 => return refuse("holds one puzzle; choose one by FILE#N"),
            Format::Sdk => {
                for (letter, value) in [('A', &item.author), ('D', &item.title)] {
                    if let Some(value) = value {
                        // Line ends would make lines of their own.
                        let words = value.split_whitespace().collect::<Vec<_>>().join(" ");
                        text.push_str(&format!("#{letter} {words}\n"));
                    }
                }
                write_cells(puzzle, ".", 9, &mut text);
            }
            Format::Killer => {
                text.push_str(if number == 1 { "" } else { "\n" });
                if let Err(message) = write_drawing(puzzle, &mut text) {
                    return Err(WriteError { number, message });
                }
            }
        }
    }
    Ok(text)
}

/// Writes the givens, `columns` a line; digits of two characters are spaced.
fn write_cells(puzzle: &Puzzle, open: &str, columns: usize, text: &mut String) {
    let is_spaced = puzzle.alphabet() == Alphabet::OneToSixteen;
    for (index, given) in puzzle.givens().iter().enumerate() {
        let is_last = (index + 1).is_multiple_of(columns);
        text.push_str(if *given == 0 { open } else { puzzle.alphabet().name(*given) });
        text.push_str(if is_last {
            "\n"
        } else if is_spaced {
            " "
        } else {
            ""
        });
    }
}

/// Writes a killer as a drawing, if that is possible.
fn write_drawing(puzzle: &Puzzle, text: &mut String) -> Result<(), String> {
    let Some(grid) = puzzle.grid().filter(|_| !puzzle.cages().is_empty()) else {
        return Err("a drawing is for killers, and this puzzle has no cages".into());
    };
    if let Some(cell) = (0..CELLS_9).find(|cell| puzzle.cage_of(*cell).is_none()) {
        let cell = Cell::of_9(cell);
        return Err(format!("a drawing has cages everywhere, and {cell} has none; use f-puzzles"));
    }
    let mut totals = Vec::with_capacity(puzzle.cages().len());
    for cage in puzzle.cages() {
        let first = cage.first();
        let Some(total) = cage.total() else {
            return Err(format!(
                "a drawing has totals, and the cage at {first} has none; use f-puzzles"
            ));
        };
        if !cage.is_connected() {
            return Err(format!(
                "a drawing has cages in one part, and the one at {first} is in several; use f-puzzles"
            ));
        }
        if total > 999_999_999 {
            return Err(format!(
                "a drawing has totals of nine digits, the cage at {first} has {total}"
            ));
        }
        totals.push((first, total));
    }
    let walls = puzzle.walls();
    for row in 0..=9 {
        for column in 0..9 {
            let is_wall = row == 0 || row == 9 || walls.below[row - 1] >> column & 1 == 1;
            text.push_str(if is_wall { "+---" } else { "+   " });
        }
        text.push_str("+\n");
        if row == 9 {
            break;
        }
        text.push('|');
        for column in 0..9 {
            let given = grid[row * 9 + column];
            let given = if given == b'.' { ' ' } else { char::from(given) };
            let is_wall = column == 8 || walls.right[row] >> column & 1 == 1;
            text.extend([' ', given, ' ', if is_wall { '|' } else { ' ' }]);
        }
        text.push('\n');
    }
    for (first, total) in totals {
        // Writing to memory cannot fail.
        let _ = writeln!(text, "{} {} {total}", first.row + 1, first.column + 1);
    }
    Ok(())
}
