//! Cages and the walls around them, as sets of cells.

use super::grids::digit_bit;
use super::random::Random;
use crate::board::cells::{ALL, Cells, each};
use crate::board::{CELLS_9, Grid};

/// The last column, whose cells have no neighbour to the right.
const RIGHTMOST: Cells = column(8);
/// The last row, whose cells have no neighbour below.
const LOWEST: Cells = 0x1FF << 72;

const fn column(number: usize) -> Cells {
    let mut cells = 0;
    let mut row = 0;
    while row < 9 {
        cells |= 1 << (row * 9 + number);
        row += 1;
    }
    cells
}

/// The neighbours of `cells`, some of which may be in `cells`.
fn neighbours(cells: Cells) -> Cells {
    let across = (cells & !RIGHTMOST) << 1 | (cells & !column(0)) >> 1;
    let down = (cells & !LOWEST) << 9 | cells >> 9;
    across | down
}

/// A random cell of `cells`, which must not be empty; `rotation` is a random number of seven bits.
fn random_cell(cells: Cells, rotation: u32) -> usize {
    ((cells.rotate_right(rotation).trailing_zeros() + rotation) % 128) as usize
}

/// A partition of the grid into cages.
pub(super) struct Cages {
    cells: [Cells; CELLS_9],
    count: usize,
}

impl Cages {
    /// One cage of all cells.
    pub(super) fn one() -> Cages {
        Cages::divided(|_| 0)
    }

    fn divided(cage: impl Fn(usize) -> usize) -> Cages {
        let mut cages = Cages { cells: [0; CELLS_9], count: 0 };
        for i in 0..CELLS_9 {
            cages.cells[cage(i)] |= 1 << i;
            cages.count = cages.count.max(cage(i) + 1);
        }
        cages
    }

    /// Cages that hold no digit twice on `grid`, if it is solved: mostly grown at random, sometimes
    /// all rows, columns, boxes or single cells.
    pub(super) fn random(grid: &Grid, random: &mut Random) -> Cages {
        match random.below(64) {
            0 => Cages::divided(|i| i / 9),
            1 => Cages::divided(|i| i % 9),
            2 => Cages::divided(|i| i / 27 * 3 + i % 9 / 3),
            3 => Cages::divided(|i| i),
            _ => {
                let size_max = random.within(2..10) as u32;
                Cages::grown(grid, size_max, random)
            }
        }
    }

    /// Cages as people like them: mostly of two to five cells, and no digit twice on `grid`. Cells that
    /// were left over join a neighbouring cage, if one lacks their digit.
    pub(super) fn for_puzzle(grid: &Grid, random: &mut Random) -> Cages {
        let size_max = random.within(3..6) as u32;
        let mut cages = Cages::grown(grid, size_max, random);
        let digits = |cage: Cells| each(cage).fold(0, |digits, i| digits | digit_bit(grid[i]));
        let mut i = 0;
        while i < cages.count {
            let single = cages.cells[i];
            let around = neighbours(single);
            let takes = |cage: &Cells| {
                cage & around != 0 && cage & single == 0 && digits(*cage) & digits(single) == 0
            };
            let taker = cages.cells[..cages.count].iter().position(takes);
            match taker.filter(|_| single.count_ones() == 1) {
                Some(taker) => {
                    cages.cells[taker] |= single;
                    cages.count -= 1;
                    cages.cells[i] = cages.cells[cages.count];
                }
                None => i += 1,
            }
        }
        cages
    }

    /// Cages that start at random cells and grow by random neighbours with new digits, up to `size_max`
    /// cells.
    fn grown(grid: &Grid, size_max: u32, random: &mut Random) -> Cages {
        let mut holders: [Cells; 9] = [0; 9];
        for (i, digit) in grid.iter().enumerate() {
            holders[usize::from(digit - b'1')] |= 1 << i;
        }
        let mut cages = Cages { cells: [0; CELLS_9], count: 0 };
        let mut open = ALL;
        while open != 0 {
            // 6 bits, and 7 a cell; for the ninth cell of a cage fewer are left of 64.
            let mut bits = random.next();
            let mut draw = |count: u32| {
                let drawn = bits % (1 << count);
                bits >>= count;
                drawn as u32
            };
            let size = 1 + ((draw(6) * size_max) >> 6);
            let (mut cage, mut fitting, mut next) = (0, open, open);
            for _ in 0..size {
                if next == 0 {
                    break;
                }
                let cell = random_cell(next, draw(7));
                cage |= 1 << cell;
                fitting &= !holders[usize::from(grid[cell] - b'1')];
                next = neighbours(cage) & fitting;
            }
            open &= !cage;
            cages.cells[cages.count] = cage;
            cages.count += 1;
        }
        cages
    }

