//! Lazy Larry, one board at a time.

use crate::board::Counted;
use crate::format::hexudoku::{BLANK, Board, SIDE};

/// Fills `board` as Lazy Larry does, and counts.
///
/// One pass in reading order: each blank takes the smallest digit that is not yet in its row,
/// column or box, digits placed so far included; if there is none it stays blank. Values above
/// [`BLANK`] count as blank.
///
/// ```
/// use gridmark_core::{format::hexudoku::BLANK, judge::hexudoku::fill};
/// let mut board = [BLANK; 256];
/// let counted = fill(&mut board);
/// assert_eq!((counted.filled, counted.blank, counted.conflicts), (256, 0, 0));
/// assert_eq!(board[16..20], [4, 5, 6, 7]);
/// ```
pub fn fill(board: &mut Board) -> Counted {
    let [mut rows, mut columns, mut boxes] = [[Digits::default(); SIDE]; 3];
    for (cell, digit) in board.iter().enumerate() {
        let set = set_of(*digit);
        rows[row(cell)].add(set);
        columns[column(cell)].add(set);
        boxes[box_of(cell)].add(set);
    }
    let houses = rows.iter().chain(&columns).chain(&boxes);
    let conflicts = houses.filter(|house| house.twice != 0).count() as u16;
    let mut counted = Counted { filled: 0, blank: 0, conflicts };
    for (cell, digit) in board.iter_mut().enumerate().filter(|(_, digit)| **digit >= BLANK) {
        let houses = [&mut rows[row(cell)], &mut columns[column(cell)], &mut boxes[box_of(cell)]];
        let taken = houses.iter().fold(0, |taken, house| taken | house.once);
        *digit = taken.trailing_ones() as u8;
        match *digit {
            BLANK => counted.blank += 1,
            _ => counted.filled += 1,
        }
        houses.into_iter().for_each(|house| house.add(set_of(*digit)));
    }
    counted
}

/// The digits of a house, as sets: bit 0 is for digit 0.
#[derive(Clone, Copy, Default)]
struct Digits {
    /// Those that occur.
    once: u16,
    /// Those that occur more than once.
    twice: u16,
}

impl Digits {
    fn add(&mut self, set: u16) {
        self.twice |= self.once & set;
        self.once |= set;
    }
}

/// The set that holds `digit`; empty for a blank.
fn set_of(digit: u8) -> u16 {
    1u16.checked_shl(u32::from(digit)).unwrap_or(0)
}

fn row(cell: usize) -> usize {
    cell / SIDE
}

fn column(cell: usize) -> usize {
    cell % SIDE
}

/// The number of the 4 by 4 box that holds a cell.
pub(super) fn box_of(cell: usize) -> usize {
    row(cell) / 4 * 4 + column(cell) / 4
}
