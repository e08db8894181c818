//! Puzzles as they were set, apart from anybody's submission.
//!
//! A [`Puzzle`] is what entries are judged against: givens on a 9x9 or 16x16 board, a killer's
//! cages, what the task is, and what is known of its solutions. It is valid as soon as it exists:
//! every given is a digit, no cell is in two cages, every key keeps the rules. Whether it has a
//! solution at all, and only one, is another question: givens may be in conflict, a cage's total
//! may be out of reach.
//!
//! Cells are indices in reading order, and digits are numbers from 1 on, their places in the
//! [`Alphabet`]; 0 stands for an open cell. So one code serves both sizes.
//!
//! ```
//! use gridmark_core::board::Cell;
//! use gridmark_core::puzzle::{Alphabet, Cage, Puzzle};
//!
//! let puzzle = Puzzle::new(Alphabet::OneToNine, &[0; 81])?
//!     .with_cages(vec![Cage::new([0, 1, 9], Some(8))?, Cage::new([80], None)?])?;
//! assert_eq!(puzzle.cages().len(), 2);
//! assert_eq!(puzzle.cage_of(9), Some(0));
//! assert_eq!(puzzle.cage_of(2), None);
//!
//! let overlap = puzzle.with_cages(vec![Cage::new([0, 1], None)?, Cage::new([1, 2], None)?]);
//! assert_eq!(overlap.unwrap_err().to_string(), "r1c2 is in two cages, those at r1c1 and r1c2");
//! # Ok::<(), gridmark_core::puzzle::Invalid>(())
//! ```

mod invalid;
mod lint;
mod search;
pub mod text;

pub use crate::board::{Alphabet, UnknownAlphabet};
pub use invalid::Invalid;
pub use lint::{Finding, Flaw, lint};
pub use search::{Solutions, search};

use crate::Kind;
use crate::board::{CELLS_9, CELLS_16, Cell, Grid, House, Size};
use crate::format::hexudoku::{BLANK, Board};
use crate::format::killer::Walls;
use alloc::vec;
use alloc::vec::Vec;

/// A puzzle as it was set.
///
/// Two puzzles are equal if they ask for the same: the order in which cages and their cells were
/// listed does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Puzzle {
    alphabet: Alphabet,
    givens: Vec<u8>,
    cages: Vec<Cage>,
    /// By cell, as indices into `cages`.
    cage_of: Vec<Option<u8>>,
    task: Task,
    keys: Vec<Vec<u8>>,
    marked: Vec<Cell>,
}

/// What an entry for a puzzle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// The completed board.
    Solve,
    /// One integer: how many blanks of the 16x16 board Lazy Larry fills.
    Larry,
}

/// A cage of a killer puzzle: its digits differ, and add up to its total if it has one.
///
/// It has at least one cell and none twice. Nothing else is known of it: it may have more cells
/// than there are digits, be in several parts, or have a total out of reach.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cage {
    /// In reading order.
    cells: Vec<u8>,
    total: Option<u32>,
}

impl Cage {
    /// A cage of these cells, indices in reading order on a 9x9 board, listed in any order.
    ///
    /// # Errors
    ///
    /// There is no cell, one that the board does not have, or one twice.
    pub fn new(cells: impl IntoIterator<Item = u8>, total: Option<u32>) -> Result<Cage, Invalid> {
        let mut cells = cells.into_iter().collect::<Vec<_>>();
        cells.sort_unstable();
        if let Some(two) = cells.windows(2).find(|two| two[0] == two[1]) {
            return Err(Invalid::CellTwice(Cell::of_9(two[0].into())));
        }
        match cells.last() {
            None => Err(Invalid::EmptyCage),
            Some(last) if usize::from(*last) >= CELLS_9 => Err(Invalid::NoSuchCell),
            Some(_) => Ok(Cage { cells, total }),
        }
    }

