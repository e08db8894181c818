//! Judging entries against a registered puzzle, whatever a file itself claims.
//!
//! An entry comes in the kind's own form, with givens or cages, or as a grid by itself. Givens and cages of an
//! entry are only compared: where they are not the registered ones, the entry is for another puzzle
//! ([`Fault::ForeignPuzzle`]), and nothing else is said about it. What is judged is always the digits, by the
//! registered givens and cages. Cages are compared, not walls: one that another way joins is harmless.
//!
//! Most entries are right, and most are written in the plainest way. So digits that are a known solution are
//! correct at once, and a [drawing](drawing::Drawing) that repeats the registered one but for its digits has
//! its cages. Everything else is read and explained by the general way, which gives the same marks.

mod drawing;
mod entries;
#[cfg(test)]
mod tests;

use drawing::Drawing;
pub use entries::Entry;

use super::explain::{NO_CAGE, explain_classic, push_cage_faults};
use crate::board::{
    Alphabet, CELLS_9, CageFault, Cell, Difference, Fault, Found, Grid, House, Mark, Repeats, Size,
    Unreadable, UnreadableCode,
};
use crate::format::classic::Solution;
use crate::format::hexudoku::{BLANK, Board};
use crate::format::killer::{self, Diagram};
use crate::puzzle::Puzzle;
use crate::puzzle::text::{self, Place};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

/// A registered puzzle, prepared for judging.
///
/// ```
/// use gridmark_core::judge::Against;
/// use gridmark_core::puzzle::text;
///
/// let line = b"53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
/// let against = Against::new(text::read(line, None)?.remove(0).puzzle);
/// let entry = b"534678912672195348198342567859761423426853791713924856961537284287419635345286179";
/// assert_eq!(against.grid(entry, 1).0.verdict().word(), "correct");
/// let mark = against.grid(&entry.map(|digit| if digit == b'4' { b'2' } else { digit }), 1).0;
/// assert!(mark.detail().starts_with("r5c1 holds 2, but 4 is given there; "));
/// # Ok::<(), gridmark_core::puzzle::text::ReadError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Against {
    puzzle: Puzzle,
    /// The givens of a 9x9 puzzle, as text.
    givens: Option<Grid>,
    /// The known solutions of a 9x9 puzzle, as text; and the same in rows that end in LF.
    keys: Vec<Grid>,
    keys_in_rows: Vec<[u8; ROWS_BYTES]>,
    /// The cage of each cell, or [`NO_CAGE`].
    cage_of: [u8; CELLS_9],
    /// How a killer is drawn, if it can be.
    drawing: Option<Drawing>,
}

/// Bytes of nine rows that end in LF.
const ROWS_BYTES: usize = 90;

/// The digits of an entry in reading order, from 1; 0 where a cell holds none.
pub type Digits = Vec<u8>;

/// How an entry compares with what is to be filled in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// How many cells are to be filled.
    pub cells: u32,
    /// How many of them hold no digit.
    pub blank_cells: u32,
    /// How many hold another digit than the nearest solution that is known; `None` if none is.
    pub wrong_cells: Option<u32>,
    /// How many rows, columns and boxes are as in that solution.
    pub right_houses: Option<[u32; 3]>,
}

impl Against {
    /// Prepares a puzzle.
    pub fn new(puzzle: Puzzle) -> Against {
        let mut cage_of = [NO_CAGE; CELLS_9];
        for (cell, of) in cage_of.iter_mut().enumerate() {
            *of = puzzle.cage_of(cell).map_or(NO_CAGE, |cage| cage as u8);
        }
        let keys = puzzle.keys().iter().filter_map(|key| <&Grid>::try_from(&key[..]).ok());
        let keys: Vec<Grid> = keys.map(|key| key.map(|digit| b'0' + digit)).collect();
        let keys_in_rows = keys.iter().map(|key| {
            core::array::from_fn(|i| if i % 10 < 9 { key[i / 10 * 9 + i % 10] } else { b'\n' })
        });
        let (keys_in_rows, drawing) = (keys_in_rows.collect(), Drawing::of(&puzzle));
        Against { givens: puzzle.grid(), keys, keys_in_rows, cage_of, drawing, puzzle }
    }

    /// The puzzle.
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// Marks a solution of a classic block with these givens.
    pub fn solution(&self, solution: &Solution, block: &Grid) -> (Mark, Option<Digits>) {
        let Some(givens) = &self.givens else {
            return (self.wrong_size(1), None);
        };
        if block != givens
            && let Some(cell) = (0..CELLS_9).find(|cell| block[*cell] != givens[*cell])
        {
            let given = |grid: &Grid| matches!(grid[cell], b'1'..=b'9').then(|| grid[cell] - b'0');
            return foreign(Difference::Given {
                cell: Cell::of_9(cell),
                entry: given(block),
                puzzle: given(givens),
                alphabet: Alphabet::OneToNine,
            });
        }
        self.mark_9(solution, givens)
    }