    /// Joins two neighbouring cages that hold a common digit; false if there are none.
    pub(super) fn join_with_repeat(&mut self, grid: &Grid, random: &mut Random) -> bool {
        let cages = &self.cells[..self.count];
        let digits = |cage: Cells| each(cage).fold(0, |digits, i| digits | digit_bit(grid[i]));
        let start = random.below(self.count);
        for kept in (start..self.count).chain(0..start) {
            let around = neighbours(cages[kept]);
            let joined = (0..self.count).find(|&other| {
                let beside = other != kept && around & cages[other] != 0;
                beside && digits(cages[kept]) & digits(cages[other]) != 0
            });
            if let Some(joined) = joined {
                self.count -= 1;
                self.cells[kept] |= self.cells[joined];
                self.cells[joined] = self.cells[self.count];
                return true;
            }
        }
        false
    }

    /// The cells of each cage.
    pub(super) fn members(&self) -> impl Iterator<Item = impl Iterator<Item = usize>> {
        self.cells[..self.count].iter().map(|cage| each(*cage))
    }

    /// How many cages there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// A random cell of a cage.
    pub(super) fn random_cell_of(&self, cage: usize, random: &mut Random) -> usize {
        random_cell(self.cells[cage], random.below(128) as u32)
    }

    /// The sum of the digits of each cage.
    pub(super) fn sums(&self, grid: &Grid) -> [u32; CELLS_9] {
        let mut sums = [0; CELLS_9];
        for (sum, cage) in sums.iter_mut().zip(&self.cells[..self.count]) {
            *sum = each(*cage).map(|i| u32::from(grid[i] - b'0')).sum();
        }
        sums
    }

    /// Whether every cage has its total and holds no digit twice.
    pub(super) fn are_correct(&self, grid: &Grid, totals: &[u32; CELLS_9]) -> bool {
        let distinct = self.cells[..self.count].iter().all(|cage| {
            let digits = each(*cage).fold(0, |digits, i| digits | digit_bit(grid[i]));
            digits.count_ones() == cage.count_ones()
        });
        distinct && self.sums(grid) == *totals
    }
}

/// Where a drawing has walls: to the right of each cell and below it, the frame included.
pub(super) struct Walls {
    pub(super) right: Cells,
    pub(super) below: Cells,
}

impl Walls {
    /// The walls between cages; in some drawings also a few inside cages, between cells that
    /// another path joins.
    pub(super) fn random(cages: &Cages, random: &mut Random) -> Walls {
        let mut walls = Walls { right: ALL, below: ALL };
        for cage in &cages.cells[..cages.count] {
            walls.right &= !(cage & cage >> 1 & !RIGHTMOST);
            walls.below &= !(cage & cage >> 9);
        }
        if random.once_in(8) {
            walls.add_redundant(random);
        }
        walls
    }

    /// Visits the passages in random order; one between cells that are joined already may get a
    /// wall.
    fn add_redundant(&mut self, random: &mut Random) {
        let mut region: [usize; CELLS_9] = core::array::from_fn(|i| i);
        let mut order = region;
        random.shuffle(&mut order);
        for cell in order {
            for (walls, other) in [(&mut self.right, cell + 1), (&mut self.below, cell + 9)] {
                if *walls >> cell & 1 == 1 {
                    continue;
                }
                let (a, b) = (root(&region, cell), root(&region, other));
                if a != b {
                    region[a] = b;
                } else if random.once_in(2) {
                    *walls |= 1 << cell;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::grids::Grids;

    #[test]
    fn cages_are_a_partition_and_walls_leave_each_cage_connected() {
        let mut random = Random::new(8);
        let grids = Grids::new(&mut random);
        let mut redundant = 0;
        for _ in 0..500 {
            let grid = grids.solved(&mut random);
            let cages = Cages::random(&grid, &mut random);
            let members = &cages.cells[..cages.count];
            assert_eq!(members.iter().fold(0, |all, cage| all | cage), ALL);
            assert_eq!(members.iter().map(|cage| cage.count_ones()).sum::<u32>(), 81);
            assert!(cages.are_correct(&grid, &cages.sums(&grid)));

            let walls = Walls::random(&cages, &mut random);
            for cage in members {
                let mut reached = cage & cage.wrapping_neg();
                for _ in 0..CELLS_9 {
                    reached |= (reached & !walls.right) << 1 | (reached & !walls.below) << 9;
                    reached |= reached >> 1 & !walls.right | reached >> 9 & !walls.below;
                }
                assert_eq!(reached, *cage);
                redundant += (cage & cage >> 1 & walls.right & !RIGHTMOST).count_ones();
            }
        }
        assert!(redundant > 0);
    }
}