    /// Its cells, as indices in reading order; at least one.
    pub fn cells(&self) -> &[u8] {
        &self.cells
    }

    /// The sum that its digits must have, if the puzzle says so.
    pub fn total(&self) -> Option<u32> {
        self.total
    }

    /// Its first cell in reading order, by which messages name it.
    pub fn first(&self) -> Cell {
        Cell::of_9(self.cells[0].into())
    }

    /// Whether all of its cells are joined by common sides.
    ///
    /// ```
    /// use gridmark_core::puzzle::Cage;
    /// assert!(Cage::new([0, 1, 10], None)?.is_connected());
    /// // The end of a row and the start of the next one are no neighbours.
    /// assert!(!Cage::new([8, 9], None)?.is_connected());
    /// # Ok::<(), gridmark_core::puzzle::Invalid>(())
    /// ```
    pub fn is_connected(&self) -> bool {
        let are_neighbours = |a: u8, b: u8| {
            let (low, high) = (a.min(b), a.max(b));
            high - low == 9 || high - low == 1 && high % 9 != 0
        };
        let mut reached = vec![self.cells[0]];
        let mut at = 0;
        while let Some(&cell) = reached.get(at) {
            for &other in &self.cells {
                if are_neighbours(cell, other) && !reached.contains(&other) {
                    reached.push(other);
                }
            }
            at += 1;
        }
        reached.len() == self.cells.len()
    }
}

impl Puzzle {
    /// A puzzle with these givens in reading order, 0 for an open cell, and the task to solve it.
    /// The alphabet decides the size.
    ///
    /// ```
    /// use gridmark_core::puzzle::{Alphabet, Puzzle};
    /// let wrong = Puzzle::new(Alphabet::OneToNine, &[10; 81]).unwrap_err();
    /// assert_eq!(wrong.to_string(), "r1c1 is given as 10, which is no digit from 1 to 9");
    /// ```
    ///
    /// # Errors
    ///
    /// There are not 81 or 256 cells, or a given is larger than 9 or 16.
    pub fn new(alphabet: Alphabet, givens: &[u8]) -> Result<Puzzle, Invalid> {
        let size = alphabet.size();
        if givens.len() != size.cells() {
            return Err(Invalid::CellCount { expected: size.cells(), found: givens.len() });
        }
        if let Some(index) = givens.iter().position(|given| usize::from(*given) > size.side()) {
            let cell = Cell::of(size, index);
            return Err(Invalid::Given { cell, given: givens[index], digits: size.side() });
        }
        Ok(Puzzle {
            alphabet,
            givens: givens.to_vec(),
            cages: Vec::new(),
            cage_of: vec![None; size.cells()],
            task: Task::Solve,
            keys: Vec::new(),
            marked: Vec::new(),
        })
    }

    /// The same puzzle with these cages in place of those that it had, listed in any order.
    ///
    /// # Errors
    ///
    /// The board is 16x16, a cell is in two cages, or a key breaks the rules of a cage.
    pub fn with_cages(mut self, mut cages: Vec<Cage>) -> Result<Puzzle, Invalid> {
        if self.size() != Size::Nine && !cages.is_empty() {
            return Err(Invalid::CagesOnSixteen);
        }
        cages.sort_unstable_by(|a, b| a.cells.cmp(&b.cells));
        let mut cage_of = vec![None; self.size().cells()];
        for (number, cage) in cages.iter().enumerate() {
            for &cell in &cage.cells {
                if let Some(other) = cage_of[usize::from(cell)].replace(number as u8) {
                    let cages = [cages[usize::from(other)].first(), cage.first()];
                    return Err(Invalid::Overlap { cell: Cell::of_9(cell.into()), cages });
                }
            }
        }
        self.cage_of = cage_of;
        self.cages = cages;
        self.keys.iter().try_for_each(|key| self.check_key(key))?;
        Ok(self)
    }