    /// Marks the text of a killer diagram, whose first line is line `line` of the file.
    pub fn diagram(&self, text: &[u8], line: u64) -> (Mark, Option<Digits>) {
        let Some(givens) = &self.givens else {
            return (self.wrong_size(line), None);
        };
        if let Some(cells) =
            self.drawing.as_ref().and_then(|it| it.repeated_by(text, &self.cage_of))
        {
            return self.mark_9(&Solution::of(cells), givens);
        }
        let mut diagram = Diagram::default();
        if let Err(why) = killer::read_some_totals(text, line, &mut diagram) {
            return (Mark::Unreadable(Box::new(why)), None);
        }
        if let Some(difference) = self.difference(&diagram) {
            return foreign(difference);
        }
        self.mark_9(&Solution::of(diagram.cells), givens)
    }

    /// Marks a hexudoku board, as it was read.
    pub fn board(&self, board: &Board) -> (Mark, Option<Digits>) {
        self.digits(&board.map(|digit| if digit < BLANK { digit + 1 } else { 0 }))
    }

    /// Marks digits in reading order, from 1; 0 stands for a cell without one.
    pub fn digits(&self, digits: &[u8]) -> (Mark, Option<Digits>) {
        match (&self.givens, <&[u8; CELLS_9]>::try_from(digits)) {
            (Some(givens), Ok(digits)) => {
                let cells =
                    digits.map(|digit| if digit == 0 { b' ' } else { b'0'.wrapping_add(digit) });
                self.mark_9(&Solution::of(cells), givens)
            }
            (None, _) if digits.len() == self.puzzle.size().cells() => {
                self.mark_16(digits.to_vec())
            }
            _ => (self.wrong_size(1), None),
        }
    }

    /// Marks the text of a grid by itself, whose first line is line `line` of the file.
    pub fn grid(&self, text: &[u8], line: u64) -> (Mark, Option<Digits>) {
        match self.read_grid(text, line) {
            Ok(digits) => self.digits(&digits),
            Err(unreadable) => (unreadable, None),
        }
    }

    /// The digits of a grid by itself, or why it cannot be read.
    fn read_grid(&self, text: &[u8], line: u64) -> Result<Digits, Mark> {
        match text::read(text, Some(self.puzzle.alphabet()).filter(|_| self.givens.is_none())) {
            Ok(listed) => match &listed[..] {
                [only] if only.puzzle.size() != self.puzzle.size() => Err(self.wrong_size(line)),
                [only] => Ok(only.puzzle.givens().to_vec()),
                _ => {
                    let message = format!("expected one grid, found {}", listed.len());
                    Err(unreadable(UnreadableCode::TrailingData, line, 1, message))
                }
            },
            Err(error) => {
                let (found, column) = match &error.place {
                    Place::Text { line, column } => (*line, *column),
                    Place::Json { line, .. } => (*line, 1),
                };
                let line = line + found - 1;
                let is_small = || {
                    text::read(text, None).is_ok_and(|listed| {
                        listed.iter().all(|one| one.puzzle.size() == Size::Nine)
                    })
                };
                if self.givens.is_none() && is_small() {
                    return Err(self.wrong_size(line));
                }
                Err(unreadable(UnreadableCode::BadCharacter, line, column, error.message))
            }
        }
    }

    fn wrong_size(&self, line: u64) -> Mark {
        let side = self.puzzle.size().side();
        let message = format!("expected a {side}x{side} grid, found one of another size");
        unreadable(UnreadableCode::UnknownFormat, line, 1, message)
    }

    /// The first difference between the cages of a diagram and those of the puzzle.
    fn difference(&self, diagram: &Diagram) -> Option<Difference> {
        if self.puzzle.cages().is_empty() {
            return Some(Difference::Cages);
        }
        for cell in 0..CELLS_9 {
            let right = (cell % 9 < 8).then_some(cell + 1);
            let below = (cell < CELLS_9 - 9).then_some(cell + 9);
            for other in right.into_iter().chain(below) {
                let [one, two] = [self.cage_of[cell], self.cage_of[other]];
                let in_entry = diagram.cage_of[cell] != diagram.cage_of[other];
                // Cells outside all cages may be separated or not.
                if in_entry != (one != two) && (one, two) != (NO_CAGE, NO_CAGE) {
                    let cells = [cell, other].map(Cell::of_9);
                    return Some(Difference::Wall { cells, in_entry });
                }
            }
        }
        diagram.cages.iter().find_map(|cage| {
            let entry = cage.has_total().then_some(cage.total);
            let of = self.cage_of[cage.first.index_9()];
            let registered = self.puzzle.cages().get(usize::from(of));
            let puzzle = registered.and_then(|cage| cage.total());
            // A cage in several parts needs its total once.
            let may_lack = registered.is_some_and(|cage| !cage.is_connected());
            let is_same = entry == puzzle || may_lack && entry.is_none();
            (!is_same).then_some(Difference::Total { cage: cage.first, entry, puzzle })
        })
    }

