//! From boards in memory to boards side by side, one a lane.

use core::arch::x86_64::*;

/// 16 bytes in the lower half and 16 in the upper.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn join(low: &[u8; 16], high: &[u8; 16]) -> __m256i {
    _mm256_blend_epi32::<0xF0>(twice(low), twice(high))
}

/// 16 bytes in both halves.
#[inline]
#[target_feature(enable = "avx2")]
fn twice(bytes: &[u8; 16]) -> __m256i {
    let both = u128::from_le_bytes(*bytes);
    _mm256_broadcastsi128_si256(_mm_set_epi64x((both >> 64) as i64, both as i64))
}

/// A table of 16 bytes in both halves.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn table(bytes: [i8; 16]) -> __m256i {
    twice(&bytes.map(|byte| byte as u8))
}

/// Turns 16 bytes of each of 32 boards into 16 vectors that hold one byte of each board.
///
/// Byte `b` of board `i` moves from lane `i / 16 * 16 + b` of vector `i % 16` to lane `i` of vector
/// `b`. Below are the bits of the number of a vector, `r`, and of a lane within its half, `c`, for
/// the eight boards of one argument. Each interleaving of bytes rotates them by one place:
///
/// ```text
///     r2 r1 r0, c3 c2 c1 c0
///  -> r1 r0 c3, c2 c1 c0 r2
///  -> r0 c3 c2, c1 c0 r2 r1
///  -> c3 c2 c1, c0 r2 r1 r0
/// ```
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn transpose(first: [__m256i; 8], last: [__m256i; 8]) -> [__m256i; 16] {
    let [a, b, c, d, e, f, g, h] = interleave(interleave(interleave(first)));
    let [i, j, k, l, m, n, o, p] = interleave(interleave(interleave(last)));
    let low = |a, b| _mm256_unpacklo_epi64(a, b);
    let high = |a, b| _mm256_unpackhi_epi64(a, b);
    let [q, r, s, t] = [low(a, i), high(a, i), low(b, j), high(b, j)];
    let [u, v, w, x] = [low(c, k), high(c, k), low(d, l), high(d, l)];
    let [a, b, c, d] = [low(e, m), high(e, m), low(f, n), high(f, n)];
    let [e, f, g, h] = [low(g, o), high(g, o), low(h, p), high(h, p)];
    [q, r, s, t, u, v, w, x, a, b, c, d, e, f, g, h]
}

#[inline]
#[target_feature(enable = "avx2")]
fn interleave([a, b, c, d, e, f, g, h]: [__m256i; 8]) -> [__m256i; 8] {
    let low = |a, b| _mm256_unpacklo_epi8(a, b);
    let high = |a, b| _mm256_unpackhi_epi8(a, b);
    [low(a, e), high(a, e), low(b, f), high(b, f), low(c, g), high(c, g), low(d, h), high(d, h)]
}

/// The 16 numbers of 16 bits of a vector.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn words(vector: __m256i) -> [u16; 16] {
    let four = [
        _mm256_extract_epi64::<0>(vector),
        _mm256_extract_epi64::<1>(vector),
        _mm256_extract_epi64::<2>(vector),
        _mm256_extract_epi64::<3>(vector),
    ];
    core::array::from_fn(|i| (four[i / 4] >> (i % 4 * 16)) as u16)
}
