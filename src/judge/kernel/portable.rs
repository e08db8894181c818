//! The kernels in plain Rust: sets of digits as bit masks, and no branch that depends on a cell.

use super::LANES;
use crate::board::{CELLS_9, CELLS_16, Counted, Grid};
use crate::format::hexudoku::Board;
use crate::format::killer::Diagram;

/// All nine digits as a set: bit 0 is for 1.
const ALL_9: u16 = 0x1FF;

/// The set that holds the digit of each byte of text, and no digit for other bytes.
const SET_OF: [u16; 256] = {
    let mut table = [0; 256];
    let mut digit = 0;
    while digit < 9 {
        table[b'1' as usize + digit] = 1 << digit;
        digit += 1;
    }
    table
};

/// Which grids are right and keep to `givens`.
pub(super) fn classic(grids: &[Grid], givens: &Grid) -> u32 {
    let grids = grids.iter().enumerate();
    grids.fold(0, |right, (i, cells)| {
        right | u32::from(houses_right(cells) & keeps_givens(cells, givens)) << i
    })
}

/// Whether each of the 27 houses holds all nine digits: nine cells can do so only if they differ.
fn houses_right(cells: &Grid) -> bool {
    let mut columns = [0u16; 9];
    let mut right = ALL_9;
    for band in cells.chunks_exact(27) {
        let mut thirds = [0u16; 9];
        for row in band.chunks_exact(9) {
            let mut sets = [0u16; 9];
            for (set, cell) in sets.iter_mut().zip(row) {
                *set = SET_OF[usize::from(*cell)];
            }
            right &= sets.iter().fold(0, |row, set| row | set);
            for ((set, column), third) in sets.iter().zip(&mut columns).zip(&mut thirds) {
                *column |= set;
                *third |= set;
            }
        }
        for thirds in thirds.chunks_exact(3) {
            right &= thirds[0] | thirds[1] | thirds[2];
        }
    }
    columns.iter().fold(right, |right, column| right & column) == ALL_9
}

/// Whether each given stands in its cell.
fn keeps_givens(cells: &Grid, givens: &Grid) -> bool {
    let pairs = cells.iter().zip(givens);
    pairs.fold(0, |changed, (cell, given)| {
        changed | (u8::from(given != cell) & u8::from(*given != b'.'))
    }) == 0
}

/// Four bits a digit that count it, and the sum of the digits above them.
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

/// The bits of a counter that are set if some digit is there more than once, and at most 15 times.
const REPEATED: u64 = 0xE_EEEE_EEEE;

/// Whether the houses and cages of `diagram` are all right.
pub(super) fn killer(diagram: &Diagram) -> bool {
    // A digit that is in a cage more than nine times overflows its four bits, but then it is in
    // some row twice.
    let mut counters = [0u64; CELLS_9];
    for (cell, cage) in diagram.cells.iter().zip(&diagram.cage_of) {
        counters[usize::from(*cage)] += COUNTER_OF[usize::from(*cell)];
    }
    let wrong = diagram.cages.iter().zip(&counters).fold(0, |wrong, (cage, counter)| {
        wrong | counter & REPEATED | (counter >> SUM_SHIFT ^ u64::from(cage.total))
    });
    houses_right(&diagram.cells) & (wrong == 0)
}

/// Cells of a row of a hexudoku board.
const SIDE: usize = 16;

/// The set that holds each digit of a hexudoku board, bit 0 for 0, and no digit for a blank.
const SET_OF_16: [u16; 256] = {
    let mut table = [0; 256];
    let mut digit = 0;
    while digit < SIDE {
        table[digit] = 1 << digit;
        digit += 1;
    }
    table
};

/// One number for each board of a batch, which are filled side by side.
type Lanes = [u16; LANES];

/// What a house of each board holds: digits that are there, and digits that are there twice.
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

/// The number of the 4 by 4 box that holds a cell.
fn box_of(cell: usize) -> usize {
    cell / SIDE / 4 * 4 + cell % SIDE / 4
}

/// Appends what becomes of each board.
pub(super) fn hexudoku(boards: &[Board], counts: &mut Vec<Counted>) {
    let mut cells = [[0; LANES]; CELLS_16];
    for boards in boards.chunks(LANES) {
        for (lane, board) in boards.iter().enumerate() {
            for (sets, digit) in cells.iter_mut().zip(board) {
                sets[lane] = SET_OF_16[usize::from(*digit)];
            }
        }
        // Lanes without a board hold one of the batch before; nobody asks for its counts.
        let counted = fill(&cells);
        counts.extend_from_slice(&counted[..boards.len()]);
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
    std::array::from_fn(|lane| Counted {
        filled: filled[lane],
        blank: blanks[lane] - filled[lane],
        conflicts: rows.conflicts(lane) + columns.conflicts(lane) + boxes.conflicts(lane),
    })
}