    /// Whether these cells are a known solution.
    fn is_key(&self, cells: &Grid) -> bool {
        self.keys.contains(cells)
    }

    fn mark_9(&self, solution: &Solution, givens: &Grid) -> (Mark, Option<Digits>) {
        if self.is_key(&solution.cells) && solution.long_rows == [0; 9] {
            return (Mark::Correct, None);
        }
        let mut faults = explain_classic(solution, givens);
        let cages = self.puzzle.cages().iter().map(|cage| {
            let first = cage.first();
            (CageFault { first, named: first }, cage.total())
        });
        push_cage_faults(&solution.cells, &self.cage_of, cages, &mut faults);
        let digit = |text: &u8| if matches!(text, b'1'..=b'9') { text - b'0' } else { 0 };
        marked(faults, || solution.cells.iter().map(digit).collect())
    }

    fn mark_16(&self, digits: Digits) -> (Mark, Option<Digits>) {
        if self.puzzle.keys().contains(&digits) {
            return (Mark::Correct, None);
        }
        let (size, alphabet) = (Size::Sixteen, self.puzzle.alphabet());
        let mut faults = Vec::new();
        let blank = digits.iter().enumerate().filter(|(_, digit)| **digit == 0);
        faults.extend(blank.map(|(cell, _)| Fault::NotADigit {
            cell: Cell::of(size, cell),
            found: Found::Byte(b' '),
        }));
        for (cell, (&given, &found)) in self.puzzle.givens().iter().zip(&digits).enumerate() {
            if given != 0 && found != 0 && given != found {
                let cell = Cell::of(size, cell);
                faults.push(Fault::GivenChanged { cell, given, found, alphabet });
            }
        }
        for house in House::all(size) {
            let mut counts = [0; 16];
            let mut first = None;
            for cell in house.cells(size) {
                if let Some(count) =
                    digits[cell].checked_sub(1).map(|digit| &mut counts[usize::from(digit)])
                {
                    *count += 1;
                    first = first.or((*count > 1).then_some(cell));
                }
            }
            faults.extend(first.map(|cell| Fault::HouseRepeat {
                house,
                at: Cell::of(size, cell),
                repeats: Repeats { counts, alphabet },
            }));
        }
        marked(faults, || digits)
    }

    /// Compares an entry with the nearest solution that is known, on the cells that are to be filled.
    pub fn compare(&self, digits: &[u8]) -> Compared {
        let givens = self.puzzle.givens();
        let open = || (0..givens.len()).filter(|cell| givens[*cell] == 0);
        let wrong_in = |key: &[u8]| {
            open().filter(|cell| digits[*cell] != 0 && digits[*cell] != key[*cell]).count() as u32
        };
        let nearest = self.puzzle.keys().iter().min_by_key(|key| wrong_in(key));
        let size = self.puzzle.size();
        let right_houses = nearest.map(|key| {
            let mut right = [0; 3];
            for house in House::all(size) {
                let kind = match house {
                    House::Row(_) => 0,
                    House::Column(_) => 1,
                    House::Box(_) => 2,
                };
                let is_right = house.cells(size).all(|cell| digits[cell] == key[cell]);
                right[kind] += u32::from(is_right);
            }
            right
        });
        Compared {
            cells: self.puzzle.open_cells(),
            blank_cells: open().filter(|cell| digits[*cell] == 0).count() as u32,
            wrong_cells: nearest.map(|key| wrong_in(key)),
            right_houses,
        }
    }
}

/// The mark for these faults, and the digits if there are any.
fn marked(faults: Vec<Fault>, digits: impl FnOnce() -> Digits) -> (Mark, Option<Digits>) {
    match super::wrong_or_correct(faults) {
        Mark::Correct => (Mark::Correct, None),
        wrong => (wrong, Some(digits())),
    }
}

fn foreign(difference: Difference) -> (Mark, Option<Digits>) {
    (Mark::Wrong(Vec::from([Fault::ForeignPuzzle(difference)])), None)
}

fn unreadable(
    code: UnreadableCode,
    line: u64,
    column: u64,
    message: alloc::string::String,
) -> Mark {
    Mark::Unreadable(Box::new(Unreadable { code, line, column, message: message.into() }))
}
