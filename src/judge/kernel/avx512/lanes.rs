//! Vectors of 64 bytes.

use std::arch::x86_64::*;

/// 64 bytes as they lie in memory.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load(bytes: &[u8; 64]) -> __m512i {
    let eight = |i: usize| {
        let bytes = bytes[i * 8..].first_chunk().unwrap_or(&[0; 8]);
        i64::from_le_bytes(*bytes)
    };
    _mm512_setr_epi64(
        eight(0),
        eight(1),
        eight(2),
        eight(3),
        eight(4),
        eight(5),
        eight(6),
        eight(7),
    )
}

/// What three vectors XOR to.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn xor(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}
