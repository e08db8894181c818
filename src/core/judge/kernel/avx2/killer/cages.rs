//! The houses and cages of 32 drawings side by side, one in each lane.
//!
//! A cage is found without a list of its cells and without a branch on a wall: each cell starts
//! with its own number and digit, and takes over what its neighbours know where no wall is between,
//! until nothing changes. Then all cells of a cage know its largest number, which names the cage,
//! and the set of its digits.

use super::super::LANES;
use super::super::lanes::{table, transpose, words};
use super::drawing::{BELOW, CELL_OF, Cells, RIGHT};
use crate::board::CELLS_9;
use core::arch::x86_64::*;

/// One cell of each drawing, a byte each.
type Lanes = __m256i;

/// The cages of 32 drawings, and in which of these the houses are correct.
pub(super) struct FoundCages {
    /// For each cell the cage that it is in, of each drawing at its [`place`](FoundCages::place):
    /// in the lower byte the sum of its different digits, in the upper byte a number below 128 that
    /// no other cage of the drawing has. Valid only where the houses are correct.
    pub cages: [[u16; LANES]; CELLS_9],
    /// In which drawings all houses are correct, bit `i` for drawing `i`.
    pub right: u32,
}

impl FoundCages {
    /// The index of the drawing in this lane among the numbers of all 32.
    pub fn place(lane: usize) -> usize {
        lane & 7 | (lane & 8) << 1 | (lane & 16) >> 1
    }
}

/// Finds the cages of 32 drawings, and the drawings in which all houses are correct.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn find(drawings: &[Cells; LANES]) -> FoundCages {
    let cells = side_by_side(drawings);
    let empty = [_mm256_setzero_si256(); CELLS_9];
    let mut cages = Cages { cages: empty, digits: empty, right: empty, below: empty };
    let right = cages.start(&cells);
    cages.join();
    let mut found = FoundCages { cages: [[0; LANES]; CELLS_9], right };
    for (cell, numbers) in found.cages.iter_mut().enumerate() {
        let Known { cage, digits } = cages.known(cell);
        let sum = sum(cage, digits);
        let cage = _mm256_and_si256(cage, _mm256_set1_epi8(!NINE));
        let (low, high) = numbers.split_at_mut(LANES / 2);
        low.copy_from_slice(&words(_mm256_unpacklo_epi8(sum, cage)));
        high.copy_from_slice(&words(_mm256_unpackhi_epi8(sum, cage)));
    }
    found
}

/// The cells of all drawings, transposed to one drawing in each lane.
#[inline]
#[target_feature(enable = "avx2")]
fn side_by_side(drawings: &[Cells; LANES]) -> [Lanes; CELLS_9] {
    let mut cells = [_mm256_setzero_si256(); CELLS_9];
    for (vector, cell_of) in CELL_OF.as_chunks::<2>().0.iter().enumerate() {
        let low = |i: usize| {
            let (first, last) = (drawings[i][vector], drawings[i + 16][vector]);
            _mm256_permute2x128_si256::<0x20>(first, last)
        };
        let high = |i: usize| {
            let (first, last) = (drawings[i][vector], drawings[i + 16][vector]);
            _mm256_permute2x128_si256::<0x31>(first, last)
        };
        let first = [low(0), low(1), low(2), low(3), low(4), low(5), low(6), low(7)];
        let last = [low(8), low(9), low(10), low(11), low(12), low(13), low(14), low(15)];
        put(&mut cells, &cell_of[0], &transpose(first, last));
        let first = [high(0), high(1), high(2), high(3), high(4), high(5), high(6), high(7)];
        let last = [high(8), high(9), high(10), high(11), high(12), high(13), high(14), high(15)];
        put(&mut cells, &cell_of[1], &transpose(first, last));
    }
    cells
}

/// Moves bytes to the cells that they stand for.
#[inline]
#[target_feature(enable = "avx2")]
fn put(cells: &mut [Lanes; CELLS_9], cell_of: &[Option<u8>; 16], bytes: &[Lanes; 16]) {
    for (cell, lanes) in cell_of.iter().zip(bytes) {
        if let Some(cell) = cell {
            cells[usize::from(*cell)] = *lanes;
        }
    }
}

/// The bit in the number of a cage that says that it holds a 9.
const NINE: i8 = -128;

/// What each cell knows of its cage, and where walls are.
struct Cages {
    /// The largest number of a cell in its cage so far; a cell with a 9 has the larger number for
    /// it.
    cages: [Lanes; CELLS_9],
    /// The digits from 1 to 8 in its cage so far, a bit each.
    digits: [Lanes; CELLS_9],
    /// All ones where no wall is to the right of the cell.
    right: [Lanes; CELLS_9],
    /// All ones where no wall is below the cell.
    below: [Lanes; CELLS_9],
}

