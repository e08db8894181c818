//! The kernels for processors with AVX-512 and its permutations of bytes (VBMI), where those for
//! AVX2 are slower. This file alone enters them.

mod classic;
mod hexudoku;
mod lanes;

pub(super) use crate::cpu::has_avx512 as is_available;
use alloc::vec::Vec;

use super::{LANES, in_batches};
use crate::board::Counted;

/// Which of at most [`LANES`] grids have right houses; `None` if this processor has no AVX-512.
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]]) -> Option<u32> {
    if !is_available() {
        return None;
    }
    // SAFETY: the function asks for nothing but parts of AVX-512, which this processor has.
    Some(unsafe { classic::classic(grids) })
}

/// As [`classic`] of each batch of grids, appended to `right`; false, and nothing, if this processor
/// has no AVX-512.
pub(super) fn classic_batches<const BYTES: usize>(
    grids: &[[u8; BYTES]],
    right: &mut Vec<u32>,
) -> bool {
    if !is_available() {
        return false;
    }
    // SAFETY: as above.
    unsafe { classic::batches(grids, right) };
    true
}

/// Appends what becomes of each board; false, and nothing, if this processor has no AVX-512.
pub(super) fn hexudoku<const BYTES: usize>(
    boards: &[[u8; BYTES]],
    counts: &mut Vec<Option<Counted>>,
) -> bool {
    if !is_available() {
        return false;
    }
    in_batches(boards, counts, |batches, counts| {
        // SAFETY: as above.
        unsafe { hexudoku::hexudoku(batches, counts) }
    });
    true
}
