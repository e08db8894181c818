//! Prefetching.

#![expect(unsafe_code, reason = "the prefetch instruction has no safe form")]

use core::arch::x86_64::*;

/// Bytes of a cache line.
pub(super) const LINE_BYTES: usize = 64;

/// Prefetches `bytes` into the nearest cache.
#[inline]
pub(super) fn prefetch(bytes: &[u8]) {
    for line in bytes.iter().step_by(LINE_BYTES) {
        // SAFETY: a prefetch has no effect that a program can observe, for any address; this
        // one is of a readable byte.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(line).cast()) };
    }
}
