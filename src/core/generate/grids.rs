//! Solved grids: a few are found by search, all others are shuffles of them.

use super::random::{Dice, Random};
use crate::board::{CELLS_9, Grid, House};

/// How many grids are found by search.
const BASES: usize = 8;
const OPEN: u8 = b'.';

/// A source of solved grids.
pub(super) struct Grids {
    bases: [Grid; BASES],
}

impl Grids {
    pub(super) fn new(random: &mut Random) -> Grids {
        let bases = core::array::from_fn(|_| {
            let mut cells = [OPEN; CELLS_9];
            complete(&mut cells, random);
            cells
        });
        Grids { bases }
    }

    /// A solved grid: a base with its digits renamed, its bands, stacks and the rows and columns in
    /// them reordered, and half of them transposed.
    pub(super) fn solved(&self, random: &mut Random) -> Grid {
        shuffled(&self.bases[random.below(BASES)], random)
    }

    /// A grid whose rows and columns are correct, and whose boxes are not.
    pub(super) fn cyclic(random: &mut Random) -> Grid {
        let labels = random.dice().permutation::<9>();
        core::array::from_fn(|i| b'1' + labels[(i / 9 + i % 9) % 9] as u8)
    }
}

fn shuffled(base: &Grid, random: &mut Random) -> Grid {
    // There are 9! * 6^8 * 2 shuffles, about 2^40, which is far below the 2^64 of one draw.
    let mut dice = random.dice();
    let labels = dice.permutation::<9>().map(|label| b'1' + label as u8);
    let (rows, columns) = (lines::<9, 3>(&mut dice), lines::<9, 3>(&mut dice));
    let (down, across) = if dice.below(2) == 0 { (9, 1) } else { (1, 9) };
    let mut cells = [0; CELLS_9];
    for (cells, row) in cells.chunks_exact_mut(9).zip(rows) {
        for (cell, column) in cells.iter_mut().zip(columns) {
            *cell = labels[usize::from(base[row * down + column * across] - b'1')];
        }
    }
    cells
}

/// The rows or columns of a board in a random order that keeps boxes together: bands are reordered,
/// and the lines of each band.
pub(super) fn lines<const SIDE: usize, const BOX: usize>(dice: &mut Dice) -> [usize; SIDE] {
    let bands = dice.permutation::<BOX>();
    let mut lines = [0; SIDE];
    for (lines, band) in lines.chunks_exact_mut(BOX).zip(bands) {
        for (line, within) in lines.iter_mut().zip(dice.permutation::<BOX>()) {
            *line = band * BOX + within;
        }
    }
    lines
}

/// Whether all 27 houses hold the digits 1 to 9.
pub(super) fn is_solved(cells: &Grid) -> bool {
    House::all_9().all(|house| {
        let digits = house.cells_9().into_iter().map(|i| digit_bit(cells[i]));
        digits.fold(0, |seen, bit| seen | bit) == 0b11_1111_1110
    })
}

/// One bit for a digit, as text, from bit 1 for `1` to bit 9 for `9`; none for anything else.
pub(super) fn digit_bit(text: u8) -> u16 {
    if (b'1'..=b'9').contains(&text) { 1 << (text - b'0') } else { 0 }
}

/// Fills the open cells at random, always the cell with the fewest choices next; false if it
/// cannot.
fn complete(cells: &mut Grid, random: &mut Random) -> bool {
    let open = (0..CELLS_9).filter(|&i| cells[i] == OPEN);
    let Some((cell, taken)) =
        open.map(|i| (i, taken(cells, i))).max_by_key(|(_, taken)| taken.count_ones())
    else {
        return true;
    };
    for label in random.dice().permutation::<9>() {
        let digit = b'1' + label as u8;
        if taken & digit_bit(digit) == 0 {
            cells[cell] = digit;
            if complete(cells, random) {
                return true;
            }
        }
    }
    cells[cell] = OPEN;
    false
}

/// The digits in the houses of a cell.
fn taken(cells: &Grid, cell: usize) -> u16 {
    let (row, column) = (cell / 9, cell % 9);
    let corner = row / 3 * 27 + column / 3 * 3;
    (0..9).fold(0, |taken, i| {
        taken
            | digit_bit(cells[row * 9 + i])
            | digit_bit(cells[i * 9 + column])
            | digit_bit(cells[corner + i / 3 * 9 + i % 3])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn solved_grids_are_solved_and_differ() {
        let mut random = Random::new(3);
        let grids = Grids::new(&mut random);
        assert!(grids.bases.iter().all(is_solved));
        let many = (0..1_000).map(|_| grids.solved(&mut random)).collect::<Vec<_>>();
        assert!(many.iter().all(is_solved));
        let distinct = many.iter().collect::<alloc::collections::BTreeSet<_>>();
        assert_eq!(distinct.len(), many.len());
    }

    #[test]
    fn a_cyclic_grid_breaks_boxes_alone() {
        let cells = Grids::cyclic(&mut Random::new(4));
        for house in House::all_9() {
            let digits = house.cells_9().into_iter().fold(0, |seen, i| seen | digit_bit(cells[i]));
            let whole = digits == 0b11_1111_1110;
            assert_eq!(whole, !matches!(house, House::Box(_)), "{house}");
        }
    }
}
