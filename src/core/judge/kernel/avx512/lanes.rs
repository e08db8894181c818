//! Vectors of 64 bytes.

use core::arch::x86_64::*;

/// Loads 64 bytes.
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

/// The XOR of three vectors.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn xor(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0x96>(a, b, c)
}

/// The OR of three vectors.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn or(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    _mm512_ternarylogic_epi64::<0xFE>(a, b, c)
}

/// 16 bytes in each quarter.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn four([a, b, c, d]: [&[u8; 16]; 4]) -> __m512i {
    let sixteen = |bytes: &[u8; 16]| {
        let both = u128::from_le_bytes(*bytes);
        _mm_set_epi64x((both >> 64) as i64, both as i64)
    };
    let all = _mm512_castsi128_si512(sixteen(a));
    let all = _mm512_mask_broadcast_i32x4(all, 0x00F0, sixteen(b));
    let all = _mm512_mask_broadcast_i32x4(all, 0x0F00, sixteen(c));
    _mm512_mask_broadcast_i32x4(all, 0xF000, sixteen(d))
}

/// Turns 16 bytes of each of 32 boards into eight vectors that hold two bytes of each board.
///
/// Vector `i` has those of the boards `i`, `i + 8`, `i + 16` and `i + 24`, a quarter each. Pair `p`
/// of bytes of board `i` moves from place `p` of a quarter of vector `i` to place `i` of the same
/// quarter of vector `p`. Each interleaving rotates the bits of the numbers of vector and place by
/// one:
///
/// ```text
///     i2 i1 i0, p2 p1 p0  ->  i1 i0 p2, p1 p0 i2  ->  i0 p2 p1, p0 i2 i1  ->  p2 p1 p0, i2 i1 i0
/// ```
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn transpose(boards: [__m512i; 8]) -> [__m512i; 8] {
    interleave(interleave(interleave(boards)))
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave([a, b, c, d, e, f, g, h]: [__m512i; 8]) -> [__m512i; 8] {
    let low = |a, b| _mm512_unpacklo_epi16(a, b);
    let high = |a, b| _mm512_unpackhi_epi16(a, b);
    [low(a, e), high(a, e), low(b, f), high(b, f), low(c, g), high(c, g), low(d, h), high(d, h)]
}
