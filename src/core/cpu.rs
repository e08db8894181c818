//! What the processor can do.
//!
//! The only place that may use the standard library, since `core` cannot detect features. Each tier
//! of kernels has one function here, which names every feature that the tier's functions enable.

#![cfg(target_arch = "x86_64")]

extern crate std;

use std::is_x86_feature_detected as has;

/// Whether the AVX2 kernels can run here.
pub(crate) fn has_avx2() -> bool {
    has!("avx2") && has!("bmi1") && has!("popcnt")
}

/// Whether the AVX-512 kernels can run here; they use AVX2 for killer.
pub(crate) fn has_avx512() -> bool {
    has_avx2() && has!("avx512f") && has!("avx512bw") && has!("avx512vbmi") && has!("avx512bitalg")
}
