//! The kernels for processors with AVX2. Only this file calls the modules below it.

#![expect(unsafe_code, reason = "calls functions that need AVX2, after asking the processor")]

mod classic;
mod hexudoku;
mod killer;
mod lanes;

use super::{LANES, in_batches};
use crate::board::Counted;
pub(super) use crate::cpu::has_avx2 as is_available;
use crate::format::Case;
use alloc::vec::Vec;

/// Which of at most [`LANES`] grids are correct; `None` if this processor has no AVX2.
pub(super) fn classic<const BYTES: usize>(grids: &[[u8; BYTES]]) -> Option<u32> {
    if !is_available() {
        return None;
    }
    let mut rest;
    let batch = match grids.try_into() {
        Ok(batch) => batch,
        Err(_) => {
            // The batch is completed by grids of zeros, which are wrong.
            rest = [[0; BYTES]; LANES];
            rest[..grids.len()].copy_from_slice(grids);
            &rest
        }
    };
    // SAFETY: `classic::classic` enables AVX2 and nothing else, and the processor has AVX2.
    Some(unsafe { classic::classic(batch, &[]) })
}

/// As [`classic`] for each batch of grids, appended to `right`; if this processor has no AVX2,
/// appends nothing and returns false.
pub(super) fn classic_batches<const BYTES: usize>(
    grids: &[[u8; BYTES]],
    right: &mut Vec<u32>,
) -> bool {
    if !is_available() {
        return false;
    }
    let (batches, rest) = grids.as_chunks();
    // SAFETY: `classic::batches` enables AVX2 and nothing else, and the processor has AVX2.
    unsafe { classic::batches(batches, right) };
    if !rest.is_empty() {
        right.extend(classic(rest));
    }
    true
}

/// Appends the counts of each board; if this processor has no AVX2, appends nothing and returns
/// false.
pub(super) fn hexudoku<const BYTES: usize>(
    boards: &[[u8; BYTES]],
    counts: &mut Vec<Option<Counted>>,
) -> bool {
    if !is_available() {
        return false;
    }
    in_batches(boards, counts, |batches, counts| {
        // SAFETY: `hexudoku::hexudoku` enables AVX2 and nothing else, and the processor has AVX2.
        unsafe { hexudoku::hexudoku(batches, counts) }
    });
    true
}

/// Which of at most [`LANES`] diagrams are correct, as far as they are regular; `None` if this
/// processor has no AVX2.
pub(super) fn killer(window: &[u8], cases: &[Case]) -> Option<u32> {
    if !is_available() {
        return None;
    }
    // SAFETY: `killer::killer` enables AVX2, BMI1 and POPCNT, and the processor has all three.
    Some(unsafe { killer::killer(window, cases) })
}
