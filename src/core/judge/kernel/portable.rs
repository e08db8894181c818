//! The kernels in plain Rust: sets of digits as bit masks, and no branch that depends on a cell.

use super::super::hexudoku::box_of;
use super::LANES;
use crate::board::{CELLS_16, Counted};
use crate::format::Case;
use crate::format::hexudoku::{BLANK, CELL_OF, SIDE, WRONG};
use crate::format::killer::{Sketch, Totals, sketch};
use alloc::vec::Vec;

/// All nine digits as a set: bit 0 is for 1.
const ALL_9: u32 = 0x1FF;

/// The set that holds the digit of each byte of text, and no digit for other bytes.
const SET_OF: [u32; 256] = {
    let mut table = [0; 256];
    let mut digit = 0;
    while digit < 9 {
        table[b'1' as usize + digit] = 1 << digit;
        digit += 1;
    }
    table
};

/// Which grids are correct.
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]]) -> u32 {
    let grids = grids.iter().enumerate();
    grids.fold(0, |right, (i, grid)| right | u32::from(houses_right(grid)) << i)
}

/// Whether each of the 27 houses holds all nine digits, which nine cells can only do if they
/// differ.
fn houses_right<const BYTES: usize>(grid: &[u8; BYTES]) -> bool {
    // Nine bits for each of the three columns of a stack, side by side.
    let mut columns = [0u32; 3];
    let mut all = ALL_9;
    for band in grid.chunks_exact(BYTES / 3) {
        let mut boxes = [0u32; 3];
        for row in band.chunks_exact(BYTES / 9) {
            let mut in_row = 0;
            let (cells, _) = row[..9].as_chunks::<3>();
            for ((cells, columns), in_box) in cells.iter().zip(&mut columns).zip(&mut boxes) {
                let [a, b, c] = cells.map(|cell| SET_OF[usize::from(cell)]);
                *columns |= a | b << 9 | c << 18;
                *in_box |= a | b | c;
                in_row |= a | b | c;
            }
            all &= in_row;
        }
        all &= boxes[0] & boxes[1] & boxes[2];
    }
    columns.iter().fold(all, |all, columns| all & columns & columns >> 9 & columns >> 18) == ALL_9
}

/// What each byte of text adds to a counter: four bits a digit that count it, and the sum of the
/// digits above them.
const COUNTER_OF: [u64; 256] = {
    let mut table = [0; 256];
    let mut digit = 1;
    while digit <= 9 {
        table[b'0' as usize + digit] = 1 << (4 * (digit - 1)) | (digit as u64) << SUM_SHIFT;
        digit += 1;
    }
    table
};

/// Where the sum begins in a counter.
const SUM_SHIFT: u32 = 36;

/// The bits of a counter of which one is set if some digit occurs more than once, and at most 15
/// times.
const REPEATED: u64 = 0xE_EEEE_EEEE;

/// Which regular diagrams are correct.
pub(super) fn killer(window: &[u8], cases: &[Case]) -> u32 {
    let mut read = Sketch::default();
    let cases = cases.iter().enumerate();
    cases.fold(0, |right, (i, case)| {
        let totals = sketch(&window[case.start..case.end], &mut read);
        let is_right =
            totals.is_some_and(|totals| cages(&read, totals) && houses_right(&read.cells));
        right | u32::from(is_right) << i
    })
}

/// Whether each cage has one total, and digits that differ and add up to it, provided that all rows
/// are correct.
fn cages(sketch: &Sketch, mut totals: Totals) -> bool {
    // A digit that occurs in a cage more than 15 times overflows its four bits, but then it occurs
    // in some row twice.
    let mut counters = [0u64; 256];
    let mut left = 0;
    for ((text, first), cell) in sketch.cells.iter().zip(&sketch.first_of).zip(0..) {
        counters[usize::from(*first)] += COUNTER_OF[usize::from(*text)];
        left += i32::from(*first == cell);
    }
    let mut wrong = 0;
    for (named, total) in &mut totals {
        // A second total for the cage finds repeated digits.
        let counter = &mut counters[usize::from(sketch.first_of[named.index_9()])];
        let counter = core::mem::replace(counter, REPEATED);
        wrong |= counter & REPEATED | (counter >> SUM_SHIFT ^ u64::from(total));
        left -= 1;
    }
    wrong == 0 && left == 0 && totals.is_empty()
}

