//! Classic: one grid at a time, its houses side by side, one in each lane of bytes.

use super::LANES;
use super::lanes::{load, xor};
use alloc::vec::Vec;
use core::arch::x86_64::*;

/// How many houses are checked. If all boxes are correct, each band holds each digit three times,
/// so that its third row is correct if the other two are; likewise the third column of a stack.
const HOUSES: usize = 9 + 6 + 6;

/// Each house is read in three parts of three cells.
const PARTS: usize = 3;

/// Which of at most [`LANES`] grids are correct, bit `i` for `grids[i]`. A grid is nine rows of
/// `BYTES` / 9 bytes, of which the first nine are its cells.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]]) -> u32 {
    debug_assert!(grids.len() <= LANES);
    let judge = Houses::new::<BYTES>();
    grids
        .iter()
        .enumerate()
        .fold(0, |right, (i, grid)| right | u32::from(judge.are_right(grid)) << i)
}

/// As [`classic`] for each batch of grids, appended to `right`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
pub(super) fn batches<const BYTES: usize>(grids: &[[u8; BYTES]], right: &mut Vec<u32>) {
    right.extend(grids.chunks(LANES).map(|batch| classic(batch)));
}

/// Which bytes of a grid are where in vectors.
///
/// ```text
/// bytes of the grid   the first 64, then the 64 that end with its last cell
/// parts               the first part of each of 21 houses, then the second of each, then the third
/// ```
struct Layout<const BYTES: usize>;

impl<const BYTES: usize> Layout<BYTES> {
    /// Bytes from one row to the next.
    const PITCH: usize = BYTES / 9;

    /// Where the last 64 bytes begin.
    const LAST: usize = 8 * Self::PITCH + 9 - 64;

    /// Which of the first 64 bytes are cells, and which of the last 64.
    const CELLS: [u64; 2] = {
        let mut cells = [0; 2];
        let mut byte = 0;
        while byte < 64 {
            cells[0] |= ((byte % Self::PITCH < 9) as u64) << byte;
            cells[1] |= (((Self::LAST + byte) % Self::PITCH < 9) as u64) << byte;
            byte += 1;
        }
        cells
    };

    /// The bytes that hold the first cell of each part, the second cells, and the third cells.
    const PLACES: [[u8; 64]; 3] = {
        let mut places = [[0; 64]; 3];
        let mut i = 0;
        while i < HOUSES * PARTS * 3 {
            let (house, part, cell) = (i / 9, i % 9 / 3, i % 3);
            let [row, column] = cell_of(house, part * 3 + cell);
            let at = row * Self::PITCH + column;
            let at = if at < 64 { at } else { 64 + at - Self::LAST };
            places[cell][part * HOUSES + house] = at as u8;
            i += 1;
        }
        places
    };
}

/// Row and column of a cell of a house that is checked: boxes, then rows, then columns.
const fn cell_of(house: usize, cell: usize) -> [usize; 2] {
    // The first two rows or columns of each three.
    let line = (house + 3) % 6 / 2 * 3 + (house + 3) % 6 % 2;
    match house {
        0..9 => [house / 3 * 3 + cell / 3, house % 3 * 3 + cell % 3],
        9..15 => [line, cell],
        _ => [cell, line],
    }
}

/// The vectors that are the same for all grids.
struct Houses {
    /// See [`Layout::PLACES`].
    places: [__m512i; 3],
    /// The second and the third part of each house.
    parts: [__m512i; 2],
    /// One bit for each digit from 1 to 8, and none for 9.
    bits: __m512i,
}

impl Houses {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn new<const BYTES: usize>() -> Houses {
        let places = Layout::<BYTES>::PLACES;
        let part = |part: usize| load(&core::array::from_fn(|lane| (part * HOUSES + lane) as u8));
        let mut bits = [0; 64];
        for (i, bits) in bits.iter_mut().enumerate() {
            *bits = if i % 16 < 8 { 1 << (i % 16) } else { 0 };
        }
        Houses {
            places: [load(&places[0]), load(&places[1]), load(&places[2])],
            parts: [part(1), part(2)],
            bits: load(&bits),
        }
    }

    /// Whether all houses of a grid are correct: nine digits differ exactly if the XOR of their
    /// bytes is 0xFF.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn are_right<const BYTES: usize>(&self, grid: &[u8; BYTES]) -> bool {
        let last = Layout::<BYTES>::LAST;
        let first = grid.first_chunk().unwrap_or(&[0; 64]);
        let last = grid[last..].first_chunk().unwrap_or(&[0; 64]);
        let one = _mm512_set1_epi8(b'1' as i8);
        let (first, last) = (_mm512_sub_epi8(load(first), one), _mm512_sub_epi8(load(last), one));
        let [first_cells, last_cells] = Layout::<BYTES>::CELLS;
        let nine = _mm512_set1_epi8(8);
        let no_digits = _mm512_mask_cmpgt_epu8_mask(first_cells, first, nine)
            | _mm512_mask_cmpgt_epu8_mask(last_cells, last, nine);
        let first = _mm512_shuffle_epi8(self.bits, first);
        let last = _mm512_shuffle_epi8(self.bits, last);
        let [a, b, c] = self.places;
        let parts = xor(
            _mm512_permutex2var_epi8(first, a, last),
            _mm512_permutex2var_epi8(first, b, last),
            _mm512_permutex2var_epi8(first, c, last),
        );
        let [second, third] = self.parts;
        let houses = xor(
            parts,
            _mm512_permutexvar_epi8(second, parts),
            _mm512_permutexvar_epi8(third, parts),
        );
        let looked_at = (1 << HOUSES) - 1;
        let wrong = _mm512_mask_cmpneq_epi8_mask(looked_at, houses, _mm512_set1_epi8(-1));
        no_digits | wrong == 0
    }
}
