//! Classic blocks: a puzzle, and solutions that are correct or faulty.

use super::Sources;
use super::grids::{Grids, is_solved};
use super::random::Random;
use crate::board::{CELLS_9, Grid};
use alloc::string::ToString;
use alloc::vec::Vec;

/// Bytes from one row to the next in the text of a solution.
const PITCH: usize = 10;

/// Appends one block.
pub(super) fn append(
    sources: &mut Sources,
    solutions: u64,
    text: &mut Vec<u8>,
    answers: &mut Vec<u8>,
) {
    let family = Family::new(sources);
    let givens = family.givens(&mut sources.random);
    text.extend_from_slice(solutions.to_string().as_bytes());
    text.push(b'\n');
    write_rows(&givens, text);
    for _ in 0..solutions {
        let cells = family.member(sources);
        if sources.next_is_faulty() {
            write_faulty(&cells, &givens, &mut sources.random, text);
            answers.push(b'N');
        } else {
            write_rows(&cells, text);
            answers.push(b'Y');
        }
    }
    answers.push(b'\n');
}

/// Solved grids that agree on some cells, which may be givens.
struct Family {
    grid: Grid,
    free: Free,
}

/// How the grids of a family differ.
enum Free {
    /// In everything: there can be no givens.
    All,
    /// In the places of the first `digits_free` of `digits`, and in the order of the rows of a
    /// band.
    Some { digits: [u8; 9], digits_free: usize, band: Option<usize> },
}

impl Family {
    fn new(sources: &mut Sources) -> Family {
        let grid = sources.grids.solved(&mut sources.random);
        let random = &mut sources.random;
        let (digits_free, band) = match random.below(8) {
            0 | 1 => return Family { grid, free: Free::All },
            2 => (0, None),
            3 => (0, Some(random.below(3))),
            4 => (2, Some(random.below(3))),
            _ => (random.within(2..5), None),
        };
        let mut digits = *b"123456789";
        random.shuffle(&mut digits);
        Family { grid, free: Free::Some { digits, digits_free, band } }
    }

    /// Some of the cells on which all members agree; the others are open.
    fn givens(&self, random: &mut Random) -> Grid {
        let open = random.pick(b"****.0");
        let Free::Some { digits, digits_free, band } = &self.free else {
            return [open; CELLS_9];
        };
        let density = random.within(8..65);
        core::array::from_fn(|i| {
            let digit = self.grid[i];
            let fixed = *band != Some(i / 27) && !digits[..*digits_free].contains(&digit);
            if fixed && random.below(64) < density { digit } else { open }
        })
    }

    /// A solved grid that keeps the givens.
    fn member(&self, sources: &mut Sources) -> Grid {
        let Free::Some { digits, digits_free, band } = &self.free else {
            return sources.grids.solved(&mut sources.random);
        };
        let mut renamed = *digits;
        sources.random.shuffle(&mut renamed[..*digits_free]);
        let mut labels = [0; 9];
        for (digit, renamed) in digits.iter().zip(renamed) {
            labels[usize::from(digit - b'1')] = renamed;
        }
        let mut rows = [0, 1, 2, 3, 4, 5, 6, 7, 8];
        if let Some(band) = band {
            sources.random.shuffle(&mut rows[band * 3..band * 3 + 3]);
        }
        let mut cells = [0; CELLS_9];
        for (cells, row) in cells.chunks_exact_mut(9).zip(rows) {
            for (cell, digit) in cells.iter_mut().zip(&self.grid[row * 9..row * 9 + 9]) {
                *cell = labels[usize::from(digit - b'1')];
            }
        }
        cells
    }
}

fn write_rows(cells: &Grid, text: &mut Vec<u8>) {
    for row in cells.chunks_exact(9) {
        text.extend_from_slice(row);
        text.push(b'\n');
    }
}

/// How a solution is made faulty.
#[derive(Clone, Copy)]
enum Defect {
    CellChanged,
    CellsSwapped,
    RowsSwapped,
    NotADigit,
    ShortRow,
    LongRow,
    GivenChanged,
    Cyclic,
}

const DEFECTS: [Defect; 8] = [
    Defect::CellChanged,
    Defect::CellsSwapped,
    Defect::RowsSwapped,
    Defect::NotADigit,
    Defect::ShortRow,
    Defect::LongRow,
    Defect::GivenChanged,
    Defect::Cyclic,
];

/// Writes `cells`, a correct solution, with one defect.
fn write_faulty(cells: &Grid, givens: &Grid, random: &mut Random, text: &mut Vec<u8>) {
    let mut cells = *cells;
    let start = text.len();
    match random.pick(&DEFECTS) {
        Defect::CellChanged => change_cell(&mut cells, random),
        Defect::CellsSwapped => swap_cells(&mut cells, random),
        Defect::RowsSwapped => swap_rows_across_bands(&mut cells, random),
        Defect::NotADigit => cells[random.below(CELLS_9)] = random.pick(b"ABXYZabxyz0*.,- ?"),
        Defect::GivenChanged => change_given(&mut cells, givens, random),
        Defect::Cyclic => cells = Grids::cyclic(random),
        Defect::ShortRow => {
            write_rows(&cells, text);
            let end = start + random.below(9) * PITCH + 9;
            text.drain(end - random.within(1..10)..end);
            return;
        }
        Defect::LongRow => {
            write_rows(&cells, text);
            let end = start + random.below(9) * PITCH + 9;
            text.insert(end, random.pick(b"123456789"));
            return;
        }
    }
    write_rows(&cells, text);
}

/// Puts another digit into one cell, which makes its row hold that digit twice.
pub(super) fn change_cell(cells: &mut Grid, random: &mut Random) {
    let cell = random.below(CELLS_9);
    let other = (cells[cell] - b'1' + random.within(1..9) as u8) % 9;
    cells[cell] = b'1' + other;
}

/// Swaps two cells with different digits. They share a row or a column at most, so at least the
/// houses of the other direction become wrong.
pub(super) fn swap_cells(cells: &mut Grid, random: &mut Random) {
    loop {
        let (a, b) = (random.below(CELLS_9), random.below(CELLS_9));
        if cells[a] != cells[b] {
            cells.swap(a, b);
            return;
        }
    }
}

/// Swaps rows of different bands until a box becomes wrong.
fn swap_rows_across_bands(cells: &mut Grid, random: &mut Random) {
    while is_solved(cells) {
        let (a, b) = (random.below(9), random.below(9));
        if a / 3 != b / 3 {
            swap_rows(cells, a, b);
        }
    }
}

/// Swaps two rows.
pub(super) fn swap_rows(cells: &mut Grid, a: usize, b: usize) {
    for column in 0..9 {
        cells.swap(a * 9 + column, b * 9 + column);
    }
}

/// Swaps the digit of a given with another one in the whole grid, which stays solved; if there is
/// no given, changes a cell.
fn change_given(cells: &mut Grid, givens: &Grid, random: &mut Random) {
    let start = random.below(CELLS_9);
    let given = (0..CELLS_9).map(|i| (start + i) % CELLS_9).find(|&i| givens[i] == cells[i]);
    let Some(given) = given else {
        return change_cell(cells, random);
    };
    let digit = cells[given];
    let other = b'1' + (digit - b'1' + random.within(1..9) as u8) % 9;
    for cell in cells.iter_mut() {
        if *cell == digit {
            *cell = other;
        } else if *cell == other {
            *cell = digit;
        }
    }
}