/// The set that holds the digit of each byte of text, bit 0 for 0, and no digit for a blank.
const SET_OF_16: [u16; 256] = {
    let mut table = [0; 256];
    let mut text = 0;
    while text < 256 {
        if CELL_OF[text] < BLANK {
            table[text] = 1 << CELL_OF[text];
        }
        text += 1;
    }
    table
};

/// One number for each board of a batch, which are filled side by side.
type Lanes = [u16; LANES];

/// The houses of one sort of each board: the digits that occur, and those that occur more than
/// once.
#[derive(Clone, Copy)]
struct Houses {
    once: [Lanes; SIDE],
    twice: [Lanes; SIDE],
}

impl Houses {
    const EMPTY: Houses = Houses { once: [[0; LANES]; SIDE], twice: [[0; LANES]; SIDE] };

    fn add(&mut self, house: usize, sets: &Lanes) {
        let (once, twice) = (&mut self.once[house], &mut self.twice[house]);
        for lane in 0..LANES {
            twice[lane] |= once[lane] & sets[lane];
            once[lane] |= sets[lane];
        }
    }

    fn conflicts(&self, lane: usize) -> u16 {
        self.twice.iter().map(|twice| u16::from(twice[lane] != 0)).sum()
    }
}

/// Appends the counts of each board.
pub(super) fn hexudoku<const BYTES: usize>(
    boards: &[[u8; BYTES]],
    counts: &mut Vec<Option<Counted>>,
) {
    let mut cells = [[0; LANES]; CELLS_16];
    for boards in boards.chunks(LANES) {
        let mut ored = [0u8; LANES];
        for ((lane, board), ored) in boards.iter().enumerate().zip(&mut ored) {
            let rows = cells.chunks_exact_mut(SIDE).zip(board.chunks_exact(BYTES / SIDE));
            for (sets, text) in rows.flat_map(|(cells, row)| cells.iter_mut().zip(row)) {
                sets[lane] = SET_OF_16[usize::from(*text)];
                *ored |= CELL_OF[usize::from(*text)];
            }
        }
        // Lanes without a board hold one of the batch before, whose counts are not taken.
        let counted = fill(&cells);
        let readable =
            ored.iter().zip(counted).map(|(ored, counted)| (ored & WRONG == 0).then_some(counted));
        counts.extend(readable.take(boards.len()));
    }
}

/// Fills boards side by side, one a lane; `cells` are the sets of their cells, empty for a blank.
fn fill(cells: &[Lanes; CELLS_16]) -> [Counted; LANES] {
    let (mut rows, mut columns, mut boxes) = (Houses::EMPTY, Houses::EMPTY, Houses::EMPTY);
    for (cell, sets) in cells.iter().enumerate() {
        rows.add(cell / SIDE, sets);
        columns.add(cell % SIDE, sets);
        boxes.add(box_of(cell), sets);
    }
    let mut filled = [0u16; LANES];
    let mut blanks = [0u16; LANES];
    for (cell, sets) in cells.iter().enumerate() {
        let row = &mut rows.once[cell / SIDE];
        let column = &mut columns.once[cell % SIDE];
        let in_box = &mut boxes.once[box_of(cell)];
        for lane in 0..LANES {
            let is_blank = if sets[lane] == 0 { u16::MAX } else { 0 };
            let open = !(row[lane] | column[lane] | in_box[lane]) & is_blank;
            let placed = open & open.wrapping_neg();
            row[lane] |= placed;
            column[lane] |= placed;
            in_box[lane] |= placed;
            filled[lane] += u16::from(placed != 0);
            blanks[lane] += is_blank & 1;
        }
    }
    core::array::from_fn(|lane| Counted {
        filled: filled[lane],
        blank: blanks[lane] - filled[lane],
        conflicts: rows.conflicts(lane) + columns.conflicts(lane) + boxes.conflicts(lane),
    })
}
