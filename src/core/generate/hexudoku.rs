//! Hexudoku boards, with the count from a solver of this module's own.

use super::Sources;
use super::grids::lines;
use super::random::Random;
use crate::board::CELLS_16;
use crate::format::hexudoku::{BLANK, Board, SIDE};
use alloc::string::ToString;
use alloc::vec::Vec;

/// Appends one board.
pub(super) fn append(sources: &mut Sources, text: &mut Vec<u8>, answers: &mut Vec<u8>) {
    let faulty = sources.next_is_faulty();
    let random = &mut sources.random;
    let mut board = if faulty { with_conflict(random) } else { without_conflicts(random) };
    write_rows(&board, random, text);
    let filled = fill(&mut board);
    answers.extend_from_slice(filled.to_string().as_bytes());
    answers.push(b'\n');
}

/// A board without conflicts: some cells of a solved one, or no cells.
fn without_conflicts(random: &mut Random) -> Board {
    let mut board = if random.once_in(16) { [BLANK; CELLS_16] } else { solved(random) };
    let density = random.below(257);
    keep(&mut board, density, random);
    board
}

/// A board with at least one conflict: some cells of a solved board or of random digits, and one
/// digit twice in a row, column or box.
fn with_conflict(random: &mut Random) -> Board {
    let mut board = if random.once_in(4) { solved(random) } else { noise(random) };
    let density = random.below(257);
    keep(&mut board, density, random);
    let cell = random.below(CELLS_16);
    let (row, column) = (cell / SIDE, cell % SIDE);
    let away = random.within(1..SIDE);
    let other = match random.below(3) {
        0 => row * SIDE + (column + away) % SIDE,
        1 => (row + away) % SIDE * SIDE + column,
        _ => {
            let place = (row % 4 * 4 + column % 4 + away) % SIDE;
            (row / 4 * 4 + place / 4) * SIDE + column / 4 * 4 + place % 4
        }
    };
    let digit = random.below(SIDE) as u8;
    (board[cell], board[other]) = (digit, digit);
    board
}

/// A completed board without conflicts.
pub(super) fn solved(random: &mut Random) -> Board {
    let labels = random.dice().permutation::<SIDE>();
    let mut dice = random.dice();
    let (rows, columns) = (lines::<SIDE, 4>(&mut dice), lines::<SIDE, 4>(&mut dice));
    let mut board = [BLANK; CELLS_16];
    for (cells, row) in board.chunks_exact_mut(SIDE).zip(rows) {
        for (cell, column) in cells.iter_mut().zip(columns) {
            *cell = labels[(row % 4 * 4 + row / 4 + column) % SIDE] as u8;
        }
    }
    board
}

fn noise(random: &mut Random) -> Board {
    let mut board = [BLANK; CELLS_16];
    for cells in board.chunks_exact_mut(8) {
        for (cell, byte) in cells.iter_mut().zip(random.next().to_le_bytes()) {
            *cell = byte % 16;
        }
    }
    board
}

/// Keeps `density` of 256 cells on average, and blanks the others.
fn keep(board: &mut Board, density: usize, random: &mut Random) {
    for cells in board.chunks_exact_mut(8) {
        for (cell, byte) in cells.iter_mut().zip(random.next().to_le_bytes()) {
            *cell = if usize::from(byte) < density { *cell } else { BLANK };
        }
    }
}

/// Writes a board, sometimes with some letters in lower case.
fn write_rows(board: &Board, random: &mut Random, text: &mut Vec<u8>) {
    let mixed = random.once_in(16);
    for cells in board.chunks_exact(SIDE) {
        let small = if mixed { random.next() } else { 0 };
        let row: [u8; SIDE] = core::array::from_fn(|i| {
            // Digits and `-` have this bit set anyway; upper-case letters become lower case.
            b"0123456789ABCDEF-"[usize::from(cells[i])] | ((small >> i & 1) as u8) << 5
        });
        text.extend_from_slice(&row);
        text.push(b'\n');
    }
}

/// Fills each blank in reading order with the smallest digit that its row, column and box do not
/// hold; returns how many are filled.
fn fill(board: &mut Board) -> u32 {
    // One bit a digit, and one for blanks, which is ignored.
    let (mut rows, mut columns, mut boxes) = ([0_u32; SIDE], [0_u32; SIDE], [0_u32; SIDE]);
    let houses = |cell: usize| {
        let (row, column) = (cell / SIDE, cell % SIDE);
        (row, column, row / 4 * 4 + column / 4)
    };
    for (cell, digit) in board.iter().enumerate() {
        let (row, column, box_) = houses(cell);
        let bit = 1 << digit;
        rows[row] |= bit;
        columns[column] |= bit;
        boxes[box_] |= bit;
    }
    let mut filled = 0;
    for (cell, digit) in board.iter_mut().enumerate() {
        let (row, column, box_) = houses(cell);
        let taken = (rows[row] | columns[column] | boxes[box_]) & !(1 << BLANK);
        let smallest = taken.trailing_ones().min(u32::from(BLANK)) as u8;
        let blank = *digit == BLANK;
        *digit = if blank { smallest } else { *digit };
        filled += u32::from(blank && smallest < BLANK);
        let bit = 1 << *digit;
        rows[row] |= bit;
        columns[column] |= bit;
        boxes[box_] |= bit;
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_board_is_filled_completely_and_a_cell_without_a_choice_stays_blank() {
        assert_eq!(fill(&mut [BLANK; CELLS_16]), 256);

        // The first row holds 0 to E after its first cell, and the column of that cell holds F.
        let mut board = [BLANK; CELLS_16];
        for (cell, digit) in board[1..16].iter_mut().zip(0..) {
            *cell = digit;
        }
        board[4 * SIDE] = 15;
        fill(&mut board);
        assert_eq!(board[0], BLANK);
    }

    #[test]
    fn boards_have_conflicts_exactly_if_they_are_made_with_one() {
        let mut random = Random::new(5);
        let conflicts = |board: &Board| {
            (0..CELLS_16).any(|a| {
                (0..a).any(|b| {
                    let row = a / SIDE == b / SIDE;
                    let column = a % SIDE == b % SIDE;
                    let box_ = a / 64 == b / 64 && a % SIDE / 4 == b % SIDE / 4;
                    board[a] != BLANK && board[a] == board[b] && (row || column || box_)
                })
            })
        };
        for _ in 0..100 {
            assert!(!conflicts(&without_conflicts(&mut random)));
            assert!(conflicts(&with_conflict(&mut random)));
        }
    }
}
