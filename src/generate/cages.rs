//! Cages and the walls around them.

use super::grids::digit_bit;
use super::random::Random;
use crate::board::{CELLS_9, Grid};

const NONE: u8 = u8::MAX;

/// Each cell's cage, numbered from 0.
pub(super) struct Cages {
    of: [u8; CELLS_9],
    count: usize,
}

impl Cages {
    /// One cage of all cells.
    pub(super) fn one() -> Cages {
        Cages { of: [0; CELLS_9], count: 1 }
    }

    /// Cages that hold no digit twice on `cells`, a solved grid: mostly grown at random, now and
    /// then all rows, columns, boxes or single cells.
    pub(super) fn draw(cells: &Grid, random: &mut Random) -> Cages {
        let by = |cage: fn(usize) -> usize, count| Cages {
            of: std::array::from_fn(|i| cage(i) as u8),
            count,
        };
        match random.below(64) {
            0 => by(|i| i / 9, 9),
            1 => by(|i| i % 9, 9),
            2 => by(|i| i / 27 * 3 + i % 9 / 3, 9),
            3 => by(|i| i, 81),
            _ => Cages::grow(cells, random),
        }
    }

    fn grow(cells: &Grid, random: &mut Random) -> Cages {
        let mut cages = Cages { of: [NONE; CELLS_9], count: 0 };
        for seed in random.shuffled_cells() {
            if cages.of[seed] == NONE {
                let size = random.pick(&[1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 9]);
                cages.grow_one(seed, size, cells, random);
            }
        }
        cages
    }

    /// Grows a cage from `seed` by random neighbours to at most `size` cells.
    fn grow_one(&mut self, seed: usize, size: usize, cells: &Grid, random: &mut Random) {
        let cage = self.count as u8;
        self.count += 1;
        self.of[seed] = cage;
        let mut members = [seed; 9];
        let mut digits = digit_bit(cells[seed]);
        let mut grown = 1;
        let mut misses = 0;
        while grown < size && misses < 8 {
            let mut dice = random.dice();
            let from = members[dice.below(grown)];
            let fitting = neighbour(from, dice.below(4))
                .filter(|&cell| self.of[cell] == NONE && digits & digit_bit(cells[cell]) == 0);
            if let Some(cell) = fitting {
                self.of[cell] = cage;
                members[grown] = cell;
                digits |= digit_bit(cells[cell]);
                grown += 1;
            } else {
                misses += 1;
            }
        }
    }

    /// Makes one cage of two neighbours that hold a common digit; says whether there are such.
    pub(super) fn join_with_repeat(&mut self, cells: &Grid, random: &mut Random) -> bool {
        let mut digits = [0; CELLS_9];
        for (cage, cell) in self.of.iter().zip(cells) {
            digits[usize::from(*cage)] |= digit_bit(*cell);
        }
        for cell in random.shuffled_cells() {
            for other in (0..4).filter_map(|direction| neighbour(cell, direction)) {
                let (kept, gone) = (self.of(cell), self.of(other));
                if kept != gone && digits[kept] & digits[gone] != 0 {
                    self.join(kept as u8, gone as u8);
                    return true;
                }
            }
        }
        false
    }

    /// Puts the cells of the cage `gone` to `kept`, and gives its number to the last cage.
    fn join(&mut self, kept: u8, gone: u8) {
        let last = (self.count - 1) as u8;
        for cage in self.of.iter_mut().filter(|cage| **cage == gone) {
            *cage = kept;
        }
        for cage in self.of.iter_mut().filter(|cage| **cage == last) {
            *cage = gone;
        }
        self.count -= 1;
    }

    /// The cage of a cell.
    pub(super) fn of(&self, cell: usize) -> usize {
        usize::from(self.of[cell])
    }

    /// How many cages there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// What the digits of each cage add up to.
    pub(super) fn sums(&self, cells: &Grid) -> [u32; CELLS_9] {
        let mut sums = [0; CELLS_9];
        for (cage, cell) in self.of.iter().zip(cells) {
            sums[usize::from(*cage)] += u32::from(cell - b'0');
        }
        sums
    }

    /// Whether every cage keeps its total and holds no digit twice.
    pub(super) fn are_right(&self, cells: &Grid, totals: &[u32; CELLS_9]) -> bool {
        let mut digits = [0; CELLS_9];
        let distinct = self.of.iter().zip(cells).all(|(cage, cell)| {
            let (digits, bit) = (&mut digits[usize::from(*cage)], digit_bit(*cell));
            let new = *digits & bit == 0;
            *digits |= bit;
            new
        });
        distinct && self.sums(cells) == *totals
    }
}

/// The neighbour above, to the left, to the right or below.
fn neighbour(cell: usize, direction: usize) -> Option<usize> {
    let (row, column) = (cell / 9, cell % 9);
    match direction {
        0 => (row > 0).then(|| cell - 9),
        1 => (column > 0).then(|| cell - 1),
        2 => (column < 8).then(|| cell + 1),
        _ => (row < 8).then(|| cell + 9),
    }
}

/// Where a drawing has walls: to the right of each cell and below it, the frame included.
pub(super) struct Walls {
    pub(super) right: [bool; CELLS_9],
    pub(super) below: [bool; CELLS_9],
}

impl Walls {
    /// The walls between cages; in some drawings also a few inside cages, where another path joins
    /// the cells.
    pub(super) fn draw(cages: &Cages, random: &mut Random) -> Walls {
        let mut walls = Walls {
            right: std::array::from_fn(|i| i % 9 == 8 || cages.of[i] != cages.of[i + 1]),
            below: std::array::from_fn(|i| i / 9 == 8 || cages.of[i] != cages.of[i + 9]),
        };
        if random.once_in(8) {
            walls.add_needless(random);
        }
        walls
    }

    /// Opens passages one after the other; one that joins what is joined already may get a wall.
    fn add_needless(&mut self, random: &mut Random) {
        let mut region: [usize; CELLS_9] = std::array::from_fn(|i| i);
        for cell in random.shuffled_cells() {
            for (wall, other) in
                [(&mut self.right[cell], cell + 1), (&mut self.below[cell], cell + 9)]
            {
                if *wall {
                    continue;
                }
                let (a, b) = (root(&region, cell), root(&region, other));
                if a == b {
                    *wall = random.once_in(2);
                } else {
                    region[a] = b;
                }
            }
        }
    }
}

fn root(region: &[usize; CELLS_9], cell: usize) -> usize {
    let mut cell = cell;
    while region[cell] != cell {
        cell = region[cell];
    }
    cell
}
