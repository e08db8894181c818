//! The kernels for processors with AVX-512 and its permutations of bytes (VBMI), where those for
//! AVX2 are slower. Only this file
//! calls into them.

#![expect(
    unsafe_code,
    reason = "calls functions that need parts of AVX-512, after asking the processor"
)]

mod classic;
mod hexudoku;
mod lanes;

use super::{LANES, in_batches};
use crate::board::Counted;
pub(super) use crate::cpu::has_avx512 as is_available;
use alloc::vec::Vec;

/// Which of at most [`LANES`] grids have right houses; `None` if this processor has no AVX-512.
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]]) -> Option<u32> {
    if !is_available() {
        return None;
    }
    // SAFETY: `classic::classic` enables parts of AVX-512 that `is_available` has asked for.
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
    // SAFETY: `classic::batches` enables parts of AVX-512 that `is_available` has asked for.
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
        // SAFETY: `hexudoku::hexudoku` enables parts of AVX-512 that `is_available` has asked for.
        unsafe { hexudoku::hexudoku(batches, counts) }
    });
    true
}