    /// The same puzzle with this task.
    ///
    /// # Errors
    ///
    /// Lazy Larry is asked for a 9x9 board, or for one with keys or marked cells.
    pub fn with_task(mut self, task: Task) -> Result<Puzzle, Invalid> {
        self.task = task;
        self.check_task()?;
        Ok(self)
    }

    /// The same puzzle with one more key: a solution, all digits in reading order.
    ///
    /// # Errors
    ///
    /// The key is no completed board, differs from a given, or breaks the rules of a house or cage;
    /// or the task is not to solve the puzzle.
    pub fn with_key(mut self, key: &[u8]) -> Result<Puzzle, Invalid> {
        self.check_key(key)?;
        self.keys.push(key.to_vec());
        self.check_task()?;
        Ok(self)
    }

    /// The same puzzle, for which these digits are accepted, too, though they may break its rules: what staff
    /// decide when a puzzle turns out to be wrong. They are a key like any other, and an entry that holds them
    /// is correct.
    ///
    /// # Errors
    ///
    /// They are no completed board; or the task is not to solve the puzzle.
    pub fn accepting(mut self, digits: &[u8]) -> Result<Puzzle, Invalid> {
        self.check_completed(digits)?;
        self.keys.push(digits.to_vec());
        self.check_task()?;
        Ok(self)
    }

    /// The same puzzle with these marked cells in place of those that it had: the entry is their
    /// digits in this order. A cell may be listed more than once (a marked row and a marked column
    /// cross). Without any the entry is the whole board.
    ///
    /// # Errors
    ///
    /// The board does not have such a cell, or the task is not to solve the puzzle.
    pub fn with_marked(mut self, marked: Vec<Cell>) -> Result<Puzzle, Invalid> {
        if !marked.iter().all(|cell| cell.is_on(self.size())) {
            return Err(Invalid::NoSuchCell);
        }
        self.marked = marked;
        self.check_task()?;
        Ok(self)
    }

    fn check_task(&self) -> Result<(), Invalid> {
        match self.task {
            Task::Solve => Ok(()),
            Task::Larry if self.size() == Size::Nine => Err(Invalid::LarryOnNine),
            Task::Larry if !self.keys.is_empty() || !self.marked.is_empty() => {
                Err(Invalid::LarryWithKeys)
            }
            Task::Larry => Ok(()),
        }
    }

    /// Whether all cells hold a digit.
    fn check_completed(&self, key: &[u8]) -> Result<(), Invalid> {
        let size = self.size();
        if key.len() != size.cells() {
            return Err(Invalid::CellCount { expected: size.cells(), found: key.len() });
        }
        let digits = 1..=size.side() as u8;
        match key.iter().position(|digit| !digits.contains(digit)) {
            Some(index) => Err(Invalid::KeyCell { cell: Cell::of(size, index) }),
            None => Ok(()),
        }
    }

    /// Whether `key` is a solution; judging entries is another matter, which says all that is wrong.
    fn check_key(&self, key: &[u8]) -> Result<(), Invalid> {
        let size = self.size();
        self.check_completed(key)?;
        let cell = |index: usize| Cell::of(size, index);
        for (index, (digit, given)) in key.iter().zip(&self.givens).enumerate() {
            if *given != 0 && given != digit {
                return Err(Invalid::KeyChangesGiven { cell: cell(index) });
            }
        }
        // The first cell whose digit occurs earlier.
        let repeat = |mut cells: &mut dyn Iterator<Item = usize>| {
            let mut met = 0u32;
            (&mut cells).find(|&index| {
                let bit = 1 << key[index];
                let again = met & bit != 0;
                met |= bit;
                again
            })
        };
        for house in House::all(size) {
            if let Some(index) = repeat(&mut house.cells(size)) {
                return Err(Invalid::KeyRepeats { cell: cell(index), house });
            }
        }
        for cage in &self.cages {
            let mut cells = cage.cells.iter().map(|index| usize::from(*index));
            let sum = cells.clone().map(|index| u32::from(key[index])).sum();
            if let Some(index) = repeat(&mut cells) {
                return Err(Invalid::KeyRepeatsInCage { cell: cell(index), cage: cage.first() });
            }
            if let Some(total) = cage.total.filter(|total| *total != sum) {
                return Err(Invalid::KeySum { cage: cage.first(), sum, total });
            }
        }
        Ok(())
    }

