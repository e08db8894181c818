//! The kernels for processors with AVX-512 and its permutations of bytes (VBMI), where those for
//! AVX2 are slower. This file alone enters them.

mod classic;
mod hexudoku;
mod lanes;

use super::{LANES, in_batches};
use crate::board::Counted;

/// Whether this processor has AVX-512 with what these kernels use of it, and what those for AVX2 do.
pub(super) fn is_available() -> bool {
    super::avx2::is_available()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512bitalg")
}

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
