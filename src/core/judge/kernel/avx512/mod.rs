//! The kernels for processors with AVX-512 and its permutations of bytes (VBMI): only those that
//! are faster than the ones for AVX2. Only this file calls the modules below it.

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

/// Which of at most [`LANES`] grids are correct; `None` if this processor has no AVX-512.
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]]) -> Option<u32> {
    if !is_available() {
        return None;
    }
    // SAFETY: `classic::classic` enables parts of AVX-512 that `is_available` has asked for.
    Some(unsafe { classic::classic(grids) })
}

/// As [`classic`] for each batch of grids, appended to `right`; if this processor has no AVX-512,
/// appends nothing and returns false.
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

/// Appends the counts of each board; if this processor has no AVX-512, appends nothing and returns
/// false.
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
