//! Memory that will be wanted soon.

use core::arch::x86_64::*;

/// Bytes of a cache line.
pub(super) const LINE_BYTES: usize = 64;

/// Asks for `bytes`, so that they are in the nearest cache when they are read.
#[inline]
pub(super) fn prefetch(bytes: &[u8]) {
    for line in bytes.iter().step_by(LINE_BYTES) {
        // SAFETY: asking for an address has no effect on what the program sees, whatever the
        // address is, and here it is that of a byte which may be read.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(line).cast()) };
    }
}
