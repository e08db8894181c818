//! A killer's drawing, known before its entries are read.
//!
//! Cages of a puzzle are known, so those of an entry need not be found in its drawing: where everything but the
//! digits is as it is drawn for the puzzle, and each cage line names a cage with its total, they are the same.

use crate::board::{CELLS_9, Grid};
use crate::format::killer::{LF_BYTES, LINE_BYTES, Totals};
use crate::puzzle::Puzzle;
use crate::puzzle::text::{self, Format};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Bytes from one cell to the next, and from one row to the next.
const CELL_PITCH: usize = 4;
const ROW_PITCH: usize = 2 * (LINE_BYTES + 1);

/// The drawing of a puzzle.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    /// Its text, with zeros for digits.
    text: Box<[u8; LF_BYTES]>,
    /// All bits, but none where a digit stands.
    mask: Box<[u8; LF_BYTES]>,
    /// The total of each cage.
    totals: Vec<u32>,
    /// The lines with the totals, as gridmark writes them.
    lines: Vec<u8>,
}

impl Drawing {
    /// The drawing of this puzzle, if it can be drawn.
    pub(super) fn of(puzzle: &Puzzle) -> Option<Drawing> {
        let written = text::write(Format::Killer, &[puzzle.clone().into()]).ok()?;
        let (text, lines) = written.as_bytes().split_first_chunk::<LF_BYTES>()?;
        let (mut text, mut mask) = (Box::new(*text), Box::new([u8::MAX; LF_BYTES]));
        for place in PLACES.map(usize::from) {
            (text[place], mask[place]) = (0, 0);
        }
        let totals = puzzle.cages().iter().map(|cage| cage.total()).collect::<Option<_>>()?;
        Some(Drawing { text, mask, totals, lines: lines.to_vec() })
    }

    /// The cells of an entry that repeats the drawing but for its digits; `cage_of` has the cage of each cell.
    /// `None` if it does not, or if it is not known to.
    pub(super) fn repeated_by(&self, text: &[u8], cage_of: &[u8; CELLS_9]) -> Option<Grid> {
        let (drawn, totals) = text.split_first_chunk::<LF_BYTES>()?;
        let pairs = drawn.iter().zip(&self.text[..]).zip(&self.mask[..]);
        let differs = pairs.fold(0, |any, ((found, known), mask)| any | (found ^ known) & mask);
        if differs != 0 || !self.has_totals(totals, cage_of) {
            return None;
        }
        let cells = PLACES.map(|place| drawn[usize::from(place)]);
        let all_digits = cells.iter().fold(true, |all, cell| all & matches!(cell, b'1'..=b'9'));
        all_digits.then_some(cells)
    }

    /// Whether these lines give each cage its total.
    fn has_totals(&self, lines: &[u8], cage_of: &[u8; CELLS_9]) -> bool {
        if lines == self.lines {
            return true;
        }
        let mut named = 0u128;
        let mut lines = Totals::new(lines);
        for (cell, total) in &mut lines {
            let cage = cage_of[cell.index_9()];
            if self.totals.get(usize::from(cage)) != Some(&total) || named >> cage & 1 == 1 {
                return false;
            }
            named |= 1 << cage;
        }
        lines.is_empty() && named.count_ones() as usize == self.totals.len()
    }
}

/// Where the digit of each cell stands.
const PLACES: [u16; CELLS_9] = {
    let mut places = [0; CELLS_9];
    let mut cell = 0;
    while cell < CELLS_9 {
        let (row, column) = (cell / 9, cell % 9);
        places[cell] = (row * ROW_PITCH + LINE_BYTES + 1 + column * CELL_PITCH + 2) as u16;
        cell += 1;
    }
    places
};
