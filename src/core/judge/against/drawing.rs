//! A killer's drawing, known before its entries are read.
//!
//! Cages of a puzzle are known, so those of an entry need not be found in its drawing: where everything but the
//! digits is as it is drawn for the puzzle, and each cage line names a cage with its total, they are the same.

use super::NO_CAGE;
use crate::board::{CELLS_9, Grid};
use crate::format::killer::{LF_BYTES, LINE_BYTES, Totals};
use crate::puzzle::Puzzle;
use crate::puzzle::text::write_walls;
use alloc::string::String;
use alloc::vec::Vec;

/// Bytes from one cell to the next, and from one row to the next.
const CELL_PITCH: usize = 4;
const ROW_PITCH: usize = 2 * (LINE_BYTES + 1);

/// The drawing of a puzzle.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    /// Its text, with zeros for digits.
    text: Vec<u8>,
    /// All bits, but none where a digit stands.
    mask: Vec<u8>,
    /// The total of each cage.
    totals: Vec<u32>,
}

impl Drawing {
    /// The drawing of this puzzle. `None` if it has none: a cell without a cage, or a cage without a total or in
    /// several parts.
    pub(super) fn of(puzzle: &Puzzle) -> Option<Drawing> {
        let cages = puzzle.cages();
        let is_whole = (0..CELLS_9).all(|cell| puzzle.cage_of(cell).is_some());
        if !is_whole || cages.len() >= usize::from(NO_CAGE) {
            return None;
        }
        let total = |cage: &crate::puzzle::Cage| cage.total().filter(|_| cage.is_connected());
        let totals = cages.iter().map(total).collect::<Option<_>>()?;
        let mut text = String::new();
        write_walls(&puzzle.walls(), &[b'.'; CELLS_9], &mut text);
        let mut text = text.into_bytes();
        let mut mask = alloc::vec![u8::MAX; text.len()];
        for place in places() {
            (text[place], mask[place]) = (0, 0);
        }
        (text.len() == LF_BYTES).then_some(Drawing { text, mask, totals })
    }

    /// The cells of an entry that repeats the drawing but for its digits; `cage_of` has the cage of each cell.
    /// `None` if it does not, or if it is not known to.
    pub(super) fn repeated_by(&self, text: &[u8], cage_of: &[u8; CELLS_9]) -> Option<Grid> {
        let (drawn, totals) = text.split_at_checked(LF_BYTES)?;
        let pairs = drawn.iter().zip(&self.text).zip(&self.mask);
        let differs = pairs.fold(0, |any, ((found, known), mask)| any | (found ^ known) & mask);
        if differs != 0 {
            return None;
        }
        let mut cells = [0; CELLS_9];
        let mut all_digits = true;
        for (cell, place) in cells.iter_mut().zip(places()) {
            *cell = drawn[place];
            all_digits &= matches!(cell, b'1'..=b'9');
        }
        let mut named = 0u128;
        let mut lines = Totals::new(totals);
        for (cell, total) in &mut lines {
            let cage = cage_of[cell.index_9()];
            if self.totals.get(usize::from(cage)) != Some(&total) || named >> cage & 1 == 1 {
                return None;
            }
            named |= 1 << cage;
        }
        let all_named = named.count_ones() as usize == self.totals.len();
        (all_digits && all_named && lines.is_empty()).then_some(cells)
    }
}

/// Where the digit of each cell stands.
fn places() -> impl Iterator<Item = usize> {
    (0..9).flat_map(|row| (0..9).map(move |column| place(row, column)))
}

const fn place(row: usize, column: usize) -> usize {
    row * ROW_PITCH + LINE_BYTES + 1 + column * CELL_PITCH + 2
}