    /// How its digits are written.
    pub fn alphabet(&self) -> Alphabet {
        self.alphabet
    }

    /// The size of its board.
    pub fn size(&self) -> Size {
        self.alphabet.size()
    }

    /// The kind of its entries: killer if it has cages, else classic for 9x9 and hexudoku for 16x16.
    pub fn kind(&self) -> Kind {
        match self.size() {
            Size::Sixteen => Kind::Hexudoku,
            Size::Nine if self.cages.is_empty() => Kind::Classic,
            Size::Nine => Kind::Killer,
        }
    }

    /// Its givens in reading order: digits from 1 on, 0 for an open cell.
    pub fn givens(&self) -> &[u8] {
        &self.givens
    }

    /// How many cells are to be filled.
    pub fn open_cells(&self) -> u32 {
        self.givens.iter().filter(|given| **given == 0).count() as u32
    }

    /// Its cages, in the order of their first cells; a cell may be in none. Empty unless it is a
    /// killer.
    pub fn cages(&self) -> &[Cage] {
        &self.cages
    }

    /// The cage of the cell at `index`, as an index into [`cages`](Puzzle::cages).
    pub fn cage_of(&self, index: usize) -> Option<usize> {
        self.cage_of.get(index).copied().flatten().map(usize::from)
    }

    /// The walls between cells of different cages, and between cells with and without a cage, on a
    /// 9x9 board.
    pub fn walls(&self) -> Walls {
        let mut walls = Walls::default();
        if self.size() == Size::Nine {
            for index in 0..CELLS_9 {
                let differs = |other: usize| self.cage_of(index) != self.cage_of(other);
                let (row, column) = (index / 9, index % 9);
                walls.right[row] |= u16::from(column < 8 && differs(index + 1)) << column;
                walls.below[row] |= u16::from(row < 8 && differs(index + 9)) << column;
            }
        }
        walls
    }

    /// What an entry is.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The solutions that are known: completed boards in reading order. They need not be all there are. None
    /// breaks a rule, but for those that are [accepted](Puzzle::accepting) all the same.
    pub fn keys(&self) -> &[Vec<u8>] {
        &self.keys
    }

    /// The cells whose digits are the entry, in that order; empty if it is the whole board.
    pub fn marked(&self) -> &[Cell] {
        &self.marked
    }

    /// The givens of a 9x9 puzzle as text, `b'.'` for an open cell.
    ///
    /// ```
    /// use gridmark_core::puzzle::{Alphabet, Puzzle};
    /// let mut givens = [0; 81];
    /// givens[1] = 7;
    /// let puzzle = Puzzle::new(Alphabet::OneToNine, &givens)?;
    /// assert_eq!(puzzle.grid().map(|grid| [grid[0], grid[1]]), Some(*b".7"));
    /// assert_eq!(puzzle.board(), None);
    /// # Ok::<(), gridmark_core::puzzle::Invalid>(())
    /// ```
    pub fn grid(&self) -> Option<Grid> {
        let givens = <[u8; CELLS_9]>::try_from(&self.givens[..]).ok()?;
        Some(givens.map(|given| if given == 0 { b'.' } else { b'0' + given }))
    }

    /// The givens of a 16x16 puzzle as Lazy Larry reads them.
    pub fn board(&self) -> Option<Board> {
        let givens = <[u8; CELLS_16]>::try_from(&self.givens[..]).ok()?;
        Some(givens.map(|given| given.checked_sub(1).unwrap_or(BLANK)))
    }
}
