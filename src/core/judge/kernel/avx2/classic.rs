//! Classic: 32 grids side by side, one in each lane of bytes.

use super::super::prefetch::{LINE_BYTES, prefetch};
use super::LANES;
use super::lanes::{join, table, transpose};
use crate::board::CELLS_9;
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// How many pieces of 16 bytes a grid is loaded in.
const PIECES: usize = 6;

/// How many batches ahead grids are prefetched. The processor does not do so by itself, since
/// pieces are loaded from 32 places at a time, and memory is slow.
const PREFETCH_AHEAD: usize = 2;

/// One byte of each grid for each byte of the pieces.
type Bytes = [[__m256i; 16]; PIECES];

/// Which grids of each batch are correct, appended to `right`; a grid is nine rows of `BYTES` / 9
/// bytes, of which the first nine are its cells.
#[target_feature(enable = "avx2")]
pub(super) fn batches<const BYTES: usize>(batches: &[[[u8; BYTES]; LANES]], right: &mut Vec<u32>) {
    right.extend(batches.iter().enumerate().map(|(i, batch)| {
        let next = batches.get(i + PREFETCH_AHEAD).map_or(&[][..], |next| next.as_flattened());
        classic(batch, next)
    }));
}

/// Which grids are correct; the bytes `next` are prefetched.
#[target_feature(enable = "avx2")]
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]; LANES], next: &[u8]) -> u32 {
    // A part of them with each piece: a cache can wait for a few lines at a time only, and
    // prefetching more delays every other load.
    let mut next = next.chunks((BYTES * LANES / PIECES).next_multiple_of(LINE_BYTES));
    let mut part = || next.next().unwrap_or_default();
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

/// Where the pieces begin in a grid, and which byte of them holds which cell.
struct Layout<const BYTES: usize>;

impl<const BYTES: usize> Layout<BYTES> {
    /// Bytes from one row to the next.
    const PITCH: usize = BYTES / 9;

    /// Where the pieces begin: each at the first cell that is in no piece before, but no later than
    /// 16 bytes before the end of the cells.
    const STARTS: [usize; PIECES] = {
        let last = 8 * Self::PITCH + 9 - 16;
        let mut starts = [0; PIECES];
        let mut piece = 1;
        while piece < PIECES {
            let mut start = starts[piece - 1] + 16;
            while start % Self::PITCH >= 9 {
                start += 1;
            }
            starts[piece] = if start < last { start } else { last };
            piece += 1;
        }
        assert!(starts[PIECES - 1] == last, "the pieces cover the grid");
        starts
    };

    /// For each cell, its byte in the sequence of all pieces.
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

/// The piece that begins at byte `at` of each grid, transposed; the bytes `next` are prefetched.
#[inline]
#[target_feature(enable = "avx2")]
fn piece<const BYTES: usize>(
    grids: &[[u8; BYTES]; LANES],
    at: usize,
    next: &[u8],
) -> [__m256i; 16] {
    prefetch(next);
    let two = |i: usize| {
        let [low, high] = [&grids[i], &grids[i + 16]].map(|grid| grid[at..].first_chunk());
        join(low.unwrap_or(&[0; 16]), high.unwrap_or(&[0; 16]))
    };
    let first = [two(0), two(1), two(2), two(3), two(4), two(5), two(6), two(7)];
    transpose(first, [two(8), two(9), two(10), two(11), two(12), two(13), two(14), two(15)])
}

/// Which grids are correct.
///
/// Each digit becomes a byte with one bit set for 1 to 8 and none for 9: nine digits differ exactly
/// if the XOR of their bytes is 0xFF. If all boxes are correct, each band holds each digit three
/// times, so that its third row is correct if the other two are; likewise the third column of a
/// stack.
#[inline]
#[target_feature(enable = "avx2")]
fn right<const BYTES: usize>(bytes: &Bytes) -> u32 {
    let mut grid = Grid {
        columns: [_mm256_setzero_si256(); 6],
        all: _mm256_set1_epi8(-1),
        largest: _mm256_set1_epi8(8),
    };
    // Written out, so that the place of each cell is a constant.
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

/// The houses of all 32 grids, as far as they are read.
struct Grid {
    /// The XOR of the first two columns of each stack.
    columns: [__m256i; 6],
    /// The AND of all complete houses.
    all: __m256i,
    /// The largest digit minus one, or 8 if that is larger. More means a cell that is not a digit.
    largest: __m256i,
}

impl Grid {
    /// Adds three cells of a row; returns their XOR.
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

    /// Adds the three rows of a band.
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
