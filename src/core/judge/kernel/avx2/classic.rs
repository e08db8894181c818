//! Classic: 32 grids side by side, one a lane.

use super::super::prefetch::{LINE_BYTES, prefetch};
use super::LANES;
use super::lanes::{join, table, transpose};
use crate::board::CELLS_9;
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// A grid is loaded in so many pieces of 16 bytes.
const PIECES: usize = 6;

/// So many batches before a batch is judged it is asked for. Pieces at a distance are nothing that
/// a processor foresees, and memory is slow.
const AHEAD: usize = 2;

/// One byte of each grid for each byte of the pieces.
type Bytes = [[__m256i; 16]; PIECES];

/// Which grids of each batch have right houses, appended to `right`; a grid is nine rows of `BYTES`
/// / 9 bytes, of which the first nine are its cells.
#[target_feature(enable = "avx2")]
pub(super) fn batches<const BYTES: usize>(batches: &[[[u8; BYTES]; LANES]], right: &mut Vec<u32>) {
    right.extend(batches.iter().enumerate().map(|(i, batch)| {
        let soon = batches.get(i + AHEAD).map_or(&[][..], |soon| soon.as_flattened());
        classic(batch, soon)
    }));
}

/// Which grids have right houses; `soon` are bytes that will be wanted soon.
#[target_feature(enable = "avx2")]
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]; LANES], soon: &[u8]) -> u32 {
    // A part of them at a time: more lines than a cache can be waiting for hold all else up.
    let mut soon = soon.chunks((BYTES * LANES / PIECES).next_multiple_of(LINE_BYTES));
    let mut part = || soon.next().unwrap_or_default();
    let at = Layout::<BYTES>::STARTS;
    let bytes = [
        piece(grids, at[0], part()),
        piece(grids, at[1], part()),
        piece(grids, at[2], part()),
        piece(grids, at[3], part()),
        piece(grids, at[4], part()),
        piece(grids, at[5], part()),
    ];
    right::<BYTES>(&bytes)
}

/// Where the pieces begin, and what is where in them.
struct Layout<const BYTES: usize>;

impl<const BYTES: usize> Layout<BYTES> {
    /// From one row to the next.
    const PITCH: usize = BYTES / 9;

    /// Where the pieces begin: each at the first cell that is in none before, or as late as the
    /// grid allows.
    const STARTS: [usize; PIECES] = {
        let last = 8 * Self::PITCH + 9 - 16;
        let mut starts = [0; PIECES];
        let mut piece = 1;
        while piece < PIECES {
            let mut next = starts[piece - 1] + 16;
            while next % Self::PITCH >= 9 {
                next += 1;
            }
            starts[piece] = if next < last { next } else { last };
            piece += 1;
        }
        assert!(starts[PIECES - 1] == last, "the pieces cover the grid");
        starts
    };

    /// The byte of all pieces, one behind the other, that holds each cell.
    const CELLS: [usize; CELLS_9] = {
        let mut cells = [0; CELLS_9];
        let mut cell = 0;
        while cell < CELLS_9 {
            let at = cell / 9 * Self::PITCH + cell % 9;
            let mut piece = 0;
            while at >= Self::STARTS[piece] + 16 {
                piece += 1;
            }
            cells[cell] = piece * 16 + at - Self::STARTS[piece];
            cell += 1;
        }
        cells
    };
}

/// The piece that begins at byte `at` of each grid; `soon` are bytes that will be wanted soon.
#[inline]
#[target_feature(enable = "avx2")]
fn piece<const BYTES: usize>(
    grids: &[[u8; BYTES]; LANES],
    at: usize,
    soon: &[u8],
) -> [__m256i; 16] {
    prefetch(soon);
    let two = |i: usize| {
        let [low, high] = [&grids[i], &grids[i + 16]].map(|grid| grid[at..].first_chunk());
        join(low.unwrap_or(&[0; 16]), high.unwrap_or(&[0; 16]))
    };
    let first = [two(0), two(1), two(2), two(3), two(4), two(5), two(6), two(7)];
    transpose(first, [two(8), two(9), two(10), two(11), two(12), two(13), two(14), two(15)])
}

/// Which grids have right houses.
///
/// Each digit becomes a byte with one bit for 1 to 8 and none for 9: nine digits differ exactly if
/// their bytes XOR to 0xFF. If all boxes are right, each band holds each digit three times, so that
/// its third row is right if the other two are; likewise the third column of a stack.
#[inline]
#[target_feature(enable = "avx2")]
fn right<const BYTES: usize>(bytes: &Bytes) -> u32 {
    let mut grid = Grid {
        columns: [_mm256_setzero_si256(); 6],
        all: _mm256_set1_epi8(-1),
        largest: _mm256_set1_epi8(8),
    };
    // Written out, so that what is where is known when this is compiled.
    macro_rules! row {
        ($row:literal) => {{
            let cell = |column: usize| {
                let place = Layout::<BYTES>::CELLS[$row * 9 + column];
                bytes[place / 16][place % 16]
            };
            [
                grid.three(0, [cell(0), cell(1), cell(2)]),
                grid.three(1, [cell(3), cell(4), cell(5)]),
                grid.three(2, [cell(6), cell(7), cell(8)]),
            ]
        }};
    }
    let band = [row!(0), row!(1), row!(2)];
    grid.band(band);
    let band = [row!(3), row!(4), row!(5)];
    grid.band(band);
    let band = [row!(6), row!(7), row!(8)];
    grid.band(band);
    grid.right()
}

/// What is known of the grids so far.
struct Grid {
    /// The first two columns of each stack.
    columns: [__m256i; 6],
    /// All finished houses, ANDed.
    all: __m256i,
    /// The largest digit less one, but at least 8.
    largest: __m256i,
}

impl Grid {
    /// Three cells of a row; what they XOR to.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn three(&mut self, stack: usize, [a, b, c]: [__m256i; 3]) -> __m256i {
        let one = _mm256_set1_epi8(b'1' as i8);
        let [a, b, c] = [_mm256_sub_epi8(a, one), _mm256_sub_epi8(b, one), _mm256_sub_epi8(c, one)];
        let largest = _mm256_max_epu8(a, _mm256_max_epu8(b, c));
        self.largest = _mm256_max_epu8(self.largest, largest);
        let bits = table([1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0]);
        let [a, b] = [_mm256_shuffle_epi8(bits, a), _mm256_shuffle_epi8(bits, b)];
        self.columns[stack * 2] = _mm256_xor_si256(self.columns[stack * 2], a);
        self.columns[stack * 2 + 1] = _mm256_xor_si256(self.columns[stack * 2 + 1], b);
        xor([a, b, _mm256_shuffle_epi8(bits, c)])
    }

    /// The three rows of a band.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn band(&mut self, [first, second, third]: [[__m256i; 3]; 3]) {
        let mut all = _mm256_and_si256(xor(first), xor(second));
        for stack in 0..3 {
            all = _mm256_and_si256(all, xor([first[stack], second[stack], third[stack]]));
        }
        self.all = _mm256_and_si256(self.all, all);
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn right(&self) -> u32 {
        let mut all = self.all;
        for column in self.columns {
            all = _mm256_and_si256(all, column);
        }
        let houses = _mm256_cmpeq_epi8(all, _mm256_set1_epi8(-1));
        let digits = _mm256_cmpeq_epi8(self.largest, _mm256_set1_epi8(8));
        _mm256_movemask_epi8(_mm256_and_si256(houses, digits)) as u32
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor([a, b, c]: [__m256i; 3]) -> __m256i {
    _mm256_xor_si256(a, _mm256_xor_si256(b, c))
}