impl Cages {
    /// Starts each cell with its own number, digit and walls. Returns in which drawings the houses
    /// are correct.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn start(&mut self, cells: &[Lanes; CELLS_9]) -> u32 {
        let zero = _mm256_setzero_si256();
        // A house is correct if the XOR of its digits is 0xFF, where a 9 has no bit.
        let bits = table([0, 1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0]);
        let (mut columns, mut boxes) = ([zero; 9], [zero; 9]);
        let (mut right, mut largest) = (_mm256_set1_epi8(-1), _mm256_set1_epi8(8));
        for (row, cells) in cells.as_chunks::<9>().0.iter().enumerate() {
            let mut in_row = zero;
            for (column, lanes) in cells.iter().enumerate() {
                let cell = row * 9 + column;
                let digit = _mm256_and_si256(*lanes, _mm256_set1_epi8(0x0F));
                largest = _mm256_max_epu8(largest, _mm256_sub_epi8(digit, _mm256_set1_epi8(1)));
                let nine = _mm256_cmpeq_epi8(digit, _mm256_set1_epi8(9));
                let nine = _mm256_and_si256(nine, _mm256_set1_epi8(NINE));
                let set = _mm256_shuffle_epi8(bits, digit);
                in_row = _mm256_xor_si256(in_row, set);
                columns[column] = _mm256_xor_si256(columns[column], set);
                let in_box = &mut boxes[row / 3 * 3 + column / 3];
                *in_box = _mm256_xor_si256(*in_box, set);
                self.digits[cell] = set;
                self.cages[cell] = _mm256_or_si256(nine, _mm256_set1_epi8(cell as i8));
                self.right[cell] = has_none(*lanes, RIGHT);
                self.below[cell] = has_none(*lanes, BELOW);
            }
            right = _mm256_and_si256(right, in_row);
        }
        for house in columns.iter().chain(&boxes) {
            right = _mm256_and_si256(right, *house);
        }
        let houses = _mm256_cmpeq_epi8(right, _mm256_set1_epi8(-1));
        let digits = _mm256_cmpeq_epi8(largest, _mm256_set1_epi8(8));
        _mm256_movemask_epi8(_mm256_and_si256(houses, digits)) as u32
    }

    /// Spreads what cells know over their cages: row by row, downwards and upwards, each cell takes
    /// over what its neighbours know, until nothing changes.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn join(&mut self) {
        self.row(0, None);
        loop {
            let mut changed = _mm256_setzero_si256();
            for row in 1..9 {
                changed = _mm256_or_si256(changed, self.row(row, Some(row - 1)));
            }
            if _mm256_testz_si256(changed, changed) == 1 {
                break;
            }
            let mut changed = _mm256_setzero_si256();
            for row in (0..8).rev() {
                changed = _mm256_or_si256(changed, self.row(row, Some(row + 1)));
            }
            if _mm256_testz_si256(changed, changed) == 1 {
                break;
            }
        }
    }

    /// Spreads what is known within a row, and to it from the row `beside` it, if given. Returns
    /// bits that are set where anything changed.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn row(&mut self, row: usize, beside: Option<usize>) -> __m256i {
        let zero = _mm256_setzero_si256();
        let mut old = [Known { cage: zero, digits: zero }; 9];
        let (mut left, mut is_open) = (old[0], zero);
        for (column, old) in old.iter_mut().enumerate() {
            let cell = row * 9 + column;
            *old = self.known(cell);
            let mut known = old.and(left, is_open);
            if let Some(beside) = beside {
                let other = beside * 9 + column;
                known = known.and(self.known(other), self.below[cell.min(other)]);
            }
            (left, is_open) = (known, self.right[cell]);
            (self.cages[cell], self.digits[cell]) = (known.cage, known.digits);
        }
        let (mut right, mut changed) = (left, zero);
        for (column, old) in old.iter().enumerate().rev() {
            let cell = row * 9 + column;
            let known = self.known(cell).and(right, self.right[cell]);
            (self.cages[cell], self.digits[cell]) = (known.cage, known.digits);
            changed = _mm256_or_si256(changed, _mm256_xor_si256(known.cage, old.cage));
            changed = _mm256_or_si256(changed, _mm256_xor_si256(known.digits, old.digits));
            right = known;
        }
        changed
    }

    #[inline]
    fn known(&self, cell: usize) -> Known {
        Known { cage: self.cages[cell], digits: self.digits[cell] }
    }
}

/// What a cell knows of its cage; see [`Cages`].
#[derive(Clone, Copy)]
struct Known {
    cage: Lanes,
    digits: Lanes,
}

impl Known {
    /// Adds what a neighbour knows, where no wall is between.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn and(&self, other: Known, is_open: Lanes) -> Known {
        let other_cage = _mm256_and_si256(other.cage, is_open);
        let other_digits = _mm256_and_si256(other.digits, is_open);
        Known {
            cage: _mm256_max_epu8(self.cage, other_cage),
            digits: _mm256_or_si256(self.digits, other_digits),
        }
    }
}

/// All ones where this bit is clear in `lanes`.
#[inline]
#[target_feature(enable = "avx2")]
fn has_none(lanes: Lanes, bit: i8) -> Lanes {
    let bit = _mm256_and_si256(lanes, _mm256_set1_epi8(bit));
    _mm256_cmpeq_epi8(bit, _mm256_setzero_si256())
}

/// The sum of the different digits of a cage.
#[inline]
#[target_feature(enable = "avx2")]
fn sum(cage: Lanes, digits: Lanes) -> Lanes {
    let one_to_four = table([0, 1, 2, 3, 3, 4, 5, 6, 4, 5, 6, 7, 7, 8, 9, 10]);
    let five_to_eight = table([0, 5, 6, 11, 7, 12, 13, 18, 8, 13, 14, 19, 15, 20, 21, 26]);
    let low = _mm256_and_si256(digits, _mm256_set1_epi8(15));
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(digits), _mm256_set1_epi8(15));
    let sum = _mm256_add_epi8(
        _mm256_shuffle_epi8(one_to_four, low),
        _mm256_shuffle_epi8(five_to_eight, high),
    );
    let has_nine = _mm256_cmpgt_epi8(_mm256_setzero_si256(), cage);
    _mm256_add_epi8(sum, _mm256_and_si256(has_nine, _mm256_set1_epi8(9)))
}
