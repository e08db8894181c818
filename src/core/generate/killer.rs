//! Killer diagrams: a solved grid divided into cages, correct or faulty.

use super::Sources;
use super::cages::{Cages, Walls};
use super::classic::{change_cell, swap_cells, swap_rows};
use super::grids::Grids;
use super::random::Random;
use crate::board::{CELLS_9, Grid};
use alloc::vec::Vec;

/// Bytes from one line to the next in a drawing.
const PITCH: usize = 38;
const LINES: usize = 19;

/// How a diagram is made faulty.
#[derive(Clone, Copy, PartialEq)]
enum Defect {
    Total,
    CellChanged,
    CellsSwapped,
    RowsSwapped,
    NotADigit,
    CagesJoined,
    OneCage,
    Cyclic,
}

const DEFECTS: [Defect; 8] = [
    Defect::Total,
    Defect::CellChanged,
    Defect::CellsSwapped,
    Defect::RowsSwapped,
    Defect::NotADigit,
    Defect::CagesJoined,
    Defect::OneCage,
    Defect::Cyclic,
];

/// Appends one diagram.
pub(super) fn append(sources: &mut Sources, text: &mut Vec<u8>, answers: &mut Vec<u8>) {
    let defect = sources.next_is_faulty().then(|| sources.random.pick(&DEFECTS));
    let random = &mut sources.random;
    let mut cells = match defect {
        Some(Defect::Cyclic) => Grids::cyclic(random),
        _ => sources.grids.solved(random),
    };
    let mut cages = match defect {
        Some(Defect::OneCage) => Cages::one(),
        _ => Cages::random(&cells, random),
    };
    let joined = defect == Some(Defect::CagesJoined) && cages.join_with_repeat(&cells, random);
    let mut totals = cages.sums(&cells);
    let defect =
        if defect == Some(Defect::CagesJoined) && !joined { Some(Defect::Total) } else { defect };
    if let Some(defect) = defect {
        break_rule(defect, &mut cells, &cages, &mut totals, random);
    }
    let walls = Walls::random(&cages, random);
    write_drawing(&cells, &walls, text);
    write_totals(&cages, &totals, random, text);
    answers.extend_from_slice(if defect.is_some() { b"NotOK\n" } else { b"OK\n" });
}

/// Makes the digits or a total wrong, where the defect is not in the grid or the cages already.
fn break_rule(
    defect: Defect,
    cells: &mut Grid,
    cages: &Cages,
    totals: &mut [u32; CELLS_9],
    random: &mut Random,
) {
    match defect {
        Defect::Total => change_total(cages, totals, random),
        Defect::CellChanged => change_cell(cells, random),
        Defect::CellsSwapped => swap_cells(cells, random),
        Defect::NotADigit => cells[random.below(CELLS_9)] = random.pick(b"AXx0 *?"),
        Defect::RowsSwapped => {
            // The houses stay correct, and so may the cages.
            let (band, order) = (random.below(3) * 3, random.dice().permutation::<3>());
            swap_rows(cells, band + order[0], band + order[1]);
            if cages.are_correct(cells, totals) {
                change_total(cages, totals, random);
            }
        }
        Defect::CagesJoined | Defect::OneCage | Defect::Cyclic => {}
    }
}

/// Raises the total of a cage by 1 to 5, or lowers it where it stays above zero.
fn change_total(cages: &Cages, totals: &mut [u32; CELLS_9], random: &mut Random) {
    let total = &mut totals[random.below(cages.count())];
    let by = random.within(1..6) as u32;
    *total = if random.once_in(2) && *total > by { *total - by } else { *total + by };
}

const EDGE: &[u8; PITCH] = b"+---+---+---+---+---+---+---+---+---+\n";
const ROW: &[u8; PITCH] = b"|   |   |   |   |   |   |   |   |   |\n";

/// A drawing with all walls and no digits.
const DRAWING: [u8; PITCH * LINES] = {
    let mut drawing = [0; PITCH * LINES];
    let mut i = 0;
    while i < drawing.len() {
        drawing[i] = if (i / PITCH).is_multiple_of(2) { EDGE[i % PITCH] } else { ROW[i % PITCH] };
        i += 1;
    }
    drawing
};

fn write_drawing(cells: &Grid, walls: &Walls, text: &mut Vec<u8>) {
    let start = text.len();
    text.extend_from_slice(&DRAWING);
    // The walls of the frame are drawn again, so that all cells are treated alike.
    let lines = text[start + PITCH..].chunks_exact_mut(2 * PITCH);
    for (row, (lines, cells)) in lines.zip(cells.chunks_exact(9)).enumerate() {
        let (right, below) = (walls.right >> (row * 9), walls.below >> (row * 9));
        let (line, under) = lines.split_at_mut(PITCH);
        for (column, digit) in cells.iter().enumerate() {
            let at = column * 4 + 2;
            line[at] = *digit;
            line[at + 2] = [b' ', b'|'][(right as usize) >> column & 1];
            under[at - 1..at + 2].copy_from_slice([b"   ", b"---"][(below as usize) >> column & 1]);
        }
    }
}

/// Writes a line for each cage, in random order, naming it by a random cell of it.
fn write_totals(cages: &Cages, totals: &[u32; CELLS_9], random: &mut Random, text: &mut Vec<u8>) {
    let mut order: [usize; CELLS_9] = core::array::from_fn(|i| i);
    let order = &mut order[..cages.count()];
    random.shuffle(order);
    for &cage in order.iter() {
        let cell = cages.random_cell_of(cage, random);
        text.extend_from_slice(&[b'1' + (cell / 9) as u8, b' ', b'1' + (cell % 9) as u8, b' ']);
        write_number(totals[cage], text);
        text.push(b'\n');
    }
}

/// Writes a number of at most three digits.
fn write_number(number: u32, text: &mut Vec<u8>) {
    let digit = |place: u32| b'0' + (number / place % 10) as u8;
    if number >= 100 {
        text.push(digit(100));
    }
    if number >= 10 {
        text.push(digit(10));
    }
    text.push(digit(1));
}
